import DequeModule
import PebbleProtocol

/// Names one Pebble Protocol session. Numbers are not used again until the watch restarts.
public struct SessionID: Hashable, Sendable, CustomStringConvertible {
    /// Counted from 1; a restart of the watch begins with 1 again.
    public let number: UInt64

    public var description: String { "session \(number)" }
}

/// What carries a session's bytes; of several, the last one is taken.
public enum SessionTransport: UInt8, Hashable, Sendable, CustomStringConvertible {
    /// PPoGATT on the phone's service: the watch is the GATT client.
    case forwardPPoGATT
    /// PPoGATT on the watch's own service.
    case reversedPPoGATT
    /// An L2CAP channel to the watch's stream.
    case stream
    /// A developer's tool, which takes the watch for the emulator.
    case qemu
    /// A developer's tool on a serial line.
    case serial

    /// Whether a developer's tool is at the other end, not a phone.
    var isTool: Bool { self == .qemu || self == .serial }

    /// Whether both can carry the session of one app: nothing has PPoGATT in two ways, but for two apps.
    func canJoin(_ other: SessionTransport) -> Bool { (self == .stream) != (other == .stream) }

    public var description: String {
        switch self {
        case .forwardPPoGATT: "PPoGATT"
        case .reversedPPoGATT: "reversed PPoGATT"
        case .stream: "the stream"
        case .qemu: "the emulator's port"
        case .serial: "the serial port"
        }
    }
}

/// A conversation with one companion: messages in, messages out, over whatever carries them.
///
/// A session can have several transports at once, and it lives as long as it has one. Inbound, each brings whole
/// messages of its own. Outbound, the best one carries: a better one takes over between two messages, once the old one
/// has delivered what it took, so that messages arrive in their order; and when the carrier is lost, the next best one
/// begins again with the first message that was not delivered whole.
struct Session: Sendable {
    /// Bytes that may wait for the transport before messages are dropped, as the firmware drops what finds no space
    /// in its send queue.
    static let outboundLimit = 64 * 1024

    let id: SessionID
    let kind: SessionKind
    /// The watchapp that the companion belongs to; the system's or the invalid UUID for the Pebble app itself.
    let application: PebbleUUID
    /// What the phone said it can do; empty until it has said so.
    private(set) var phoneCapabilities: Capabilities = []
    private(set) var hasAnnouncedCapabilities = false

    /// What the session runs over, and the message that each is bringing.
    private var deframers = SmallTable<SessionTransport, MessageDeframer>()
    /// What takes the session's messages now.
    private(set) var carrier: SessionTransport

    private struct Outgoing: Sendable {
        /// Where it ends in the outbound stream.
        let end: UInt64
        /// Of an AppMessage whose sender wants to know what becomes of it.
        let ticket: AppMessageTicket?
        /// Whether he knows that the transport has taken it.
        var isToldOf = false
    }

    /// The messages that wait or are on their way, and their bytes, of which those before `start` are waste.
    private var messages: Deque<Outgoing> = []
    private var bytes: [UInt8] = []
    private var start = 0
    /// Places in the outbound stream: where the first message that is kept begins, and what the carrier takes next.
    private var keptFrom: UInt64 = 0
    private var taken: UInt64 = 0

    init(id: SessionID, kind: SessionKind, transport: SessionTransport, application: PebbleUUID) {
        self.id = id
        self.kind = kind
        self.application = application
        carrier = transport
        deframers[transport] = MessageDeframer()
    }

    /// The phone has said what it can do.
    mutating func announce(_ capabilities: Capabilities) {
        phoneCapabilities = capabilities
        hasAnnouncedCapabilities = true
    }

    // MARK: Transports

    /// Whether it is this companion's: one that serves every app is the phone's, whatever it says its app is.
    func isFor(_ destination: PPoGATTDestination) -> Bool {
        kind == .app ? destination.kind == .app && application == destination.application : destination.kind != .app
    }

    /// Whose it is.
    var companion: PPoGATTDestination { PPoGATTDestination(kind: kind, application: application) }

    /// Whether another transport of the same app can carry the session too.
    func canBeJoined(by transport: SessionTransport) -> Bool { deframers.keys.allSatisfy(transport.canJoin) }

    /// Whether it is a developer's tool's.
    var isTool: Bool { carrier.isTool }

    /// Another transport can carry the session from now on.
    mutating func join(_ transport: SessionTransport) { deframers[transport] = MessageDeframer() }

    /// A transport is gone, with the part of a message that it brought.
    /// - Parameter undelivered: how many of the bytes that it took are lost.
    /// - Returns: whether the session has any left.
    mutating func leave(_ transport: SessionTransport, undelivered: Int) -> Bool {
        guard deframers.removeValue(forKey: transport) != nil else { return !deframers.isEmpty }
        guard carrier == transport else { return true }
        forget(deliveredTo: taken - min(taken, UInt64(max(0, undelivered))))
        guard let best else { return false }
        taken = keptFrom
        carrier = best
        return true
    }

    private var best: SessionTransport? { deframers.keys.max { $0.rawValue < $1.rawValue } }

    // MARK: Inbound

    /// Cuts the next message out of what a transport brings.
    /// - Parameter takesAll: whether somebody else decides who may say what.
    mutating func nextMessage(
        from bytes: inout ArraySlice<UInt8>,
        over transport: SessionTransport,
        inRecoveryFirmware isRecovery: Bool = false,
        takesAll: Bool = false
    ) -> MessageDeframer.Item? {
        let kind = kind
        return deframers[transport]?.next(from: &bytes) { header in
            takesAll || header.endpoint.admission(on: kind, inRecoveryFirmware: isRecovery) == .allowed
        }
    }

    /// The header of the message of which a transport has brought only a part. Mutating, so that it works in place.
    mutating func unfinishedHeader(over transport: SessionTransport) -> MessageDeframer.Header? {
        deframers[transport]?.unfinishedHeader
    }

    // MARK: Outbound

    private var end: UInt64 { keptFrom + UInt64(bytes.count - start) }

    /// How many bytes wait for the transport.
    var outboundByteCount: Int { Int(clamping: end - taken) }

    /// Queues a message.
    /// - Returns: false if there was no room, and nothing was queued.
    mutating func send(_ message: PebbleMessage, marking ticket: AppMessageTicket? = nil) -> Bool {
        let length = PebbleMessage.headerLength + message.payload.count
        guard outboundByteCount + length <= Self.outboundLimit else { return false }
        do { try MessageFramer.append(message, to: &bytes) } catch { return false }
        messages.append(Outgoing(end: end, ticket: ticket))
        return true
    }

    /// Hands the oldest bytes, at most `limit` and all of one message, to a transport, if it is the one that carries.
    /// - Parameter undelivered: how many of the bytes that the transport took before are still on their way.
    mutating func takeOutbound(
        over transport: SessionTransport,
        atMost limit: Int,
        undelivered: Int
    ) -> ArraySlice<UInt8> {
        guard transport == carrier else { return [] }
        forget(deliveredTo: taken - min(taken, UInt64(max(0, undelivered))))
        if let best, best != carrier, isBetweenMessages {
            // Nothing more for this one; when it has delivered all, the better one goes on.
            if keptFrom == taken { carrier = best }
            return []
        }
        guard let message = messages.first(where: { $0.end > taken }) else { return [] }
        let count = min(max(0, limit), Int(clamping: message.end - taken))
        guard count > 0 else { return [] }
        let first = start + Int(clamping: taken - keptFrom)
        taken += UInt64(count)
        return bytes[first..<(first + count)]
    }

    /// AppMessages of which no transport has taken every byte.
    var unsentMessages: [AppMessageTicket] { messages.lazy.filter { !$0.isToldOf }.compactMap { $0.ticket } }

    /// AppMessages that are not known to have arrived.
    var undeliveredMessages: [AppMessageTicket] { messages.compactMap(\.ticket) }

    /// The next AppMessage whose last byte a transport has taken, since this was last asked.
    mutating func nextConsumedMessage() -> AppMessageTicket? {
        for index in messages.indices {
            guard messages[index].end <= taken else { return nil }
            guard let ticket = messages[index].ticket, !messages[index].isToldOf else { continue }
            messages[index].isToldOf = true
            return ticket
        }
        return nil
    }

    private var isBetweenMessages: Bool { taken == keptFrom || messages.contains { $0.end == taken } }

    /// Forgets the messages that have been delivered whole.
    private mutating func forget(deliveredTo place: UInt64) {
        while let oldest = messages.first, oldest.end <= place {
            messages.removeFirst()
            start += Int(clamping: oldest.end - keptFrom)
            keptFrom = oldest.end
        }
        // Waste is moved away only when it is as much as what stays, so that each byte moves once at most.
        if start > 0, start * 2 >= bytes.count {
            bytes.removeSubrange(..<start)
            start = 0
        }
    }
}
