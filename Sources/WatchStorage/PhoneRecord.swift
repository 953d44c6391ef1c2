import BluetoothHCI
import BluetoothHost
import ByteCoding
import Foundation
import GRDB
import PebbleWatch

/// The row of one bonded phone.
struct PhoneRecord: Codable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "phone"

    /// Type and address, as `random C0:11:22:33:44:55`.
    private let identity: String
    /// The bond's own stored form.
    var bond: Data
    /// Handle and value of each client characteristic configuration, two bytes each, least significant first.
    private var subscriptions: Data
    private var supportedFeatures: UInt8
    private var isChangeAware: Bool
    private var seenDatabaseHash: Data?
    /// What is remembered of the phone's own services, in its stored form.
    var services: Data?

    init(_ phone: RememberedPhone) {
        identity = Self.key(of: phone.bond.identity)
        bond = Self.encode(phone.bond)
        subscriptions = Data()
        supportedFeatures = 0
        isChangeAware = true
        services = phone.services.map(Self.encode)
        set(phone.client, seenDatabaseHash: phone.seenDatabaseHash)
    }

    static func key(of identity: LEAddress) -> String { "\(identity.type.withoutIdentity) \(identity.address)" }

    static func encode(_ bond: Bond) -> Data {
        var bytes: [UInt8] = []
        bond.encode(to: &bytes)
        return Data(bytes)
    }

    static func encode(_ services: PhoneServiceCache) -> Data {
        var bytes: [UInt8] = []
        services.encode(to: &bytes)
        return Data(bytes)
    }

    /// What cannot be read is not worth a complaint: it is found again.
    private static func decodeServices(_ stored: Data) -> PhoneServiceCache? {
        var reader = ByteReader(Array(stored))
        return try? PhoneServiceCache(reading: &reader)
    }

    mutating func set(_ client: GATTClientState, seenDatabaseHash hash: [UInt8]?) {
        var bytes: [UInt8] = []
        for (handle, subscription) in client.subscriptions.sorted(by: { $0.key < $1.key }) {
            bytes.appendLittleEndian(handle.rawValue)
            bytes.appendLittleEndian(subscription.rawValue)
        }
        subscriptions = Data(bytes)
        supportedFeatures = client.supportedFeatures
        isChangeAware = client.isChangeAware
        seenDatabaseHash = hash.map { Data($0) }
    }

    var value: RememberedPhone {
        get throws(ByteDecodingError) {
            var reader = ByteReader(Array(bond))
            let bond = try Bond(reading: &reader)
            try reader.expectEnd("bond")
            var client = GATTClientState(supportedFeatures: supportedFeatures, isChangeAware: isChangeAware)
            var pairs = ByteReader(Array(subscriptions))
            while !pairs.isEmpty {
                let handle = AttributeHandle(rawValue: try pairs.readLittleEndian("subscriptions.handle"))
                client.subscriptions[handle] = Subscription(
                    rawValue: try pairs.readLittleEndian("subscriptions.value")
                )
            }
            return RememberedPhone(
                bond: bond,
                client: client,
                seenDatabaseHash: seenDatabaseHash.map { Array($0) },
                services: services.flatMap(Self.decodeServices)
            )
        }
    }
}
