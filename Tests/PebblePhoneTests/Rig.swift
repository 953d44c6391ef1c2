import AirSimulator
import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import PebblePhone
import PebbleProtocol
import PebbleWatch
import SeededRandomness

/// A watch and a phone that tells its story, on one air.
struct Rig {
    /// An event and when it was told.
    struct Told {
        let time: Duration
        let event: PhoneEvent
    }

    /// What a test may choose.
    struct Settings {
        var transport = PhoneTransport.forward
        var seed: UInt64 = 1
        var linkSecurity = LinkSecurityPolicy.required
        var quality = LinkQuality.perfect
        var controller = ControllerConfiguration.modern
        var script = DemonstrationScript.standard
        var app: any WatchApp = EchoApp()
        var builtInApps: [any WatchApp] = []
        var hasWatch = true
        var configurePhone: (inout PhoneConfiguration) -> Void = { _ in }
    }

    static let watchAddress = DeviceAddress(0xC011_2233_4455)
    static let phoneAddress = DeviceAddress(0xC0FF_EE00_0001)
    /// 1 January 2025, 00:00 UTC.
    static let clock = PhoneClock(secondsAtOrigin: 1_735_689_600, offsetMinutes: 60, zoneName: "Europe/Paris")

    private(set) var simulation: Simulation
    let watch: Simulation.HostID<Watch>?
    let phone: Simulation.HostID<Demonstration>
    let seed: UInt64
    /// Everything that the phone told so far.
    private(set) var story: [Told] = []
    /// Everything that the watch told so far.
    private(set) var watchEvents: [WatchEvent] = []
    /// How the demonstration ended; nil while it goes on.
    private(set) var outcome: Demonstration.Outcome?

    init(_ settings: Settings) throws {
        seed = settings.seed
        simulation = Simulation(seed: seed, quality: settings.quality)
        var watchConfiguration = WatchConfiguration(identity: WatchIdentity(address: .random(Self.watchAddress)))
        watchConfiguration.linkSecurity = settings.linkSecurity
        watchConfiguration.defaultApp = settings.app
        watchConfiguration.builtInApps = settings.builtInApps
        let firmware = try Watch(
            watchConfiguration,
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: seed &+ 1, SplitMix64.draw)
        )
        watch = settings.hasWatch ? simulation.add(firmware, settings.controller) : nil
        phone = simulation.add(try Self.makeDemonstration(settings), settings.controller)
    }

    /// The phone alone.
    static func makeDemonstration(_ settings: Settings) throws -> Demonstration {
        var configuration = PhoneConfiguration(address: phoneAddress, clock: clock)
        configuration.transport = settings.transport
        settings.configurePhone(&configuration)
        let companion = try CompanionPhone(
            configuration,
            randomness: RandomSource(state: settings.seed &+ 2, SplitMix64.draw)
        )
        return Demonstration(companion, script: settings.script)
    }

    /// Shows every packet that crosses the HCI boundary.
    mutating func observe(_ observer: @escaping (Simulation.Packet) -> Void) { simulation.observer = observer }

    /// Runs until the demonstration is over, and a moment longer.
    mutating func runToTheEnd(within limit: Duration = .seconds(300)) {
        run(within: limit) { $0.outcome != nil }
        run(within: .seconds(2)) { _ in false }
    }

    /// Runs until what was told is as wanted, or for a time.
    mutating func run(within limit: Duration, until isDone: (Rig) -> Bool) {
        let end = simulation.now + limit
        while simulation.now < end {
            var told: (phone: [Told], watch: [WatchEvent]) = ([], [])
            let ending = simulation.run(until: end) { [watch, phone] simulation in
                told = Self.collect(&simulation, watch, phone)
                return !told.phone.isEmpty || !told.watch.isEmpty
            }
            story += told.phone
            watchEvents += told.watch
            self.outcome = simulation.withHost(phone) { $0.outcome } ?? nil
            if ending != .conditionMet || isDone(self) { return }
        }
    }

    private static func collect(
        _ simulation: inout Simulation,
        _ watch: Simulation.HostID<Watch>?,
        _ phone: Simulation.HostID<Demonstration>
    ) -> ([Told], [WatchEvent]) {
        let now = simulation.now
        var told: [Told] = []
        var watchEvents: [WatchEvent] = []
        _ = simulation.withHost(phone) {
            while let event = $0.nextEvent() { told.append(Told(time: now, event: event)) }
        }
        guard let watch else { return (told, []) }
        _ = simulation.withHost(watch) {
            while let event = $0.nextEvent() { watchEvents.append(event) }
            $0.finishMemoryChanges(at: now)
        }
        return (told, watchEvents)
    }

    /// Changes how well the watch and the phone hear each other.
    mutating func setQuality(_ quality: LinkQuality) {
        guard let watch else { return }
        simulation.air.setLinkQuality(quality, between: watch.controller, and: phone.controller)
    }

    /// What the demonstration did, if it went well.
    var summary: Demonstration.Summary? {
        if case .success(let summary) = outcome { summary } else { nil }
    }

    /// Why it did not.
    var failure: String? {
        if case .failure(let reason) = outcome { reason } else { nil }
    }

    /// What became of the watch's echoes, as the watch sees it.
    var echoResults: [AppMessageResult] {
        watchEvents.compactMap { event in
            if case .appMessageSent(_, _, let result) = event { result } else { nil }
        }
    }

    /// How many events of a kind were told.
    func count(_ isWanted: (PhoneEvent) -> Bool) -> Int { story.count { isWanted($0.event) } }

    /// The story as text, to be shown when a test fails.
    var transcript: String {
        let lines = story.map { "\($0.time) \($0.event)" }
        let watchLines = watchEvents.compactMap { event -> String? in
            if case .diagnostic(let diagnostic) = event { "watch: \(diagnostic)" } else { nil }
        }
        return (["seed \(seed), \(String(describing: outcome))"] + lines + watchLines).joined(separator: "\n")
    }
}
