import AirSimulator
import BluetoothHCI
import BluetoothHost
import PebbleProtocol
import PebbleWatch
import Testing

/// Pairings that are not as usual: a window that is closed in the middle of one, a trigger without a value, and a store that has
/// a phone twice.
@Suite struct UnusualPairingTests {
    /// A watch with a phone, and a second phone that is connected while the window is open.
    private func rig() throws -> (RigPair, Simulation.HostID<RigPhone>) {
        let configuration = WatchConfiguration(identity: WatchIdentity(address: RigWatch.address))
        let watch = try RigWatch(configuration, seed: 1)
        var rig = try RigPair(connecting: watch, RigPhone(address: 0x11, seed: 2), seed: 0xC105)
        try rig.pair()
        rig.onPhone { phone, _ in phone.disconnect() }
        rig.run(for: .seconds(2))
        try rig.order(.openPairing(for: .seconds(120)))
        let other = rig.simulation.add(RigPhone(address: 0x22, seed: 9))
        rig.run(for: .seconds(1))
        rig.simulation.withHost(other) { $0.connect(to: RigWatch.address) }
        rig.run(for: .seconds(5))
        try #require(rig.simulation.withHost(other) { $0.connection } != nil)
        return (rig, other)
    }

    @Test(arguments: [true, false])
    func aPairingThatHasNotBeenAnsweredIsRefused(closes: Bool) throws {
        var (rig, other) = try rig()
        let now = rig.now
        try rig.simulation.withHost(other) { try $0.pair(at: now) }
        // The features have been exchanged; the public keys have not.
        rig.run(for: .milliseconds(100))
        if closes { try rig.order(.closePairing) }
        rig.run(for: .seconds(10))
        let failures = rig.simulation.withHost(other) { $0.pairingFailures }
        let phones = rig.onWatch { watch, _ in watch.memory.phones.map(\.bond.identity) }
        let first = rig.onPhone { phone, _ in phone.identity }
        let second = rig.simulation.withHost(other) { $0.identity }
        // A person closed it, so the watch says no.
        if closes {
            #expect(failures == [.refusedByPeer(.numericComparisonFailed)])
            #expect(phones == [first], "the phone that it knew is still the one")
        } else {
            #expect(failures == [])
            #expect(phones == [second])
        }
    }

    /// A trigger without a byte asks for nothing special: a phone on a plain link is asked to encrypt, and one on an encrypted
    /// link is not.
    @Test func anEmptyTriggerIsAZero() throws {
        let configuration = WatchConfiguration(identity: WatchIdentity(address: RigWatch.address))
        let watch = try RigWatch(configuration, seed: 1)
        var rig = try RigPair(connecting: watch, RigPhone(address: 0x11, seed: 2), seed: 3)
        let requests = Requests()
        rig.simulation.observer = { [watch = rig.watch] packet in
            guard packet.controller == watch.controller, packet.isFromHost else { return }
            // ACL data, L2CAP channel 6: Security Request.
            let bytes = Array(packet.bytes)
            if bytes.first == 0x02, Array(bytes.dropFirst(7).prefix(3)) == [0x06, 0x00, 0x0B] { requests.count += 1 }
        }
        let declarations = try rig.perform(.readByUUID(.characteristic))
        let trigger = try RigPair.value(of: .uuid128(PebbleAttribute.triggerPairing), in: declarations)
        #expect(try rig.perform(.write(trigger, [])) == .written)
        #expect(requests.count == 1)
        try rig.pair()
        #expect(rig.onPhone { phone, _ in phone.security.isEncrypted })
        let before = requests.count
        #expect(try rig.perform(.write(trigger, [])) == .written)
        #expect(requests.count == before)
    }

    /// How many Security Requests the watch has sent.
    private final class Requests {
        var count = 0
    }

    /// A store that has a phone twice: what was stored last counts.
    @Test func aPhoneThatIsStoredTwiceIsOne() throws {
        let configuration = WatchConfiguration(identity: WatchIdentity(address: RigWatch.address))
        let watch = try RigWatch(configuration, seed: 1)
        var first = try RigPair(connecting: watch, RigPhone(address: 0x11, seed: 2), seed: 3)
        try first.pair()
        let handle = try first.configuration(of: .serviceChanged)
        #expect(try first.perform(.subscribe(clientConfiguration: handle, .indications)) == .written)
        var memory = first.onWatch { watch, _ in watch.memory }
        let bonds = first.onPhone { phone, _ in phone.bonds }
        try #require(memory.phones.count == 1 && memory.phones[0].client.subscriptions[handle] == .indications)
        memory.phones.insert(RememberedPhone(bond: memory.phones[0].bond), at: 0)
        let second = try RigWatch(configuration, memory: memory, seed: 77)
        var rig = try RigPair(connecting: second, RigPhone(address: 0x11, bonds: bonds, seed: 3), seed: 4)
        #expect(rig.onWatch { watch, _ in watch.host.status.phones.count } == 1)
        try rig.encrypt(for: .seconds(1))
        guard case .value(let value)? = try rig.perform(.read(handle)) else {
            Issue.record("the configuration could not be read")
            return
        }
        #expect(Array(value) == [2, 0], "it is subscribed to indications, as it was stored last")
    }
}
