import DequeModule
import PebbleProtocol

/// What waits for the emulator: whole messages, each in frames that it takes.
///
/// Only whole messages leave. The firmware counts the bytes of a message and has no other mark of where one ends: after half of
/// one it is out of step for as long as it runs. A frame has 2048 bytes of data at most: a longer one wedges the emulator.
struct EmulatorOutbox: Sendable {
    /// How many bytes may wait. A message that does not fit is refused whole.
    static let limit = 256 * 1024

    private var messages: Deque<[UInt8]> = []
    /// How many bytes wait, those of the frames among them.
    private(set) var byteCount = 0

    /// Whether nothing waits.
    var isEmpty: Bool { messages.isEmpty }

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
        let frame = message.frame
        return append(frame.data[...], as: frame.protocolID)
    }

    private mutating func append(_ data: ArraySlice<UInt8>, as protocolID: QEMUProtocol) -> Bool {
        var bytes: [UInt8] = []
        QEMUFrame.append(data, as: protocolID, to: &bytes)
        guard byteCount + bytes.count <= Self.limit else { return false }
        byteCount += bytes.count
        messages.append(bytes)
        return true
    }

    /// Takes the frames of the oldest message; none when nothing waits.
    mutating func next() -> [UInt8] {
        guard let bytes = messages.popFirst() else { return [] }
        byteCount -= bytes.count
        return bytes
    }

    /// Forgets what waits.
    mutating func removeAll() { self = EmulatorOutbox() }
}
