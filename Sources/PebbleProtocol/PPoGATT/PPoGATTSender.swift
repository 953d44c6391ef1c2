import DequeModule

/// The outbound half of a session: the stream that waits, and the packets that were sent and are not acknowledged.
///
/// Go-back-N: after a time-out everything that is not acknowledged is sent again, with the same sequence numbers and
/// cut the same way, because the other side may have received any of it.
struct PPoGATTSender: Sendable {
    /// What an acknowledgement did.
    enum Outcome: Equatable {
        /// So many bytes have arrived at last.
        case progress(byteCount: Int)
        /// It repeats the last one.
        case duplicate
        /// It names a packet that is not on its way.
        case outOfRange
    }

    /// A packet to send, whose payload is in the stream.
    struct Fragment {
        let number: PPoGATTSequenceNumber
        let payload: ArraySlice<UInt8>
        let isRetransmission: Bool
    }

    /// How many packets may be on their way.
    var window = 0
    private let capacity: Int
    /// The stream from the first unacknowledged byte on begins at `start`; what precedes it is waste.
    private var stream: [UInt8] = []
    private var start = 0
    /// The lengths of the packets that were sent at least once and are not acknowledged, oldest first.
    private var lengths: Deque<Int> = []
    /// How many of them are on their way: fewer than all after a roll-back.
    private var inFlightCount = 0
    private var inFlightByteCount = 0
    /// The sequence number of the oldest unacknowledged packet, sent or not.
    private(set) var oldestNumber = PPoGATTSequenceNumber.zero

    init(capacity: Int) { self.capacity = capacity }

    /// How many bytes are stored: those that wait, and those that were sent and are not acknowledged.
    var byteCount: Int { stream.count - start }

    /// How many bytes can be added.
    var writableByteCount: Int { max(0, capacity - byteCount) }

    /// Whether packets were sent that are not acknowledged.
    var hasUnacknowledgedPackets: Bool { !lengths.isEmpty }

    /// Adds as much as there is room for.
    /// - Returns: how many bytes that was.
    mutating func write(_ bytes: ArraySlice<UInt8>) -> Int {
        let accepted = bytes.prefix(writableByteCount)
        // Waste is moved away only when it is as much as what stays, so that each byte moves once at most.
        if start >= capacity, start >= byteCount {
            stream.removeSubrange(..<start)
            start = 0
        }
        stream += accepted
        return accepted.count
    }

    /// The next packet to send, if the window has room and the stream has bytes; it then counts as sent.
    ///
    /// A packet that was cut for a larger MTU waits until it fits again, or until its time-out.
    mutating func nextFragment(maximumLength: Int) -> Fragment? {
        guard inFlightCount < window else { return nil }
        let isRetransmission = inFlightCount < lengths.count
        let length =
            isRetransmission ? lengths[inFlightCount] : min(maximumLength, byteCount - inFlightByteCount)
        guard length > 0, length <= maximumLength else { return nil }
        let offset = start + inFlightByteCount
        let fragment = Fragment(
            number: oldestNumber.advanced(by: inFlightCount),
            payload: stream[offset..<(offset + length)],
            isRetransmission: isRetransmission
        )
        if !isRetransmission { lengths.append(length) }
        inFlightCount += 1
        inFlightByteCount += length
        return fragment
    }

    /// Takes a cumulative acknowledgement. One that was overtaken by a roll-back counts too: what it acknowledges is
    /// not sent again.
    mutating func acknowledge(_ number: PPoGATTSequenceNumber) -> Outcome {
        let index = oldestNumber.distance(to: number)
        guard index < lengths.count else { return number == oldestNumber.previous ? .duplicate : .outOfRange }
        let packetCount = index + 1
        let byteCount = lengths.prefix(packetCount).reduce(0, +)
        let inFlightAcknowledgedByteCount = lengths.prefix(min(packetCount, inFlightCount)).reduce(0, +)
        lengths.removeFirst(packetCount)
        inFlightCount = max(0, inFlightCount - packetCount)
        inFlightByteCount -= inFlightAcknowledgedByteCount
        start += byteCount
        if start == stream.count {
            stream.removeAll(keepingCapacity: true)
            start = 0
        }
        oldestNumber = number.next
        return .progress(byteCount: byteCount)
    }

    /// Everything that is not acknowledged will be sent again.
    mutating func rollBack() {
        inFlightCount = 0
        inFlightByteCount = 0
    }

    /// Forgets the stream and starts counting again.
    mutating func reset() {
        stream.removeAll(keepingCapacity: true)
        start = 0
        lengths.removeAll(keepingCapacity: true)
        rollBack()
        oldestNumber = .zero
        window = 0
    }
}
