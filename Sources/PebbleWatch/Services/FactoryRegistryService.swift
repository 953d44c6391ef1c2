import PebbleProtocol

/// Endpoint 5001: values written in the factory, of which phones read one, the watch's colour.
struct FactoryRegistryService: EndpointService {
    static var endpoint: Endpoint { .factoryRegistry }

    /// Everything but a known key is answered with failure, malformed requests too: libpebble3 waits for an answer.
    func receive(_ message: PebbleMessage, on session: SessionID, in context: inout ServiceContext) {
        let request = try? FactoryRegistryMessage(payload: message.payload)
        let answer: FactoryRegistryMessage =
            request == .read(key: FactoryRegistryMessage.colorKey) ? .color(context.identity.color) : .failure
        context.reply(answer, on: session)
    }
}
