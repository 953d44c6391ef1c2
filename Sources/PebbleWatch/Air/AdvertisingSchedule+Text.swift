import BluetoothHCI

/// Schedules as people write them: steps such as `20ms/30s`, the last one without a time, for ever: `1285ms`.
extension AdvertisingSchedule {
    /// How many steps a schedule of the user's may have.
    public static let stepLimit = 32
    /// How long one of them may last.
    public static let longestStep: Duration = .hours(24 * 7)

    /// What is wrong with a schedule, for the person who wrote it.
    public struct Invalid: Error, Hashable, Sendable, CustomStringConvertible {
        public let description: String
    }

    /// Reads the steps, in order.
    public init(parsing steps: [some StringProtocol]) throws(Invalid) {
        guard let last = steps.last else { throw Invalid(description: "there is no step; write one such as 1285ms") }
        guard steps.count <= Self.stepLimit else {
            throw Invalid(description: "there are \(steps.count) steps; at most \(Self.stepLimit) are possible")
        }
        var timed: [AdvertisingStep] = []
        for (index, text) in steps.dropLast().enumerated() {
            let (interval, duration) = try Self.step(text, number: index + 1)
            guard let duration else {
                throw Invalid(
                    description: "step \(index + 1), “\(text)”, would last for ever; write how long, as in \(text)/30s"
                )
            }
            timed.append(.every(interval, for: duration))
        }
        let (interval, duration) = try Self.step(last, number: steps.count)
        guard duration == nil else {
            throw Invalid(
                description:
                    "step \(steps.count), “\(last)”, is the last and has to last for ever: a watch that is not "
                    + "connected never falls silent; leave out what follows the /"
            )
        }
        self.init(timed, then: interval)
    }

    /// The intervals that are beside Apple's grid, each with the nearest one on it.
    public var intervalsOffGrid: [(interval: AdvertisingInterval, nearest: AdvertisingInterval)] {
        (steps.map(\.interval) + [last]).compactMap { interval in
            let nearest = AdvertisingInterval.appleGrid.min { $0.distance(to: interval) < $1.distance(to: interval) }
            guard let nearest, nearest != interval else { return nil }
            return (interval, nearest)
        }
    }

    private static func step(
        _ text: some StringProtocol,
        number: Int
    ) throws(Invalid) -> (AdvertisingInterval, Duration?) {
        func invalid(_ why: String) -> Invalid { Invalid(description: "step \(number), “\(text)”, \(why)") }
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let microseconds = Self.microseconds(first) else {
            throw invalid("is no step; write an interval and how long it is kept, as in 152.5ms/2min")
        }
        let slot: UInt64 = 625
        let range = AdvertisingInterval.legacyRange
        guard let slots = UInt32(exactly: microseconds / slot), range.contains(slots) else {
            throw invalid("has an interval that no controller takes: they take 20 ms to 10240 ms")
        }
        guard microseconds.isMultiple(of: slot) else {
            let below = AdvertisingInterval(rawValue: slots)
            let above = AdvertisingInterval(rawValue: min(slots + 1, range.upperBound))
            throw invalid(
                "is not on the grid of 0.625 ms in which controllers count: write \(below.inMilliseconds) or "
                    + above.inMilliseconds
            )
        }
        let interval = AdvertisingInterval(rawValue: slots)
        guard parts.count > 1, let second = parts.last else { return (interval, nil) }
        guard let time = Self.microseconds(second) else {
            throw invalid("has no readable time after the /; write one such as 30s, 5min or 1h")
        }
        let duration = Duration.microseconds(Int64(time))
        guard duration >= .seconds(1), duration <= Self.longestStep else {
            throw invalid("has to last from 1 s to 7 days")
        }
        return (interval, duration)
    }

    /// Reads a decimal number and its unit; nil if that is not what it is.
    private static func microseconds(_ text: some StringProtocol) -> UInt64? {
        let units: [(name: String, microseconds: UInt64)] = [
            ("ms", 1000), ("min", 60_000_000), ("s", 1_000_000), ("h", 3_600_000_000),
        ]
        let text = String(text.filter { $0 != " " })
        guard let unit = units.first(where: { text.hasSuffix($0.name) }) else { return nil }
        let parts = text.dropLast(unit.name.count).split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let whole = number(first) else { return nil }
        guard parts.count > 1, let decimals = parts.last else { return whole * unit.microseconds }
        guard let fraction = number(decimals) else { return nil }
        let scale = decimals.reduce(UInt64(1)) { scale, _ in scale * 10 }
        // Finer than a microsecond is finer than any controller counts.
        let product = fraction * unit.microseconds
        guard product.isMultiple(of: scale) else { return nil }
        return whole * unit.microseconds + product / scale
    }

    /// A number of so few digits that nothing done with it here can overflow.
    private static func number(_ digits: Substring) -> UInt64? {
        guard (1...6).contains(digits.utf8.count), digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            return nil
        }
        return UInt64(digits)
    }
}

extension AdvertisingInterval {
    fileprivate func distance(to other: AdvertisingInterval) -> UInt32 {
        max(rawValue, other.rawValue) - min(rawValue, other.rawValue)
    }
}
