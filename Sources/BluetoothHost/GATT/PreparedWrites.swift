/// The queue that a client fills with Prepare Write Requests (Core 5.4, Vol 3, Part F, 3.4.6).
struct PreparedWrites: Sendable {
    /// One prepared part of a value.
    private struct Part: Sendable {
        let handle: AttributeHandle
        let offset: Int
        let bytes: Range<Int>
    }

    private var parts: [Part] = []
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

    /// Works out what the parts amount to, and refuses what could not be written.
    func staged(
        _ client: ClientValues,
        over security: LinkSecurity,
        _ database: GATTDatabase
    ) throws(ATTRefusal) -> StagedWrites {
        var staged = StagedWrites()
        for part in parts {
            let attribute = try database.writable(part.handle, by: .write, over: security)
            let current = client.value(of: attribute, database) ?? []
            do throws(ATTError) {
                try staged.stage(storage[part.bytes], at: part.offset, of: attribute, current: current)
            } catch {
                throw ATTRefusal(error, at: part.handle)
            }
        }
        // Several values together are a reliable write, which has a property of its own
        // (Core 5.4, Vol 3, Part G, 3.3.3.1 and 4.9.5).
        if staged.values.count > 1, let value = staged.values.first(where: { !$0.attribute.allowsReliableWrite }) {
            throw ATTRefusal(.requestNotSupported, at: value.attribute.handle)
        }
        for value in staged.values { try value.check(client, database) }
        return staged
    }

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

    /// Refuses beforehand what the database or the client's own values would not take.
    fileprivate func check(_ client: ClientValues, _ database: GATTDatabase) throws(ATTRefusal) {
        switch attribute.content {
        case .clientConfiguration(let slot):
            _ = try database.clientConfigurations[Int(slot)].subscription(from: result)
        case .clientSupportedFeatures:
            var trial = client
            try trial.setFeatures(result, at: attribute.handle)
        case .constant, .stored, .owner:
            break
        }
    }
}
