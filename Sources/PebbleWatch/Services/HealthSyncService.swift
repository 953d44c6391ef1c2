import ByteCoding
import PebbleProtocol

/// Endpoint 911: the phone asks for what the health services have logged, which then comes through data logging.
struct HealthSyncService: EndpointService {
    static var endpoint: Endpoint { .healthSync }
    /// The tags under which the firmware's health services log.
    static let tags: ClosedRange<UInt32> = 78...87

    func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        in context: inout ServiceContext
    ) throws(ByteDecodingError) {
        guard case .request = try HealthSyncMessage(payload: message.payload) else { return }
        context.reply(HealthSyncMessage.response(isAccepted: true), on: session)
        context.emit(.healthSyncRequested)
        context.effects.append(.logsWanted(Self.tags))
    }
}
