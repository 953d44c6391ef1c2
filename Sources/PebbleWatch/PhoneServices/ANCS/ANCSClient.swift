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
    struct Current: Sendable {
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
    enum Running: Sendable {
        case subscription(AttributeHandle, Subscription)
        case operation
        case probe
        /// Nothing waits for it any more.
        case nothing
    }

    /// Where the service is that is used.
    var handles: Handles?
    /// What is left to be written to the configurations.
    var subscriptions: Deque<(AttributeHandle, Subscription)> = []
    var isSubscribed = false
    /// Whether the phone was said to tell of its notifications.
    var isAnnounced = false
    var queue: Deque<Operation> = []
    var current: Current?
    var running: Running?
    var retry = SingleRetry()
    /// Until when notifications that were there before are ignored.
    var preExistingEnd: Duration = .zero
    var liveness = ANCSLiveness()
    var events: Deque<Event> = []
    var names = ANCSAppNames()

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
