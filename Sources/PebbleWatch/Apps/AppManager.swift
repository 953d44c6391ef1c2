import PebbleProtocol

/// Runs one app at a time and carries its AppMessages.
///
/// The rules of receiving are the firmware's: no open inbox, too long a dictionary, or another app's UUID is a
/// negative acknowledgement; otherwise the app is told, and only then is the message acknowledged.
struct AppManager: Sendable {
    private var installed: [PebbleUUID: any WatchApp] = [:]
    private var running: any WatchApp
    /// What runs when nothing else does.
    private let defaultApp: PebbleUUID
    private var mailbox = AppMailbox()
    /// What the phone that talks to the running app can do: it decides how large messages may be. Until one has
    /// spoken, the watch assumes a modern one, as a watch that has met one remembers.
    private var phoneCapabilities: Capabilities = .appMessage8K

    /// Starts with one app; `launch(in:)` tells it so.
    init(starting app: any WatchApp) {
        running = app
        defaultApp = app.uuid
        installed[app.uuid] = app
    }

    /// The app that runs; there always is one.
    var runningUUID: PebbleUUID { running.uuid }

    /// When the message that the app sent last is given up.
    var nextDeadline: Duration? { mailbox.outbox.nextDeadline }

    /// Tells the app that it runs.
    mutating func launch(in context: inout ServiceContext) {
        context.events.append(.appLaunched(running.uuid, name: running.name))
        call(in: &context) { $0.didLaunch(&$1) }
    }

    /// Makes another installed app the running one.
    /// - Returns: false, with nothing changed, when there is no such app or it runs already.
    mutating func launch(_ uuid: PebbleUUID, in context: inout ServiceContext) -> Bool {
        guard uuid != running.uuid, let app = installed[uuid] else { return false }
        installed[running.uuid] = running
        running = app
        mailbox = AppMailbox()
        launch(in: &context)
        return true
    }

    /// Goes back to the app that runs when nothing else does.
    /// - Returns: false, with nothing changed, when it runs already.
    mutating func launchDefault(in context: inout ServiceContext) -> Bool { launch(defaultApp, in: &context) }

    /// The phone said what it can do; boxes that are open already keep their sizes.
    mutating func phoneAnnounced(_ capabilities: Capabilities) {
        phoneCapabilities = capabilities
    }

    /// Handles a message of the AppMessage endpoint.
    mutating func receive(_ message: AppMessage, on session: SessionID, in context: inout ServiceContext) {
        switch message {
        case .push(let push):
            let isAccepted = accepts(push)
            if isAccepted {
                context.events.append(.appMessageReceived(push.application, push.dictionary))
                call(in: &context) { $0.inboxReceived(push.dictionary, &$1) }
                context.reply(AppMessage.acknowledgement(push.transaction), on: session)
            } else {
                context.reply(AppMessage.negativeAcknowledgement(push.transaction), on: session)
            }
        case .acknowledgement(let transaction):
            finish(mailbox.outbox.replied(transactionID: transaction, acknowledged: true), in: &context)
        case .negativeAcknowledgement(let transaction):
            finish(mailbox.outbox.replied(transactionID: transaction, acknowledged: false), in: &context)
        case .request:
            break
        }
    }

    /// The transport has taken the bytes of a message.
    mutating func consumed(_ transaction: AppMessageTransactionID, in context: inout ServiceContext) {
        finish(mailbox.outbox.consumed(transactionID: transaction), in: &context)
    }

    /// There was no session for a message, or no room in it.
    mutating func notConnected(_ transaction: AppMessageTransactionID, at now: Duration) {
        mailbox.outbox.notConnected(transactionID: transaction, at: now)
    }

    /// Lets time pass.
    mutating func advance(in context: inout ServiceContext) {
        finish(mailbox.outbox.advance(to: context.now), in: &context)
    }

    /// Messages that the app sent since this was last asked.
    mutating func takeOutgoing() -> [AppMailbox.Outgoing] {
        var outgoing: [AppMailbox.Outgoing] = []
        swap(&outgoing, &mailbox.outgoing)
        return outgoing
    }

    private func accepts(_ push: AppMessagePush) -> Bool {
        mailbox.isOpen && push.application == running.uuid && push.dictionary.encoded.count <= mailbox.inboxSize
    }

    private mutating func finish(_ finished: AppMessageOutbox.Finished?, in context: inout ServiceContext) {
        guard let finished else { return }
        context.events.append(.appMessageSent(running.uuid, finished.message, finished.result))
        call(in: &context) { app, appContext in
            if finished.result == .ok {
                app.outboxSent(finished.message, &appContext)
            } else {
                app.outboxFailed(finished.message, finished.result, &appContext)
            }
        }
    }

    private mutating func call(
        in context: inout ServiceContext,
        _ body: (inout any WatchApp, inout AppContext) -> Void
    ) {
        var appContext = AppContext(
            now: context.now,
            inboxSizeMaximum: AppMessageLimits.maximumInboxSize(
                phone: phoneCapabilities,
                sdk: .current,
                allowsJavaScript: true
            ),
            outboxSizeMaximum: AppMessageLimits.maximumOutboxSize(phone: phoneCapabilities, sdk: .current),
            mailbox: mailbox
        )
        body(&running, &appContext)
        mailbox = appContext.mailbox
    }
}
