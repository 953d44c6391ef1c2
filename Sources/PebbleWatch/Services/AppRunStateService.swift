import ByteCoding
import PebbleProtocol

/// Endpoint 0x0034: which app runs, and starting another.
struct AppRunStateService: AppEndpointService {
    static var endpoint: Endpoint { .appRunState }
    static var takesEmptyMessages: Bool { true }

    /// Apps that do not exist are ignored without an answer, and so is launching the app that runs, as the firmware does.
    func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        with apps: inout AppManager,
        in context: inout ServiceContext
    ) throws(ByteDecodingError) {
        switch try AppRunStateMessage(payload: message.payload) {
        case .request: context.reply(AppRunStateMessage.start(apps.runningUUID), on: session)
        case .start(let uuid): _ = apps.launch(uuid, in: &context)
        case .stop(let uuid): _ = apps.stop(uuid, in: &context)
        }
    }
}
