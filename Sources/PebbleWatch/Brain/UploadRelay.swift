import PebbleProtocol

/// Carries a phone's uploads to the firmware, and acknowledges their pieces one ahead.
///
/// A companion sends a piece when the one before is acknowledged. If only the firmware did that, the radio would rest while the
/// firmware reads, and the firmware while the radio carries. So a piece that fits is acknowledged as soon as it is whole and the
/// firmware has answered all before it. What comes next waits until the firmware has answered the piece itself: it has one at a
/// time. The firmware acknowledges pieces early as well, while it has buffers for them.
///
/// Nothing is promised too early: only the firmware answers a commit, which has the checksum of all pieces. If it refuses a piece
/// that was acknowledged, it has given up the upload, and refuses what comes next.
struct UploadRelay: Sendable {
    /// How many bytes may wait.
    private static let limit = 256 * 1024

    /// What the firmware has open.
    private(set) var trace = UploadTrace()
    /// Whether pieces are acknowledged ahead.
    private let runsAhead: Bool
    private var waiting = MessageQueue(limit: limit)
    /// How many messages the firmware has not answered.
    private var unanswered = 0
    /// Whether it has a piece that the phone knows to be acknowledged.
    private var isAhead = false

    init(runsAhead: Bool) { self.runsAhead = runsAhead }

    /// Whether the firmware has answered everything.
    var isAnswered: Bool { unanswered == 0 && waiting.isEmpty }

    /// Takes a message of the phone's.
    /// - Returns: false if there was no room for it.
    mutating func append(_ message: PebbleMessage) -> Bool { waiting.append(message) }

    /// The next message for the firmware, with the acknowledgement that the phone gets at once; nil if there is none.
    mutating func next() -> (message: PebbleMessage, acknowledgement: PebbleMessage?)? {
        guard !isAhead, let message = waiting.next() else { return nil }
        defer { unanswered += 1 }
        guard let name = trace.sent(message.payload), runsAhead, unanswered == 0 else { return (message, nil) }
        isAhead = true
        return (message, PebbleMessage(PutBytesResponse.acknowledgement(name)))
    }

    /// The firmware has answered a message.
    /// - Returns: whether the answer is for the phone.
    mutating func answered(_ payload: [UInt8]) -> Bool {
        trace.answered(payload)
        unanswered = max(0, unanswered - 1)
        defer { isAhead = false }
        return !isAhead
    }
}
