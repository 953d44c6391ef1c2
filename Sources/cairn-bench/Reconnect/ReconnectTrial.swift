import AirSimulator
import BluetoothHCI
import BluetoothHost
import PebblePhone
import PebbleWatch

/// How long a bonded phone and the watch need from the connection to the first AppMessage.
struct ReconnectTrial: Sendable {
    /// A phone as it comes: what its system offers, and which of the watch's transports its companion takes.
    enum Handset: String, Sendable, CaseIterable {
        case iPhone
        case android

        var system: PhoneSystem {
            switch self {
            case .iPhone: .iOS
            case .android: .android
            }
        }

        /// Companions on Android take the watch's own service if it has the newest, and host theirs otherwise.
        func transport(to personality: Personality) -> PhoneTransport {
            self == .android && personality.reversedTransport == .v2 ? .reversed : .forward
        }
    }

    /// What it took.
    struct Cost: Sendable, Equatable {
        /// From the connection to the open session.
        var sessionEvents: Int64
        /// From the connection to the dictionary's arrival at the watchapp.
        var events: Int64
        var time: Duration
    }

    let personality: Personality
    let handset: Handset
    let interval: ConnectionInterval
    let discovery: PhoneDiscovery

    private static let patience: Duration = .seconds(60)

    func run() throws -> Cost {
        var simulation = Simulation(seed: 1)
        let watch = simulation.add(try ReconnectWatch(personality, discovery))
        let phone = simulation.add(try EagerPhone(phoneConfiguration))
        _ = try wait(&simulation, for: watch)
        // Everything is known of each other, and nothing is left to do.
        simulation.run(for: .seconds(30))
        _ = simulation.withHost(phone) { [now = simulation.now] in
            $0.expectMessage()
            $0.disconnect(at: now)
        }
        _ = simulation.withHost(watch) { $0.milestones = ReconnectWatch.Milestones() }
        simulation.run(for: .seconds(10))
        let address = LEAddress.random(StoredWatch.address)
        _ = simulation.withHost(phone) { [now = simulation.now] in $0.connect(to: address, at: now) }
        return try wait(&simulation, for: watch)
    }

    /// Runs until the dictionary has arrived, and counts.
    private func wait(_ simulation: inout Simulation, for watch: Simulation.HostID<ReconnectWatch>) throws -> Cost {
        var connected: (events: Int64, time: Duration)?
        var session: Int64?
        let outcome = simulation.run(until: simulation.now + Self.patience) { simulation in
            guard let milestones = simulation.withHost(watch, { $0.milestones }), milestones.isConnected,
                let count = simulation.air.connectionEventCount(of: watch.controller)
            else { return false }
            if connected == nil { connected = (count, simulation.now) }
            if session == nil, milestones.hasSession { session = count }
            return milestones.hasMessage
        }
        guard outcome == .conditionMet, let connected, let session,
            let count = simulation.air.connectionEventCount(of: watch.controller)
        else { throw WorkloadFailure("\(personality.name), \(handset.rawValue): no message came through") }
        return Cost(
            sessionEvents: session - connected.events,
            events: count - connected.events,
            time: simulation.now - connected.time
        )
    }

    private var phoneConfiguration: PhoneConfiguration {
        var configuration = PhoneConfiguration(
            address: DeviceAddress(0xC0FF_EE00_0001),
            clock: PhoneClock(secondsAtOrigin: 1_735_689_600)
        )
        configuration.system = handset.system
        configuration.transport = handset.transport(to: personality)
        configuration.remembersWatch = true
        configuration.connectionParameters = ConnectionParameters(
            intervalMinimum: interval,
            intervalMaximum: interval,
            latency: 0,
            supervisionTimeout: .milliseconds(2000)
        )
        return configuration
    }
}

/// A watch whose store never fails, and which notes how far its phone has come.
struct ReconnectWatch: HCIHost {
    struct Milestones: Sendable {
        var isConnected = false
        var hasSession = false
        var hasMessage = false
    }

    private var firmware: Firmware
    var milestones = Milestones()

    init(_ personality: Personality, _ discovery: PhoneDiscovery) throws {
        let identity = WatchIdentity(address: .random(StoredWatch.address), personality: personality)
        var configuration = WatchConfiguration(identity: identity, personality: personality)
        configuration.defaultApp = EchoApp()
        configuration.builtInApps = []
        configuration.phoneDiscovery = discovery
        firmware = try Firmware(configuration, randomness: SeededNumbers(seed: 1))
    }

    var nextDeadline: Duration? { firmware.nextDeadline }
    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { firmware.nextPacket(into: &buffer) }

    mutating func start(at now: Duration) {
        firmware.start(at: now)
        settle(at: now)
    }

    mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        firmware.receive(packet, at: now)
        settle(at: now)
    }

    mutating func advance(to now: Duration) {
        firmware.advance(to: now)
        settle(at: now)
    }

    private mutating func settle(at now: Duration) {
        while let change = firmware.nextMemoryChange() {
            firmware.memoryChangeFinished(change.id, failure: nil, at: now)
        }
        while let event = firmware.nextEvent() {
            switch event {
            case .connected: milestones.isConnected = true
            case .sessionOpened: milestones.hasSession = true
            case .appMessageReceived: milestones.hasMessage = true
            default: break
            }
        }
    }
}
