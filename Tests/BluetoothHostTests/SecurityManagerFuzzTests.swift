import BluetoothHCI
import ByteCoding
import SeededRandomness
import Testing

@testable import BluetoothHost

/// More than 100,000 broken commands: none traps, none makes a bond, and the state stays valid.
@Suite("Security Manager: fuzz")
struct SecurityManagerFuzzTests {
    /// How many mutated commands each step of each model gets.
    static let mutationsPerStep = 410

    @Test("Mutated commands at every step of every model", arguments: SecurityManagerOutcomeTests.models)
    func everyStep(model: SecurityManagerOutcomeTests.Model) throws {
        var random = SplitMix64(seed: 0xF022)
        var whole = model.pair()
        try whole.managers[.central]?.pair(Side.central.handle, at: whole.now)
        whole.run()
        let transcript = whole.transcript

        // A manager is a value: each step is run once, and each mutation arrives at a copy of it.
        for step in transcript.indices {
            var pair = model.pair()
            var snapshot: SecurityManager?
            var count = 0
            let receiver = transcript[step].sender.other
            pair.intercept = { _, _, pair in
                if count == step { snapshot = pair.managers[receiver] }
                count += 1
                return .pass
            }
            try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
            pair.run()
            let manager = try #require(snapshot)
            for number in 0..<Self.mutationsPerStep {
                let bytes = Self.mutation(of: transcript[step].bytes, seen: transcript.map(\.bytes), &random)
                expectSanity(manager, bytes, on: receiver, "step \(step), mutation \(number): \(bytes.hexadecimal)")
            }
        }
    }

    @Test("The steps and mutations are at least 100,000")
    func enough() throws {
        let steps = try SecurityManagerOutcomeTests.models.reduce(0) { sum, model in
            var pair = model.pair()
            try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
            pair.run()
            return sum + pair.transcript.count
        }
        #expect(steps * Self.mutationsPerStep >= 100_000)
    }

    /// One command to a copy of a manager.
    private func expectSanity(_ original: SecurityManager, _ bytes: [UInt8], on side: Side, _ comment: Comment) {
        var manager = original
        let bondsBefore = manager.bonds
        let now = Duration.seconds(5)
        let givesKeys = SMPCode(rawValue: bytes.first ?? 0).map { (0x06...0x0A).contains($0.rawValue) } ?? false
        manager.receive(bytes[...], on: side.handle, at: now)

        var buffer: [UInt8] = []
        var replies: [[UInt8]] = []
        while manager.nextPDU(for: side.handle, into: &buffer) { replies.append(buffer) }
        var hasFailed = false
        var isBonded = false
        while let event = manager.nextEvent() {
            if case .pairingFailed = event { hasFailed = true }
            if case .bonded = event { isBonded = true }
        }
        for reply in replies {
            let decoded = try? SMPPDU(decoding: reply[...])
            #expect(decoded != nil, comment)
            if case .pairingFailed = decoded {
                // Pairing Failed is the last command, and none follows it.
                #expect(replies.last == reply && manager.nextDeadline == nil, comment)
                #expect(manager.nextAction() == nil, comment)
            }
        }
        if hasFailed { #expect(manager.nextDeadline == nil, comment) }
        // Only a command that gives a key can complete a pairing, and only a completed pairing makes a bond.
        if !givesKeys { #expect(!isBonded, comment) }
        #expect(isBonded || manager.bonds == bondsBefore, comment)
        if let deadline = manager.nextDeadline { #expect(deadline <= now + SecurityLink.procedureTimeout, comment) }
        // The manager still works after it.
        manager.advance(to: .seconds(100))
        #expect(manager.nextDeadline == nil, comment)
        manager.connectionClosed(side.handle)
    }

    /// Something that a broken or hostile device may send instead of a command.
    private static func mutation(of bytes: [UInt8], seen: [[UInt8]], _ random: inout SplitMix64) -> [UInt8] {
        var changed = bytes
        switch random.next() % 8 {
        case 0:
            for _ in 0...(random.next() % 3) where !changed.isEmpty {
                let index = Int(random.next() % UInt64(changed.count))
                changed[index] ^= 1 << UInt8(random.next() % 8)
            }
        case 1:
            changed = Array(changed.prefix(Int(random.next() % UInt64(changed.count + 1))))
        case 2:
            changed += (0...(random.next() % 70)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        case 3:
            // Another command of this pairing: early, late, or reflected.
            changed = seen.randomElement(using: &random) ?? []
        case 4:
            changed = seen.randomElement(using: &random) ?? []
            if !changed.isEmpty { changed[Int(random.next() % UInt64(changed.count))] ^= 0x40 }
        case 5:
            // Right in form, wrong in content.
            let (code, length) =
                SecurityManagerRefusalTests.lengths.randomElement(using: &random) ?? (code: 1, length: 6)
            changed = [code] + (0..<length).map { _ in UInt8(truncatingIfNeeded: random.next() >> 8) }
        case 6:
            changed[0] = UInt8(truncatingIfNeeded: random.next() % 20)
        default:
            changed = (0..<(random.next() % 80)).map { _ in UInt8(truncatingIfNeeded: random.next()) }
        }
        return changed
    }

    // MARK: Long walks

    @Test("Two managers under random traffic, calls, answers, encryption events and lost links", arguments: 0..<40)
    func walk(seed: Int) throws {
        var random = SplitMix64(seed: UInt64(seed) &+ 0x5EED)
        let models = SecurityManagerOutcomeTests.models
        let model = models[Int(random.next() % UInt64(models.count))]
        var pair = model.pair(seed: random.next())
        for side in Side.allCases { pair.managers[side]?.configuration.repeatedAttempts.firstInterval = .zero }
        var choices = random
        pair.user = { side, kind, pair in
            switch choices.next() % 8 {
            case 0: .reject
            case 1: nil
            case 2: .accept
            case 3: Passkey(UInt32(choices.next() % 1_000_000)).map(PairingAnswer.passkey)
            default: pair.agreeableAnswer(of: side, to: kind)
            }
        }
        var channel = SplitMix64(seed: random.next())
        pair.intercept = { _, bytes, pair in
            switch channel.next() % 24 {
            case 0: .drop
            case 1: .replace([bytes, bytes])
            case 2: .replace([Self.mutation(of: bytes, seen: pair.transcript.suffix(40).map(\.bytes), &channel)])
            case 3:
                .replace([Self.mutation(of: bytes, seen: pair.transcript.suffix(40).map(\.bytes), &channel), bytes])
            default: .pass
            }
        }
        var completed: [Side: Int] = [:]
        for _ in 0..<120 {
            let side = random.next() % 2 == 0 ? Side.central : .peripheral
            switch random.next() % 12 {
            case 0...4: try? pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
            case 5: try? pair.managers[.peripheral]?.sendSecurityRequest(Side.peripheral.handle, at: pair.now)
            case 6: try? pair.managers[.central]?.encrypt(Side.central.handle, at: pair.now)
            case 7: pair.managers[side]?.cancelPairing(side.handle, at: pair.now)
            case 8:
                pair.encryptionChanged(
                    random.next() % 2 == 0 ? .success : .pinOrKeyMissing,
                    isEncrypted: random.next() % 2 == 0,
                    on: [side]
                )
            case 9: pair.wait(.seconds(Int(random.next() % 40)))
            case 10: pair.reconnect()
            default:
                pair.managers[.peripheral]?
                    .longTermKeyRequested(
                        on: Side.peripheral.handle,
                        name: LongTermKeyName(encryptedDiversifier: 0, randomNumber: random.next() % 2)
                    )
                while pair.managers[.peripheral]?.nextAction() != nil {}
            }
            pair.run(atMost: .seconds(5))
            if !pair.isConnected { pair.reconnect() }
            for side in Side.allCases {
                let manager = try #require(pair.managers[side])
                for case .pairingCompleted(_, let summary) in pair.events[side] ?? []
                where summary.bondedIdentity != nil {
                    completed[side, default: 0] += 1
                }
                // No bond without a completed pairing; never more than one with the same peer.
                #expect(manager.bonds.isEmpty || completed[side, default: 0] > 0, "seed \(seed)")
                #expect(manager.bonds.count <= model.pair().managers.count, "seed \(seed)")
                if let deadline = manager.nextDeadline {
                    #expect(deadline <= pair.now + SecurityLink.procedureTimeout, "seed \(seed)")
                }
                pair.events[side] = []
            }
            pair.transcript.removeFirst(max(0, pair.transcript.count - 100))
        }
        // After all that, a proper pairing still works.
        for side in Side.allCases {
            for bond in pair.managers[side]?.bonds ?? [] { pair.managers[side]?.deleteBond(bond.identity) }
        }
        try pair.expectPairingWorksAfterwards()
    }
}

extension SecurityPair {
    /// On a new link, long after everything that happened, a proper pairing works.
    fileprivate mutating func expectPairingWorksAfterwards() throws {
        wait(.seconds(600 * 20))
        try expectPairingWorks()
    }
}
