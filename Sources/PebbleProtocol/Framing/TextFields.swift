import ByteCoding

// The two ways in which the protocol carries text. Bytes that are not UTF-8 become replacement characters; text
// that does not fit is cut between characters, because a decoder must never be given half of one.

extension ByteReader {
    /// A length byte and that many bytes of text.
    mutating func readPascalString(_ field: String) throws(ByteDecodingError) -> String {
        let length = Int(try readUInt8(field))
        return String(decoding: try readBytes(length, field), as: UTF8.self)
    }

    /// `width` bytes holding text that ends at the first NUL, or with the field if there is none.
    mutating func readFixedString(width: Int, _ field: String) throws(ByteDecodingError) -> String {
        let bytes = try readBytes(width, field)
        return String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
    }
}

extension [UInt8] {
    /// A length byte and that many bytes: at most 255 of them.
    mutating func appendPascalString(_ text: String) {
        let fitting = text.utf8Prefix(maximumLength: Int(UInt8.max))
        append(UInt8(truncatingIfNeeded: fitting.count))
        append(contentsOf: fitting)
    }

    /// `width` bytes: the text, then NULs. Text may fill the field, which then has no NUL.
    mutating func appendFixedString(_ text: String, width: Int) {
        let fitting = text.utf8Prefix(maximumLength: width)
        append(contentsOf: fitting)
        append(contentsOf: repeatElement(0, count: width - fitting.count))
    }
}

extension String {
    /// As many whole characters (Unicode scalars) from the front as fit into `maximumLength` bytes.
    func utf8Prefix(maximumLength: Int) -> Substring.UTF8View {
        var end = utf8.startIndex
        var length = 0
        for index in unicodeScalars.indices {
            length += unicodeScalars[index].utf8.count
            guard length <= maximumLength else { break }
            end = unicodeScalars.index(after: index)
        }
        return self[..<end].utf8
    }
}
