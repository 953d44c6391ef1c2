import DequeModule
import PebbleProtocol

/// What waits for the emulator: whole messages, each in frames that it takes, and no more of them at once than the firmware has
/// room for.
///
/// Only whole messages leave. The firmware counts the bytes of a message and has no other mark of where one ends: after half of
/// one it is out of step for as long as it runs. A frame has 2048 bytes of data at most: a longer one wedges the emulator.
///
/// The firmware keeps 2175 bytes of its port until its main task reads them, however long that takes. When they are full once, the
/// emulator's port never interrupts the firmware again. So bytes that may be unread are counted, and after some of them the
/// firmware is asked for an answer: how much room it has for the accelerometer. It answers that in order, and has then read
/// all before it. A firmware that does not answer gets pauses instead.
struct EmulatorOutbox: Sendable {
    /// How many bytes may wait. A message that does not fit is refused whole.
    static let limit = 256 * 1024
    /// How many bytes the firmware may have to read, those of the frames among them.
    static let window = 2112
    /// After so many bytes the firmware is asked to say that it has read them. Two such parts fit at once: one is read while the
    /// other is on its way.
    static let part = 1024
    /// How long a firmware that does not answer has for what fits at once.
    static let pause: Duration = .milliseconds(100)

    private struct Message: Sendable {
        var protocolID: QEMUProtocol
        /// What of it has not left.
        var rest: ArraySlice<UInt8>
        /// Whether a part of it has left.
        var hasBegun = false
    }

    /// Bytes that the firmware will have read when it answers.
    private struct Mark: Sendable {
        var byteCount: Int
        /// When they are taken for read without an answer; nil if never.
        var end: Duration?
    }

    private var messages: Deque<Message> = []
    /// How many bytes wait.
    private(set) var byteCount = 0
    private var marks: Deque<Mark> = []
    /// How many bytes have left since the last mark.
    private var unmarked = 0
    /// What the firmware answers: what its accelerometer measured last, once more, because it forgets what it was told before.
    private var question = QEMUMessage.accelerometer([])
    /// Whether it has answered.
    private var hasAnswered = false
    private var isPaced = false

    /// Whether nothing waits.
    var isEmpty: Bool { messages.isEmpty }

    /// Whether something can leave now.
    var canSend: Bool {
        guard let message = messages.first else { return false }
        return fits(message) || marks.isEmpty
    }

    /// Whether a message has left in part.
    var isInMessage: Bool { messages.first?.hasBegun == true }

    /// Queues a message of the Pebble Protocol.
    /// - Returns: false if there was no room, and nothing was queued.
    mutating func append(_ message: PebbleMessage) -> Bool {
        var stream: [UInt8] = []
        do { try MessageFramer.append(message, to: &stream) } catch { return false }
        return append(stream[...], as: .spp)
    }

    /// Queues what is said to the emulator itself, such as that a button is down.
    /// - Returns: false if there was no room, and nothing was queued.
    @discardableResult
    mutating func append(_ message: QEMUMessage) -> Bool {
        if case .accelerometer(let samples) = message { question = .accelerometer(Array(samples.suffix(1))) }
        let frame = message.frame
        return append(frame.data[...], as: frame.protocolID)
    }

    private mutating func append(_ data: ArraySlice<UInt8>, as protocolID: QEMUProtocol) -> Bool {
        guard byteCount + data.count <= Self.limit else { return false }
        byteCount += data.count
        messages.append(Message(protocolID: protocolID, rest: data))
        return true
    }

    /// Queues a question whose answer shows whether the firmware answers at all.
    mutating func ask() { append(question) }

    /// The firmware has read all that was sent, and would have answered by now.
    mutating func wasRead() {
        isPaced = !hasAnswered
        marks = []
        unmarked = 0
    }

    /// The firmware has answered.
    mutating func wasAnswered() {
        hasAnswered = true
        isPaced = false
        _ = marks.popFirst()
    }

    /// Forgets what waits.
    mutating func removeAll() { self = EmulatorOutbox() }

    // MARK: What leaves

    /// Takes the next bytes, whole frames; none when nothing waits, or the firmware has to read first.
    mutating func next(at now: Duration) -> [UInt8] {
        guard var message = messages.first else { return [] }
        var bytes: [UInt8] = []
        guard fits(message) else {
            if marks.isEmpty { mark(&bytes, at: now) }
            return bytes
        }
        let data = Self.nextPart(of: message)
        QEMUFrame.append(data, as: message.protocolID, to: &bytes)
        unmarked += bytes.count
        if message.protocolID == .accelerometer { mark(at: now) }
        if unmarked >= Self.part { mark(&bytes, at: now) }
        byteCount -= data.count
        message.rest = message.rest[data.endIndex...]
        message.hasBegun = true
        if message.rest.isEmpty { messages.removeFirst() } else { messages[messages.startIndex] = message }
        return bytes
    }

    /// A message leaves at once if a frame holds it. A longer one leaves in parts.
    private static func nextPart(of message: Message) -> ArraySlice<UInt8> {
        let isShort = !message.hasBegun && message.rest.count <= QEMUFrame.maximumDataLength
        return isShort ? message.rest : message.rest.prefix(part)
    }

    private func fits(_ message: Message) -> Bool {
        let unread = marks.reduce(unmarked) { $0 + $1.byteCount }
        let question = QEMUFrame.overhead + question.frame.data.count
        return unread + QEMUFrame.overhead + Self.nextPart(of: message).count + question <= Self.window
    }

    private mutating func mark(_ bytes: inout [UInt8], at now: Duration) {
        let count = bytes.count
        let frame = question.frame
        QEMUFrame.append(frame.data[...], as: frame.protocolID, to: &bytes)
        unmarked += bytes.count - count
        mark(at: now)
    }

    private mutating func mark(at now: Duration) {
        marks.append(Mark(byteCount: unmarked, end: isPaced ? now + Self.pause : nil))
        unmarked = 0
    }

    // MARK: Time

    /// When `advance` has something to do.
    var nextDeadline: Duration? { marks.first?.end }

    /// Lets time pass.
    mutating func advance(to now: Duration) {
        while let end = marks.first?.end, end <= now { marks.removeFirst() }
    }
}
