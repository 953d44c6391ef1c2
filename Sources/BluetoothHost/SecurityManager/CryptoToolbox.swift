import ByteCoding
import BluetoothHCI
import Crypto
import CryptoExtras

/// The cryptographic functions of the Security Manager.
///
/// Arguments and results are numbers, most significant octet first, as the Core writes them; what is sent is the
/// same number least significant octet first, and only the PDU codec has to know that. AES, CMAC and the elliptic
/// curve are swift-crypto's. This is the only file that imports it.
///
/// The library may refuse keys and blocks that do not have 16 octets. Ours have, by construction; if it refused one all
/// the same, the pairing that needs the result would fail, with `unspecifiedReason`.
///
/// Source: Core 5.4, Vol 3, Part H, 2.2.
enum CryptoToolbox {
    /// Security function *e*: one block of AES-128.
    ///
    /// Source: Core 5.4, Vol 3, Part H, 2.2.1.
    static func e(key: UInt128, _ plaintext: UInt128) throws(PairingFailedReason) -> UInt128 {
        var block = bigEndianBytes(plaintext)
        do {
            try AES.permute(&block, key: SymmetricKey(data: bigEndianBytes(key)))
        } catch {
            throw .unspecifiedReason
        }
        return number(block)
    }

    /// AES-CMAC with a 128-bit key.
    ///
    /// Source: Core 5.4, Vol 3, Part H, 2.2.5.
    static func aesCMAC(key: UInt128, _ message: [UInt8]) throws(PairingFailedReason) -> UInt128 {
        do {
            var code = try AES.CMAC(key: SymmetricKey(data: bigEndianBytes(key)))
            code.update(data: message)
            return number(code.finalize())
        } catch {
            throw .unspecifiedReason
        }
    }

    // MARK: Addresses

    /// Random address hash function *ah*: the 24-bit hash of a resolvable private address.
    ///
    /// Source: Core 5.4, Vol 3, Part H, 2.2.2.
    static func ah(_ key: IdentityResolvingKey, prand: UInt32) throws(PairingFailedReason) -> UInt32 {
        UInt32(truncatingIfNeeded: try e(key: key.value, UInt128(prand & 0xFF_FFFF)) & 0xFF_FFFF)
    }

    // MARK: LE legacy pairing

    /// Confirm value generation function *c1*.
    ///
    /// Source: Core 5.4, Vol 3, Part H, 2.2.3.
    /// - Parameters:
    ///   - request: the Pairing Request as sent: 7 octets, which as a number have the first one at the low end.
    ///   - response: the Pairing Response as sent.
    static func c1(
        _ key: TemporaryKey,
        random: UInt128,
        request: UInt64,
        response: UInt64,
        initiator: LEAddress,
        responder: LEAddress
    ) throws(PairingFailedReason) -> UInt128 {
        let types = UInt128(typeBit(responder)) << 8 | UInt128(typeBit(initiator))
        let p1 = UInt128(response) << 72 | UInt128(request) << 16 | types
        let p2 = UInt128(initiator.address.value) << 48 | UInt128(responder.address.value)
        return try e(key: key.value, try e(key: key.value, random ^ p1) ^ p2)
    }

    /// Key generation function *s1*: the STK.
    ///
    /// Source: Core 5.4, Vol 3, Part H, 2.2.4.
    static func s1(
        _ key: TemporaryKey,
        responderRandom: UInt128,
        initiatorRandom: UInt128
    ) throws(PairingFailedReason) -> LongTermKey {
        let low = UInt128(UInt64.max)
        return LongTermKey(try e(key: key.value, (responderRandom & low) << 64 | (initiatorRandom & low)))
    }

    // MARK: LE Secure Connections

    /// Confirm value generation function *f4*.
    ///
    /// Source: Core 5.4, Vol 3, Part H, 2.2.6.
    static func f4(_ u: UInt256, _ v: UInt256, _ x: UInt128, _ z: UInt8) throws(PairingFailedReason) -> UInt128 {
        var message: [UInt8] = []
        u.appendBigEndian(to: &message)
        v.appendBigEndian(to: &message)
        message.append(z)
        return try aesCMAC(key: x, message)
    }

    /// Key generation function *f5*: the MacKey and the LTK.
    ///
    /// Source: Core 5.4, Vol 3, Part H, 2.2.7.
    /// - Parameters:
    ///   - n1: the initiator's nonce.
    ///   - n2: the responder's nonce.
    static func f5(
        _ key: DHKey,
        _ n1: UInt128,
        _ n2: UInt128,
        initiator: LEAddress,
        responder: LEAddress
    ) throws(PairingFailedReason) -> (macKey: MacKey, longTermKey: LongTermKey) {
        let salt: UInt128 = 0x6C88_8391_AAF5_A538_6037_0BDB_5A60_83BE
        var secret: [UInt8] = []
        key.value.appendBigEndian(to: &secret)
        let intermediate = try aesCMAC(key: salt, secret)

        func derive(counter: UInt8) throws(PairingFailedReason) -> UInt128 {
            let keyID: UInt32 = 0x6274_6C65  // "btle"
            let length: UInt16 = 256
            var message: [UInt8] = [counter]
            message.appendBigEndian(keyID)
            message.appendBigEndian(n1)
            message.appendBigEndian(n2)
            append(initiator, to: &message)
            append(responder, to: &message)
            message.appendBigEndian(length)
            return try aesCMAC(key: intermediate, message)
        }
        return (MacKey(try derive(counter: 0)), LongTermKey(try derive(counter: 1)))
    }

    /// Check value generation function *f6*.
    ///
    /// Source: Core 5.4, Vol 3, Part H, 2.2.8.
    /// - Parameters:
    ///   - features: IO capability, OOB data flag and AuthReq of the device that sends the value, as 24 bits with
    ///     AuthReq at the high end.
    ///   - sender: the address of the device that sends the value.
    static func f6(
        _ key: MacKey,
        _ n1: UInt128,
        _ n2: UInt128,
        _ r: UInt128,
        features: UInt32,
        sender: LEAddress,
        receiver: LEAddress
    ) throws(PairingFailedReason) -> UInt128 {
        var message: [UInt8] = []
        message.appendBigEndian(n1)
        message.appendBigEndian(n2)
        message.appendBigEndian(r)
        message.append(UInt8(truncatingIfNeeded: features >> 16))
        message.append(UInt8(truncatingIfNeeded: features >> 8))
        message.append(UInt8(truncatingIfNeeded: features))
        append(sender, to: &message)
        append(receiver, to: &message)
        return try aesCMAC(key: key.value, message)
    }

    /// Numeric comparison value generation function *g2*: what both users see is this, modulo 1,000,000.
    ///
    /// Source: Core 5.4, Vol 3, Part H, 2.2.9.
    static func g2(_ u: UInt256, _ v: UInt256, _ x: UInt128, _ y: UInt128) throws(PairingFailedReason) -> UInt32 {
        var message: [UInt8] = []
        u.appendBigEndian(to: &message)
        v.appendBigEndian(to: &message)
        message.appendBigEndian(y)
        return UInt32(truncatingIfNeeded: try aesCMAC(key: x, message))
    }

    // MARK: Link keys

    /// Link key conversion function *h6*.
    ///
    /// Source: Core 5.4, Vol 3, Part H, 2.2.10.
    static func h6(_ key: UInt128, keyID: UInt32) throws(PairingFailedReason) -> UInt128 {
        var message: [UInt8] = []
        message.appendBigEndian(keyID)
        return try aesCMAC(key: key, message)
    }

    /// Link key conversion function *h7*.
    ///
    /// Source: Core 5.4, Vol 3, Part H, 2.2.11.
    static func h7(salt: UInt128, _ key: UInt128) throws(PairingFailedReason) -> UInt128 {
        try aesCMAC(key: salt, bigEndianBytes(key))
    }

    // MARK: Bytes

    /// 0 for a public address, 1 for a random one: identity or not.
    private static func typeBit(_ address: LEAddress) -> UInt8 { address.type.withoutIdentity.rawValue }

    /// The 56 bits that stand for an address in f5 and f6: its type, then the address.
    private static func append(_ address: LEAddress, to message: inout [UInt8]) {
        message.append(typeBit(address))
        for index in (0..<DeviceAddress.size).reversed() { message.append(address.address.octet(index)) }
    }

    private static func bigEndianBytes(_ value: UInt128) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendBigEndian(value)
        return bytes
    }

    private static func number(_ bytes: some Sequence<UInt8>) -> UInt128 {
        bytes.reduce(0) { $0 << 8 | UInt128($1) }
    }
}

/// A number of 256 bits: a coordinate of a P-256 point.
struct UInt256: Hashable, Sendable {
    /// The more significant half.
    var high: UInt128
    /// The less significant half.
    var low: UInt128

    /// Puts the halves together.
    init(high: UInt128, low: UInt128) {
        self.high = high
        self.low = low
    }

    /// Reads 32 octets, most significant first.
    init(bigEndian reader: inout ByteReader, _ field: String) throws(ByteDecodingError) {
        high = try reader.readBigEndian(field)
        low = try reader.readBigEndian(field)
    }

    /// Reads 32 octets, least significant first.
    init(littleEndian reader: inout ByteReader, _ field: String) throws(ByteDecodingError) {
        low = try reader.readLittleEndian(field)
        high = try reader.readLittleEndian(field)
    }

    /// Appends 32 octets, most significant first.
    func appendBigEndian(to buffer: inout [UInt8]) {
        buffer.appendBigEndian(high)
        buffer.appendBigEndian(low)
    }

    /// Appends 32 octets, least significant first.
    func appendLittleEndian(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(low)
        buffer.appendLittleEndian(high)
    }
}

/// The public half of a P-256 key pair, as a peer claims it: nothing says yet that the point is on the curve.
struct P256PublicKey: Hashable, Sendable {
    /// The x coordinate.
    var x: UInt256
    /// The y coordinate.
    var y: UInt256
}

/// What two devices share after their Diffie-Hellman key agreement.
struct DHKey: Secret {
    /// The x coordinate of the shared point.
    let value: UInt256
}

/// A P-256 key pair of our own.
struct P256KeyPair: Sendable {
    private let privateKey: P256.KeyAgreement.PrivateKey

    /// The half that is sent.
    let publicKey: P256PublicKey

    /// How many octets of randomness make a private key.
    static let privateKeySize = 32

    /// The pair that everyone knows, with which a sniffer can follow a pairing.
    ///
    /// Source: Core 5.4, Vol 3, Part H, 2.3.5.6.1.
    static let debug = P256KeyPair(
        privateKey: UInt256(
            high: 0x3F49_F6D4_A3C5_5F38_74C9_B3E3_D210_3F50,
            low: 0x4AFF_607B_EB40_B799_5899_B8A6_CD3C_1ABD
        )
    )

    /// The x coordinate of the pair that everyone knows.
    static let debugPublicKeyX = UInt256(
        high: 0x20B0_03D2_F297_BE2C_5E2C_83A7_E9F9_A5B9,
        low: 0xEFF4_9111_ACF4_FDDB_CC03_0148_0E35_9DE6
    )

    /// The pair that belongs to a private key; nil if the number is zero or not less than the order of the curve.
    init?(privateKey number: UInt256) {
        var bytes: [UInt8] = []
        number.appendBigEndian(to: &bytes)
        guard let key = try? P256.KeyAgreement.PrivateKey(rawRepresentation: bytes) else { return nil }
        var reader = ByteReader([UInt8](key.publicKey.rawRepresentation))
        guard
            let x = try? UInt256(bigEndian: &reader, "public_key.x"),
            let y = try? UInt256(bigEndian: &reader, "public_key.y")
        else { return nil }
        privateKey = key
        publicKey = P256PublicKey(x: x, y: y)
    }

    /// A fresh pair. Nil if the source of randomness yields no usable number in several draws, which says that it
    /// is broken: one draw fails with a probability of 2^-32.
    init?(from randomness: inout any RandomNumberGenerator & Sendable) {
        for _ in 0..<8 {
            let number = UInt256(
                high: UInt128.random(in: 0...UInt128.max, using: &randomness),
                low: UInt128.random(in: 0...UInt128.max, using: &randomness)
            )
            if let pair = P256KeyPair(privateKey: number) {
                self = pair
                return
            }
        }
        return nil
    }

    /// The Diffie-Hellman key shared with a peer, or nil if the peer's point is not on the curve.
    func sharedKey(with peer: P256PublicKey) -> DHKey? {
        var bytes: [UInt8] = []
        peer.x.appendBigEndian(to: &bytes)
        peer.y.appendBigEndian(to: &bytes)
        // The library refuses coordinates that are not less than the prime and points that are not on the curve.
        guard
            let publicKey = try? P256.KeyAgreement.PublicKey(rawRepresentation: bytes),
            let secret = try? privateKey.sharedSecretFromKeyAgreement(with: publicKey)
        else { return nil }
        // The one thing that the library gives away only through a pointer; the bytes are copied at once.
        var reader = ByteReader(unsafe secret.withUnsafeBytes { unsafe [UInt8]($0) })
        return (try? UInt256(bigEndian: &reader, "dh_key")).map(DHKey.init)
    }
}
