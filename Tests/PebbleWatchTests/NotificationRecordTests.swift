import ByteCoding
import PebbleProtocol
import Testing

@testable import PebbleWatch

/// Notifications as Gadgetbridge writes them: under a random key, with an id of their own, and declared longer than they are.
@Suite struct NotificationRecordTests {
    private static let id = PebbleUUID(upperHalf: 0x4767_7442_7264_6700, lowerHalf: 0x6B02_7010)
    private static let key = PebbleUUID(upperHalf: 0xD8C5_0972_2EAC_4EBB, lowerHalf: 0xA353_DADD_00C1_00F0)
    private static let parent = PebbleUUID(upperHalf: 0xB2CA_E818_10F8_46DF, lowerHalf: 0xAD2B_98AD_2254_A3C1)

    /// What is behind the ids: time, duration, type, flags, status, layout, declared length, counts, and a title.
    private static func value(
        _ id: PebbleUUID = id,
        status: UInt8 = 0,
        title: String = "Alice",
        declared: Int? = nil,
        trailing: [UInt8] = [],
        actions: [UInt8] = []
    ) -> [UInt8] {
        let attribute = [0x01, UInt8(title.utf8.count), 0x00] + Array(title.utf8)
        let length = declared ?? attribute.count + actions.count
        return id.key + parent.key + [0x00, 0xF1, 0x53, 0x65, 0x00, 0x00, 0x01, 0x01, status, 0x04]
            + [UInt8(length & 0xFF), UInt8(length >> 8), 0x01, actions.isEmpty ? 0 : 1] + attribute + actions + trailing
    }

    @discardableResult
    private func insert(
        _ value: [UInt8],
        under key: PebbleUUID = key,
        into database: BlobDBDatabase = .notifications,
        _ rig: inout ServiceRig
    ) throws -> BlobDBStatus? {
        let record = BlobDBRecord(key: key.key[...], value: value[...])
        let request = BlobDBRequest(token: .none, command: .insert(database, record, timestamp: nil))
        return try rig.send(request).decoded(BlobDBResponse.self).first?.status
    }

    private func delete(
        _ key: PebbleUUID,
        from database: BlobDBDatabase = .notifications,
        _ rig: inout ServiceRig
    ) throws -> BlobDBStatus? {
        let request = BlobDBRequest(token: .none, command: .delete(database, key: key.key[...]))
        return try rig.send(request).decoded(BlobDBResponse.self).first?.status
    }

    private func shown(_ rig: ServiceRig) -> [String] {
        rig.system.services.store.databases.items(of: .notifications).filter(\.isShown)
            .map { $0.attributes.first?.text ?? "" }
    }

    @Test func aNotificationIsKnownByItsOwnID() throws {
        var rig = ServiceRig()
        #expect(try insert(Self.value(), &rig) == .success)
        #expect(rig.system.services.store.databases.keys(of: .notifications) == [Self.id.key])
        guard case .notificationShown(let item)? = rig.takeServiceEvents().first else {
            Issue.record("nothing was shown")
            return
        }
        #expect(item.id == Self.id)
        // Its key is not used afterwards.
        #expect(try delete(Self.key, &rig) == .success)
        #expect(shown(rig) == ["Alice"])
        #expect(rig.takeServiceEvents().isEmpty)
        #expect(try delete(Self.id, &rig) == .success)
        #expect(shown(rig).isEmpty)
        #expect(rig.takeServiceEvents() == [.notificationRemoved(Self.id)])
        #expect(try delete(Self.id, &rig) == .success, "what is not there is gone too")
    }

    @Test func aKnownNotificationChangesItsStatusOnly() throws {
        var rig = ServiceRig()
        try insert(Self.value(), &rig)
        _ = rig.takeServiceEvents()
        let other = PebbleUUID(upperHalf: 1, lowerHalf: 2)
        #expect(try insert(Self.value(status: 0x01, title: "Mallory"), under: other, &rig) == .success)
        let item = try #require(rig.system.services.store.databases.items(of: .notifications).first)
        #expect(item.status == .read && item.attributes.first?.text == "Alice")
        #expect(rig.system.services.store.databases.count(of: .notifications) == 1)
        var value: [UInt8] = []
        item.encode(to: &value)
        #expect(rig.takeServiceEvents() == [.recordChanged(.notifications, key: Self.id.key, value: value)])
        // Dismissed on the phone.
        #expect(try insert(Self.value(status: 0x10), &rig) == .success)
        #expect(shown(rig).isEmpty)
        #expect(rig.takeServiceEvents().last == .notificationRemoved(Self.id))
    }

    @Test func oneThatAlreadyHasAStatusAndIsNotKnownIsNotShown() throws {
        var rig = ServiceRig()
        #expect(try insert(Self.value(status: 0x10), &rig) == .success)
        #expect(rig.system.services.store.databases.count(of: .notifications) == 0)
        #expect(rig.takeServiceEvents().isEmpty)
    }

    /// Texts over 512 bytes: the whole text counts, a part of it follows, and zeros trail.
    @Test func whatIsDeclaredBehindTheLastAttributeIsIgnored() throws {
        var rig = ServiceRig()
        let long = [UInt8](repeating: 0, count: 300)
        #expect(try insert(Self.value(declared: 308, trailing: long), &rig) == .success)
        #expect(shown(rig) == ["Alice"])
        // Of pins and reminders too, which are kept as they came.
        let id = PebbleUUID(upperHalf: 3, lowerHalf: 4)
        for database in [BlobDBDatabase.pins, .reminders] {
            var value = Self.value(id, declared: 308, trailing: long)
            value.replaceSubrange(32..<36, with: [0xFF, 0xFF, 0xFF, 0x7F])
            value[41] = database == .pins ? 1 : 3
            #expect(try insert(value, under: id, into: database, &rig) == .success)
            #expect(
                rig.system.services.store.databases.items(of: database).map { $0.attributes.first?.text } == ["Alice"]
            )
        }
    }

    @Test func aShorterValueThanDeclaredIsShownAsFarAsItGoes() throws {
        var rig = ServiceRig()
        #expect(try insert(Self.value().dropLast(2), &rig) == .success)
        #expect(shown(rig) == ["Ali"])
        #expect(try insert(Array(Self.value().prefix(45)), &rig) == .invalidData, "no whole header")
        // What does not fit into the declared length is another matter.
        let id = PebbleUUID(upperHalf: 9, lowerHalf: 9)
        #expect(try insert(Self.value(id, declared: 4), &rig) == .generalFailure)
        #expect(shown(rig) == ["Ali"])
    }

    @Test func actionsNameTheItemAlsoAfterARestart() throws {
        var rig = ServiceRig()
        // Action 3, to dismiss, without attributes.
        try insert(Self.value(actions: [3, 4, 0]), &rig)
        var reborn = ServiceRig(memory: rig.system.services.memory)
        #expect(shown(reborn) == ["Alice"])
        var isDone = reborn.system.withServices(at: reborn.now) { $0.perform(3, of: Self.key, text: nil, in: &$1) }
        #expect(isDone == false, "the key belongs to no item")
        isDone = reborn.system.withServices(at: reborn.now) { $0.perform(3, of: Self.id, text: nil, in: &$1) }
        #expect(isDone == true)
        #expect(reborn.drain().map(\.payload) == [[0x02] + Self.id.key + [3, 0]])
        reborn.send([0x00, 0x13, 0x2C, 0xB0, 0x11] + Self.id.key + [0x00, 0x00])
        #expect(shown(reborn).isEmpty)
        #expect(reborn.takeServiceEvents().last == .notificationRemoved(Self.id))
        let again = ServiceRig(memory: reborn.system.services.memory)
        #expect(shown(again).isEmpty)
        #expect(again.system.services.store.databases.keys(of: .notifications) == [Self.id.key])
    }

    /// The firmware keeps pins under the key that the phone chose; their actions name the pin.
    @Test func aPinUnderAnotherKeyIsFoundByItsID() throws {
        var rig = ServiceRig()
        var value = Self.value(actions: [3, 9, 0])
        value.replaceSubrange(32..<36, with: [0xFF, 0xFF, 0xFF, 0x7F])
        value[41] = 1
        #expect(try insert(value, into: .pins, &rig) == .success)
        #expect(rig.system.services.store.databases.keys(of: .pins) == [Self.key.key])
        let isDone = rig.system.withServices(at: rig.now) { $0.perform(3, of: Self.id, text: nil, in: &$1) }
        #expect(isDone == true)
        #expect(rig.drain().map(\.payload) == [[0x02] + Self.id.key + [3, 0]])
        rig.send([0x00, 0x13, 0x2C, 0xB0, 0x11] + Self.id.key + [0x00, 0x00])
        #expect(rig.system.services.store.databases.items(of: .pins).first?.status == .dismissed)
        #expect(try delete(Self.key, from: .pins, &rig) == .success)
        #expect(rig.system.services.store.databases.count(of: .pins) == 0)
    }
}
