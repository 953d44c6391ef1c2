import BluetoothHost
import BluetoothPeripheral
import PebbleProtocol

/// Generic Access: the watch's name, which a watch that hides its address tells only to whom it has proved who it is.
struct GenericAccessService: GATTService {
    enum Value: String, CaseIterable { case deviceName = "device name" }

    let declaration: Service
    let values: [Value]
    private let identity: ShownIdentity

    init(_ configuration: WatchConfiguration) {
        identity = ShownIdentity(configuration)
        let personality = configuration.personality
        let hides = configuration.hidesIdentity
        values = hides ? [.deviceName] : []
        declaration = Service(.genericAccess) {
            if hides {
                Characteristic(.deviceName, .read, of: Value.deviceName)
            } else {
                Characteristic(.deviceName, .read, value: .text(configuration.identity.name))
            }
            Characteristic(.appearance, .read, value: .littleEndian(personality.appearance))
            if let parameters = personality.preferredParameters {
                Characteristic(.preferredConnectionParameters, .read, value: .bytes(parameters))
            }
        }
    }

    func read(_ value: Value, by peer: Peer, _ output: inout Output) -> ReadReply {
        switch value {
        case .deviceName: .value(Array(identity.shown(to: peer).name.utf8))
        }
    }

    func write(_ bytes: ArraySlice<UInt8>, to value: Value, by peer: Peer, _ output: inout Output) -> WriteReply {
        .refused(.writeNotPermitted)
    }
}

/// Generic Attribute, whose values the GATT layer keeps: see ``PublishedDatabase``.
///
/// A phone may cache the database for good unless it finds Service Changed. One that it is bonded to must therefore have it, and one
/// that it is not bonded to must not.
struct GenericAttributeService: GATTService {
    enum Value: String, CaseIterable {
        case serviceChanged = "service changed"
        case clientSupportedFeatures = "client supported features"
        case databaseHash = "database hash"
    }

    let declaration: Service
    let values: [Value]
    /// Where the values are; a watch that is not bondable has none.
    private(set) var handles: [Value: AttributeHandle] = [:]
    /// The Database Hash, if it has changed.
    private var newHash: [UInt8]?

    init(_ configuration: WatchConfiguration) {
        let caching = configuration.personality.caching
        var values: [Value] = []
        if configuration.isBondable {
            values.append(.serviceChanged)
            if caching != .none { values.append(.clientSupportedFeatures) }
            if caching == .databaseHash { values.append(.databaseHash) }
        }
        self.values = values
        // Bit 0 is for enhanced bearers. No bit is for several notifications in one PDU, which this watch does not send.
        let features: AttributeValue = configuration.offeredBearers > 0 ? [0x01] : [0x00]
        declaration = Service(.genericAttribute) {
            if values.contains(.serviceChanged) {
                Characteristic(.serviceChanged, .indicate, of: Value.serviceChanged, keeping: [])
                if caching == .features {
                    Characteristic(.serverSupportedFeatures, .read, value: features)
                }
            }
            if values.contains(.clientSupportedFeatures) {
                Characteristic(
                    .clientSupportedFeatures,
                    [.read, .write],
                    of: Value.clientSupportedFeatures,
                    keeping: .clientSupportedFeatures
                )
            }
            if values.contains(.databaseHash) {
                Characteristic(.databaseHash, .read, of: Value.databaseHash, keeping: [])
            }
            if caching != .features, configuration.offeredBearers > 0 {
                Characteristic(.serverSupportedFeatures, .read, value: features)
            }
        }
    }

    mutating func bound(to handles: [Value: AttributeHandle]) { self.handles = handles }

    /// The database has this hash from now on.
    mutating func setHash(_ hash: [UInt8]) { newHash = hash }

    mutating func advance(_ output: inout Output) {
        if let newHash, values.contains(.databaseHash) { output.set(.databaseHash, newHash) }
        newHash = nil
    }

    func read(_ value: Value, by peer: Peer, _ output: inout Output) -> ReadReply { .refused(.unlikelyError) }

    func write(_ bytes: ArraySlice<UInt8>, to value: Value, by peer: Peer, _ output: inout Output) -> WriteReply {
        .refused(.unlikelyError)
    }
}

/// Device Information: what the model says of itself.
struct DeviceInformationService: GATTService {
    enum Value: String, CaseIterable {
        case serialNumber = "serial number"
        case modelNumber = "model number"
        case firmwareRevision = "firmware revision"
        case manufacturerName = "manufacturer name"

        /// What it is called in the database.
        private var uuid: BluetoothUUID {
            switch self {
            case .serialNumber: .serialNumber
            case .modelNumber: .modelNumber
            case .firmwareRevision: .firmwareRevision
            case .manufacturerName: .manufacturerName
            }
        }

        /// Nil for what the service says once and for all.
        fileprivate init?(_ uuid: BluetoothUUID) {
            guard let value = Self.allCases.first(where: { $0.uuid == uuid }) else { return nil }
            self = value
        }
    }

    let declaration: Service
    let values: [Value]
    private var identity: ShownIdentity

    init(_ configuration: WatchConfiguration) {
        identity = ShownIdentity(configuration)
        let uuids = configuration.personality.deviceInformation
        let hides = configuration.hidesIdentity
        // What a firmware behind the watch decides is known when it has answered.
        let follows = configuration.brain == .emulator
        let values = uuids.compactMap { Value($0) }.filter { $0 == .serialNumber ? hides : follows }
        self.values = values
        declaration = Service(.deviceInformation) {
            for uuid in uuids {
                if let value = Value(uuid), values.contains(value) {
                    Characteristic(uuid, .read, of: value)
                } else {
                    Characteristic(uuid, .read, value: Self.information(uuid, of: configuration.identity))
                }
            }
        }
    }

    /// Takes over who the watch is.
    mutating func take(_ identity: WatchIdentity) { self.identity.whole = identity }

    /// What a watch has no word for is empty, as on the real one.
    private static func information(_ uuid: BluetoothUUID, of identity: WatchIdentity) -> AttributeValue {
        switch uuid {
        case .modelNumber: .text(identity.boardName)
        case .serialNumber: .text(identity.serialNumber)
        case .firmwareRevision: .text(identity.firmware.description)
        case .softwareRevision: .text(SDKVersion.current.softwareRevision)
        case .manufacturerName: .text(identity.company.name)
        default: []
        }
    }

    func read(_ value: Value, by peer: Peer, _ output: inout Output) -> ReadReply {
        switch value {
        case .serialNumber: .value(Array(identity.shown(to: peer).serialNumber.utf8))
        case .modelNumber: .value(Array(identity.whole.boardName.utf8))
        case .firmwareRevision: .value(Array(identity.whole.firmware.description.utf8))
        case .manufacturerName: .value(Array(identity.whole.company.name.utf8))
        }
    }

    func write(_ bytes: ArraySlice<UInt8>, to value: Value, by peer: Peer, _ output: inout Output) -> WriteReply {
        .refused(.writeNotPermitted)
    }
}

/// Who the watch is, as far as a phone may know.
private struct ShownIdentity: Sendable {
    var whole: WatchIdentity
    private let namePrefix: String

    init(_ configuration: WatchConfiguration) {
        whole = configuration.identity
        namePrefix = configuration.personality.namePrefix
    }

    /// One whose link is not encrypted is told what follows from the address that it connected to.
    func shown(to peer: Peer) -> WatchIdentity {
        guard !peer.security.isEncrypted else { return whole }
        return whole.alias(at: peer.ownAddress, namePrefix: namePrefix)
    }
}

extension AttributeValue {
    fileprivate static func littleEndian(_ value: UInt16) -> AttributeValue {
        .bytes([UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)])
    }
}

extension BluetoothUUID {
    static let preferredConnectionParameters = uuid16(0x2A04)
    static let deviceInformation = uuid16(0x180A)
    static let systemID = uuid16(0x2A23)
    static let hardwareRevision = uuid16(0x2A27)
    static let modelNumber = uuid16(0x2A24)
    static let serialNumber = uuid16(0x2A25)
    static let firmwareRevision = uuid16(0x2A26)
    static let softwareRevision = uuid16(0x2A28)
    static let manufacturerName = uuid16(0x2A29)
}

extension SDKVersion {
    /// The newest app SDK whose apps this watch runs.
    public static let current = SDKVersion(major: 5, minor: 0x6A)

    /// As the Device Information service prints it: two places each, the first padded with a space.
    var softwareRevision: String {
        (major < 10 ? " " : "") + "\(major)." + (minor < 10 ? "0" : "") + "\(minor)"
    }
}
