/// The public half of a P-256 key pair, as a peer claims it: nothing says yet that the point is on the curve.
public struct P256PublicKey: Hashable, Sendable {
    /// The x coordinate.
    public var x: UInt256
    /// The y coordinate.
    public var y: UInt256

    /// The point with these coordinates, on the curve or not.
    public init(x: UInt256, y: UInt256) {
        self.x = x
        self.y = y
    }
}

/// What two devices share after their Diffie-Hellman key agreement.
struct DHKey: Secret {
    /// The x coordinate of the shared point.
    let value: UInt256
}

/// A P-256 key pair of our own.
struct P256KeyPair: Secret {
    private let privateKey: UInt256

    /// The half that is sent.
    let publicKey: P256PublicKey

    /// The pair that everyone knows, with which a sniffer can follow a pairing. Nil if the cryptography cannot work.
    ///
    /// Source: Core 5.4, Vol 3, Part H, 2.3.5.6.1.
    static func debug(_ toolbox: CryptoToolbox) -> P256KeyPair? {
        P256KeyPair(
            privateKey: UInt256(
                high: 0x3F49_F6D4_A3C5_5F38_74C9_B3E3_D210_3F50,
                low: 0x4AFF_607B_EB40_B799_5899_B8A6_CD3C_1ABD
            ),
            toolbox
        )
    }

    /// The x coordinate of the pair that everyone knows.
    static let debugPublicKeyX = UInt256(
        high: 0x20B0_03D2_F297_BE2C_5E2C_83A7_E9F9_A5B9,
        low: 0xEFF4_9111_ACF4_FDDB_CC03_0148_0E35_9DE6
    )

    /// The pair that belongs to a private key; nil if the number is zero or not less than the order of the curve.
    init?(privateKey: UInt256, _ toolbox: CryptoToolbox) {
        guard let publicKey = toolbox.cryptography.p256PublicKey(privateKey) else { return nil }
        self.privateKey = privateKey
        self.publicKey = publicKey
    }

    /// A fresh pair. Nil if the source of randomness yields no usable number in several draws, which says that it
    /// is broken: one draw fails with a probability of 2^-32.
    init?(from randomness: inout RandomSource, _ toolbox: CryptoToolbox) {
        for _ in 0..<8 {
            let number = UInt256(
                high: UInt128.random(in: 0...UInt128.max, using: &randomness),
                low: UInt128.random(in: 0...UInt128.max, using: &randomness)
            )
            if let pair = P256KeyPair(privateKey: number, toolbox) {
                self = pair
                return
            }
        }
        return nil
    }

    /// The Diffie-Hellman key shared with a peer, or nil if the peer's point is not on the curve.
    func sharedKey(with peer: P256PublicKey, _ toolbox: CryptoToolbox) -> DHKey? {
        toolbox.cryptography.p256SharedSecret(privateKey, peer).map(DHKey.init)
    }
}
