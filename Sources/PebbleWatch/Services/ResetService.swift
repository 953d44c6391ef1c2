import ByteCoding
import PebbleProtocol

/// Endpoint 2003: restarts the watch, in one of four ways. Nothing is answered; the link ends.
struct ResetService: EndpointService {
    static var endpoint: Endpoint { .reset }

    func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        in context: inout ServiceContext
    ) throws(ByteDecodingError) {
        let reset = try ResetMessage(payload: message.payload)
        context.restart =
            switch reset {
            case .reboot: .reboot
            case .dumpCore: .coreDump
            case .factoryReset: .factoryReset
            case .rebootIntoRecovery: .recovery
            }
    }
}
