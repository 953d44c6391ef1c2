import BluetoothHost
import PebbleProtocol

/// The GATT database that the watch offers to phones.
///
/// Services stand in the order of the watches of 2025: those with 16-bit UUIDs first, so that a phone discovers them in
/// the fewest round trips. Nothing in the standard services or in the pairing service needs encryption, because a
/// phone must be able to use them before it pairs.
struct WatchDatabase: Sendable {
    /// The attributes that the firmware has to do with at run time.
    struct Handles: Sendable, Equatable {
        let connectivityStatus: AttributeHandle
        let triggerPairing: AttributeHandle
        /// `.none` when the watch does not offer it.
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
        let transport: AttributePermissions = configuration.linkSecurity == .required ? .encrypted : .open
        let layout = try GATTDatabase {
            Service(.genericAccess) {
                Characteristic(.deviceName, .read, value: .text(identity.name))
                Characteristic(.appearance, .read, value: [0x00, 0x00])
            }
            Service(.genericAttribute) {
                // A phone may cache the database for good unless it finds Service Changed; one that it is bonded to
                // must therefore have it, and one that it is not bonded to must not.
                if configuration.isBondable {
                    Characteristic(.serviceChanged, .indicate, name: "service changed")
                    Characteristic(
                        .clientSupportedFeatures,
                        [.read, .write],
                        name: "client supported features",
                        value: .clientSupportedFeatures
                    )
                    Characteristic(.databaseHash, .read, name: "database hash")
                }
            }
            Service(.deviceInformation) {
                Characteristic(.modelNumber, .read, value: .text(identity.boardName))
                Characteristic(.serialNumber, .read, value: .text(identity.serialNumber))
                Characteristic(.firmwareRevision, .read, value: .text(identity.firmware.description))
                Characteristic(.softwareRevision, .read, value: .text(SDKVersion.current.softwareRevision))
                Characteristic(.manufacturerName, .read, value: .text(identity.company.name))
            }
            Service(.uuid16(PebbleAttribute.pairingService)) {
                Characteristic(
                    .uuid128(PebbleAttribute.connectivityStatus),
                    [.read, .notify],
                    name: "connectivity status",
                    value: .askOwner(maximumLength: 4)
                )
                Characteristic(
                    .uuid128(PebbleAttribute.triggerPairing),
                    [.read, .write],
                    name: "trigger pairing",
                    value: .askOwner
                )
                if configuration.offersConnectionParameters {
                    Characteristic(
                        .uuid128(PebbleAttribute.connectionParameters),
                        [.read, .write, .notify],
                        name: "connection parameters",
                        value: .askOwner
                    )
                }
            }
            Service(.battery, name: Self.batteryService, isPublished: configuration.offersBattery) {
                Characteristic(
                    .batteryLevel,
                    [.read, .notify],
                    name: "battery level",
                    value: [configuration.batteryLevel]
                )
            }
            Service(.uuid128(PebbleAttribute.reversedService)) {
                Characteristic(
                    .uuid128(PebbleAttribute.reversedData),
                    .notify,
                    name: "reversed data",
                    permissions: transport
                )
                Characteristic(
                    .uuid128(PebbleAttribute.reversedDataWrite),
                    .writeWithoutResponse,
                    name: "reversed data write",
                    permissions: transport,
                    value: .askOwner
                )
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

extension BluetoothUUID {
    static let deviceName = uuid16(0x2A00)
    static let appearance = uuid16(0x2A01)
    static let deviceInformation = uuid16(0x180A)
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
