import BluetoothHCI
import BluetoothHost
import ByteCoding
import PebbleWatch

/// The row of one bonded phone.
struct PhoneRecord {
    /// Type and address, as `random C0:11:22:33:44:55`.
    private let identity: String
    /// The bond's own stored form.
    var bond: [UInt8]
    /// Handle and value of each client characteristic configuration, two bytes each, least significant first.
    private var subscriptions: [UInt8]
    private var supportedFeatures: UInt8
    private var isChangeAware: Bool
    private var seenDatabaseHash: [UInt8]?
    /// What is remembered of the phone's own services, in its stored form.
    var services: [UInt8]?

    init(_ phone: RememberedPhone) {
        identity = Self.key(of: phone.bond.identity)
        bond = Self.encode(phone.bond)
        subscriptions = []
        supportedFeatures = 0
        isChangeAware = true
        services = phone.services.map(Self.encode)
        set(phone.client, seenDatabaseHash: phone.seenDatabaseHash)
    }

    static func key(of identity: LEAddress) -> String { "\(identity.type.withoutIdentity) \(identity.address)" }

    static func encode(_ bond: Bond) -> [UInt8] {
        var bytes: [UInt8] = []
        bond.encode(to: &bytes)
        return bytes
    }

    static func encode(_ services: PhoneServiceCache) -> [UInt8] {
        var bytes: [UInt8] = []
        services.encode(to: &bytes)
        return bytes
    }

    /// What cannot be read is not worth a complaint: it is found again.
    private static func decodeServices(_ stored: [UInt8]) -> PhoneServiceCache? {
        var reader = ByteReader(stored)
        return try? PhoneServiceCache(reading: &reader)
    }

    mutating func set(_ client: GATTClientState, seenDatabaseHash hash: [UInt8]?) {
        subscriptions = []
        for (handle, subscription) in client.subscriptions.sorted(by: { $0.key < $1.key }) {
            subscriptions.appendLittleEndian(handle.rawValue)
            subscriptions.appendLittleEndian(subscription.rawValue)
        }
        supportedFeatures = client.supportedFeatures
        isChangeAware = client.isChangeAware
        seenDatabaseHash = hash
    }

    var value: RememberedPhone {
        get throws(ByteDecodingError) {
            var reader = ByteReader(bond)
            let bond = try Bond(reading: &reader)
            try reader.expectEnd("bond")
            var client = GATTClientState(supportedFeatures: supportedFeatures, isChangeAware: isChangeAware)
            var pairs = ByteReader(subscriptions)
            while !pairs.isEmpty {
                let handle = AttributeHandle(rawValue: try pairs.readLittleEndian("subscriptions.handle"))
                client.subscriptions[handle] = Subscription(
                    rawValue: try pairs.readLittleEndian("subscriptions.value")
                )
            }
            return RememberedPhone(
                bond: bond,
                client: client,
                seenDatabaseHash: seenDatabaseHash,
                services: services.flatMap(Self.decodeServices)
            )
        }
    }
}

// MARK: Rows

extension PhoneRecord {
    private static let columns =
        "identity, bond, subscriptions, supportedFeatures, isChangeAware, seenDatabaseHash, services"

    private init(_ row: SQLiteRow) throws(SQLiteError) {
        identity = try row.read(0)
        bond = try row.read(1)
        subscriptions = try row.read(2)
        supportedFeatures = try row.read(3)
        isChangeAware = try row.read(4)
        seenDatabaseHash = try row.read(5)
        services = try row.read(6)
    }

    /// All, from the oldest to the newest, which is what the order of rows says.
    static func all(in connection: SQLiteConnection) throws -> [RememberedPhone] {
        let rows = try connection.prepare("SELECT \(columns) FROM phone ORDER BY rowid")
        var phones: [RememberedPhone] = []
        while let row = try rows.next() { phones.append(try PhoneRecord(row).value) }
        return phones
    }

    /// The row of a phone; nil if it is not bonded.
    static func find(_ identity: LEAddress, in connection: SQLiteConnection) throws -> PhoneRecord? {
        try connection.prepare("SELECT \(columns) FROM phone WHERE identity = ?", [key(of: identity)]).next()
            .map(PhoneRecord.init)
    }

    static func delete(_ identity: LEAddress, in connection: SQLiteConnection) throws {
        try connection.execute("DELETE FROM phone WHERE identity = ?", [key(of: identity)])
    }

    static func deleteOthers(than identity: LEAddress, in connection: SQLiteConnection) throws {
        try connection.execute("DELETE FROM phone WHERE identity <> ?", [key(of: identity)])
    }

    /// Adds the row, as the newest of all.
    func insert(in connection: SQLiteConnection) throws {
        try connection.execute(
            "INSERT INTO phone (\(Self.columns)) VALUES (?, ?, ?, ?, ?, ?, ?)",
            [identity, bond, subscriptions, supportedFeatures, isChangeAware, seenDatabaseHash, services]
        )
    }

    /// Changes the row in its place.
    func update(in connection: SQLiteConnection) throws {
        try connection.execute(
            """
            UPDATE phone SET bond = ?2, subscriptions = ?3, supportedFeatures = ?4, isChangeAware = ?5, \
            seenDatabaseHash = ?6, services = ?7 WHERE identity = ?1
            """,
            [identity, bond, subscriptions, supportedFeatures, isChangeAware, seenDatabaseHash, services]
        )
    }
}
