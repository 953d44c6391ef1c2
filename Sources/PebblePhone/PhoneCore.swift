import BluetoothHCI
import BluetoothHost
import DequeModule

/// What every part of the phone works with: the LE host below, what was found out of the watch, and what the phone has to say. A
/// part gets it for as long as it works.
struct PhoneCore: Sendable {
    /// The most events that wait to be drained; beyond it the oldest are lost.
    private static let eventLimit = 4096

    /// What was decided before the start.
    let configuration: PhoneConfiguration
    var host: LEHost
    /// Forward: where the watch writes PPoGATT packets, in the phone's own database.
    let transportData: AttributeHandle?
    /// What was found out of the watch, to be used if it is bonded.
    var knownWatch: DiscoveredWatch?
    /// Whether there was ever a session.
    var hadSession = false
    private var events: Deque<PhoneEvent> = []

    init(_ configuration: PhoneConfiguration, host: LEHost, transportData: AttributeHandle?) {
        self.configuration = configuration
        self.host = host
        self.transportData = transportData
    }

    /// Whether the phone does something wrong.
    func has(_ defect: PhoneDefect) -> Bool { configuration.defects.contains(defect) }

    mutating func nextEvent() -> PhoneEvent? { events.popFirst() }

    mutating func emit(_ event: PhoneEvent) {
        if events.count >= Self.eventLimit { events.removeFirst() }
        events.append(event)
    }

    mutating func log(_ severity: Diagnostic.Severity, _ layer: Layer, _ message: String) {
        emit(.diagnostic(Diagnostic(severity: severity, layer: layer, message: message)))
    }

    /// The link is of no more use; a new one may be.
    mutating func giveUp(_ connection: ConnectionHandle, _ layer: Layer, _ why: String, at now: Duration) {
        log(.warning, layer, "\(why); disconnecting")
        host.disconnect(connection, reason: .remoteUserTerminatedConnection, at: now)
    }

    /// Listens to what is advertised, as often as the configuration says.
    mutating func listen(at now: Duration) {
        host.startScanning(
            ScanParameters(interval: configuration.scanInterval, window: configuration.scanWindow),
            at: now
        )
    }
}
