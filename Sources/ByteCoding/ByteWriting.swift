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
        // An array of its own: bytes of a collection that the compiler does not know are taken out of it one by one, on the heap.
        let bytes = Array(self)
        var digits: [UInt8] = []
        digits.reserveCapacity(bytes.count * 2)
        for byte in bytes { digits.appendHexadecimal(byte) }
        return String(decoding: digits, as: UTF8.self)
    }
}

extension [UInt8] {
    /// Appends a text as UTF-8.
    package mutating func append(text: String) { append(contentsOf: text.utf8) }

    /// Appends a number that is not negative, in decimal digits.
    package mutating func append(decimal value: UInt64) {
        if value >= 10 { append(decimal: value / 10) }
        append(UInt8(ascii: "0") + UInt8(truncatingIfNeeded: value % 10))
    }

    /// Appends a number in decimal digits, with a minus sign if it is negative.
    package mutating func append(decimal value: Int) {
        if value < 0 { append(UInt8(ascii: "-")) }
        append(decimal: UInt64(value.magnitude))
    }

    /// Appends the two digits of a byte, in lower case.
    package mutating func appendHexadecimal(_ byte: UInt8) {
        append(Self.hexadecimalDigit(byte >> 4))
        append(Self.hexadecimalDigit(byte & 15))
    }

    private static func hexadecimalDigit(_ nibble: UInt8) -> UInt8 {
        nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + (nibble - 10)
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
