import AirSimulator
import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import Foundation
import PebbleProtocol
import PebbleWatch
import WatchStorage

/// A watch's database whose rows and pages are what the program wants: the store opens it and loads it, and the watch comes up
/// with what is there, or the store says why it cannot be.
///
/// What must hold: of rows that were loaded none is missing; what was loaded once is loaded again; the watch that has this
/// memory starts and advertises; and an error has a reason.
enum DatabaseFiles {
    /// Who the watch in the file is.
    static let identity = LocalIdentity(
        address: .random(DeviceAddress(0xC123_4567_89AB)),
        identityResolvingKey: IdentityResolvingKey(0x0123_4567_89AB_CDEF_0123_4567_89AB_CDEF)
    )

    static func database(_ input: ArraySlice<UInt8>) throws -> UInt64 {
        var program = FuzzProgram(input)
        var digest = FuzzDigest()
        let directory = try TemporaryDirectory()
        let path = directory.path + "/" + SQLiteStore.fileName
        try write(try template.get(), to: path)
        var isDamaged = false
        switch program.number(below: 8) {
        case 0:
            isDamaged = true
            try write(changed(try template.get(), &program), to: path)
        case 1:
            isDamaged = true
            try changeRows(at: path, &program)
            try write(changed([UInt8](Data(contentsOf: URL(filePath: path))), &program), to: path)
        default: try changeRows(at: path, &program)
        }
        let rows = isDamaged ? nil : try RowCounts(of: path)
        do {
            let store = try SQLiteStore(directory: directory.path)
            let memory = try store.load()
            try store.close()
            digest.add(memory.phones.count)
            digest.add(memory.services.records.count)
            digest.add(try comeUp(memory, rows, directory.path))
        } catch let error as WatchStoreError {
            let words = error.description.replacing(directory.path, with: "")
            try expect(!words.isEmpty, "the store gives no reason")
            digest.add(words)
        }
        return digest.value
    }

    /// What was loaded is all that was there, is there the next time too, and makes a watch that advertises.
    private static func comeUp(_ memory: WatchMemory, _ rows: RowCounts?, _ directory: String) throws -> [UInt8] {
        try rows?.expectAll(in: memory)
        let store = try SQLiteStore(directory: directory)
        try expect(try store.load() == memory, "what was loaded is loaded otherwise the next time")
        try store.close()
        var simulation = Simulation(seed: 1)
        simulation.air.recordPackets(true)
        let watch = simulation.add(try FuzzedWatch(seed: 1, memory: memory))
        let outcome = simulation.run(for: .seconds(2))
        try expect(outcome == .timeIsUp, "time does not pass")
        let sent = simulation.withHost(watch) { $0.digest.value } ?? 0
        try expect(simulation.air.nextAirPacket() != nil, "the watch does not advertise")
        return withUnsafeBytes(of: sent.littleEndian) { Array($0) }
    }

    // MARK: The file

    /// The bytes of a store with something in every table.
    private static let template = Result { try makeTemplate() }

    private static func makeTemplate() throws -> [UInt8] {
        let directory = try TemporaryDirectory()
        let store = try SQLiteStore(directory: directory.path)
        for change in changes { try store.apply(change) }
        try store.close()
        return [UInt8](try Data(contentsOf: URL(filePath: directory.path + "/" + SQLiteStore.fileName)))
    }

    private static let changes: [MemoryChange] = {
        let phones = (1...2).map { number in
            Bond(
                identity: .random(DeviceAddress(0xC000_0000_0000 | UInt64(number))),
                keys: .secureConnections(LongTermKey(UInt128(number))),
                isAuthenticated: true,
                peerIdentityResolvingKey: IdentityResolvingKey(UInt128(number) << 8),
                metadata: Bond.Metadata(name: "phone \(number)")
            )
        }
        let client = GATTClientState(subscriptions: [AttributeHandle(rawValue: 3): .indications])
        let firmware = FirmwareMetadata(
            timestamp: 0x0102_0304,
            versionTag: "v4.9.1",
            shortGitHash: "abc",
            flags: [],
            hardwarePlatform: .asterix
        )
        let application = PebbleUUID(upperHalf: 1, lowerHalf: 1)
        let session = DataLoggingMessage.Session(
            application: application,
            timestamp: 1,
            tag: 2,
            itemType: .signed,
            itemSize: 2
        )
        let id = LoggingSessionID(rawValue: 7)
        let records = (1...3).map { number in
            ServiceChange.record(
                StoredRecord(
                    database: .settings,
                    key: [UInt8(number)],
                    record: BlobDatabases.Record(value: [1, 2, 3], timestamp: 9, isDirty: number == 2)
                )
            )
        }
        let services: [ServiceChange] =
            [
                .firmware(firmware), .recoveryFirmware(firmware),
                .appPart(AppPart(of: application, .binary), [UInt8](0...200)), .file(name: "lang", [1, 2, 3]),
                .updateBytes(.firmware, offset: 0, [1, 2]), .updateBytes(.firmware, offset: 2, [3]),
                .updateProgress(.firmware, .committed), .isFaithful(true), .appOrder([application]),
                .loggingSession(id, session), .loggingData(id, offset: 0, [1, 2, 3, 4]),
                .loggingData(id, offset: 4, [5, 6]), .coreDump([9]), .coreDumpRead,
            ] + records
        return [.identity(identity)] + phones.map { .bond($0, replacingOthers: false) }
            + [.client(phones[0].identity, client, seenDatabaseHash: [1, 2, 3])] + services.map { .service($0) }
    }()

    private static func write(_ bytes: [UInt8], to path: String) throws {
        try Data(bytes).write(to: URL(filePath: path))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
    }

    /// Pages with other bytes, and an end that is somewhere else.
    private static func changed(_ bytes: [UInt8], _ program: inout FuzzProgram) -> [UInt8] {
        var bytes = bytes
        for _ in 0...program.number(below: 8) {
            // The header, or anywhere.
            let isHeader = program.flag()
            let place = isHeader ? program.number(below: 112) : Int(program.word()) << 2 | program.number(below: 4)
            let value = program.byte()
            if place < bytes.count { bytes[place] = value }
        }
        switch program.number(below: 4) {
        case 0: return Array(bytes.prefix(Int(program.word())))
        case 1: return bytes + program.piece()
        default: return bytes
        }
    }

    // MARK: Rows

    /// Every table, with its columns.
    static let tables: [(name: String, columns: [String])] = [
        ("identity", ["id", "addressType", "address", "identityResolvingKey"]),
        (
            "phone",
            [
                "identity", "bond", "subscriptions", "supportedFeatures", "isChangeAware", "seenDatabaseHash",
                "services",
            ]
        ), ("appPart", ["application", "kind", "content"]), ("file", ["name", "content"]),
        ("updateImage", ["part", "progress"]), ("updatePiece", ["part", "offset", "content"]),
        ("record", ["database", "key", "value", "timestamp", "isDirty"]),
        (
            "loggingSession",
            ["id", "application", "timestamp", "tag", "itemType", "itemSize", "consumed", "isFinished"]
        ), ("loggingData", ["session", "offset", "content"]), ("fact", ["name", "content"]),
    ]

    /// Numbers that a column may not have room for.
    private static let numbers: [Int64] = [
        0, 1, -1, 2, 127, 128, 255, 256, 32767, 65535, 65536, 1 << 31, 1 << 32, 1 << 48, .max, .min, -(1 << 31),
    ]

    private static func changeRows(at path: String, _ program: inout FuzzProgram) throws {
        let database = try HostileDatabase(path)
        for _ in 0...program.number(below: 6) {
            let table = tables[program.number(below: tables.count)]
            let kind = program.number(below: 16)
            switch kind {
            case 0: database.execute("DELETE FROM \(table.name)")
            case 1: database.execute("DROP TABLE \(table.name)")
            case 2: database.execute("PRAGMA user_version = \(Int8(bitPattern: program.byte()))")
            case 3: database.execute("ALTER TABLE \(table.name) ADD COLUMN more BLOB")
            case 4: database.execute("INSERT INTO grdb_migrations VALUES (?)", [value(&program)])
            case 5: database.execute("DELETE FROM grdb_migrations")
            case 6:
                let marks = table.columns.map { _ in "?" }.joined(separator: ", ")
                database.execute(
                    "INSERT OR REPLACE INTO \(table.name) VALUES (\(marks))",
                    table.columns.map { _ in value(&program) }
                )
            default:
                let column = table.columns[program.number(below: table.columns.count)]
                database.execute(
                    "UPDATE \(table.name) SET \(column) = ? "
                        + "WHERE rowid = (SELECT rowid FROM \(table.name) LIMIT 1 OFFSET \(program.number(below: 3)))",
                    [value(&program)]
                )
            }
        }
        database.close()
    }

    private static func value(_ program: inout FuzzProgram) -> HostileDatabase.Value {
        switch program.number(below: 6) {
        case 0: .null
        case 1: .integer(numbers[program.number(below: numbers.count)])
        case 2: .integer(Int64(program.byte()))
        case 3: .real(Double(Int16(bitPattern: program.word())) / 3)
        case 4: .text(String(decoding: program.piece(), as: UTF8.self))
        default: .blob(program.piece())
        }
    }
}

/// A directory of this process's own, which goes when it is not used any more.
private final class TemporaryDirectory {
    let path: String

    init() throws {
        path = FileManager.default.temporaryDirectory.appending(path: "cairn-fuzz-\(UUID().uuidString)").path()
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
}
