import ByteCoding
import PebbleProtocol

/// Endpoint 911: the phone asks for what the health services have logged, which then comes through data logging.
enum HealthSyncService {
    /// The tags under which the firmware's health services log.
    static let tags: ClosedRange<UInt32> = 78...87

    /// - Returns: whether the health data are to be sent now.
    static func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        in context: inout ServiceContext
    ) throws(ByteDecodingError) -> Bool {
        guard case .request = try HealthSyncMessage(payload: message.payload) else { return false }
        context.reply(HealthSyncMessage.response(isAccepted: true), on: session)
        context.emit(.healthSyncRequested)
        return true
    }
}
