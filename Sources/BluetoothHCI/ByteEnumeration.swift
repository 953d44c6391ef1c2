import ByteCoding

extension RawRepresentable where RawValue == UInt8 {
    /// Reads one byte and fails, naming the field, if it is not one of the values.
    @inlinable
    package init(reading reader: inout ByteReader, _ field: String) throws(ByteDecodingError) {
        let byte = try reader.readUInt8(field)
        guard let value = Self(rawValue: byte) else { throw ByteDecodingError(field, .invalidValue(UInt64(byte))) }
        self = value
    }
}

extension RawRepresentable where RawValue == UInt16 {
    /// Reads two bytes, least significant first, and fails, naming the field, if they are not one of the values.
    @inlinable
    package init(reading reader: inout ByteReader, _ field: String) throws(ByteDecodingError) {
        let number = try reader.readLittleEndian(field, as: UInt16.self)
        guard let value = Self(rawValue: number) else { throw ByteDecodingError(field, .invalidValue(UInt64(number))) }
        self = value
    }
}
