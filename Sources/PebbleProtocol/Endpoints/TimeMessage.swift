import ByteCoding

/// Endpoint 0x000B: the watch's clock. Setting it is never answered.
public enum TimeMessage: EndpointMessage {
    /// `00`, phone to watch.
    case getRequest
    /// `01`, UInt32, watch to phone: seconds since 1970, UTC once ``setUTC(_:)`` was ever received, else local.
    case getResponse(seconds: UInt32)
    /// `02`, UInt32, phone to watch: deprecated.
    case setLocal(seconds: UInt32)
    /// `03`, phone to watch.
    case setUTC(UTCTime)
    /// `04`, watch to phone: please send ``setUTC(_:)``. libpebble2 cannot decode it.
    case setUTCRequest

    /// A time and the zone to show it in. Layout: UInt32, Int16, length byte and name; big-endian.
    public struct UTCTime: Equatable, Sendable {
        /// Since 1970.
        public var seconds: UInt32
        /// East of Greenwich is positive.
        public var offsetMinutes: Int16
        /// Such as `Europe/Paris` or `UTC+0`.
        public var zoneName: String

        /// A time and its zone.
        public init(seconds: UInt32, offsetMinutes: Int16, zoneName: String) {
            self.seconds = seconds
            self.offsetMinutes = offsetMinutes
            self.zoneName = zoneName
        }
    }

    public static var endpoint: Endpoint { .time }

    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let command = try reader.readUInt8("time.command")
        switch command {
        case 0x00: self = .getRequest
        case 0x01: self = .getResponse(seconds: try reader.readBigEndian("time.time"))
        case 0x02: self = .setLocal(seconds: try reader.readBigEndian("time.time"))
        case 0x03:
            let seconds: UInt32 = try reader.readBigEndian("time.utc")
            let offsetMinutes: Int16 = try reader.readBigEndian("time.offset")
            let zoneName = try reader.readPascalString("time.zone_name")
            // A watch ignores a name whose length contradicts the message's.
            try reader.expectEnd("time.zone_name")
            self = .setUTC(UTCTime(seconds: seconds, offsetMinutes: offsetMinutes, zoneName: zoneName))
        case 0x04: self = .setUTCRequest
        default: throw ByteDecodingError("time.command", .invalidValue(UInt64(command)))
        }
    }

    public func encodePayload(to payload: inout [UInt8]) {
        switch self {
        case .getRequest:
            payload.append(0x00)
        case .getResponse(let seconds):
            payload.append(0x01)
            payload.appendBigEndian(seconds)
        case .setLocal(let seconds):
            payload.append(0x02)
            payload.appendBigEndian(seconds)
        case .setUTC(let time):
            payload.append(0x03)
            payload.appendBigEndian(time.seconds)
            payload.appendBigEndian(time.offsetMinutes)
            payload.appendPascalString(time.zoneName)
        case .setUTCRequest:
            payload.append(0x04)
        }
    }
}
