import AirSimulator
import BluetoothHCI
import BluetoothHost
import PebbleProtocol
import PebbleWatch
import Testing

/// Attacks on a watch that has an owner, on the air and in virtual time. Docs/security.md lists them.
@Suite("Known attacks on a watch") struct KnownAttackFirmwareTests {
    private static let connectivity = BluetoothUUID.uuid128(PebbleAttribute.connectivityStatus)

    /// A watch in a mode, and its owner, who has paired, and is gone.
    private func owned(_ mode: PairingPolicy.Mode, limit: Int = 1) throws -> RigPair {
        var configuration = WatchConfiguration(identity: WatchIdentity(address: RigWatch.address))
        configuration.pairing.mode = mode
        configuration.pairing.phoneLimit = limit
        let watch = try RigWatch(configuration, seed: 1)
        var rig = try RigPair(connecting: watch, RigPhone(address: 0x11, seed: 2), seed: 0xA77)
        try rig.pair()
        if mode == .button {
            try rig.order(.confirmPairing)
            rig.run(for: .seconds(5))
        }
        try #require(rig.onPhone { phone, _ in phone.pairings.count } == 1)
        let handle = try rig.configuration(of: Self.connectivity)
        #expect(try rig.perform(.subscribe(clientConfiguration: handle, .notifications)) == .written)
        rig.onPhone { phone, _ in phone.disconnect() }
        rig.run(for: .seconds(2))
        rig.onWatch { watch, _ in watch.events = [] }
        return rig
    }

    /// A phone with the owner's address and without his keys.
    private func impostor(isBondable: Bool = true, key: UInt128? = nil) -> RigPhone {
        var phone = RigPhone(address: 0x11, seed: 66)
        phone.host.security?.configuration.isBondable = isBondable
        if let key {
            let identity = LocalIdentity(address: phone.identity, identityResolvingKey: IdentityResolvingKey(key))
            phone.host.security?.configuration.identity = identity
        }
        return phone
    }

    @Test("Takeover: the owner's address without his key", arguments: [true, false])
    func takeover(isBondable: Bool) throws {
        var rig = try owned(.auto)
        let before = rig.onWatch { watch, _ in watch.memory }
        let thief = try rig.bringIn(impostor(isBondable: isBondable))
        let failures = try rig.pair(thief)
        #expect(failures == [.refusedByPeer(.pairingNotSupported)])
        let refused = try #require(try rig.refusals().first)
        #expect(refused.reason == .keyLost && refused.phone == rig.onPhone { phone, _ in phone.identity })
        #expect(rig.onWatch { watch, _ in watch.host.status.pairing.refused } == refused)
        #expect(try !rig.hasReturned(), "the bonded phone was not reported as back")
        #expect(rig.onWatch { watch, _ in watch.memory } == before)
        #expect(rig.onWatch { watch, _ in watch.host.status.phones.allSatisfy { !$0.isConnected } })
        // After many requests on one link, the owner is told once.
        rig.run(for: .seconds(1))
        _ = try rig.pair(thief)
        #expect(try rig.refusals().count == 1)
        // The owner connects with his key, and is recognised.
        try rig.on(thief) { $0.disconnect() }
        rig.run(for: .seconds(2))
        try rig.connect()
        try rig.encrypt(for: .seconds(2))
        #expect(try rig.hasReturned())
        #expect(try rig.read(Self.connectivity) == [0x1F, 0, 0, 0])
    }

    @Test("Poisoning: nothing that a stranger does on a plain link is kept under the owner's name")
    func poisoning() throws {
        var rig = try owned(.auto)
        let before = rig.onWatch { watch, _ in watch.memory }
        let thief = try rig.bringIn(impostor())
        rig.perform(.readByUUID(.characteristic), on: thief)
        let declarations = try rig.on(thief) { $0.responses.last }
        for uuid in [Self.connectivity, .serviceChanged] {
            let handle = try RigPair.configuration(of: uuid, in: declarations)
            try #require(handle != .none)
            rig.perform(.subscribe(clientConfiguration: handle, [.notifications, .indications]), on: thief)
            rig.perform(.subscribe(clientConfiguration: handle, []), on: thief)
        }
        let features = try RigPair.value(of: .clientSupportedFeatures, in: declarations)
        rig.perform(.write(features, [1]), on: thief)
        rig.perform(.readByUUID(.databaseHash), on: thief)
        try rig.on(thief) { $0.disconnect() }
        rig.run(for: .seconds(2))
        #expect(rig.onWatch { watch, _ in watch.memory } == before)
        #expect(before.phones.first?.client.subscriptions.isEmpty == false)
    }

    @Test("A key is replaced if a person allows it; that is reported, and state is dropped", arguments: [nil, 0xDEAD])
    func replacement(resetKey: UInt128?) throws {
        for mode in [PairingPolicy.Mode.auto, .button] {
            var rig = try owned(mode)
            if mode == .auto { try rig.order(.openPairing(for: .seconds(60))) }
            let phone = try rig.bringIn(impostor(key: resetKey))
            let failures = try rig.pair(phone)
            if mode == .button {
                #expect(try rig.on(phone) { $0.pairings.isEmpty }, "no button was pressed")
                #expect(try !rig.hasReturned())
                try rig.order(.confirmPairing)
                rig.run(for: .seconds(5))
            }
            #expect(failures == [])
            #expect(try rig.on(phone) { $0.pairings.count } == 1)
            let replaced = rig.onWatch { watch, _ in
                watch.events.compactMap { event in
                    if case .keyReplaced(_, let phone) = event { phone } else { nil }
                }
            }
            #expect(replaced == [rig.onPhone { phone, _ in phone.identity }])
            let memory = rig.onWatch { watch, _ in watch.memory.phones }
            #expect(memory.count == 1 && memory.first?.client.subscriptions == [:])
            #expect(memory.first?.bond.isAuthenticated == (mode == .button), "only a person compares")
        }
    }

    @Test("On a bench a phone that lost its keys pairs again by itself")
    func bench() throws {
        var rig = try owned(.open)
        let phone = try rig.bringIn(impostor())
        #expect(try rig.pair(phone) == [])
        #expect(try rig.on(phone) { $0.pairings.count } == 1)
        #expect(try rig.on(phone) { $0.security.isEncrypted })
    }

    @Test("The table of bonds: strangers cannot fill it, and a phone beyond its size replaces the oldest")
    func exhaustion() throws {
        var rig = try owned(.auto, limit: 3)
        let owner = rig.onPhone { phone, _ in phone.identity }
        for number in 0x21...0x24 as ClosedRange<UInt64> {
            let stranger = try rig.bringIn(RigPhone(address: number, seed: number))
            #expect(try rig.pair(stranger) == [.refusedByPeer(.pairingNotSupported)])
            try rig.on(stranger) { $0.disconnect() }
            rig.run(for: .seconds(2))
        }
        #expect(rig.onWatch { watch, _ in watch.memory.phones.map(\.bond.identity) } == [owner])
        var identities = [owner]
        for number in 0x31...0x35 as ClosedRange<UInt64> {
            try rig.order(.openPairing(for: .seconds(60)))
            let guest = try rig.bringIn(RigPhone(address: number, seed: number))
            #expect(try rig.pair(guest) == [])
            identities.append(try rig.on(guest) { $0.identity })
            #expect(rig.onWatch { watch, _ in watch.memory.phones.map(\.bond.identity) } == identities.suffix(3))
            #expect(rig.onWatch { watch, _ in watch.host.status.pairing.isOpen } == false, "one window, one phone")
            try rig.on(guest) { $0.disconnect() }
            rig.run(for: .seconds(2))
        }
    }

    @Test("A closed watch refuses every way to pair, and Connectivity says so")
    func everyWay() throws {
        for mode in [PairingPolicy.Mode.auto, .reject] {
            for capability in IOCapability.allCases {
                var configuration = WatchConfiguration(identity: WatchIdentity(address: RigWatch.address))
                configuration.pairing.mode = mode
                configuration.pairing.ioCapability = .keyboardDisplay
                configuration.pairing.allowsLegacyPairing = true
                var memory = WatchMemory()
                memory.phones = [
                    RememberedPhone(
                        bond: Bond(
                            identity: .random(DeviceAddress(0xC0AA_0000_0001)),
                            keys: .secureConnections(LongTermKey(1)),
                            isAuthenticated: false
                        )
                    )
                ]
                for methods in [SecurityManager.PairingMethods.secureConnections, .legacy] {
                    var phone = RigPhone(address: 0x22, seed: 5)
                    phone.host.security?.configuration.ioCapability = capability
                    phone.host.security?.configuration.pairingMethods = methods
                    let watch = try RigWatch(configuration, memory: memory, seed: 1)
                    var rig = try RigPair(connecting: watch, phone, seed: 3)
                    try rig.pair()
                    #expect(rig.onPhone { phone, _ in phone.pairingFailures } == [.refusedByPeer(.pairingNotSupported)])
                    #expect(try rig.read(Self.connectivity)?.last == PairingFailedReason.pairingNotSupported.rawValue)
                    #expect(try rig.refusals().map(\.reason) == [mode == .auto ? .closed : .rejected])
                }
            }
        }
    }

    @Test("A closed watch that is asked for a Security Request reports the refusal in Connectivity")
    func trigger() throws {
        var rig = try owned(.auto)
        let stranger = try rig.bringIn(RigPhone(address: 0x22, seed: 5))
        rig.perform(.readByUUID(.characteristic), on: stranger)
        let declarations = try rig.on(stranger) { $0.responses.last }
        let trigger = try RigPair.value(of: .uuid128(PebbleAttribute.triggerPairing), in: declarations)
        rig.perform(.write(trigger, [0x04]), on: stranger)
        #expect(try rig.refusals().map(\.reason) == [.closed])
        rig.perform(.readByUUID(Self.connectivity), on: stranger)
        let answer = try rig.on(stranger) { $0.responses.last }
        guard case .values(let values)? = answer else {
            Issue.record("Connectivity could not be read")
            return
        }
        #expect(values.first.map { Array($0.value) } == [0x19, 0, 0, 5])
    }

    @Test("The table of modes")
    func table() {
        typealias Answer = PairingPolicy.Answer
        let table: [(PairingPolicy.Applicant, isOpen: Bool, [Answer])] = [
            (.first, false, [.yes, .yes, .ask, .no]),
            (.stranger, false, [.yes, .no, .ask, .no]),
            (.withoutKey, false, [.yes, .no, .ask, .no]),
            (.stranger, true, [.yes, .yes, .ask, .no]),
            (.withoutKey, true, [.yes, .yes, .ask, .no]),
            (.withKey, false, [.yes, .yes, .ask, .no]),
        ]
        for (applicant, isOpen, answers) in table {
            let modes: [PairingPolicy.Mode] = [.open, .auto, .button, .reject]
            let said = modes.map { PairingPolicy(mode: $0).answer(to: applicant, isWindowOpen: isOpen) }
            #expect(said == answers, "\(applicant)")
        }
    }
}

extension RigPair {
    fileprivate typealias GuestID = Simulation.HostID<RigPhone>

    /// Another phone comes into range and connects.
    fileprivate mutating func bringIn(_ phone: RigPhone) throws -> GuestID {
        let guest = simulation.add(phone)
        run(for: .seconds(1))
        try on(guest) { $0.connect(to: RigWatch.address) }
        run(for: .seconds(5))
        let connection = try on(guest) { $0.connection }
        try #require(connection != nil)
        return guest
    }

    fileprivate mutating func on<Result>(_ guest: GuestID, _ body: (inout RigPhone) throws -> Result) throws -> Result {
        try #require(try simulation.withHost(guest, body))
    }

    /// Has a guest pair.
    /// - Returns: what it failed for.
    fileprivate mutating func pair(_ guest: GuestID) throws -> [PairingFailure] {
        let now = now
        try on(guest) { try $0.pair(at: now) }
        run(for: .seconds(5))
        return try on(guest) { $0.pairingFailures }
    }

    fileprivate mutating func perform(_ procedure: GATTProcedure, on guest: GuestID) {
        let now = now
        _ = simulation.withHost(guest) { try? $0.perform(procedure, at: now) }
        run(for: .seconds(2))
    }

    /// What the owner was told of phones that may not pair.
    fileprivate mutating func refusals() throws -> [RefusedPairing] {
        onWatch { watch, _ in
            watch.events.compactMap { event in
                if case .pairingRefused(_, let refused) = event { refused } else { nil }
            }
        }
    }

    /// Whether a phone was said to be back.
    fileprivate mutating func hasReturned() throws -> Bool {
        onWatch { watch, _ in
            watch.events.contains { event in
                if case .recovery(.phoneIsBack) = event { true } else { false }
            }
        }
    }
}
