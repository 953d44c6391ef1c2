import ByteCoding

/// Finding out which attributes there are (Core 5.4, Vol 3, Part F, 3.4.3 and 3.4.4.9).
extension GATTDatabase {
    /// Handles and types of every attribute in a range.
    func findInformation(
        _ handles: RequestedHandles,
        _ response: inout ResponseParameters
    ) throws(ATTRefusal) {
        var uuidLength: Int?
        for attribute in attributes(in: try handles.range()) {
            let length = attribute.type.byteCount
            if uuidLength == nil {
                uuidLength = length
                response.bytes.append(length == 2 ? 0x01 : 0x02)
            }
            // One response holds UUIDs of one length only.
            guard length == uuidLength, response.fits(2 + length) else { break }
            response.bytes.append(attribute.handle)
            response.bytes.append(attribute.type)
        }
        try response.checkFound(in: handles)
    }

    /// Handles of the attributes in a range that have a type and a value, with the ends of the groups they open
    /// (Core 5.4, Vol 3, Part F, 3.4.3.3). A client's own configurations are found by what that client wrote; values that
    /// only the owner knows are not found.
    func findByTypeValue(
        _ handles: RequestedHandles,
        _ type: BluetoothUUID,
        _ value: ArraySlice<UInt8>,
        _ client: ClientValues,
        over security: LinkSecurity,
        _ response: inout ResponseParameters
    ) throws(ATTRefusal) {
        for attribute in attributes(in: try handles.range())
        where attribute.type == type && attribute.readRefusal(of: security) == nil {
            guard let stored = client.value(of: attribute, self), Self.matches(stored, value, type) else { continue }
            guard response.fits(4) else { break }
            response.bytes.append(attribute.handle)
            response.bytes.append(groupEnd(of: attribute))
        }
        try response.checkFound(in: handles)
    }

    /// Handles, group ends and values of the services in a range.
    func readByGroupType(
        _ handles: RequestedHandles,
        _ type: BluetoothUUID,
        _ response: inout ResponseParameters
    ) throws(ATTRefusal) {
        let range = try handles.range()
        // Characteristics are groups too, but not to be asked for in this way: Core 5.4, Vol 3, Part G, 2.5.3.
        guard type == .primaryService || type == .secondaryService else {
            throw ATTRefusal(.unsupportedGroupType, at: handles.start)
        }
        var valueLength: Int?
        for attribute in attributes(in: range) where attribute.type == type {
            guard let value = storedValue(of: attribute) else { continue }
            if valueLength == nil {
                valueLength = value.count
                response.bytes.append(UInt8(truncatingIfNeeded: 4 + value.count))
            }
            guard value.count == valueLength, response.fits(4 + value.count) else { break }
            response.bytes.append(attribute.handle)
            response.bytes.append(groupEnd(of: attribute))
            response.bytes.append(contentsOf: value)
        }
        try response.checkFound(in: handles)
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
