import DequeModule

/// Indications of one bearer: one in flight, the others behind it (Core 5.4, Vol 3, Part F, 3.4.7.2).
struct IndicationQueue: Sendable {
    struct Indication: Sendable {
        let value: HandleValue
        let isServiceChanged: Bool
    }

    private var waiting = Deque<Indication>()
    /// The one that waits to leave, or for its confirmation.
    private(set) var inFlight: Indication?
    /// When the confirmation is due.
    private(set) var deadline: Duration?

    /// Queues an indication, which leaves at once if none is in flight.
    /// - Returns: false when the queue is full.
    mutating func append(_ indication: Indication, over bearer: inout ATTBearer, at now: Duration) -> Bool {
        guard waiting.count < GATTLimits.waitingIndications else { return false }
        waiting.append(indication)
        sendNext(over: &bearer, at: now)
        return true
    }

    /// The indication has left: its 30 seconds begin.
    mutating func indicationLeft(at now: Duration) {
        if inFlight != nil { deadline = now + ATT.transactionTimeout }
    }

    /// The indication in flight does not leave.
    mutating func dropInFlight(over bearer: inout ATTBearer, at now: Duration) {
        inFlight = nil
        deadline = nil
        sendNext(over: &bearer, at: now)
    }

    /// A confirmation came.
    /// - Returns: what was confirmed; nil when none was due.
    mutating func confirm(over bearer: inout ATTBearer, at now: Duration) -> Indication? {
        guard let confirmed = inFlight else { return nil }
        dropInFlight(over: &bearer, at: now)
        return confirmed
    }

    /// Whether one of a value waits, or is in flight.
    func contains(_ handle: AttributeHandle) -> Bool {
        inFlight?.value.handle == handle || waiting.contains { $0.value.handle == handle }
    }

    /// Those that were not confirmed, oldest first.
    var unconfirmed: [Indication] { (inFlight.map { [$0] } ?? []) + waiting }

    mutating func removeAll() { self = IndicationQueue() }

    private mutating func sendNext(over bearer: inout ATTBearer, at now: Duration) {
        guard inFlight == nil, let next = waiting.popFirst() else { return }
        inFlight = next
        deadline = now + ATT.transactionTimeout
        let longest = bearer.mtu - 3
        bearer.send(.handleValueIndication) { buffer in
            buffer.append(next.value.handle)
            buffer.append(contentsOf: next.value.value.prefix(longest))
        }
    }
}
