import Foundation
import GRDB
import PebbleProtocol
import PebbleWatch
import Testing

@testable import WatchStorage

/// What the services keep, through the disk and back.
@Suite struct ServiceTablesTests {
    private let directory = FileManager.default.temporaryDirectory
        .appendingPathComponent("cairn-services-\(UUID().uuidString)").path

    private static func uuid(_ number: UInt64) -> PebbleUUID { PebbleUUID(upperHalf: number, lowerHalf: 1) }

    private static func record(_ key: UInt8, _ value: [UInt8], dirty: Bool = false) -> ServiceChange {
        .record(
            StoredRecord(
                database: .settings,
                key: [key],
                record: BlobDatabases.Record(value: value, timestamp: .max, isDirty: dirty)
            )
        )
    }

    private static let session = DataLoggingMessage.Session(
        application: uuid(9),
        timestamp: .max,
        tag: .max,
        itemType: .signed,
        itemSize: 2
    )

    private func remembered(after changes: [ServiceChange]) throws -> ServiceMemory {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        do {
            let store = try SQLiteStore(directory: directory)
            for change in changes { try store.apply(.service(change)) }
        }
        return try SQLiteStore(directory: directory).load().services
    }

    @Test func everythingComesBack() throws {
        let firmware = FirmwareMetadata(
            timestamp: 0x0102_0304,
            versionTag: "v4.9.1",
            shortGitHash: "abc",
            flags: [],
            hardwarePlatform: .asterix
        )
        let part = AppPart(of: Self.uuid(1), .binary)
        let bytes = [UInt8](0...255)
        let memory = try remembered(after: [
            .firmware(firmware), .recoveryFirmware(firmware), .appPart(part, bytes), .file(name: "lang", [1, 2, 3]),
            .updateBytes(.firmware, offset: 0, [1, 2]), .updateBytes(.firmware, offset: 2, [3]),
            .updateProgress(.firmware, .committed), .isFaithful(true), .appOrder([Self.uuid(2), Self.uuid(1)]),
            Self.record(2, [7, 7], dirty: true), Self.record(1, []),
            .loggingSession(LoggingSessionID(rawValue: 300), Self.session),
            .loggingData(LoggingSessionID(rawValue: 300), offset: 0, [1, 2, 3, 4]),
            .loggingData(LoggingSessionID(rawValue: 300), offset: 4, [5, 6]),
            .loggingFinished(LoggingSessionID(rawValue: 300)), .isDataLoggingEnabled(false), .coreDump([9]),
            .coreDumpRead,
        ])
        var expected = ServiceMemory()
        expected.firmware = firmware
        expected.recoveryFirmware = firmware
        expected.appParts = [part: StoredObject(size: 256, head: Array(bytes.prefix(130)))]
        expected.files = ["lang": StoredObject(size: 3, head: [1, 2, 3])]
        expected.update = [.firmware: StoredFirmwareImage(bytes: [1, 2, 3], progress: .committed)]
        expected.isFaithful = true
        expected.appOrder = [Self.uuid(2), Self.uuid(1)]
        expected.records = [
            StoredRecord(database: .settings, key: [2], record: .init(value: [7, 7], timestamp: .max, isDirty: true)),
            StoredRecord(database: .settings, key: [1], record: .init(value: [], timestamp: .max)),
        ]
        expected.logging = [
            LoggingSessionID(rawValue: 300): LoggingSpool(
                session: Self.session,
                bytes: [1, 2, 3, 4, 5, 6],
                isFinished: true
            )
        ]
        expected.isDataLoggingEnabled = false
        expected.coreDump = CoreDump(bytes: [9], isRead: true)
        #expect(memory == expected)
    }

    @Test func keysKeepTheirPlaceWhenTheyAreWrittenAgain() throws {
        let memory = try remembered(after: [Self.record(1, [1]), Self.record(2, [2]), Self.record(1, [3])])
        #expect(memory.records.map(\.key) == [[1], [2]])
        #expect(memory.records.map(\.record.value) == [[3], [2]])
    }

    @Test func whatIsRemovedIsGone() throws {
        let memory = try remembered(after: [
            Self.record(1, [1]), Self.record(2, [2]), .recordRemoved(.settings, key: [1]), .allRecordsDirty(.settings),
            .appPart(AppPart(of: Self.uuid(1), .binary), [1]), .appPart(AppPart(of: Self.uuid(2), .binary), [1]),
            .appPartsRemoved(of: Self.uuid(1)), .coreDump([1]), .coreDumpRead, .coreDump([2]), .isFaithful(true),
            .isFaithful(false), .updateBytes(.firmware, offset: 0, [1]), .updateDiscarded(.firmware),
            .loggingSession(LoggingSessionID(rawValue: 1), Self.session), .loggingEnded(LoggingSessionID(rawValue: 1)),
        ])
        #expect(memory.records.map(\.key) == [[2]])
        #expect(memory.records.map(\.record.isDirty) == [true])
        #expect(memory.appParts.keys.map(\.application) == [Self.uuid(2)])
        #expect(memory.coreDump == CoreDump(bytes: [2]))
        #expect(!memory.isFaithful && memory.update.isEmpty && memory.logging.isEmpty)
    }

    @Test func anImageIsCutWhereItGoesOn() throws {
        let memory = try remembered(after: [
            .updateBytes(.firmware, offset: 0, [1, 2, 3, 4]), .updateBytes(.firmware, offset: 4, [5, 6]),
            .updateBytes(.firmware, offset: 3, [9, 9, 9]),
        ])
        #expect(memory.update[.firmware]?.bytes == [1, 2, 3, 9, 9, 9])
    }

    @Test func aPieceThatThePhoneHasInPartComesBackInPart() throws {
        let id = LoggingSessionID(rawValue: 1)
        let memory = try remembered(after: [
            .loggingSession(id, Self.session), .loggingData(id, offset: 0, [1, 2]),
            .loggingData(id, offset: 2, [3, 4, 5, 6]),
            .loggingConsumed(id, upTo: 4),
        ])
        #expect(memory.logging[id] == LoggingSpool(session: Self.session, bytes: [5, 6], start: 4))
    }

    @Test func aFactoryResetLeavesTheFirmware() throws {
        let firmware = FirmwareMetadata(
            timestamp: 1,
            versionTag: "v4.9.1",
            shortGitHash: "abc",
            flags: [],
            hardwarePlatform: .asterix
        )
        let memory = try remembered(after: [
            .firmware(firmware), Self.record(1, [1]), .appOrder([Self.uuid(1)]), .coreDump([1]),
            .file(name: "lang", [1]),
            .loggingSession(LoggingSessionID(rawValue: 1), Self.session), .factoryReset,
        ])
        #expect(memory == ServiceMemory(firmware: firmware))
    }

    @Test func ofSeveralChangesAllAreThereOrNone() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let store = try SQLiteStore(directory: directory)
        let id = LoggingSessionID(rawValue: 1)
        // The same place cannot be logged twice.
        #expect(throws: WatchStoreError.self) {
            try store.apply(
                .service(
                    .several([
                        .loggingSession(id, Self.session), .loggingData(id, offset: 0, [1]),
                        .loggingData(id, offset: 0, [2]),
                    ])
                )
            )
        }
        #expect(try store.load().services == ServiceMemory())
    }

    @Test func aStoreOfTheFirstVersionIsUnderstood() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        do {
            // As the first version made it, with a phone in it.
            let queue = try GRDBStore.make(directory + "/" + SQLiteStore.fileName, upTo: "identity and phones")
            try queue.write { database in
                try database.execute(
                    sql: "INSERT INTO identity (id, addressType, address, identityResolvingKey) VALUES (1, 1, ?, ?)",
                    arguments: [0xC123_4567_89AB as Int64, Data(repeating: 7, count: 16)]
                )
            }
        }
        let store = try SQLiteStore(directory: directory)
        #expect(try store.load().identity != nil)
        try store.apply(.service(Self.record(1, [1])))
        #expect(try store.load().services.records.count == 1)
    }
}
