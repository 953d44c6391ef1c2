import ByteCoding

/// The UUID of a watchapp, a timeline item or a data source, as the Pebble Protocol carries it: 16 bytes in
/// RFC 4122 text order (first text byte first), unlike the UUIDs of Bluetooth's own attributes.
public struct PebbleUUID: Hashable, Sendable {
    /// The first eight bytes, the first of them most significant.
    public let upperHalf: UInt64
    /// The last eight bytes.
    public let lowerHalf: UInt64

    /// How many bytes a UUID takes on the wire.
    package static let encodedLength = 16

    /// The "system" UUID, 16 zero bytes: the Pebble app itself, no watchapp.
    package static let system = PebbleUUID(upperHalf: 0, lowerHalf: 0)
    /// The "invalid" UUID, 16 bytes of 0xFF: nothing at all.
    package static let invalid = PebbleUUID(upperHalf: .max, lowerHalf: .max)

    /// Joins the two halves, most significant byte first in each.
    public init(upperHalf: UInt64, lowerHalf: UInt64) {
        self.upperHalf = upperHalf
        self.lowerHalf = lowerHalf
    }

    /// Reads 16 bytes.
    public init(reading reader: inout ByteReader, _ field: String) throws(ByteDecodingError) {
        var bytes = ByteReader(try reader.readBytes(Self.encodedLength, field))
        upperHalf = try bytes.readBigEndian(field)
        lowerHalf = try bytes.readBigEndian(field)
    }

    /// Appends 16 bytes.
    public func encode(to bytes: inout [UInt8]) {
        bytes.appendBigEndian(upperHalf)
        bytes.appendBigEndian(lowerHalf)
    }

    /// Whether this can name an app: neither ``system`` nor `invalid`.
    package var isLaunchable: Bool { self != .system && self != .invalid }
}

extension PebbleUUID: LosslessStringConvertible {
    /// Reads the usual text form, `6b1f5c2e-0f3a-4d0e-9b7a-1c2d3e4f5a6b`, in either case; nil if it is anything else.
    public init?(_ description: String) {
        var halves: [UInt64] = [0, 0]
        var digits = 0
        var characters = 0
        for character in description.utf8 {
            characters += 1
            if character == UInt8(ascii: "-") {
                guard [9, 14, 19, 24].contains(characters) else { return nil }
                continue
            }
            guard digits < 32, let digit = Character(Unicode.Scalar(character)).hexDigitValue else { return nil }
            let half = digits / 16
            halves[half] = halves[half] << 4 | UInt64(digit)
            digits += 1
        }
        guard digits == 32, characters == 36 else { return nil }
        self.init(upperHalf: halves[0], lowerHalf: halves[1])
    }

    /// The usual text form, in lower case.
    public var description: String {
        var text: [UInt8] = []
        text.reserveCapacity(36)
        for place in 0..<Self.encodedLength {
            if place == 4 || place == 6 || place == 8 || place == 10 { text.append(UInt8(ascii: "-")) }
            let half = place < 8 ? upperHalf : lowerHalf
            text.appendHexadecimal(UInt8(truncatingIfNeeded: half >> UInt64(56 - place % 8 * 8)))
        }
        return String(decoding: text, as: UTF8.self)
    }
}
