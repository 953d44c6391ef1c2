import ByteCoding
import PebbleProtocol
import Testing

@testable import PebbleWatch

/// What each database takes, in the firmware's own terms.
@Suite struct DatabaseRulesTests {
    private static let uuid = PebbleUUID(upperHalf: 0x6B1F_5C2E_0F3A_4D0E, lowerHalf: 0x9B7A_1C2D_3E4F_5A6B)

    private func insert(
        _ key: [UInt8],
        _ value: [UInt8],
        into database: BlobDBDatabase,
        _ rig: inout ServiceRig
    ) throws -> BlobDBStatus? {
        let record = BlobDBRecord(key: key[...], value: value[...])
        let request = BlobDBRequest(token: .none, command: .insert(database, record, timestamp: nil))
        return try rig.send(request).decoded(BlobDBResponse.self).first?.status
    }

    private func delete(_ key: [UInt8], from database: BlobDBDatabase, _ rig: inout ServiceRig) throws -> BlobDBStatus?
    {
        let request = BlobDBRequest(token: .none, command: .delete(database, key: key[...]))
        return try rig.send(request).decoded(BlobDBResponse.self).first?.status
    }

    private static func zeros(_ count: Int) -> [UInt8] { [UInt8](repeating: 0, count: count) }
    private static func text(_ text: String) -> [UInt8] { Array(text.utf8) }

    @Test func valuesThatADatabaseDoesNotTake() throws {
        var rig = ServiceRig()
        let uuid = Self.uuid.key
        let glance: [UInt8] = [1, 0, 0xF1, 0x53, 0x65]
        let cases: [(database: BlobDBDatabase, key: [UInt8], value: [UInt8], status: BlobDBStatus)] = [
            (.test, uuid, [1], .dataStale),
            (.weather, uuid, [1], .invalidData), (.weather, uuid, [3] + Self.zeros(19), .success),
            (.weather, uuid, [2] + Self.zeros(19), .invalidData), (.weather, [1], [3] + Self.zeros(19), .invalidData),
            (.cannedMessages, [1], Self.zeros(5), .invalidData), (.cannedMessages, [1], Self.zeros(6), .success),
            (.healthPreferences, Self.text("activityPreferences"), Self.zeros(9), .success),
            (.healthPreferences, Self.text("activityPreferences"), Self.zeros(2), .invalidData),
            (.healthPreferences, Self.text("nonsense"), [1], .invalidData),
            (.contacts, uuid, Self.zeros(21), .invalidData), (.contacts, uuid, Self.zeros(22), .success),
            (.watchAppPreferences, Self.text("weatherApp"), [0], .success),
            (.watchAppPreferences, Self.text("weatherApp"), [1] + uuid, .success),
            (.watchAppPreferences, Self.text("weatherApp"), [2] + uuid, .invalidData),
            (.watchAppPreferences, Self.text("sendTextApp"), [1] + Self.zeros(33), .success),
            (.watchAppPreferences, Self.text("remindersApp"), [7], .success),
            (.watchAppPreferences, Self.text("nonsense"), [0], .invalidData),
            (.healthStatistics, Self.text("monday_steps"), Self.zeros(8), .success),
            (.healthStatistics, Self.text("monday_steps"), Self.zeros(7), .invalidData),
            (.healthStatistics, Self.text("abc"), Self.zeros(4), .invalidData),
            (.appGlances, uuid, glance, .keyDoesNotExist), (.appGlances, EchoApp.identifier.key, glance, .success),
            (.appGlances, EchoApp.identifier.key, glance, .invalidData),
            (.appGlances, uuid, [2] + glance.dropFirst(), .invalidData), (.appGlances, uuid, [1], .invalidData),
            (.settings, Self.text("clock24h"), [1], .success), (.settings, Self.text("mask") + [0], [1], .success),
            (.settings, Self.text("nonsense"), [1], .dataStale),
        ]
        for (database, key, value, status) in cases {
            #expect(try insert(key, value, into: database, &rig) == status, "\(database) \(key) \(value)")
        }
        // With or without its NUL a setting is the same.
        #expect(rig.system.services.store.databases.keys(of: .settings) == [Self.text("clock24h"), Self.text("mask")])
    }

    @Test func deletionOfWhatIsNotThere() throws {
        var rig = ServiceRig()
        let uuid = Self.uuid.key
        let cases: [(database: BlobDBDatabase, key: [UInt8], status: BlobDBStatus)] = [
            (.test, uuid, .dataStale), (.pins, uuid, .success), (.apps, uuid, .keyDoesNotExist),
            (.reminders, uuid, .success), (.notifications, uuid, .success), (.weather, uuid, .keyDoesNotExist),
            (.cannedMessages, uuid, .success), (.healthPreferences, uuid, .dataStale), (.contacts, uuid, .success),
            (.watchAppPreferences, uuid, .success), (.healthStatistics, Self.text("a_b"), .success),
            (.healthStatistics, uuid, .invalidData), (.appGlances, uuid, .success), (.settings, uuid, .dataStale),
            (.settings, Self.text("clock24h"), .success), (.pins, [1], .invalidData), (.apps, [1], .invalidData),
        ]
        for (database, key, status) in cases {
            #expect(try delete(key, from: database, &rig) == status, "\(database) \(key)")
        }
    }

    /// An app is known by the UUID in its entry, and not by the key.
    @Test func anAppUnderAnotherKey() throws {
        var rig = ServiceRig()
        var value: [UInt8] = []
        AppMetadata(uuid: Self.uuid, flags: [], majorVersion: 1, minorVersion: 0, sdk: .current, name: "Test")
            .encode(to: &value)
        let key = PebbleUUID(upperHalf: 1, lowerHalf: 2).key
        #expect(try insert(key, value, into: .apps, &rig) == .success)
        #expect(rig.system.services.store.apps.all.map(\.metadata.uuid) == [Self.uuid])
        #expect(try delete(key, from: .apps, &rig) == .keyDoesNotExist)
        #expect(try delete(Self.uuid.key, from: .apps, &rig) == .success)
        #expect(rig.system.services.store.apps.all.isEmpty)
    }

    /// By its end on the clock that the phone has set; a floating item is in local time.
    @Test func pinsAndRemindersThatAreTooOld() throws {
        func status(
            _ database: BlobDBDatabase,
            secondsAgo: Int64,
            minutes: UInt16 = 30,
            flags: TimelineItem.Flags = .visible,
            layout: TimelineItem.Layout = .generic
        ) throws -> BlobDBStatus? {
            var rig = ServiceRig()
            let zone = TimeMessage.UTCTime(seconds: ServiceRig.startTime, offsetMinutes: 60, zoneName: "UTC+1")
            try rig.send(TimeMessage.setUTC(zone))
            var value: [UInt8] = []
            TimelineItem(
                id: Self.uuid,
                parent: .system,
                timestamp: UInt32(clamping: Int64(ServiceRig.startTime) - secondsAgo),
                durationMinutes: minutes,
                kind: .pin,
                flags: flags,
                layout: layout,
                attributes: [TimelineAttribute(.title, "A")],
                actions: []
            ).encode(to: &value)
            return try insert(Self.uuid.key, value, into: database, &rig)
        }
        let pin = DatabaseRules.pinAge + 30 * 60
        #expect(try status(.pins, secondsAgo: pin) == .success)
        #expect(try status(.pins, secondsAgo: pin + 1) == .dataStale)
        #expect(try status(.pins, secondsAgo: pin + 1, minutes: 31) == .success)
        #expect(try status(.pins, secondsAgo: pin, flags: .floating) == .dataStale, "an hour later on the wall")
        let reminder = DatabaseRules.reminderAge + 30 * 60
        #expect(try status(.reminders, secondsAgo: reminder) == .success)
        #expect(try status(.reminders, secondsAgo: reminder + 1) == .dataStale)
        #expect(try status(.notifications, secondsAgo: 1_000_000_000) == .success)
        #expect(try status(.pins, secondsAgo: 0, layout: .notification) == .invalidData)
        #expect(try status(.reminders, secondsAgo: 0, layout: .reminder) == .success)
        // What a layout has to show must be there.
        #expect(try status(.pins, secondsAgo: 0, layout: .weather) == .invalidData)
        #expect(try status(.pins, secondsAgo: 0, layout: .communication) == .invalidData)
        #expect(try status(.pins, secondsAgo: 0, layout: TimelineItem.Layout(rawValue: 0)) == .invalidData)
    }
}
