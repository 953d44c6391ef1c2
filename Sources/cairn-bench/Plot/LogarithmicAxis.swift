import Foundation

/// Places values on an axis on which every power of ten takes the same room.
struct LogarithmicAxis {
    let range: ClosedRange<Double>
    /// Where on the drawing the lower and the upper end of the range are.
    let start: Double
    let end: Double

    /// An axis whose range is widened to whole powers of ten.
    init(covering values: [Double], from start: Double, to end: Double) {
        let positive = values.filter { $0 > 0 }
        let low = Foundation.log10(positive.min() ?? 1).rounded(.down)
        let high = max(low + 1, Foundation.log10(positive.max() ?? 10).rounded(.up))
        range = Foundation.pow(10, low)...Foundation.pow(10, high)
        self.start = start
        self.end = end
    }

    /// Where a value is.
    func position(_ value: Double) -> Double {
        let inRange = min(max(value, range.lowerBound), range.upperBound)
        let share = Foundation.log10(inRange / range.lowerBound) / Foundation.log10(range.upperBound / range.lowerBound)
        return start + (end - start) * share
    }

    /// The powers of ten.
    var ticks: [Double] {
        var ticks: [Double] = []
        var tick = range.lowerBound
        while tick <= range.upperBound * 1.001 {
            ticks.append(tick)
            tick *= 10
        }
        return ticks
    }
}

extension Double {
    /// A value on an axis: without zeros that say nothing.
    var axisLabel: String { String(format: "%g", self) }
}
