import PebbleProtocol
import PebbleWatch

/// An advertising policy to be tried.
struct WatchPolicy: Sendable {
    let profile: AdvertisingProfile
    /// What wakes apps that were force-quit; nil for nothing.
    var beacon: Beacon?

    var name: String { profile.name }

    static let all = [AdvertisingProfile.pebble, .apple, .saver].map { WatchPolicy(profile: $0) }

    /// The same with a beacon.
    var withBeacon: WatchPolicy {
        WatchPolicy(
            profile: profile,
            beacon: Beacon(uuid: PebbleUUID(upperHalf: 0x0C0F_FEE0_0000_4000, lowerHalf: 0x8000_0000_0000_0001))
        )
    }

    func apply(to configuration: inout WatchConfiguration) {
        configuration.advertising = profile
        configuration.beacon = beacon
    }
}
