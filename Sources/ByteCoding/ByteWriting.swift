extension [UInt8] {
    /// Appends an integer of the type's own width, least significant byte first.
    @inlinable
    public mutating func appendLittleEndian(_ value: some FixedWidthInteger) {
        var rest = value
        for _ in 0..<(value.bitWidth / 8) {
            append(UInt8(truncatingIfNeeded: rest))
            // A one-byte integer cannot be shifted by its whole width and need not be.
            if value.bitWidth > 8 { rest >>= 8 }
        }
    }

    /// Appends an integer of the type's own width, most significant byte first.
    @inlinable
    public mutating func appendBigEndian(_ value: some FixedWidthInteger) {
        for shift in stride(from: value.bitWidth - 8, through: 0, by: -8) {
            append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }
}

extension Collection where Element == UInt8 {
    /// Lower-case hexadecimal, two digits a byte, no separators: for logs, errors and tests.
    public var hexadecimal: String {
        var text = ""
        text.reserveCapacity(count * 2)
        let digits = Array("0123456789abcdef".utf8)
        for byte in self {
            for nibble in [Int(byte >> 4), Int(byte & 15)] where digits.indices.contains(nibble) {
                text.unicodeScalars.append(Unicode.Scalar(digits[nibble]))
            }
        }
        return text
    }
}

extension [UInt8] {
    /// Reads hexadecimal text (spaces allowed between bytes); nil if it is anything else.
    public init?(hexadecimal text: some StringProtocol) {
        self = []
        var high: UInt8?
        for character in text where character != " " {
            guard let nibble = character.hexDigitValue else { return nil }
            let value = UInt8(nibble)
            if let first = high {
                append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        guard high == nil else { return nil }
    }
}
