import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import ByteCoding
import DequeModule
import PebbleProtocol

/// A phone with a Pebble companion app, as one value that bytes and time flow through: the other side of a watch, for
/// demonstrations, simulations and benchmarks.
///
/// It looks for a watch, connects, discovers the watch's database, opens the Pebble transport, has the conversation that
/// every companion begins with, and then does as it is told: pings, dictionaries for watchapps. It tells all of it as
/// ``PhoneEvent``s.
package struct CompanionPhone: HCIHost, Sendable {
    /// What the phone does about getting connected.
    enum Activity: Sendable {
        /// The controller is not ready, or the phone was told to leave it.
        case idle
        case scanning(WatchScanner)
        case connecting(LEAddress, givesUpAt: Duration)
        /// There is a `link`.
        case connected
        /// A lost watch is connected to again.
        case pausing(LEAddress, until: Duration)
    }

    /// How long an attempt to connect may take (libpebble3).
    static let connectTimeout: Duration = .seconds(60)
    /// The most events that wait to be drained; beyond it the oldest are lost.
    private static let eventLimit = 4096

    /// What was decided before the start.
    package let configuration: PhoneConfiguration
    var host: LEHost
    let transportData: AttributeHandle?
    var activity = Activity.idle
    /// The connection to the watch.
    var link: WatchLink?
    /// What was found out of the watch, to be used if it is bonded.
    var knownWatch: DiscoveredWatch?
    /// Whether the phone was told to end the connection, and so does not come back.
    var isLeaving = false
    /// Which watch is looked for.
    var selection: WatchSelection
    /// What a survey has heard; nil while there is none.
    var survey: WatchScanner?
    private var events: Deque<PhoneEvent> = []

    /// A phone that has not been started.
    /// - Parameters:
    ///   - cryptography: what encrypts, authenticates and agrees on keys.
    ///   - randomness: where keys and nonces come from.
    /// - Throws: `GATTDatabaseError` when the configuration does not make a legal database.
    package init(
        _ configuration: PhoneConfiguration,
        cryptography: LECryptography = .swiftCrypto,
        randomness: RandomSource
    ) throws(GATTDatabaseError) {
        self.configuration = configuration
        selection = configuration.watch
        let layout = try PhoneDatabase(configuration, cryptography)
        transportData = layout.transportData
        var hostConfiguration = LEHost.Configuration(
            ownAddress: .random(configuration.address),
            security: configuration.security
        )
        hostConfiguration.connectScanInterval = configuration.scanInterval
        hostConfiguration.connectScanWindow = configuration.scanWindow
        host = LEHost(
            configuration: hostConfiguration,
            database: layout.database,
            bonds: configuration.bonds,
            cryptography: cryptography,
            randomness: randomness
        )
    }

    /// The next event.
    package mutating func nextEvent() -> PhoneEvent? { events.popFirst() }

    mutating func emit(_ event: PhoneEvent) {
        if events.count >= Self.eventLimit { events.removeFirst() }
        events.append(event)
    }

    mutating func log(_ severity: Diagnostic.Severity, _ layer: Layer, _ message: String) {
        emit(.diagnostic(Diagnostic(severity: severity, layer: layer, message: message)))
    }
}

// MARK: - What the phone knows

extension CompanionPhone {
    /// Whether a watch is connected and has been accepted.
    package var isNegotiated: Bool { link?.session?.negotiation.state == .done }
}

// MARK: - What the phone is told to do

extension CompanionPhone {
    /// Sends a dictionary to a watchapp.
    /// - Returns: what ``PhoneEvent/appMessageEnded(_:_:after:)`` will name.
    @discardableResult
    package mutating func sendAppMessage(
        _ dictionary: AppMessageDictionary,
        to application: PebbleUUID,
        at now: Duration
    ) throws(PhoneCommandError) -> AppMessageTransactionID {
        host.advance(to: now)
        let id = try link?.session?.sendAppMessage(dictionary, to: application, at: now)
        guard let id else { throw reasonForNoSession }
        settle(at: now)
        return id
    }

    /// Asks whether the watch is alive; ``PhoneEvent/pong(cookie:after:)`` answers.
    package mutating func ping(cookie: UInt32, at now: Duration) throws(PhoneCommandError) {
        host.advance(to: now)
        guard try link?.session?.ping(cookie: cookie, at: now) != nil else { throw reasonForNoSession }
        settle(at: now)
    }

    /// Sends any message of the Pebble Protocol.
    package mutating func send(_ message: PebbleMessage, at now: Duration) throws(PhoneCommandError) {
        host.advance(to: now)
        guard try link?.session?.send(message) != nil else { throw reasonForNoSession }
        settle(at: now)
    }

    private var reasonForNoSession: PhoneCommandError { link == nil ? .notConnected : .noSession }

    /// Ends the connection, or stops looking for one, and stays away.
    package mutating func disconnect(at now: Duration) {
        host.advance(to: now)
        isLeaving = true
        switch activity {
        case .idle: break
        case .scanning:
            host.stopScanning(at: now)
            activity = .idle
        case .connecting: host.cancelConnecting(at: now)
        case .connected:
            if let link { host.disconnect(link.handle, reason: .remoteUserTerminatedConnection, at: now) }
        case .pausing: activity = .idle
        }
        settle(at: now)
    }

    /// Looks for a watch again, after `disconnect(at:)`.
    package mutating func connect(at now: Duration) {
        host.advance(to: now)
        isLeaving = false
        if case .idle = activity { startScanning(at: now) }
        settle(at: now)
    }
}

extension CompanionPhone {
    /// Connects to a watch that it knows without looking for it first, after `disconnect(at:)`: as apps do that kept the
    /// watch's identifier.
    package mutating func connect(to watch: LEAddress, at now: Duration) {
        host.advance(to: now)
        isLeaving = false
        if case .idle = activity { beginConnecting(to: watch, at: now) }
        settle(at: now)
    }
}

// MARK: - HCIHost

extension CompanionPhone {
    package mutating func start(at now: Duration) {
        host.start(at: now)
        settle(at: now)
    }

    /// The controller is out of reach until the phone is started again.
    package mutating func controllerLost(at now: Duration) {
        host.controllerLost(at: now)
        settle(at: now)
    }

    package mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        host.receive(packet, at: now)
        settle(at: now)
    }

    package mutating func advance(to now: Duration) {
        host.advance(to: now)
        advanceActivity(to: now)
        settle(at: now)
    }

    package var nextDeadline: Duration? {
        [host.nextDeadline, activity.nextDeadline(of: link)].compactMap(\.self).min()
    }

    package mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { host.nextPacket(into: &buffer) }

    /// Passes on what each part has for another, until no part has more.
    mutating func settle(at now: Duration) {
        repeat {
            while let event = host.nextEvent() { handle(event, at: now) }
        } while pumpLink(at: now)
    }
}
