import SeededRandomness

/// The air's only source of chance: a stream of numbers that its seed determines.
///
/// Every actor (an advertising set, a link, a controller) owns a stream derived from the air's seed and the actor's own
/// numbers, so that what one of them draws never shifts what another one gets.
struct SeededRandom: RandomNumberGenerator, Sendable {
    private var numbers: SplitMix64

    /// What a derived stream is for: part of its seed.
    enum Purpose: UInt64, Sendable {
        case controller = 1
        case advertising = 2
        case link = 3
        case pair = 4
        case hopping = 5
    }

    /// A stream for one purpose of one actor.
    init(seed: UInt64, _ purpose: Purpose, _ first: UInt64, _ second: UInt64 = 0) {
        var mixer = SplitMix64(seed: seed)
        for part in [purpose.rawValue, first, second] {
            mixer = SplitMix64(seed: mixer.next() ^ (part &* 0xD6E8_FEB8_6659_FD93))
        }
        numbers = SplitMix64(seed: mixer.next())
    }

    mutating func next() -> UInt64 { numbers.next() }

    /// A number in `0..<bound`, by multiplication: the bias of 2^-64 is of no consequence here.
    mutating func next(below bound: UInt64) -> UInt64 { next().multipliedFullWidth(by: bound).high }

    /// True with a probability from 0 to 1.
    mutating func chance(_ probability: Double) -> Bool {
        // 53 bits make every double below 1 reachable, so 0 is never and 1 always.
        Double(next() >> 11) * 0x1p-53 < probability
    }
}
