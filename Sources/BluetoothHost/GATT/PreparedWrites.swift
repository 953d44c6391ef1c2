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

/// What the execution of prepared writes would do: worked out in full before anything is written.
struct StagedWrites: Sendable {
    /// The new bytes of one value.
    struct Value: Sendable {
        let attribute: Attribute
        var bytes: [UInt8]
        /// Where the last byte that was written ends: a value of variable length ends there afterwards.
        var writtenEnd: Int
    }

    /// In the order in which the client first wrote to each.
    private(set) var values: [Value] = []

    /// Adds a part of a value that is `current` so far. What the owner keeps is not known here: it counts as empty, so
    /// that the owner gets the whole value, and a part that leaves out the beginning has an invalid offset.
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
}

extension StagedWrites.Value {
    /// The value as it is to be stored.
    var result: ArraySlice<UInt8> { attribute.isFixedLength ? bytes[...] : bytes.prefix(writtenEnd) }
}
