import BluetoothHCI
import BluetoothHost
import ByteCoding
import PebbleProtocol
import SeededRandomness

@testable import PebbleWatch

/// A watch without a radio: sessions are byte streams that a test writes and reads.
struct AppRig {
    var system: WatchSystem
    var now = Duration.zero
    /// Whether some phone could bring back a companion that has no session.
    var companionsCanCome = false
    /// What the watch sent, per session.
    private(set) var sent: [SessionID: [PebbleMessage]] = [:]
    private(set) var events: [WatchEvent] = []
    private var deframers: [SessionID: MessageDeframer] = [:]
    private var transactions: [SessionID: AppMessageTransactionID] = [:]

    static let app = PebbleUUID(upperHalf: 0xA, lowerHalf: 0xB)

    init(
        defaultApp: any WatchApp = ClockFace(),
        apps: [any WatchApp] = [],
        hardware: HardwarePlatform = .asterix,
        behaviors: [PebbleUUID: AppBehavior] = [:],
        packages: [AppPackage] = [],
        clock: UInt32 = 1_700_000_000
    ) {
        let address = LEAddress.random(DeviceAddress(staticRandomFrom: 0x1234))
        var identity = WatchIdentity(address: address)
        identity.hardware = hardware
        var configuration = WatchConfiguration(identity: identity)
        configuration.defaultApp = defaultApp
        configuration.builtInApps += apps
        configuration.behaviors = behaviors
        configuration.apps = packages
        system = WatchSystem(
            identity: identity,
            clock: WatchClock(seconds: clock, at: .zero),
            apps: AppManager(configuration),
            memory: ServiceMemory(),
            randomness: RandomSource(state: 1, SplitMix64.draw)
        )
        system.start(at: now)
        drain()
    }

    /// A phone opens a session, and says what it can do.
    mutating func open(
        _ kind: SessionKind = .hybrid,
        application: PebbleUUID = .invalid,
        capabilities: Capabilities? = [.appRunState, .appMessage8K]
    ) -> SessionID {
        let destination = PPoGATTDestination(kind: kind, application: application)
        let session = system.openSession(destination, over: .reversedPPoGATT, at: now)
        drain()
        if let capabilities {
            let version = PhoneVersion(
                platform: PhonePlatform(rawValue: 2),
                appVersion: PhoneVersion.AppVersion(major: 4, minor: 0, bugfix: 0),
                capabilities: capabilities
            )
            send(PhoneVersionMessage.response(version), on: session)
        }
        _ = take(session)
        return session
    }

    mutating func close(_ session: SessionID) {
        system.closeSession(session, reason: "the test", at: now)
        drain()
    }

    /// The phone says something, all at once.
    mutating func send(_ messages: (any EndpointMessage)..., on session: SessionID) {
        var stream: [UInt8] = []
        for message in messages { try? MessageFramer.append(message, to: &stream) }
        sendRaw(stream, on: session)
    }

    mutating func sendRaw(_ bytes: [UInt8], on session: SessionID) {
        system.receive(bytes[...], on: session, at: now)
        drain()
    }

    /// A push in a session's own numbering.
    func push(
        _ transaction: AppMessageTransactionID,
        _ tuples: [AppMessageTuple],
        to app: PebbleUUID = app
    ) -> AppMessage {
        let dictionary = (try? AppMessageDictionary(tuples)) ?? .empty
        return .push(AppMessagePush(transaction: transaction, application: app, dictionary: dictionary))
    }

    mutating func advance(by duration: Duration) {
        let end = now + duration
        while let deadline = system.nextDeadline, deadline <= end {
            now = max(now, deadline)
            system.advance(to: now)
            drain()
        }
        now = end
        system.advance(to: now)
        drain()
    }

    /// What the watch has sent on a session since this was last asked.
    mutating func take(_ session: SessionID) -> [PebbleMessage] { sent.removeValue(forKey: session) ?? [] }

    /// The AppMessages among them.
    mutating func takeAppMessages(_ session: SessionID) -> [AppMessage] {
        take(session).filter { $0.endpoint == .appMessage }.compactMap { try? AppMessage(payload: $0.payload) }
    }

    mutating func takeEvents() -> [WatchEvent] {
        defer { events = [] }
        return events
    }

    /// Presses a button and releases it.
    mutating func click(_ button: WatchButton) {
        _ = system.withApps(at: now) { $0.press(button, in: &$1) }
        _ = system.withApps(at: now) { apps, _ in apps.release(button) }
        drain()
    }

    mutating func launch(_ uuid: PebbleUUID) {
        _ = system.withApps(at: now) { $0.launch(uuid, in: &$1) }
        drain()
    }

    mutating func drain() {
        for session in system.sessionIDs {
            while case let part = system.takeOutbound(of: session, atMost: 65536, at: now), !part.isEmpty {
                var rest = part
                while case .message(let message)? = deframers[session, default: MessageDeframer()].next(from: &rest) {
                    sent[session, default: []].append(message)
                }
            }
        }
        if system.isWaitingForCompanion, !companionsCanCome {
            system.stopWaiting(at: now)
            return drain()
        }
        while let event = system.nextEvent() { events.append(event) }
    }
}
