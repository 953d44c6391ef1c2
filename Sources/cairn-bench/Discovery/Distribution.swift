/// Times of many trials.
struct Distribution: Codable, Equatable, Sendable {
    /// In seconds, shortest first.
    let seconds: [Double]

    init(_ times: [Duration]) { seconds = times.map { $0 / .seconds(1) }.sorted() }

    /// All times of several.
    init(merging parts: [Distribution]) { seconds = parts.flatMap(\.seconds).sorted() }

    /// The time that this share of the trials took at most.
    func quantile(_ share: Double) -> Double {
        guard !seconds.isEmpty else { return 0 }
        let index = (share * Double(seconds.count)).rounded(.up) - 1
        return seconds[min(seconds.count - 1, max(0, Int(index)))]
    }

    var median: Double { quantile(0.5) }
    var mean: Double { seconds.reduce(0, +) / Double(max(1, seconds.count)) }

    /// The curve of the share of trials that were over by a time.
    func curve(points: Int = 200) -> [(seconds: Double, share: Double)] {
        (1...points).map { point in
            let share = Double(point) / Double(points)
            return (quantile(share), share)
        }
    }
}
