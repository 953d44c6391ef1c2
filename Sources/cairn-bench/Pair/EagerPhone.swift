import AirSimulator
import BluetoothHCI
import BluetoothHost
import PebblePhone
import PebbleProtocol
import SeededRandomness

/// A phone whose app sends a dictionary to the watch as soon as it can, and records the time of each event.
struct EagerPhone: HostOwner {
    /// When the phone got how far, since `expectMessage()`.
    struct Milestones: Sendable {
        var connected: Duration?
        var sessionOpened: Duration?
        var acknowledged: Duration?
    }

    var host: CompanionPhone
    private(set) var milestones = Milestones()
    private(set) var isBonded = false
    private var waitsForSession = true
    private let dictionary: AppMessageDictionary

    init(_ configuration: PhoneConfiguration) throws {
        host = try CompanionPhone(configuration, randomness: RandomSource(state: 2, SplitMix64.draw))
        dictionary = try AppMessageDictionary(try SampleDictionary.small())
    }

    /// A phone on 1 January 2025 that connects at an interval; companions on iPhones get 30 ms.
    static func configuration(_ interval: ConnectionInterval = .milliseconds(30)) -> PhoneConfiguration {
        var configuration = PhoneConfiguration(
            address: DeviceAddress(0xC0FF_EE00_0001),
            clock: PhoneClock(secondsAtOrigin: 1_735_689_600)
        )
        configuration.connectionParameters = ConnectionParameters(
            intervalMinimum: interval,
            intervalMaximum: interval,
            latency: 0,
            supervisionTimeout: .milliseconds(2000)
        )
        return configuration
    }

    /// Forgets when what happened, and sends a dictionary in the next session again.
    mutating func expectMessage() {
        milestones = Milestones()
        waitsForSession = true
    }

    mutating func connectToWatch(at now: Duration) { host.connect(to: .random(StoredWatch.address), at: now) }

    mutating func settle(at now: Duration) {
        while let event = host.nextEvent() {
            switch event {
            case .connected: milestones.connected = now
            case .paired: isBonded = true
            case .transportOpened: milestones.sessionOpened = now
            case .appMessageEnded(_, .acknowledged, _): milestones.acknowledged = now
            case .negotiated where waitsForSession:
                waitsForSession = false
                _ = try? host.sendAppMessage(dictionary, to: DemonstrationScript.echo, at: now)
            default: break
            }
        }
    }
}
