import BluetoothCryptography
import BluetoothHCI
import ByteCoding
import SeededRandomness
import Testing

@testable import BluetoothHost

/// What bonds are used for: later links, after restarts, under new addresses; and what happens when two devices' bonds differ.
@Suite("Security Manager: bonds")
struct SecurityManagerBondTests {
    static let phone = LEAddress.public(DeviceAddress(0x00AA_BBCC_DDEE))
    static let phoneKey = IdentityResolvingKey(0xEC02_34A3_57C8_AD05_3410_10A6_0A39_7D9B)
    static let watch = LEAddress.random(DeviceAddress(0xC011_2233_4455))

    /// A phone that hides behind private addresses, and a watch.
    static func makePair(
        seed: UInt64 = 6,
        methods: SecurityManager.PairingMethods = .secureConnections,
        bonds: [Side: [Bond]] = [:],
        isPairable: Bool = true
    ) -> SecurityPair {
        var pair = SecurityPair(
            seed: seed,
            central: .device(.displayYesNo, methods: methods, identity: phone, key: phoneKey.value),
            peripheral: .device(.displayYesNo, methods: methods),
            bonds: bonds,
            isPairable: isPairable
        )
        pair.addresses = [.central: privateAddress(1), .peripheral: watch]
        pair.reconnect()
        return pair
    }

    static func privateAddress(_ random: UInt32) -> LEAddress {
        .random(DeviceAddress(resolvableBy: phoneKey, random: random, CryptoToolbox(.swiftCrypto)))
    }

    /// Pairs, and gives both sides' bonds.
    static func bonded(_ methods: SecurityManager.PairingMethods = .secureConnections) throws -> [Side: [Bond]] {
        var pair = makePair(seed: 5, methods: methods)
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        let central = try #require(pair.bond(.central))
        let peripheral = try #require(pair.bond(.peripheral))
        #expect(peripheral.identity == phone)
        #expect(peripheral.peerIdentityResolvingKey == phoneKey)
        #expect(central.identity == watch)
        return [.central: [central], .peripheral: [peripheral]]
    }

    // MARK: Memories that agree

    @Test(
        "After a restart of both, under a new address, the link is encrypted without a pairing",
        arguments: [SecurityManager.PairingMethods.secureConnections, .legacy]
    )
    func reconnection(methods: SecurityManager.PairingMethods) throws {
        let stored = try Self.bonded(methods).mapValues { try $0.map(restored) }
        var pair = Self.makePair(methods: methods, bonds: stored, isPairable: false)
        pair.addresses[.central] = Self.privateAddress(2)
        pair.reconnect()
        #expect(pair.managers[.peripheral]?.identity(on: Side.peripheral.handle) == Self.phone)
        // Bonded, not encrypted yet.
        #expect(pair.security(.peripheral) == LinkSecurity(isBonded: true))

        try pair.managers[.central]?.encrypt(Side.central.handle, at: pair.now)
        pair.run()
        for side in Side.allCases {
            #expect(
                pair.security(side)
                    == LinkSecurity(
                        isEncrypted: true,
                        isAuthenticated: methods == .secureConnections,
                        isBonded: true,
                        keySize: 16
                    )
            )
            #expect(pair.events[side] == [.securityChanged(side.handle, pair.security(side))])
        }
        #expect(pair.transcript.isEmpty)
    }

    @Test("A bond of LE Secure Connections works with the roles exchanged")
    func rolesChange() throws {
        let bonds = try Self.bonded()
        var pair = Self.makePair(bonds: [.central: bonds[.peripheral] ?? [], .peripheral: bonds[.central] ?? []])
        pair.addresses = [.central: Self.watch, .peripheral: Self.privateAddress(3)]
        pair.reconnect()
        try pair.managers[.central]?.encrypt(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.security(.peripheral).isEncrypted && pair.security(.central).isEncrypted)
    }

    @Test("A key of LE legacy pairing is found by EDIV and Rand, at any address")
    func foundByName() throws {
        var bonds = try Self.bonded(.legacy)
        for index in bonds[.peripheral, default: []].indices {
            bonds[.peripheral]?[index].peerIdentityResolvingKey = nil
        }
        var pair = Self.makePair(methods: .legacy, bonds: bonds)
        #expect(pair.managers[.peripheral]?.identity(on: Side.peripheral.handle) == nil)
        try pair.managers[.central]?.encrypt(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.security(.peripheral).isEncrypted && pair.security(.peripheral).isBonded)
        #expect(pair.managers[.peripheral]?.identity(on: Side.peripheral.handle) == Self.phone)
    }

    @Test("Only one encryption is pending at a time, so that the key of a link is always known")
    func oneEncryption() throws {
        var pair = Self.makePair(bonds: try Self.bonded())
        try pair.managers[.central]?.encrypt(Side.central.handle, at: pair.now)
        #expect(throws: SecurityRefusal.busy) {
            try pair.managers[.central]?.encrypt(Side.central.handle, at: pair.now)
        }
        #expect(throws: SecurityRefusal.busy) {
            try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        }
        pair.run()
        #expect(pair.security(.central).isAuthenticated && pair.security(.peripheral).isAuthenticated)
        // Not when the controller refused, either.
        try pair.managers[.central]?.encrypt(Side.central.handle, at: pair.now)
        while pair.managers[.central]?.nextAction() != nil {}
        pair.encryptionChanged(.commandDisallowed, isEncrypted: true, on: [.central])
        #expect(pair.security(.central).isAuthenticated)
        try pair.managers[.central]?.encrypt(Side.central.handle, at: pair.now)
    }

    @Test("A controller may resolve addresses itself")
    func resolvedByController() throws {
        let bonds = try Self.bonded()
        var manager = SecurityManager(
            configuration: .device(),
            bonds: bonds[.peripheral] ?? [],
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: 1, SplitMix64.draw)
        )
        manager.connectionOpened(
            1,
            role: .responder,
            ownAddress: Self.watch,
            peerAddress: .random(DeviceAddress(0x4000_0000_0001)),
            resolvedIdentity: LEAddress(type: .publicIdentity, address: Self.phone.address)
        )
        #expect(manager.identity(on: 1) == Self.phone)
    }

    // MARK: Memories that differ

    @Test("The watch forgot: the phone hears that the key is missing, and pairs again", arguments: [true, false])
    func watchForgot(legacy: Bool) throws {
        let methods: SecurityManager.PairingMethods = legacy ? .legacy : .secureConnections
        let bonds = try Self.bonded(methods)
        var pair = Self.makePair(methods: methods, bonds: [.central: bonds[.central] ?? []])
        try pair.managers[.central]?.encrypt(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.events[.central] == [.encryptionFailed(Side.central.handle, .pinOrKeyMissing)])
        #expect(!pair.security(.peripheral).isEncrypted)
        // The phone's bond is as it was: an attacker can deny having a key, too.
        #expect(pair.managers[.central]?.bonds == bonds[.central])

        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.summary(.central) != nil && pair.summary(.peripheral) != nil)
        #expect(pair.managers[.central]?.bonds.count == 1)
        #expect(pair.managers[.central]?.bonds != bonds[.central])
    }

    @Test("The phone forgot: it is refused, until unknown phones may pair and the user agrees")
    func phoneForgot() throws {
        let bonds = try Self.bonded()
        var pair = Self.makePair(bonds: [.peripheral: bonds[.peripheral] ?? []], isPairable: false)
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.failure(.peripheral) == .notPairable)
        #expect(pair.failure(.central) == .refusedByPeer(.pairingNotSupported))
        pair = Self.makePair(bonds: [.peripheral: bonds[.peripheral] ?? []])
        #expect(pair.security(.peripheral) == LinkSecurity(isBonded: true))
        #expect(throws: SecurityRefusal.noKey) {
            try pair.managers[.central]?.encrypt(Side.central.handle, at: pair.now)
        }

        pair.user = { side, kind, pair in side == .peripheral ? nil : pair.agreeableAnswer(of: side, to: kind) }
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        // Never silently.
        let prompt = try #require(pair.openPrompt(on: .peripheral))
        #expect(pair.managers[.peripheral]?.bonds == bonds[.peripheral])
        pair.managers[.peripheral]?.answer(prompt, with: .accept, at: pair.now)
        pair.run()
        #expect(pair.summary(.peripheral)?.bondedIdentity == Self.phone)
        #expect(pair.managers[.peripheral]?.bonds.count == 1)
        #expect(pair.managers[.peripheral]?.bonds != bonds[.peripheral])
    }

    @Test("A device with another key loses the link")
    func differentKeys() throws {
        var bonds = try Self.bonded()
        bonds[.peripheral]?[0].keys = .secureConnections(LongTermKey(1))
        var pair = Self.makePair(bonds: bonds)
        try pair.managers[.central]?.encrypt(Side.central.handle, at: pair.now)
        pair.run()
        #expect(!pair.isConnected)
        #expect(pair.managers[.peripheral]?.security(of: Side.peripheral.handle) == nil)
    }

    @Test("Keys are refused for a wrong EDIV or Rand, the wrong role, and unknown links")
    func refusedKeys() throws {
        let bonds = try Self.bonded()
        let other = LongTermKeyName(encryptedDiversifier: 1, randomNumber: 2)
        var pair = Self.makePair(bonds: bonds)
        pair.managers[.peripheral]?.longTermKeyRequested(on: Side.peripheral.handle, name: other)
        #expect(pair.managers[.peripheral]?.nextAction() == .rejectLongTermKeyRequest(Side.peripheral.handle))
        pair.managers[.peripheral]?.longTermKeyRequested(on: 0x0777, name: .none)
        #expect(pair.managers[.peripheral]?.nextAction() == .rejectLongTermKeyRequest(0x0777))
        pair.managers[.central]?.longTermKeyRequested(on: Side.central.handle, name: .none)
        #expect(pair.managers[.central]?.nextAction() == .rejectLongTermKeyRequest(Side.central.handle))
        #expect(throws: SecurityRefusal.unknownConnection) {
            try pair.managers[.central]?.encrypt(0x0777, at: pair.now)
        }
        #expect(throws: SecurityRefusal.wrongRole) {
            try pair.managers[.peripheral]?.encrypt(Side.peripheral.handle, at: pair.now)
        }
    }

    @Test("Keys that are weaker than the policy demands of a new pairing are not used")
    func insufficientKeys() throws {
        let bond = Bond(
            identity: Self.phone,
            keys: .secureConnections(LongTermKey(1)),
            keySize: try #require(EncryptionKeySize(octets: 7)),
            isAuthenticated: false,
            peerIdentityResolvingKey: Self.phoneKey
        )
        var legacy = bond
        legacy.keys = .legacy(own: LegacyLongTermKey(key: LongTermKey(2), name: .none), peer: nil)
        legacy.keySize = .maximum
        var unauthenticated = bond
        unauthenticated.keySize = .maximum
        for (bond, protection) in [
            (bond, SecurityManager.ManInTheMiddleProtection.notRequested), (legacy, .notRequested),
            (unauthenticated, .required),
        ] {
            var manager = SecurityManager(
                configuration: .device(mitm: protection),
                bonds: [bond],
                cryptography: .swiftCrypto,
                randomness: RandomSource(state: 1, SplitMix64.draw)
            )
            manager.connectionOpened(1, role: .responder, ownAddress: Self.watch, peerAddress: Self.phone)
            #expect(manager.security(of: 1)?.isBonded == false)
            manager.longTermKeyRequested(on: 1, name: .none)
            #expect(manager.nextAction() == .rejectLongTermKeyRequest(1))
        }
        var manager = SecurityManager(
            configuration: .device(),
            bonds: [unauthenticated],
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: 1, SplitMix64.draw)
        )
        manager.connectionOpened(1, role: .responder, ownAddress: Self.watch, peerAddress: Self.phone)
        manager.longTermKeyRequested(on: 1, name: .none)
        #expect(manager.nextAction() == .replyLongTermKey(1, LongTermKey(1)))
    }

    // MARK: The store

    @Test("A link is bonded when the bond is stored, and not before")
    func storedFirst() throws {
        var pair = Self.makePair()
        pair.stores = false
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        let bond = try #require(pair.bond(.peripheral))
        #expect(pair.security(.peripheral).isEncrypted && !pair.security(.peripheral).isBonded)
        pair.managers[.peripheral]?.bondStored(bond.identity)
        let security = pair.security(.peripheral)
        #expect(security.isEncrypted && security.isBonded)
        #expect(pair.managers[.peripheral]?.nextEvent() == .securityChanged(Side.peripheral.handle, security))
        pair.managers[.peripheral]?.bondStored(bond.identity)
        #expect(pair.managers[.peripheral]?.nextEvent() == nil)
        // A name that no bond has is not stored.
        pair.managers[.peripheral]?.bondStored(.public(DeviceAddress(1)))
        #expect(pair.managers[.peripheral]?.bonds.count == 1)
    }

    @Test("A bond that could not be stored still works until the restart")
    func notStored() throws {
        var pair = Self.makePair()
        pair.stores = false
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        pair.reconnect()
        try pair.managers[.central]?.encrypt(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.security(.peripheral).isEncrypted && !pair.security(.peripheral).isBonded)
    }

    @Test("A deleted bond is gone at once, and its link stays as it is")
    func deletion() throws {
        var pair = Self.makePair(bonds: try Self.bonded())
        try pair.managers[.central]?.encrypt(Side.central.handle, at: pair.now)
        pair.run()
        pair.managers[.peripheral]?.deleteBond(Self.phone)
        #expect(pair.security(.peripheral).isEncrypted && !pair.security(.peripheral).isBonded)
        #expect(pair.managers[.peripheral]?.bonds.isEmpty == true)
        #expect(pair.managers[.peripheral]?.identity(of: Self.privateAddress(9)) == nil)
        pair.reconnect()
        #expect(pair.security(.peripheral) == .none)
        try pair.managers[.central]?.encrypt(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.events[.central] == [.encryptionFailed(Side.central.handle, .pinOrKeyMissing)])
    }

    @Test("Bonds survive their stored form, whole")
    func storedForm() throws {
        let key = LegacyLongTermKey(
            key: LongTermKey(0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10),
            name: LongTermKeyName(encryptedDiversifier: 0x1234, randomNumber: 0x1122_3344_5566_7788)
        )
        let other = LegacyLongTermKey(key: LongTermKey(.max), name: .none)
        let bonds = [
            Bond(identity: Self.phone, keys: .secureConnections(key.key), isAuthenticated: true),
            Bond(
                identity: Self.watch,
                keys: .legacy(own: key, peer: other),
                keySize: .minimum,
                isAuthenticated: false,
                peerIdentityResolvingKey: Self.phoneKey,
                peerSignatureKey: ConnectionSignatureResolvingKey(77),
                distributedKeys: [.encryptionKey, .identityKey],
                metadata: Bond.Metadata(name: "Käthes Telefon 📱", flags: Bond.OwnerFlags(rawValue: 0xDEAD_BEEF))
            ),
            Bond(identity: Self.phone, keys: .legacy(own: nil, peer: key), isAuthenticated: true),
            Bond(identity: Self.phone, keys: .legacy(own: nil, peer: nil), isAuthenticated: true),
        ]
        for bond in bonds { #expect(try restored(bond) == bond) }

        // The first one, byte by byte.
        var bytes: [UInt8] = []
        bonds[0].encode(to: &bytes)
        #expect(
            bytes.hexadecimal == "01" + "00" + "eeddccbbaa00" + "03" + "10" + "00" + "00000000"
                + "100f0e0d0c0b0a090807060504030201" + "00"
        )
        // A shortened form is no bond, and neither is one of a later version.
        for bond in bonds {
            var bytes: [UInt8] = []
            bond.encode(to: &bytes)
            for length in bytes.indices {
                var reader = ByteReader(bytes[..<length])
                #expect(throws: ByteDecodingError.self) { try Bond(reading: &reader) }
            }
            bytes[0] = 2
            var reader = ByteReader(bytes)
            #expect(throws: ByteDecodingError.self) { try Bond(reading: &reader) }
        }
    }

    @Test("A name that is too long to store is cut between characters")
    func longNames() throws {
        let name = String(repeating: "ü", count: 200)
        let bond = Bond(
            identity: Self.phone,
            keys: .secureConnections(LongTermKey(1)),
            isAuthenticated: true,
            metadata: Bond.Metadata(name: name)
        )
        #expect(try restored(bond).metadata.name == String(repeating: "ü", count: 124))
    }

    @Test("Nothing prints a bond's secrets")
    func redaction() throws {
        let secret: UInt128 = 0xDEAD_BEEF_DEAD_BEEF_DEAD_BEEF_DEAD_BEEF
        let bond = Bond(
            identity: Self.phone,
            keys: .legacy(
                own: LegacyLongTermKey(key: LongTermKey(secret), name: .none),
                peer: LegacyLongTermKey(key: LongTermKey(secret), name: .none)
            ),
            isAuthenticated: true,
            peerIdentityResolvingKey: IdentityResolvingKey(secret),
            peerSignatureKey: ConnectionSignatureResolvingKey(secret)
        )
        let passkey = try #require(Passkey(314_159))
        let prompt = PairingPrompt(id: .init(connection: 1, serial: 1), kind: .displayPasskey(passkey))
        var configuration = SecurityManager.Configuration.device()
        configuration.identity = LocalIdentity(
            address: Self.watch,
            identityResolvingKey: IdentityResolvingKey(secret)
        )
        let values: [Any] = [
            bond, SecurityEvent.bonded(1, bond), SecurityEvent.prompt(prompt), PairingAnswer.passkey(passkey),
            SecurityAction.enableEncryption(1, .none, LongTermKey(secret)),
            SecurityAction.replyLongTermKey(1, LongTermKey(secret)),
            PeerOutOfBandData(secureConnections: OutOfBandData(confirm: secret, random: secret)),
            configuration, SMPPDU.encryptionInformation(LongTermKey(secret)),
            SecurityManager(
                configuration: configuration,
                bonds: [bond],
                cryptography: .swiftCrypto,
                randomness: RandomSource(state: 1, SplitMix64.draw)
            ),
        ]
        for value in values {
            var dumped = ""
            dump(value, to: &dumped)
            for text in ["\(value)", String(reflecting: value), dumped] {
                #expect(!text.contains("\(secret)") && !text.contains("314159"), "\(type(of: value))")
                #expect(!text.lowercased().contains("deadbeef"), "\(type(of: value))")
            }
        }
        #expect(passkey.digits == "314159")
        #expect(Passkey(7)?.digits == "000007")
        #expect(Passkey(digits: "000007") == Passkey(7))
        #expect(Passkey(1_000_000) == nil && Passkey(digits: "1234567") == nil && Passkey(digits: "-12345") == nil)
        #expect(Passkey(digits: "") == nil && Passkey(digits: "١٢٣") == nil)
    }

    // MARK: Security Request

    @Test("A central that has the key answers a Security Request by encrypting")
    func securityRequestWithKey() throws {
        var pair = Self.makePair(bonds: try Self.bonded())
        try pair.managers[.peripheral]?.sendSecurityRequest(Side.peripheral.handle, at: pair.now)
        #expect(throws: SecurityRefusal.busy) {
            try pair.managers[.peripheral]?.sendSecurityRequest(Side.peripheral.handle, at: pair.now)
        }
        pair.run()
        #expect(pair.codes(from: .peripheral) == [0x0B])
        #expect(pair.transcript.first?.bytes == [0x0B, 0x0D])
        #expect(pair.codes(from: .central).isEmpty)
        #expect(pair.security(.central).isEncrypted && pair.security(.peripheral).isEncrypted)
        #expect(pair.managers.values.allSatisfy { $0.nextDeadline == nil })
        // Forced once more on the encrypted link, the key is renewed.
        try pair.managers[.peripheral]?.sendSecurityRequest(Side.peripheral.handle, at: pair.now)
        pair.run()
        #expect(pair.managers.values.allSatisfy { $0.nextDeadline == nil })
        #expect(pair.failure(.peripheral) == nil)
    }

    @Test("A central without a key, or with one that is too weak, leaves it to its owner", arguments: [true, false])
    func securityRequestWithoutKey(hasWeakKey: Bool) throws {
        var bonds: [Side: [Bond]] = [:]
        if hasWeakKey {
            bonds[.central] = [
                Bond(identity: Self.watch, keys: .secureConnections(LongTermKey(1)), isAuthenticated: false)
            ]
        }
        var pair = Self.makePair(bonds: bonds)
        try pair.managers[.peripheral]?.sendSecurityRequest(Side.peripheral.handle, at: pair.now)
        pair.run()
        let requirements: AuthenticationRequirements = [.bonding, .mitm, .secureConnections]
        #expect(pair.events[.central] == [.securityRequested(Side.central.handle, requirements)])
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.summary(.peripheral) != nil && pair.summary(.central)?.isAuthenticated == true)
    }

    @Test("A Security Request and a Pairing Request that cross start one pairing")
    func crossing() throws {
        var pair = Self.makePair()
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        try pair.managers[.peripheral]?.sendSecurityRequest(Side.peripheral.handle, at: pair.now)
        pair.run()
        #expect(pair.codes(from: .central).filter { $0 == 0x01 }.count == 1)
        #expect(pair.summary(.central) != nil && pair.summary(.peripheral) != nil)
        #expect(pair.failure(.central) == nil && pair.failure(.peripheral) == nil)
    }

    @Test("A Security Request can be rejected, or go unanswered for 30 seconds")
    func securityRequestFails() throws {
        var pair = Self.makePair()
        try pair.managers[.peripheral]?.sendSecurityRequest(Side.peripheral.handle, at: pair.now)
        pair.run()
        pair.managers[.central]?.rejectSecurityRequest(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.failure(.peripheral) == .refusedByPeer(.pairingNotSupported))
        #expect(pair.managers.values.allSatisfy { $0.nextDeadline == nil })

        // No pairing was begun, so there is nothing to wait for.
        try pair.managers[.peripheral]?.sendSecurityRequest(Side.peripheral.handle, at: pair.now)
        pair.run()
        pair.wait(.seconds(31))
        #expect(pair.events[.peripheral]?.last == .pairingFailed(Side.peripheral.handle, .timedOut))
        #expect(pair.events[.central]?.last == .pairingFailed(Side.central.handle, .timedOut))
    }

    @Test("A device that is not pairable neither sends unknown peers a Security Request nor pairs")
    func notPairable() throws {
        var pair = Self.makePair(isPairable: false)
        #expect(throws: SecurityRefusal.notPairable) {
            try pair.managers[.peripheral]?.sendSecurityRequest(Side.peripheral.handle, at: pair.now)
        }
        pair = Self.makePair()
        pair.managers[.central]?.isPairable = false
        try pair.managers[.peripheral]?.sendSecurityRequest(Side.peripheral.handle, at: pair.now)
        pair.run()
        #expect(pair.failure(.peripheral) == .refusedByPeer(.pairingNotSupported))
    }

    // MARK: Helpers

    /// The bond after a restart.
    private func restored(_ bond: Bond) throws -> Bond {
        var bytes: [UInt8] = []
        bond.encode(to: &bytes)
        var reader = ByteReader(bytes)
        let result = try Bond(reading: &reader)
        try reader.expectEnd("bond")
        return result
    }
}
