import ByteCoding

/// Finding out which attributes there are (Core 5.4, Vol 3, Part F, 3.4.3 and 3.4.4.9).
extension GATTServerSession {
    /// Handles and types of every attribute in a range.
    mutating func findInformation(
        _ handles: RequestedHandles,
        _ link: Link,
        _ database: GATTDatabase
    ) throws(ATTRefusal) -> Outcome {
        var uuidLength: Int?
        for attribute in database.attributes(in: try handles.range()) {
            let length = attribute.type.byteCount
            if uuidLength == nil {
                uuidLength = length
                response.append(length == 2 ? 0x01 : 0x02)
            }
            // One response holds UUIDs of one length only.
            guard length == uuidLength, fits(2 + length, link) else { break }
            response.append(attribute.handle)
            response.append(attribute.type)
        }
        return try respondIfFound(handles)
    }

    /// Handles of the attributes in a range that have a type and a value, with the ends of the groups they open
    /// (Core 5.4, Vol 3, Part F, 3.4.3.3). A client's own configurations are found by what that client wrote; values that
    /// only the owner knows are not found.
    mutating func findByTypeValue(
        _ handles: RequestedHandles,
        _ type: BluetoothUUID,
        _ value: ArraySlice<UInt8>,
        _ link: Link,
        _ database: GATTDatabase
    ) throws(ATTRefusal) -> Outcome {
        for attribute in database.attributes(in: try handles.range())
        where attribute.type == type && attribute.readRefusal(of: link.security) == nil {
            guard let stored = self.value(of: attribute, database), Self.matches(stored, value, type) else { continue }
            guard fits(4, link) else { break }
            response.append(attribute.handle)
            response.append(database.groupEnd(of: attribute))
        }
        return try respondIfFound(handles)
    }

    /// Handles, group ends and values of the services in a range.
    mutating func readByGroupType(
        _ handles: RequestedHandles,
        _ type: BluetoothUUID,
        _ link: Link,
        _ database: GATTDatabase
    ) throws(ATTRefusal) -> Outcome {
        let range = try handles.range()
        // Characteristics are groups too, but not to be asked for in this way: Core 5.4, Vol 3, Part G, 2.5.3.
        guard type == .primaryService || type == .secondaryService else {
            throw ATTRefusal(.unsupportedGroupType, at: handles.start)
        }
        var valueLength: Int?
        for attribute in database.attributes(in: range) where attribute.type == type {
            guard let value = database.storedValue(of: attribute) else { continue }
            if valueLength == nil {
                valueLength = value.count
                response.append(UInt8(truncatingIfNeeded: 4 + value.count))
            }
            guard value.count == valueLength, fits(4 + value.count, link) else { break }
            response.append(attribute.handle)
            response.append(database.groupEnd(of: attribute))
            response.append(contentsOf: value)
        }
        return try respondIfFound(handles)
    }

    /// Whether so many more bytes fit into the response, behind its opcode.
    func fits(_ count: Int, _ link: Link) -> Bool { 1 + response.count + count <= link.mtu }

    private func respondIfFound(_ handles: RequestedHandles) throws(ATTRefusal) -> Outcome {
        guard !response.isEmpty else { throw ATTRefusal(.attributeNotFound, at: handles.start) }
        return .respond
    }

    /// Values are equal byte for byte, but a service may be looked for by either form of its UUID
    /// (Core 5.4, Vol 3, Part G, 4.4.2).
    private static func matches(
        _ stored: ArraySlice<UInt8>,
        _ value: ArraySlice<UInt8>,
        _ type: BluetoothUUID
    ) -> Bool {
        if stored == value { return true }
        guard type == .primaryService || type == .secondaryService else { return false }
        var storedReader = ByteReader(stored)
        var valueReader = ByteReader(value)
        guard let storedUUID = try? BluetoothUUID(readingAllOf: &storedReader, "service"),
            let uuid = try? BluetoothUUID(readingAllOf: &valueReader, "value")
        else { return false }
        return storedUUID == uuid
    }
}

extension RequestedHandles {
    /// The range that the handles describe (Core 5.4, Vol 3, Part F, 3.4.3.1: Invalid Handle if they do not).
    func range() throws(ATTRefusal) -> AttributeHandleRange {
        guard let range = AttributeHandleRange(start, end) else { throw ATTRefusal(.invalidHandle, at: start) }
        return range
    }
}
