import ByteCoding

extension ByteReader {
    /// Takes one byte that must be 0 or 1.
    mutating func readBool(_ field: String) throws(ByteDecodingError) -> Bool {
        switch try readUInt8(field) {
        case 0: return false
        case 1: return true
        case let byte: throw ByteDecodingError(field, .invalidValue(UInt64(byte)))
        }
    }

    /// Takes a connection handle, ignoring the four bits above it, which are reserved.
    mutating func readConnectionHandle(_ field: String) throws(ByteDecodingError) -> ConnectionHandle {
        let number = try readLittleEndian(field, as: UInt16.self)
        guard let handle = ConnectionHandle(rawValue: number & 0x0FFF) else {
            throw ByteDecodingError(field, .invalidValue(UInt64(number)))
        }
        return handle
    }

    /// Takes a signed number of dBm; 127 says that there is none.
    mutating func readDecibels(_ field: String) throws(ByteDecodingError) -> Int8? {
        let value = try readInt8(field)
        return value == Int8.max ? nil : value
    }
}

extension [UInt8] {
    /// Appends a signed number of dBm; 127 for none.
    mutating func appendDecibels(_ value: Int8?) { append(UInt8(bitPattern: value ?? Int8.max)) }
}
