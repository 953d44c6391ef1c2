/// A moment on the air, or a span of it, in whole microseconds: the resolution of the link layer's own timing rules.
///
/// `Duration` is the unit at the module's edge. Inside, moments are divided by intervals millions of times over, which
/// 64-bit integers do exactly and fast.
struct Microseconds: Hashable, Comparable, Sendable, AdditiveArithmetic {
    /// How many microseconds.
    var count: Int64

    /// The latest moment that the air knows: about 35 years, so that no sum of two moments can overflow.
    static let latest = Microseconds(1 << 50)
    static let zero = Microseconds(0)

    init(_ count: Int64) { self.count = count }

    /// The whole microseconds of a duration; negative ones become zero and absurd ones `latest`.
    init(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        let limit = Self.latest.count
        if seconds < 0 || attoseconds < 0 {
            count = 0
        } else if seconds >= limit / 1_000_000 {
            count = limit
        } else {
            count = seconds * 1_000_000 + attoseconds / 1_000_000_000_000
        }
    }

    /// The same as a duration.
    var duration: Duration { .microseconds(count) }

    static func < (left: Microseconds, right: Microseconds) -> Bool { left.count < right.count }
    static func + (left: Microseconds, right: Microseconds) -> Microseconds { Microseconds(left.count + right.count) }
    static func - (left: Microseconds, right: Microseconds) -> Microseconds { Microseconds(left.count - right.count) }
    static func * (span: Microseconds, times: Int64) -> Microseconds { Microseconds(span.count * times) }

    /// How many whole spans of `divisor` fit.
    static func / (span: Microseconds, divisor: Microseconds) -> Int64 { span.count / max(1, divisor.count) }
}

extension Microseconds: CustomStringConvertible {
    var description: String { "\(count) µs" }
}
