/// The queue that a client fills with Prepare Write Requests (Core 5.4, Vol 3, Part F, 3.4.6).
struct PreparedWrites: Sendable {
    /// One prepared part of a value.
    struct Part: Sendable {
        let handle: AttributeHandle
        let offset: Int
        let bytes: Range<Int>
    }

    private(set) var parts: [Part] = []
    private var storage: [UInt8] = []

    /// Adds a part, whose offset is only checked when the queue is executed.
    /// - Returns: false when the queue is full.
    mutating func append(_ handle: AttributeHandle, offset: Int, value: ArraySlice<UInt8>) -> Bool {
        guard parts.count < GATTLimits.preparedWrites, storage.count + value.count <= GATTLimits.preparedBytes else {
            return false
        }
        let start = storage.count
        storage.append(contentsOf: value)
        parts.append(Part(handle: handle, offset: offset, bytes: start..<storage.count))
        return true
    }

    func value(of part: Part) -> ArraySlice<UInt8> { storage[part.bytes] }

    mutating func removeAll() {
        parts.removeAll(keepingCapacity: true)
        storage.removeAll(keepingCapacity: true)
    }
}

/// What the execution of prepared writes would do: worked out in full before anything is written, so that it
/// happens as a whole or not at all.
struct StagedWrites: Sendable {
    /// The new bytes of one value that the database or the connection keeps.
    struct Value: Sendable {
        let attribute: Attribute
        var bytes: [UInt8]
        /// Where the last byte that was written ends: a value of variable length ends there afterwards.
        var writtenEnd: Int
    }

    private(set) var values: [Value] = []
    /// What is for the owner to write.
    private(set) var ownerWrites: [ExecuteWriteRequest.Write] = []

    /// Adds a part of a value that the database or the connection keeps, and that is `current` so far.
    mutating func stage(
        _ bytes: ArraySlice<UInt8>,
        at offset: Int,
        of attribute: Attribute,
        current: ArraySlice<UInt8>
    ) throws(ATTError) {
        let known = values.firstIndex { $0.attribute.handle == attribute.handle }
        let index = known ?? values.endIndex
        if known == nil { values.append(Value(attribute: attribute, bytes: Array(current), writtenEnd: 0)) }
        guard offset <= values[index].bytes.count else { throw .invalidOffset }
        let end = offset + bytes.count
        guard end <= attribute.maximumLength else { throw .invalidAttributeValueLength }
        let replaced = offset..<min(end, values[index].bytes.count)
        values[index].bytes.replaceSubrange(replaced, with: bytes)
        values[index].writtenEnd = max(values[index].writtenEnd, end)
    }

    /// Adds a part of a value that only the owner keeps, who checks an offset that does not follow from the part
    /// in front.
    mutating func stageForOwner(
        _ bytes: ArraySlice<UInt8>,
        at offset: Int,
        of attribute: Attribute
    ) throws(ATTError) {
        guard offset + bytes.count <= attribute.maximumLength else { throw .invalidAttributeValueLength }
        if let last = ownerWrites.indices.last, ownerWrites[last].handle == attribute.handle,
            ownerWrites[last].offset + ownerWrites[last].value.count == offset
        {
            ownerWrites[last].value.append(contentsOf: bytes)
        } else {
            ownerWrites.append(.init(handle: attribute.handle, offset: offset, value: Array(bytes)))
        }
    }
}

extension StagedWrites.Value {
    /// The value as it is to be stored.
    var result: ArraySlice<UInt8> { attribute.isFixedLength ? bytes[...] : bytes.prefix(writtenEnd) }
}
