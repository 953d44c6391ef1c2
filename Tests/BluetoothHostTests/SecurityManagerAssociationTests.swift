import BluetoothHCI
import Testing

@testable import BluetoothHost

/// Every association model, and its result when all goes well.
@Suite("Security Manager: association models")
struct SecurityManagerAssociationTests {
    /// Core 5.4, Vol 3, Part H, table 2.8, typed in row by row: the responder's capability, then one entry for each
    /// of the initiator's. J is Just Works, N Numeric Comparison, I and R Passkey Entry shown by the initiator or the
    /// responder, B Passkey Entry typed into both. The second letter is for LE Secure Connections if it differs.
    static let table: [(responder: IOCapability, models: [String])] = [
        // initiator:        DisplayOnly DisplayYesNo KeyboardOnly NoInputNoOutput KeyboardDisplay
        (.displayOnly, ["J", "J", "R", "J", "R"]),
        (.displayYesNo, ["J", "JN", "R", "J", "RN"]),
        (.keyboardOnly, ["I", "I", "B", "J", "I"]),
        (.noInputNoOutput, ["J", "J", "J", "J", "J"]),
        (.keyboardDisplay, ["I", "IN", "R", "J", "IN"]),
    ]

    struct Case: Sendable, CustomStringConvertible {
        let initiator, responder: IOCapability
        let secureConnections: Bool
        let model: AssociationModel
        var description: String { "\(initiator) -> \(responder), \(secureConnections ? "SC" : "legacy"): \(model)" }
    }

    static let cases: [Case] = table.flatMap { row in
        zip(IOCapability.allCases, row.models).flatMap { initiator, letters in
            [false, true].compactMap { secureConnections in
                guard let letter = secureConnections ? letters.last : letters.first else { return nil }
                let model: AssociationModel? =
                    switch letter {
                    case "J": .justWorks
                    case "N": .numericComparison
                    case "I": .passkeyEntry(displayedBy: .initiator)
                    case "R": .passkeyEntry(displayedBy: .responder)
                    case "B": .passkeyEntry(displayedBy: nil)
                    default: nil
                    }
                guard let model else { return nil }
                return Case(
                    initiator: initiator,
                    responder: row.responder,
                    secureConnections: secureConnections,
                    model: model
                )
            }
        }
    }

    @Test("The table has all 50 combinations")
    func tableIsWhole() { #expect(Self.cases.count == 50) }

    @Test("The capabilities choose the model, and the pairing completes", arguments: cases)
    func model(_ sample: Case) throws {
        var pair = SecurityPair(
            seed: 11,
            central: .device(sample.initiator, methods: .secureConnectionsOrLegacy),
            peripheral: .device(
                sample.responder,
                methods: sample.secureConnections ? .secureConnectionsOrLegacy : .legacy
            )
        )
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()

        let isAuthenticated = sample.secureConnections && sample.model != .justWorks
        for side in Side.allCases {
            let summary = try #require(pair.summary(side), "\(pair.events)")
            #expect(summary.model == sample.model)
            #expect(summary.usesSecureConnections == sample.secureConnections)
            #expect(summary.isAuthenticated == isAuthenticated)
            #expect(summary.keySize == .maximum)
            #expect(pair.failure(side) == nil)
            #expect(
                pair.security(side)
                    == LinkSecurity(
                        isEncrypted: true,
                        isAuthenticated: isAuthenticated,
                        isBonded: true,
                        keySize: 16
                    )
            )
            let bond = try #require(pair.bond(side))
            #expect(bond.identity == pair.addresses[side.other])
            #expect(bond.isAuthenticated == isAuthenticated)
            #expect(bond.usesSecureConnections == sample.secureConnections)
        }
        try expectMatchingKeys(pair)
        #expect(prompts(pair, .central) == expectedPrompts(sample, .initiator))
        #expect(prompts(pair, .peripheral) == expectedPrompts(sample, .responder))
    }

    @Test("If neither side has the MITM flag, nothing is compared", arguments: IOCapability.allCases)
    func nobodyAsksForProtection(capability: IOCapability) throws {
        var pair = SecurityPair(
            central: .device(capability, mitm: .notRequested),
            peripheral: .device(capability, mitm: .notRequested)
        )
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.summary(.central)?.model == .justWorks)
        #expect(pair.summary(.peripheral)?.model == .justWorks)
    }

    @Test("The flag of one side is enough", arguments: Side.allCases)
    func oneAsksForProtection(side: Side) throws {
        var pair = SecurityPair(
            central: .device(.keyboardDisplay, mitm: side == .central ? .required : .notRequested),
            peripheral: .device(.keyboardDisplay, mitm: side == .peripheral ? .required : .notRequested)
        )
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.summary(.central)?.model == .numericComparison)
        #expect(pair.summary(.peripheral)?.isAuthenticated == true)
    }

    @Test("Both users see the same six digits, and twenty rounds check a passkey")
    func whatUsersSee() throws {
        var pair = SecurityPair(
            seed: 77,
            central: .device(.displayYesNo),
            peripheral: .device(.displayYesNo)
        )
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        let values = Side.allCases.flatMap { side in
            (pair.events[side] ?? []).compactMap { event -> NumericComparisonValue? in
                guard case .prompt(let prompt) = event, case .numericComparison(let value) = prompt.kind else {
                    return nil
                }
                return value
            }
        }
        #expect(values.count == 2)
        #expect(values.first == values.last)
        #expect(values.first?.digits.count == 6)

        pair = SecurityPair(central: .device(.keyboardOnly), peripheral: .device(.displayOnly))
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.codes(from: .central).filter { $0 == 0x03 }.count == 20)
        #expect(pair.codes(from: .peripheral).filter { $0 == 0x03 }.count == 20)
        #expect(pair.codes(from: .peripheral).filter { $0 == 0x04 }.count == 20)
    }

    @Test("The order of commands is the Core's (Vol 3, Part H, appendix C.2.2)")
    func messageSequence() throws {
        let identity = LEAddress.random(DeviceAddress(0xC0FF_EE00_0001))
        var pair = SecurityPair(
            central: .device(.displayYesNo, identity: identity, key: 5),
            peripheral: .device(.displayYesNo)
        )
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.codes(from: .central) == [0x01, 0x0C, 0x04, 0x0D, 0x08, 0x09])
        #expect(pair.codes(from: .peripheral) == [0x02, 0x0C, 0x03, 0x04, 0x0D])

        pair = SecurityPair(
            central: .device(.displayYesNo, methods: .legacy, identity: identity, key: 5),
            peripheral: .device(
                .keyboardOnly,
                methods: .secureConnectionsOrLegacy,
                identity: .public(DeviceAddress(7)),
                key: 6
            )
        )
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.codes(from: .central) == [0x01, 0x03, 0x04, 0x06, 0x07, 0x08, 0x09])
        #expect(pair.codes(from: .peripheral) == [0x02, 0x03, 0x04, 0x06, 0x07, 0x08, 0x09])
    }

    // MARK: Out of band

    /// Which side has the other's data.
    static let outOfBandDirections: [Set<Side>] = [[.central], [.peripheral], [.central, .peripheral]]

    @Test("Out of band data in one direction or both", arguments: outOfBandDirections)
    func outOfBand(tellers: Set<Side>) throws {
        var pair = SecurityPair(central: .device(), peripheral: .device())
        for teller in tellers { try pair.tellOutOfBand(teller) }
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        for side in Side.allCases {
            let summary = try #require(pair.summary(side), "\(pair.events)")
            #expect(summary.model == .outOfBand)
            #expect(summary.isAuthenticated)
            #expect(prompts(pair, side).isEmpty)
        }
        try expectMatchingKeys(pair)
    }

    @Test("Wrong out of band data fails the pairing", arguments: Side.allCases, [true, false])
    func wrongOutOfBand(teller: Side, wrongConfirm: Bool) throws {
        var pair = SecurityPair(central: .device(), peripheral: .device())
        let made = pair.managers[teller]?.makeOutOfBandData()
        let data = try #require(made)
        let wrong = OutOfBandData(
            confirm: wrongConfirm ? data.confirm ^ 1 : data.confirm,
            random: wrongConfirm ? data.random : data.random ^ 1
        )
        let address = try #require(pair.addresses[teller])
        pair.managers[teller.other]?.setOutOfBandData(PeerOutOfBandData(secureConnections: wrong), of: address)
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        // Both break the commitment, since the random number is part of it.
        #expect(pair.failure(teller.other) == .refused(.confirmValueFailed))
        #expect(pair.failure(teller) == .refusedByPeer(.confirmValueFailed))
        #expect(pair.managers.values.allSatisfy { $0.bonds.isEmpty })
    }

    @Test("A peer that claims to have out of band data that was never given is refused")
    func unknownOutOfBand() throws {
        var pair = SecurityPair(central: .device(), peripheral: .device())
        let made = OutOfBandData(confirm: 1, random: 2)
        pair.managers[.central]?
            .setOutOfBandData(PeerOutOfBandData(secureConnections: made), of: try #require(pair.addresses[.peripheral]))
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.failure(.peripheral) == .refused(.outOfBandNotAvailable))
        #expect(pair.failure(.central) == .refusedByPeer(.outOfBandNotAvailable))
    }

    @Test("LE legacy pairing out of band needs the key on both sides", arguments: [true, false])
    func legacyOutOfBand(sameKey: Bool) throws {
        var pair = SecurityPair(central: .device(methods: .legacy), peripheral: .device(methods: .legacy))
        for side in Side.allCases {
            let key = TemporaryKey(0x1234_5678 << 64 | (sameKey || side == .central ? 1 : 2))
            pair.managers[side]?
                .setOutOfBandData(PeerOutOfBandData(temporaryKey: key), of: try #require(pair.addresses[side.other]))
        }
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        if sameKey {
            #expect(pair.summary(.peripheral)?.model == .outOfBand)
            #expect(pair.summary(.central)?.isAuthenticated == true)
            try expectMatchingKeys(pair)
        } else {
            #expect(pair.failure(.peripheral) == .refused(.confirmValueFailed))
            #expect(pair.failure(.central) == .refusedByPeer(.confirmValueFailed))
        }
    }

    // MARK: Keys

    @Test("Shorter keys are agreed on where both allow them", arguments: [7, 10, 15])
    func shortKeys(octets: Int) throws {
        for methods in [SecurityManager.PairingMethods.secureConnections, .legacy] {
            let size = try #require(EncryptionKeySize(octets: octets))
            var central = SecurityManager.Configuration.device(methods: methods)
            central.maximumKeySize = size
            central.minimumKeySize = .minimum
            var peripheral = SecurityManager.Configuration.device(methods: methods)
            peripheral.minimumKeySize = .minimum
            var pair = SecurityPair(central: central, peripheral: peripheral)
            try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
            pair.run()
            #expect(pair.summary(.peripheral)?.keySize == size)
            #expect(pair.security(.peripheral).keySize == octets)
            let key = try #require(pair.linkKey)
            #expect(key.value >> UInt128(octets * 8) == 0)
            try expectMatchingKeys(pair)
        }
    }

    @Test("The debug key works between devices that were told to use and accept it")
    func debugKeys() throws {
        var central = SecurityManager.Configuration.device()
        central.debugKeys = .used
        var peripheral = SecurityManager.Configuration.device()
        for debugKeys in [SecurityManager.DebugKeys.accepted, .used] {
            peripheral.debugKeys = debugKeys
            var pair = SecurityPair(central: central, peripheral: peripheral)
            try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
            pair.run()
            #expect(pair.summary(.central) != nil)
            #expect(pair.summary(.peripheral) != nil)
            let sent = try #require(pair.transcript.first { $0.bytes.first == 0x0C })
            // The x coordinate, least significant octet first.
            #expect(sent.bytes[1...].prefix(4) == [0xE6, 0x9D, 0x35, 0x0E])
        }
    }

    // MARK: Helpers

    /// Both devices can encrypt the next link with each other, and the link layers used that key or the STK.
    private func expectMatchingKeys(_ pair: SecurityPair) throws {
        let central = try #require(pair.bond(.central))
        let peripheral = try #require(pair.bond(.peripheral))
        switch (central.keys, peripheral.keys) {
        case (.secureConnections(let one), .secureConnections(let other)):
            #expect(one == other)
            #expect(one == pair.linkKey)
        case (.legacy(let centralOwn, let centralPeer), .legacy(let peripheralOwn, let peripheralPeer)):
            #expect(centralOwn != nil && peripheralOwn != nil)
            #expect(centralOwn == peripheralPeer)
            #expect(centralPeer == peripheralOwn)
        default:
            Issue.record("different kinds of keys")
        }
    }

    private func prompts(_ pair: SecurityPair, _ side: Side) -> [String] {
        (pair.events[side] ?? []).compactMap { event in
            guard case .prompt(let prompt) = event else { return nil }
            switch prompt.kind {
            case .confirmPairing: return "confirm"
            case .numericComparison: return "compare"
            case .displayPasskey: return "display"
            case .requestPasskey: return "type"
            }
        }
    }

    private func expectedPrompts(_ sample: Case, _ role: PairingRole) -> [String] {
        switch sample.model {
        case .justWorks: role == .responder ? ["confirm"] : []
        case .numericComparison: ["compare"]
        case .passkeyEntry(let display): [display == role ? "display" : "type"]
        case .outOfBand: []
        }
    }
}

extension SecurityPair {
    /// One device tells the other its out of band data.
    mutating func tellOutOfBand(_ teller: Side) throws {
        let made = managers[teller]?.makeOutOfBandData()
        let data = try #require(made)
        let address = try #require(addresses[teller])
        managers[teller.other]?.setOutOfBandData(PeerOutOfBandData(secureConnections: data), of: address)
    }
}
