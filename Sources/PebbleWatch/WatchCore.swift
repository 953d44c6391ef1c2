import BluetoothHCI
import BluetoothHost
import DequeModule
import PebbleProtocol

/// What every part of the watch works with: the LE host below, the system above, the phones that it knows, and what it has to
/// say. A part gets it for as long as it works.
struct WatchCore: Sendable {
    /// What was decided about the watch, with the firmware that runs now.
    let configuration: WatchConfiguration
    var host: LEHost
    /// Where the values are that no service answers for.
    let handles: WatchHandles
    var system: WatchSystem
    var phones: PhoneBook
    var store = StoreQueue()
    var outbox = EventQueue()
    /// How PPoGATT links have ended, on any connection: it decides whether a transport that fails disconnects once more.
    var transportHistory = PPoGATTDisconnectHistory()

    mutating func emit(_ event: WatchEvent) { outbox.emit(event) }

    mutating func log(_ severity: Diagnostic.Severity, _ layer: Diagnostic.Layer, _ message: String) {
        outbox.emit(.diagnostic(Diagnostic(severity: severity, layer: layer, message: message)))
    }
}

/// The events that wait for the watch's owner.
struct EventQueue: Sendable {
    /// The most events that wait; beyond it the oldest are lost.
    private static let limit = 4096

    private(set) var events: Deque<WatchEvent> = []

    mutating func emit(_ event: WatchEvent) {
        if events.count >= Self.limit { events.removeFirst() }
        events.append(event)
    }

    mutating func next() -> WatchEvent? { events.popFirst() }

    /// Puts the events of the watch that ran before in front.
    mutating func follow(_ earlier: EventQueue) { events = earlier.events + events }
}
