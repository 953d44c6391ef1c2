import ByteCoding
import DequeModule
import PebbleProtocol

/// A running app: its own value, and the queue of what it has to be told.
///
/// An app is one task. What happens to it waits in a queue while it sleeps, as on the watch, so that its inbox fills and
/// its timers are late. It is run when everything that has arrived has been taken in.
struct AppProcess: Sendable {
    /// The firmware's limit on events that wait for an app; buttons and ticks beyond it are lost.
    static let eventLimit = 32

    /// Something that the app has to be told.
    enum Event: Sendable {
        case launched
        case inbox
        case outboxConsumed(AppMessageTicket)
        case outboxNotConnected(AppMessageTicket)
        case outboxFailed(AppMessageTicket)
        case acknowledgementTimedOut(AppMessageTicket)
        case buttonPressed(WatchButton)
        case buttonReleased(WatchButton)
        case tick(TickUnits)
        case timer(AppTimer)
        case connectionChanged(isConnected: Bool)
        case send(AppMessageDictionary)

        /// Whether an app can do without it when too much waits: it could have missed it as well.
        var mayBeLost: Bool {
            switch self {
            case .buttonPressed, .buttonReleased, .tick, .connectionChanged: true
            case .launched, .inbox, .outboxConsumed, .outboxNotConnected, .outboxFailed, .acknowledgementTimedOut,
                .timer, .send:
                false
            }
        }
    }

    /// What the app was called for and has not finished.
    private struct InboxCall: Sendable {
        struct Acknowledgement: Sendable {
            let session: SessionID
            let transactionID: AppMessageTransactionID
            /// Whether the app did not want it.
            var isRefusal = false
        }

        var batch: AppMessageInbox.Batch
        /// Of the push that it handled last, before it slept.
        var acknowledgement: Acknowledgement?
    }

    private(set) var app: any WatchApp
    // What the app is does not change while it runs, and is asked for with every message.
    let uuid: PebbleUUID
    let flags: AppFlags
    let sdk: SDKVersion
    /// What the phone that talks to it could do when it was last heard of, if it ever was.
    var phone: Capabilities?
    var state = AppState()
    private var events: Deque<Event> = [.launched]
    private var inboxCall: InboxCall?
    /// A message that no session took: the app is told once it has been held up.
    private var notConnected: AppMessageTicket?
    private var wakesAt = Duration.zero
    /// What the app said to the dictionary that it was last told to send; nil until it has been told.
    private var answerToSend: Result<AppMessageTicket, AppMessageResult>?
    private let firstTicket: AppMessageTicket

    /// A process that has not run yet.
    init(_ app: any WatchApp, nextTicket: AppMessageTicket) {
        self.app = app
        uuid = app.uuid
        flags = app.flags
        sdk = app.sdk
        state.isDirty = true
        state.nextTicket = nextTicket
        firstTicket = nextTicket
    }

    /// Whether a message is this process's, and not that of an app that ran before.
    func hasSent(_ ticket: AppMessageTicket) -> Bool { ticket.number >= firstTicket.number }

    /// When `run` has something to do that only time brings.
    var nextDeadline: Duration? {
        var earliest = state.outbox.nextDeadline.earlier(state.timers.lazy.map { $0.deadline }.min())
        let hasWork = inboxCall != nil || notConnected != nil || !events.isEmpty || state.isExiting
        if hasWork { earliest = min(earliest ?? wakesAt, wakesAt) }
        return earliest
    }

    /// Queues something for the app.
    mutating func post(_ event: Event) {
        if case .send = event { answerToSend = nil }
        guard events.count < Self.eventLimit || !event.mayBeLost else { return }
        events.append(event)
    }

    /// What has become so far of the dictionary that the app was last told to send.
    var delivery: AppMessageDelivery {
        get throws(WatchCommandError) {
            switch answerToSend {
            case nil: return .queued
            case .failure(let result)?: throw .appMessageNotSent(result)
            case .success(let ticket)?:
                guard notConnected != ticket else { throw .appMessageNotSent(.notConnected) }
                if state.outbox.isHolding(ticket) { return .waits }
                return state.outbox.isUntaken(ticket) ? .queued : .sent
            }
        }
    }

    /// Tells the app what there is to tell, until it sleeps or there is no more.
    /// - Returns: whether the app is over.
    mutating func run(in context: inout ServiceContext, _ environment: AppEnvironment) -> Bool {
        let now = environment.now
        while true {
            if let expired = state.outbox.takeExpired(at: now) { post(.acknowledgementTimedOut(expired)) }
            while let timer = state.takeTimer(at: now) { post(.timer(timer)) }
            if state.inbox.takeCall() { post(.inbox) }
            guard wakesAt <= now else { return false }
            if let ticket = notConnected {
                notConnected = nil
                state.outbox.stopTimer(ticket)
                post(.outboxFailed(ticket))
            } else if inboxCall != nil {
                continueInboxCall(in: &context, environment)
            } else if state.isExiting {
                return true
            } else if let event = events.popFirst() {
                handle(event, in: &context, environment)
            } else {
                return false
            }
        }
    }

    private mutating func handle(_ event: Event, in context: inout ServiceContext, _ environment: AppEnvironment) {
        switch event {
        case .launched:
            call(in: &context, environment) { $0.didLaunch(&$1) }
        case .inbox:
            inboxCall = InboxCall(batch: state.inbox.takeBatch())
        case .outboxConsumed(let ticket):
            finish(state.outbox.consumed(ticket), in: &context, environment)
        case .outboxNotConnected(let ticket):
            wakesAt = environment.now + state.outbox.nextThrottle()
            notConnected = ticket
        case .outboxFailed(let ticket):
            finish(state.outbox.fail(ticket), in: &context, environment)
        case .acknowledgementTimedOut(let ticket):
            finish(state.outbox.timedOut(ticket), in: &context, environment)
        case .buttonPressed(let button):
            call(in: &context, environment) { $0.buttonPressed(button, &$1) }
        case .buttonReleased(let button):
            call(in: &context, environment) { $0.buttonReleased(button, &$1) }
        case .tick(let units):
            call(in: &context, environment) { $0.tick(environment.time, units, &$1) }
        case .timer(let timer):
            call(in: &context, environment) { $0.timerFired(timer, &$1) }
        case .connectionChanged(let isConnected):
            call(in: &context, environment) { $0.connectionChanged(isConnected: isConnected, &$1) }
        case .send(let message):
            var result = AppMessageResult.ok
            let ticket = state.nextTicket
            call(in: &context, environment) { result = $1.send(message) }
            answerToSend = result == .ok ? .success(ticket) : .failure(result)
            if result != .ok { context.events.append(.appMessageSent(uuid, message, result)) }
        }
    }

    /// Calls the app, and takes over what it did.
    private mutating func call(
        in context: inout ServiceContext,
        _ environment: AppEnvironment,
        _ body: (inout any WatchApp, inout AppContext) -> Void
    ) {
        var taken = AppState()
        swap(&taken, &state)
        var appContext = AppContext(state: taken, environment: environment)
        taken = AppState()
        body(&app, &appContext)
        state = appContext.state
        for line in appContext.logged {
            context.events.append(.appLogged(AppLogRecord(application: uuid, line: line)))
        }
        if appContext.slept > .zero { wakesAt = environment.now + appContext.slept }
    }
}

// MARK: - AppMessage

extension AppProcess {
    /// One step of what the app was called for: the messages in order, then the losses.
    private mutating func continueInboxCall(in context: inout ServiceContext, _ environment: AppEnvironment) {
        guard var call = inboxCall else { return }
        if let acknowledgement = call.acknowledgement {
            // The app has seen the push: first its space is free, then the phone may send the next.
            state.inbox.consume()
            let id = acknowledgement.transactionID
            answer(
                acknowledgement.isRefusal ? .negativeAcknowledgement(id) : .acknowledgement(id),
                on: acknowledgement.session,
                in: &context
            )
            call.acknowledgement = nil
            inboxCall = call
        } else if call.batch.messageCount > 0, let message = state.inbox.nextMessage() {
            call.batch.messageCount -= 1
            inboxCall = call
            receive(message, in: &context, environment)
        } else if call.batch.droppedCount > 0 {
            call.batch.messageCount = 0
            call.batch.droppedCount -= 1
            inboxCall = call
            guard state.inbox.isOpen else { return }
            self.call(in: &context, environment) { $0.inboxDropped(.busy, &$1) }
        } else {
            state.inbox.consume()
            inboxCall = nil
        }
    }

    /// Answers a push, after everything that the app has sent so far.
    private mutating func answer(_ answer: AppMessage, on session: SessionID, in context: inout ServiceContext) {
        context.outgoing += state.takeOutgoing().map { .appMessage($0, from: uuid) }
        context.reply(answer, on: session)
    }

    private mutating func receive(
        _ message: AppMessageInbox.Message,
        in context: inout ServiceContext,
        _ environment: AppEnvironment
    ) {
        do throws(ByteDecodingError) {
            switch try AppMessage(payload: message.payload) {
            case .push(let push): receive(push, from: message.session, in: &context, environment)
            case .acknowledgement(let id): finish(state.outbox.replied(id, with: .ok), in: &context, environment)
            case .negativeAcknowledgement(let id):
                finish(state.outbox.replied(id, with: .sendRejected), in: &context, environment)
            case .request: break
            }
        } catch {
            // Too short for a push: no app answers.
            context.log(.warning, .session, "\(Endpoint.appMessage): \(error); the message is dropped")
        }
    }

    private mutating func receive(
        _ push: AppMessagePush,
        from session: SessionID,
        in context: inout ServiceContext,
        _ environment: AppEnvironment
    ) {
        guard push.application == uuid else {
            answer(.negativeAcknowledgement(push.transaction), on: session, in: &context)
            return
        }
        let eventCount = context.events.count
        state.isMessageRefused = false
        call(in: &context, environment) { $0.inboxReceived(push.dictionary, &$1) }
        inboxCall?.acknowledgement = InboxCall.Acknowledgement(
            session: session,
            transactionID: push.transaction,
            isRefusal: state.isMessageRefused
        )
        // What the app took is told before what it did then.
        if !state.isMessageRefused {
            context.events.insert(.appMessageReceived(uuid, push.dictionary), at: eventCount)
        }
    }

    private mutating func finish(
        _ finished: AppMessageOutbox.Finished?,
        in context: inout ServiceContext,
        _ environment: AppEnvironment
    ) {
        guard let finished else { return }
        context.events.append(.appMessageSent(uuid, finished.message, finished.result))
        call(in: &context, environment) { app, appContext in
            if finished.result == .ok {
                app.outboxSent(finished.message, &appContext)
            } else {
                app.outboxFailed(finished.message, finished.result, &appContext)
            }
        }
    }
}
