import BluetoothHCI
import Testing

@testable import BluetoothHost

/// The attacks on pairing that have names, each tried on this Security Manager. Docs/security.md lists them.
@Suite("Known attacks on pairing")
struct KnownAttackTests {
    typealias Outcomes = SecurityManagerOutcomeTests

    static let phone = SecurityManagerBondTests.phone
    static let secureModels = [Outcomes.justWorks, Outcomes.comparison, Outcomes.peripheralShows]

    /// A phone that says it is `phone`, without its keys, and a watch that has a bond with the real one.
    private func impostor(
        _ central: IOCapability = .displayYesNo,
        methods: SecurityManager.PairingMethods = .secureConnections,
        bond: Bond,
        minimumKeySize: EncryptionKeySize = .maximum,
        isPairable: Bool = true
    ) -> SecurityPair {
        var watch = SecurityManager.Configuration.device(.displayYesNo, methods: .secureConnectionsOrLegacy)
        watch.minimumKeySize = minimumKeySize
        var pair = SecurityPair(
            central: .device(central, methods: methods, identity: Self.phone, key: 0x99),
            peripheral: watch,
            bonds: [.peripheral: [bond]],
            isPairable: isPairable
        )
        pair.addresses[.central] = Self.phone
        pair.reconnect()
        return pair
    }

    private func bond(isAuthenticated: Bool = false, keySize: EncryptionKeySize = .maximum) -> Bond {
        Bond(
            identity: Self.phone,
            keys: .secureConnections(LongTermKey(0x1234)),
            keySize: keySize,
            isAuthenticated: isAuthenticated,
            peerIdentityResolvingKey: IdentityResolvingKey(0x77)
        )
    }

    // MARK: Public keys and commitments

    @Test("Invalid curve: a public key that is no point of the curve", arguments: secureModels, Side.allCases)
    func invalidCurve(model: Outcomes.Model, victim: Side) throws {
        let bends: [@Sendable ([UInt8]) -> [UInt8]] = [
            { $0.prefix(33) + Array(repeating: 0, count: 32) },
            { $0.prefix(64) + [$0[64] ^ 0x80] },
            { [$0[0]] + $0[33...] + $0[1..<33] },
        ]
        for bend in bends {
            var pair = model.pair()
            pair.intercept = { sender, bytes, _ in
                sender != victim && bytes.first == SMPCode.pairingPublicKey.rawValue ? .replace([bend(bytes)]) : .pass
            }
            try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
            pair.run()
            #expect(pair.failure(victim) == .refused(.dhKeyCheckFailed))
            #expect(pair.bond(victim) == nil)
        }
    }

    @Test("Reflection of the public key: a device does not pair with itself", arguments: secureModels)
    func reflectedKey(model: Outcomes.Model) throws {
        var pair = model.pair()
        pair.intercept = { sender, bytes, pair in
            guard sender == .peripheral, bytes.first == SMPCode.pairingPublicKey.rawValue else { return .pass }
            return .replace([pair.transcript.last { $0.bytes.first == bytes.first }?.bytes ?? bytes])
        }
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.failure(.central) == .refused(.dhKeyCheckFailed))
        #expect(pair.bond(.central) == nil)
    }

    @Test("A responder's key is new each time: an attacker cannot reflect an old one")
    func keysAreFresh() throws {
        var pair = Outcomes.justWorks.pair()
        var keys: Set<[UInt8]> = []
        for _ in 0..<10 {
            pair.reconnect()
            try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
            pair.run()
            for (_, bytes) in pair.transcript where bytes.first == SMPCode.pairingPublicKey.rawValue {
                keys.insert(bytes)
            }
        }
        #expect(keys.count == 20)
    }

    @Test(
        "Reflection of the confirm value: who has only heard a commitment has not made one",
        arguments: [Outcomes.peripheralShows, Outcomes.legacyPeripheralShows]
    )
    func reflectedConfirm(model: Outcomes.Model) throws {
        var pair = model.pair()
        pair.intercept = { sender, bytes, pair in
            guard sender == .peripheral, [0x03, 0x04].contains(bytes.first) else { return .pass }
            return .replace([pair.transcript.last { $0.bytes.first == bytes.first }?.bytes ?? bytes])
        }
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.failure(.central) == .refused(.confirmValueFailed))
        #expect(pair.bond(.central) == nil && pair.bond(.peripheral) == nil)
    }

    // MARK: What is agreed on

    @Test("KNOB: a key that an attacker shortened on the way is refused by its receiver", arguments: Side.allCases)
    func shortenedKey(victim: Side) throws {
        for size in UInt8(7)...15 {
            var pair = Outcomes.comparison.pair()
            pair.intercept = { sender, bytes, _ in
                guard sender != victim, [0x01, 0x02].contains(bytes.first) else { return .pass }
                var changed = bytes
                changed[4] = size
                return .replace([changed])
            }
            try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
            pair.run()
            #expect(pair.failure(victim) == .refused(.encryptionKeySize), "\(size)")
        }
    }

    @Test("Method confusion: features that were changed on the way make the pairing fail", arguments: Side.allCases)
    func changedFeatures(sender changed: Side) throws {
        for capability in IOCapability.allCases where capability != .displayYesNo {
            var pair = Outcomes.comparison.pair()
            pair.intercept = { sender, bytes, _ in
                guard sender == changed, [0x01, 0x02].contains(bytes.first) else { return .pass }
                var changed = bytes
                changed[1] = capability.rawValue
                return .replace([changed])
            }
            // Users who say yes to everything, and type every number that they see.
            pair.user = { side, kind, pair in
                if case .numericComparison = kind { return .accept }
                if kind == .requestPasskey, case .numericComparison(let value) = pair.shown[side.other] {
                    return Passkey(value.number).map(PairingAnswer.passkey)
                }
                return pair.agreeableAnswer(of: side, to: kind)
            }
            try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
            pair.run()
            pair.wait(.seconds(31))
            #expect(pair.bond(.central) == nil && pair.bond(.peripheral) == nil, "\(capability)")
            #expect(pair.linkKey == nil)
        }
    }

    @Test("Method confusion: a number to compare is not taken for a passkey, and a passkey does not confirm a number")
    func confusedAnswers() throws {
        var pair = Outcomes.comparison.pair()
        pair.user = { _, _, _ in nil }
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        let prompt = try #require(pair.openPrompt(on: .peripheral))
        guard case .numericComparison(let value) = pair.shown[.peripheral] else {
            Issue.record("nothing to compare")
            return
        }
        #expect(!pair.answer(prompt, .passkey(try #require(Passkey(value.number))), on: .peripheral))
        pair.run()
        #expect(pair.bond(.peripheral) == nil)
    }

    // MARK: Keys that others want

    @Test("Key overwrite: never by a weaker key, even if the user says yes")
    func keyOverwrite() throws {
        // Just Works in place of a comparison that a person made.
        var pair = impostor(.noInputNoOutput, bond: bond(isAuthenticated: true))
        try expectRefused(&pair, .authenticationRequirements)
        // A comparison that no person makes, in place of one that a person made.
        pair = impostor(bond: bond(isAuthenticated: true))
        pair.user = { side, kind, pair in
            side == .peripheral ? .acceptUnseen : pair.agreeableAnswer(of: side, to: kind)
        }
        try expectRefused(&pair, .authenticationRequirements)
        // Legacy pairing in place of LE Secure Connections.
        pair = impostor(methods: .legacy, bond: bond())
        try expectRefused(&pair, .authenticationRequirements)
        // A shorter key.
        let short = try #require(EncryptionKeySize(octets: 7))
        pair = impostor(bond: bond(), minimumKeySize: short)
        pair.managers[.central]?.configuration.minimumKeySize = short
        pair.managers[.central]?.configuration.maximumKeySize = short
        try expectRefused(&pair, .authenticationRequirements)
        // As strong: the policy that lets any phone pair allows it.
        pair = impostor(bond: bond(isAuthenticated: true))
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.summary(.peripheral)?.replacesKey == true)
    }

    private func expectRefused(_ pair: inout SecurityPair, _ reason: PairingFailedReason) throws {
        let before = pair.managers[.peripheral]?.bonds
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.failure(.peripheral) == .refused(reason))
        #expect(pair.managers[.peripheral]?.bonds == before)
        #expect(!pair.security(.peripheral).isEncrypted)
    }

    @Test("Key overwrite: without bonding nothing is replaced, and the link is not the bonded phone's")
    func withoutBonding() throws {
        var pair = impostor(bond: bond())
        pair.managers[.central]?.configuration.isBondable = false
        #expect(pair.security(.peripheral) == LinkSecurity(isBonded: true), "as the address says")
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.summary(.peripheral)?.bondedIdentity == nil)
        #expect(pair.managers[.peripheral]?.bonds == [bond()])
        #expect(pair.security(.peripheral).isEncrypted)
        #expect(!pair.security(.peripheral).isBonded, "as the key says")
        #expect(pair.managers[.peripheral]?.provenIdentity(on: Side.peripheral.handle) == nil)
    }

    @Test("Key overwrite: a phone that has proved who it is cannot become another")
    func otherIdentity() throws {
        let bonds = try SecurityManagerBondTests.bonded()
        let victim = Bond(
            identity: .public(DeviceAddress(0x0066_6666_6666)),
            keys: .secureConnections(LongTermKey(6)),
            isAuthenticated: false
        )
        var pair = SecurityManagerBondTests.makePair(
            bonds: [.central: bonds[.central] ?? [], .peripheral: (bonds[.peripheral] ?? []) + [victim]]
        )
        try pair.managers[.central]?.encrypt(Side.central.handle, at: pair.now)
        pair.run()
        pair.managers[.central]?.configuration.identity = LocalIdentity(
            address: victim.identity,
            identityResolvingKey: IdentityResolvingKey(7)
        )
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.failure(.peripheral) == .refused(.keyRejected))
        #expect(pair.managers[.peripheral]?.bonds == (bonds[.peripheral] ?? []) + [victim])
    }

    @Test("Each passkey is for one attempt: the next attempt has a new one, and the old one is refused")
    func passkeyReuse() throws {
        var pair = Outcomes.peripheralShows.pair()
        var shown: [Passkey] = []
        pair.user = { side, kind, _ in
            if case .displayPasskey(let passkey) = kind { shown.append(passkey) }
            guard side == .central, kind == .requestPasskey else { return nil }
            // An attacker who has overheard the last one tries that.
            return .passkey(shown.dropLast().last ?? shown.last.flatMap { Passkey($0.number ^ 1) } ?? shown[0])
        }
        for _ in 0..<12 {
            pair.reconnect()
            try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
            pair.run()
            #expect(pair.bond(.peripheral) == nil)
            pair.wait(.seconds(600))
        }
        #expect(shown.count == 12 && Set(shown).count == 12)
    }

    // MARK: When

    @Test("Pairing while encrypted: an encrypted link is no reason to let a stranger pair")
    func pairingWhileEncrypted() throws {
        var pair = impostor(bond: bond())
        pair.managers[.central]?.configuration.isBondable = false
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        let security = pair.security(.peripheral)
        #expect(security.isEncrypted)
        pair.managers[.peripheral]?.isPairable = false
        pair.managers[.central]?.configuration.isBondable = true
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.events[.peripheral]?.last == .pairingFailed(Side.peripheral.handle, .notPairable))
        #expect(pair.security(.peripheral) == security)
        #expect(pair.managers[.peripheral]?.bonds == [bond()])
    }

    @Test("Pairing while encrypted: the bonded phone takes another key only to keep it")
    func bondedPhoneWithoutBonding() throws {
        var pair = SecurityManagerBondTests.makePair(bonds: try SecurityManagerBondTests.bonded(), isPairable: false)
        try pair.managers[.central]?.encrypt(Side.central.handle, at: pair.now)
        pair.run()
        let (key, security) = (pair.linkKey, pair.security(.peripheral))
        pair.deliver([0x01, 0x03, 0x00, 0x08, 0x10, 0x00, 0x00], from: .central)
        #expect(pair.reply(of: .peripheral) == [0x05, PairingFailedReason.authenticationRequirements.rawValue])
        #expect(pair.linkKey == key && pair.security(.peripheral) == security)
        pair.wait(.seconds(2))
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.summary(.peripheral)?.replacesKey == true)
        #expect(pair.security(.peripheral).isBonded)
    }

    @Test("Timeout: after 30 seconds at any step the pairing fails, and none can begin on this link")
    func standingStill() throws {
        for model in Self.secureModels + [Outcomes.legacyPeripheralShows] {
            var length = 1
            while true {
                var pair = model.pair()
                var sent = 0
                pair.intercept = { sender, _, _ in
                    guard sender == .central else { return .pass }
                    sent += 1
                    return sent > length ? .drop : .pass
                }
                try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
                pair.run()
                if pair.summary(.peripheral) != nil { break }
                let prompt = pair.openPrompt(on: .peripheral)
                pair.wait(.seconds(31))
                #expect(pair.failure(.peripheral) == .timedOut, "\(model), after \(length) commands")
                #expect(pair.managers[.peripheral]?.nextDeadline == nil && pair.bond(.peripheral) == nil)
                if let prompt {
                    let isTaken = pair.answer(prompt, .accept, on: .peripheral)
                    #expect(!isTaken)
                }
                pair.deliver(SecurityManagerRefusalTests.goodRequest, from: .central)
                #expect(pair.reply(of: .peripheral) == nil, "not one more word on this link")
                length += 1
            }
            #expect(length > 3)
        }
    }

    // MARK: In the middle

    @Test("Man in the middle with his own keys: the numbers differ, and only users who compare them are safe")
    func inTheMiddle() throws {
        var towardsWatch = Outcomes.comparison.pair(seed: 31)
        var towardsPhone = Outcomes.comparison.pair(seed: 32)
        for isCompared in [true, false] {
            var numbers: [NumericComparisonValue] = []
            func attack(_ pair: inout SecurityPair, victim: Side) throws {
                pair.reconnect()
                pair.user = { side, kind, _ in
                    guard side == victim, case .numericComparison(let value) = kind else { return .accept }
                    numbers.append(value)
                    return isCompared ? nil : .acceptUnseen
                }
                try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
                pair.run()
            }
            try attack(&towardsPhone, victim: .central)
            try attack(&towardsWatch, victim: .peripheral)
            #expect(numbers.count == 2 && numbers[0] != numbers[1])
            #expect(towardsWatch.summary(.peripheral)?.isAuthenticated == (isCompared ? nil : false))
            #expect(towardsPhone.summary(.central)?.isAuthenticated == (isCompared ? nil : false))
            if !isCompared {
                #expect(towardsWatch.bond(.peripheral)?.isAuthenticated == false)
                #expect(!towardsWatch.security(.peripheral).isAuthenticated)
            }
        }
    }

    @Test("A relay that changes nothing cannot be prevented: what is promised is that it has no key")
    func relay() throws {
        var pair = Outcomes.comparison.pair()
        var heard: [UInt8] = []
        pair.intercept = { _, bytes, _ in
            heard += bytes
            return .pass
        }
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.summary(.peripheral)?.isAuthenticated == true, "both prove their identity, at any distance")
        var key: [UInt8] = []
        try #require(pair.linkKey).encode(to: &key)
        #expect(!heard.contains(subsequence: key))
        #expect(!heard.contains(subsequence: key.reversed()))
        #expect(!heard.isEmpty)
    }
}

extension [UInt8] {
    /// Whether some bytes occur in others, in one piece.
    fileprivate func contains(subsequence: some Sequence<UInt8>) -> Bool {
        let wanted = Array(subsequence)
        guard wanted.count <= count else { return false }
        return (0...(count - wanted.count)).contains { Array(self[$0..<($0 + wanted.count)]) == wanted }
    }
}
