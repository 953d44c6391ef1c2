import ByteCoding
import PebbleProtocol

/// Endpoint 2001: answers a ping with its cookie.
struct PingService: EndpointService {
    static var endpoint: Endpoint { .ping }

    func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        in context: inout ServiceContext
    ) throws(ByteDecodingError) {
        guard case .ping(let cookie, _) = try PingMessage(payload: message.payload) else { return }
        context.reply(PingMessage.pong(cookie: cookie), on: session)
    }
}
