import BluetoothHCI
import BluetoothHost
import DequeModule
import PebbleProtocol

/// What every part of the watch works with: the LE host below, the system above, the phones that it knows, and what it has to
/// say. A part gets it for as long as it works.
struct WatchCore: Sendable {
    /// What was decided about the watch, with the firmware that runs now.
    private(set) var configuration: WatchConfiguration
    var host: LEHost
    /// Where the values are that no service answers for.
    let handles: WatchHandles
    var system: WatchSystem
    var phones: PhoneBook
    var store = StoreQueue()
    var outbox = EventQueue(limit: 4096)
    /// How PPoGATT links have ended, on any connection: it decides whether a transport that fails disconnects once more.
    var transportHistory = PPoGATTDisconnectHistory()
    /// What is done to PPoGATT packets on purpose; nil while nothing is.
    var transportFaults: PPoGATTFaultLine?

    /// Takes over who the watch is, which changes with the firmware behind it.
    mutating func take(_ identity: WatchIdentity) {
        configuration.identity = identity
        system.take(identity)
    }

    mutating func emit(_ event: WatchEvent) { outbox.emit(event) }

    mutating func log(_ severity: Diagnostic.Severity, _ layer: Layer, _ message: String) {
        outbox.emit(.diagnostic(Diagnostic(severity: severity, layer: layer, message: message)))
    }
}

/// Events that wait to be taken, in order.
struct EventQueue: Sendable {
    /// The most events that wait; beyond it the oldest are lost.
    private let limit: Int
    private(set) var events: Deque<WatchEvent> = []

    init(limit: Int) { self.limit = limit }

    mutating func emit(_ event: WatchEvent) {
        if events.count >= limit { events.removeFirst() }
        events.append(event)
    }

    mutating func next() -> WatchEvent? { events.popFirst() }

    /// Puts the events of the watch that ran before in front.
    mutating func follow(_ earlier: EventQueue) { events = earlier.events + events }
}
