import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import PebbleProtocol

/// A phone with a Pebble companion app, as one value that bytes and time flow through: the other side of a watch, for
/// demonstrations, simulations and benchmarks.
///
/// It looks for a watch, connects, discovers the watch's database, opens the Pebble transport, has the conversation that
/// every companion begins with, and then does as it is told: pings, dictionaries for watchapps. It tells all of it as
/// ``PhoneEvent``s.
package struct CompanionPhone: HCIHost, Sendable {
    /// The host, what was found out of the watch, and what waits for the owner.
    var core: PhoneCore
    /// Finding a watch, and connecting to it.
    var connector: WatchConnector
    /// The connection to the watch: pairing, and what carries the session.
    var link: WatchLink?

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
        connector = WatchConnector(configuration.watch)
        let layout = try PhoneDatabase(configuration, cryptography)
        var hostConfiguration = LEHost.Configuration(
            ownAddress: .random(configuration.address),
            security: configuration.security
        )
        hostConfiguration.connectScanInterval = configuration.scanInterval
        hostConfiguration.connectScanWindow = configuration.scanWindow
        let host = LEHost(
            configuration: hostConfiguration,
            database: layout.database,
            bonds: configuration.bonds,
            cryptography: cryptography,
            randomness: randomness
        )
        core = PhoneCore(configuration, host: host, transportData: layout.transportData)
    }

    /// What was decided before the start.
    package var configuration: PhoneConfiguration { core.configuration }

    /// The next event.
    package mutating func nextEvent() -> PhoneEvent? { core.nextEvent() }
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
        core.host.advance(to: now)
        let id = try link?.session?.sendAppMessage(dictionary, to: application, at: now)
        guard let id else { throw reasonForNoSession }
        settle(at: now)
        return id
    }

    /// Asks whether the watch is alive; ``PhoneEvent/pong(cookie:after:)`` answers.
    package mutating func ping(cookie: UInt32, at now: Duration) throws(PhoneCommandError) {
        core.host.advance(to: now)
        guard try link?.session?.ping(cookie: cookie, at: now) != nil else { throw reasonForNoSession }
        settle(at: now)
    }

    /// Sends any message of the Pebble Protocol.
    package mutating func send(_ message: PebbleMessage, at now: Duration) throws(PhoneCommandError) {
        core.host.advance(to: now)
        guard try link?.session?.send(message) != nil else { throw reasonForNoSession }
        settle(at: now)
    }

    private var reasonForNoSession: PhoneCommandError { link == nil ? .notConnected : .noSession }

    /// Ends the connection, or stops looking for one, and stays away.
    package mutating func disconnect(at now: Duration) {
        core.host.advance(to: now)
        connector.leave(link?.handle, &core, at: now)
        settle(at: now)
    }

    /// Looks for a watch again, after `disconnect(at:)`.
    package mutating func connect(at now: Duration) {
        core.host.advance(to: now)
        connector.search(&core, at: now)
        settle(at: now)
    }

    /// Connects to a watch that it knows without looking for it first, after `disconnect(at:)`: as apps do that kept the
    /// watch's identifier.
    package mutating func connect(to watch: LEAddress, at now: Duration) {
        core.host.advance(to: now)
        connector.connect(to: watch, &core, at: now)
        settle(at: now)
    }
}

// MARK: - HCIHost

extension CompanionPhone {
    package mutating func start(at now: Duration) {
        core.host.start(at: now)
        settle(at: now)
    }

    /// The controller is out of reach until the phone is started again.
    package mutating func controllerLost(at now: Duration) {
        core.host.controllerLost(at: now)
        settle(at: now)
    }

    package mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        core.host.receive(packet, at: now)
        settle(at: now)
    }

    package mutating func advance(to now: Duration) {
        core.host.advance(to: now)
        connector.advance(to: now, &core)
        if connector.isConnected { link?.advance(to: now) }
        settle(at: now)
    }

    package var nextDeadline: Duration? {
        [core.host.nextDeadline, connector.nextDeadline, connector.isConnected ? link?.nextDeadline : nil]
            .compactMap(\.self).min()
    }

    package mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { core.host.nextPacket(into: &buffer) }

    /// Passes on what each part has for another, until no part has more.
    mutating func settle(at now: Duration) {
        repeat {
            while let event = core.host.nextEvent() { handle(event, at: now) }
        } while link?.pump(&core, at: now) == true
    }
}
