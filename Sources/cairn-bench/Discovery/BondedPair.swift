import AirSimulator
import BluetoothHCI
import BluetoothHost
import PebblePhone
import PebbleProtocol
import PebbleWatch

/// A watch whose store never fails, and which notes when it loses its phone.
struct StoredWatch: HCIHost {
    static let address = DeviceAddress(0xC011_2233_4455)

    private(set) var firmware: Firmware
    private(set) var isConnected = false

    init(_ configuration: WatchConfiguration) throws {
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
            case .connected: isConnected = true
            case .disconnected: isConnected = false
            default: break
            }
        }
    }
}

/// A phone whose app sends a dictionary to the watch as soon as it can, and notes when what happened.
struct EagerPhone: HCIHost {
    /// When the phone got how far, since `expectMessage()`.
    struct Milestones: Sendable {
        var connected: Duration?
        var sessionOpened: Duration?
        var acknowledged: Duration?
    }

    private(set) var phone: CompanionPhone
    private(set) var milestones = Milestones()
    private(set) var isBonded = false
    private var waitsForSession = true
    private let dictionary: AppMessageDictionary

    init(_ configuration: PhoneConfiguration) throws {
        phone = try CompanionPhone(configuration, randomness: SeededNumbers(seed: 2))
        dictionary = try AppMessageDictionary(try SampleDictionary.small())
    }

    /// Forgets when what happened, and sends a dictionary in the next session again.
    mutating func expectMessage() {
        milestones = Milestones()
        waitsForSession = true
    }

    mutating func disconnect(at now: Duration) { phone.disconnect(at: now) }
    mutating func connect(to watch: LEAddress, at now: Duration) { phone.connect(to: watch, at: now) }

    var nextDeadline: Duration? { phone.nextDeadline }
    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { phone.nextPacket(into: &buffer) }

    mutating func start(at now: Duration) {
        phone.start(at: now)
        settle(at: now)
    }

    mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        phone.receive(packet, at: now)
        settle(at: now)
    }

    mutating func advance(to now: Duration) {
        phone.advance(to: now)
        settle(at: now)
    }

    private mutating func settle(at now: Duration) {
        while let event = phone.nextEvent() {
            switch event {
            case .connected: milestones.connected = now
            case .paired: isBonded = true
            case .transportOpened: milestones.sessionOpened = now
            case .appMessageEnded(_, .acknowledged, _): milestones.acknowledged = now
            case .negotiated where waitsForSession:
                waitsForSession = false
                _ = try? phone.sendAppMessage(dictionary, to: DemonstrationScript.echo, at: now)
            default: break
            }
        }
    }
}

/// A watch and a phone that are bonded, connected, and have nothing to say: where trials begin.
struct BondedPair {
    private(set) var simulation: Simulation
    let watch: Simulation.HostID<StoredWatch>
    let phone: Simulation.HostID<EagerPhone>

    /// As much simulated time must be enough for bonding.
    private static let patience: Duration = .seconds(300)

    init(_ policy: WatchPolicy, _ scanner: ScannerProfile) throws {
        simulation = Simulation(seed: 1)
        var configuration = WatchConfiguration(identity: WatchIdentity(address: .random(StoredWatch.address)))
        configuration.defaultApp = EchoApp()
        configuration.builtInApps = []
        policy.apply(to: &configuration)
        watch = simulation.add(try StoredWatch(configuration))
        phone = simulation.add(try EagerPhone(Self.phoneConfiguration(scanner)))
        let outcome = simulation.run(until: Self.patience) { [phone] simulation in
            simulation.withHost(phone) { $0.milestones.acknowledged != nil } == true
        }
        guard outcome == .conditionMet, simulation.withHost(phone, { $0.isBonded }) == true else {
            throw WorkloadFailure("the watch and the phone did not bond")
        }
        simulation.run(for: .seconds(60))
    }

    /// A phone as companions on iPhones find it: an interval of 30 ms, and a connection that stays wanted.
    private static func phoneConfiguration(_ scanner: ScannerProfile) -> PhoneConfiguration {
        var configuration = PhoneConfiguration(
            address: DeviceAddress(0xC0FF_EE00_0001),
            clock: PhoneClock(secondsAtOrigin: 1_735_689_600)
        )
        configuration.scanInterval = scanner.interval
        configuration.scanWindow = scanner.window
        configuration.reconnectDelay = .zero
        configuration.connectionParameters = ConnectionParameters(
            intervalMinimum: .milliseconds(30),
            intervalMaximum: .milliseconds(30),
            latency: 0,
            supervisionTimeout: .milliseconds(2000)
        )
        return configuration
    }

    mutating func setInRange(_ isInRange: Bool) {
        let quality = isInRange ? LinkQuality.perfect : .outOfRange
        simulation.air.setLinkQuality(quality, between: watch.controller, and: phone.controller)
    }

    /// Lets time pass until the phone's dictionary is acknowledged, or for a time.
    mutating func runUntilAcknowledged(within limit: Duration) -> EagerPhone.Milestones? {
        let outcome = simulation.run(until: simulation.now + limit) { [phone] simulation in
            simulation.withHost(phone) { $0.milestones.acknowledged != nil } == true
        }
        return outcome == .conditionMet ? simulation.withHost(phone) { $0.milestones } : nil
    }
}

extension BondedPair {
    /// Lets time pass until the phone is connected.
    /// - Returns: whether it was, within a time.
    mutating func runUntilConnected(within limit: Duration) -> Bool {
        simulation.run(until: simulation.now + limit) { [phone] simulation in
            simulation.withHost(phone) { $0.milestones.connected != nil } == true
        } == .conditionMet
    }

    /// Lets chance go another way from here on.
    mutating func reseed(_ seed: UInt64) { simulation.air.reseed(seed) }
    mutating func run(for span: Duration) { simulation.run(for: span) }
    var now: Duration { simulation.now }
    mutating func withPhone(_ body: (inout EagerPhone) -> Void) { _ = simulation.withHost(phone, body) }

    /// How long the watch's radio has been on so far.
    var watchRadio: RadioUsage {
        mutating get { simulation.air.radioUsage(of: watch.controller) }
    }

    /// Puts a phone's ear for beacons on the same air.
    mutating func addMonitor(_ monitor: RegionMonitor) -> Simulation.HostID<RegionMonitor> { simulation.add(monitor) }

    /// Lets time pass until the ear hears the beacon.
    /// - Returns: whether it did, within a time.
    mutating func runUntilHeard(by monitor: Simulation.HostID<RegionMonitor>, within limit: Duration) -> Bool {
        simulation.run(until: simulation.now + limit) { simulation in
            simulation.withHost(monitor) { $0.hasHeard } == true
        } == .conditionMet
    }

    /// Carries the phone away, or back, with its ear.
    mutating func setInRange(_ isInRange: Bool, _ monitor: Simulation.HostID<RegionMonitor>) {
        setInRange(isInRange)
        let quality = isInRange ? LinkQuality.perfect : .outOfRange
        simulation.air.setLinkQuality(quality, between: watch.controller, and: monitor.controller)
    }

    mutating func withMonitor(
        _ monitor: Simulation.HostID<RegionMonitor>,
        _ body: (inout RegionMonitor) -> Void
    ) { _ = simulation.withHost(monitor, body) }
}
