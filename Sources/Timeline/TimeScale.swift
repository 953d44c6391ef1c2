/// Where a time is on the axis: to scale, but for the pauses in which nothing happens, which are folded.
package struct TimeScale: Hashable, Sendable {
    /// A pause that is drawn shorter than it was.
    package struct Fold: Hashable, Sendable {
        /// Its first time, in microseconds since the first packet.
        package var start: Int64
        /// Its last.
        package var end: Int64
    }

    /// The first time.
    package let start: Int64
    /// The last.
    package let end: Int64
    /// The pauses, in their order.
    package let folds: [Fold]
    /// How long each of them is drawn, in microseconds of the scale.
    package let foldLength: Int64

    /// A pause is folded if it takes more than this part of what is drawn.
    private static let pausePart: Int64 = 10
    private static let foldPart: Int64 = 36
    /// More folds than these make the axis unreadable.
    private static let foldLimit = 16

    /// A scale for the times at which something is drawn.
    /// - Parameter folds: false for one that is true to scale everywhere.
    package init(times: [Int64], from start: Int64, to end: Int64, folds isFolding: Bool) {
        self.start = start
        self.end = max(end, start + 1)
        let sorted = ([start] + times.filter { $0 > start && $0 < end } + [end]).sorted()
        let pauses = zip(sorted, sorted.dropFirst()).map { Fold(start: $0, end: $1) }
        let byLength = pauses.sorted { $0.length > $1.length }
        var folded: [Fold] = []
        var rest = self.end - start
        if isFolding {
            for pause in byLength.prefix(Self.foldLimit) where pause.length > max(20_000, rest / Self.pausePart) {
                // A little time stays on either side, so that what was before and after is not drawn at the fold.
                let margin = pause.length / 50
                folded.append(Fold(start: pause.start + margin, end: pause.end - margin))
                rest -= pause.length - 2 * margin
            }
        }
        folds = folded.sorted { $0.start < $1.start }
        foldLength = max(1, rest / Self.foldPart)
    }

    /// How long the scale is, in its microseconds.
    package var length: Int64 { position(end) }

    /// How far from the beginning of the scale a time is drawn.
    package func position(_ time: Int64) -> Int64 {
        var position = min(max(time, start), end) - start
        for fold in folds {
            if time >= fold.end {
                position -= fold.length - foldLength
            } else if time > fold.start {
                // Nothing but spans is within a fold.
                let into = time - fold.start
                position -= into
                position += Int64(Double(into) / Double(fold.length) * Double(foldLength))
            }
        }
        return position
    }

    /// The times that the axis names, at least so far from each other on the scale: multiples of 1, 2 or 5 times a power of ten.
    package func ticks(every minimum: Int64) -> [Int64] {
        let step = Self.step(atLeast: max(1, minimum))
        var ticks: [Int64] = []
        var last = -minimum
        for segment in segments {
            var tick = (segment.start + step - 1) / step * step
            while tick <= segment.end {
                let position = position(tick)
                if position - last >= minimum {
                    ticks.append(tick)
                    last = position
                }
                tick += step
            }
        }
        return ticks
    }

    /// How many decimals of a second tell the ticks apart.
    package static func decimals(every minimum: Int64) -> Int {
        var decimals = 0
        var unit: Int64 = 1_000_000
        let step = step(atLeast: max(1, minimum))
        while unit > step {
            unit /= 10
            decimals += 1
        }
        return decimals
    }

    private static func step(atLeast minimum: Int64) -> Int64 {
        var power: Int64 = 1
        while true {
            for factor in [1, 2, 5] as [Int64] where power * factor >= minimum { return power * factor }
            power *= 10
        }
    }

    private var segments: [(start: Int64, end: Int64)] {
        let starts = [start] + folds.map(\.end)
        let ends = folds.map(\.start) + [end]
        return zip(starts, ends).map { ($0, $1) }
    }
}

extension TimeScale.Fold {
    /// How long it was.
    package var length: Int64 { end - start }
}
