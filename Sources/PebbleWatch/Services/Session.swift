import PebbleProtocol

/// Names one Pebble Protocol session for as long as the watch runs; numbers are not used again.
public struct SessionID: Hashable, Sendable, CustomStringConvertible {
    public let number: UInt64

    public var description: String { "session \(number)" }
}

/// What carries a session's bytes.
public enum SessionTransport: Hashable, Sendable, CustomStringConvertible {
    /// PPoGATT on the phone's service: the watch is the GATT client.
    case forwardPPoGATT
    /// PPoGATT on the watch's own service.
    case reversedPPoGATT

    public var description: String {
        switch self {
        case .forwardPPoGATT: "PPoGATT"
        case .reversedPPoGATT: "reversed PPoGATT"
        }
    }
}

/// A byte stream to one companion, cut into messages one way and filled with messages the other way.
struct Session: Sendable {
    /// Bytes that may wait for the transport before messages are dropped, as the firmware drops what finds no space
    /// in its send queue.
    static let outboundLimit = 64 * 1024

    let id: SessionID
    let kind: SessionKind
    let transport: SessionTransport
    /// The watchapp that the companion belongs to; the system's or the invalid UUID for the Pebble app itself.
    let application: PebbleUUID
    /// What the phone said it can do; empty until it has said so.
    var phoneCapabilities: Capabilities = []
    var hasAnnouncedCapabilities = false
    var deframer = MessageDeframer()

    /// An AppMessage whose bytes end at this place in the outbound stream.
    private struct Mark: Sendable {
        let end: UInt64
        let ticket: AppMessageTicket
    }

    private var outbound: [UInt8] = []
    private var outboundStart = 0
    private var marks: [Mark] = []
    /// Bytes that the transport has taken since the session opened.
    private var takenByteCount: UInt64 = 0

    init(id: SessionID, kind: SessionKind, transport: SessionTransport, application: PebbleUUID) {
        self.id = id
        self.kind = kind
        self.transport = transport
        self.application = application
    }

    /// How many bytes wait for the transport.
    var outboundByteCount: Int { outbound.count - outboundStart }

    /// Queues a message.
    /// - Returns: false if there was no room, and nothing was queued.
    mutating func send(_ message: PebbleMessage, marking ticket: AppMessageTicket? = nil) -> Bool {
        let length = PebbleMessage.headerLength + message.payload.count
        guard outboundByteCount + length <= Self.outboundLimit else { return false }
        do { try MessageFramer.append(message, to: &outbound) } catch { return false }
        if let ticket {
            marks.append(Mark(end: takenByteCount + UInt64(outboundByteCount), ticket: ticket))
        }
        return true
    }

    /// Hands the oldest bytes, at most `limit`, to the transport.
    mutating func takeOutbound(atMost limit: Int) -> ArraySlice<UInt8> {
        let count = min(limit, outboundByteCount)
        guard count > 0 else { return [] }
        let taken = outbound[outboundStart..<(outboundStart + count)]
        outboundStart += count
        takenByteCount += UInt64(count)
        if outboundStart == outbound.count {
            outbound = []
            outboundStart = 0
        }
        return taken
    }

    /// AppMessages of which the transport has not taken every byte.
    var unsentMessages: [AppMessageTicket] { marks.map(\.ticket) }

    /// The next AppMessage whose last byte the transport has taken since this was last asked.
    mutating func nextConsumedMessage() -> AppMessageTicket? {
        guard let mark = marks.first, mark.end <= takenByteCount else { return nil }
        marks.removeFirst()
        return mark.ticket
    }
}
