/// Everything that a run let out, as one number (FNV-1a, 64 bits): two runs of the same input must come to the same.
struct FuzzDigest {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

    mutating func add(_ byte: UInt8) { value = (value ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }

    mutating func add(_ bytes: some Sequence<UInt8>) {
        for byte in bytes { add(byte) }
        // Two packets are not one that is as long as both.
        add(0xFF)
    }

    mutating func add(_ text: String) { add(text.utf8) }

    mutating func add(_ number: Int) {
        for shift in stride(from: 0, to: 64, by: 8) { add(UInt8(truncatingIfNeeded: number >> shift)) }
    }
}
