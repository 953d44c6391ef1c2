import ByteCoding
import PebbleProtocol
import Testing

@testable import PebbleWatch

/// The databases, command by command.
@Suite struct BlobDBTests {
    private static let uuid = PebbleUUID(upperHalf: 0x6B1F_5C2E_0F3A_4D0E, lowerHalf: 0x9B7A_1C2D_3E4F_5A6B)

    private static func entry(_ uuid: PebbleUUID = uuid, name: String = "Test") -> BlobDBRecord {
        var value: [UInt8] = []
        AppMetadata(
            uuid: uuid,
            flags: [],
            majorVersion: 1,
            minorVersion: 0,
            sdk: .current,
            name: name
        ).encode(to: &value)
        return BlobDBRecord(key: uuid.key[...], value: value[...])
    }

    private static func notification(_ number: UInt64, actions: [TimelineItemAction] = []) -> (PebbleUUID, BlobDBRecord)
    {
        let id = PebbleUUID(upperHalf: number, lowerHalf: 1)
        var value: [UInt8] = []
        TimelineItem(
            id: id,
            parent: .system,
            timestamp: 1,
            durationMinutes: 0,
            kind: .notification,
            flags: .visible,
            layout: .notification,
            attributes: [TimelineAttribute(.title, "title \(number)")],
            actions: actions
        ).encode(to: &value)
        return (id, BlobDBRecord(key: id.key[...], value: value[...]))
    }

    /// An item of the timeline, in the far future.
    private static func item(
        _ number: UInt64,
        of kind: TimelineItem.Kind,
        parent: PebbleUUID = .system
    ) -> BlobDBRecord {
        let id = PebbleUUID(upperHalf: number, lowerHalf: 2)
        var value: [UInt8] = []
        TimelineItem(
            id: id,
            parent: parent,
            timestamp: 0x7FFF_FFFF,
            durationMinutes: 0,
            kind: kind,
            flags: .visible,
            layout: kind == .reminder ? .reminder : .generic,
            attributes: [TimelineAttribute(.title, "item \(number)")],
            actions: []
        ).encode(to: &value)
        return BlobDBRecord(key: id.key[...], value: value[...])
    }

    private func status(_ rig: inout ServiceRig, _ command: BlobDBRequest.Command) throws -> BlobDBStatus? {
        let token = BlobDBToken(rawValue: 0x1234)
        let answers = try rig.send(BlobDBRequest(token: token, command: command)).decoded(BlobDBResponse.self)
        #expect(answers.count == 1)
        #expect(answers.first?.token == token)
        return answers.first?.status
    }

    @Test func aPinThatIsDeletedTakesItsRemindersWithIt() throws {
        var rig = ServiceRig()
        let (pin, other) = (Self.item(1, of: .pin), Self.item(2, of: .pin))
        let parent = try #require(PebbleUUID(Array(pin.key)))
        let reminders = [
            Self.item(3, of: .reminder, parent: parent),
            Self.item(4, of: .reminder, parent: try #require(PebbleUUID(Array(other.key)))),
            Self.item(5, of: .reminder, parent: parent),
        ]
        for record in [pin, other] { #expect(try status(&rig, .insert(.pins, record, timestamp: nil)) == .success) }
        for record in reminders { #expect(try status(&rig, .insert(.reminders, record, timestamp: nil)) == .success) }
        _ = rig.takeServiceEvents()

        rig.storeWorks = false
        #expect(try status(&rig, .delete(.pins, key: pin.key)) == .databaseFull)
        #expect(rig.system.services.store.databases.count(of: .reminders) == 3, "all of it or nothing")
        rig.storeWorks = true
        #expect(try status(&rig, .delete(.pins, key: pin.key)) == .success)
        #expect(rig.system.services.store.databases.keys(of: .pins) == [Array(other.key)])
        #expect(rig.system.services.store.databases.keys(of: .reminders) == [Array(reminders[1].key)])
        #expect(
            rig.takeServiceEvents() == [
                .recordRemoved(.pins, key: Array(pin.key)),
                .recordRemoved(.reminders, key: Array(reminders[0].key)),
                .recordRemoved(.reminders, key: Array(reminders[2].key)),
            ]
        )

        // The firmware looks for reminders whether or not there was a pin.
        #expect(try status(&rig, .insert(.reminders, reminders[0], timestamp: nil)) == .success)
        _ = rig.takeServiceEvents()
        #expect(try status(&rig, .delete(.pins, key: pin.key)) == .success)
        #expect(rig.takeServiceEvents() == [.recordRemoved(.reminders, key: Array(reminders[0].key))])
        #expect(try status(&rig, .delete(.pins, key: pin.key)) == .success)
        #expect(rig.takeServiceEvents().isEmpty)

        // Clearing the pins leaves reminders.
        #expect(try status(&rig, .clear(.pins)) == .success)
        #expect(rig.system.services.store.databases.keys(of: .reminders) == [Array(reminders[1].key)])
    }

    @Test func tokensComeBackByteForByte() throws {
        var rig = ServiceRig()
        // Clear of pins, token C5 3F as sent.
        let answer = rig.send([0x00, 0x04, 0xB1, 0xDB, 0x05, 0x3F, 0xC5, 0x01])
        #expect(answer.map(\.payload) == [[0x3F, 0xC5, 0x01]])
    }

    @Test func whatIsMalformedIsInvalidDataWithTheTokenThatItHas() throws {
        var rig = ServiceRig()
        for payload: [UInt8] in [
            [0x01], [0x01, 0x12], [0x01, 0x12, 0x34], [0x04, 0x12, 0x34, 0x02], [0x05, 0x12, 0x34],
            [0x01, 0x12, 0x34, 0x02, 0xFF, 0x00, 0x01, 0x00, 0x00],
        ] {
            let answer = rig.send([0x00, UInt8(payload.count), 0xB1, 0xDB] + payload)
            let token: [UInt8] = payload.count < 3 ? [0, 0] : [0x12, 0x34]
            #expect(answer.map(\.payload) == [token + [0x05]], "\(payload)")
        }
        #expect(rig.send([0x00, 0x00, 0xB1, 0xDB]).isEmpty, "an empty message is legal and is not answered")
    }

    @Test func everyStatusHasItsCause() throws {
        var rig = ServiceRig()
        let key: ArraySlice<UInt8> = [0x61, 0x62]
        let text = BlobDBRecord(key: key, value: [1, 2, 3])
        #expect(try status(&rig, .unsupported(2)) == .invalidOperation)
        #expect(try status(&rig, .unsupported(3)) == .invalidOperation)
        for number: UInt8 in [13, 0x7F, 0xFF] {
            let database = BlobDBDatabase(rawValue: number)
            #expect(try status(&rig, .insert(database, text, timestamp: nil)) == .invalidDatabase)
            #expect(try status(&rig, .delete(database, key: key)) == .invalidDatabase)
            #expect(try status(&rig, .clear(database)) == .invalidDatabase)
        }
        #expect(try status(&rig, .insert(.apps, text, timestamp: nil)) == .invalidData, "no UUID")
        let short = BlobDBRecord(key: Self.uuid.key[...], value: Self.entry().value.dropLast())
        #expect(try status(&rig, .insert(.apps, short, timestamp: nil)) == .invalidData, "125 bytes")
        #expect(try status(&rig, .insert(.pins, Self.entry(), timestamp: nil)) == .invalidData, "no timeline item")
        #expect(try status(&rig, .delete(.apps, key: Self.uuid.key[...])) == .keyDoesNotExist)
        #expect(try status(&rig, .insert(.apps, Self.entry(), timestamp: nil)) == .success)
        #expect(try status(&rig, .delete(.apps, key: Self.uuid.key[...])) == .success)
        for number: UInt8 in 0...12 where number != 2 {
            let status = try status(&rig, .clear(BlobDBDatabase(rawValue: number)))
            // There is no test database, and preferences can only be written.
            #expect(status == ([0, 7].contains(number) ? .dataStale : .success), "\(number)")
        }
    }

    @Test func settingsAreStaleWhenTheWatchHasLaterOnes() throws {
        var rig = ServiceRig()
        let key: ArraySlice<UInt8> = Array("clock24h".utf8)[...]
        func set(_ value: UInt8, at time: UInt32) throws -> BlobDBStatus? {
            try status(&rig, .insert(.settings, BlobDBRecord(key: key, value: [value]), timestamp: time))
        }
        #expect(try set(1, at: 100) == .success)
        #expect(try set(0, at: 99) == .dataStale)
        #expect(rig.system.services.store.databases[.settings, Array(key)]?.value == [1])
        #expect(try set(2, at: 100) == .success)
        #expect(try set(3, at: 101) == .success)
        #expect(rig.system.services.store.databases[.settings, Array(key)]?.value == [3])
    }

    @Test func nothingIsAnsweredBeforeItIsStored() throws {
        var rig = ServiceRig()
        rig.storeAnswers = false
        #expect(try rig.send(BlobDBRequest(token: .init(rawValue: 1), command: .clear(.pins))).isEmpty)
        #expect(try rig.send(BlobDBRequest(token: .init(rawValue: 2), command: .unsupported(9))).isEmpty, "in order")
        rig.storeAnswers = true
        let answers = try rig.drain().decoded(BlobDBResponse.self)
        #expect(answers.map(\.token.rawValue) == [1, 2])
        #expect(answers.map(\.status) == [.success, .invalidOperation])
    }

    @Test func whatTheStoreCannotTakeIsNotThere() throws {
        var rig = ServiceRig()
        rig.storeWorks = false
        #expect(try status(&rig, .insert(.apps, Self.entry(), timestamp: nil)) == .databaseFull)
        #expect(rig.system.services.store.databases.databases.isEmpty)
        #expect(rig.system.services.store.apps.all.isEmpty)
        rig.storeWorks = true
        #expect(try status(&rig, .insert(.apps, Self.entry(), timestamp: nil)) == .success)
    }

    @Test func aPhoneThatDoesNotWaitIsToldToTryLater() throws {
        var rig = ServiceRig()
        rig.storeAnswers = false
        for number in 0..<UInt16(BlobDBService.queueLimit) {
            #expect(try rig.send(BlobDBRequest(token: .init(rawValue: number), command: .clear(.pins))).isEmpty)
        }
        let refused = try rig.send(BlobDBRequest(token: .init(rawValue: 999), command: .clear(.pins)))
        #expect(try refused.decoded(BlobDBResponse.self) == [.init(token: .init(rawValue: 999), status: .tryLater)])
        rig.storeAnswers = true
        #expect(try rig.drain().decoded(BlobDBResponse.self).count == BlobDBService.queueLimit)
    }

    @Test func aClearMakesTheWatchFaithful() throws {
        var rig = ServiceRig()
        func isUnfaithful() throws -> Bool? {
            let answers = try rig.send(WatchVersionMessage.request).decoded(WatchVersionMessage.self)
            guard case .response(let version)? = answers.first else { return nil }
            return version.isUnfaithful
        }
        #expect(try isUnfaithful() == true)
        #expect(try status(&rig, .clear(.invalid)) == .invalidDatabase)
        #expect(try isUnfaithful() == true)
        #expect(try status(&rig, .clear(.pins)) == .success)
        #expect(try isUnfaithful() == false)
    }

    @Test func notificationsAreShownAndTheOldestMakeWay() throws {
        var rig = ServiceRig()
        let limit = try #require(DatabaseRules(.notifications)).recordLimit
        for number in 0..<UInt64(limit + 5) {
            #expect(try status(&rig, .insert(.notifications, Self.notification(number).1, timestamp: nil)) == .success)
        }
        let shown = rig.system.services.store.databases.items(of: .notifications)
        #expect(shown.count == limit)
        #expect(shown.first?.attributes.first?.text == "title 5")
        #expect(rig.takeServiceEvents().count == limit + 5)
    }

    @Test func otherDatabasesAreFullInstead() throws {
        var rig = ServiceRig()
        let limit = try #require(DatabaseRules(.apps)).recordLimit
        for number in 1...UInt64(limit) {
            let uuid = PebbleUUID(upperHalf: number, lowerHalf: 7)
            #expect(try status(&rig, .insert(.apps, Self.entry(uuid), timestamp: nil)) == .success)
        }
        #expect(try status(&rig, .insert(.apps, Self.entry(), timestamp: nil)) == .databaseFull)
        // What is there can still be replaced.
        let uuid = PebbleUUID(upperHalf: 1, lowerHalf: 7)
        #expect(try status(&rig, .insert(.apps, Self.entry(uuid, name: "New"), timestamp: nil)) == .success)
        #expect(rig.system.services.store.apps[uuid]?.metadata.name == "New")
    }

    @Test func actionsGoToThePhoneAndAnswersComeBack() throws {
        var rig = ServiceRig()
        let dismiss = TimelineItemAction(id: 3, kind: .dismiss, attributes: [TimelineAttribute(.title, "Dismiss")])
        let (id, record) = Self.notification(1, actions: [dismiss])
        _ = try status(&rig, .insert(.notifications, record, timestamp: nil))
        _ = rig.takeServiceEvents()
        var result = rig.system.withServices(at: rig.now) { $0.perform(9, of: id, text: nil, in: &$1) }
        #expect(result == false, "there is no such action")
        result = rig.system.withServices(at: rig.now) { $0.perform(3, of: id, text: "so long", in: &$1) }
        #expect(result == true)
        let said = rig.drain()
        // 02, item, action, one attribute: title.
        #expect(said.map(\.payload) == [[0x02] + id.key + [3, 1, 1, 7, 0] + Array("so long".utf8)])
        rig.send([0x00, 0x13, 0x2C, 0xB0, 0x11] + id.key + [0x00, 0x00])
        #expect(
            rig.takeServiceEvents() == [
                .actionSent(id, action: 3), .actionAnswered(id, action: 3, .acknowledgement, text: nil),
                .notificationRemoved(id),
            ]
        )
        #expect(rig.system.services.store.databases.items(of: .notifications).first?.status == .dismissed)
    }
}
