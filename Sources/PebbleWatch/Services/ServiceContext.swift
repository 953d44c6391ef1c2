import BluetoothHCI
import BluetoothHost
import PebbleProtocol

/// What a service sees of the watch while it handles a message, and where it leaves its answers.
struct ServiceContext: Sendable {
    /// A message to be sent when the service returns.
    struct Reply: Sendable {
        let session: SessionID
        let message: PebbleMessage
    }

    /// Something to be sent.
    enum Outgoing: Sendable {
        case reply(Reply)
        /// What an app sent before it answers a message, and the app.
        case appMessage(AppState.Outgoing, from: PebbleUUID)
    }

    /// Something for the store, and who waits for it.
    struct Change: Sendable {
        let change: ServiceChange
        let owner: ChangeOwner
    }

    /// A session that speaks.
    struct Sender: Sendable {
        let companion: PPoGATTDestination
        /// Whether it has said what its phone can do.
        let hasAnnouncedCapabilities: Bool
        /// Whether the running app's last message went to it.
        let hasLastPush: Bool
    }

    /// An app that started or stopped.
    enum RunState: Sendable {
        case started(PebbleUUID)
        case stopped(PebbleUUID)
    }

    private(set) var now: Duration
    let identity: WatchIdentity
    /// What the watch says it can do.
    let capabilities: Capabilities
    /// Whether recovery firmware runs.
    let isRecovery: Bool
    /// The session of the Pebble app itself, if there is one: where the watch speaks of its own accord.
    private(set) var systemSession: SessionID?
    /// What the phone of that session said it can do; nothing until it has said so.
    private(set) var phoneCapabilities: Capabilities
    /// The apps that are on the watch.
    private(set) var knownApps: Set<PebbleUUID>
    var clock: WatchClock
    var randomness: RandomSource
    /// What the services remember and share.
    var store = ServiceStore()
    /// The session whose message this is; nil if it is something else that happens.
    var sender: Sender?
    /// What is to be sent, in order.
    var outgoing: [Outgoing] = []
    var events: [WatchEvent] = []
    var changes: [Change] = []
    /// What the Pebble app is to be told of apps, in order.
    var runStates: [RunState] = []
    /// What concerns other services, in order.
    var effects: [ServiceEffect] = []
    /// What the phone of the session that speaks can do, if it has said so.
    var phoneVersion: PhoneVersion?
    /// What is to be done on phones, by the watch's clients of their services.
    var phoneRequests: [PhoneRequest] = []
    /// Set when the watch is to restart.
    var restart: RestartCause?

    /// A context in which nothing has happened.
    init(
        identity: WatchIdentity,
        capabilities: Capabilities,
        isRecovery: Bool,
        clock: WatchClock,
        randomness: RandomSource
    ) {
        self.identity = identity
        self.capabilities = capabilities
        self.isRecovery = isRecovery
        self.clock = clock
        self.randomness = randomness
        now = .zero
        phoneCapabilities = []
        knownApps = []
    }

    /// Begins a step, for which what the last one left behind has been taken. A context is used again, since one comes with every
    /// message, and its lists have room already.
    mutating func begin(
        at now: Duration,
        systemSession: SessionID?,
        phoneCapabilities: Capabilities,
        knownApps: Set<PebbleUUID>,
        clock: WatchClock,
        randomness: RandomSource
    ) {
        self.now = now
        self.systemSession = systemSession
        self.phoneCapabilities = phoneCapabilities
        self.knownApps = knownApps
        self.clock = clock
        self.randomness = randomness
        sender = nil
        phoneVersion = nil
        restart = nil
    }

    /// Whether an update of the firmware goes on.
    var isUpdating: Bool { store.updateSession != nil }

    /// What the clock shows.
    var localTime: WatchTime { clock.localTime(at: now) }

    /// Answers on a session.
    mutating func reply(_ message: some EndpointMessage, on session: SessionID) {
        outgoing.append(.reply(Reply(session: session, message: PebbleMessage(message))))
    }

    /// Emits an event for what a service did.
    mutating func emit(_ event: ServiceEvent) { events.append(.service(event)) }

    /// Hands a change to the store on the disk. No answer depends on it.
    mutating func remember(_ change: ServiceChange) {
        changes.append(Change(change: change, owner: .nobody))
    }

    /// Hands a change to the store on the disk. The service of the endpoint is told how that went
    /// (``WatchService/changeFinished(failure:in:)``), in the order in which changes were handed over.
    mutating func remember(_ change: ServiceChange, for endpoint: Endpoint) {
        changes.append(Change(change: change, owner: .service(endpoint)))
    }

    /// Leaves a line for the log.
    mutating func log(_ severity: Diagnostic.Severity, _ layer: Layer, _ message: String) {
        events.append(.diagnostic(Diagnostic(severity: severity, layer: layer, message: message)))
    }
}

/// Something to be done on a phone.
enum PhoneRequest: Sendable, Equatable {
    /// With a notification.
    case act(ANCSAction, on: AppleNotificationService.Source)
    /// By its player.
    case music(AMSRemoteCommand, on: ConnectionHandle)
}

/// Which service waits until the store has a change.
enum ChangeOwner: Sendable {
    /// No service's answer depends on it.
    case nobody
    /// The one that takes the messages of this endpoint.
    case service(Endpoint)
}

/// Why the watch restarts.
public enum RestartCause: Sendable, Equatable {
    /// The phone or a person wanted it.
    case reboot
    /// The same, and a core dump is left behind.
    case coreDump
    /// Everything is forgotten but who the watch is and which firmware it has.
    case factoryReset
    /// Recovery firmware starts.
    case recovery
    /// An update is complete: the new firmware starts.
    case firmwareUpdate
}
