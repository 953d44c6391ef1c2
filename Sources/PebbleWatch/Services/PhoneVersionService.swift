import ByteCoding
import PebbleProtocol

/// Endpoint 0x0011: what the phone is and can do. The watch asks once, when a session opens.
struct PhoneVersionService: EndpointService {
    static var endpoint: Endpoint { .phoneVersion }
    static var takesEmptyMessages: Bool { true }

    func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        in context: inout ServiceContext
    ) throws(ByteDecodingError) {
        switch try PhoneVersionMessage(payload: message.payload) {
        case .response(let version):
            context.phoneVersion = version
            guard context.sender?.hasAnnouncedCapabilities == false else { return }
            context.effects.append(.phoneAnnounced(version, on: session))
        case .request:
            // Only watches ask this.
            context.log(.info, .session, "\(session): the phone asked the watch for its phone version")
        }
    }
}
