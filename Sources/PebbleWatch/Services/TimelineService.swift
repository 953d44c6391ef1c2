import ByteCoding
import PebbleProtocol

/// Endpoint 0x2CB0: what the user does with a notification or a pin, told to the phone, and what the phone says to it.
struct TimelineService: EndpointService {
    static var endpoint: Endpoint { .timelineAction }
    /// Actions that may wait for their answer; beyond it the oldest are given up.
    static let pendingLimit = 16

    /// An action that the phone has not answered.
    struct Pending: Sendable, Equatable {
        let item: PebbleUUID
        let action: TimelineItemAction
    }

    private(set) var pending: [Pending] = []

    /// Does one of an item's actions.
    /// - Parameter text: what the user says, for an action that takes an answer.
    mutating func perform(
        _ action: TimelineItemAction,
        of item: TimelineItem,
        text: String?,
        in context: inout ServiceContext
    ) {
        guard let session = context.systemSession else {
            context.emit(.actionNotSent(item.id, action: action.id))
            return
        }
        if pending.count >= Self.pendingLimit { pending.removeFirst() }
        pending.append(Pending(item: item.id, action: action))
        let invocation = TimelineActionMessage.Invocation(
            item: item.id,
            actionID: action.id,
            attributes: text.map { [TimelineAttribute(.title, $0)] } ?? []
        )
        let message: TimelineActionMessage =
            item.flags.contains(.fromANCS) ? .invokeANCS(invocation) : .invoke(invocation)
        context.reply(message, on: session)
        context.emit(.actionSent(item.id, action: action.id))
    }

    mutating func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        in context: inout ServiceContext
    ) throws(ByteDecodingError) {
        switch try TimelineActionMessage(payload: message.payload) {
        case .response(let response), .responseWithActions(let response, _):
            let index = pending.firstIndex { $0.item == response.item }
            let answered = index.map { pending.remove(at: $0) }
            context.emit(
                .actionAnswered(
                    response.item,
                    action: answered?.action.id,
                    response.code,
                    text: response.attributes.first { $0.id == .subtitle }?.text
                )
            )
            // What the phone agreed to dismiss or remove is not shown any more.
            guard response.code == .acknowledgement, let answered,
                [.dismiss, .remove, .ancsNegative].contains(answered.action.kind)
            else { return }
            context.dismiss(answered.item)
        case .invoke, .invokeANCS:
            context.log(.info, .session, "\(session): the phone sent a watch's action")
        }
    }

    /// The phone will not answer any more.
    mutating func systemSessionClosed() { pending = [] }
}
