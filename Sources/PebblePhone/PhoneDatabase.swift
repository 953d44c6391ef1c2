import BluetoothHost
import PebbleProtocol

/// The GATT database that the phone offers to the watch.
struct PhoneDatabase: Sendable {
    let database: GATTDatabase
    /// Where PPoGATT packets go in forward mode; nil when the watch hosts the transport.
    let transportData: AttributeHandle?

    /// Lays out the database. A phone that uses the watch's service has none of its own, so that the watch does not
    /// find two.
    init(_ configuration: PhoneConfiguration, _ cryptography: LECryptography) throws(GATTDatabaseError) {
        let data: AttributeName = "ppogatt data"
        var database = try GATTDatabase {
            Service(.genericAccess) {
                Characteristic(.uuid16(GATTNumber.deviceName), .read, value: .text(configuration.name))
                Characteristic(.uuid16(GATTNumber.appearance), .read, value: .bytes(Self.genericPhone))
            }
            Service(.genericAttribute) { for member in configuration.system.genericAttribute { member } }
            for service in configuration.system.services { service }
            if configuration.transport == .forward {
                Service(.uuid128(PebbleAttribute.ppogattService)) {
                    Characteristic(
                        .uuid128(PebbleAttribute.ppogattData),
                        [.writeWithoutResponse, .notify],
                        name: data,
                        value: .askOwner
                    )
                    Characteristic(.uuid128(PebbleAttribute.ppogattMeta), .read, value: .bytes(Self.meta))
                }
                Service(.uuid128(PebbleAttribute.dummy)) {
                    Characteristic(.uuid128(PebbleAttribute.dummy), .read)
                }
            }
        }
        if let hash = database.handle(of: PhoneSystem.databaseHash) {
            try? database.setValue(database.hash(cryptography), of: hash)
        }
        self.database = database
        transportData = database.handle(of: data)
    }

    /// As companions on Android say it: both versions, no app's own, hybrid.
    private static var meta: [UInt8] {
        var bytes: [UInt8] = []
        PPoGATTMeta(application: .system, sessionType: .hybrid).encode(to: &bytes)
        return bytes
    }

    /// Appearance: Generic Phone (Bluetooth Assigned Numbers, 2.6), least significant byte first.
    private static let genericPhone: [UInt8] = [0x40, 0x00]
}

/// Characteristics of the Bluetooth SIG that phones have or look at (Bluetooth Assigned Numbers, 3.8).
enum GATTNumber {
    static let deviceName: UInt16 = 0x2A00
    static let appearance: UInt16 = 0x2A01
    static let batteryLevel: UInt16 = 0x2A19
    static let modelNumber: UInt16 = 0x2A24
    static let serialNumber: UInt16 = 0x2A25
    static let firmwareRevision: UInt16 = 0x2A26
    static let hardwareRevision: UInt16 = 0x2A27
    static let softwareRevision: UInt16 = 0x2A28
    static let manufacturerName: UInt16 = 0x2A29
}
