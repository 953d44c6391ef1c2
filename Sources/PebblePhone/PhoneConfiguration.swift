import BluetoothHCI
import BluetoothHost
import PebbleProtocol

/// What carries the Pebble Protocol: a GATT service of either side, or a channel of its own.
package enum PhoneTransport: String, Hashable, Sendable, CaseIterable {
    /// The phone hosts it and the watch is its client, as with iPhones and older companions.
    case forward
    /// The watch hosts it and the phone is its client, as companions on Android prefer.
    case reversed
    /// An L2CAP channel to the watch's stream, without any PPoGATT: what Cairn offers and no other Pebble.
    case stream
}

/// Which watch a phone connects to.
package enum WatchSelection: Hashable, Sendable {
    /// The first one that it hears.
    case any
    /// The one with this address, public or random.
    case address(DeviceAddress)
    /// The one with this name.
    case name(String)
}

/// What the phone does about pairing.
package enum PairingPolicy: String, Hashable, Sendable, CaseIterable {
    /// Pairs with a watch that it does not know, saying yes to each question, and encrypts the link to one that it
    /// does. A watch that refuses is used without.
    case automatic
    /// Pairs when it is told to, and leaves the questions and the new bond to its owner. A link to a watch that it knows is
    /// encrypted.
    case whenTold
    /// Neither pairs nor encrypts.
    case never
}

/// A clock that is right at one moment and goes on from there.
package struct PhoneClock: Hashable, Sendable {
    /// What it shows at the origin of the phone's time, in seconds since 1970.
    package var secondsAtOrigin: UInt32
    /// East of Greenwich is positive.
    package var offsetMinutes: Int16
    /// Such as `Europe/Paris`.
    package var zoneName: String

    package init(secondsAtOrigin: UInt32, offsetMinutes: Int16 = 0, zoneName: String = "UTC") {
        self.secondsAtOrigin = secondsAtOrigin
        self.offsetMinutes = offsetMinutes
        self.zoneName = zoneName
    }

    /// What a watch is told at a moment.
    func time(at now: Duration) -> TimeMessage.UTCTime {
        let elapsed = UInt32(truncatingIfNeeded: max(0, now.components.seconds))
        return TimeMessage.UTCTime(
            seconds: secondsAtOrigin &+ elapsed,
            offsetMinutes: offsetMinutes,
            zoneName: zoneName
        )
    }
}

/// Everything that is decided about a phone before it starts.
package struct PhoneConfiguration: Sendable {
    /// What its Device Name characteristic says; a watch shows it when it pairs.
    package var name = "Cairn Phone"
    /// Its own static random address.
    package var address: DeviceAddress
    /// The watches that it is paired with, from an earlier run. One identity has one bond: of two, the later counts.
    package var bonds: [Bond] = []
    /// How the Pebble Protocol is to be carried.
    package var transport = PhoneTransport.forward
    /// Which watch it is for, until it is told another.
    package var watch = WatchSelection.any
    /// Whether it looks for its watch as soon as its controller is ready, or only when it is told to.
    package var searchesByItself = true
    /// The interval, latency and timeout that it opens connections with.
    package var connectionParameters = PhoneConfiguration.usualConnectionParameters
    /// It listens for a watch, to find it or to connect to it, once in this time...
    package var scanInterval = ScanInterval.milliseconds(60)
    /// ...for this long.
    package var scanWindow = ScanInterval.milliseconds(60)
    /// What it answers when the watch asks what phone it is.
    package var version = PhoneConfiguration.usualVersion
    /// What it sets the watch's clock by.
    package var clock: PhoneClock
    /// How long after a lost link, or a vain attempt, it connects again; nil leaves it at that.
    package var reconnectDelay: Duration? = .seconds(1)

    /// What it does about pairing.
    package var pairing = PairingPolicy.automatic
    /// What else is in its GATT database.
    package var system = PhoneSystem.bare
    /// Whether it keeps what it has found out of a bonded watch from one connection to the next, as phones' systems do. Apps
    /// that look again all the same find it at once; this phone asks the watch, which shows what the watch has to say.
    package var remembersWatch = false
    /// Whether a ``CommandedPhone`` also does by itself what a companion app does: it comes back, pairs with a watch that has
    /// forgotten it, and tries again what the watch has not taken.
    package var isCompanion = false
    /// What it does wrong, to see what a watch, and a scenario, make of it.
    package var defects: Set<PhoneDefect> = []

    /// A phone with an address and a clock; the rest is usual.
    package init(address: DeviceAddress, clock: PhoneClock) {
        self.address = address
        self.clock = clock
    }

    /// What phones commonly open a connection with: 30 to 50 ms, nothing skipped, 5 s.
    package static let usualConnectionParameters = ConnectionParameters(
        intervalMinimum: .milliseconds(30),
        intervalMaximum: .milliseconds(50),
        latency: 0,
        supervisionTimeout: .milliseconds(5000)
    )

    /// An Android companion that does what this phone does.
    package static let usualVersion = PhoneVersion(
        platform: PhonePlatform(.android),
        appVersion: PhoneVersion.AppVersion(major: 4, minor: 4, bugfix: 0),
        capabilities: [.appRunState, .appMessage8K]
    )
}
