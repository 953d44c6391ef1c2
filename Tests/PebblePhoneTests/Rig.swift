import AirSimulator
import BluetoothHCI
import BluetoothHost
import PebblePhone
import PebbleProtocol
import PebbleWatch

/// A watch and a phone that tells its story, on one air.
struct Rig {
    static let watchAddress = DeviceAddress(0xC011_2233_4455)
    static let phoneAddress = DeviceAddress(0xC0FF_EE00_0001)

    let seed: UInt64
    var simulation: Simulation
    let watch: Simulation.HostID<Firmware>
    let phone: Simulation.HostID<Demonstration>
    /// Everything that the phone told so far.
    private(set) var story: [Told] = []
    /// Everything that the watch told so far.
    private(set) var watchEvents: [WatchEvent] = []

    /// An event and when it was told.
    struct Told {
        let time: Duration
        let event: PhoneEvent
    }

    init(
        _ transport: PhoneTransport,
        seed: UInt64,
        quality: LinkQuality = .perfect,
        controller: ControllerConfiguration = .modern,
        script: DemonstrationScript = .standard,
        configure: (inout PhoneConfiguration) -> Void = { _ in }
    ) throws {
        self.seed = seed
        simulation = Simulation(seed: seed, quality: quality)
        var identity = WatchConfiguration(identity: WatchIdentity(address: .random(Self.watchAddress)))
        identity.linkSecurity = .insecureTestLink
        watch = simulation.add(try Firmware(identity, randomness: SplitMix64(seed: seed &+ 1)), controller)
        var configuration = PhoneConfiguration(
            address: Self.phoneAddress,
            clock: PhoneClock(secondsAtOrigin: 1_735_689_600, offsetMinutes: 60, zoneName: "Europe/Paris")
        )
        configuration.transport = transport
        configure(&configuration)
        let companion = try CompanionPhone(configuration, randomness: SplitMix64(seed: seed &+ 2))
        phone = simulation.add(Demonstration(companion, script: script), controller)
    }

    /// Runs until the demonstration is over, and a moment longer.
    mutating func runToTheEnd(within limit: Duration) {
        run(within: limit) { $0.outcome != nil }
        run(within: .seconds(2)) { _ in false }
    }

    /// Runs until the phone is as wanted, or for a time.
    mutating func run(within limit: Duration, until isDone: (Rig) -> Bool) {
        let end = simulation.now + limit
        while simulation.now < end, !isDone(self) {
            var next = false
            _ = simulation.run(until: end) { simulation in
                // Whenever something was told it is looked at.
                next = Self.collect(&simulation, watch, phone, &story, &watchEvents)
                return next
            }
            if !next { return }
        }
    }

    private static func collect(
        _ simulation: inout Simulation,
        _ watch: Simulation.HostID<Firmware>,
        _ phone: Simulation.HostID<Demonstration>,
        _ story: inout [Told],
        _ watchEvents: inout [WatchEvent]
    ) -> Bool {
        let before = story.count
        let now = simulation.now
        _ = simulation.withHost(phone) {
            while let event = $0.nextEvent() { story.append(Told(time: now, event: event)) }
        }
        _ = simulation.withHost(watch) { while let event = $0.nextEvent() { watchEvents.append(event) } }
        return story.count > before
    }

    /// How the demonstration ended; nil while it goes on.
    var outcome: Demonstration.Outcome? {
        var simulation = simulation
        return simulation.withHost(phone) { $0.outcome } ?? nil
    }

    /// The story as text, to be shown when a test fails.
    var transcript: String {
        (["seed \(seed)"] + story.map { "\($0.time) \($0.event)" }).joined(separator: "\n")
    }
}
