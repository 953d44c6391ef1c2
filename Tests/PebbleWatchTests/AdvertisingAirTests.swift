import AirSimulator
import BluetoothHCI
import BluetoothHost
import PebbleProtocol
import PebbleWatch
import Testing

/// The watch on simulated air: phones that vanish at every step of connecting, links that lose packets, and a phone that
/// comes and goes. Afterwards the watch can always be found.
@Suite struct AdvertisingAirTests {

    /// A watch, the phone that disturbs it, and a phone that comes after.
    private struct Rig {
        var simulation: Simulation
        let watch: Simulation.HostID<RigWatch>
        let phone: Simulation.HostID<RigPhone>
        let other: Simulation.HostID<RigPhone>

        init(_ controller: ControllerConfiguration, _ profile: AdvertisingProfile, beacon: Beacon?, seed: UInt64) throws
        {
            var configuration = WatchConfiguration(identity: WatchIdentity(address: RigWatch.address))
            configuration.advertising = profile
            configuration.beacon = beacon
            simulation = Simulation(seed: seed)
            watch = simulation.add(try RigWatch(configuration, seed: seed), controller)
            phone = simulation.add(RigPhone(address: 0x11, seed: seed + 1))
            other = simulation.add(RigPhone(address: 0x22, seed: seed + 2))
            simulation.run(for: .seconds(1))
        }

        /// What the watch has on the air according to itself.
        mutating func onAir() throws -> OnAir { try #require(simulation.withHost(watch) { $0.host.onAir }) }

        /// Whether a phone that was not there before can connect within a time.
        mutating func canBeConnectedTo(within time: Duration) -> Bool {
            simulation.withHost(other) { $0.connect(to: RigWatch.address) }
            let other = other
            return simulation.run(until: simulation.now + time) { simulation in
                simulation.withHost(other) { $0.connection != nil } == true
            } == .conditionMet
        }
    }

    private static let beacon = Beacon(
        uuid: PebbleUUID(upperHalf: 0x0123_4567_89AB_CDEF, lowerHalf: 0xFEDC_BA98_7654_3210)
    )

    /// The phone is cut off after a number of HCI packets: in the middle of a procedure.
    @Test(arguments: [true, false]) func aPhoneThatVanishesAtAnyStepLeavesAWatchThatCanBeFound(isLegacy: Bool) throws {
        var furthest = 0
        for step in stride(from: 0, through: 60, by: 3) {
            var rig = try Rig(
                isLegacy ? .legacy : .modern,
                .apple,
                beacon: step % 2 == 0 ? Self.beacon : nil,
                seed: UInt64(step)
            )
            let counter = PacketCounter()
            rig.simulation.observer = { _ in counter.count += 1 }
            rig.simulation.withHost(rig.phone) { $0.connect(to: RigWatch.address) }
            var hasPaired = false
            let phone = rig.phone
            _ = rig.simulation.run(until: rig.simulation.now + .seconds(10)) { simulation in
                let now = simulation.now
                let isConnected = simulation.withHost(phone) { $0.connection != nil } == true
                if isConnected, !hasPaired {
                    hasPaired = true
                    _ = simulation.withHost(phone) { try? $0.pair(at: now) }
                }
                return counter.count >= step
            }
            rig.simulation.air.cutLink(between: rig.watch.controller, and: rig.phone.controller)
            furthest = max(furthest, try rig.onAir().silence == .connected ? 2 : 1)
            // The longest that the watch can believe in the phone is the supervision timeout, 2 s.
            rig.simulation.run(for: .seconds(3))
            let onAir = try rig.onAir()
            let connectable = try #require(onAir.connectable, "step \(step)")
            #expect(connectable.state == .onAir || connectable.state == .waitingForTurn, "step \(step): \(onAir)")
            let isFound = rig.canBeConnectedTo(within: .seconds(5))
            #expect(isFound, "step \(step)")
        }
        #expect(furthest == 2, "no step came as far as a connection")
    }

    final class PacketCounter { var count = 0 }

    /// Packets are lost all the time; after each connection, established or not, the watch advertises again.
    @Test(arguments: [0.2, 0.5, 0.8]) func onABadLinkTheWatchIsAlwaysBack(loss: Double) throws {
        for seed in UInt64(1)...8 {
            var rig = try Rig(seed % 2 == 0 ? .legacy : .modern, .pebble, beacon: Self.beacon, seed: seed)
            rig.simulation.air.setLinkQuality(
                LinkQuality(loss: .uniform(probability: loss)),
                between: rig.watch.controller,
                and: rig.phone.controller
            )
            for _ in 0..<5 {
                rig.simulation.withHost(rig.phone) { phone in
                    if phone.connection == nil { phone.connect(to: RigWatch.address) }
                }
                rig.simulation.run(for: .seconds(4))
                rig.simulation.withHost(rig.phone) { phone in
                    phone.disconnect()
                }
                rig.simulation.run(for: .seconds(1))
            }
            rig.simulation.withHost(rig.phone) { $0.host.cancelConnecting(at: $0.now) }
            rig.simulation.air.cutLink(between: rig.watch.controller, and: rig.phone.controller)
            rig.simulation.run(for: .seconds(3))
            let isFound = rig.canBeConnectedTo(within: .seconds(5))
            #expect(isFound, "loss \(loss), seed \(seed)")
        }
    }

    /// Churn: a phone that connects and drops every second, for a minute. The watch takes each connection.
    @Test(arguments: [AdvertisingProfile.pebble, .apple, .saver])
    func aPhoneThatComesAndGoesFindsTheWatchEachTime(profile: AdvertisingProfile) throws {
        var rig = try Rig(.modern, profile, beacon: Self.beacon, seed: 9)
        let phone = rig.phone
        for round in 1...60 {
            let start = rig.simulation.now
            rig.simulation.withHost(phone) { $0.connect(to: RigWatch.address) }
            let outcome = rig.simulation.run(until: start + .seconds(1)) { simulation in
                simulation.withHost(phone) { $0.connection != nil } == true
            }
            try #require(outcome == .conditionMet, "round \(round)")
            var onAir = try rig.onAir()
            #expect(onAir.silence == .connected)
            rig.simulation.withHost(phone) { phone in
                phone.disconnect()
            }
            rig.simulation.run(until: start + .seconds(1))
            onAir = try rig.onAir()
            #expect(onAir.connectable?.state == .onAir && onAir.beacon?.state == .onAir)
        }
    }
}
