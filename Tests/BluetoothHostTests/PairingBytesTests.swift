import BluetoothCryptography
import BluetoothHCI
import ByteCoding
import SeededRandomness
import Testing

@testable import BluetoothHost

/// Pairings whose other side is written by hand, from the Core: who computes which value from what, in which order.
/// Two of our own devices would agree on a wrong order, too.
@Suite("Security Manager: a pairing partner by hand") struct PairingBytesTests {
    private static let toolbox = CryptoToolbox(.swiftCrypto)
    private static let initiator = LEAddress.random(DeviceAddress(0xC111_2233_4455))
    private static let responder = LEAddress.public(DeviceAddress(0x001A_7DDA_7113))
    /// The partner's nonce and its secret for out of band.
    private static let nonce: UInt128 = 0x0123_4567_89AB_CDEF_0011_2233_4455_6677
    private static let outOfBandRandom: UInt128 = 0x0F0E_0D0C_0B0A_0908_0706_0504_0302_0100

    /// One manager, and the partner's pair of keys.
    private struct Rig {
        var manager: SecurityManager
        let keys: P256KeyPair
        let handle: ConnectionHandle = 0x0040
        var events: [SecurityEvent] = []
        /// The key that the manager wants the link to be encrypted with.
        var linkKey: LongTermKey?

        init(as role: PairingRole, io: IOCapability = .noInputNoOutput) throws {
            manager = SecurityManager(
                configuration: .device(io),
                bonds: [],
                isPairable: true,
                cryptography: .swiftCrypto,
                randomness: RandomSource(state: 7, SplitMix64.draw)
            )
            keys = try #require(P256KeyPair(privateKey: UInt256(high: 0x1234, low: 0x5678), toolbox))
            let own = role == .responder ? responder : initiator
            let peer = role == .responder ? initiator : responder
            manager.connectionOpened(handle, role: role, ownAddress: own, peerAddress: peer)
        }

        mutating func receive(_ bytes: [UInt8]) { manager.receive(bytes[...], on: handle, at: .zero) }

        /// What the manager says next; a prompt is answered first.
        mutating func sent() throws -> [UInt8] {
            while let event = manager.nextEvent() {
                events.append(event)
                if case .prompt(let prompt) = event { manager.answer(prompt.id, with: .accept, at: .zero) }
            }
            var buffer: [UInt8] = []
            let isThere = manager.nextPDU(for: handle, into: &buffer)
            try #require(isThere, "\(events)")
            return buffer
        }

        var publicKey: [UInt8] {
            var pdu: [UInt8] = [0x0C]
            for coordinate in [keys.publicKey.x, keys.publicKey.y] {
                var octets: [UInt8] = []
                coordinate.appendBigEndian(to: &octets)
                pdu += octets.reversed()
            }
            return pdu
        }
    }

    private static func point(_ pdu: [UInt8]) throws -> P256PublicKey {
        try #require(pdu.count == 65 && pdu[0] == 0x0C)
        func coordinate(_ octets: ArraySlice<UInt8>) -> UInt256 {
            UInt256(high: number(octets.dropFirst(16)), low: number(octets.prefix(16)))
        }
        return P256PublicKey(x: coordinate(pdu[1..<33]), y: coordinate(pdu[33...]))
    }

    private static func number(_ octets: ArraySlice<UInt8>) -> UInt128 {
        octets.reversed().reduce(0) { $0 << 8 | UInt128($1) }
    }

    private static func command(_ code: UInt8, _ value: UInt128) -> [UInt8] {
        var pdu = [code]
        pdu.appendLittleEndian(value)
        return pdu
    }

    /// The octets of IO capability, OOB flag and AuthReq, the last one in front, as f6 takes them
    /// (Core 5.4, Vol 3, Part H, 2.2.8).
    private static func features(_ pdu: [UInt8]) -> UInt32 {
        UInt32(pdu[3]) << 16 | UInt32(pdu[2]) << 8 | UInt32(pdu[1])
    }

    @Test("As a responder: Just Works and Out of Band, with the values of the Core", arguments: [false, true])
    func responder(isOutOfBand: Bool) throws {
        let toolbox = Self.toolbox
        var rig = try Rig(as: .responder)
        var own: OutOfBandData?
        if isOutOfBand {
            own = rig.manager.makeOutOfBandData()
            try #require(own != nil)
            let confirm = try toolbox.f4(rig.keys.publicKey.x, rig.keys.publicKey.x, Self.outOfBandRandom, 0)
            let data = PeerOutOfBandData(
                secureConnections: OutOfBandData(confirm: confirm, random: Self.outOfBandRandom)
            )
            rig.manager.setOutOfBandData(data, of: Self.initiator)
        }
        // No input, no output; bonding and Secure Connections; no keys are distributed.
        let request: [UInt8] = [0x01, 0x03, isOutOfBand ? 1 : 0, 0x09, 0x10, 0x00, 0x00]
        rig.receive(request)
        let response = try rig.sent()
        #expect(response[0] == 0x02 && response[2] == (isOutOfBand ? 1 : 0))
        rig.receive(rig.publicKey)
        let peerKey = try Self.point(try rig.sent())
        let shared = try #require(rig.keys.sharedKey(with: peerKey, toolbox))
        let nonce: UInt128
        if isOutOfBand {
            rig.receive(Self.command(0x04, Self.nonce))
            let random = try rig.sent()
            nonce = Self.number(random.dropFirst())
        } else {
            let confirm = try rig.sent()
            #expect(confirm[0] == 0x03)
            rig.receive(Self.command(0x04, Self.nonce))
            let random = try rig.sent()
            nonce = Self.number(random.dropFirst())
            let expected = try toolbox.f4(peerKey.x, rig.keys.publicKey.x, nonce, 0)
            #expect(Self.number(confirm.dropFirst()) == expected)
        }
        let derived = try toolbox.f5(shared, Self.nonce, nonce, initiator: Self.initiator, responder: Self.responder)
        let ownCheck = try toolbox.f6(
            derived.macKey,
            Self.nonce,
            nonce,
            own?.random ?? 0,
            features: Self.features(request),
            sender: Self.initiator,
            receiver: Self.responder
        )
        rig.receive(Self.command(0x0D, ownCheck))
        let check = try rig.sent()
        let expected = try toolbox.f6(
            derived.macKey,
            nonce,
            Self.nonce,
            isOutOfBand ? Self.outOfBandRandom : 0,
            features: Self.features(response),
            sender: Self.responder,
            receiver: Self.initiator
        )
        #expect(check == Self.command(0x0D, expected))
        rig.manager.longTermKeyRequested(on: rig.handle, name: .none)
        guard case .replyLongTermKey(_, let key) = rig.manager.nextAction() else {
            Issue.record("no key for the link")
            return
        }
        #expect(key == derived.longTermKey)
    }

    @Test("As an initiator: Just Works, with the values of the Core")
    func initiator() throws {
        let toolbox = Self.toolbox
        var rig = try Rig(as: .initiator)
        try rig.manager.pair(rig.handle, at: .zero)
        let request = try rig.sent()
        #expect(request[0] == 0x01)
        let response: [UInt8] = [0x02, 0x03, 0x00, 0x09, 0x10, 0x00, 0x00]
        rig.receive(response)
        let peerKey = try Self.point(try rig.sent())
        rig.receive(rig.publicKey)
        let shared = try #require(rig.keys.sharedKey(with: peerKey, toolbox))
        rig.receive(Self.command(0x03, try toolbox.f4(rig.keys.publicKey.x, peerKey.x, Self.nonce, 0)))
        let random = try rig.sent()
        #expect(random[0] == 0x04)
        let nonce = Self.number(random.dropFirst())
        rig.receive(Self.command(0x04, Self.nonce))
        let derived = try toolbox.f5(shared, nonce, Self.nonce, initiator: Self.initiator, responder: Self.responder)
        let expected = try toolbox.f6(
            derived.macKey,
            nonce,
            Self.nonce,
            0,
            features: Self.features(request),
            sender: Self.initiator,
            receiver: Self.responder
        )
        #expect(try rig.sent() == Self.command(0x0D, expected))
        let check = try toolbox.f6(
            derived.macKey,
            Self.nonce,
            nonce,
            0,
            features: Self.features(response),
            sender: Self.responder,
            receiver: Self.initiator
        )
        rig.receive(Self.command(0x0D, check))
        guard case .enableEncryption(_, _, let key) = rig.manager.nextAction() else {
            Issue.record("the link is not encrypted")
            return
        }
        #expect(key == derived.longTermKey)
    }

    // MARK: Blocks of out of band data

    private static let addressPart = "08 1b 554433 2211c0"
    private static let confirmPart = "11 22 00112233445566778899aabbccddeeff"
    private static let randomPart = "11 23 ffeeddccbbaa99887766554433221100"
    private static let keyPart = "11 10 0f0e0d0c0b0a09080706050403020100"

    /// Core Specification Supplement 11, Part A, 1.6, 1.8, 1.16 and 1.17.
    @Test("A block of out of band data has the structures of the Core", arguments: [(UInt8(0), "00"), (1, "01")])
    func block(type: UInt8, _ octet: String) throws {
        let address = DeviceAddress(0xC011_2233_4455)
        let block = OutOfBandBlock(
            device: type == 0 ? .public(address) : .random(address),
            data: PeerOutOfBandData(
                secureConnections: OutOfBandData(
                    confirm: 0xFFEE_DDCC_BBAA_9988_7766_5544_3322_1100,
                    random: 0x0011_2233_4455_6677_8899_AABB_CCDD_EEFF
                ),
                temporaryKey: TemporaryKey(0x0001_0203_0405_0607_0809_0A0B_0C0D_0E0F)
            )
        )
        let bytes = hex("\(Self.addressPart)\(octet) 02 1c 00 \(Self.confirmPart) \(Self.randomPart) \(Self.keyPart)")
        #expect(block.bytes == bytes)
        #expect(try OutOfBandBlock(parsing: bytes[...]) == block)
    }

    @Test("Of the octet beside the address, the lowest bit alone says whether it is random")
    func addressType() throws {
        for octet in UInt8.min...UInt8.max {
            let bytes = hex(Self.addressPart) + [octet] + hex(Self.keyPart)
            let type = try OutOfBandBlock(parsing: bytes[...]).device.type
            #expect(type == (octet & 1 == 0 ? .public : .random))
        }
    }

    @Test("Each kind of secret is enough, and a block without one, or without an address, says what it lacks")
    func incompleteBlocks() throws {
        let secure = try OutOfBandBlock(
            parsing: hex("\(Self.addressPart)01 \(Self.confirmPart) \(Self.randomPart)")[...]
        )
        #expect(secure.data.secureConnections != nil && secure.data.temporaryKey == nil)
        let legacy = try OutOfBandBlock(parsing: hex("\(Self.addressPart)01 \(Self.keyPart)")[...])
        #expect(legacy.data.secureConnections == nil && legacy.data.temporaryKey != nil)
        for (text, field, needed) in [
            ("\(Self.confirmPart) \(Self.randomPart)", "oob.address", 7), ("\(Self.addressPart)01", "oob.confirm", 16),
            ("\(Self.addressPart)01 \(Self.confirmPart)", "oob.random", 16),
            ("\(Self.addressPart)01 \(Self.randomPart)", "oob.confirm", 16),
        ] {
            let error = #expect(throws: ByteDecodingError.self) { try OutOfBandBlock(parsing: hex(text)[...]) }
            #expect(error == ByteDecodingError(field, .truncated(needed: needed, available: 0)))
        }
    }

    @Test("LE legacy pairing that distributes no key leaves no bond")
    func legacyWithoutKeys() throws {
        var pair = SecurityPair(central: .device(methods: .legacy), peripheral: .device(methods: .legacy))
        // Nothing is distributed, by a request and a response that were changed on their way.
        pair.intercept = { _, bytes, _ in
            guard [0x01, 0x02].contains(bytes.first) else { return .pass }
            return .replace([bytes.prefix(5) + [0, 0]])
        }
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.bond(.central) == nil && pair.bond(.peripheral) == nil)
    }

    @Test("When a bond is removed, what it proved of a link counts no more")
    func removedBond() throws {
        var pair = SecurityPair(
            central: .device(identity: Self.initiator, key: 1),
            peripheral: .device(identity: Self.responder, key: 2)
        )
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
        #expect(pair.security(.peripheral).isBonded && pair.security(.peripheral).keySize == 16)
        let identity = try #require(pair.bond(.peripheral)?.identity)
        pair.managers[.peripheral]?.deleteBond(identity)
        pair.drain()
        #expect(!pair.security(.peripheral).isBonded)
        #expect(pair.managers[.peripheral]?.provenIdentity(on: Side.peripheral.handle) == nil)
        pair.encryptionChanged(.success, isEncrypted: false, on: [.peripheral])
        #expect(pair.security(.peripheral) == LinkSecurity.none)
    }

    @Test("What was exchanged out of band is kept until a pairing has used it")
    func unusedSecrets() throws {
        let both = SecurityManager.PairingMethods.secureConnectionsOrLegacy
        for isUsed in [false, true] {
            // A temporary key is of use to LE legacy pairing alone, and if both have it.
            let methods = isUsed ? SecurityManager.PairingMethods.legacy : both
            var pair = SecurityPair(central: .device(methods: methods), peripheral: .device(methods: methods))
            for side in isUsed ? Side.allCases : [.peripheral] {
                let peer = try #require(pair.addresses[side.other])
                let data = PeerOutOfBandData(temporaryKey: TemporaryKey(5))
                pair.managers[side]?.setOutOfBandData(data, of: peer)
            }
            try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
            pair.run()
            #expect(pair.summary(.peripheral)?.model == (isUsed ? .outOfBand : .justWorks))
            let peer = try #require(pair.addresses[.central])
            let isKept = pair.managers[.peripheral]?.outOfBand.knows(peer, secureConnections: false)
            #expect(isKept == !isUsed)
        }
    }

    @Test("A link that does not exist pairs with nobody")
    func noLink() {
        let pair = SecurityPair()
        #expect(pair.managers[.central]?.isPairing(0x0123) == false)
    }
}
