import BluetoothHCI
import BluetoothHost
import ByteCoding
import PebbleProtocol
import SeededRandomness
import Testing

@testable import PebbleWatch

/// The watch above its transports, with a session that a test speaks on: messages go in as bytes and come out as
/// messages.
struct ServiceRig {
    var system: WatchSystem
    var now: Duration = .zero
    private(set) var session: SessionID
    /// Whether the store carries changes out.
    var storeWorks = true
    /// Whether the store answers at all; what it has not answered yet waits.
    var storeAnswers = true {
        didSet { if storeAnswers { serveStore() } }
    }
    /// What the store was asked to do, in order, whether it could or not.
    private(set) var changes: [ServiceChange] = []
    private(set) var events: [WatchEvent] = []

    static let address = DeviceAddress(0xC0DE_0000_1234)
    /// 1 January 2025, 00:00 UTC.
    static let startTime: UInt32 = 1_735_689_600

    init(
        memory: ServiceMemory = ServiceMemory(),
        kind: PPoGATTDestination = .reversedV2,
        seed: UInt64 = 1,
        identity: WatchIdentity = WatchIdentity(address: .random(address))
    ) {
        var configuration = WatchConfiguration(identity: identity)
        configuration.defaultApp = EchoApp()
        system = WatchSystem(
            identity: identity,
            clock: WatchClock(seconds: Self.startTime, at: .zero),
            apps: AppManager(configuration),
            memory: memory,
            randomness: RandomSource(state: seed, SplitMix64.draw)
        )
        system.start(at: .zero)
        session = system.openSession(kind, over: .reversedPPoGATT, at: .zero)
        _ = drain()
    }

    private static func configuration(_ identity: WatchIdentity) -> WatchConfiguration {
        var configuration = WatchConfiguration(identity: identity)
        configuration.defaultApp = ClockFace()
        return configuration
    }

    /// A new session, as after a lost link.
    mutating func reopen(_ kind: PPoGATTDestination = .reversedV2) {
        system.closeSession(session, reason: "test", at: now)
        serveStore()
        session = system.openSession(kind, over: .reversedPPoGATT, at: now)
        _ = drain()
    }

    mutating func closeSession() {
        system.closeSession(session, reason: "test", at: now)
        serveStore()
    }

    /// Sends a message and returns what the watch says at once.
    @discardableResult
    mutating func send(_ message: some EndpointMessage) throws -> [PebbleMessage] {
        var bytes: [UInt8] = []
        try MessageFramer.append(message, to: &bytes)
        return send(bytes)
    }

    /// Sends the bytes of whole messages and returns what the watch says at once.
    @discardableResult
    mutating func send(_ bytes: [UInt8]) -> [PebbleMessage] {
        system.receive(bytes[...], on: session, at: now)
        return drain()
    }

    /// Lets time pass, deadline by deadline, and returns what the watch says in that time.
    @discardableResult
    mutating func wait(_ duration: Duration) -> [PebbleMessage] {
        let end = now + duration
        var said: [PebbleMessage] = []
        while let deadline = system.nextDeadline, deadline <= end {
            now = max(now, deadline)
            system.advance(to: now)
            said += drain()
        }
        now = end
        system.advance(to: now)
        return said + drain()
    }

    /// What the watch has said and not been asked for yet.
    mutating func drain() -> [PebbleMessage] {
        var deframer = MessageDeframer()
        var said: [PebbleMessage] = []
        repeat {
            serveStore()
            while true {
                let bytes = system.takeOutbound(of: session, atMost: 1000, at: now)
                guard !bytes.isEmpty else { break }
                var rest = bytes
                while case .message(let message)? = deframer.next(from: &rest) { said.append(message) }
            }
        } while storeAnswers && serveStore()
        while let event = system.nextEvent() { events.append(event) }
        return said
    }

    /// The services' events since this was last asked.
    mutating func takeServiceEvents() -> [ServiceEvent] {
        _ = drain()
        defer { events = [] }
        return events.compactMap { if case .service(let event) = $0 { event } else { nil } }
    }

    @discardableResult
    private mutating func serveStore() -> Bool {
        guard storeAnswers else { return false }
        var served = false
        while let change = system.nextChange() {
            served = true
            changes.append(change.change)
            system.changeFinished(for: change.owner, failure: storeWorks ? nil : .full(path: "/state"), at: now)
        }
        return served
    }
}

extension [PebbleMessage] {
    /// The messages of one endpoint, decoded.
    func decoded<Message: EndpointMessage>(_ type: Message.Type = Message.self) throws -> [Message] {
        try filter { $0.endpoint == Message.endpoint }.map { try Message(payload: $0.payload) }
    }
}
