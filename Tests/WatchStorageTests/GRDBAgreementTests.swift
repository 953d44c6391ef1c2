import BluetoothHCI
import BluetoothHost
import Foundation
import GRDB
import PebbleProtocol
import PebbleWatch
import Testing

@testable import WatchStorage

/// Files of programs that used GRDB are ours, and ours are theirs.
@Suite struct GRDBAgreementTests {
    private let directory = FileManager.default.temporaryDirectory
        .appendingPathComponent("cairn-agreement-\(UUID().uuidString)").path
    private var file: String { directory + "/" + SQLiteStore.fileName }

    private func makeDirectory() throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
    }

    private static func uuid(_ number: UInt64) -> PebbleUUID { PebbleUUID(upperHalf: number, lowerHalf: 1) }

    @Test(arguments: ["identity and phones", "services", "phone services", nil])
    func tablesAreTheSameInOldFilesAndNewOnes(last: String?) throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try makeDirectory()
        let judge = directory + "/judge.sqlite"
        try GRDBStore.make(judge).close()
        if let last { try GRDBStore.make(file, upTo: last).close() }
        try SQLiteStore(directory: directory).close()
        #expect(try GRDBStore.tables(of: file) == GRDBStore.tables(of: judge))
        let database = try DatabaseQueue(path: file)
        let (applied, isComplete, version) = try database.read { database in
            (
                try GRDBStore.migrator.appliedMigrations(database),
                try GRDBStore.migrator.hasCompletedMigrations(database),
                try Int.fetchOne(database, sql: "PRAGMA user_version")
            )
        }
        #expect(applied == ["identity and phones", "services", "phone services"] && isComplete && version == 3)
    }

    @Test func whatGRDBWroteIsRead() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try makeDirectory()
        let bond = Bond(
            identity: .random(DeviceAddress(0xC011_2233_4455)),
            keys: .secureConnections(LongTermKey(5)),
            isAuthenticated: true,
            peerIdentityResolvingKey: IdentityResolvingKey(6),
            metadata: Bond.Metadata(name: "phone")
        )
        let application = Data([0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 1])
        do {
            let database = try GRDBStore.make(file)
            try database.write { database in
                try database.execute(
                    sql: "INSERT INTO phone VALUES (?, ?, ?, ?, ?, ?, NULL)",
                    arguments: [
                        "random C0:11:22:33:44:55", Data(PhoneRecord.encode(bond)), Data([3, 0, 2, 0]), UInt8(5),
                        false, Data(),
                    ]
                )
                try database.execute(
                    sql: "INSERT INTO record (database, key, value, timestamp, isDirty) VALUES (?, ?, ?, ?, ?)",
                    arguments: [UInt8(255), Data([1]), Data(), UInt32.max, true]
                )
                try database.execute(
                    sql: "INSERT INTO loggingSession VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    arguments: [Int64.max, application, UInt32.max, UInt32.max, UInt8(3), UInt16.max, 1, true]
                )
                try database.execute(
                    sql: "INSERT INTO loggingData VALUES (?, ?, ?)",
                    arguments: [Int64.max, 0, Data([1, 2])]
                )
                try database.execute(sql: "INSERT INTO file VALUES (?, ?)", arguments: ["ünï", Data([1, 2, 3])])
                try database.execute(sql: "INSERT INTO fact VALUES (?, ?)", arguments: ["is faithful", Data()])
                try database.execute(sql: "INSERT INTO fact VALUES (?, ?)", arguments: ["app order", application])
            }
        }
        let memory = try SQLiteStore(directory: directory).load()
        let client = GATTClientState(
            subscriptions: [AttributeHandle(rawValue: 3): .indications],
            supportedFeatures: 5,
            isChangeAware: false
        )
        #expect(memory.phones == [RememberedPhone(bond: bond, client: client, seenDatabaseHash: [])])
        let services = memory.services
        let record = BlobDatabases.Record(value: [], timestamp: .max, isDirty: true)
        #expect(
            services.records == [StoredRecord(database: BlobDBDatabase(rawValue: 255), key: [1], record: record)]
        )
        let spool = try #require(services.logging[LoggingSessionID(rawValue: .max)])
        #expect(spool.session.itemSize == .max && spool.session.timestamp == .max && spool.isFinished)
        #expect(services.files == ["ünï": StoredObject(size: 3, head: [1, 2, 3])])
        #expect(services.isFaithful && services.appOrder == [Self.uuid(9)])
    }

    @Test func whatIsWrittenGRDBReads() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let store = try SQLiteStore(directory: directory)
        let record = BlobDatabases.Record(value: [], timestamp: .max, isDirty: true)
        try store.apply(
            .service(
                .several([
                    .record(StoredRecord(database: .settings, key: [1, 2], record: record)),
                    .file(name: "a\0b", [7]), .appOrder([Self.uuid(9)]),
                ])
            )
        )
        try store.apply(.bond(Self.bond, replacingOthers: false))
        try store.close()
        try DatabaseQueue(path: file).read { database in
            let row = try #require(try Row.fetchOne(database, sql: "SELECT * FROM record"))
            #expect(row["key"] == Data([1, 2]) && row["value"] == Data() && row["isDirty"] == true)
            #expect(row["timestamp"] == UInt32.max)
            #expect(try String.fetchOne(database, sql: "SELECT hex(name) FROM file") == "610062")
            let order = try Data.fetchOne(database, sql: "SELECT content FROM fact WHERE name = 'app order'")
            #expect(order == Data([0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 1]))
            let phone = try #require(try Row.fetchOne(database, sql: "SELECT * FROM phone"))
            #expect(phone["identity"] == "random C0:00:00:00:00:01" && phone["isChangeAware"] == true)
            #expect((phone["services"] as Data?) == nil && (phone["seenDatabaseHash"] as Data?) == nil)
            #expect(phone["subscriptions"] == Data() && phone["bond"] == Data(PhoneRecord.encode(Self.bond)))
            // Each value has the type of storage that its column says.
            let types = """
                SELECT typeof(bond) || typeof(subscriptions) || typeof(supportedFeatures) || typeof(isChangeAware) FROM phone
                """
            #expect(try String.fetchOne(database, sql: types) == "blobblobintegerinteger")
        }
    }

    private static let bond = Bond(
        identity: .random(DeviceAddress(0xC000_0000_0001)),
        keys: .secureConnections(LongTermKey(1)),
        isAuthenticated: true,
        peerIdentityResolvingKey: IdentityResolvingKey(1),
        metadata: Bond.Metadata(name: "phone")
    )

    /// A value that another program put there is a damaged file, and no trap.
    @Test(arguments: [
        "UPDATE record SET timestamp = -1", "UPDATE record SET timestamp = 1.5", "UPDATE record SET timestamp = x'00'",
        "UPDATE record SET key = 'text'",
        "UPDATE record SET database = 256", "UPDATE record SET isDirty = 'perhaps'",
    ])
    func aValueOutOfRangeIsDamage(change: String) throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let store = try SQLiteStore(directory: directory)
        let record = BlobDatabases.Record(value: [1], timestamp: 2, isDirty: false)
        try store.apply(.service(.record(StoredRecord(database: .settings, key: [1], record: record))))
        try store.close()
        try DatabaseQueue(path: file).write { try $0.execute(sql: change) }
        #expect {
            _ = try SQLiteStore(directory: directory).load()
        } throws: { error in
            guard case .corrupt(_, let reason)? = error as? WatchStoreError else { return false }
            return reason.contains("cannot be read")
        }
    }

    /// The pieces of an image leave no gap, do not overlap, and begin at its beginning.
    @Test(arguments: [
        "UPDATE updatePiece SET offset = 3 WHERE offset = 2", "UPDATE updatePiece SET offset = 1 WHERE offset = 2",
        "DELETE FROM updatePiece WHERE offset = 0",
    ])
    func anImageInWrongPiecesIsDamage(change: String) throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let store = try SQLiteStore(directory: directory)
        for offset in [0, 2] { try store.apply(.service(.updateBytes(.firmware, offset: offset, [1, 2]))) }
        #expect(try store.load().services.update[.firmware]?.bytes == [1, 2, 1, 2])
        try store.close()
        try DatabaseQueue(path: file).write { try $0.execute(sql: change) }
        #expect {
            _ = try SQLiteStore(directory: directory).load()
        } throws: { error in
            guard case .corrupt(_, let reason)? = error as? WatchStoreError else { return false }
            return reason.contains("offset")
        }
    }
}
