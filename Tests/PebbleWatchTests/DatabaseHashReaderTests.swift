import AirSimulator
import BluetoothHCI
import BluetoothHost
import PebbleWatch
import Testing

/// A bonded phone that finds out by itself that the database has changed, by reading the Database Hash as the Core lets it
/// (5.4, Vol 3, Part G, 2.5.2.1), is not told once more.
@Suite struct DatabaseHashReaderTests {
    private static func configuration() -> WatchConfiguration {
        WatchConfiguration(identity: WatchIdentity(address: RigWatch.address))
    }

    /// A phone that has subscribed to Service Changed, and comes back to a watch that has no Battery Service any more; its link
    /// is encrypted.
    private func changed() throws -> RigPair {
        let watch = try RigWatch(Self.configuration(), seed: 1)
        var first = try RigPair(connecting: watch, RigPhone(address: 0x11, seed: 2), seed: 3)
        try first.pair()
        let handle = try first.configuration(of: .serviceChanged)
        #expect(try first.perform(.subscribe(clientConfiguration: handle, .indications)) == .written)
        let memory = first.onWatch { watch, _ in watch.memory }
        let bonds = first.onPhone { phone, _ in phone.bonds }
        var changed = Self.configuration()
        changed.offersBattery = false
        let second = try RigWatch(changed, memory: memory, seed: 77)
        var rig = try RigPair(connecting: second, RigPhone(address: 0x11, bonds: bonds, seed: 3), seed: 4)
        try rig.encrypt(for: .seconds(1))
        return rig
    }

    private func indications(_ rig: inout RigPair) -> Int {
        rig.onPhone { phone, _ in phone.received.count(where: \.isIndication) }
    }

    @Test func whoReadsTheHashAndGoesOnIsNotTold() throws {
        var rig = try changed()
        let hash = try #require(try rig.read(.uuid16(0x2B2A)))
        #expect(hash.count == 16)
        let before = rig.onWatch { watch, _ in watch.memory.phones.first?.seenDatabaseHash }
        #expect(before != nil && before != hash)
        // The next request shows that the phone has the hash: the watch takes note when the indication would be due.
        _ = try rig.perform(.readByUUID(.uuid16(0x2A00)))
        rig.run(for: .seconds(15))
        #expect(indications(&rig) == 0)
        #expect(rig.onWatch { watch, _ in watch.memory.phones.first?.seenDatabaseHash } == hash)
        try rig.reconnect()
        try rig.encrypt(for: .seconds(15))
        #expect(indications(&rig) == 0, "nor on the next link")
    }

    @Test func whoDoesNotReadItIsTold() throws {
        var rig = try changed()
        rig.run(for: .seconds(15))
        #expect(indications(&rig) == 1)
    }
}
