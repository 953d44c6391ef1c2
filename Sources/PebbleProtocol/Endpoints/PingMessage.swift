import ByteCoding

/// Endpoint 0x07D1: is the other side alive? Either side asks.
public enum PingMessage: EndpointMessage {
    /// `00`, cookie (UInt32, big-endian), and whether the sender is idle, which old senders leave out. Send it:
    /// libpebble2 cannot decode a ping without.
    case ping(cookie: UInt32, isIdle: Bool?)
    /// `01` and the ping's cookie.
    case pong(cookie: UInt32)

    public static var endpoint: Endpoint { .ping }

    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let command = try reader.readUInt8("ping.command")
        switch command {
        case 0x00:
            let cookie: UInt32 = try reader.readBigEndian("ping.cookie")
            let isIdle = reader.isEmpty ? nil : try reader.readUInt8("ping.idle") != 0
            // The firmware answers 5 bytes and 6, and no others.
            try reader.expectEnd("ping.idle")
            self = .ping(cookie: cookie, isIdle: isIdle)
        case 0x01: self = .pong(cookie: try reader.readBigEndian("ping.cookie"))
        default: throw ByteDecodingError("ping.command", .invalidValue(UInt64(command)))
        }
    }

    public func encodePayload(to payload: inout [UInt8]) {
        switch self {
        case .ping(let cookie, let isIdle):
            payload.append(0x00)
            payload.appendBigEndian(cookie)
            if let isIdle { payload.append(isIdle ? 1 : 0) }
        case .pong(let cookie):
            payload.append(0x01)
            payload.appendBigEndian(cookie)
        }
    }
}
