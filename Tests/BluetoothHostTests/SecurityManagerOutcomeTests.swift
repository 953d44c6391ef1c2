import BluetoothCryptography
import BluetoothHCI
import Testing

@testable import BluetoothHost

/// How a pairing ends when a side refuses, makes a mistake, does not answer, or disconnects.
@Suite("Security Manager: outcomes")
struct SecurityManagerOutcomeTests {
    /// Two devices that end up with a model.
    struct Model: Sendable, CustomStringConvertible {
        let central, peripheral: IOCapability
        let methods: SecurityManager.PairingMethods
        let description: String

        func pair(seed: UInt64 = 3) -> SecurityPair {
            SecurityPair(
                seed: seed,
                central: .device(
                    central,
                    methods: methods,
                    identity: .random(DeviceAddress(0xC0FF_EE00_0001)),
                    key: 0x1111
                ),
                peripheral: .device(
                    peripheral,
                    methods: methods,
                    identity: .public(DeviceAddress(0x001A_7DDA_7113)),
                    key: 0x2222
                )
            )
        }
    }

    static let justWorks = Model(
        central: .noInputNoOutput,
        peripheral: .noInputNoOutput,
        methods: .secureConnections,
        description: "SC Just Works"
    )
    static let comparison = Model(
        central: .displayYesNo,
        peripheral: .displayYesNo,
        methods: .secureConnections,
        description: "Numeric Comparison"
    )
    static let peripheralShows = Model(
        central: .keyboardOnly,
        peripheral: .displayOnly,
        methods: .secureConnections,
        description: "SC Passkey, peripheral shows"
    )
    static let centralShows = Model(
        central: .displayOnly,
        peripheral: .keyboardOnly,
        methods: .secureConnections,
        description: "SC Passkey, central shows"
    )
    static let legacyJustWorks = Model(
        central: .noInputNoOutput,
        peripheral: .noInputNoOutput,
        methods: .legacy,
        description: "legacy Just Works"
    )
    static let legacyPeripheralShows = Model(
        central: .keyboardOnly,
        peripheral: .displayOnly,
        methods: .legacy,
        description: "legacy Passkey, peripheral shows"
    )
    static let legacyCentralShows = Model(
        central: .displayOnly,
        peripheral: .keyboardOnly,
        methods: .legacy,
        description: "legacy Passkey, central shows"
    )
    static let models = [
        justWorks, comparison, peripheralShows, centralShows, legacyJustWorks, legacyPeripheralShows,
        legacyCentralShows,
    ]

    // MARK: One side refuses

    struct Rejection: Sendable, CustomStringConvertible {
        let model: Model
        let side: Side
        let reason: PairingFailedReason
        var description: String { "\(model): \(side) rejects" }
    }

    static let rejections = [
        Rejection(model: justWorks, side: .peripheral, reason: .pairingNotSupported),
        Rejection(model: legacyJustWorks, side: .peripheral, reason: .pairingNotSupported),
        Rejection(model: comparison, side: .central, reason: .numericComparisonFailed),
        Rejection(model: comparison, side: .peripheral, reason: .numericComparisonFailed),
        Rejection(model: peripheralShows, side: .central, reason: .passkeyEntryFailed),
        Rejection(model: peripheralShows, side: .peripheral, reason: .passkeyEntryFailed),
        Rejection(model: centralShows, side: .central, reason: .passkeyEntryFailed),
        Rejection(model: centralShows, side: .peripheral, reason: .passkeyEntryFailed),
        Rejection(model: legacyPeripheralShows, side: .central, reason: .passkeyEntryFailed),
        Rejection(model: legacyCentralShows, side: .central, reason: .passkeyEntryFailed),
    ]

    @Test("A user rejects", arguments: rejections)
    func rejected(_ sample: Rejection) throws {
        var pair = sample.model.pair()
        pair.user = { side, kind, pair in
            side == sample.side ? .reject : pair.agreeableAnswer(of: side, to: kind)
        }
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.failure(sample.side) == .refused(sample.reason))
        #expect(pair.failure(sample.side.other) == .refusedByPeer(sample.reason))
        #expect(pair.failure(sample.side.other)?.reason == sample.reason)
        try expectNothingCameOfIt(&pair)
    }

    @Test("The owner cancels", arguments: models)
    func cancelled(model: Model) throws {
        var pair = model.pair()
        pair.user = { _, _, _ in nil }
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        _ = pair.step()
        pair.managers[.central]?.cancelPairing(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.failure(.central) == .refused(.unspecifiedReason))
        #expect(pair.failure(.peripheral) == .refusedByPeer(.unspecifiedReason))
        try expectNothingCameOfIt(&pair)
    }

    @Test("An answer counts once, for the prompt that it was given to, and only if it fits")
    func answersFit() throws {
        var pair = Self.comparison.pair()
        pair.user = { _, _, _ in nil }
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        let old = try #require(pair.openPrompt(on: .peripheral))
        let passkey = try #require(Passkey(1))
        let misfit = pair.answer(old, .passkey(passkey), on: .peripheral)
        #expect(!misfit)
        pair.managers[.central]?.cancelPairing(Side.central.handle, at: pair.now)
        pair.run()
        let late = pair.answer(old, .accept, on: .peripheral)
        #expect(!late)

        pair.wait(.seconds(2))
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        let new = try #require(pair.openPrompt(on: .peripheral))
        #expect(new != old)
        // A button that was pressed for the number shown before must not confirm this one.
        let answers = [old, new, new].map { pair.answer($0, .accept, on: .peripheral) }
        #expect(answers == [false, true, false])
    }

    // MARK: One side makes a mistake

    @Test(
        "A wrong passkey is found out at the first wrong bit",
        arguments: [peripheralShows, centralShows, legacyPeripheralShows, legacyCentralShows],
        [0, 5, 19]
    )
    func wrongPasskey(model: Model, wrongBit: UInt32) throws {
        var pair = model.pair()
        pair.user = { side, kind, pair in
            // Both users type, or show, different numbers; the one that is shown is only known to the machine.
            switch kind {
            case .requestPasskey:
                guard case .displayPasskey(let shown) = pair.shown[side.other] else { return nil }
                return Passkey(shown.number ^ 1 << wrongBit).map(PairingAnswer.passkey)
            case .displayPasskey(let shown):
                if let wrong = Passkey(shown.number ^ 1 << wrongBit) {
                    pair.answerPasskeyRequest(on: side.other, wrong)
                }
                return nil
            default:
                return nil
            }
        }
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        // The responder sees the initiator's random number first.
        #expect(pair.failure(.peripheral) == .refused(.confirmValueFailed))
        #expect(pair.failure(.central) == .refusedByPeer(.confirmValueFailed))
        let rounds = pair.codes(from: .central).filter { $0 == SMPCode.pairingRandom.rawValue }.count
        #expect(rounds == (model.methods == .legacy ? 1 : Int(wrongBit) + 1))
        try expectNothingCameOfIt(&pair)
    }

    // MARK: One side refusesthing

    @Test("A user does not answer for 30 seconds", arguments: models)
    func userTimesOut(model: Model) throws {
        var pair = model.pair()
        pair.user = { _, _, _ in nil }
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        pair.wait(.seconds(29))
        #expect(pair.failure(.central) == nil && pair.failure(.peripheral) == nil)
        let sent = pair.transcript.count
        pair.wait(.seconds(2))
        if model.central == .noInputNoOutput || model.peripheral == .noInputNoOutput {
            // Just Works has a prompt on the responder alone; the initiator waits for the Pairing Response.
            #expect(pair.failure(.peripheral) == .timedOut)
        }
        #expect(pair.failure(.central) == .timedOut)
        #expect(pair.failure(.peripheral) == .timedOut)
        // No command is sent any more, even if others arrive.
        #expect(pair.transcript.count == sent)
        #expect(throws: SecurityRefusal.timedOut) {
            try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        }
        #expect(throws: SecurityRefusal.timedOut) {
            try pair.managers[.peripheral]?.sendSecurityRequest(Side.peripheral.handle, at: pair.now)
        }
        for side in Side.allCases {
            for code in UInt8(0x01)...0x0E {
                pair.managers[side]?.receive([code] + Array(repeating: 0, count: 6), on: side.handle, at: pair.now)
            }
            var buffer: [UInt8] = []
            let hasPDU = pair.managers[side]?.nextPDU(for: side.handle, into: &buffer)
            #expect(hasPDU == false)
        }
        #expect(pair.managers.values.allSatisfy { $0.nextDeadline == nil })
        try expectNothingCameOfIt(&pair)
    }

    @Test("The timer is restarted by every command that is sent, and by nothing else")
    func timerRestarts() throws {
        var pair = Self.comparison.pair()
        pair.user = { _, _, _ in nil }
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        #expect(pair.managers[.central]?.nextDeadline == .seconds(30))
        pair.run()
        // Central: Request 0 ms, Key 20 ms, Random 40 ms. Peripheral: Response 10, Key and Confirm 30, Random 50.
        #expect(pair.managers[.central]?.nextDeadline == .seconds(30) + .milliseconds(40))
        #expect(pair.managers[.peripheral]?.nextDeadline == .seconds(30) + .milliseconds(50))
        pair.managers[.central]?.advance(to: .seconds(30) + .milliseconds(39))
        pair.drain()
        #expect(pair.failure(.central) == nil)
        pair.managers[.central]?.advance(to: .seconds(30) + .milliseconds(40))
        pair.drain()
        #expect(pair.failure(.central) == .timedOut)
    }

    @Test("The other user's key presses give more time")
    func keypresses() throws {
        var pair = Self.peripheralShows.pair()
        pair.user = { _, _, _ in nil }
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        pair.wait(.seconds(20))
        pair.deliver([0x0E, 0x01], from: .central)
        #expect(pair.managers[.peripheral]?.nextDeadline == pair.now + .seconds(30))
        #expect(pair.failure(.peripheral) == nil)
    }

    @Test("A lost command leaves no bond on the side that waited for it", arguments: models)
    func lostCommands(model: Model) throws {
        var whole = model.pair()
        try whole.managers[.central]?.pair(Side.central.handle, at: whole.now)
        whole.run()
        for lost in 0..<whole.transcript.count {
            var pair = model.pair()
            var count = 0
            pair.intercept = { _, _, _ in
                defer { count += 1 }
                return count == lost ? .drop : .pass
            }
            try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
            pair.run()
            pair.wait(.seconds(31))
            let sender = whole.transcript[lost].sender
            let next = whole.transcript.dropFirst(lost + 1).first
            if let next, next.sender == sender, whole.isKey(lost) == whole.isKey(lost + 1) {
                // What was sent together with something that never came is out of order.
                #expect(pair.failure(sender.other) == .refused(.unspecifiedReason), "command \(lost)")
            } else {
                #expect(pair.failure(sender.other) == (lost == 0 ? nil : .timedOut), "command \(lost)")
            }
            // The initiator, which gives its keys last, cannot know that one of them never came.
            if sender == .central && whole.isKey(lost) {
                #expect(pair.summary(.central) != nil, "command \(lost)")
            } else {
                #expect(pair.failure(.central) != nil, "command \(lost)")
            }
            #expect(pair.managers[.peripheral]?.bonds.isEmpty == true, "command \(lost)")
        }
    }

    // MARK: One side disconnects

    @Test("The link is lost at any step", arguments: models)
    func disconnected(model: Model) throws {
        var whole = model.pair()
        try whole.managers[.central]?.pair(Side.central.handle, at: whole.now)
        whole.run()
        let steps = whole.transcript.count
        for step in 0..<steps {
            var pair = model.pair()
            var count = 0
            pair.intercept = { _, _, pair in
                if count == step {
                    count += 1
                    pair.disconnect()
                    return .drop
                }
                count += 1
                return .pass
            }
            try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
            pair.run()
            // The initiator, which gives its keys last, is done when it has sent them.
            if whole.isKey(step) && whole.transcript[step].sender == .central {
                #expect(pair.summary(.central) != nil, "step \(step)")
            } else {
                #expect(pair.failure(.central) == .disconnected, "step \(step)")
                #expect(pair.managers[.central]?.bonds.isEmpty == true, "step \(step)")
            }
            #expect(pair.failure(.peripheral) == (step == 0 ? nil : .disconnected), "step \(step)")
            #expect(pair.managers[.peripheral]?.bonds.isEmpty == true, "step \(step)")
            #expect(pair.managers.values.allSatisfy { $0.nextDeadline == nil }, "step \(step)")

            // The next attempt starts from the beginning.
            pair.intercept = { _, _, _ in .pass }
            pair.reconnect()
            try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
            pair.run()
            #expect(pair.summary(.central) != nil && pair.summary(.peripheral) != nil, "after step \(step)")
        }
    }

    @Test("The controller cannot encrypt with the new key")
    func encryptionFails() throws {
        var pair = Self.justWorks.pair()
        pair.intercept = { _, bytes, pair in
            // As Eb arrives, what the peripheral knows is swapped for something else.
            if bytes.first == 0x0D {
                pair.managers[.peripheral]?
                    .encryptionChanged(
                        on: Side.peripheral.handle,
                        status: .success,
                        isEncrypted: true,
                        at: pair.now
                    )
            }
            return .pass
        }
        // An encryption whose key was not chosen here says nothing about authentication, and ends no pairing.
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.summary(.peripheral) != nil)

        var manager = try #require(Self.justWorks.pair().managers[.central])
        var other = Self.justWorks.pair()
        try manager.pair(Side.central.handle, at: .zero)
        other.managers[.central] = manager
        other.user = { side, kind, pair in pair.agreeableAnswer(of: side, to: kind) }
        while other.managers[.central]?.links[Side.central.handle]?.keySource == nil {
            var buffer: [UInt8] = []
            for side in Side.allCases {
                while other.managers[side]?.nextPDU(for: side.handle, into: &buffer) == true {
                    other.managers[side.other]?.receive(buffer[...], on: side.other.handle, at: .zero)
                    while case .prompt(let prompt)? = other.managers[side.other]?.nextEvent() {
                        other.managers[side.other]?.answer(prompt.id, with: .accept, at: .zero)
                    }
                }
            }
        }
        other.managers[.central]?
            .encryptionChanged(on: Side.central.handle, status: .pinOrKeyMissing, isEncrypted: false, at: .zero)
        #expect(other.managers[.central]?.nextEvent() == .pairingFailed(1, .encryptionFailed(.pinOrKeyMissing)))
        var buffer: [UInt8] = []
        #expect(other.managers[.central]?.nextPDU(for: Side.central.handle, into: &buffer) == true)
        #expect(buffer == [0x05, 0x08])
    }

    // MARK: Pairing again

    @Test("Pairing again while bonded replaces the bond when it completes, and not before")
    func repairing() throws {
        var pair = Self.comparison.pair()
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        let first = try #require(pair.bond(.peripheral))
        let metadata = Bond.Metadata(name: "Phone", flags: Bond.OwnerFlags(rawValue: 5))
        pair.managers[.peripheral]?.setMetadata(metadata, of: first.identity)

        // The phone lost its bond; its user rejects.
        pair.reconnect()
        pair.managers[.central]?.deleteBond(try #require(pair.addresses[.peripheral]))
        pair.user = { side, kind, pair in side == .central ? .reject : pair.agreeableAnswer(of: side, to: kind) }
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.failure(.peripheral) == .refusedByPeer(.numericComparisonFailed))
        #expect(pair.managers[.peripheral]?.bonds.map(\.keys) == [first.keys])

        pair.wait(.seconds(2))
        pair.reconnect()
        pair.user = { side, kind, pair in pair.agreeableAnswer(of: side, to: kind) }
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        let second = try #require(pair.bond(.peripheral))
        #expect(second.identity == first.identity)
        #expect(second.keys != first.keys)
        #expect(second.metadata == metadata)
        #expect(pair.managers[.peripheral]?.bonds == [second])
    }

    @Test("Two devices can pair again on a link that is encrypted", arguments: models)
    func pairingOnEncryptedLink(model: Model) throws {
        var pair = model.pair()
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        let first = try #require(pair.linkKey)
        for side in Side.allCases { pair.events[side] = [] }
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.summary(.central) != nil && pair.summary(.peripheral) != nil)
        #expect(pair.linkKey != first)
        for side in Side.allCases {
            #expect(pair.managers[side]?.bonds.count == 1)
            #expect(pair.security(side).isEncrypted && pair.security(side).isBonded)
        }
    }

    @Test("A device that is not pairable lets only authenticated peers pair again")
    func notPairable() throws {
        var pair = Self.comparison.pair()
        pair.managers[.peripheral]?.isPairable = false
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.failure(.peripheral) == .notPairable)
        #expect(pair.failure(.central) == .refusedByPeer(.pairingNotSupported))
        #expect(!(pair.events[.peripheral] ?? []).contains { if case .prompt = $0 { true } else { false } })

        pair.managers[.peripheral]?.isPairable = true
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.summary(.peripheral) != nil)
        pair.managers[.peripheral]?.isPairable = false
        // The phone is known by its identity, at any address; but any device can use that address.
        pair.addresses[.central] = .random(
            DeviceAddress(resolvableBy: IdentityResolvingKey(0x1111), random: 99, CryptoToolbox(.swiftCrypto))
        )
        pair.reconnect()
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.failure(.peripheral) == .notPairable)
        // Its key says more.
        pair.reconnect()
        try pair.managers[.central]?.encrypt(Side.central.handle, at: pair.now)
        pair.run()
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.summary(.peripheral)?.replacesKey == true)
    }

    @Test("When there is no room for another bond, only known devices can pair")
    func fullBondList() throws {
        var configuration = SecurityManager.Configuration.device()
        configuration.maximumBondCount = 1
        let stranger = Bond(
            identity: .public(DeviceAddress(9)),
            keys: .secureConnections(LongTermKey(9)),
            isAuthenticated: false
        )
        var pair = SecurityPair(
            central: .device(),
            peripheral: configuration,
            bonds: [.peripheral: [stranger]]
        )
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.failure(.peripheral) == .notPairable)
        pair.managers[.peripheral]?.deleteBond(stranger.identity)
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.summary(.peripheral) != nil)
    }

    @Test("Without bonding the link is encrypted, and nothing is kept", arguments: Side.allCases)
    func noBonding(side: Side) throws {
        var pair = Self.justWorks.pair()
        pair.managers[side]?.configuration.isBondable = false
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        for side in Side.allCases {
            #expect(pair.summary(side) != nil)
            #expect(pair.summary(side)?.bondedIdentity == nil)
            #expect(pair.bond(side) == nil)
            #expect(pair.security(side).isEncrypted && !pair.security(side).isBonded)
            #expect(pair.managers[side]?.bonds.isEmpty == true)
        }
        #expect(!pair.codes(from: .central).contains(0x08))
    }

    // MARK: Helpers

    /// There is no bond and no open procedure, and a new pairing on a new link works.
    private func expectNothingCameOfIt(_ pair: inout SecurityPair) throws {
        for side in Side.allCases {
            #expect(pair.summary(side) == nil)
            #expect(pair.bond(side) == nil)
            #expect(pair.managers[side]?.bonds.isEmpty == true)
            #expect(pair.managers[side]?.nextDeadline == nil)
            #expect(!pair.security(side).isEncrypted)
        }
        pair.wait(.seconds(2))
        pair.reconnect()
        pair.user = { side, kind, pair in pair.agreeableAnswer(of: side, to: kind) }
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.summary(.central) != nil && pair.summary(.peripheral) != nil)
    }
}

extension SecurityPair {
    /// Answers a prompt after a delay.
    mutating func answer(_ id: PairingPrompt.ID, _ answer: PairingAnswer, on side: Side) -> Bool {
        managers[side]?.answer(id, with: answer, at: now) ?? false
    }

    /// Whether a command of the transcript gives a key.
    func isKey(_ index: Int) -> Bool {
        guard transcript.indices.contains(index), let code = transcript[index].bytes.first else { return false }
        return (0x06...0x0A).contains(code)
    }
}
