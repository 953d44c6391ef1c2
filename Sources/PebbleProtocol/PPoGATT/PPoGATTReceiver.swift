/// The inbound half of a session: which data packet comes next, and which acknowledgement is due.
struct PPoGATTReceiver: Sendable {
    /// What a data packet is.
    enum Verdict: Equatable {
        case inOrder
        case duplicate
        case outOfOrder
    }

    /// When an acknowledgement is sent.
    private enum Policy {
        case immediate
        case coalesced(threshold: Int, delay: Duration)
    }

    private var policy = Policy.immediate
    private var expectedNumber = PPoGATTSequenceNumber.zero
    private var hasReceivedData = false
    private var pendingAcknowledgement: PPoGATTSequenceNumber?
    private var isAcknowledgementDue = false
    private var heldBackCount = 0
    /// When the acknowledgement that is held back must go out.
    private(set) var deadline: Duration?

    /// Starts to count, with nothing received.
    mutating func reset(version: PPoGATTVersion, rule: PPoGATTRules.Acknowledgement, window: Int) {
        self = PPoGATTReceiver()
        if version >= .v1, case .coalesced(let delay) = rule {
            // Half a window ahead of the moment in which the other side would have to wait.
            policy = .coalesced(threshold: window / 2, delay: delay)
        }
    }

    /// Judges a data packet, and remembers to acknowledge it if it is the next one.
    mutating func receive(
        _ number: PPoGATTSequenceNumber,
        at now: Duration,
        repeatsAcknowledgement: Bool
    ) -> Verdict {
        guard number == expectedNumber else {
            if repeatsAcknowledgement, hasReceivedData {
                pendingAcknowledgement = expectedNumber.previous
                isAcknowledgementDue = true
            }
            let isBehind = number.distance(to: expectedNumber) <= Int(PPoGATTWindows.maximum) / 2
            return isBehind && hasReceivedData ? .duplicate : .outOfOrder
        }
        hasReceivedData = true
        expectedNumber = number.next
        pendingAcknowledgement = number
        switch policy {
        case .immediate: isAcknowledgementDue = true
        case .coalesced(_, let delay):
            if deadline == nil { deadline = now + delay }
            countOpportunity()
        }
        return .inOrder
    }

    /// Called whenever a packet could be sent. A watch counts each time that it holds an acknowledgement back, and
    /// does so no longer once the count reaches half a window: acknowledgements leave earlier while data are sent.
    mutating func countOpportunity() {
        guard pendingAcknowledgement != nil, case .coalesced(let threshold, _) = policy else { return }
        heldBackCount += 1
        if heldBackCount >= threshold { isAcknowledgementDue = true }
    }

    /// Makes an acknowledgement that was held back due if its time has come.
    mutating func advance(to now: Duration) {
        guard let deadline, deadline <= now else { return }
        self.deadline = nil
        isAcknowledgementDue = pendingAcknowledgement != nil
    }

    /// Takes the acknowledgement that is due.
    mutating func takeAcknowledgement() -> PPoGATTSequenceNumber? {
        guard isAcknowledgementDue, let number = pendingAcknowledgement else { return nil }
        pendingAcknowledgement = nil
        isAcknowledgementDue = false
        heldBackCount = 0
        deadline = nil
        return number
    }
}
