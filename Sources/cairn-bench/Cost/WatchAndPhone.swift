import AirSimulator
import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import PebblePhone
import PebbleProtocol
import PebbleWatch

/// A watch and a phone that have got as far as a session, on one air.
struct WatchAndPhone {
    private(set) var simulation: Simulation
    let watch: Simulation.HostID<Watch>
    let phone: Simulation.HostID<CompanionPhone>
    /// What the phone found on the watch.
    let discovered: DiscoveredWatch

    /// As many seconds of simulated time must be enough for anything here.
    static let patience: Duration = .seconds(60)

    init(_ transport: PhoneTransport) throws {
        var simulation = Simulation(seed: 1)
        let address = DeviceAddress(0xC000_0000_0001)
        var watchConfiguration = WatchConfiguration(identity: WatchIdentity(address: .random(address)))
        watchConfiguration.linkSecurity = .insecureTestLink
        watchConfiguration.defaultApp = EchoApp()
        watchConfiguration.builtInApps = []
        watch = simulation.add(try Watch(watchConfiguration, cryptography: .swiftCrypto, randomness: .system))
        var configuration = PhoneConfiguration(
            address: DeviceAddress(0xC000_0000_0002),
            clock: PhoneClock(secondsAtOrigin: 0)
        )
        configuration.transport = transport
        configuration.pairing = .never
        phone = simulation.add(try CompanionPhone(configuration, randomness: .system))
        var discovered: DiscoveredWatch?
        var isNegotiated = false
        _ = simulation.run(until: Self.patience) { [phone, watch] simulation in
            Self.discardEvents(&simulation, of: watch)
            _ = simulation.withHost(phone) {
                while let event = $0.nextEvent() {
                    if case .databaseDiscovered(let watch) = event { discovered = watch }
                    if case .negotiated = event { isNegotiated = true }
                }
            }
            return isNegotiated && discovered != nil
        }
        guard let discovered, isNegotiated else { throw WorkloadFailure("the watch and the phone did not meet") }
        self.discovered = discovered
        self.simulation = simulation
        // What is still being read and subscribed to is to be over.
        try runIdle(for: .seconds(5))
    }

    /// Runs with nothing to say.
    mutating func runIdle(for span: Duration) throws(WorkloadFailure) {
        guard simulation.run(until: simulation.now + span, condition: discardAllEvents) == .timeIsUp else {
            throw WorkloadFailure("time did not pass")
        }
        guard simulation.withHost(phone, { $0.isNegotiated }) == true else {
            throw WorkloadFailure("the watch and the phone lost each other")
        }
    }

    private var discardAllEvents: (inout Simulation) -> Bool {
        { [watch, phone] simulation in
            Self.discardEvents(&simulation, of: watch)
            _ = simulation.withHost(phone) { while $0.nextEvent() != nil {} }
            return false
        }
    }

    /// Forgets what the watch reports, and stores what it wants stored, at once.
    private static func discardEvents(_ simulation: inout Simulation, of watch: Simulation.HostID<Watch>) {
        let now = simulation.now
        _ = simulation.withHost(watch) { firmware in
            firmware.finishMemoryChanges(at: now)
            firmware.discardEvents()
        }
    }

    /// Sends a dictionary and waits for its echo.
    mutating func exchange(_ dictionary: AppMessageDictionary) throws(WorkloadFailure) {
        let now = simulation.now
        let wasSent = simulation.withHost(phone) { phone in
            (try? phone.sendAppMessage(dictionary, to: DemonstrationScript.echo, at: now)) != nil
        }
        guard wasSent == true else { throw WorkloadFailure("the dictionary was not sent") }
        var isAcknowledged = false
        var isEchoed = false
        _ = simulation.run(until: now + Self.patience) { [watch, phone] simulation in
            Self.discardEvents(&simulation, of: watch)
            _ = simulation.withHost(phone) {
                while let event = $0.nextEvent() {
                    if case .appMessageEnded(_, .acknowledged, _) = event { isAcknowledged = true }
                    if case .appMessageReceived(let push) = event { isEchoed = push.dictionary == dictionary }
                }
            }
            return isAcknowledged && isEchoed
        }
        guard isAcknowledged, isEchoed else { throw WorkloadFailure("the echo did not come") }
    }

    /// Sends a message and waits for the answer that `read` makes something of.
    mutating func ask<Answer>(
        _ message: PebbleMessage,
        _ read: (PebbleMessage) -> Answer?
    ) throws(WorkloadFailure) -> Answer {
        let now = simulation.now
        let wasSent = simulation.withHost(phone) { phone in (try? phone.send(message, at: now)) != nil }
        guard wasSent == true else { throw WorkloadFailure("\(message.endpoint) was not sent") }
        var answer: Answer?
        _ = simulation.run(until: now + Self.patience) { [watch, phone] simulation in
            Self.discardEvents(&simulation, of: watch)
            _ = simulation.withHost(phone) {
                while let event = $0.nextEvent() {
                    if case .message(.fromWatch, let message) = event, answer == nil { answer = read(message) }
                }
            }
            return answer != nil
        }
        guard let answer else { throw WorkloadFailure("\(message.endpoint) was not answered") }
        return answer
    }

    /// The watch, taken out of the simulation, and its connection.
    mutating func takeWatch() throws(WorkloadFailure) -> (watch: Watch, now: Duration) {
        var taken: Watch?
        _ = simulation.withHost(watch) { taken = $0 }
        guard let taken else { throw WorkloadFailure("there is no watch") }
        return (taken, simulation.now)
    }
}

/// A dictionary that goes to the watch and comes back, with both hosts and the air between them.
struct SimulatedEchoWorkload: Workload {
    private var pair: WatchAndPhone
    private let dictionary: AppMessageDictionary

    init(_ transport: PhoneTransport) throws {
        pair = try WatchAndPhone(transport)
        dictionary = try AppMessageDictionary(try SampleDictionary.small())
    }

    mutating func run(_ count: Int) throws(WorkloadFailure) {
        for _ in 0..<count { try pair.exchange(dictionary) }
    }
}

/// One hour in which a watch and a phone are connected and have nothing to say.
struct SimulatedHourWorkload: Workload {
    private var pair: WatchAndPhone

    init() throws { pair = try WatchAndPhone(.forward) }

    mutating func run(_ count: Int) throws(WorkloadFailure) {
        for _ in 0..<count { try pair.runIdle(for: .seconds(3600)) }
    }
}
