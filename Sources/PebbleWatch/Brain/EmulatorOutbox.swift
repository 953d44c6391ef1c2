import DequeModule
import PebbleProtocol

/// What waits for the emulator: whole messages, each in frames that it takes, and the next of them when it has read the last.
///
/// Only whole messages leave. The firmware counts the bytes of a message and has no other mark of where one ends: after half of
/// one it is out of step for as long as it runs. A frame has 2048 bytes of data at most: a longer one wedges the emulator.
///
/// The emulator's port is deaf for good when bytes reach it at the wrong moment: the firmware clears an interrupt that it does not
/// serve when its main task begins to read, or when its 2175 bytes of room are full. So one batch is on its way at a time. At its
/// end the firmware is asked how much room it has for the accelerometer, which it answers in order, when it has read all before.
/// A firmware that has never answered gets pauses instead.
struct EmulatorOutbox: Sendable {
    /// How many bytes may wait. A message that does not fit is refused whole.
    static let limit = 256 * 1024
    /// How many bytes the emulator hands to the firmware at once. A batch's last ones have to come together: its frame ends in them,
    /// and the main task begins to read.
    static let piece = 256
    /// How long a firmware that does not answer has for a batch.
    static let pause: Duration = .milliseconds(100)

    private struct Message: Sendable {
        var protocolID: QEMUProtocol
        /// What of it has not left.
        var rest: ArraySlice<UInt8>
        /// Whether a part of it has left.
        var hasBegun = false
    }

    private var messages: Deque<Message> = []
    /// How many bytes wait.
    private(set) var byteCount = 0
    /// How many questions have not been answered.
    private var unanswered = 0
    /// Whether the firmware has answered one.
    private var hasAnswered = false
    /// When the next batch may leave without an answer.
    private var pauseEnd: Duration?
    /// What the firmware answers: what its accelerometer measured last, once more, because it forgets what it was told before.
    private var question = QEMUMessage.accelerometer([]).frame

    /// Whether nothing waits.
    var isEmpty: Bool { messages.isEmpty }

    /// Whether nothing waits, and the firmware has read what has left, as far as it says so.
    var isAtRest: Bool { messages.isEmpty && !(hasAnswered && unanswered > 0) }

    /// Whether something can leave now.
    var canSend: Bool { !messages.isEmpty && (hasAnswered ? unanswered == 0 : pauseEnd == nil) }

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
        if case .accelerometer(let samples) = message {
            question = QEMUMessage.accelerometer(Array(samples.suffix(1))).frame
        }
        let frame = message.frame
        return append(frame.data[...], as: frame.protocolID)
    }

    private mutating func append(_ data: ArraySlice<UInt8>, as protocolID: QEMUProtocol) -> Bool {
        guard byteCount + data.count <= Self.limit else { return false }
        byteCount += data.count
        messages.append(Message(protocolID: protocolID, rest: data))
        return true
    }

    /// The firmware has answered a question.
    mutating func wasAnswered() {
        // What was asked before its first answer may have been asked of nobody.
        unanswered = hasAnswered ? max(0, unanswered - 1) : 0
        hasAnswered = true
        pauseEnd = nil
    }

    /// Forgets what waits.
    mutating func removeAll() { self = EmulatorOutbox() }

    // MARK: What leaves

    /// Takes the next batch, whole frames; none when nothing waits, or the firmware has to read first.
    mutating func next(at now: Duration) -> [UInt8] {
        guard canSend else { return [] }
        var bytes: [UInt8] = []
        var asks = false
        repeat { asks = takeFrame(into: &bytes) } while !asks && hasNext(besides: bytes.count)
        if !asks { QEMUFrame.append(question.data[...], as: question.protocolID, to: &bytes) }
        unanswered += 1
        if !hasAnswered { pauseEnd = now + Self.pause }
        return bytes
    }

    /// Takes the oldest message, or as much of it as a frame holds.
    /// - Returns: whether the firmware answers it.
    private mutating func takeFrame(into bytes: inout [UInt8]) -> Bool {
        guard var message = messages.popFirst() else { return false }
        var data = message.rest.prefix(QEMUFrame.maximumDataLength)
        if message.protocolID == .spp { data = data.dropLast(overhang(of: data.count)) }
        QEMUFrame.append(data, as: message.protocolID, to: &bytes)
        byteCount -= data.count
        message.rest = message.rest[data.endIndex...]
        message.hasBegun = true
        if !message.rest.isEmpty { messages.prepend(message) }
        return message.protocolID == .accelerometer
    }

    /// How many bytes of data are too many for the question to come together with the end of their frame.
    private func overhang(of count: Int) -> Int {
        let end = (QEMUFrame.overhead + count - 1) % Self.piece + 1
        return max(0, end + questionLength - Self.piece)
    }

    /// Whether the next message goes with a batch, so that all of it comes at once.
    private func hasNext(besides count: Int) -> Bool {
        guard let next = messages.first else { return false }
        return count + QEMUFrame.overhead + next.rest.count + questionLength <= Self.piece
    }

    private var questionLength: Int { QEMUFrame.overhead + question.data.count }

    // MARK: Time

    /// When `advance` has something to do.
    var nextDeadline: Duration? { messages.isEmpty ? nil : pauseEnd }

    /// Lets time pass.
    mutating func advance(to now: Duration) {
        if let end = pauseEnd, end <= now { pauseEnd = nil }
    }
}
