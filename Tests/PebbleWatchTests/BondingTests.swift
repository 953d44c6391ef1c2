import AirSimulator
import BluetoothHCI
import BluetoothHost
import ByteCoding
import PebbleProtocol
import PebbleWatch
import Testing

/// Pairing, remembering and Service Changed, on the air and in virtual time.
@Suite struct BondingTests {
    private static let seed: UInt64 = 0xB0D

    private func configuration() -> WatchConfiguration {
        WatchConfiguration(identity: WatchIdentity(address: RigWatch.address))
    }

    private func pairedRig(_ configuration: WatchConfiguration? = nil) throws -> RigPair {
        let watch = try RigWatch(configuration ?? self.configuration(), seed: 1)
        var rig = try RigPair(connecting: watch, RigPhone(address: 0x11, seed: 2), seed: Self.seed)
        try rig.pair()
        try #require(rig.onPhone { phone, _ in phone.pairings.count } == 1)
        return rig
    }

    @Test func connectivityFollowsThePairingAndTheStore() throws {
        var watch = try RigWatch(configuration(), seed: 1)
        watch.storeIsSlow = true
        var rig = try RigPair(connecting: watch, RigPhone(address: 0x11, seed: 2), seed: Self.seed)
        #expect(try rig.connectivity() == [0x11, 0, 0, 0])
        try rig.pair()
        #expect(try rig.connectivity() == [0x15, 0, 0, 0], "encrypted, but the bond is not in the store yet")
        let notified = rig.onPhone { phone, _ in phone.received.map { Array($0.value) } }
        #expect(notified == [[0x15, 0, 0, 0]], "told although it had not subscribed")
        rig.onWatch { watch, _ in watch.storeIsSlow = false }
        rig.run(for: .seconds(1))
        #expect(try rig.connectivity() == [0x1F, 0, 0, 0])
        let told = rig.onPhone { phone, _ in phone.received.map { Array($0.value) } }
        #expect(told == [[0x15, 0, 0, 0], [0x1F, 0, 0, 0]], "told again when the bond was stored, once")
        let memory = rig.onWatch { watch, _ in watch.memory }
        #expect(memory.identity?.address == RigWatch.address)
        #expect(memory.phones.map(\.bond.identity) == [rig.onPhone { phone, _ in phone.identity }])
    }

    /// Each time that the bond comes, and on later links with the encryption.
    @Test func connectivityIsToldOnceForEachNews() throws {
        var rig = try pairedRig()
        func told() -> [[UInt8]] {
            rig.onPhone { phone, _ in
                defer { phone.received = [] }
                return phone.received.map { Array($0.value) }
            }
        }
        #expect(told().last == [0x1F, 0, 0, 0])
        try rig.pair()
        rig.run(for: .seconds(1))
        #expect(told().allSatisfy { $0 == [0x1F, 0, 0, 0] }, "pairing again is not reported this way")
        try rig.reconnect()
        #expect(told() == [])
        try rig.encrypt(for: .seconds(1))
        #expect(told() == [[0x1F, 0, 0, 0]])
    }

    @Test func afterARestartThePhoneEncryptsAndItsSubscriptionsLive() throws {
        var rig = try pairedRig()
        let handle = try rig.configuration(of: .uuid128(PebbleAttribute.connectivityStatus))
        #expect(try rig.perform(.subscribe(clientConfiguration: handle, .notifications)) == .written)
        let memory = rig.onWatch { watch, _ in watch.memory }
        #expect(memory.phones.first?.client.subscriptions[handle] == .notifications)
        let bonds = rig.onPhone { phone, _ in phone.bonds }

        let watch = try RigWatch(configuration(), memory: memory, seed: 77)
        var second = try RigPair(connecting: watch, RigPhone(address: 0x11, bonds: bonds, seed: 3), seed: 4)
        #expect(try second.connectivity() == [0x1B, 0, 0, 0])
        try second.encrypt(for: .seconds(1))
        #expect(try second.connectivity() == [0x1F, 0, 0, 0])
        #expect(second.onPhone { phone, _ in phone.pairings.isEmpty })
        guard case .value(let value)? = try second.perform(.read(handle)) else {
            Issue.record("the configuration could not be read")
            return
        }
        #expect(Array(value) == [1, 0], "subscribed without having written anything")
    }

    @Test func aChangedDatabaseIsIndicatedOnceAfterThePause() throws {
        var rig = try pairedRig()
        let handle = try rig.configuration(of: .serviceChanged)
        #expect(try rig.perform(.subscribe(clientConfiguration: handle, .indications)) == .written)
        let memory = rig.onWatch { watch, _ in watch.memory }
        let bonds = rig.onPhone { phone, _ in phone.bonds }

        var changed = configuration()
        changed.offersBattery = false
        let watch = try RigWatch(changed, memory: memory, seed: 77)
        var second = try RigPair(connecting: watch, RigPhone(address: 0x11, bonds: bonds, seed: 3), seed: 4)
        func indications() throws -> [[UInt8]] {
            second.onPhone { phone, _ in phone.received.filter(\.isIndication).map { Array($0.value) } }
        }
        try second.encrypt(for: .seconds(9))
        #expect(try indications() == [])
        second.run(for: .seconds(3))
        #expect(try indications() == [[0x01, 0x00, 0xFF, 0xFF]])
        try second.reconnect()
        try second.encrypt(for: .seconds(30))
        #expect(try indications().count == 1, "it knows now")
        let known = second.onWatch { watch, _ in watch.memory.phones.first?.seenDatabaseHash }
        #expect(known != memory.phones.first?.seenDatabaseHash)
    }

    @Test func anUnchangedDatabaseIsNotIndicated() throws {
        var rig = try pairedRig()
        let handle = try rig.configuration(of: .serviceChanged)
        #expect(try rig.perform(.subscribe(clientConfiguration: handle, .indications)) == .written)
        try rig.reconnect()
        try rig.encrypt(for: .seconds(60))
        #expect(rig.onPhone { phone, _ in phone.received.filter(\.isIndication).isEmpty })
    }

    @Test func anUnconfirmedIndicationSurvivesALostLink() throws {
        var rig = try pairedRig()
        let handle = try rig.configuration(of: .serviceChanged)
        #expect(try rig.perform(.subscribe(clientConfiguration: handle, .indications)) == .written)
        try rig.reconnect()
        try rig.order(.offerBattery(false))
        // Gone before it is encrypted again, and so before it may be told.
        try rig.reconnect()
        try rig.encrypt(for: .seconds(15))
        let values = rig.onPhone { phone, _ in phone.received.filter(\.isIndication).map { Array($0.value) } }
        #expect(values == [[0x01, 0x00, 0xFF, 0xFF]])
    }

    @Test func aChangeAtRunTimeIsIndicatedWithItsOwnRange() throws {
        var rig = try pairedRig()
        let handle = try rig.configuration(of: .serviceChanged)
        #expect(try rig.perform(.subscribe(clientConfiguration: handle, .indications)) == .written)
        guard case .services(let services)? = try rig.perform(.discoverPrimaryServices(.uuid16(0x180F))) else {
            Issue.record("no battery service")
            return
        }
        let range = try #require(services.first?.range)
        try rig.order(.offerBattery(false))
        rig.run(for: .seconds(15))
        var expected: [UInt8] = []
        expected.appendLittleEndian(range.start.rawValue)
        expected.appendLittleEndian(range.end.rawValue)
        let values = rig.onPhone { phone, _ in phone.received.filter(\.isIndication).map { Array($0.value) } }
        #expect(values == [expected])
    }

    @Test func aWatchThatDoesNotBondRefusesAndNeverChanges() throws {
        var configuration = configuration()
        configuration.pairing.isBondable = false
        let watch = try RigWatch(configuration, seed: 1)
        var rig = try RigPair(connecting: watch, RigPhone(address: 0x11, seed: 2), seed: Self.seed)
        #expect(try rig.configuration(of: .serviceChanged) == .none)
        try rig.pair()
        #expect(
            rig.onPhone { phone, _ in phone.pairingFailures } == [.refusedByPeer(.pairingNotSupported)]
        )
        let before = rig.onWatch { watch, _ in watch.changes }
        #expect(throws: WatchCommandError.databaseIsFixed) {
            try rig.order(.offerBattery(false))
        }
        #expect(try rig.perform(.discoverPrimaryServices(.uuid16(0x180F))) != .services([]))
        let identities = before.filter { if case .identity = $0 { true } else { false } }
        #expect(before.count == 1 && identities.count == 1, "who it is, and nothing of the phone")
    }

    @Test func aSecondPhoneNeedsAWindowAndThenReplacesTheFirst() throws {
        var rig = try pairedRig()
        rig.onPhone { phone, _ in phone.disconnect() }
        rig.run(for: .seconds(2))
        let other = rig.simulation.add(RigPhone(address: 0x22, seed: 9))
        rig.run(for: .seconds(1))
        func connectAndPair() throws {
            rig.simulation.withHost(other) { $0.connect(to: RigWatch.address) }
            rig.run(for: .seconds(5))
            let now = rig.now
            try rig.simulation.withHost(other) { try $0.pair(at: now) }
            rig.run(for: .seconds(5))
        }
        try connectAndPair()
        #expect(
            rig.simulation.withHost(other) { $0.pairingFailures } == [.refusedByPeer(.pairingNotSupported)]
        )
        rig.simulation.withHost(other) { $0.disconnect() }
        rig.run(for: .seconds(60))
        try rig.order(.openPairing(for: .seconds(120)))
        try connectAndPair()
        let identity = rig.simulation.withHost(other) { $0.identity }
        let memory = rig.onWatch { watch, _ in watch.memory }
        #expect(memory.phones.map(\.bond.identity) == [identity])
    }

    @Test func aFullDiskIsReportedAndCostsThePhoneNothing() throws {
        var watch = try RigWatch(configuration(), seed: 1)
        watch.storeWorks = false
        var rig = try RigPair(connecting: watch, RigPhone(address: 0x11, seed: 2), seed: Self.seed)
        try rig.pair()
        #expect(try rig.connectivity() == [0x1F, 0, 0, 0])
        let handle = try rig.configuration(of: .uuid128(PebbleAttribute.connectivityStatus))
        #expect(try rig.perform(.subscribe(clientConfiguration: handle, .notifications)) == .written)
        #expect(rig.onPhone { phone, _ in phone.failures.isEmpty })
        let complaints = rig.onWatch { watch, _ in
            watch.events.contains { event in
                guard case .diagnostic(let line) = event else { return false }
                return line.layer == .store && line.severity == .error && line.message.contains("no space")
            }
        }
        #expect(complaints)
    }

    @Test func aButtonDecides() throws {
        var configuration = configuration()
        configuration.pairing.mode = .button
        for isAccepted in [true, false] {
            let watch = try RigWatch(configuration, seed: 1)
            var rig = try RigPair(connecting: watch, RigPhone(address: 0x11, seed: 2), seed: Self.seed)
            try rig.pair()
            #expect(rig.onPhone { phone, _ in phone.pairings.isEmpty }, "no button was pressed")
            try rig.order(isAccepted ? .confirmPairing : .refusePairing)
            rig.run(for: .seconds(5))
            let (pairings, failures) = rig.onPhone { phone, _ in (phone.pairings, phone.pairingFailures) }
            #expect(pairings.count == (isAccepted ? 1 : 0))
            #expect(failures == (isAccepted ? [] : [.refusedByPeer(.numericComparisonFailed)]))
        }
    }

    @Test func whatIsOnTheAirFollowsTheBond() throws {
        var rig = try pairedRig()
        #expect(rig.onWatch { watch, _ in watch.host.onAir.silence } == .connected)
        rig.onPhone { phone, _ in phone.disconnect() }
        rig.run(for: .seconds(1))
        let onAir = try #require(rig.onWatch { watch, _ in watch.host.onAir.connectable })
        #expect(onAir.role == .reconnection && onAir.interval == AdvertisingInterval(rawValue: 0x20))
        let identity = rig.onPhone { phone, _ in phone.identity }
        try rig.order(.forget(identity.address))
        #expect(rig.onWatch { watch, _ in watch.host.onAir.connectable?.role } == .discovery)
    }
}

extension RigPair {
    fileprivate mutating func connectivity() throws -> [UInt8]? {
        try read(.uuid128(PebbleAttribute.connectivityStatus))
    }
}
