import BluetoothHCI
import BluetoothHost

/// Links that come and go: a watch and a bonded phone, which connect, secure the link, open a session, exchange a
/// message, and lose each other again, over and over.
struct Cycles {
    /// How a link ends.
    private enum Ending: CaseIterable {
        /// The phone ends it.
        case phone
        /// Both are out of range until they have noticed.
        case range
        /// The phone ends it before anything has happened on it.
        case early
        case phoneAgain
    }

    private var pair: BenchPair
    private var count = 0

    /// As much simulated time must be enough for a message.
    private static let patience: Duration = .seconds(120)
    /// How long the phone stays away, and so long both need to notice that they are out of range.
    private static let absence: Duration = .seconds(1)
    private static let rangeAbsence: Duration = .seconds(10)

    init() throws {
        pair = try BenchPair(bonded: WatchPolicy(profile: .pebble), .foreground)
        pair.onPhone { phone, now in phone.host.disconnect(at: now) }
        pair.run(for: Self.absence)
    }

    /// Goes through so many cycles; between them there is no link.
    mutating func run(_ count: Int) throws(WorkloadFailure) {
        for _ in 0..<count {
            self.count += 1
            try cycle(Ending.allCases[self.count % Ending.allCases.count])
        }
    }

    private mutating func cycle(_ ending: Ending) throws(WorkloadFailure) {
        pair.onPhone { phone, now in
            phone.expectMessage()
            phone.connectToWatch(at: now)
        }
        if ending == .early {
            let time = pair.runUntilPhone(within: Self.patience) { $0.milestones.connected != nil }
            guard time != nil else { throw failure("no link came") }
        } else {
            guard pair.runUntilAcknowledged(within: Self.patience) != nil else {
                throw failure("no message came through")
            }
        }
        if ending == .range {
            pair.setInRange(false)
            pair.run(for: Self.rangeAbsence)
        }
        pair.onPhone { phone, now in phone.host.disconnect(at: now) }
        pair.run(for: Self.absence)
        pair.setInRange(true)
    }

    private func failure(_ what: String) -> WorkloadFailure { WorkloadFailure("\(what) in cycle \(count)") }
}

/// What cycles left behind.
struct CycleReport {
    let warmUp: Int
    let count: Int
    let before: HeapUse
    let after: HeapUse

    /// By how many bytes as many blocks may differ.
    ///
    /// The C library gives a block 16 bytes more than usual when what would be left of the place is too small for another block:
    /// which of the thousand or so blocks have them changes from cycle to cycle, and with the order in which a run's dictionaries
    /// have their keys. Up to 64 bytes were seen. A buffer that grows by three bytes a cycle is found all the same; in ten thousand
    /// cycles, one that grows by a byte in forty.
    static let roundingLimit: Int64 = 16 * 16

    /// Whether all is as it was: no block more or less, and nothing that grew.
    var isGood: Bool { before.blocks == after.blocks && abs(after.bytes - before.bytes) <= Self.roundingLimit }

    var text: String {
        """
        after \(warmUp) cycles: \(before)
        after \(count) more:   \(after)
        left behind: \(after - before)
        """
    }

    /// Runs cycles until everything has its size, and then those that count.
    static func measure(warmUp: Int, count: Int) throws -> CycleReport {
        try AllocationCounterCheck.run()
        var cycles = try Cycles()
        try cycles.run(warmUp)
        let before = HeapUse.now
        try cycles.run(count)
        return CycleReport(warmUp: warmUp, count: count, before: before, after: HeapUse.now)
    }
}
