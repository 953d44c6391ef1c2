import ByteCoding
import PebbleProtocol

/// Endpoint 0x0021: calls, and the buttons that take and end them. An iPhone's calls come through ANCS.
public struct PhoneControlService: Sendable, Equatable, EndpointService {
    static var endpoint: Endpoint { .phoneControl }

    /// A call that goes on.
    public struct Call: Sendable, Equatable {
        /// Names the call: the Pebble app's cookie, or the number of the notification that tells of it.
        public let id: PhoneControlMessage.Call
        /// Who calls. It is nil for a call that the user makes, and for one that the watch does not know when the phone says
        /// that it rings or was accepted: these messages do not name the caller.
        public var caller: PhoneControlMessage.Caller?
        /// How far the call is, as the phone told last.
        public var state: State
        /// The notification that tells of it; nil for a call that the Pebble app told of.
        var notification: AppleNotificationService.Source?

        /// How far a call is.
        public enum State: Sendable {
            /// Incoming: the phone rings. Outgoing: the user calls somebody. Active: the call was accepted.
            case incoming, outgoing, active
        }

        fileprivate func isSame(as other: Call) -> Bool { id == other.id && notification == other.notification }
    }

    /// The calls that go on, oldest first.
    public private(set) var calls: [Call] = []
    /// Who was not answered, oldest first.
    public private(set) var missed: [PhoneControlMessage.Caller] = []
    /// Until when a phone that says that a call was missed means one that was refused on the watch.
    private var refusalEnd: Duration?

    /// A phone that says it has more calls at once is not believed.
    static let callLimit = 8
    /// Beyond it the oldest missed calls are forgotten.
    static let missedLimit = 16
    /// For how long after a call was refused an iPhone may say that it was missed.
    static let refusalWindow: Duration = .seconds(7)

    mutating func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        in context: inout ServiceContext
    ) throws(ByteDecodingError) {
        try handle(try PhoneControlMessage(payload: message.payload), on: session, in: &context)
    }

    private mutating func handle(
        _ message: PhoneControlMessage,
        on session: SessionID,
        in context: inout ServiceContext
    ) throws(ByteDecodingError) {
        switch message {
        case .incoming(let id, let caller):
            set(Call(id: id, caller: caller, state: .incoming), in: &context)
        case .outgoing(let id):
            set(Call(id: id, caller: nil, state: .outgoing), in: &context)
        case .ring(let id):
            set(Call(id: id, caller: call(id)?.caller, state: .incoming), in: &context)
        case .start(let id):
            set(Call(id: id, caller: call(id)?.caller, state: .active), in: &context)
        case .end(let id):
            guard let call = call(id) else { return }
            end(call, in: &context)
        case .missed(let id, let caller):
            calls.removeAll { $0.id == id && $0.notification == nil }
            missed(caller, in: &context)
        case .state(let items):
            calls.removeAll { $0.notification == nil }
            for item in items.prefix(Self.callLimit) {
                let message = try PhoneControlMessage(payload: item)
                // A list within the list would have no end.
                if case .state = message { continue }
                try handle(message, on: session, in: &context)
            }
        case .answer, .hangUp, .getState:
            context.log(.info, .session, "\(session): the phone sent a watch's call command")
        }
    }

    /// A call that the Pebble app told of.
    private func call(_ id: PhoneControlMessage.Call) -> Call? {
        calls.first { $0.id == id && $0.notification == nil }
    }

    private mutating func set(_ call: Call, in context: inout ServiceContext) {
        guard calls.contains(where: call.isSame) || calls.count < Self.callLimit else { return }
        calls.removeAll(where: call.isSame)
        calls.append(call)
        context.emit(.call(call))
    }

    private mutating func end(_ call: Call, in context: inout ServiceContext) {
        calls.removeAll(where: call.isSame)
        context.emit(.callEnded(call))
    }

    private mutating func missed(_ caller: PhoneControlMessage.Caller, in context: inout ServiceContext) {
        if missed.count >= Self.missedLimit { missed.removeFirst() }
        missed.append(caller)
        context.emit(.callMissed(caller))
    }

    /// Takes the newest call that rings.
    /// - Returns: false when none does, or there is no phone.
    mutating func answer(in context: inout ServiceContext) -> Bool {
        guard let call = calls.last(where: { $0.state == .incoming }) else { return false }
        if let notification = call.notification {
            context.phoneRequests.append(.act(.positive, on: notification))
            return true
        }
        guard let session = context.systemSession else { return false }
        context.reply(PhoneControlMessage.answer(call.id), on: session)
        return true
    }

    /// Refuses or ends the newest call.
    /// - Returns: false when there is none, or no phone.
    mutating func hangUp(in context: inout ServiceContext) -> Bool {
        guard let call = calls.last else { return false }
        if let notification = call.notification {
            refusalEnd = context.now + Self.refusalWindow
            context.phoneRequests.append(.act(.negative, on: notification))
            return true
        }
        guard let session = context.systemSession else { return false }
        context.reply(PhoneControlMessage.hangUp(call.id), on: session)
        return true
    }

    /// The calls of the Pebble app's phone go with it.
    mutating func systemSessionClosed() { calls.removeAll { $0.notification == nil } }
}

// MARK: - Calls that notifications tell of

extension PhoneControlService {
    /// An iPhone rings.
    mutating func rings(
        _ caller: PhoneControlMessage.Caller,
        on source: AppleNotificationService.Source,
        in context: inout ServiceContext
    ) {
        let id = PhoneControlMessage.Call(rawValue: source.uid.rawValue)
        set(Call(id: id, caller: caller, state: .incoming, notification: source), in: &context)
    }

    /// An iPhone says that a call was missed.
    /// - Returns: false if it was refused on the watch, where everybody knows about it.
    mutating func missedOnPhone(_ caller: PhoneControlMessage.Caller, in context: inout ServiceContext) -> Bool {
        if let refusalEnd, context.now < refusalEnd { return false }
        missed(caller, in: &context)
        return true
    }

    /// Calls are over whose notifications are gone.
    mutating func ended(
        where isGone: (AppleNotificationService.Source) -> Bool,
        in context: inout ServiceContext
    ) {
        for call in calls where call.notification.map(isGone) ?? false { end(call, in: &context) }
    }
}
