import ByteCoding

/// A line of a firmware's log, as its console pushes it.
///
/// On the wire: kind 1 (1 byte), the source's name (16 bytes, ended by zero if shorter), the level and the task as letters, the
/// time in milliseconds since 1970 (8 bytes), the line in the source, 0 where there is none (2 bytes), and the text. Numbers are
/// little-endian.
package struct PulseLogLine: Sendable, Equatable {
    /// The port of the log.
    static let port: UInt16 = 3
    private static let textKind: UInt8 = 1
    private static let sourceLength = 16

    /// How much a line matters.
    package enum Level: Sendable, Equatable {
        case always, error, warning, info, debug, verbose
    }

    /// How much it matters; what is not known matters as `info`.
    package var level: Level
    /// The letter of the task that says it, such as `K`; a capital one has privileges.
    package var task: String
    /// The file or the module that says it.
    package var source: String
    /// The line of the file; 0 where the firmware does not say it.
    package var line: UInt16
    /// What it says. Control characters are left out.
    package var text: String

    /// Reads a line.
    package init(_ bytes: ArraySlice<UInt8>) throws(ByteDecodingError) {
        var reader = ByteReader(bytes)
        let kind = try reader.readUInt8("log.kind")
        guard kind == Self.textKind else { throw ByteDecodingError("log.kind", .invalidValue(UInt64(kind))) }
        source = Self.printable(try reader.readBytes(Self.sourceLength, "log.source").prefix { $0 != 0 })
        level =
            switch try reader.readUInt8("log.level") {
            case UInt8(ascii: "*"): .always
            case UInt8(ascii: "E"): .error
            case UInt8(ascii: "W"): .warning
            case UInt8(ascii: "D"): .debug
            case UInt8(ascii: "V"): .verbose
            default: .info
            }
        task = Self.printable(try reader.readBytes(1, "log.task"))
        _ = try reader.readLittleEndian("log.time", as: UInt64.self)
        line = try reader.readLittleEndian("log.line")
        text = Self.printable(reader.readRemaining())
    }

    /// Text without what would move a terminal.
    static func printable(_ bytes: ArraySlice<UInt8>) -> String {
        var text = ""
        for scalar in String(decoding: bytes, as: UTF8.self).unicodeScalars
        where scalar.value >= 0x20 && !(0x7F...0x9F).contains(scalar.value) {
            text.unicodeScalars.append(scalar)
        }
        return text
    }
}
