import ByteCoding

/// The number by which a watch knows an installed app: positive, given out in the order of installation.
public struct AppID: RawRepresentable, Hashable, Sendable {
    /// The number on the wire.
    public let rawValue: Int32

    public init(rawValue: Int32) { self.rawValue = rawValue }
}

/// Endpoint 0x1771, watch to phone: please upload this app. Layout: `01`, UUID, app id (Int32, **little**-endian).
public struct AppFetchRequest: EndpointMessage {
    /// The app.
    public var application: PebbleUUID
    /// What the uploads will carry as their cookie.
    public var appID: AppID

    /// A request.
    package init(application: PebbleUUID, appID: AppID) {
        self.application = application
        self.appID = appID
    }

    /// The only command.
    fileprivate static let command: UInt8 = 0x01

    public static var endpoint: Endpoint { .appFetch }

    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let command = try reader.readUInt8("app_fetch.command")
        guard command == Self.command else {
            throw ByteDecodingError("app_fetch.command", .invalidValue(UInt64(command)))
        }
        application = try PebbleUUID(reading: &reader, "app_fetch.uuid")
        appID = AppID(rawValue: try reader.readLittleEndian("app_fetch.app_id"))
    }

    public func encodePayload(to payload: inout [UInt8]) {
        payload.append(Self.command)
        application.encode(to: &payload)
        payload.appendLittleEndian(appID.rawValue)
    }
}

/// Endpoint 0x1771, phone to watch: whether the upload will come. Layout: `01`, status. Sending it is optional.
public enum AppFetchResponse: UInt8, EndpointMessage {
    /// The upload starts. libpebble3 also says this when it has no data.
    case starting = 1
    /// The phone is busy with something else; no upload follows.
    case busy = 2
    /// The phone knows no app of this UUID; no upload follows.
    case invalidUUID = 3
    /// The phone does not have the app's binary; no upload follows.
    case noData = 4

    public static var endpoint: Endpoint { .appFetch }

    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let command = try reader.readUInt8("app_fetch.command")
        guard command == AppFetchRequest.command else {
            throw ByteDecodingError("app_fetch.command", .invalidValue(UInt64(command)))
        }
        let status = try reader.readUInt8("app_fetch.status")
        guard let response = AppFetchResponse(rawValue: status) else {
            throw ByteDecodingError("app_fetch.status", .invalidValue(UInt64(status)))
        }
        self = response
    }

    public func encodePayload(to payload: inout [UInt8]) { payload += [AppFetchRequest.command, rawValue] }
}
