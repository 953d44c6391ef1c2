import BluetoothHCI
import BluetoothHost
import Foundation
import GRDB
import PebbleProtocol
import PebbleWatch
import Testing

@testable import WatchStorage

/// Copies of the store, and files that this program did not write.
@Suite struct BackupTests {
    private let folder: String
    private var directory: String { folder + "/state" }
    private var file: String { directory + "/" + SQLiteStore.fileName }
    private var copy: String { folder + "/copy" }

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("cairn-backup-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    }

    private func cleanUp() { try? FileManager.default.removeItem(atPath: folder) }

    private static let identity = LocalIdentity(
        address: .random(DeviceAddress(0xC123_4567_89AB)),
        identityResolvingKey: IdentityResolvingKey(7)
    )

    private static func phone(_ number: UInt64) -> RememberedPhone {
        RememberedPhone(
            bond: Bond(
                identity: .random(DeviceAddress(0xC000_0000_0000 | number)),
                keys: .secureConnections(LongTermKey(UInt128(number))),
                isAuthenticated: true,
                peerIdentityResolvingKey: IdentityResolvingKey(UInt128(number)),
                metadata: Bond.Metadata(name: "phone \(number)")
            )
        )
    }

    private func store(phones: Int = 2) throws -> SQLiteStore {
        let store = try SQLiteStore(directory: directory)
        try store.apply(.identity(Self.identity))
        for number in 1...UInt64(phones) { try store.apply(.bond(Self.phone(number).bond, replacingOthers: false)) }
        try store.apply(
            .service(
                .record(
                    StoredRecord(
                        database: .apps,
                        key: [1],
                        record: BlobDatabases.Record(value: [2], timestamp: 3, isDirty: false)
                    )
                )
            )
        )
        return store
    }

    /// What is remembered where a single file has been copied to.
    private func restored(_ file: String) throws -> WatchMemory {
        let directory = folder + "/restored-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try FileManager.default.copyItem(atPath: file, toPath: directory + "/" + SQLiteStore.fileName)
        return try SQLiteStore(directory: directory).load()
    }

    private func refusal(_ body: () throws -> Void) -> WatchStoreError? {
        do {
            try body()
            return nil
        } catch {
            return error as? WatchStoreError
        }
    }

    // MARK: Copies

    @Test func afterACleanEndTheOneFileIsWhole() throws {
        defer { cleanUp() }
        let store = try store()
        let memory = try store.load()
        try store.close()
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory) == [SQLiteStore.fileName])
        #expect(try restored(file) == memory)
        #expect(refusal { try store.apply(.identity(Self.identity)) } != nil, "it is closed")
    }

    @Test func aBackupOfAStoreInUseIsWholeAndTheStoreGoesOn() throws {
        defer { cleanUp() }
        let store = try store()
        let memory = try store.load()
        let summary = try store.backUp(to: copy)
        try store.apply(.bond(Self.phone(3).bond, replacingOthers: false))
        #expect(try store.load().phones.count == 3)
        #expect(try restored(copy) == memory)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasPrefix("copy") } == ["copy"])
        let attributes = try FileManager.default.attributesOfItem(atPath: copy)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(attributes[.size] as? Int == summary.size)
        #expect(summary.schema == 3 && summary.address == Self.identity.address.address)
        #expect((summary.phones, summary.apps, summary.records, summary.loggedBytes) == (2, 1, 1, 0))
        // What is there already stays.
        #expect(refusal { _ = try store.backUp(to: copy) } == .unusable(path: copy, reason: "File exists"))
        #expect(try restored(copy) == memory)
        #expect(refusal { _ = try store.backUp(to: folder + "/nowhere/copy") } != nil)
    }

    @Test func aBackupOfAWatchThatWasKilledHasWhatWasInTheLog() throws {
        defer { cleanUp() }
        let store = try store()
        let memory = try store.load()
        // The files on the disk at this moment are those of a killed process.
        let killed = folder + "/killed"
        try FileManager.default.copyItem(atPath: directory, toPath: killed)
        #expect(try FileManager.default.contentsOfDirectory(atPath: killed).contains(SQLiteStore.fileName + "-wal"))
        let summary = try SQLiteStore.backUp(directory: killed, to: copy)
        #expect(summary.phones == 2)
        #expect(try restored(copy) == memory)
        #expect(try SQLiteStore(directory: killed).load() == memory)
        // The other is still in use.
        let expected = WatchStoreError.unusable(path: file, reason: "another process has it open; stop it first")
        #expect(refusal { _ = try SQLiteStore.backUp(directory: directory, to: folder + "/other") } == expected)
        let missing = WatchStoreError.unusable(path: "/nowhere/watch.sqlite", reason: "there is no such file")
        #expect(refusal { _ = try SQLiteStore.backUp(directory: "/nowhere", to: folder + "/other") } == missing)
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder).sorted().filter { $0 == "other" } == [])
    }

    // MARK: Files of other programs

    @Test(arguments: [
        "PRAGMA user_version = 9", "INSERT INTO grdb_migrations VALUES ('from the future')",
        "PRAGMA user_version = 4; INSERT INTO grdb_migrations VALUES ('from the future')",
    ])
    func aNewerSchemaIsRefusedWithBothVersions(change: String) throws {
        defer { cleanUp() }
        try store().close()
        try DatabaseQueue(path: file).write { try $0.execute(sql: change) }
        let before = try Data(contentsOf: URL(fileURLWithPath: file))
        let found = change.contains("9") ? 9 : 4
        let expected = WatchStoreError.newer(path: file, found: found, known: 3)
        #expect(refusal { _ = try SQLiteStore(directory: directory) } == expected)
        #expect(refusal { _ = try SQLiteStore.backUp(directory: directory, to: copy) } == expected)
        #expect("\(expected)".contains("version \(found)") && "\(expected)".contains("up to 3"))
        let tables = try DatabaseQueue(path: file).read {
            try String.fetchAll($0, sql: "SELECT name FROM sqlite_master")
        }
        #expect(tables.contains("phone"))
        #expect(before.count == (try Data(contentsOf: URL(fileURLWithPath: file))).count)
    }

    @Test(arguments: ["identity and phones", "services"])
    func anOlderSchemaBecomesThisOne(last: String) throws {
        defer { cleanUp() }
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        do {
            let database = try GRDBStore.make(file, upTo: last)
            try database.write { database in
                try database.execute(
                    sql: "INSERT INTO identity (id, addressType, address, identityResolvingKey) VALUES (1, 1, ?, ?)",
                    arguments: [0xC123_4567_89AB as Int64, Data([7] + [UInt8](repeating: 0, count: 15))]
                )
            }
        }
        let summary = try SQLiteStore.backUp(directory: directory, to: copy)
        #expect(summary.schema == (last == "services" ? 2 : 1) && summary.address == Self.identity.address.address)
        #expect(try SQLiteStore(directory: directory).load() == WatchMemory(identity: Self.identity))
        #expect(try DatabaseQueue(path: file).read { try Int.fetchOne($0, sql: "PRAGMA user_version") } == 3)
        #expect(try restored(copy).identity == Self.identity, "and so does a copy of it")
    }

    @Test func whatIsNoWatchsIsLeftAlone() throws {
        defer { cleanUp() }
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try DatabaseQueue(path: file).write { try $0.execute(sql: "CREATE TABLE recipe (name TEXT)") }
        let expected = WatchStoreError.foreign(path: file)
        #expect(refusal { _ = try SQLiteStore(directory: directory) } == expected)
        #expect(refusal { _ = try SQLiteStore.backUp(directory: directory, to: copy) } == expected)
        let tables = try DatabaseQueue(path: file).read {
            try String.fetchAll($0, sql: "SELECT name FROM sqlite_master")
        }
        #expect(tables == ["recipe"])
    }

    @Test func aFileWithoutItsEndIsDamaged() throws {
        defer { cleanUp() }
        try store(phones: 200).close()
        let whole = try Data(contentsOf: URL(fileURLWithPath: file))
        for length in [50, 99, 100, 1000, 4096, 8192, whole.count / 2, whole.count - 4096, whole.count - 1] {
            try whole.prefix(length).write(to: URL(fileURLWithPath: file))
            guard case .corrupt(file, _)? = refusal({ _ = try SQLiteStore(directory: directory).load() }) else {
                Issue.record("\(length) of \(whole.count) bytes are taken")
                continue
            }
            guard case .corrupt? = refusal({ _ = try SQLiteStore.backUp(directory: directory, to: copy) }) else {
                Issue.record("\(length) of \(whole.count) bytes are backed up")
                continue
            }
            #expect(try Data(contentsOf: URL(fileURLWithPath: file)).count == length, "it is left as it is")
        }
    }
}
