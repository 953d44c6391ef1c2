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
            (.weather, uuid, [1], .invalidData), (.weather, uuid, Self.weather(3, at: 18), .success),
            (.weather, uuid, Self.weather(2, at: 18), .invalidData),
            (.weather, [1], Self.weather(3, at: 18), .invalidData),
            (.cannedMessages, [1], Self.zeros(5), .invalidData), (.cannedMessages, [1], Self.zeros(6), .success),
            (.healthPreferences, Self.text("activityPreferences"), Self.zeros(9), .success),
            (.healthPreferences, Self.text("activityPreferences"), Self.zeros(2), .invalidData),
            (.healthPreferences, Self.text("nonsense"), [1], .invalidData),
            (.healthPreferences, Self.text("clock24h") + [0], [1], .success),
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

    // MARK: Weather

    /// A record of which only the version and the texts matter: one of two letters, and an empty one.
    private static func weather(
        _ version: UInt8,
        minor: UInt8 = 0,
        at offset: Int,
        texts: [UInt8] = [2, 0, 65, 66, 0, 0]
    ) -> [UInt8] {
        var value = zeros(offset) + [UInt8(truncatingIfNeeded: texts.count), 0] + texts
        value[0] = version
        if version == 4 { value[18] = minor }
        return value
    }

    /// Seen at PebbleOS 4.35: texts have to be whole, and where the record's minor version has them.
    @Test func weatherWhoseTextsAreNotWhole() throws {
        var rig = ServiceRig()
        let whole = Self.weather(3, at: 18)
        var declaresMore = whole
        declaresMore[18] += 1
        var cases: [(value: [UInt8], status: BlobDBStatus)] = [
            (whole, .success), (whole + [1, 2, 3], .success), (whole.dropLast(), .invalidData),
            (declaresMore, .invalidData), (Self.weather(3, at: 18, texts: []), .invalidData),
            (Self.weather(3, at: 18, texts: [3, 0, 65, 66]), .invalidData),
            (Self.weather(3, at: 18, texts: [0, 0]), .success),
            (whole + Self.zeros(348 - whole.count), .success), (whole + Self.zeros(349 - whole.count), .invalidData),
            (Self.weather(4, minor: 6, at: 250), .invalidData), (Self.weather(4, minor: 255, at: 250), .invalidData),
        ]
        for (minor, offset) in [118, 141, 161, 177, 201, 250].enumerated() {
            cases.append((Self.weather(4, minor: UInt8(minor), at: offset), .success))
            // Behind the fields of a version before, and cut within its own.
            cases.append((Array(Self.weather(4, minor: UInt8(minor), at: offset).dropLast(7)), .invalidData))
        }
        for (value, status) in cases {
            #expect(try insert(Self.uuid.key, value, into: .weather, &rig) == status, "\(value)")
        }
    }

    /// A phone that says that it has no weather is told that there is no such database.
    @Test(arguments: [Capabilities.weatherApp, .appMessage8K]) func weatherIsForPhonesThatHaveIt(
        _ capabilities: Capabilities
    ) throws {
        var rig = ServiceRig()
        try rig.send(
            PhoneVersionMessage.response(
                PhoneVersion(
                    platform: PhonePlatform(.android),
                    appVersion: .init(major: 4, minor: 4, bugfix: 2),
                    capabilities: capabilities
                )
            )
        )
        let (key, value) = (Self.uuid.key, Self.weather(3, at: 18))
        let hasWeather = capabilities.contains(.weatherApp)
        #expect(try insert(key, value, into: .weather, &rig) == (hasWeather ? .success : .invalidDatabase))
        #expect(try delete(key, from: .weather, &rig) == (hasWeather ? .success : .invalidDatabase))
        let clear = BlobDBRequest(token: .none, command: .clear(.weather))
        let answer = try rig.send(clear).decoded(BlobDBResponse.self).first?.status
        #expect(answer == (hasWeather ? .success : .invalidDatabase))
    }

    // MARK: Glances

    private static func slice(_ length: UInt8, type: UInt8 = 0, count: UInt8 = 0, _ bytes: [UInt8]) -> [UInt8] {
        [length, 0, type, count] + bytes
    }

    /// Seen at PebbleOS 4.35: slices are looked at before the app is looked for.
    @Test func glancesWhoseSlicesAreNotWhole() throws {
        var rig = ServiceRig()
        let subtitle: [UInt8] = [47, 4, 0, 65, 66, 67, 68]
        let good = Self.slice(11, count: 1, subtitle)
        let cases: [(slices: [UInt8], status: BlobDBStatus)] = [
            ([], .success), (good, .success), (good + good, .success),
            (Self.slice(9, count: 1, [47, 2, 0, 72, 105]), .invalidData),
            (Self.slice(11, type: 1, count: 1, subtitle), .invalidData), (good.dropLast(), .invalidData),
            (good + [11], .invalidData),
            (Self.slice(11, count: 1, [47, 5, 0, 65, 66, 67, 68]), .invalidData),
            (Self.slice(11, count: 2, subtitle), .invalidData),
            (Self.slice(172, count: 1, [47, 165, 0] + Self.zeros(165)), .success),
            (Self.slice(173, count: 1, [47, 166, 0] + Self.zeros(166)), .invalidData),
        ]
        for (number, (slices, status)) in cases.enumerated() {
            let glance = [1, UInt8(number + 1), 0, 0, 0] + slices
            #expect(try insert(EchoApp.identifier.key, glance, into: .appGlances, &rig) == status, "\(slices)")
            let unknown: BlobDBStatus = status == .success ? .keyDoesNotExist : status
            #expect(try insert(Self.uuid.key, glance, into: .appGlances, &rig) == unknown, "\(slices)")
        }
        let many = [1, 100, 0, 0, 0] + Array(repeatElement(good, count: 9).joined())
        #expect(try insert(EchoApp.identifier.key, many, into: .appGlances, &rig) == .success)
        let kept = rig.system.services.store.databases[.appGlances, EchoApp.identifier.key]?.value
        #expect(kept == many.dropLast(good.count), "eight are kept")
    }

    // MARK: Sizes

    /// The firmware answers that there is no such database.
    @Test func whatIsTooLongForAFileOfSettings() throws {
        var rig = ServiceRig()
        #expect(try insert([1], Self.zeros(2046), into: .cannedMessages, &rig) == .success)
        #expect(try insert([1], Self.zeros(2047), into: .cannedMessages, &rig) == .invalidDatabase)
        #expect(
            try insert([UInt8](repeating: 1, count: 128), Self.zeros(6), into: .cannedMessages, &rig)
                == .invalidDatabase
        )
        #expect(try insert(Self.uuid.key, Self.zeros(2047), into: .contacts, &rig) == .invalidDatabase)
        #expect(try insert(Self.text("mask"), Self.zeros(2047), into: .settings, &rig) == .invalidDatabase)
        #expect(
            try insert(Self.text("remindersApp"), Self.zeros(2047), into: .watchAppPreferences, &rig)
                == .invalidDatabase
        )
    }

    // MARK: An update

    /// Seen at PebbleOS 4.35: its databases are closed while its firmware is updated.
    @Test func duringAnUpdateNoDatabaseTakesAnything() throws {
        var rig = ServiceRig()
        try rig.send(SystemMessage.firmwareUpdateStart(nil))
        let value = Self.zeros(6)
        #expect(try insert([1], value, into: .cannedMessages, &rig) == .tryLater)
        #expect(rig.send([0, 3, 0xB1, 0xDB, 5, 0x11, 0x22]).map(\.payload) == [[0x11, 0x22, 0x0B]])
        for command: UInt8 in [0x06, 0x07, 0x08, 0x0B] {
            let answer = rig.send([0, 4, 0xB2, 0xDB, command, 0x11, 0x22, 0x0C]).map(\.payload)
            #expect(answer == [[command | 0x80, 0x11, 0x22, 0x0B]])
        }
        try rig.send(SystemMessage.firmwareUpdateFailed)
        #expect(try insert([1], value, into: .cannedMessages, &rig) == .success)
    }

    // MARK: Deletion

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

    /// Seen at PebbleOS 4.35: of a pin or reminder the attributes are looked at, the actions and the declared length are not.
    @Test func pinsWhosePartsAreNotWhole() throws {
        var rig = ServiceRig()
        func pin(_ attributes: [TimelineAttribute], layout: TimelineItem.Layout = .generic) -> [UInt8] {
            var value: [UInt8] = []
            let item = TimelineItem(
                id: Self.uuid,
                parent: .system,
                timestamp: ServiceRig.startTime,
                durationMinutes: 30,
                kind: .pin,
                flags: .visible,
                layout: layout,
                attributes: attributes,
                actions: [TimelineItemAction(id: 1, kind: .dismiss, attributes: [TimelineAttribute(.title, "Away")])]
            )
            item.encode(to: &value)
            return value
        }
        func attribute(_ id: UInt8, _ length: Int) -> TimelineAttribute {
            TimelineAttribute(TimelineAttribute.ID(rawValue: id), value: Self.zeros(length)[...])
        }
        let title = TimelineAttribute(.title, "A")
        let whole = pin([title])
        var declaresNothing = whole
        declaresNothing.replaceSubrange(42...43, with: [0, 0])
        let withoutActions = whole.dropLast(10)
        var cases: [(value: [UInt8], status: BlobDBStatus)] = [
            (whole, .success), (declaresNothing, .success), (Array(withoutActions), .success),
            (whole.dropLast(5), .success), (withoutActions.dropLast(), .invalidData),
            (pin([], layout: .test), .success), (pin([], layout: .generic), .invalidData),
            (pin([title, TimelineAttribute(.body, String(repeating: "b", count: 1983))]), .success),
            (pin([title, TimelineAttribute(.body, String(repeating: "b", count: 1984))]), .invalidData),
        ]
        for id: UInt8 in [7, 23, 27, 28, 29, 31, 33, 35, 38, 40, 44, 45, 52] {
            cases += [(pin([title, attribute(id, 1)]), .success), (pin([title, attribute(id, 4)]), .invalidData)]
        }
        for id: UInt8 in [4, 5, 6, 10, 13, 14, 34, 37, 48, 50] {
            cases += [(pin([title, attribute(id, 4)]), .success), (pin([title, attribute(id, 1)]), .invalidData)]
        }
        for (value, status) in cases {
            for database in [BlobDBDatabase.pins, .reminders] {
                #expect(try insert(Self.uuid.key, value, into: database, &rig) == status, "\(database) \(value)")
            }
        }
        // What was taken can be read: an action that is cut is none.
        #expect(try insert(Self.uuid.key, Array(withoutActions), into: .pins, &rig) == .success)
        let items = rig.system.services.store.databases.items(of: .pins)
        #expect(items.map(\.attributes) == [[title]] && items.map(\.actions) == [[]])
    }

    @Test func aNotificationOfNothingIsRefused() throws {
        var rig = ServiceRig()
        var value: [UInt8] = []
        TimelineItem(
            id: Self.uuid,
            parent: .system,
            timestamp: ServiceRig.startTime,
            durationMinutes: 0,
            kind: .notification,
            flags: .visible,
            layout: .notification,
            attributes: [],
            actions: []
        ).encode(to: &value)
        #expect(try insert(Self.uuid.key, value, into: .notifications, &rig) == .generalFailure)
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
