/// Two radios that walk apart, or towards each other: the further, the more gets lost, and the weaker is the signal.
///
/// A packet is lost with the probability d^k / (d^k + r^k), where d is the distance, r the one at which half of the
/// packets arrive, and k how sharply the range ends. That is the usual curve of packet errors over signal strength, a
/// logistic one over decibels, with the strength falling with the logarithm of the distance.
public struct DistanceFade: Hashable, Sendable {
    /// The distance at the beginning, in metres.
    public var start: Double
    /// The distance at the end, in metres, where they stay.
    public var end: Double
    /// How long the way takes, at an even pace.
    public var duration: Duration
    /// The distance at which half of the packets get lost, in metres.
    public var halfLoss: Double
    /// How sharply the range ends: k above, at least 1.
    public var sharpness: Int

    /// A walk from one distance to another.
    public init(from start: Double, to end: Double, over duration: Duration, halfLoss: Double = 20, sharpness: Int = 8)
    {
        self.start = start
        self.end = end
        self.duration = duration
        self.halfLoss = halfLoss
        self.sharpness = sharpness
    }

    /// The distance after a time, in metres; never less than a decimetre.
    public func distance(after elapsed: Duration) -> Double {
        let share = duration > .zero ? min(1, max(0, elapsed / duration)) : 1
        return max(0.1, start + (end - start) * share)
    }

    /// The probability that a packet is lost after a time.
    public func loss(after elapsed: Duration) -> Double {
        let ratio = distance(after: elapsed) / max(0.1, halfLoss)
        let power = Double.power(ratio, Int64(max(1, sharpness)))
        return power.isFinite ? power / (power + 1) : 1
    }

    /// By how much the signal is weaker after a time than at one metre, in decibels: 6 for every doubling, as in free
    /// space. Between doublings the curve is made of straight lines, which are the same on every machine and less than a
    /// decibel off.
    public func attenuation(after elapsed: Duration) -> Int {
        let distance = distance(after: elapsed)
        return Int((6.02 * (Double(distance.exponent) + distance.significand - 1)).rounded())
    }
}

extension Double {
    /// `base` to a whole power, by squaring: the same bits on every machine, unlike a library's `pow`.
    static func power(_ base: Double, _ exponent: Int64) -> Double {
        var result = 1.0
        var square = base
        var rest = exponent
        while rest > 0 {
            if rest & 1 == 1 { result *= square }
            square *= square
            rest >>= 1
        }
        return result
    }
}
