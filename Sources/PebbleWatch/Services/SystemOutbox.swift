import DequeModule

/// What the system has for others: events for the watch's owner, changes for the store, requests for phones, and whether the
/// watch is to restart.
struct SystemOutbox: Sendable {
    /// The limit on the firmware's event queue.
    private static let eventLimit = 1024

    private var events = EventQueue(limit: eventLimit)
    private var changes: Deque<ServiceContext.Change> = []
    private var phoneRequests: Deque<PhoneRequest> = []
    private var restart: RestartCause?

    mutating func emit(_ event: WatchEvent) { events.emit(event) }

    /// Takes what a step left behind besides its events and its messages.
    mutating func take(from context: inout ServiceContext) {
        restart = context.restart ?? restart
        if !context.changes.isEmpty {
            changes.append(contentsOf: context.changes)
            context.changes.removeAll(keepingCapacity: true)
        }
        if !context.phoneRequests.isEmpty {
            phoneRequests.append(contentsOf: context.phoneRequests)
            context.phoneRequests.removeAll(keepingCapacity: true)
        }
    }

    /// The next thing that happened.
    mutating func nextEvent() -> WatchEvent? { events.next() }

    /// The next change for the store.
    mutating func nextChange() -> ServiceContext.Change? { changes.popFirst() }

    /// Whether there is one.
    var hasChanges: Bool { !changes.isEmpty }

    /// The next thing to be done on a phone.
    mutating func nextPhoneRequest() -> PhoneRequest? { phoneRequests.popFirst() }

    /// Whether the watch is to restart, and why; asking takes it back.
    mutating func takeRestart() -> RestartCause? {
        defer { restart = nil }
        return restart
    }
}
