import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import Daemon
import HCIRuntime
import PebblePhone

/// The phone of a ``FootprintTrial``: it keeps still until it is told to connect, and then does all that the demonstration
/// does.
struct FootprintPhone: LoopHost {
    enum Event {
        /// Something happened while the phone was connected.
        case progress
        /// Everything that was sent came back, or what did not.
        case ended(Demonstration.Outcome)
    }

    private var demonstration: Demonstration
    private var isAwake = false
    private var isConnected = false
    private var hasEnded = false

    init() throws {
        // Some day of 2026.
        let clock = PhoneClock(secondsAtOrigin: 1_767_225_600)
        var configuration = PhoneConfiguration(address: DeviceAddress(0xF0CA_1200_0002), clock: clock)
        configuration.pairing = .never
        demonstration = Demonstration(try CompanionPhone(configuration, randomness: .system))
    }

    mutating func connect(at now: Duration) {
        isAwake = true
        demonstration.start(at: now)
    }

    mutating func start(at now: Duration) {}

    mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) { demonstration.receive(packet, at: now) }

    mutating func advance(to now: Duration) {
        // The story's time limits begin with the story.
        if isAwake { demonstration.advance(to: now) }
    }

    var nextDeadline: Duration? { isAwake ? demonstration.nextDeadline : nil }

    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { demonstration.nextPacket(into: &buffer) }

    mutating func nextEvent() -> Event? {
        while let event = demonstration.nextEvent() {
            switch event {
            case .connected: isConnected = true
            case .disconnected: isConnected = false
            default: break
            }
            if isConnected { return .progress }
        }
        guard !hasEnded, let outcome = demonstration.outcome else { return nil }
        hasEnded = true
        return .ended(outcome)
    }

    mutating func beginShutdown(at now: Duration) {}

    var isShutDown: Bool { true }
}

/// The witness of a ``FootprintTrial``: it listens without a pause, and says when it hears an advertisement.
struct FootprintScanner: LoopHost {
    private var host: LEHost
    /// The latest time that was handed in.
    private var now = Duration.zero

    init() throws {
        let database = try GATTDatabase {
            Service(.genericAccess) { Characteristic(.uuid16(0x2A00), .read, value: "witness") }
        }
        host = LEHost(
            configuration: LEHost.Configuration(
                ownAddress: .random(DeviceAddress(0xF0CA_1200_0003)),
                gatt: GATTLayer.Configuration()
            ),
            database: database,
            cryptography: .swiftCrypto,
            randomness: .system
        )
    }

    mutating func start(at now: Duration) {
        self.now = now
        host.start(at: now)
    }

    mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        self.now = now
        host.receive(packet, at: now)
    }

    mutating func advance(to now: Duration) {
        self.now = now
        host.advance(to: now)
    }

    var nextDeadline: Duration? { host.nextDeadline }

    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { host.nextPacket(into: &buffer) }

    /// Each is an advertisement that was heard.
    mutating func nextEvent() -> AdvertisingReport? {
        while let event = host.nextEvent() {
            switch event {
            case .ready: host.startScanning(ScanParameters(type: .passive), at: now)
            case .advertisingReport(let report): return report
            default: break
            }
        }
        return nil
    }

    mutating func beginShutdown(at now: Duration) {}

    var isShutDown: Bool { true }
}
