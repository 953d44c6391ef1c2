import BluetoothHCI
import BluetoothHost
import DequeModule
import PebbleProtocol

/// A Pebble: everything between a Bluetooth controller and a watchapp, as one value that bytes and time flow through.
///
/// HCI packets go to the LE host; what the host reports moves the peripheral (advertising, the pairing service, the
/// transports), whose byte streams feed the system (sessions, services, the running app). Answers take the same way
/// back. Nothing here does I/O or reads a clock.
public struct Firmware: HCIHost, Sendable {
    /// The most events that wait to be drained; beyond it the oldest are lost.
    private static let eventLimit = 4096

    public let configuration: WatchConfiguration
    var host: LEHost
    let handles: WatchDatabase.Handles
    var advertising: AdvertisingPolicy
    /// What the host was told to advertise.
    private var onAir: AdvertisingPolicy.OnAir?
    private var isReady = false
    var system: WatchSystem
    var links: [ConnectionHandle: PhoneLink] = [:]
    var disconnectHistory = PPoGATTDisconnectHistory()
    private var events: Deque<WatchEvent> = []

    /// A watch that has not been started.
    /// - Throws: `GATTDatabaseError` when the identity does not make a legal database.
    public init(
        _ configuration: WatchConfiguration,
        randomness: any RandomNumberGenerator & Sendable
    ) throws(GATTDatabaseError) {
        self.configuration = configuration
        let layout = try WatchDatabase(
            identity: configuration.identity,
            security: configuration.linkSecurity,
            batteryLevel: configuration.batteryLevel
        )
        handles = layout.handles
        host = LEHost(
            configuration: LEHost.Configuration(ownAddress: configuration.identity.address),
            database: layout.database,
            randomness: randomness
        )
        advertising = AdvertisingPolicy(profile: configuration.advertising)
        system = WatchSystem(
            identity: configuration.identity,
            clock: WatchClock(seconds: configuration.startTime, at: .zero),
            app: configuration.defaultApp
        )
    }

    /// What is on the air now; nil while connected.
    public var currentAdvertising: AdvertisingPolicy.OnAir? { onAir }

    /// The next thing that happened.
    public mutating func nextEvent() -> WatchEvent? { events.popFirst() }

    /// Ends every connection, as a watch does that is being switched off.
    public mutating func disconnectAll(at now: Duration) {
        for handle in links.keys { host.disconnect(handle, reason: .remoteDevicePowerOff) }
        settle(at: now)
    }

    mutating func emit(_ event: WatchEvent) {
        if events.count >= Self.eventLimit { events.removeFirst() }
        events.append(event)
    }

    mutating func log(_ severity: Diagnostic.Severity, _ layer: String, _ message: String) {
        emit(.diagnostic(Diagnostic(severity: severity, layer: layer, message: message)))
    }
}

// MARK: - HCIHost

extension Firmware {
    public mutating func start(at now: Duration) {
        host.start(at: now)
        system.start(at: now)
        settle(at: now)
    }

    public mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        host.receive(packet, at: now)
        settle(at: now)
    }

    public mutating func advance(to now: Duration) {
        host.advance(to: now)
        system.advance(to: now)
        advertising.advance(to: now)
        advanceTransports(to: now)
        settle(at: now)
    }

    public var nextDeadline: Duration? {
        [host.nextDeadline, system.nextDeadline, advertising.nextDeadline, nextTransportDeadline]
            .compactMap(\.self).min()
    }

    public mutating func nextPacket(into buffer: inout [UInt8]) -> Bool {
        host.nextPacket(into: &buffer)
    }

    /// Lets everything that one part said reach the part it is for, until all are quiet.
    private mutating func settle(at now: Duration) {
        repeat {
            while let event = host.nextEvent() { handle(event, at: now) }
        } while pumpTransports(at: now)
        while let event = system.nextEvent() { emit(event) }
        updateAdvertising(at: now)
    }
}

// MARK: - What the host reports

extension Firmware {
    private mutating func handle(_ event: LEHostEvent, at now: Duration) {
        switch event {
        case .ready(let capabilities):
            isReady = true
            onAir = nil
            advertising.start(.discovery, at: now)
            emit(.started(capabilities))
        case .connected(let connection):
            connected(connection, at: now)
        case .disconnected(let handle, let reason):
            disconnected(handle, reason: reason, at: now)
        case .securityChanged(let handle, let security):
            securityChanged(handle, security, at: now)
        case .gatt(let event):
            self.handle(event, at: now)
        case .diagnostic(let diagnostic):
            emit(.diagnostic(diagnostic))
        default:
            break
        }
    }

    private mutating func connected(_ connection: Connection, at now: Duration) {
        links[connection.handle] = PhoneLink(peer: connection.peer)
        advertising.connected(at: now)
        emit(.connected(connection.handle, connection.peer))
        // A real watch asks an unencrypted phone for nothing; a rig that cannot pair is talked to at once.
        if configuration.linkSecurity == .insecureTestLink { findPhoneServices(on: connection.handle, at: now) }
    }

    private mutating func disconnected(_ handle: ConnectionHandle, reason: HCIStatus, at now: Duration) {
        guard links[handle] != nil else { return }
        closeTransports(of: handle, reason: "\(reason)", at: now)
        links[handle] = nil
        if links.isEmpty {
            advertising.disconnected(at: now)
            // The controller stopped advertising when the phone connected.
            onAir = nil
        }
        emit(.disconnected(handle, reason: reason))
    }

    private mutating func securityChanged(_ handle: ConnectionHandle, _ security: LinkSecurity, at now: Duration) {
        notifyConnectivity(on: handle)
        if security.isEncrypted { findPhoneServices(on: handle, at: now) }
    }

    /// Tells the host what the policy wants on the air, if that changed.
    private mutating func updateAdvertising(at now: Duration) {
        guard isReady, advertising.onAir != onAir else { return }
        onAir = advertising.onAir
        emit(.advertising(onAir))
        guard let onAir else { return }
        let advertisement = Advertisement(for: onAir.job, of: configuration.identity)
        host.startAdvertising(
            AdvertisingSet(
                id: .watch,
                kind: .connectable,
                interval: onAir.interval,
                data: advertisement.data.bytes,
                scanResponse: advertisement.scanResponse.bytes
            )
        )
    }
}

extension AdvertisingSetID {
    /// The watch's own advertisement.
    static let watch = AdvertisingSetID(rawValue: 0)
}
