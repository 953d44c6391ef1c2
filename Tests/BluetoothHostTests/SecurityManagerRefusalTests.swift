import BluetoothHCI
import ByteCoding
import Testing

@testable import BluetoothHost

/// What a peer that breaks the rules is answered: byte by byte, with the reason code. No state remains.
@Suite("Security Manager: refusals")
struct SecurityManagerRefusalTests {
    // MARK: Commands outside of a pairing

    /// A Pairing Request that a device with Secure Connections and no display would send.
    static let goodRequest: [UInt8] = [0x01, 0x03, 0x00, 0x0D, 0x10, 0x03, 0x03]

    struct Stray: Sendable, CustomTestStringConvertible {
        let bytes: [UInt8]
        /// What the peripheral and the central answer; nil for nothing.
        let peripheral, central: UInt8?
        var testDescription: String { bytes.hexadecimal }

        init(_ bytes: [UInt8], _ peripheral: UInt8?, _ central: UInt8?) {
            self.bytes = bytes
            self.peripheral = peripheral
            self.central = central
        }

        init(_ code: UInt8, length: Int, _ peripheral: UInt8?, _ central: UInt8?) {
            self.init([code] + Array(repeating: 0x01, count: length), peripheral, central)
        }
    }

    static let strays: [Stray] = [
        // No command at all.
        Stray([], 0x0A, 0x0A),
        // Reserved codes are ignored (Vol 3, Part H, 3.3).
        Stray([0x00], nil, nil), Stray(0x0F, length: 6, nil, nil), Stray(0xFF, length: 64, nil, nil),
        // Commands of the other role.
        Stray(goodRequest, nil, 0x07),
        Stray([0x02, 0x03, 0x00, 0x0D, 0x10, 0x03, 0x03], 0x07, 0x08),
        Stray([0x0B, 0x0D], 0x07, nil),
        // Commands that belong into a pairing.
        Stray(0x03, length: 16, 0x08, 0x08), Stray(0x04, length: 16, 0x08, 0x08),
        Stray(0x06, length: 16, 0x08, 0x08), Stray(0x07, length: 10, 0x08, 0x08),
        Stray(0x08, length: 16, 0x08, 0x08),
        Stray([0x09, 0x00, 1, 2, 3, 4, 5, 6], 0x08, 0x08),
        Stray(0x0A, length: 16, 0x08, 0x08), Stray(0x0C, length: 64, 0x08, 0x08),
        Stray(0x0D, length: 16, 0x08, 0x08), Stray(0x0E, length: 1, 0x08, 0x08),
        // No device answers a Pairing Failed, not even a broken one.
        Stray([0x05, 0x08], nil, nil), Stray([0x05], nil, nil), Stray(0x05, length: 200, nil, nil),
        // Values out of range: IO capability, OOB flag, key size, and who can be an identity.
        Stray([0x01, 0x05, 0x00, 0x0D, 0x10, 0x03, 0x03], 0x0A, 0x0A),
        Stray([0x01, 0xFF, 0x00, 0x0D, 0x10, 0x03, 0x03], 0x0A, 0x0A),
        Stray([0x01, 0x03, 0x02, 0x0D, 0x10, 0x03, 0x03], 0x0A, 0x0A),
        Stray([0x01, 0x03, 0x00, 0x0D, 0x06, 0x03, 0x03], 0x0A, 0x0A),
        Stray([0x01, 0x03, 0x00, 0x0D, 0x11, 0x03, 0x03], 0x0A, 0x0A),
        Stray([0x02, 0x03, 0x00, 0x0D, 0x00, 0x03, 0x03], 0x0A, 0x0A),
        Stray([0x09, 0x02, 1, 2, 3, 4, 5, 6], 0x0A, 0x0A),
        Stray([0x09, 0x01, 1, 2, 3, 4, 5, 0x46], 0x0A, 0x0A),
        // Too much for the channel.
        Stray(0x0C, length: 65, 0x0A, 0x0A), Stray(0x01, length: 1000, 0x0A, 0x0A),
        Stray(0x03, length: 65_534, 0x0A, 0x0A),
    ]

    @Test("A stray or broken command is answered, and nothing else happens", arguments: strays, Side.allCases)
    func stray(_ sample: Stray, receiver: Side) throws {
        var pair = SecurityPair(central: .device(), peripheral: .device())
        pair.user = { _, _, _ in nil }
        pair.deliver(sample.bytes, from: receiver.other)
        let expected = receiver == .peripheral ? sample.peripheral : sample.central
        #expect(pair.reply(of: receiver) == expected.map { [0x05, $0] })
        if expected != nil {
            #expect(pair.managers[receiver]?.nextDeadline == nil)
            try pair.expectPairingWorks()
        }
    }

    /// How long each command is, without its code (Vol 3, Part H, 3.5 and 3.6).
    static let lengths: [(code: UInt8, length: Int)] = [
        (0x01, 6), (0x02, 6), (0x03, 16), (0x04, 16), (0x06, 16), (0x07, 10), (0x08, 16), (0x09, 7), (0x0A, 16),
        (0x0B, 1), (0x0C, 64), (0x0D, 16), (0x0E, 1),
    ]

    @Test("Every other length is invalid", arguments: lengths.map(\.code), Side.allCases)
    func wrongLength(code: UInt8, receiver: Side) throws {
        let right = try #require(Self.lengths.first { $0.code == code }).length
        for length in 0...80 where length != right {
            var pair = SecurityPair()
            pair.deliver([code] + Array(repeating: 0x00, count: length), from: receiver.other)
            #expect(pair.reply(of: receiver) == [0x05, 0x0A], "length \(length)")
        }
    }

    // MARK: Pairing Requests that are refused

    struct Request: Sendable, CustomTestStringConvertible {
        let name: String
        let bytes: [UInt8]
        let configuration: SecurityManager.Configuration
        let reason: UInt8
        var testDescription: String { name }
    }

    static func configuration(_ change: (inout SecurityManager.Configuration) -> Void) -> SecurityManager.Configuration
    {
        var configuration = SecurityManager.Configuration.device(.displayYesNo)
        change(&configuration)
        return configuration
    }

    static let requests: [Request] = [
        Request(
            name: "a key of 7 octets",
            bytes: [0x01, 0x03, 0x00, 0x0D, 0x07, 0x03, 0x03],
            configuration: .device(),
            reason: 0x06
        ),
        Request(
            name: "a key of 15 octets",
            bytes: [0x01, 0x03, 0x00, 0x0D, 0x0F, 0x03, 0x03],
            configuration: .device(),
            reason: 0x06
        ),
        Request(
            name: "no Secure Connections",
            bytes: [0x01, 0x03, 0x00, 0x05, 0x10, 0x03, 0x03],
            configuration: .device(),
            reason: 0x03
        ),
        Request(
            name: "nothing to compare with, where protection is required",
            bytes: [0x01, 0x03, 0x00, 0x0D, 0x10, 0x03, 0x03],
            configuration: configuration { $0.manInTheMiddleProtection = .required },
            reason: 0x03
        ),
        Request(
            name: "no MITM flag, where both have to set it",
            bytes: [0x01, 0x01, 0x00, 0x09, 0x10, 0x03, 0x03],
            configuration: configuration { $0.manInTheMiddleProtection = .requiredOfBoth },
            reason: 0x03
        ),
        Request(
            name: "out of band data that nobody gave away",
            bytes: [0x01, 0x01, 0x01, 0x0D, 0x10, 0x03, 0x03],
            configuration: .device(),
            reason: 0x02
        ),
        Request(
            name: "a passkey of LE legacy pairing, where protection is required",
            bytes: [0x01, 0x02, 0x00, 0x05, 0x10, 0x03, 0x03],
            configuration: configuration {
                $0.manInTheMiddleProtection = .required
                $0.pairingMethods = .secureConnectionsOrLegacy
            },
            reason: 0x03
        ),
    ]

    @Test("A Pairing Request that asks for too little is refused", arguments: requests)
    func request(_ sample: Request) {
        var pair = SecurityPair(central: .device(), peripheral: sample.configuration)
        pair.deliver(sample.bytes, from: .central)
        #expect(pair.reply(of: .peripheral) == [0x05, sample.reason])
        #expect(pair.events[.peripheral] == [.pairingFailed(0x40, .refused(.init(rawValue: sample.reason)))])
        #expect(pair.managers[.peripheral]?.nextDeadline == nil)
    }

    @Test("A device that asks for less accepts the same requests")
    func toleratedRequests() {
        for sample in Self.requests where sample.reason != 0x02 {
            var configuration = SecurityManager.Configuration.device(.displayYesNo)
            configuration.pairingMethods = .secureConnectionsOrLegacy
            configuration.minimumKeySize = .minimum
            var pair = SecurityPair(central: .device(), peripheral: configuration)
            pair.deliver(sample.bytes, from: .central)
            #expect(pair.reply(of: .peripheral)?.first == 0x02, "\(sample.name)")
        }
    }

    @Test("What a Pairing Response says is what this device can do (Vol 3, Part H, 3.5.2)")
    func response() throws {
        var configuration = SecurityManager.Configuration.device(.displayYesNo, mitm: .required)
        // No identity: the identity key cannot be given. No signature key, and no key for BR/EDR, whichever side asks.
        var pair = SecurityPair(peripheral: configuration)
        pair.deliver([0x01, 0x04, 0x00, 0xFD, 0x10, 0x0F, 0x0F], from: .central)
        #expect(pair.reply(of: .peripheral) == [0x02, 0x01, 0x00, 0x0D, 0x10, 0x03, 0x01])

        configuration.identity = LocalIdentity(
            address: .public(DeviceAddress(1)),
            identityResolvingKey: IdentityResolvingKey(2)
        )
        configuration.acceptedKeys = [.encryptionKey, .identityKey, .signatureKey, .linkKey]
        pair = SecurityPair(peripheral: configuration)
        pair.deliver([0x01, 0x04, 0x00, 0xFD, 0x10, 0x0F, 0x0F], from: .central)
        #expect(pair.reply(of: .peripheral) == [0x02, 0x01, 0x00, 0x0D, 0x10, 0x07, 0x03])

        // No keys for a peer that will not keep them.
        pair = SecurityPair(peripheral: configuration)
        pair.deliver([0x01, 0x04, 0x00, 0x0C, 0x10, 0x03, 0x03], from: .central)
        #expect(pair.reply(of: .peripheral) == [0x02, 0x01, 0x00, 0x0D, 0x10, 0x00, 0x00])
    }

    @Test("In a debugging session the debug key is accepted, and only then")
    func acceptedDebugKey() throws {
        for debugKeys in [SecurityManager.DebugKeys.refused, .accepted] {
            var configuration = SecurityManager.Configuration.device()
            configuration.debugKeys = debugKeys
            configuration.confirmsJustWorks = false
            var pair = SecurityPair(peripheral: configuration)
            pair.deliver(Self.goodRequest, from: .central)
            #expect(pair.reply(of: .peripheral)?.first == 0x02)
            pair.deliver(SecurityManagerTamperingTests.debugKey, from: .central)
            let reply = pair.reply(of: .peripheral)
            #expect(debugKeys == .refused ? reply == [0x05, 0x0A] : reply?.first == 0x0C)
        }
    }

    // MARK: Bonds that another device tries to replace

    @Test("A bond that was made with protection is not replaced by one without", arguments: [true, false])
    func downgrade(peerIsRecognised: Bool) throws {
        let phone = LEAddress.public(DeviceAddress(0x00AA_BBCC_DDEE))
        let bond = Bond(
            identity: phone,
            keys: .secureConnections(LongTermKey(0x1234)),
            isAuthenticated: true,
            peerIdentityResolvingKey: IdentityResolvingKey(0x77)
        )
        var pair = SecurityPair(
            // Claims to be the phone.
            central: .device(.noInputNoOutput, identity: phone, key: 0x99),
            peripheral: .device(.displayYesNo),
            bonds: [.peripheral: [bond]]
        )
        if peerIsRecognised {
            pair.addresses[.central] = phone
            pair.reconnect()
        }
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        let reason: PairingFailedReason = peerIsRecognised ? .authenticationRequirements : .keyRejected
        #expect(pair.failure(.peripheral) == .refused(reason))
        #expect(pair.managers[.peripheral]?.bonds == [bond])
        #expect(pair.bond(.peripheral) == nil)
    }

    @Test("A stray command after a pairing does not cost the bond")
    func strayAfterwards() throws {
        var pair = SecurityManagerOutcomeTests.justWorks.pair()
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        let bonds = pair.managers[.peripheral]?.bonds
        #expect(bonds?.count == 1)
        for code in UInt8(0x00)...0x0F where code != 0x01 {
            pair.deliver([code] + Array(repeating: 0x03, count: 16), from: .central)
        }
        pair.run()
        #expect(pair.managers[.peripheral]?.bonds == bonds)
        #expect(pair.security(.peripheral).isEncrypted)
        #expect(pair.failure(.peripheral) == nil)
    }
}

extension SecurityPair {
    /// The next command that a side wants to send, taken off its queue; nil if it has none.
    mutating func reply(of side: Side) -> [UInt8]? {
        var buffer: [UInt8] = []
        return managers[side]?.nextPDU(for: side.handle, into: &buffer) == true ? buffer : nil
    }

    /// On a new link, after the wait that a failure brings, a proper pairing works.
    mutating func expectPairingWorks() throws {
        intercept = { _, _, _ in .pass }
        user = { side, kind, pair in pair.agreeableAnswer(of: side, to: kind) }
        wait(.seconds(3))
        reconnect()
        try managers[.central]?.pair(Side.central.handle, at: now)
        run()
        #expect(summary(.central) != nil && summary(.peripheral) != nil, "\(events)")
    }
}
