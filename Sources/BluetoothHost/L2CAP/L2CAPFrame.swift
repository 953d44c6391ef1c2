import ByteCoding

/// The number of an L2CAP channel.
///
/// Source: Core 5.4, Vol 3, Part A, 2.1.
package struct ChannelID: RawRepresentable, Hashable, Sendable {
    /// The number on the wire.
    package let rawValue: UInt16

    /// Any channel, fixed or dynamic.
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The Attribute Protocol.
    package static let attribute = ChannelID(rawValue: 0x0004)
    /// LE signaling.
    package static let signaling = ChannelID(rawValue: 0x0005)
    /// The Security Manager.
    package static let securityManager = ChannelID(rawValue: 0x0006)
}

extension ChannelID: CustomStringConvertible {
    package var description: String { "0x" + [UInt8(rawValue >> 8), UInt8(truncatingIfNeeded: rawValue)].hexadecimal }
}

/// An L2CAP PDU: what one side of a channel says to the other at once.
///
/// Layout: length of the payload (2), channel (2), payload.
///
/// Source: Core 5.4, Vol 3, Part A, 3.1.
struct L2CAPFrame: Hashable, Sendable {
    let channel: ChannelID
    let payload: ArraySlice<UInt8>

    /// How many octets come before the payload.
    static let headerSize = 4
    /// The longest payload that is taken from a peer: more than any channel here has use for.
    static let maximumPayload = 2048

    /// What comes before the payload.
    struct Header: Hashable, Sendable {
        let payloadCount: Int
        let channel: ChannelID
        var frameCount: Int { L2CAPFrame.headerSize + payloadCount }
        var isTooLong: Bool { payloadCount > L2CAPFrame.maximumPayload }

        /// Reads a header that begins `offset` octets after the first; nil while it is not whole.
        init?(_ bytes: borrowing ArraySlice<UInt8>, at offset: Int = 0) {
            guard let fields = bytes.littleEndian(at: offset, as: UInt32.self) else { return nil }
            payloadCount = Int(fields & 0xFFFF)
            channel = ChannelID(rawValue: UInt16(truncatingIfNeeded: fields >> 16))
        }
    }

    /// Appends the header of a frame.
    static func encodeHeader(payloadCount: Int, channel: ChannelID, to buffer: inout [UInt8]) {
        // Both fields at once: this is done for every frame.
        buffer.appendLittleEndian(UInt32(UInt16(clamping: payloadCount)) | UInt32(channel.rawValue) << 16)
    }
}
