import ByteCoding

/// A place's weather, as phones write it into the database.
///
/// Version 3 has 18 bytes of fixed fields. Version 4 has more, and its minor version says how many: each minor version appends fields. Behind them come
/// the texts: how many bytes they have together (UInt16), and texts with their lengths (UInt16), little-endian.
enum WeatherRecord {
    /// Where the texts begin, of version 3.
    private static let textsOfVersion3 = 18
    /// Where they begin in version 4, by minor version.
    private static let textsOfVersion4 = [118, 141, 161, 177, 201, 250]
    /// In version 4.
    private static let minorVersionOffset = 18
    /// The least has no texts; the most has a name of 64 bytes and a phrase of 32.
    private static let lengths = 20...348

    /// Whether the firmware takes a value.
    static func isWhole(_ value: ArraySlice<UInt8>) -> Bool {
        guard lengths.contains(value.count) else { return false }
        switch value.first {
        case 3: return hasTexts(value.dropFirst(textsOfVersion3))
        case 4:
            let minor = Int(value[value.startIndex + minorVersionOffset])
            guard textsOfVersion4.indices.contains(minor) else { return false }
            return hasTexts(value.dropFirst(textsOfVersion4[minor]))
        default: return false
        }
    }

    /// Whether bytes begin with texts that are whole: one at least. What follows them is not looked at.
    private static func hasTexts(_ bytes: ArraySlice<UInt8>) -> Bool {
        var reader = ByteReader(bytes)
        guard let length: UInt16 = try? reader.readLittleEndian("weather.texts_length"), Int(length) <= reader.count
        else { return false }
        var rest = reader.remaining.prefix(Int(length))
        repeat {
            var reader = ByteReader(rest)
            guard let count: UInt16 = try? reader.readLittleEndian("weather.text_length"), Int(count) <= reader.count
            else { return false }
            // The firmware goes on by the low byte of a length.
            rest = reader.remaining.dropFirst(Int(UInt8(truncatingIfNeeded: count)))
        } while rest.count >= 2
        return true
    }
}
