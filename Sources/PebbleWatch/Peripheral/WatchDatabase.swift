import BluetoothHost
import PebbleProtocol

/// The GATT database that the watch offers to phones.
///
/// What it has depends on the personality; the order is that of all real watches, with 16-bit UUIDs first, so that a phone
/// discovers them in the fewest round trips. Nothing in the standard services or in the pairing service needs encryption,
/// because a phone must be able to use them before it pairs.
struct WatchDatabase: Sendable {
    /// The attributes that the firmware has to do with at run time.
    struct Handles: Sendable, Equatable {
        let connectivityStatus: AttributeHandle
        let triggerPairing: AttributeHandle
        /// `.none` unless the watch hides which it is.
        let deviceName: AttributeHandle
        /// `.none` unless the watch hides which it is.
        let serialNumber: AttributeHandle
        /// `.none` when the personality has none.
        let pairingMTU: AttributeHandle
        let connectionParameters: AttributeHandle
        let batteryLevel: AttributeHandle
        /// `.none` when the watch is not bondable.
        let serviceChanged: AttributeHandle
        /// `.none` when the watch is not bondable.
        let databaseHash: AttributeHandle
        /// `.none` when the watch is not bondable.
        let clientSupportedFeatures: AttributeHandle
        let reversedData: AttributeHandle
        let reversedDataWrite: AttributeHandle
    }

    let database: GATTDatabase
    let handles: Handles

    static let batteryService: AttributeName = "battery"

    /// Lays out the database.
    init(_ configuration: WatchConfiguration) throws(GATTDatabaseError) {
        let identity = configuration.identity
        let personality = configuration.personality
        let transport: AttributePermissions = configuration.linkSecurity == .required ? .encrypted : .open
        let hides = configuration.hidesIdentity
        let layout = try GATTDatabase(serviceOrder: .shortUUIDsFirst) {
            Service(.genericAccess) {
                Characteristic(
                    .deviceName,
                    .read,
                    name: "device name",
                    value: hides ? .askOwner : .text(identity.name)
                )
                Characteristic(.appearance, .read, value: Self.number(personality.appearance))
                if let parameters = personality.preferredParameters {
                    Characteristic(.preferredConnectionParameters, .read, value: .bytes(parameters))
                }
            }
            Service(.genericAttribute) {
                // A phone may cache the database for good unless it finds Service Changed; one that it is bonded to
                // must therefore have it, and one that it is not bonded to must not.
                if configuration.isBondable {
                    Characteristic(.serviceChanged, .indicate, name: "service changed")
                    if personality.caching == .features {
                        // None: neither enhanced bearers nor several notifications in one PDU.
                        Characteristic(.serverSupportedFeatures, .read, value: [0x00])
                    }
                    if personality.caching != .none {
                        Characteristic(
                            .clientSupportedFeatures,
                            [.read, .write],
                            name: "client supported features",
                            value: .clientSupportedFeatures
                        )
                    }
                    if personality.caching == .databaseHash {
                        Characteristic(.databaseHash, .read, name: "database hash")
                    }
                }
            }
            Service(.deviceInformation) {
                for uuid in personality.deviceInformation {
                    if uuid == .serialNumber, hides {
                        Characteristic(uuid, .read, name: "serial number", value: .askOwner)
                    } else {
                        Characteristic(uuid, .read, value: Self.information(uuid, of: identity))
                    }
                }
            }
            Service(.uuid16(PebbleAttribute.pairingService)) {
                Characteristic(
                    .uuid128(PebbleAttribute.connectivityStatus),
                    [.read, .notify],
                    name: "connectivity status",
                    value: .askOwner(maximumLength: 4),
                    ownerAnswersSubscriptions: personality.notifiesSubscribers
                )
                Characteristic(
                    .uuid128(PebbleAttribute.triggerPairing),
                    [.read, .write],
                    name: "trigger pairing",
                    value: .askOwner
                )
                if personality.hasPairingMTU {
                    Characteristic(
                        .uuid128(PebbleAttribute.pairingMTU),
                        [.read, .write, .notify],
                        name: "pairing mtu",
                        value: .askOwner,
                        ownerAnswersSubscriptions: true
                    )
                }
                if configuration.offersConnectionParameters {
                    Characteristic(
                        .uuid128(PebbleAttribute.connectionParameters),
                        [.read, .write, .notify],
                        name: "connection parameters",
                        value: .askOwner,
                        ownerAnswersSubscriptions: true
                    )
                }
            }
            if personality.hasBattery {
                Service(.battery, name: Self.batteryService, isPublished: configuration.offersBattery) {
                    Characteristic(
                        .batteryLevel,
                        [.read, .notify],
                        name: "battery level",
                        // A charge that goes down slowly is the same before and after an address changes.
                        permissions: hides ? .encrypted : .open,
                        value: [configuration.batteryLevel]
                    )
                }
            }
            if let reversed = personality.reversedTransport {
                Self.service(for: reversed, permissions: transport)
            }
            for stream in WatchStream.allCases {
                Service(stream.service, name: stream.serviceName, isPublished: configuration.streams.contains(stream)) {
                    Characteristic(
                        .uuid128(PebbleAttribute.publishedPSM),
                        .read,
                        name: stream.psmName,
                        permissions: transport,
                        value: .fixedLength(WatchStream.value(of: nil))
                    )
                }
            }
        }
        // Every name is declared above; a handle that names nothing would only leave its service silent.
        func handle(_ name: AttributeName) -> AttributeHandle { layout.handle(of: name) ?? .none }
        database = layout
        handles = Handles(
            connectivityStatus: handle("connectivity status"),
            triggerPairing: handle("trigger pairing"),
            deviceName: hides ? handle("device name") : .none,
            serialNumber: hides ? handle("serial number") : .none,
            pairingMTU: handle("pairing mtu"),
            connectionParameters: handle("connection parameters"),
            batteryLevel: handle("battery level"),
            serviceChanged: handle("service changed"),
            databaseHash: handle("database hash"),
            clientSupportedFeatures: handle("client supported features"),
            reversedData: handle("reversed data"),
            reversedDataWrite: handle("reversed data write")
        )
    }
}

extension WatchDatabase {
    private static func number(_ value: UInt16) -> AttributeValue {
        .bytes([UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)])
    }

    /// A value of the Device Information service. What a watch has no word for is empty, as on the real one.
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

    /// The watch's own PPoGATT service.
    private static func service(
        for transport: Personality.ReversedTransport,
        permissions: AttributePermissions
    ) -> Service {
        switch transport {
        case .v1:
            // Where Pebble 2 has it, far behind the rest. Nothing in it needs encryption; the watch ignores a plain link.
            Service(
                .uuid128(PebbleAttribute.reversedV1Service),
                at: AttributeHandle(rawValue: 0xE000)
            ) {
                Characteristic(
                    .uuid128(PebbleAttribute.reversedV1Data),
                    [.writeWithoutResponse, .notify],
                    name: "reversed data",
                    value: .askOwner
                )
                Characteristic(.uuid128(PebbleAttribute.reversedV1Meta), .read, value: [0xAA])
                Characteristic(
                    .uuid128(PebbleAttribute.reversedV1DataWrite),
                    .writeWithoutResponse,
                    name: "reversed data write",
                    value: .askOwner
                )
            }
        case .v2:
            Service(.uuid128(PebbleAttribute.reversedService)) {
                Characteristic(
                    .uuid128(PebbleAttribute.reversedData),
                    .notify,
                    name: "reversed data",
                    permissions: permissions
                )
                Characteristic(
                    .uuid128(PebbleAttribute.reversedDataWrite),
                    .writeWithoutResponse,
                    name: "reversed data write",
                    permissions: permissions,
                    value: .askOwner
                )
            }
        }
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
    static let battery = uuid16(0x180F)
    static let batteryLevel = uuid16(0x2A19)
}

extension SDKVersion {
    /// The newest app SDK whose apps this watch runs.
    public static let current = SDKVersion(major: 5, minor: 0x6A)

    /// As the Device Information service prints it: two places each, the first padded with a space.
    var softwareRevision: String {
        (major < 10 ? " " : "") + "\(major)." + (minor < 10 ? "0" : "") + "\(minor)"
    }
}
