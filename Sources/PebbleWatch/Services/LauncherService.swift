import ByteCoding
import PebbleProtocol

/// Endpoint 0x0031: which app runs, as phones asked before firmware 3.0.
struct LauncherService: AppEndpointService {
    static var endpoint: Endpoint { .launcher }
    static var takesEmptyMessages: Bool { true }

    /// Of the next message that the watch sends.
    private var transaction: AppMessageTransactionID = 0

    /// What the watch has to say goes out as AppMessages of its own, before the answer; what the phone answers to them is
    /// ignored. A command is acknowledged whether there is such an app or not.
    mutating func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        with apps: inout AppManager,
        in context: inout ServiceContext
    ) throws(ByteDecodingError) {
        let header = try LauncherMessage.Header(payload: message.payload)
        guard header.isToBeAnswered else { return }
        guard let launcher = try? LauncherMessage(payload: message.payload),
            case .push(let push) = launcher.message, !launcher.commands.isEmpty
        else {
            context.reply(LauncherMessage(.negativeAcknowledgement(header.transaction)), on: session)
            return
        }
        for command in launcher.commands {
            switch command {
            case .run: _ = apps.launch(push.application, in: &context)
            case .kill: _ = apps.stop(push.application, in: &context)
            case .fetchState:
                context.reply(LauncherMessage(.started(apps.runningUUID), transaction: transaction), on: session)
                transaction = transaction.next
            }
        }
        context.reply(LauncherMessage(.acknowledgement(push.transaction)), on: session)
    }

    /// What tells a phone that an app started or stopped.
    mutating func message(_ state: ServiceContext.RunState) -> PebbleMessage {
        defer { transaction = transaction.next }
        return PebbleMessage(LauncherMessage(state, transaction: transaction))
    }
}

extension LauncherMessage {
    /// Tells the phone that an app started or stopped.
    fileprivate init(_ state: ServiceContext.RunState, transaction: AppMessageTransactionID) {
        switch state {
        case .started(let app): self.init(isRunning: true, application: app, transaction: transaction)
        case .stopped(let app): self.init(isRunning: false, application: app, transaction: transaction)
        }
    }
}
