import ByteCoding

/// Endpoint 0x0034: starts and stops apps, and tells which one runs. There is no way to answer with a failure.
public enum AppRunStateMessage: EndpointMessage {
    /// `01`, UUID. To the watch: launch this app. From the watch: this app runs.
    case start(PebbleUUID)
    /// `02`, UUID. To the watch: stop this app. From the watch: this app has stopped.
    case stop(PebbleUUID)
    /// `03`, to the watch: which app runs? Some clients pad it to the length of the others.
    case request

    public static var endpoint: Endpoint { .appRunState }

    /// A start or stop without a whole UUID is an error: a watch ignores it.
    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let command = try reader.readUInt8("app_run_state.command")
        switch command {
        case 0x01: self = .start(try PebbleUUID(reading: &reader, "app_run_state.uuid"))
        case 0x02: self = .stop(try PebbleUUID(reading: &reader, "app_run_state.uuid"))
        case 0x03: self = .request
        default: throw ByteDecodingError("app_run_state.command", .invalidValue(UInt64(command)))
        }
    }

    public func encodePayload(to payload: inout [UInt8]) {
        switch self {
        case .start(let application):
            payload.append(0x01)
            application.encode(to: &payload)
        case .stop(let application):
            payload.append(0x02)
            application.encode(to: &payload)
        case .request:
            payload.append(0x03)
        }
    }
}
