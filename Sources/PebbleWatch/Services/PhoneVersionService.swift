import ByteCoding
import PebbleProtocol

/// Endpoint 0x0011: what the phone is and can do. The watch asks once, when a session opens.
enum PhoneVersionService {
    /// - Returns: what the phone said; nil for anything else.
    static func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        in context: inout ServiceContext
    ) throws(ByteDecodingError) -> PhoneVersion? {
        switch try PhoneVersionMessage(payload: message.payload) {
        case .response(let version):
            return version
        case .request:
            // Only watches ask this.
            context.log(.info, .session, "\(session): the phone asked the watch for its phone version")
            return nil
        }
    }
}
