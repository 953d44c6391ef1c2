import ByteCoding

/// Endpoint 0x0000, watch to phone only: the watch could not route a message.
package enum MetaMessage: EndpointMessage {
    /// `D0`: a message was corrupted. libpebble2 fails to decode it: don't send it to a client unasked.
    case corrupted
    /// `DC` and the endpoint: this watch has no such endpoint.
    case unhandled(Endpoint)
    /// `DD` and the endpoint: this session may not use it.
    case disallowed(Endpoint)

    package static var endpoint: Endpoint { .meta }

    private enum Code {
        static let corrupted: UInt8 = 0xD0
        static let unhandled: UInt8 = 0xDC
        static let disallowed: UInt8 = 0xDD
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let code = try reader.readUInt8("meta.code")
        switch code {
        case Code.corrupted: self = .corrupted
        case Code.unhandled: self = .unhandled(Endpoint(rawValue: try reader.readBigEndian("meta.endpoint")))
        case Code.disallowed: self = .disallowed(Endpoint(rawValue: try reader.readBigEndian("meta.endpoint")))
        default: throw ByteDecodingError("meta.code", .invalidValue(UInt64(code)))
        }
    }

    package func encodePayload(to payload: inout [UInt8]) {
        switch self {
        case .corrupted:
            payload.append(Code.corrupted)
        case .unhandled(let endpoint):
            payload.append(Code.unhandled)
            payload.appendBigEndian(endpoint.rawValue)
        case .disallowed(let endpoint):
            payload.append(Code.disallowed)
            payload.appendBigEndian(endpoint.rawValue)
        }
    }
}
