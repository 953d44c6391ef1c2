import BluetoothHCI
import ByteCoding

/// The cryptographic functions of the Security Manager.
///
/// Arguments and results are numbers, most significant octet first, as the Core writes them; what is sent is the
/// same number least significant octet first, and only the PDU codec has to know that. AES, CMAC and the elliptic
/// curve are those of the `LECryptography` that was handed in. If it refuses to work, a function throws
/// `unspecifiedReason`, and the pairing that needs the result fails.
///
/// Source: Core 5.4, Vol 3, Part H, 2.2.
struct CryptoToolbox: Sendable {
    /// What does the work.
    let cryptography: LECryptography

    /// The functions over this cryptography.
    init(_ cryptography: LECryptography) { self.cryptography = cryptography }

    /// Security function *e*: one block of AES-128.
    ///
    /// Source: Core 5.4, Vol 3, Part H, 2.2.1.
    func e(key: UInt128, _ plaintext: UInt128) throws(PairingFailedReason) -> UInt128 {
        guard let ciphertext = cryptography.aes128(key, plaintext) else { throw .unspecifiedReason }
        return ciphertext
    }

    /// AES-CMAC with a 128-bit key.
    ///
    /// Source: Core 5.4, Vol 3, Part H, 2.2.5.
    func aesCMAC(key: UInt128, _ message: [UInt8]) throws(PairingFailedReason) -> UInt128 {
        guard let code = cryptography.aesCMAC(key, message) else { throw .unspecifiedReason }
        return code
    }

    // MARK: Addresses

    /// Random address hash function *ah*: the 24-bit hash of a resolvable private address.
    ///
    /// Source: Core 5.4, Vol 3, Part H, 2.2.2.
    func ah(_ key: IdentityResolvingKey, prand: UInt32) throws(PairingFailedReason) -> UInt32 {
        UInt32(truncatingIfNeeded: try e(key: key.value, UInt128(prand & 0xFF_FFFF)) & 0xFF_FFFF)
    }

    // MARK: LE legacy pairing

    /// Confirm value generation function *c1*.
    ///
    /// Source: Core 5.4, Vol 3, Part H, 2.2.3.
    /// - Parameters:
    ///   - request: the Pairing Request as sent: 7 octets, which as a number have the first one at the low end.
    ///   - response: the Pairing Response as sent.
    func c1(
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
    func s1(
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
    func f4(_ u: UInt256, _ v: UInt256, _ x: UInt128, _ z: UInt8) throws(PairingFailedReason) -> UInt128 {
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
    func f5(
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
    func f6(
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
    func g2(_ u: UInt256, _ v: UInt256, _ x: UInt128, _ y: UInt128) throws(PairingFailedReason) -> UInt32 {
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
    func h6(_ key: UInt128, keyID: UInt32) throws(PairingFailedReason) -> UInt128 {
        var message: [UInt8] = []
        message.appendBigEndian(keyID)
        return try aesCMAC(key: key, message)
    }

    /// Link key conversion function *h7*.
    ///
    /// Source: Core 5.4, Vol 3, Part H, 2.2.11.
    func h7(salt: UInt128, _ key: UInt128) throws(PairingFailedReason) -> UInt128 {
        var message: [UInt8] = []
        message.appendBigEndian(key)
        return try aesCMAC(key: salt, message)
    }

    // MARK: Bytes

    /// 0 for a public address, 1 for a random one: identity or not.
    private func typeBit(_ address: LEAddress) -> UInt8 { address.type.withoutIdentity.rawValue }

    /// The 56 bits that stand for an address in f5 and f6: its type, then the address.
    private func append(_ address: LEAddress, to message: inout [UInt8]) {
        message.append(typeBit(address))
        for index in (0..<DeviceAddress.size).reversed() { message.append(address.address.octet(index)) }
    }
}
