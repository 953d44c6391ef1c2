import ByteCoding
import PebbleProtocol

/// Endpoint 0x0031: which app runs, as phones asked before firmware 3.0.
enum LauncherService {
    /// What the watch has to say goes out as AppMessages of its own; what the phone answers to them is ignored.
    static func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        apps: inout AppManager,
        in context: inout ServiceContext
    ) throws(ByteDecodingError) {
        let launcher = try LauncherMessage(payload: message.payload)
        guard case .push(let push) = launcher.message else { return }
        guard let command = launcher.command, command != .run || apps.isInstalled(push.application) else {
            context.reply(LauncherMessage(.negativeAcknowledgement(push.transaction)), on: session)
            return
        }
        context.reply(LauncherMessage(.acknowledgement(push.transaction)), on: session)
        switch command {
        case .run: _ = apps.launch(push.application, in: &context)
        case .kill: _ = apps.stop(push.application, in: &context)
        case .fetchState:
            let state = LauncherMessage(
                .started(apps.runningUUID),
                transaction: push.transaction
            )
            context.reply(state, on: session)
        }
    }
}

extension LauncherMessage {
    /// Tells the phone that an app started or stopped.
    init(_ state: ServiceContext.RunState, transaction: AppMessageTransactionID) {
        switch state {
        case .started(let app): self.init(isRunning: true, application: app, transaction: transaction)
        case .stopped(let app): self.init(isRunning: false, application: app, transaction: transaction)
        }
    }
}
