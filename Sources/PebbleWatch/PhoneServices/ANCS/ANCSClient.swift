import BluetoothHost
import ByteCoding
import DequeModule

/// The watch's client of the Apple Notification Center Service: what the phone shows, shown on the watch too.
///
/// The phone says in a few bytes that there is a notification; the client asks what it says, then what its app is called,
/// and reports it when it knows. One thing is asked at a time, and what waits is bounded.
struct ANCSClient: PhoneServiceClient {
    struct Handles: Hashable, Sendable {
        let notificationSource: NotifyingValue
        let dataSource: NotifyingValue
        let controlPoint: AttributeHandle
    }

    enum Event: Equatable, Sendable {
        /// The phone will tell of its notifications from now on.
        case subscribed
        /// It will not any more: the numbers of its notifications mean nothing from now on.
        case unsubscribed
        /// A notification came, or has another form.
        case notified(ANCSNotification)
        /// The phone does not show a notification any more.
        case removed(ANCSNotificationUID)
        /// The phone performed an action that was asked for.
        case performed(ANCSNotificationUID, ANCSAction)
        /// It did not.
        case notPerformed(ANCSNotificationUID, ANCSAction, ANCSProblem)
        /// Something did not work; the rest goes on.
        case problem(ANCSProblem)
    }

    /// The most that waits to be asked; beyond it the oldest notification makes way.
    static let queueLimit = 16
    /// How long notifications are ignored that were there before: iOS marks some that were not.
    static let preExistingWindow: Duration = .seconds(10)

    enum Operation: Equatable, Sendable {
        case fetch(ANCSSourceEvent)
        case perform(ANCSAction, ANCSNotificationUID)

        var uid: ANCSNotificationUID {
            switch self {
            case .fetch(let event): event.uid
            case .perform(_, let uid): uid
            }
        }

        var isFetch: Bool { if case .fetch = self { true } else { false } }
    }

    /// The operation under way.
    private struct Current: Sendable {
        let operation: Operation
        /// When it is given up.
        var deadline: Duration
        /// What is being put together; nil for an action.
        var response: ANCSResponse?
        /// What the notification says, once only its app's name is missing.
        var attributes: [ANCSAttributeID: ArraySlice<UInt8>]?
        /// What is to be written next.
        var command: ANCSCommand?
    }

    /// Who waits for the procedure that runs.
    private enum Running: Sendable {
        case subscription(AttributeHandle, Subscription)
        case operation
        case probe
        /// Nobody any more.
        case nothing
    }

    /// Where the service is that is used.
    private(set) var handles: Handles?
    /// What is left to be written to the configurations.
    private var subscriptions: Deque<(AttributeHandle, Subscription)> = []
    private var isSubscribed = false
    /// Whether the phone was said to tell of its notifications.
    private var isAnnounced = false
    private var queue: Deque<Operation> = []
    private var current: Current?
    private var running: Running?
    private var retry = SingleRetry()
    /// Until when notifications that were there before are ignored.
    private var preExistingEnd: Duration = .zero
    private var liveness = ANCSLiveness()
    private var events: Deque<Event> = []
    private var names = ANCSAppNames()

    /// The most bytes of a title that are asked for.
    var titleLimit = ANCSCommand.longestTitle
    /// Whether the phone tells truly what it has removed: iOS does from version 9 on, whose sign is Device Information.
    var believesRemovals = false

    /// Whether notifications come.
    var isAvailable: Bool { isSubscribed }

    mutating func nextEvent() -> Event? { events.popFirst() }

    /// Asks the phone to do something with a notification; ``Event/performed(_:_:)`` or
    /// ``Event/notPerformed(_:_:_:)`` says how that went.
    mutating func perform(_ action: ANCSAction, of uid: ANCSNotificationUID) {
        guard isSubscribed else { return events.append(.notPerformed(uid, action, .notAvailable)) }
        let operation = Operation.perform(action, uid)
        guard !queue.contains(operation), current?.operation != operation else { return }
        guard queue.count < Self.queueLimit || evictOldestFetch() else {
            return events.append(.notPerformed(uid, action, .tooMany(uid)))
        }
        queue.append(operation)
    }
}

// MARK: - The service

extension ANCSClient {
    mutating func serviceFound(_ handles: Handles, at now: Duration) {
        guard handles != self.handles else { return }
        if self.handles != nil { serviceGone(at: now) }
        self.handles = handles
        // The Data Source first: once the Notification Source speaks, there are questions whose answers come there.
        for value in [handles.dataSource, handles.notificationSource] {
            subscriptions.append((value.configuration, .notifications))
        }
    }

    mutating func serviceGone(at now: Duration) {
        guard handles != nil else { return }
        handles = nil
        subscriptions = []
        retry.reset()
        if running != nil { running = .nothing }
        giveUpOperations(.notAvailable)
        if isAnnounced { events.append(.unsubscribed) }
        isAnnounced = false
    }

    /// Gives up everything that was asked or is to be.
    private mutating func giveUpOperations(_ problem: ANCSProblem) {
        isSubscribed = false
        liveness.stop()
        var operations = Array(queue)
        if let current { operations.insert(current.operation, at: 0) }
        for case .perform(let action, let uid) in operations { events.append(.notPerformed(uid, action, problem)) }
        queue = []
        current = nil
    }

    /// Takes the subscription back and subscribes once more: iOS may have forgotten it.
    private mutating func resubscribe(at now: Duration) {
        guard let handles else { return }
        events.append(.problem(.silent))
        if running != nil { running = .nothing }
        retry.reset()
        giveUpOperations(.silent)
        subscriptions = []
        for value in [handles.dataSource, handles.notificationSource] {
            subscriptions.append((value.configuration, []))
            subscriptions.append((value.configuration, .notifications))
        }
    }

    private mutating func subscriptionEnded(
        _ configuration: AttributeHandle,
        _ subscription: Subscription,
        _ result: Result<GATTResponse, GATTProcedureError>,
        at now: Duration
    ) {
        switch result {
        case .success:
            retry.reset()
            preExistingEnd = now + Self.preExistingWindow
            guard subscriptions.isEmpty else { return }
            isSubscribed = true
            liveness.start(at: now)
            if !isAnnounced { events.append(.subscribed) }
            isAnnounced = true
        case .failure where subscription.isEmpty:
            // What cannot be taken back may not be there to be taken back.
            break
        case .failure where retry.begin(at: now):
            subscriptions.prepend((configuration, subscription))
        case .failure(let error):
            serviceGone(at: now)
            events.append(.problem(.notSubscribed(error)))
        }
    }
}

// MARK: - What the phone says

extension ANCSClient {
    mutating func receive(_ value: ArraySlice<UInt8>, of handle: AttributeHandle, at now: Duration) -> Bool {
        switch handle {
        case handles?.notificationSource.value:
            do throws(ByteDecodingError) {
                receive(try ANCSSourceEvent(value), at: now)
            } catch {
                events.append(.problem(.malformedEvent(error)))
            }
            return true
        case handles?.dataSource.value:
            receiveData(value, at: now)
            return true
        default:
            return false
        }
    }

    private mutating func receive(_ event: ANCSSourceEvent, at now: Duration) {
        liveness.sourceSpoke(at: now)
        switch event.kind {
        case .added where event.flags.contains(.preExisting) && now < preExistingEnd: break
        case .added, .modified: fetch(event)
        case .removed: removed(event)
        }
    }

    private mutating func fetch(_ event: ANCSSourceEvent) {
        let isQueued = queue.contains { $0.isFetch && $0.uid == event.uid }
        // What is being read now may have been read too early, if it was modified since.
        let isRead = event.kind == .added && current?.operation.isFetch == true && current?.operation.uid == event.uid
        guard !isQueued, !isRead else { return }
        if queue.count >= Self.queueLimit, !evictOldestFetch() {
            return events.append(.problem(.tooMany(event.uid)))
        }
        queue.append(.fetch(event))
    }

    /// Makes room for something newer. What a person wanted to be done stays.
    private mutating func evictOldestFetch() -> Bool {
        guard let oldest = queue.firstIndex(where: \.isFetch) else { return false }
        events.append(.problem(.tooMany(queue.remove(at: oldest).uid)))
        return true
    }

    private mutating func removed(_ event: ANCSSourceEvent) {
        // A call that rings no more is over, whatever the phone's version.
        guard believesRemovals || event.category == .incomingCall else { return }
        queue.removeAll { $0.isFetch && $0.uid == event.uid }
        if current?.operation.isFetch == true, current?.operation.uid == event.uid { endOperation() }
        events.append(.removed(event.uid))
    }

    private mutating func receiveData(_ part: ArraySlice<UInt8>, at now: Duration) {
        // A phone that still sends what was given up, or what nobody asked for, talks to itself.
        guard !part.isEmpty, current?.response != nil, let uid = current?.operation.uid else { return }
        do throws(ByteDecodingError) {
            guard let answer = try current?.response?.receive(part) else {
                current?.deadline = now + PhoneServiceTiming.operationTimeout
                return
            }
            current?.response = nil
            switch answer {
            case .attributes(let attributes): told(attributes, of: uid, at: now)
            case .appName(let name): named(String(phoneText: name))
            }
        } catch {
            events.append(.problem(.malformedResponse(uid, error)))
            failed()
        }
    }
}

// MARK: - Operations

extension ANCSClient {
    /// The phone said what a notification says: its app's name is still missing.
    private mutating func told(
        _ attributes: [ANCSAttributeID: ArraySlice<UInt8>],
        of uid: ANCSNotificationUID,
        at now: Duration
    ) {
        let app = String(phoneText: attributes[.appIdentifier] ?? [])
        guard !app.isEmpty else {
            events.append(.problem(.noApp(uid)))
            return endOperation()
        }
        current?.attributes = attributes
        guard names[app] == nil else { return report() }
        current?.command = .getAppName(app)
        current?.deadline = now + PhoneServiceTiming.operationTimeout
        retry.reset()
    }

    private mutating func named(_ name: String) {
        guard let attributes = current?.attributes else { return endOperation() }
        names[String(phoneText: attributes[.appIdentifier] ?? [])] = name
        report()
    }

    /// Whatever was asked last will not be answered. What is known of a notification is shown even so.
    private mutating func failed() {
        if current?.attributes != nil { report() } else { endOperation() }
    }

    private mutating func report() {
        guard let operation = current?.operation, case .fetch(let event) = operation,
            let attributes = current?.attributes
        else { return endOperation() }
        let name = names[String(phoneText: attributes[.appIdentifier] ?? [])]
        let notification = ANCSNotification(event, attributes, appName: name)
        endOperation()
        events.append(.notified(notification))
    }

    /// What was under way is over; what its procedure comes to concerns nobody.
    private mutating func endOperation() {
        current = nil
        retry.reset()
        if case .operation = running { running = .nothing }
    }

    private mutating func operationEnded(_ result: Result<GATTResponse, GATTProcedureError>, at now: Duration) {
        guard let current else { return }
        switch (result, current.operation) {
        case (.success, .perform(let action, let uid)):
            endOperation()
            events.append(.performed(uid, action))
        case (.success, .fetch):
            // The answer comes over the Data Source.
            retry.reset()
        case (.failure(let error), _):
            operationRefused(error, current, at: now)
        }
    }

    private mutating func operationRefused(_ error: GATTProcedureError, _ refused: Current, at now: Duration) {
        let uid = refused.operation.uid
        if !error.isFinalToANCS, retry.begin(at: now) {
            current?.deadline = now + PhoneServiceTiming.retryDelay + PhoneServiceTiming.operationTimeout
            return restartOperation()
        }
        let problem: ANCSProblem
        switch refused.operation {
        case _ where error.isNothingToANCS && refused.attributes == nil: problem = .noSuchNotification(uid)
        case .perform(let action, _): problem = .notPerformed(uid, action, error)
        case .fetch:
            if let app = refused.attributes?[.appIdentifier] {
                problem = .notNamed(app: String(phoneText: app), error)
            } else {
                problem = .notTold(uid, error)
            }
        }
        if case .perform(let action, _) = refused.operation {
            endOperation()
            events.append(.notPerformed(uid, action, problem))
        } else {
            events.append(.problem(problem))
            failed()
        }
    }

    /// Has what was asked last asked once more.
    private mutating func restartOperation() {
        guard let operation = current?.operation else { return }
        switch operation {
        case .perform(let action, let uid):
            current?.command = .perform(action, uid)
        case .fetch(let event):
            if let app = current?.attributes?[.appIdentifier] {
                current?.command = .getAppName(String(phoneText: app))
            } else {
                current?.command = .getNotificationAttributes(event.uid, titleLimit: titleLimit)
            }
        }
    }
}

// MARK: - Time and procedures

extension ANCSClient {
    var nextDeadline: Duration? {
        Duration.earlier(
            current?.deadline,
            Duration.earlier(retry.end, isSubscribed ? liveness.nextDeadline : nil)
        )
    }

    mutating func advance(to now: Duration) {
        retry.advance(to: now)
        if let current, current.deadline <= now {
            switch current.operation {
            case .fetch(let event):
                events.append(.problem(.timedOut(event.uid)))
                failed()
            case .perform(let action, let uid):
                endOperation()
                events.append(.notPerformed(uid, action, .timedOut(uid)))
            }
        }
        guard isSubscribed else { return }
        if liveness.advance(to: now) == .subscribeAnew { resubscribe(at: now) }
    }

    mutating func nextProcedure(at now: Duration) -> GATTProcedure? {
        guard running == nil, retry.end == nil, let handles else { return nil }
        if let (configuration, subscription) = subscriptions.popFirst() {
            running = .subscription(configuration, subscription)
            return .subscribe(clientConfiguration: configuration, subscription)
        }
        guard isSubscribed else { return nil }
        if current == nil, liveness.isProbeDue {
            liveness.probeBegan(at: now)
            running = .probe
            return .write(handles.controlPoint, ANCSCommand.probe.encoded[...])
        }
        if current == nil, let operation = queue.popFirst() {
            current = Current(operation: operation, deadline: now + PhoneServiceTiming.operationTimeout)
            restartOperation()
        }
        guard let command = current?.command else { return nil }
        running = .operation
        current?.command = nil
        current?.response = ANCSResponse(to: command)
        return .write(handles.controlPoint, command.encoded[...])
    }

    mutating func finish(_ result: Result<GATTResponse, GATTProcedureError>, at now: Duration) {
        let ended = running
        running = nil
        switch ended {
        case .subscription(let configuration, let subscription):
            subscriptionEnded(configuration, subscription, result, at: now)
        case .operation: operationEnded(result, at: now)
        case .probe: if liveness.probeEnded(result, at: now) == .subscribeAnew { resubscribe(at: now) }
        case .nothing, nil: break
        }
    }
}

extension ANCSResponse {
    /// Nil for a command that is answered by its write's response alone.
    fileprivate init?(to command: ANCSCommand) {
        switch command {
        case .getNotificationAttributes(let uid, _): self.init(to: .notification(uid))
        case .getAppName(let app): self.init(to: .appName(app))
        case .perform, .probe: return nil
        }
    }
}
