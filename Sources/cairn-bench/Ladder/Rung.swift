import BluetoothHCI

/// One way to send data from a phone to a watch.
struct Rung: Sendable {
    enum Method: Hashable, Sendable {
        /// ATT writes, each after the response to the one before.
        case writeRequests
        /// An ATT write command at each connection interval.
        case writeCommandEachInterval
        /// ATT write commands, as many as the host takes.
        case writeCommands
        /// SDUs on a credit-based channel, cut into K-frames with a payload of this many octets at most.
        case channel(mps: Int)
    }

    let name: String
    let method: Method
    /// How many octets of the application each message carries.
    let messageLength: Int
    let mtu: Int
    /// The longest link layer payload.
    let packetLength: Int
    let interval: ConnectionInterval
    /// What the talk said, in kbit/s.
    var published: Double?

    /// The rungs of the talk, in its order, for a phone with one interval and then a shorter one.
    static func ladder(of profile: DeviceProfile) -> [Rung] {
        profile.name == DeviceProfile.ios2017.name ? ios2017 : current
    }

    /// Source: "What's New in Core Bluetooth", WWDC 2017.
    private static let ios2017: [Rung] = [
        Rung("write with response", .writeRequests, 20, published: 2.5),
        Rung("one write command an interval", .writeCommandEachInterval, 20, published: 5),
        Rung("packed write commands", .writeCommands, 20, published: 37),
        Rung("MTU 185", .writeCommands, 182, mtu: 185, published: 48),
        Rung("long packets", .writeCommands, 512, mtu: 517, packetLength: 251, published: 135),
        Rung("channel", .channel(mps: 247), 739, packetLength: 251, published: 197),
        Rung("channel, 15 ms", .channel(mps: 247), 739, .milliseconds(15), packetLength: 251, published: 394),
    ]

    private static let current: [Rung] = [
        Rung("write with response", .writeRequests, 20, .milliseconds(15)),
        Rung("one write command an interval", .writeCommandEachInterval, 20, .milliseconds(15)),
        Rung("packed write commands", .writeCommands, 20, .milliseconds(15)),
        Rung("MTU 185", .writeCommands, 182, .milliseconds(15), mtu: 185),
        Rung("MTU 247, long packets", .writeCommands, 244, .milliseconds(15), mtu: 247, packetLength: 251),
        Rung("MTU 517, long packets", .writeCommands, 512, .milliseconds(15), mtu: 517, packetLength: 251),
        Rung("channel, a K-frame a packet", .channel(mps: 247), 8149, .milliseconds(15), packetLength: 251),
        Rung("channel, long K-frames", .channel(mps: 2004), 8014, .milliseconds(15), packetLength: 251),
        Rung("channel, long K-frames", .channel(mps: 2004), 8014, .milliseconds(400), packetLength: 251),
    ]

    var isChannel: Bool {
        if case .channel = method { true } else { false }
    }

    init(
        _ name: String,
        _ method: Method,
        _ messageLength: Int,
        _ interval: ConnectionInterval = .milliseconds(30),
        mtu: Int = 23,
        packetLength: Int = 27,
        published: Double? = nil
    ) {
        self.name = name
        self.method = method
        self.messageLength = messageLength
        self.mtu = mtu
        self.packetLength = packetLength
        self.interval = interval
        self.published = published
    }
}
