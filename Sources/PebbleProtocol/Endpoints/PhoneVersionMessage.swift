import ByteCoding

/// Endpoint 0x0011: the watch asks, on every new session, what phone it talks to.
public enum PhoneVersionMessage: EndpointMessage {
    /// `00`, watch to phone.
    case request
    /// `01` and the answer, phone to watch.
    case response(PhoneVersion)

    public static var endpoint: Endpoint { .phoneVersion }

    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let command = try reader.readUInt8("phone_version.command")
        switch command {
        case 0x00: self = .request
        case 0x01: self = .response(PhoneVersion(reading: &reader))
        default: throw ByteDecodingError("phone_version.command", .invalidValue(UInt64(command)))
        }
    }

    public func encodePayload(to payload: inout [UInt8]) {
        switch self {
        case .request:
            payload.append(0x00)
        case .response(let version):
            payload.append(0x01)
            version.encode(to: &payload)
        }
    }

    /// What the phone says of itself in a message; `nil` if the message is another, or cannot be read.
    package static func answer(in message: PebbleMessage) -> PhoneVersion? {
        guard message.endpoint == endpoint else { return nil }
        guard case .response(let phone)? = try? PhoneVersionMessage(payload: message.payload) else { return nil }
        return phone
    }
}

/// What a phone says of itself. Each generation of companions appended fields; the two optional ones say which
/// generation this is.
///
/// Layout after the command byte: protocol version, session capabilities and platform, UInt32 big-endian each (V1,
/// 12 bytes); response version 2, major, minor, bugfix (V2, 16 bytes); capabilities, UInt64 **little**-endian (V3,
/// 24 bytes).
public struct PhoneVersion: Equatable, Sendable {
    /// Unused since firmware 3.0.
    public var protocolVersion: UInt32
    /// Ignored since firmware 3.0: 0x80000000 gamma ray, 1 geolocation.
    package var sessionCapabilities: UInt32
    /// Operating system and hardware.
    public var platform: PhonePlatform
    /// From V2 on: the companion's version.
    public var appVersion: AppVersion?
    /// From V3 on: what the phone can do.
    package var announcedCapabilities: Capabilities?

    /// What every companion puts into ``protocolVersion``.
    public static let unusedProtocolVersion: UInt32 = 0xFFFF_FFFF

    /// The companion's version.
    public struct AppVersion: Equatable, Sendable {
        /// The first number.
        public var major: UInt8
        /// The second number.
        public var minor: UInt8
        /// The third number.
        public var bugfix: UInt8

        /// A version by its numbers.
        public init(major: UInt8, minor: UInt8, bugfix: UInt8) {
            self.major = major
            self.minor = minor
            self.bugfix = bugfix
        }
    }

    private enum Length {
        static let v1 = 12
        static let v2 = 16
        /// A watch takes the capabilities as soon as their low half is there.
        static let shortestCapabilities = 4
    }

    /// The version byte that precedes the companion's version.
    private static let responseVersion: UInt8 = 2

    /// V1, V2 or V3, by what is given. Capabilities cannot follow an absent version and are then not sent.
    public init(
        protocolVersion: UInt32 = unusedProtocolVersion,
        sessionCapabilities: UInt32 = 0,
        platform: PhonePlatform,
        appVersion: AppVersion? = nil,
        capabilities: Capabilities? = nil
    ) {
        self.protocolVersion = protocolVersion
        self.sessionCapabilities = sessionCapabilities
        self.platform = platform
        self.appVersion = appVersion
        announcedCapabilities = appVersion == nil ? nil : capabilities
    }

    /// What the phone can do; nothing if it did not say.
    public var capabilities: Capabilities { announcedCapabilities ?? [] }

    /// Never fails: what a short body lacks is zero. Old Android companions sent the V1 body twice; that is V1.
    init(reading reader: inout ByteReader) {
        let body = reader.remaining
        protocolVersion = (try? reader.readBigEndian("phone_version.protocol_version")) ?? 0
        sessionCapabilities = (try? reader.readBigEndian("phone_version.session_capabilities")) ?? 0
        platform = PhonePlatform(rawValue: (try? reader.readBigEndian("phone_version.platform")) ?? 0)
        let isDoubledV1 = body.dropFirst(Length.v1).elementsEqual(body.prefix(Length.v1))
        guard body.count >= Length.v2, !isDoubledV1,
            let responseVersion = try? reader.readUInt8("phone_version.response_version"),
            responseVersion >= Self.responseVersion,
            let major = try? reader.readUInt8("phone_version.major"),
            let minor = try? reader.readUInt8("phone_version.minor"),
            let bugfix = try? reader.readUInt8("phone_version.bugfix")
        else { return }
        appVersion = AppVersion(major: major, minor: minor, bugfix: bugfix)
        guard reader.count >= Length.shortestCapabilities else { return }
        // libpebble2 writes this field big-endian; that is its bug, and all ones either way.
        var bits: UInt64 = 0
        for shift in stride(from: UInt64(0), to: 64, by: 8) {
            guard let byte = try? reader.readUInt8("phone_version.capabilities") else { break }
            bits |= UInt64(byte) << shift
        }
        announcedCapabilities = Capabilities(rawValue: bits)
    }

    func encode(to payload: inout [UInt8]) {
        payload.appendBigEndian(protocolVersion)
        payload.appendBigEndian(sessionCapabilities)
        payload.appendBigEndian(platform.rawValue)
        guard let appVersion else { return }
        payload += [Self.responseVersion, appVersion.major, appVersion.minor, appVersion.bugfix]
        if let announcedCapabilities { payload.appendLittleEndian(announcedCapabilities.rawValue) }
    }
}
