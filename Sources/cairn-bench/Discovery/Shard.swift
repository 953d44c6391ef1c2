import ArgumentParser

/// One of several equal parts of many trials, which may run on machines of their own. The seeds decide what comes of a
/// trial, so that the parts together are the whole.
struct Shard: Hashable, Codable, Sendable {
    /// Which part, 1 to `count`.
    let number: Int
    /// How many parts there are.
    let count: Int

    /// Everything in one.
    static let whole = Shard(number: 1, count: 1)
    static let countLimit = 10_000

    private init(number: Int, count: Int) {
        self.number = number
        self.count = count
    }

    /// Reads `2/5`, the second of five.
    init?(_ text: String) {
        let numbers = text.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) }
        guard numbers.count == 2, let number = numbers[0], let count = numbers[1],
            (1...Self.countLimit).contains(count), (1...count).contains(number)
        else { return nil }
        self.init(number: number, count: count)
    }

    /// The seeds of this part, of 1 to `last`: every so many-th, so that the parts take equally long.
    func seeds(upTo last: Int) -> [Int] { Array(stride(from: number, through: last, by: count)) }

    /// As it is written.
    var text: String { "\(number)/\(count)" }
}

/// Where trials run: on how many processors, and which part of them here.
struct TrialPlan: Sendable {
    /// How many run at once; nil for as many as there are processors.
    var jobs: Int?
    var shard = Shard.whole
}

/// What is said of that on the command line.
struct TrialOptions: ParsableArguments {
    @Option(help: "How many trials run at once. Without it: as many as there are processors.")
    var jobs: Int?

    @Option(
        help: ArgumentHelp(
            "Run one part only, such as 2/5, and print it for cairn-bench merge.",
            valueName: "i/n"
        ),
        transform: {
            guard let shard = Shard($0) else {
                throw ValidationError("give a part and how many there are, such as 2/5")
            }
            return shard
        }
    )
    var shard: Shard?

    mutating func validate() throws {
        if let jobs, !(1...1024).contains(jobs) {
            throw ValidationError("--jobs \(jobs): give a number from 1 to 1024")
        }
    }

    var plan: TrialPlan { TrialPlan(jobs: jobs, shard: shard ?? .whole) }
}
