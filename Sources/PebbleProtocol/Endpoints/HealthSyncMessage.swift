import ByteCoding

/// Endpoint 0x038F: the phone asks for the health data, which come through data logging.
package enum HealthSyncMessage: EndpointMessage {
    /// `01`, UInt32 little-endian, phone to watch: how long ago the last data came.
    case request(secondsSinceLastSync: UInt32)
    /// `11`, `01` or `02`, watch to phone.
    case response(isAccepted: Bool)

    private enum Code {
        static let request: UInt8 = 0x01
        static let response: UInt8 = 0x11
        static let accepted: UInt8 = 0x01
        static let refused: UInt8 = 0x02
    }

    package static var endpoint: Endpoint { .healthSync }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let command = try reader.readUInt8("health_sync.command")
        switch command {
        case Code.request: self = .request(secondsSinceLastSync: try reader.readLittleEndian("health_sync.seconds"))
        case Code.response: self = .response(isAccepted: try reader.readUInt8("health_sync.status") == Code.accepted)
        default: throw ByteDecodingError("health_sync.command", .invalidValue(UInt64(command)))
        }
    }

    package func encodePayload(to payload: inout [UInt8]) {
        switch self {
        case .request(let seconds):
            payload.append(Code.request)
            payload.appendLittleEndian(seconds)
        case .response(let isAccepted):
            payload += [Code.response, isAccepted ? Code.accepted : Code.refused]
        }
    }
}
