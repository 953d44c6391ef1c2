import BluetoothHCI

/// The faults that are there at one seam, and what they have done.
public struct FaultList: Sendable {
    /// The most faults that there can be at one seam.
    public static let limit = 64
    /// The most firings that wait to be told; beyond it the oldest are lost.
    private static let firingLimit = 1024

    /// The faults, in the order in which they were added. The first that fires at an occasion has it.
    public private(set) var running: [RunningFault] = []
    private var firings: [FaultFiring] = []

    /// No faults.
    public init() {}

    /// Whether nothing is there, and nothing waits to be told.
    public var isEmpty: Bool { running.isEmpty && firings.isEmpty }

    /// Adds a fault.
    /// - Throws: `FaultError.tooMany`.
    package mutating func add(_ fault: Fault, as id: FaultID, at now: Duration) throws(FaultError) {
        guard running.count < Self.limit else { throw .tooMany(Self.limit) }
        running.append(RunningFault(id, fault, at: now))
    }

    /// Takes a fault away.
    /// - Parameter id: which one; nil for all.
    /// - Returns: whether it was there.
    @discardableResult
    package mutating func clear(_ id: FaultID?) -> Bool {
        let count = running.count
        if let id { running.removeAll { $0.id == id } } else { running = [] }
        return running.count < count
    }

    /// Takes away the faults that can never fire again.
    /// - Returns: them.
    package mutating func removeOver(at now: Duration) -> [RunningFault] {
        guard running.contains(where: { $0.isOver(at: now) }) else { return [] }
        let over = running.filter { $0.isOver(at: now) }
        running.removeAll { $0.isOver(at: now) }
        return over
    }

    /// When one of them begins, may fire by itself, or ends: the next of these after `now`.
    package func nextDeadline(after now: Duration) -> Duration? {
        running.lazy.compactMap { $0.nextDeadline(after: now) }.min()
    }

    /// The first fault of a kind that is at work, for a phone. It does not fire by that.
    package func atWork(_ kind: FaultKind, phone: DeviceAddress? = nil, at now: Duration) -> RunningFault? {
        running.first { $0.fault.kind == kind && $0.isAtWork(at: now) && ($0.fault.phone ?? phone) == phone }
    }

    /// Whether a fault of a kind is at work, for a phone. It does not fire by that.
    package func isAtWork(_ kind: FaultKind, phone: DeviceAddress? = nil, at now: Duration) -> Bool {
        atWork(kind, phone: phone, at: now) != nil
    }

    /// Where the faults of a kind are in `running`, in order.
    package func indices(of kind: FaultKind) -> [Int] { running.indices.filter { running[$0].fault.kind == kind } }

    /// An occasion for the faults of a kind.
    /// - Parameters:
    ///   - phone: the phone that it is about.
    ///   - matches: whether the occasion is what the fault looks for.
    /// - Returns: the fault that fires, whose effect is to be told with `tell`; nil if none does.
    package mutating func fire(
        _ kind: FaultKind,
        phone: DeviceAddress? = nil,
        at now: Duration,
        where matches: (Fault) -> Bool = { _ in true }
    ) -> RunningFault? {
        for index in running.indices where running[index].fault.kind == kind && matches(running[index].fault) {
            if running[index].fires(at: now, phone: phone) { return running[index] }
        }
        return nil
    }

    /// Changes what a fault has counted.
    package mutating func update<Result>(_ index: Int, _ body: (inout RunningFault) -> Result) -> Result {
        body(&running[index])
    }

    /// Says what a fault has done.
    package mutating func tell(_ fault: RunningFault, on connection: ConnectionHandle? = nil, _ effect: String) {
        if firings.count >= Self.firingLimit { firings.removeFirst() }
        firings.append(FaultFiring(fault, on: connection, effect))
    }

    /// The oldest firing that has not been told.
    package mutating func nextFiring() -> FaultFiring? { firings.isEmpty ? nil : firings.removeFirst() }
}
