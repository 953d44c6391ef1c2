/// The air's only source of chance: a SplitMix64 stream that its seed determines.
///
/// Every actor (an advertising set, a link, a controller) owns a stream derived from the air's seed and the actor's own
/// numbers, so that what one of them draws never shifts what another one gets.
struct SeededRandom: RandomNumberGenerator, Sendable {
    private var state: UInt64

    /// What a derived stream is for: part of its seed.
    enum Purpose: UInt64, Sendable {
        case controller = 1
        case advertising = 2
        case link = 3
        case pair = 4
    }

    init(seed: UInt64) { state = seed }

    /// A stream for one purpose of one actor.
    init(seed: UInt64, _ purpose: Purpose, _ first: UInt64, _ second: UInt64 = 0) {
        var mixer = SeededRandom(seed: seed)
        for part in [purpose.rawValue, first, second] {
            mixer = SeededRandom(seed: mixer.next() ^ (part &* 0xD6E8_FEB8_6659_FD93))
        }
        state = mixer.next()
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// A number in `0..<bound`, by multiplication: the bias of 2^-64 is of no consequence here.
    mutating func next(below bound: UInt64) -> UInt64 { next().multipliedFullWidth(by: bound).high }

    /// True with a probability from 0 to 1.
    mutating func chance(_ probability: Double) -> Bool {
        // 53 bits make every double below 1 reachable, so 0 is never and 1 always.
        Double(next() >> 11) * 0x1p-53 < probability
    }
}
