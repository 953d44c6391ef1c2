import BluetoothHCI
import Faults

/// The faults of the watch itself: of its power, its clock, its store and the like.
///
/// They are there only while one needs them.
struct WatchFaults: Sendable {
    /// An answer of the store's that is late.
    struct LateAnswer: Sendable {
        let id: MemoryChangeID
        let failure: WatchStoreError?
        let due: Duration
    }

    /// What the errors of a store that is not one are about.
    private static let place = "the store (by a fault)"

    var faults = FaultList()
    private(set) var now: Duration = .zero
    var lateAnswers: [LateAnswer] = []
    /// The level that the curve of the battery has reached.
    var batteryPercent: Int?

    /// Whether nothing is there, and nothing is kept back.
    var isIdle: Bool { faults.isEmpty && lateAnswers.isEmpty }

    /// When something is to be done.
    var nextDeadline: Duration? {
        var next = faults.nextDeadline(after: now)
        for answer in lateAnswers { next.lower(to: answer.due) }
        if let curve = faults.atWork(.watch(.battery), at: now) { next.lower(to: nextPercent(of: curve)) }
        return next
    }

    mutating func note(_ now: Duration) { self.now = max(now, self.now) }

    // MARK: Battery

    /// What the battery has now, by a curve.
    func percent(of curve: RunningFault) -> Int {
        let (from, to, over) = Self.shape(of: curve)
        let elapsed = min(over, max(.zero, now - curve.start))
        return from + Int((Double(to - from) * (elapsed / over)).rounded(.towardZero))
    }

    /// When it will have another percent; nil if it has reached the end.
    private func nextPercent(of curve: RunningFault) -> Duration? {
        let (from, to, over) = Self.shape(of: curve)
        let steps = abs(percent(of: curve) - from) + 1
        guard steps <= abs(to - from) else { return nil }
        // A moment later, since the step itself is at the end of its time.
        return max(now, curve.start + over * steps / abs(to - from)) + .milliseconds(1)
    }

    private static func shape(of curve: RunningFault) -> (from: Int, to: Int, over: Duration) {
        let fault = curve.fault
        return (fault.number(.from) ?? 100, fault.number(.to) ?? 0, fault.time(.over) ?? .seconds(60))
    }

    // MARK: Store

    /// What the store says to a change in the stead of carrying it out; nil if it may have it.
    mutating func refusal(of change: MemoryChange) -> WatchStoreError? {
        if fire(.storageFull, "the store has no room for a change") != nil { return .full(path: Self.place) }
        if fire(.storageReadOnly, "the store cannot be written") != nil { return .readOnly(path: Self.place) }
        if fire(.storageCorrupt, "a row of the store is corrupt") != nil {
            return .corrupt(path: Self.place, reason: "a row is damaged")
        }
        return nil
    }

    /// Whether the store's answer is late; it is kept then.
    mutating func holds(_ id: MemoryChangeID, _ failure: WatchStoreError?) -> Bool {
        guard let fault = fire(.storageSlow, "the store takes its time") else { return false }
        lateAnswers.append(LateAnswer(id: id, failure: failure, due: now + (fault.fault.time(.delay) ?? .zero)))
        return true
    }

    /// The answers that are due.
    mutating func takeAnswers() -> [LateAnswer] {
        defer { lateAnswers.removeAll { [now] in $0.due <= now } }
        return lateAnswers.filter { $0.due <= now }
    }

    /// An occasion for a fault, which is told if it fires.
    mutating func fire(_ fault: WatchFault, phone: DeviceAddress? = nil, _ effect: String) -> RunningFault? {
        let fired = faults.fire(.watch(fault), phone: phone, at: now)
        if let fired { faults.tell(fired, effect) }
        return fired
    }
}
