import BluetoothHost
import ByteCoding
import DequeModule
import PebbleProtocol

/// The phone's end of one Pebble Protocol session: bytes in, bytes out, and what they mean.
struct PhoneSession: Sendable {
    /// Bytes that may wait for the transport before commands are refused.
    static let outboundLimit = 64 * 1024
    /// How long the watch has to acknowledge a dictionary (libpebble3).
    static let appMessageTimeout: Duration = .seconds(10)
    /// How long the watch has to answer a ping (pebble-tool).
    static let pingTimeout: Duration = .seconds(15)
    /// Dictionaries, and pings, that may be under way at once.
    static let outstandingLimit = 16

    private struct Outstanding<ID: Hashable & Sendable>: Sendable {
        let id: ID
        let sentAt: Duration
    }

    private(set) var negotiation: Negotiation
    /// Whether dictionaries from the watch are acknowledged.
    private let acknowledges: Bool
    private var deframer = MessageDeframer()
    private var outbound: [UInt8] = []
    private var outboundStart = 0
    /// Oldest first, so that the first is the next to time out.
    private var pushes: Deque<Outstanding<AppMessageTransactionID>> = []
    private var pings: Deque<Outstanding<UInt32>> = []
    private var nextTransaction: AppMessageTransactionID = 1
    private var events: Deque<PhoneEvent> = []

    init(of phone: PhoneVersion, by clock: PhoneClock, with defects: Set<PhoneDefect> = [], from now: Duration) {
        negotiation = Negotiation(of: phone, by: defects.contains(.neverSetsTime) ? nil : clock, from: now)
        acknowledges = !defects.contains(.neverAcknowledges)
    }

    /// The next event.
    mutating func nextEvent() -> PhoneEvent? { events.popFirst() }

    /// The session is over: what is under way fails.
    mutating func close(at now: Duration) {
        while let push = pushes.popFirst() {
            events.append(.appMessageEnded(push.id, .cancelled, after: now - push.sentAt))
        }
        pings.removeAll()
    }
}

// MARK: - Sending

extension PhoneSession {
    /// Bytes that wait for the transport.
    var outboundBytes: ArraySlice<UInt8> { outbound[outboundStart...] }

    /// The transport has taken bytes off the front of `outboundBytes`.
    mutating func removeOutbound(_ count: Int) {
        outboundStart += min(max(0, count), outbound.count - outboundStart)
        guard outboundStart == outbound.count else { return }
        outbound.removeAll(keepingCapacity: true)
        outboundStart = 0
    }

    /// Queues a message.
    /// - Throws: `.queueFull`, with nothing queued, when too much waits already; `.messageTooLong`.
    mutating func send(_ message: PebbleMessage) throws(PhoneCommandError) {
        guard outbound.count - outboundStart + PebbleMessage.headerLength + message.payload.count <= Self.outboundLimit
        else { throw .queueFull }
        do { try MessageFramer.append(message, to: &outbound) } catch { throw .messageTooLong }
        events.append(.message(.toWatch, message))
    }

    /// Sends a dictionary to a watchapp.
    mutating func sendAppMessage(
        _ dictionary: AppMessageDictionary,
        to application: PebbleUUID,
        at now: Duration
    ) throws(PhoneCommandError) -> AppMessageTransactionID {
        guard pushes.count < Self.outstandingLimit else { throw .queueFull }
        let id = nextTransaction
        let push = AppMessagePush(transaction: id, application: application, dictionary: dictionary)
        try send(PebbleMessage(AppMessage.push(push)))
        nextTransaction = id.next
        pushes.append(Outstanding(id: id, sentAt: now))
        return id
    }

    /// Asks whether the watch is alive.
    mutating func ping(cookie: UInt32, at now: Duration) throws(PhoneCommandError) {
        guard pings.count < Self.outstandingLimit else { throw .queueFull }
        try send(PebbleMessage(PingMessage.ping(cookie: cookie, isIdle: false)))
        pings.append(Outstanding(id: cookie, sentAt: now))
    }

    /// Sends what needs no answer, or is an answer; when there is no room the watch asks again or does without.
    private mutating func reply(_ message: PebbleMessage) {
        do {
            try send(message)
        } catch {
            log("\(message.endpoint) was not sent: \(error)")
        }
    }

    private mutating func log(_ message: String) {
        events.append(.diagnostic(Diagnostic(severity: .warning, layer: .session, message: message)))
    }
}

// MARK: - Receiving

extension PhoneSession {
    /// Takes bytes that the transport received.
    mutating func receive(_ bytes: ArraySlice<UInt8>, at now: Duration) {
        var rest = bytes
        while case .message(let message)? = deframer.next(from: &rest) {
            events.append(.message(.fromWatch, message))
            receive(message, at: now)
        }
    }

    private mutating func receive(_ message: PebbleMessage, at now: Duration) {
        do throws(ByteDecodingError) {
            switch message.endpoint {
            case .appMessage: try receive(AppMessage(payload: message.payload), at: now)
            case .ping: try receive(PingMessage(payload: message.payload), at: now)
            default: break
            }
        } catch {
            log("\(message.endpoint): \(error)")
        }
        negotiate(at: now) { $0.receive(message, at: now, &$1) }
    }

    private mutating func receive(_ message: AppMessage, at now: Duration) {
        switch message {
        case .push(let push):
            if acknowledges { reply(PebbleMessage(AppMessage.acknowledgement(push.transaction))) }
            events.append(.appMessageReceived(push))
        case .acknowledgement(let id):
            end(id, .acknowledged, at: now)
        case .negativeAcknowledgement(let id):
            end(id, .refused, at: now)
        case .request:
            break
        }
    }

    private mutating func end(_ id: AppMessageTransactionID, _ outcome: AppMessageOutcome, at now: Duration) {
        guard let index = pushes.firstIndex(where: { $0.id == id }) else {
            log("the watch answered AppMessage \(id), which was not under way")
            return
        }
        let push = pushes.remove(at: index)
        events.append(.appMessageEnded(id, outcome, after: now - push.sentAt))
    }

    private mutating func receive(_ message: PingMessage, at now: Duration) {
        switch message {
        case .ping(let cookie, _):
            reply(PebbleMessage(PingMessage.pong(cookie: cookie)))
        case .pong(let cookie):
            guard let index = pings.firstIndex(where: { $0.id == cookie }) else {
                log("the watch answered ping \(cookie), which was not under way")
                return
            }
            let ping = pings.remove(at: index)
            events.append(.pong(cookie: cookie, after: now - ping.sentAt))
        }
    }

    private mutating func negotiate(at now: Duration, _ step: (inout Negotiation, inout Negotiation.Output) -> Void) {
        let before = negotiation.state
        var output = Negotiation.Output()
        step(&negotiation, &output)
        for event in output.events { events.append(event) }
        for message in output.messages { reply(message) }
        guard negotiation.state != before else { return }
        switch negotiation.state {
        case .awaiting: break
        case .done: events.append(.negotiated)
        case .failed(let failure): events.append(.negotiationFailed(failure))
        }
    }
}

// MARK: - Time

extension PhoneSession {
    /// When `advance(to:)` has something to do.
    var nextDeadline: Duration? {
        [
            negotiation.nextDeadline,
            pushes.first.map { $0.sentAt + Self.appMessageTimeout },
            pings.first.map { $0.sentAt + Self.pingTimeout },
        ]
        .compactMap(\.self).min()
    }

    /// Gives up what was not answered in time.
    mutating func advance(to now: Duration) {
        negotiate(at: now) { negotiation, _ in negotiation.advance(to: now) }
        while let push = pushes.first, push.sentAt + Self.appMessageTimeout <= now {
            pushes.removeFirst()
            events.append(.appMessageEnded(push.id, .timedOut, after: now - push.sentAt))
        }
        while let ping = pings.first, ping.sentAt + Self.pingTimeout <= now {
            pings.removeFirst()
            events.append(.pingTimedOut(cookie: ping.id))
        }
    }
}
