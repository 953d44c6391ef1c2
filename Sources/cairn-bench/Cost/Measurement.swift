/// Something that can be done many times over, each time alike.
protocol Workload {
    /// Does it `count` times, and checks on the way that it does what its name says.
    mutating func run(_ count: Int) throws(WorkloadFailure)
}

/// A benchmark that measures something else than it claims.
struct WorkloadFailure: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

/// A workload with a name and what is expected of it.
struct Benchmark {
    /// What `--filter` matches.
    let name: String
    /// What one operation is.
    let operation: String
    /// How many bytes of payload one operation moves; nil if that is not the point.
    var payloadByteCount: Int?
    /// What one operation may cost; nil if no target is set.
    var timeTarget: TimeTarget?
    /// How many allocations one operation may make; nil if no target is set.
    var allocationTarget: Double?
    /// Makes the workload, ready to run.
    let make: () throws -> any Workload
}

/// What one operation may take.
enum TimeTarget {
    case nanoseconds(Double)
    case nanosecondsPerByte(Double)

    func nanoseconds(payloadByteCount: Int?) -> Double {
        switch self {
        case .nanoseconds(let nanoseconds): nanoseconds
        case .nanosecondsPerByte(let nanoseconds): nanoseconds * Double(payloadByteCount ?? 1)
        }
    }
}

/// How far a figure is from its target.
enum Grade: String, Encodable, Comparable {
    /// At or below the target.
    case pass
    /// Above it, but not by a factor of two.
    case near
    /// Twice the target or more.
    case note
    /// Twenty times the target or more.
    case defect

    static let noteFactor = 2.0
    static let defectFactor = 20.0

    /// Grades a figure that should be at most `target`. Against a target of zero, one is twice too much.
    init(_ figure: Double, target: Double) {
        let factor = target > 0 ? figure / target : figure * Self.noteFactor
        switch factor {
        case ...1: self = target > 0 || figure == 0 ? .pass : .near
        case ..<Self.noteFactor: self = .near
        case ..<Self.defectFactor: self = .note
        default: self = .defect
        }
    }

    private var order: Int {
        switch self {
        case .pass: 0
        case .near: 1
        case .note: 2
        case .defect: 3
        }
    }

    static func < (better: Grade, worse: Grade) -> Bool { better.order < worse.order }
}

/// What was measured of one benchmark.
struct Measurement: Encodable {
    let name: String
    let operation: String
    /// The median over the repeats.
    let nanoseconds: Double
    /// The fastest and the slowest repeat.
    let fastestNanoseconds: Double
    let slowestNanoseconds: Double
    let nanosecondsPerByte: Double?
    let allocations: Double
    let allocatedBytes: Double
    let operationsPerRepeat: Int
    let repeats: Int
    let targetNanoseconds: Double?
    let timeGrade: Grade?
    let targetAllocations: Double?
    let allocationGrade: Grade?

    /// The worse of the grades.
    var grade: Grade? { [timeGrade, allocationGrade].compactMap(\.self).max() }
}

/// How much is measured.
struct Effort {
    /// How often each benchmark is repeated.
    var repeats = 15
    /// How long one repeat should last at least.
    var repeatDuration = Duration.milliseconds(40)
    /// How long a workload runs before anything is measured, so that buffers have their sizes and caches are warm.
    var warmUpDuration = Duration.milliseconds(100)

    static let quick = Effort(repeats: 5, repeatDuration: .milliseconds(8), warmUpDuration: .milliseconds(20))
}

/// A workload, and how often it is done in one repeat.
struct Stopwatch {
    private var workload: any Workload
    private(set) var operationsPerRepeat = 1

    init(_ workload: any Workload) { self.workload = workload }

    /// Warms the workload up, and finds how many operations last as long as a repeat should.
    mutating func calibrate(_ effort: Effort) throws(WorkloadFailure) {
        let wanted = effort.repeatDuration / .nanoseconds(1)
        var warmUpLeft = effort.warmUpDuration / .nanoseconds(1)
        while true {
            let elapsed = try nanosecondsPerOperation() * Double(operationsPerRepeat)
            warmUpLeft -= elapsed
            if elapsed < wanted {
                operationsPerRepeat *= elapsed * 4 < wanted ? 4 : 2
            } else if warmUpLeft <= 0 {
                return
            }
        }
    }

    /// Runs one repeat.
    mutating func nanosecondsPerOperation() throws(WorkloadFailure) -> Double {
        let start = CPUTime.nanoseconds
        try workload.run(operationsPerRepeat)
        return (CPUTime.nanoseconds - start) / Double(operationsPerRepeat)
    }

    /// Runs one more repeat, for what it allocates.
    mutating func allocations() throws(WorkloadFailure) -> AllocationCount {
        var failure: WorkloadFailure?
        let allocated = AllocationCount.of {
            do throws(WorkloadFailure) { try workload.run(operationsPerRepeat) } catch { failure = error }
        }
        if let failure { throw failure }
        return allocated
    }
}

extension Benchmark {
    /// Runs the benchmark.
    func measure(_ effort: Effort) throws -> Measurement {
        var stopwatch = Stopwatch(try make())
        try stopwatch.calibrate(effort)
        var times: [Double] = []
        for _ in 0..<effort.repeats { times.append(try stopwatch.nanosecondsPerOperation()) }
        let allocated = try stopwatch.allocations()
        return measurement(times.sorted(), count: stopwatch.operationsPerRepeat, allocated)
    }

    private func measurement(_ times: [Double], count: Int, _ allocated: AllocationCount) -> Measurement {
        let median = times[times.count / 2]
        let allocations = Double(allocated.calls) / Double(count)
        let target = timeTarget?.nanoseconds(payloadByteCount: payloadByteCount)
        return Measurement(
            name: name,
            operation: operation,
            nanoseconds: median,
            fastestNanoseconds: times[0],
            slowestNanoseconds: times[times.count - 1],
            nanosecondsPerByte: payloadByteCount.map { median / Double($0) },
            allocations: allocations,
            allocatedBytes: Double(allocated.bytes) / Double(count),
            operationsPerRepeat: count,
            repeats: times.count,
            targetNanoseconds: target,
            timeGrade: target.map { Grade(median, target: $0) },
            targetAllocations: allocationTarget,
            allocationGrade: allocationTarget.map { Grade(allocations, target: $0) }
        )
    }
}
