import Logging

/// What the loop runs: something with descriptors to poll, packets to move and deadlines to keep.
public protocol LoopMember: AnyObject {
    /// Begins. Called once, first of all.
    func start(at now: Duration) throws(ProgramError)
    /// Says which descriptors matter in this turn.
    func addPollRequests(to set: inout PollSet)
    /// Reads what the ready ones of those descriptors have.
    func takeInput(_ set: borrowing PollSet, at now: Duration) throws(ProgramError)
    /// Moves packets between machines and descriptors.
    /// - Returns: whether there was more to move than a fair share; the loop comes back without waiting.
    func moveOutput(at now: Duration) throws(ProgramError) -> Bool
    /// Lets time pass.
    func advance(to now: Duration) throws(ProgramError)
    /// When `advance` has something to do next; nil for never.
    var nextDeadline: Duration? { get }
    /// Begins to come to a clean end.
    func beginStop(at now: Duration)
    /// Whether the clean end is reached.
    var isStopped: Bool { get }
}

/// The one loop of the process: it waits for descriptors and deadlines, and then takes input before it sends output, and
/// sends output before it lets time pass, so that an answer that has arrived in time counts even if the loop was late.
public final class EventLoop {
    /// How the loop came to its end.
    public enum Outcome: Hashable, Sendable {
        /// Asked to, and every member ended cleanly.
        case stopped
        /// Asked to, and a member did not come to its end in time.
        case stopTimedOut
        /// A second signal came while the members were ending.
        case killed(StopSignals.Signal)
        /// Nothing read the process's output any more, and every member ended cleanly.
        case readerGone
    }

    /// How long the members have for a clean end.
    public static let defaultStopPatience: Duration = .seconds(3)
    /// The shortest wait when a deadline that has passed does not move: a machine is wrong, but the processor stays free.
    package static let stuckDeadlineWait: Duration = .milliseconds(10)

    /// Called each time before the loop waits: tests look around there.
    package var beforeWaiting: () -> Void = {}
    /// The loop's time.
    public let clock: MonotonicClock
    private let signals: StopSignals?
    private let log: Logger
    private let stopPatience: Duration
    private var members: [any LoopMember] = []
    private var isStopRequested = false
    private var cleanOutcome = Outcome.stopped
    private var stopDeadline: Duration?
    private var stuckDeadline: Duration?
    private var reportedDeadline: Duration?
    /// How many times the loop has waited: tests see by it that it does not spin.
    private(set) var turns = 0

    /// A loop without members. Without `signals` only `requestStop` ends it.
    public init(
        clock: MonotonicClock,
        signals: StopSignals?,
        stopPatience: Duration = defaultStopPatience,
        log: Logger
    ) {
        self.stopPatience = stopPatience
        self.clock = clock
        self.signals = signals
        self.log = log
    }

    /// Adds a member, before `run`.
    public func add(_ member: any LoopMember) { members.append(member) }

    /// Asks every member to come to a clean end; `run` returns when they have, or when their time is over.
    ///
    /// May be called from anywhere in a turn: the members are asked before the loop waits next.
    /// - Parameter outcome: what `run` returns when every member has ended cleanly.
    public func requestStop(as outcome: Outcome = .stopped) {
        if !isStopRequested { cleanOutcome = outcome }
        isStopRequested = true
    }

    private func beginStop() {
        let now = clock.now
        stopDeadline = now + stopPatience
        for member in members { member.beginStop(at: now) }
    }

    /// Runs until a stop is requested or a member fails. It has no members then: some of them know the loop, so that
    /// neither would ever be freed.
    public func run() throws(ProgramError) -> Outcome {
        defer {
            members = []
            beforeWaiting = {}
        }
        // What every turn goes through is kept here: a property of an object is guarded each time. It is a span, since an array's elements
        // are retained and released each time.
        let kept = members
        let members = kept.span
        var set = PollSet()
        for index in members.indices { try members[index].start(at: clock.now) }
        while true {
            if isStopRequested, stopDeadline == nil { beginStop() }
            let isBusy = try Self.moveOutput(of: members, at: clock.now)
            beforeWaiting()
            if isStopRequested, stopDeadline == nil { continue }
            if let deadline = stopDeadline {
                if kept.allSatisfy(\.isStopped) { return cleanOutcome }
                if clock.now >= deadline { return .stopTimedOut }
            }
            let signalToken = prepare(&set, for: members)
            set.wait(atMost: isBusy ? .zero : timeToWait(with: members))
            turns &+= 1
            if let signalToken, set.isReadable(signalToken), let signal = takeSignals() { return .killed(signal) }
            let now = clock.now
            for index in members.indices { try members[index].takeInput(set, at: now) }
            _ = try Self.moveOutput(of: members, at: now)
            for index in members.indices { try members[index].advance(to: now) }
        }
    }

    private static func moveOutput(of members: Span<any LoopMember>, at now: Duration) throws(ProgramError) -> Bool {
        var isBusy = false
        for index in members.indices where try members[index].moveOutput(at: now) { isBusy = true }
        return isBusy
    }

    private func prepare(_ set: inout PollSet, for members: Span<any LoopMember>) -> PollSet.Token? {
        set.removeAll()
        let token = signals.map { set.add($0.descriptor, reading: true, writing: false) }
        for index in members.indices { members[index].addPollRequests(to: &set) }
        return token
    }

    private func timeToWait(with members: Span<any LoopMember>) -> Duration? {
        var earliest = stopDeadline
        for index in members.indices {
            if let deadline = members[index].nextDeadline { earliest = min(earliest ?? deadline, deadline) }
        }
        guard let earliest else { return nil }
        let wait = earliest - clock.now
        guard wait <= .zero else {
            stuckDeadline = nil
            return wait
        }
        // A deadline that is still the earliest after time has passed beyond it.
        guard earliest == stuckDeadline else {
            stuckDeadline = earliest
            return .zero
        }
        if reportedDeadline != earliest { log.warning("a deadline at \(earliest) has passed and does not move") }
        reportedDeadline = earliest
        return Self.stuckDeadlineWait
    }

    /// - Returns: the signal that ends the process at once.
    private func takeSignals() -> StopSignals.Signal? {
        while let signal = signals?.next() {
            if isStopRequested {
                log.notice("\(signal) again: ending at once")
                return signal
            }
            log.notice("\(signal): ending; once more to end at once")
            requestStop()
        }
        return nil
    }
}
