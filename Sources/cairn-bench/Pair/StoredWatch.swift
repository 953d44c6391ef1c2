import AirSimulator
import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import PebbleWatch
import SeededRandomness

/// A watch whose store never fails, and which notes how far its phone has come.
struct StoredWatch: HostOwner {
    static let address = DeviceAddress(0xC011_2233_4455)

    struct Milestones: Sendable {
        var isConnected = false
        var hasSession = false
        var hasMessage = false
    }

    var host: Watch
    private(set) var milestones = Milestones()

    /// - Parameter seed: determines the watch's keys and nonces.
    init(_ configuration: WatchConfiguration, seed: UInt64 = 1) throws {
        host = try Watch(
            configuration,
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: seed, SplitMix64.draw)
        )
    }

    /// A watch that echoes what it is sent.
    static func configuration(
        _ personality: Personality = .universal,
        address: DeviceAddress = address
    ) -> WatchConfiguration {
        let identity = WatchIdentity(address: .random(address), personality: personality)
        var configuration = WatchConfiguration(identity: identity, personality: personality)
        configuration.defaultApp = EchoApp()
        configuration.builtInApps = []
        return configuration
    }

    /// Forgets what has happened.
    mutating func beginAnew() { milestones = Milestones() }

    mutating func settle(at now: Duration) {
        host.finishMemoryChanges(at: now)
        while let event = host.nextEvent() {
            switch event {
            case .connected: milestones.isConnected = true
            case .sessionOpened: milestones.hasSession = true
            case .appMessageReceived: milestones.hasMessage = true
            default: break
            }
        }
    }
}
