import AirSimulator
import BluetoothHCI
import BluetoothHost
import ByteCoding
import PebbleProtocol
import PebbleWatch
import Testing

/// Pairing, remembering and Service Changed, on the air and in virtual time.
@Suite struct BondingTests {
    private static let watchAddress = LEAddress.random(DeviceAddress(0xC0DE_0000_1234))
    private static let seed: UInt64 = 0xB0D

    private func configuration() -> WatchConfiguration {
        WatchConfiguration(identity: WatchIdentity(address: Self.watchAddress))
    }

    /// A watch and a phone, connected.
    private struct Rig {
        var simulation: Simulation
        let watch: Simulation.HostID<RigWatch>
        let phone: Simulation.HostID<RigPhone>

        init(_ watch: RigWatch, _ phone: RigPhone, seed: UInt64) throws {
            simulation = Simulation(seed: seed)
            self.watch = simulation.add(watch)
            self.phone = simulation.add(phone)
            simulation.run(for: .seconds(1))
            try connect()
        }

        mutating func connect() throws {
            simulation.withHost(phone) { $0.connect(to: BondingTests.watchAddress) }
            let phone = phone
            let outcome = simulation.run(until: simulation.now + .seconds(20)) { simulation in
                simulation.withHost(phone) { $0.connection != nil } == true
            }
            try #require(outcome == .conditionMet, "the phone did not connect")
            simulation.run(for: .seconds(1))
        }

        mutating func onPhone<Result>(_ body: (inout RigPhone, Duration) throws -> Result) throws -> Result {
            let now = simulation.now
            return try #require(try simulation.withHost(phone) { try body(&$0, now) })
        }

        @discardableResult
        mutating func onWatch<Result>(_ body: (inout RigWatch, Duration) throws -> Result) throws -> Result {
            let now = simulation.now
            return try #require(
                try simulation.withHost(watch) { watch in
                    defer { watch.drain(at: now) }
                    return try body(&watch, now)
                }
            )
        }

        /// What a procedure answered, or nil if it failed.
        mutating func perform(_ procedure: GATTProcedure) throws -> GATTResponse? {
            let before = try onPhone { phone, now in
                try phone.perform(procedure, at: now)
                return phone.responses.count
            }
            simulation.run(for: .seconds(2))
            return try onPhone { phone, _ in phone.responses.count > before ? phone.responses.last : nil }
        }

        mutating func connectivity() throws -> [UInt8]? {
            let uuid = BluetoothUUID.uuid128(PebbleAttribute.connectivityStatus)
            guard case .values(let values)? = try perform(.readByUUID(uuid)) else { return nil }
            return values.first.map { Array($0.value) }
        }

        /// The handle of the configuration that belongs to a characteristic.
        mutating func configuration(of uuid: BluetoothUUID) throws -> AttributeHandle {
            guard case .values(let values)? = try perform(.readByUUID(.characteristic)) else { return .none }
            for declaration in values {
                var reader = ByteReader(declaration.value)
                _ = try reader.readUInt8("properties")
                let handle: UInt16 = try reader.readLittleEndian("handle")
                let rest = Array(reader.readRemaining())
                var expected: [UInt8] = []
                expected.append(uuid)
                if rest == expected { return AttributeHandle(rawValue: handle + 1) }
            }
            return .none
        }

        mutating func pair() throws {
            try onPhone { phone, now in try phone.pair(at: now) }
            simulation.run(for: .seconds(5))
        }

        mutating func reconnect() throws {
            try onPhone { phone, _ in if let connection = phone.connection { phone.host.disconnect(connection) } }
            simulation.run(for: .seconds(1))
            try connect()
        }
    }

    private func pairedRig(_ configuration: WatchConfiguration? = nil) throws -> Rig {
        let watch = try RigWatch(configuration ?? self.configuration(), seed: 1)
        var rig = try Rig(watch, RigPhone(address: 0x11, seed: 2), seed: Self.seed)
        try rig.pair()
        try #require(try rig.onPhone { phone, _ in phone.pairings.count } == 1)
        return rig
    }

    @Test func connectivityFollowsThePairingAndTheStore() throws {
        var watch = try RigWatch(configuration(), seed: 1)
        watch.storeIsSlow = true
        var rig = try Rig(watch, RigPhone(address: 0x11, seed: 2), seed: Self.seed)
        #expect(try rig.connectivity() == [0x11, 0, 0, 0])
        try rig.pair()
        #expect(try rig.connectivity() == [0x15, 0, 0, 0], "encrypted, but the bond is not in the store yet")
        let notified = try rig.onPhone { phone, _ in phone.received.map { Array($0.value) } }
        #expect(notified == [[0x15, 0, 0, 0]], "told although it had not subscribed")
        try rig.onWatch { watch, _ in watch.storeIsSlow = false }
        rig.simulation.run(for: .seconds(1))
        #expect(try rig.connectivity() == [0x1F, 0, 0, 0])
        let memory = try rig.onWatch { watch, _ in watch.memory }
        #expect(memory.identity?.address == Self.watchAddress)
        #expect(memory.phones.map(\.bond.identity) == [try rig.onPhone { phone, _ in phone.identity }])
    }

    @Test func afterARestartThePhoneEncryptsAndItsSubscriptionsLive() throws {
        var rig = try pairedRig()
        let handle = try rig.configuration(of: .uuid128(PebbleAttribute.connectivityStatus))
        #expect(try rig.perform(.subscribe(clientConfiguration: handle, .notifications)) == .written)
        let memory = try rig.onWatch { watch, _ in watch.memory }
        #expect(memory.phones.first?.client.subscriptions[handle] == .notifications)
        let bonds = try rig.onPhone { phone, _ in phone.bonds }

        let watch = try RigWatch(configuration(), memory: memory, seed: 77)
        var second = try Rig(watch, RigPhone(address: 0x11, bonds: bonds, seed: 3), seed: 4)
        #expect(try second.connectivity() == [0x1B, 0, 0, 0])
        try second.onPhone { phone, now in try phone.encrypt(at: now) }
        second.simulation.run(for: .seconds(1))
        #expect(try second.connectivity() == [0x1F, 0, 0, 0])
        #expect(try second.onPhone { phone, _ in phone.pairings.isEmpty })
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
        let memory = try rig.onWatch { watch, _ in watch.memory }
        let bonds = try rig.onPhone { phone, _ in phone.bonds }

        var changed = configuration()
        changed.offersBattery = false
        let watch = try RigWatch(changed, memory: memory, seed: 77)
        var second = try Rig(watch, RigPhone(address: 0x11, bonds: bonds, seed: 3), seed: 4)
        func indications() throws -> [[UInt8]] {
            try second.onPhone { phone, _ in phone.received.filter(\.isIndication).map { Array($0.value) } }
        }
        try second.onPhone { phone, now in try phone.encrypt(at: now) }
        second.simulation.run(for: .seconds(9))
        #expect(try indications() == [])
        second.simulation.run(for: .seconds(3))
        #expect(try indications() == [[0x01, 0x00, 0xFF, 0xFF]])
        try second.reconnect()
        try second.onPhone { phone, now in try phone.encrypt(at: now) }
        second.simulation.run(for: .seconds(30))
        #expect(try indications().count == 1, "it knows now")
        let known = try second.onWatch { watch, _ in watch.memory.phones.first?.seenDatabaseHash }
        #expect(known != memory.phones.first?.seenDatabaseHash)
    }

    @Test func anUnchangedDatabaseIsNotIndicated() throws {
        var rig = try pairedRig()
        let handle = try rig.configuration(of: .serviceChanged)
        #expect(try rig.perform(.subscribe(clientConfiguration: handle, .indications)) == .written)
        try rig.reconnect()
        try rig.onPhone { phone, now in try phone.encrypt(at: now) }
        rig.simulation.run(for: .seconds(60))
        #expect(try rig.onPhone { phone, _ in phone.received.filter(\.isIndication).isEmpty })
    }

    @Test func anUnconfirmedIndicationSurvivesALostLink() throws {
        var rig = try pairedRig()
        let handle = try rig.configuration(of: .serviceChanged)
        #expect(try rig.perform(.subscribe(clientConfiguration: handle, .indications)) == .written)
        try rig.reconnect()
        try rig.onWatch { watch, now in try watch.firmware.perform(.offerBattery(false), at: now) }
        // Gone before it is encrypted again, and so before it may be told.
        try rig.reconnect()
        try rig.onPhone { phone, now in try phone.encrypt(at: now) }
        rig.simulation.run(for: .seconds(15))
        let values = try rig.onPhone { phone, _ in phone.received.filter(\.isIndication).map { Array($0.value) } }
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
        try rig.onWatch { watch, now in try watch.firmware.perform(.offerBattery(false), at: now) }
        rig.simulation.run(for: .seconds(15))
        var expected: [UInt8] = []
        expected.appendLittleEndian(range.start.rawValue)
        expected.appendLittleEndian(range.end.rawValue)
        let values = try rig.onPhone { phone, _ in phone.received.filter(\.isIndication).map { Array($0.value) } }
        #expect(values == [expected])
    }

    @Test func aWatchThatDoesNotBondRefusesAndNeverChanges() throws {
        var configuration = configuration()
        configuration.pairing.isBondable = false
        let watch = try RigWatch(configuration, seed: 1)
        var rig = try Rig(watch, RigPhone(address: 0x11, seed: 2), seed: Self.seed)
        #expect(try rig.configuration(of: .serviceChanged) == .none)
        try rig.pair()
        #expect(
            try rig.onPhone { phone, _ in phone.pairingFailures } == [.refusedByPeer(.pairingNotSupported)]
        )
        let before = try rig.onWatch { watch, _ in watch.changes }
        #expect(throws: WatchCommandError.databaseIsFixed) {
            try rig.onWatch { watch, now in try watch.firmware.perform(.offerBattery(false), at: now) }
        }
        #expect(try rig.perform(.discoverPrimaryServices(.uuid16(0x180F))) != .services([]))
        #expect(before.isEmpty, "nothing to remember")
    }

    @Test func aSecondPhoneNeedsAWindowAndThenReplacesTheFirst() throws {
        var rig = try pairedRig()
        try rig.onPhone { phone, _ in if let connection = phone.connection { phone.host.disconnect(connection) } }
        rig.simulation.run(for: .seconds(2))
        let other = rig.simulation.add(RigPhone(address: 0x22, seed: 9))
        rig.simulation.run(for: .seconds(1))
        func connectAndPair() throws {
            rig.simulation.withHost(other) { $0.connect(to: Self.watchAddress) }
            rig.simulation.run(for: .seconds(5))
            let now = rig.simulation.now
            try rig.simulation.withHost(other) { try $0.pair(at: now) }
            rig.simulation.run(for: .seconds(5))
        }
        try connectAndPair()
        #expect(
            rig.simulation.withHost(other) { $0.pairingFailures } == [.refusedByPeer(.pairingNotSupported)]
        )
        rig.simulation.withHost(other) { phone in if let handle = phone.connection { phone.host.disconnect(handle) } }
        rig.simulation.run(for: .seconds(60))
        try rig.onWatch { watch, now in try watch.firmware.perform(.openPairing(for: .seconds(120)), at: now) }
        try connectAndPair()
        let identity = rig.simulation.withHost(other) { $0.identity }
        let memory = try rig.onWatch { watch, _ in watch.memory }
        #expect(memory.phones.map(\.bond.identity) == [identity])
    }

    @Test func aFullDiskIsReportedAndCostsThePhoneNothing() throws {
        var watch = try RigWatch(configuration(), seed: 1)
        watch.storeWorks = false
        var rig = try Rig(watch, RigPhone(address: 0x11, seed: 2), seed: Self.seed)
        try rig.pair()
        #expect(try rig.connectivity() == [0x1F, 0, 0, 0])
        let handle = try rig.configuration(of: .uuid128(PebbleAttribute.connectivityStatus))
        #expect(try rig.perform(.subscribe(clientConfiguration: handle, .notifications)) == .written)
        #expect(try rig.onPhone { phone, _ in phone.failures.isEmpty })
        let complaints = try rig.onWatch { watch, _ in
            watch.events.contains { event in
                guard case .diagnostic(let line) = event else { return false }
                return line.layer == "store" && line.severity == .error && line.message.contains("no space")
            }
        }
        #expect(complaints)
    }

    @Test func aButtonDecides() throws {
        var configuration = configuration()
        configuration.pairing.confirmation = .button
        for isAccepted in [true, false] {
            let watch = try RigWatch(configuration, seed: 1)
            var rig = try Rig(watch, RigPhone(address: 0x11, seed: 2), seed: Self.seed)
            try rig.pair()
            #expect(try rig.onPhone { phone, _ in phone.pairings.isEmpty }, "nobody has pressed anything")
            try rig.onWatch { watch, now in
                try watch.firmware.perform(isAccepted ? .confirmPairing : .refusePairing, at: now)
            }
            rig.simulation.run(for: .seconds(5))
            let (pairings, failures) = try rig.onPhone { phone, _ in (phone.pairings, phone.pairingFailures) }
            #expect(pairings.count == (isAccepted ? 1 : 0))
            #expect(failures == (isAccepted ? [] : [.refusedByPeer(.numericComparisonFailed)]))
        }
    }

    @Test func whatIsOnTheAirFollowsTheBond() throws {
        var rig = try pairedRig()
        #expect(try rig.onWatch { watch, _ in watch.firmware.onAir.silence } == .connected)
        try rig.onPhone { phone, _ in if let connection = phone.connection { phone.host.disconnect(connection) } }
        rig.simulation.run(for: .seconds(1))
        let onAir = try #require(try rig.onWatch { watch, _ in watch.firmware.onAir.connectable })
        #expect(onAir.role == .reconnection && onAir.interval == AdvertisingInterval(rawValue: 0x20))
        let identity = try rig.onPhone { phone, _ in phone.identity }
        try rig.onWatch { watch, now in try watch.firmware.perform(.forget(identity.address), at: now) }
        #expect(try rig.onWatch { watch, _ in watch.firmware.onAir.connectable?.role } == .discovery)
    }
}
