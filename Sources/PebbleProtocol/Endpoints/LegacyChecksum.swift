/// The checksum of PutBytes, DataLogging, manifests and resource packs: the STM32's CRC unit, as the firmware's
/// `legacy_checksum` uses it.
///
/// CRC-32 with polynomial 0x04C11DB7 and initial value 0xFFFFFFFF, not reflected, without final XOR, over 32-bit
/// words: four bytes little-endian each, and a tail of one to three bytes big-endian, with zero bytes before it.
public struct LegacyChecksum: Sendable {
    private var remainder: UInt32 = 0xFFFF_FFFF
    /// The bytes of an unfinished word, first byte most significant.
    private var tail: UInt32 = 0
    private var tailLength = 0

    /// Of no bytes.
    package init() {}

    /// The checksum of all of some bytes.
    public static func checksum(of bytes: some Sequence<UInt8>) -> UInt32 {
        var checksum = LegacyChecksum()
        checksum.update(bytes)
        return checksum.value
    }

    /// Adds bytes at the end; pieces of any length give what the whole gives.
    package mutating func update(_ bytes: some Sequence<UInt8>) {
        for byte in bytes {
            tail = tail << 8 | UInt32(byte)
            tailLength += 1
            guard tailLength == 4 else { continue }
            remainder = Self.shifted(remainder ^ tail.byteSwapped)
            tail = 0
            tailLength = 0
        }
    }

    /// The checksum of everything so far.
    package var value: UInt32 { tailLength == 0 ? remainder : Self.shifted(remainder ^ tail) }

    /// 32 steps of the shift register, a byte at a time.
    private static func shifted(_ word: UInt32) -> UInt32 {
        var word = word
        for _ in 0..<4 { word = word << 8 ^ table[Int(word >> 24)] }
        return word
    }

    private static let polynomial: UInt32 = 0x04C1_1DB7
    private static let table: [UInt32] = (0..<256 as Range<UInt32>).map { byte in
        (0..<8).reduce(byte << 24) { word, _ in word << 1 ^ (word >> 31 == 1 ? polynomial : 0) }
    }
}
