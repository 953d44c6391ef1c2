import ByteCoding
import PebbleProtocol

/// Endpoint 0x0034: which app runs, and starting another.
enum AppRunStateService {
    /// Apps that do not exist are ignored without an answer, as the firmware does.
    static func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        apps: inout AppManager,
        in context: inout ServiceContext
    ) throws(ByteDecodingError) {
        switch try AppRunStateMessage(payload: message.payload) {
        case .request:
            context.reply(AppRunStateMessage.start(apps.runningUUID), on: session)
        case .start(let uuid):
            let previous = apps.runningUUID
            guard apps.launch(uuid, in: &context) else { return }
            context.reply(AppRunStateMessage.stop(previous), on: session)
            context.reply(AppRunStateMessage.start(uuid), on: session)
        case .stop(let uuid):
            // Something always runs: what stops makes way for the app that ran first.
            let previous = apps.runningUUID
            guard uuid == previous, apps.launchDefault(in: &context) else { return }
            context.reply(AppRunStateMessage.stop(previous), on: session)
            context.reply(AppRunStateMessage.start(apps.runningUUID), on: session)
        }
    }
}
