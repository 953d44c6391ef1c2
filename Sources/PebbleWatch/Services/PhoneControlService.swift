import ByteCoding
import PebbleProtocol

/// Endpoint 0x0021: calls, and the buttons that take and end them.
public struct PhoneControlService: Sendable, Equatable {
    /// A call that goes on.
    public struct Call: Sendable, Equatable {
        public let id: PhoneControlMessage.Call
        /// Who calls; nil for a call that the user makes.
        public var caller: PhoneControlMessage.Caller?
        public var state: State

        /// How far a call is.
        public enum State: Sendable {
            case incoming, outgoing, active
        }
    }

    /// The calls that go on, oldest first.
    public private(set) var calls: [Call] = []
    /// Who was not answered, oldest first.
    public private(set) var missed: [PhoneControlMessage.Caller] = []

    /// A phone that says it has more calls at once is not believed.
    static let callLimit = 8
    /// Beyond it the oldest missed calls are forgotten.
    static let missedLimit = 16

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
            let caller = calls.first { $0.id == id }?.caller
            set(Call(id: id, caller: caller, state: .incoming), in: &context)
        case .start(let id):
            let caller = calls.first { $0.id == id }?.caller
            set(Call(id: id, caller: caller, state: .active), in: &context)
        case .end(let id):
            guard let call = calls.first(where: { $0.id == id }) else { return }
            calls.removeAll { $0.id == id }
            context.emit(.callEnded(call))
        case .missed(let id, let caller):
            calls.removeAll { $0.id == id }
            if missed.count >= Self.missedLimit { missed.removeFirst() }
            missed.append(caller)
            context.emit(.callMissed(caller))
        case .state(let items):
            calls = []
            for item in items.prefix(Self.callLimit) {
                let message = try PhoneControlMessage(payload: item)
                // A list within the list would have no end.
                if case .state = message { continue }
                try handle(message, on: session, in: &context)
            }
        case .answer, .hangUp, .getState:
            context.log(.info, "session", "\(session): the phone sent a watch's call command")
        }
    }

    private mutating func set(_ call: Call, in context: inout ServiceContext) {
        guard calls.contains(where: { $0.id == call.id }) || calls.count < Self.callLimit else { return }
        calls.removeAll { $0.id == call.id }
        calls.append(call)
        context.emit(.call(call))
    }

    /// Takes the newest call that rings.
    /// - Returns: false when none does, or there is no phone.
    mutating func answer(in context: inout ServiceContext) -> Bool {
        guard let session = context.systemSession, let call = calls.last(where: { $0.state == .incoming }) else {
            return false
        }
        context.reply(PhoneControlMessage.answer(call.id), on: session)
        return true
    }

    /// Refuses or ends the newest call.
    /// - Returns: false when there is none, or no phone.
    mutating func hangUp(in context: inout ServiceContext) -> Bool {
        guard let session = context.systemSession, let call = calls.last else { return false }
        context.reply(PhoneControlMessage.hangUp(call.id), on: session)
        return true
    }

    /// The calls are the phone's, and go with it.
    mutating func sessionClosed() { calls = [] }
}
