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
        var pair = BenchPair(
            seed: 1,
            watch: try StoredWatch(watchConfiguration),
            phone: try EagerPhone(phoneConfiguration)
        )
        _ = try runToMessage(&pair)
        // Everything is known of each other, and nothing is left to do.
        pair.run(for: .seconds(30))
        pair.onPhone { phone, now in
            phone.expectMessage()
            phone.host.disconnect(at: now)
        }
        pair.onWatch { watch, _ in watch.beginAnew() }
        pair.run(for: .seconds(10))
        pair.onPhone { phone, now in phone.connectToWatch(at: now) }
        return try runToMessage(&pair)
    }

    /// Runs until the dictionary has arrived, and counts.
    private func runToMessage(_ pair: inout BenchPair) throws -> Cost {
        let watch = pair.watch
        var connected: (events: Int64, time: Duration)?
        var session: Int64?
        let time = pair.run(within: Self.patience) { simulation in
            guard let milestones = simulation.withHost(watch, { $0.milestones }), milestones.isConnected,
                let count = simulation.air.connectionEventCount(of: watch.controller)
            else { return false }
            if connected == nil { connected = (count, simulation.now) }
            if session == nil, milestones.hasSession { session = count }
            return milestones.hasMessage
        }
        guard time != nil, let connected, let session,
            let count = pair.simulation.air.connectionEventCount(of: watch.controller)
        else { throw WorkloadFailure("\(personality.name), \(handset.rawValue): no message came through") }
        return Cost(
            sessionEvents: session - connected.events,
            events: count - connected.events,
            time: pair.now - connected.time
        )
    }

    private var watchConfiguration: WatchConfiguration {
        var configuration = StoredWatch.configuration(personality)
        configuration.phoneDiscovery = discovery
        return configuration
    }

    private var phoneConfiguration: PhoneConfiguration {
        var configuration = EagerPhone.configuration(interval)
        configuration.system = handset.system
        configuration.transport = handset.transport(to: personality)
        configuration.remembersWatch = true
        return configuration
    }
}
