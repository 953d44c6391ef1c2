import AirSimulator
import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import PebblePhone
import PebbleProtocol
import SeededRandomness
import Testing

@testable import FlightRecorder
@testable import PebbleWatch

/// A watch with a recorder around it, and a store that now and then has no room.
struct RecordedHost: HCIHost {
    static let address = DeviceAddress(0xC011_2233_4455)

    var watch: Watch
    let recorder: FlightRecorder
    private var store: SplitMix64
    private let refusesChanges: Bool

    init(
        _ configuration: WatchConfiguration = RecordedHost.configuration(),
        memory: WatchMemory = WatchMemory(),
        seed: UInt64,
        refusesChanges: Bool = false,
        leavesOutSecrets: Bool = false,
        limit: Int = 256 * 1024 * 1024
    ) throws {
        let numbers = DrawnNumbers(RandomSource(state: seed, SplitMix64.draw))
        watch = try Watch(
            configuration,
            memory: memory,
            cryptography: .swiftCrypto,
            randomness: numbers.randomness
        )
        let header = RecordingHeader(
            program: "test",
            circumstances: RecordingHeader.Circumstances(configuration),
            memory: memory
        )
        recorder = FlightRecorder(header, numbers: numbers, limit: limit, leavesOutSecrets: leavesOutSecrets)
        store = SplitMix64(seed: seed ^ 0x570E)
        self.refusesChanges = refusesChanges
    }

    static func configuration() -> WatchConfiguration {
        WatchConfiguration(identity: WatchIdentity(address: .random(address)))
    }

    /// What an event is called: its values are compared where they leave the watch.
    static let describe: @Sendable (WatchEvent) -> String? = { event in
        if case .diagnostic = event { return nil }
        return String("\(event)".prefix { $0 != "(" })
    }

    @discardableResult
    mutating func take(_ input: WatchInput, at now: Duration) -> WatchInputResult? {
        let result = try? recorder.take(input, by: &watch, at: now)
        settle(at: now)
        return result
    }

    private mutating func settle(at now: Duration) {
        while let (id, _) = recorder.nextMemoryChange(of: &watch) {
            let failure: WatchStoreError? = refusesChanges && store.chance(1, in: 10) ? .full(path: "/state") : nil
            _ = try? recorder.take(.memoryChangeFinished(id, failure: failure), by: &watch, at: now)
        }
        while let event = watch.nextEvent() {
            if let text = Self.describe(event) { recorder.noteEvent { $0.append(contentsOf: text.utf8) } }
        }
        // A deadline that is kept and is not right makes the loop sleep for too long.
        let kept = watch.ownDeadline
        let found = watch.findDeadline()
        if kept != found { Issue.record("the kept deadline is \(kept as Any), and not \(found as Any)") }
    }

    // MARK: HCIHost

    mutating func start(at now: Duration) { take(.start, at: now) }
    mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) { take(.packet(packet), at: now) }
    mutating func advance(to now: Duration) { take(.time, at: now) }
    var nextDeadline: Duration? { watch.nextDeadline }
    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { recorder.nextPacket(of: &watch, into: &buffer) }
}

/// A phone that does what it is told, and has stored every bond at once.
struct ToldPhone: HCIHost {
    var phone: CommandedPhone
    private var lastRequest: UInt64 = 0

    init(_ transport: PhoneTransport, seed: UInt64) throws {
        var configuration = PhoneConfiguration(
            address: DeviceAddress(0xC0FF_EE00_0002),
            clock: PhoneClock(secondsAtOrigin: 1_735_689_600, offsetMinutes: 60, zoneName: "Europe/Paris")
        )
        configuration.transport = transport
        phone = try CommandedPhone(configuration, randomness: RandomSource(state: seed, SplitMix64.draw))
    }

    mutating func begin(_ command: PhoneCommand, at now: Duration) {
        lastRequest += 1
        phone.begin(command, as: PhoneRequestID(rawValue: lastRequest), at: now)
        settle(at: now)
    }

    private mutating func settle(at now: Duration) {
        while let event = phone.nextEvent() {
            if case .bonded(let bond) = event { phone.bondStored(bond.identity, at: now) }
        }
        while phone.nextResult() != nil {}
    }

    // MARK: HCIHost

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

    var nextDeadline: Duration? { phone.nextDeadline }
    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { phone.nextPacket(into: &buffer) }
}

/// A recorded watch and a phone in virtual time.
struct RecordedAir {
    var simulation: Simulation
    let watch: Simulation.HostID<RecordedHost>
    let phone: Simulation.HostID<ToldPhone>

    init(_ host: RecordedHost, transport: PhoneTransport = .forward, seed: UInt64) throws {
        simulation = Simulation(seed: seed)
        watch = simulation.add(host)
        phone = simulation.add(try ToldPhone(transport, seed: seed &+ 2))
    }

    mutating func run(for span: Duration) { simulation.run(for: span) }

    mutating func give(_ input: WatchInput) -> WatchInputResult? {
        let now = simulation.now
        return simulation.withHost(watch) { $0.take(input, at: now) } ?? nil
    }

    mutating func tell(_ command: PhoneCommand) {
        let now = simulation.now
        _ = simulation.withHost(phone) { $0.begin(command, at: now) }
    }

    /// A phone that has found the watch, paired, and talks to it.
    mutating func acquaint() {
        run(for: .seconds(1))
        tell(.connect(.selected(.any), within: .seconds(20)))
        run(for: .seconds(5))
        tell(.pair(.yes, within: .seconds(20)))
        run(for: .seconds(10))
        tell(.ping)
        tell(.notify(title: "Dinner", body: "at eight"))
        run(for: .seconds(5))
    }

    /// What was recorded, and the watch as it is now.
    mutating func recorded() -> (bytes: [UInt8], watch: Watch)? {
        simulation.withHost(watch) { ($0.recorder.recording(), $0.watch) }
    }
}

extension Replay {
    /// Replays a recording to its end, or to where it parts.
    static func all(
        of bytes: [UInt8],
        _ configuration: WatchConfiguration = RecordedHost.configuration()
    ) throws -> Replay {
        var replay = try Replay(
            try Recording(bytes),
            configuration,
            cryptography: .swiftCrypto,
            describe: RecordedHost.describe
        )
        replay.run()
        return replay
    }
}
