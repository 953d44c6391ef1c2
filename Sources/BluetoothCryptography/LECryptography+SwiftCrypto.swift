import BluetoothHost
import ByteCoding
import Crypto
import CryptoExtras

extension LECryptography {
    /// AES, CMAC and P-256 of swift-crypto.
    public static let swiftCrypto = LECryptography(
        aes128: { key, block in
            var octets = block.bigEndianOctets
            do {
                try AES.permute(&octets, key: SymmetricKey(data: key.bigEndianOctets))
            } catch {
                return nil
            }
            return UInt128(bigEndianOctets: octets)
        },
        aesCMAC: { key, message in
            guard var code = try? AES.CMAC(key: SymmetricKey(data: key.bigEndianOctets)) else { return nil }
            code.update(data: message)
            return UInt128(bigEndianOctets: code.finalize())
        },
        p256PublicKey: { number in
            guard let key = P256.KeyAgreement.PrivateKey(number) else { return nil }
            var reader = ByteReader([UInt8](key.publicKey.rawRepresentation))
            guard
                let x = try? UInt256(bigEndian: &reader, "public_key.x"),
                let y = try? UInt256(bigEndian: &reader, "public_key.y")
            else { return nil }
            return P256PublicKey(x: x, y: y)
        },
        p256SharedSecret: { number, peer in
            var octets: [UInt8] = []
            peer.x.appendBigEndian(to: &octets)
            peer.y.appendBigEndian(to: &octets)
            // The library refuses coordinates that are not less than the prime and points that are not on the curve.
            guard
                let privateKey = P256.KeyAgreement.PrivateKey(number),
                let publicKey = try? P256.KeyAgreement.PublicKey(rawRepresentation: octets),
                let secret = try? privateKey.sharedSecretFromKeyAgreement(with: publicKey)
            else { return nil }
            // The one thing that the library gives away only through a pointer; the octets are copied at once.
            var reader = ByteReader(unsafe secret.withUnsafeBytes { unsafe [UInt8]($0) })
            return try? UInt256(bigEndian: &reader, "dh_key")
        }
    )
}

extension P256.KeyAgreement.PrivateKey {
    /// Nil if the number is zero or not less than the order of the curve.
    fileprivate init?(_ number: UInt256) {
        var octets: [UInt8] = []
        number.appendBigEndian(to: &octets)
        guard let key = try? P256.KeyAgreement.PrivateKey(rawRepresentation: octets) else { return nil }
        self = key
    }
}

extension UInt128 {
    /// The number of 16 octets, most significant first.
    fileprivate init(bigEndianOctets octets: some Sequence<UInt8>) {
        self = octets.reduce(0) { $0 << 8 | UInt128($1) }
    }

    /// 16 octets, most significant first.
    fileprivate var bigEndianOctets: [UInt8] {
        var octets: [UInt8] = []
        octets.appendBigEndian(self)
        return octets
    }
}
