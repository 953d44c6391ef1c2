import ByteCoding

/// Why a watch does not use a PPoGATT service.
public enum PPoGATTMetaRejection: Error, Equatable, Sendable, CustomStringConvertible {
    /// Fewer bytes than the oldest layout has.
    case tooShort(Int)
    /// The service's oldest version is newer than any that there is.
    case unsupportedVersion(UInt8)
    /// The UUID that names nothing.
    case invalidUUID
    /// A session type that does not exist.
    case unsupportedSessionType(UInt8)
    /// Recovery firmware talks to the Pebble app only.
    case notTheSystemApp(PebbleUUID)

    public var description: String {
        switch self {
        case .tooShort(let count): "PPoGATT meta: \(count) bytes, \(PPoGATTMeta.version0Length) needed"
        case .unsupportedVersion(let version): "PPoGATT meta: minimum version \(version) is not supported"
        case .invalidUUID: "PPoGATT meta: the app UUID is all ones"
        case .unsupportedSessionType(let type): "PPoGATT meta: session type \(type) does not exist"
        case .notTheSystemApp(let uuid): "PPoGATT meta: \(uuid) is not the Pebble app, in recovery firmware"
        }
    }
}

/// The value of the meta characteristic: which versions a phone's PPoGATT service speaks and for whom.
///
/// Layout: minimum version, maximum version, app UUID (16 bytes in text order), and in the newer layout the session
/// type. A watch honours the type whatever the versions say.
package struct PPoGATTMeta: Equatable, Sendable {
    /// The oldest version that the service speaks.
    package var minimumVersion: UInt8
    /// The newest version that the service speaks.
    package var maximumVersion: UInt8
    /// The Pebble app (``PebbleUUID/system``), or the watchapp whose companion this is.
    package var application: PebbleUUID
    /// Absent in the older layout.
    package var sessionType: SessionType?

    /// What kind of session the service wants.
    package enum SessionType: UInt8, Sendable {
        /// The UUID says it: the Pebble app's or a companion's.
        case inferredFromUUID = 0
        /// Both at once, as on Android.
        case hybrid = 1
    }

    /// The length of the newer layout.
    package static let encodedLength = version0Length + 1
    static let version0Length = 2 + PebbleUUID.encodedLength

    /// A meta value by its fields.
    package init(
        minimumVersion: UInt8 = PPoGATTVersion.v0.rawValue,
        maximumVersion: UInt8 = PPoGATTVersion.v1.rawValue,
        application: PebbleUUID,
        sessionType: SessionType?
    ) {
        self.minimumVersion = minimumVersion
        self.maximumVersion = maximumVersion
        self.application = application
        self.sessionType = sessionType
    }

    /// Reads and judges a value as a watch does; what follows the known fields is ignored.
    package init(_ value: ArraySlice<UInt8>, inRecoveryFirmware: Bool = false) throws(PPoGATTMetaRejection) {
        var reader = ByteReader(value)
        guard let minimum = try? reader.readUInt8("ppogatt_meta.min_version"),
            let maximum = try? reader.readUInt8("ppogatt_meta.max_version"),
            let uuid = try? PebbleUUID(reading: &reader, "ppogatt_meta.app_uuid")
        else { throw .tooShort(value.count) }
        guard minimum <= PPoGATTVersion.v1.rawValue else { throw .unsupportedVersion(minimum) }
        guard uuid != .invalid else { throw .invalidUUID }
        if inRecoveryFirmware, uuid != .system { throw .notTheSystemApp(uuid) }
        minimumVersion = minimum
        maximumVersion = maximum
        application = uuid
        guard let type = try? reader.readUInt8("ppogatt_meta.session_type") else { return }
        guard let known = SessionType(rawValue: type) else { throw .unsupportedSessionType(type) }
        sessionType = known
    }

    /// Appends the value.
    package func encode(to bytes: inout [UInt8]) {
        bytes += [minimumVersion, maximumVersion]
        application.encode(to: &bytes)
        if let sessionType { bytes.append(sessionType.rawValue) }
    }

    /// Whether two values, either of which may be cut off behind the known fields, say the same.
    package static func isSame(_ left: ArraySlice<UInt8>, _ right: ArraySlice<UInt8>) -> Bool {
        left.prefix(encodedLength) == right.prefix(encodedLength)
    }

    /// The version that a watch uses with this service: the newest that both speak.
    package var version: PPoGATTVersion { PPoGATTVersion(rawValue: maximumVersion) ?? .v1 }

    /// What a session over this service may do, and for whom.
    package var destination: PPoGATTDestination {
        let kind: SessionKind =
            if sessionType == .hybrid { .hybrid } else if application == .system { .system } else { .app }
        return PPoGATTDestination(kind: kind, application: application)
    }
}

/// Where a PPoGATT session leads.
public struct PPoGATTDestination: Equatable, Sendable {
    /// What it may ask for.
    public var kind: SessionKind
    /// The Pebble app, a watchapp, or `PebbleUUID.invalid` if the value does not say.
    public var application: PebbleUUID

    /// A destination.
    package init(kind: SessionKind, application: PebbleUUID) {
        self.kind = kind
        self.application = application
    }

    /// Of reversed V1, whose meta value never goes over the air.
    package static let reversedV1 = PPoGATTDestination(kind: .hybrid, application: .system)
    /// Of reversed V2, which has no meta value.
    package static let reversedV2 = PPoGATTDestination(kind: .hybrid, application: .invalid)
}
