import BluetoothHCI
import Daemon
import LinuxBluetooth
import PebbleProtocol
import PebbleWatch
import Settings

/// What a watch is to run with: where the values of its settings go.
struct RunPlan: SettingTarget {
    /// The process. Its controller counts only if one is chosen.
    var process = WatchDaemonConfiguration(controller: .virtual)
    /// Where the watch's controller is, if one is chosen.
    var controller: TransportAddress?
    /// The watch before it has an address of its own.
    var watch = WatchConfiguration(identity: WatchIdentity(address: Self.anyAddress))
    /// The watch's name, unless it is to follow from the address.
    var name: String?
    /// Which phones may pair, unless that is to follow from the board's buttons.
    var pairing: PairingPolicy.Mode?
    /// The advertising policy.
    var advertising = AdvertisingSettings.Policy.pebble
    /// The policy of one's own.
    var advertisingSteps: AdvertisingSchedule?
    /// Which region the beacon marks; nil for no beacon.
    var beaconRegion: PebbleUUID?
    /// The beacon but for its region.
    var beacon = Beacon(uuid: .invalid)
    /// What the firmware in an emulator is to phones.
    var firmwareRole = DeveloperSettings.FirmwareRole.answers
    /// Paths of watchapps.
    var bundles: [String] = []
    /// What watchapps do.
    var behaviors: [AppSettings.NamedBehavior] = []

    init() { process.airSeed = .random(in: .min ... .max) }

    /// Stands for the address that the watch will have.
    static let anyAddress = LEAddress.random(DeviceAddress(0xC000_0000_0001))

    /// What phones take the watch for. Setting it makes another watch: everything else that is said about one comes after.
    var personality: Personality {
        get { watch.personality }
        set {
            let identity = WatchIdentity(address: Self.anyAddress, personality: newValue)
            watch = WatchConfiguration(identity: identity, personality: newValue)
        }
    }

    /// The kind of app that the watch runs.
    var platform: AppPlatform { watch.identity.hardware.appPlatform ?? .aplite }

    /// Which phones may pair: where a person can say yes, one is asked.
    var pairingMode: PairingPolicy.Mode { pairing ?? (process.board.takesYes ? .button : .auto) }

    /// The watch that has an address.
    func watch(at address: LEAddress) -> WatchConfiguration {
        var watch = watch
        watch.identity = WatchIdentity(address: address, personality: personality)
        if let name { watch.identity.name = name }
        watch.brain = process.firmware == nil ? .builtIn : firmwareRole.brain
        watch.startTime = LocalTime.now
        watch.wallClock = LocalTime.sinceEpoch
        watch.pairing.mode = pairingMode
        watch.advertising =
            switch advertising {
            case .pebble: .pebble
            case .apple: .apple
            case .saver: .saver
            case .custom: advertisingSteps.map(AdvertisingProfile.custom) ?? .apple
            }
        watch.beacon = beaconRegion.map { region in
            var beacon = beacon
            beacon.uuid = region
            return beacon
        }
        return watch
    }

    /// What is allowed, but unlikely to be meant, or worth a warning.
    var warnings: [String] {
        var warnings: [String] = []
        let isOpen = watch.linkSecurity == .insecureTestLink
        if isOpen { warnings.append("the link is not secured: anyone in range may use this watch") }
        if pairingMode == .open, watch.pairing.isBondable, !isOpen {
            warnings.append(
                "pairing is open: anyone in range may pair at any time, without asking, and take the place of the phone "
                    + "that the watch knows; this is for benches"
            )
        }
        if watch.privacy != .identityAddress, beaconRegion != nil, !watch.showsBeaconDespitePrivacy {
            warnings.append(
                "there is no beacon, since anybody could follow this watch by it: see --beacon-despite-privacy"
            )
        }
        return warnings + AdvertisingSettings.advice(on: self)
    }
}
