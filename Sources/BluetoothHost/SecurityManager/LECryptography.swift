/// The cryptographic functions that an LE host builds on, as the owner of the host provides them: from a library, or from
/// the hardware of a chip.
///
/// Keys, blocks and coordinates are numbers whose most significant octet is the one that the standards write first. A
/// function returns nil if it refuses its arguments or cannot work. It must return the same for the same arguments.
///
/// Source: Core 5.4, Vol 3, Part H, 2.2.
public struct LECryptography: Sendable {
    /// Encrypts one block with AES-128: the key, then the block.
    ///
    /// Source: FIPS 197.
    package let aes128: @Sendable (_ key: UInt128, _ block: UInt128) -> UInt128?
    /// Authenticates a message of any length with AES-CMAC: the key of 128 bits, then the message.
    ///
    /// Source: RFC 4493.
    package let aesCMAC: @Sendable (_ key: UInt128, _ message: [UInt8]) -> UInt128?
    /// Computes the P-256 public key of a private key. Nil if the number is zero or not less than the order of the curve.
    ///
    /// Source: FIPS 186-4, D.1.2.3.
    package let p256PublicKey: @Sendable (_ privateKey: UInt256) -> P256PublicKey?
    /// Computes the x coordinate of the point that a private key shares with a peer's public key. Nil if a coordinate is
    /// not less than the prime of the curve or the point is not on the curve: a function that lets such points through
    /// gives private keys away (CVE-2018-5383).
    package let p256SharedSecret: @Sendable (_ privateKey: UInt256, _ peer: P256PublicKey) -> UInt256?

    /// Puts the functions together.
    public init(
        aes128: @escaping @Sendable (_ key: UInt128, _ block: UInt128) -> UInt128?,
        aesCMAC: @escaping @Sendable (_ key: UInt128, _ message: [UInt8]) -> UInt128?,
        p256PublicKey: @escaping @Sendable (_ privateKey: UInt256) -> P256PublicKey?,
        p256SharedSecret: @escaping @Sendable (_ privateKey: UInt256, _ peer: P256PublicKey) -> UInt256?
    ) {
        self.aes128 = aes128
        self.aesCMAC = aesCMAC
        self.p256PublicKey = p256PublicKey
        self.p256SharedSecret = p256SharedSecret
    }
}
