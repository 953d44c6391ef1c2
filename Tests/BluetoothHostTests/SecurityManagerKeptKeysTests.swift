import BluetoothCryptography
import BluetoothHCI
import ByteCoding
import Testing

@testable import BluetoothHost

/// Phase 3 of a pairing, and what is kept after it. Core 5.4, Vol 3, Part H, 2.4.3 and 3.6.
@Suite("Security Manager: keys that are given and kept")
struct SecurityManagerKeptKeysTests {
    static let phone = LEAddress.public(DeviceAddress(0x00AA_BBCC_DDEE))
    static let watch = LEAddress.random(DeviceAddress(0xC011_2233_4455))
    /// 0102…0f10 as sent: least significant octet first.
    static let sentKey = "100f0e0d0c0b0a090807060504030201"

    /// Two devices that pair without anybody's help.
    private static func pair(
        central: SecurityManager.Configuration = .device(),
        peripheral: SecurityManager.Configuration = .device(),
        bonds: [Side: [Bond]] = [:]
    ) -> SecurityPair {
        SecurityPair(central: central, peripheral: peripheral, bonds: bonds)
    }

    private static func start(_ pair: inout SecurityPair) throws {
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        pair.run()
    }

    // MARK: Keys of the peer

    @Test("A signature key that was asked for is waited for, and kept in the bond")
    func signatureKey() throws {
        var configuration = SecurityManager.Configuration.device()
        configuration.acceptedKeys.insert(.signatureKey)
        var pair = Self.pair(peripheral: configuration)
        // The central offers SignKey (bit 2 of the initiator's keys), which this host itself never does.
        var answered: UInt8?
        pair.intercept = { _, bytes, _ in
            var bytes = bytes
            if bytes[0] == 0x01 { bytes[5] |= 0x04 }
            if bytes[0] == 0x02 {
                answered = bytes[5]
                bytes[5] &= ~0x04
            }
            return .replace([bytes])
        }
        try Self.start(&pair)
        #expect(answered == 0x05)
        #expect(pair.security(.peripheral).isEncrypted)
        #expect(pair.summary(.peripheral) == nil && pair.bond(.peripheral) == nil, "the key is still to come")
        pair.deliver(hex("0a \(Self.sentKey)"), from: .central)
        #expect(pair.summary(.peripheral)?.isAcknowledged == true)
        let bond = try #require(pair.bond(.peripheral))
        #expect(bond.peerSignatureKey?.value == 0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10)
        #expect(bond.peerIdentityResolvingKey == nil)
    }

    @Test("Instead of the signature key, another key is refused, and nothing is kept")
    func notTheSignatureKey() throws {
        var configuration = SecurityManager.Configuration.device()
        configuration.acceptedKeys.insert(.signatureKey)
        var pair = Self.pair(peripheral: configuration)
        pair.intercept = { _, bytes, _ in
            var bytes = bytes
            if bytes[0] == 0x01 { bytes[5] |= 0x04 }
            if bytes[0] == 0x02 { bytes[5] &= ~0x04 }
            return .replace([bytes])
        }
        try Self.start(&pair)
        pair.deliver(hex("08 \(Self.sentKey)"), from: .central)
        pair.run()
        #expect(pair.failure(.peripheral) == .refused(PairingFailedReason(rawValue: 0x08)))
        #expect(pair.transcript.last?.sender == .peripheral && pair.transcript.last?.bytes == [0x05, 0x08])
        #expect(pair.bond(.peripheral) == nil && pair.managers[.peripheral]?.bonds.isEmpty == true)
    }

    @Test("A long term key with more octets than were agreed on is refused")
    func keyThatIsTooLong() throws {
        var configuration = SecurityManager.Configuration.device(methods: .legacy)
        configuration.minimumKeySize = .minimum
        configuration.maximumKeySize = .minimum
        var pair = Self.pair(central: configuration, peripheral: configuration)
        var sent: [UInt8] = []
        pair.intercept = { _, bytes, _ in
            guard bytes[0] == 0x06 else { return .pass }
            sent = bytes
            // An eighth octet.
            return .replace([Array(bytes[..<8]) + [0x01] + Array(bytes[9...])])
        }
        try Self.start(&pair)
        #expect(sent.count == 17 && sent[8...].allSatisfy { $0 == 0 } && sent[1..<8].contains { $0 != 0 })
        #expect(pair.failure(.central) == .refused(PairingFailedReason(rawValue: 0x0A)))
        #expect(pair.transcript.contains { $0.sender == .central && $0.bytes == [0x05, 0x0A] })
        #expect(pair.bond(.central) == nil)
    }

    // MARK: The end of a pairing

    @Test("A link that loses its encryption while keys are given has failed to pair", arguments: Side.allCases)
    func encryptionLost(side: Side) throws {
        let identity = SecurityManager.Configuration.device(identity: Self.phone, key: 7)
        var pair = Self.pair(central: identity, peripheral: identity)
        // The keys of the other side get lost, so that this one waits.
        pair.intercept = { sender, bytes, _ in
            sender != side && (bytes[0] == 0x08 || bytes[0] == 0x09) ? .drop : .pass
        }
        try Self.start(&pair)
        #expect(pair.security(side).isEncrypted && pair.summary(side) == nil && pair.failure(side) == nil)
        pair.encryptionChanged(.success, isEncrypted: false, on: [side])
        pair.run()
        #expect(pair.failure(side) == .refused(PairingFailedReason(rawValue: 0x08)))
        #expect(pair.transcript.last?.sender == side && pair.transcript.last?.bytes == [0x05, 0x08])
        #expect(pair.security(side) == .none)
        #expect(pair.managers[side]?.bonds.isEmpty == true && pair.managers[side]?.nextDeadline == nil)
    }

    @Test("Protection that is required is not there if no person has compared the numbers", arguments: Side.allCases)
    func comparedByNobody(side: Side) throws {
        let configuration = SecurityManager.Configuration.device(.displayYesNo, mitm: .required)
        var pair = Self.pair(central: configuration, peripheral: configuration)
        pair.user = { asked, kind, _ in
            guard case .numericComparison = kind else { return nil }
            return asked == side ? .acceptUnseen : .accept
        }
        try Self.start(&pair)
        #expect(pair.failure(side) == .refused(PairingFailedReason(rawValue: 0x03)))
        #expect(pair.transcript.contains { $0.sender == side && $0.bytes == [0x05, 0x03] })
        #expect(pair.failure(side.other) == .refusedByPeer(PairingFailedReason(rawValue: 0x03)))
        #expect(Side.allCases.allSatisfy { pair.bond($0) == nil && pair.security($0) == .none })
    }

    @Test("A central that has no room for the bond says so when the link is encrypted, and keeps what it has")
    func noRoomAtTheCentral() throws {
        var configuration = SecurityManager.Configuration.device()
        configuration.maximumBondCount = 1
        let stranger = Bond(
            identity: .public(DeviceAddress(9)),
            keys: .secureConnections(LongTermKey(9)),
            isAuthenticated: false
        )
        var pair = Self.pair(central: configuration, bonds: [.central: [stranger]])
        try Self.start(&pair)
        #expect(pair.failure(.central) == .refused(PairingFailedReason(rawValue: 0x0F)))
        #expect(pair.transcript.last?.sender == .central && pair.transcript.last?.bytes == [0x05, 0x0F])
        #expect(pair.summary(.central) == nil && pair.bond(.central) == nil)
        #expect(pair.managers[.central]?.bonds == [stranger])
    }

    @Test("A device with a private address that tells no identity pairs, and leaves no bond")
    func noIdentity() throws {
        var pair = Self.pair()
        pair.addresses = [.central: .random(DeviceAddress(0x4A00_0000_0001)), .peripheral: Self.watch]
        pair.reconnect()
        try Self.start(&pair)
        let summary = try #require(pair.summary(.peripheral))
        #expect(summary.bondedIdentity == nil && !summary.replacesKey && summary.keySize == .maximum)
        #expect(pair.bond(.peripheral) == nil && pair.managers[.peripheral]?.bonds.isEmpty == true)
        #expect(pair.security(.peripheral) == LinkSecurity(isEncrypted: true, keySize: 16))
        #expect(pair.bond(.central)?.identity == Self.watch, "the watch has an address of its own")
    }

    @Test("After a legacy pairing in which neither gave a key there is nothing to keep")
    func noLegacyKeys() throws {
        var configuration = SecurityManager.Configuration.device(methods: .legacy)
        configuration.distributedKeys = []
        var pair = Self.pair(central: configuration, peripheral: configuration)
        try Self.start(&pair)
        for side in Side.allCases {
            let summary = try #require(pair.summary(side))
            #expect(summary.bondedIdentity == nil && !summary.usesSecureConnections && !summary.isAcknowledged)
            #expect(pair.bond(side) == nil && pair.security(side) == LinkSecurity(isEncrypted: true, keySize: 16))
        }
    }

    // MARK: Bonds

    @Test("A bond is found by its identity, also as a controller that resolves addresses reports it")
    func bondOfAnIdentity() throws {
        let random = Bond(identity: Self.watch, keys: .secureConnections(LongTermKey(1)), isAuthenticated: false)
        let pair = Self.pair(bonds: [.central: [random]])
        let manager = try #require(pair.managers[.central])
        #expect(manager.bond(with: Self.watch) == random)
        #expect(manager.bond(with: LEAddress(type: .randomIdentity, address: Self.watch.address)) == random)
        #expect(manager.bond(with: .public(Self.watch.address)) == nil, "the same number, another kind")
        #expect(manager.bond(with: Self.phone) == nil)
    }

    /// A bond of LE Secure Connections as stored, from its identity's type to its key size.
    private static func stored(type: String, address: String, size: String) -> [UInt8] {
        hex("01 \(type) \(address) 02 \(size) 00 00000000 \(sentKey) 00")
    }

    @Test("A stored bond whose identity is a private address, or whose key has another size than 7 to 16, is none")
    func storedNonsense() throws {
        var reader = ByteReader(Self.stored(type: "01", address: "010203040506", size: "07")[...])
        #expect(throws: ByteDecodingError("bond.identity", .invalidValue(0x0605_0403_0201))) {
            _ = try Bond(reading: &reader)
        }
        reader = ByteReader(Self.stored(type: "01", address: "010203040546", size: "07")[...])
        #expect(throws: ByteDecodingError("bond.identity", .invalidValue(0x4605_0403_0201))) {
            _ = try Bond(reading: &reader)
        }
        for size in [0x00, 0x06, 0x11, 0xFF] as [UInt8] {
            reader = ByteReader(Self.stored(type: "00", address: "010203040506", size: [size].hexadecimal)[...])
            #expect(throws: ByteDecodingError("bond.key_size", .invalidValue(UInt64(size)))) {
                _ = try Bond(reading: &reader)
            }
        }
        for size in [0x07, 0x10] as [UInt8] {
            reader = ByteReader(Self.stored(type: "01", address: "0102030405c6", size: [size].hexadecimal)[...])
            let bond = try Bond(reading: &reader)
            #expect(bond.identity == .random(DeviceAddress(0xC605_0403_0201)) && bond.keySize.octets == Int(size))
        }
    }

    // MARK: Commands

    @Test("A command of a later version of the Core is not decoded", arguments: [0x00, 0x0F, 0xFF] as [UInt8])
    func unknownCommand(code: UInt8) {
        #expect(throws: ByteDecodingError("smp.code", .invalidValue(UInt64(code)))) {
            _ = try SMPPDU(decoding: [code, 0x00])
        }
    }

    @Test(
        "What this device itself never sends has its layout too",
        arguments: ["0a 100f0e0d0c0b0a090807060504030201", "0e 03"]
    )
    func layouts(pdu: String) throws {
        var bytes: [UInt8] = []
        try SMPPDU(decoding: hex(pdu)[...]).encode(to: &bytes)
        #expect(bytes == hex(pdu))
        #expect(try SMPPDU(decoding: hex(pdu)[...]).code.rawValue == hex(pdu)[0])
    }

    // MARK: Limits

    @Test("The wait after failures doubles at most 16 times, however often it is told to")
    func doublings() {
        var limits = RepeatedAttemptLimits()
        #expect(limits.maximumDoublings == 8)
        for (told, kept) in [(0, 0), (-1, 0), (16, 16), (17, 16), (Int.max, 16), (3, 3)] {
            limits.maximumDoublings = told
            #expect(limits.maximumDoublings == kept)
        }
        // One second, then two, and no more.
        limits.maximumDoublings = 1
        var attempts = RepeatedAttempts(limits)
        for wait in [1, 2, 2] {
            attempts.failed(Self.phone, at: .zero)
            #expect(attempts.waitingTime(of: Self.phone, at: .zero) == .seconds(wait))
        }
    }

    // MARK: Cryptography that does not work

    @Test("Without AES a private address has no hash, and resolves none")
    func noAES() {
        let broken = LECryptography(
            aes128: { _, _ in nil },
            aesCMAC: { _, _ in nil },
            p256PublicKey: { _ in nil },
            p256SharedSecret: { _, _ in nil }
        )
        let key = IdentityResolvingKey(0xEC02_34A3_57C8_AD05_3410_10A6_0A39_7D9B)
        let address = DeviceAddress(resolvableBy: key, random: 0x70_8194, CryptoToolbox(broken))
        #expect(address == DeviceAddress(0x7081_9400_0000))
        // The sample of Core 5.4, Vol 3, Part H, D.7: the hash of prand 0x708194 is 0x0DFBAA.
        let sample = DeviceAddress(0x7081_940D_FBAA)
        #expect(sample.isResolvable(by: key, CryptoToolbox(.swiftCrypto)))
        #expect(!sample.isResolvable(by: key, CryptoToolbox(broken)))
        #expect(GATTDatabase().hash(broken) == [])
    }

    @Test("No pairing goes on on a link that does not exist")
    func isPairing() throws {
        var pair = Self.pair()
        #expect(pair.managers[.central]?.isPairing(Side.central.handle) == false)
        try pair.managers[.central]?.pair(Side.central.handle, at: pair.now)
        #expect(pair.managers[.central]?.isPairing(Side.central.handle) == true)
        #expect(pair.managers[.central]?.isPairing(0x0EFF) == false)
        // The end of a link that does not exist ends nothing.
        pair.managers[.central]?.connectionClosed(0x0EFF)
        #expect(pair.managers[.central]?.nextEvent() == nil)
        pair.managers[.central]?.connectionClosed(Side.central.handle)
        #expect(pair.managers[.central]?.nextEvent() == .pairingFailed(Side.central.handle, .disconnected))
    }
}
