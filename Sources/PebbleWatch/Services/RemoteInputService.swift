import PebbleProtocol

/// Endpoint 0xF00D: a phone that wants to press the watch's buttons. This watch's are pressed from outside, by its control
/// socket, and not by phones: as the firmware does with what it cannot do, every command is answered with "invalid".
struct RemoteInputService: EndpointService {
    static var endpoint: Endpoint { .remoteInput }

    func receive(_ message: PebbleMessage, on session: SessionID, in context: inout ServiceContext) {
        guard let command = message.payload.first else { return }
        context.reply(RemoteInputResponse(command: command, status: .invalid), on: session)
    }
}
