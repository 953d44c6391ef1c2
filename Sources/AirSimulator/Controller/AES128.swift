import Crypto
import CryptoExtras

/// The block cipher of Bluetooth, as controllers have it in hardware: one block, encryption only.
///
/// Keys and blocks are numbers whose most significant octet is the cipher's first one, which at the HCI, where octets
/// are sent least significant first, is the last one. The cipher is swift-crypto's; this is the only file of the
/// simulator that imports it.
///
/// Source: Core 5.4, Vol 3, Part H, 2.2.1.
struct AES128: Sendable {
    private let key: SymmetricKey

    init(key: UInt128) { self.key = SymmetricKey(data: Self.octets(key)) }

    /// Encrypts one block.
    func encrypt(_ block: UInt128) -> UInt128 {
        var octets = Self.octets(block)
        do {
            try AES.permute(&octets, key: key)
        } catch {
            preconditionFailure("AES-128 refused a key and a block of 16 octets: \(error)")
        }
        return octets.reduce(0) { $0 << 8 | UInt128($1) }
    }

    private static func octets(_ value: UInt128) -> [UInt8] {
        (0..<16).map { UInt8(truncatingIfNeeded: value >> UInt128(120 - 8 * $0)) }
    }
}
