import SeededRandomness

/// Changes inputs without looking at what they reach: what is left of a fuzzer where there is no libFuzzer.
package struct Mutator {
    private static let notable: [UInt8] = [0x00, 0x01, 0x02, 0x04, 0x7F, 0x80, 0xFE, 0xFF]

    private var random: SplitMix64

    /// The same seed makes the same inputs.
    package init(seed: UInt64) { random = SplitMix64(seed: seed) }

    /// An input that is one of these, changed in a few places, spliced with another, or something else altogether.
    /// - Parameter limit: how long it may be, in bytes.
    package mutating func next(from inputs: [[UInt8]], limit: Int) -> [UInt8] {
        var bytes = inputs.randomElement(using: &random) ?? []
        if bytes.isEmpty || random.chance(1, in: 16) {
            bytes = random.bytes(Int.random(in: 1...min(limit, 256), using: &random))
        }
        for _ in 0..<Int.random(in: 0...6, using: &random) {
            let place = Int.random(in: 0...bytes.count, using: &random)
            switch Int.random(in: 0..<7, using: &random) {
            case 0 where place < bytes.count: bytes[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 1 where place < bytes.count: bytes[place] = Self.notable.randomElement(using: &random) ?? 0
            case 2 where place < bytes.count: bytes[place] = UInt8(truncatingIfNeeded: random.next())
            case 3: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: place)
            case 4: bytes.removeSubrange(place..<min(bytes.count, place + Int.random(in: 1...8, using: &random)))
            case 5: bytes += bytes[place...].prefix(64)
            default:
                guard let other = inputs.randomElement(using: &random) else { continue }
                bytes = Array(bytes[..<place]) + other.suffix(Int.random(in: 0...other.count, using: &random))
            }
        }
        return Array(bytes.prefix(limit))
    }
}
