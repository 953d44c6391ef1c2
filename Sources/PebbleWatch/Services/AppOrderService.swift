import ByteCoding
import PebbleProtocol

/// Endpoint 0xABCD: the order of apps in the launcher. It is acknowledged when the store has it.
struct AppOrderService: EndpointService {
    static var endpoint: Endpoint { .appOrder }
    /// Orders that may wait for the store; more are to come later.
    static let queueLimit = 8

    private var storing: [(session: SessionID, order: [PebbleUUID])] = []

    mutating func receive(_ message: PebbleMessage, on session: SessionID, in context: inout ServiceContext) {
        let request: AppOrderRequest
        do throws(ByteDecodingError) {
            request = try AppOrderRequest(payload: message.payload)
        } catch {
            let isOtherCommand = error.field == AppOrderRequest.commandField
            context.reply(isOtherCommand ? AppOrderResponse.failure : .invalid, on: session)
            return
        }
        // The firmware complains of a wrong count, and then does what it was asked.
        if request.problem == .wrongCount { context.reply(AppOrderResponse.invalid, on: session) }
        guard storing.count < Self.queueLimit else {
            context.reply(AppOrderResponse.retryLater, on: session)
            return
        }
        storing.append((session, request.applications))
        context.remember(.appOrder(request.applications), for: .appOrder)
    }

    mutating func changeFinished(failure: WatchStoreError?, in context: inout ServiceContext) {
        guard !storing.isEmpty else { return }
        let (session, order) = storing.removeFirst()
        if failure == nil {
            context.store.appOrder = order
            context.emit(.appOrderChanged(order))
        }
        context.reply(failure == nil ? AppOrderResponse.success : .failure, on: session)
    }
}
