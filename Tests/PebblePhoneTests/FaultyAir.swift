import AirSimulator
import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import PebblePhone
import PebbleProtocol
import PebbleWatch
import SeededRandomness

/// What can go wrong between a watch and its phone.
enum Fault: String, CaseIterable {
    /// Both are out of each other's range.
    case outOfRange
    /// Bluetooth is switched off on the phone, properly, and on again.
    case phoneRadioOff
    /// The phone dies, and starts again.
    case phoneReboot
    /// The phone's app hangs while its radio goes on: no PPoGATT packet of the phone's leaves it.
    case phoneAppHangs
    /// The watch's controller says that it failed.
    case hardwareError
    /// The watch's controller cannot be reached, and does not know that.
    case controllerUnreachable
    /// The watch ends the link.
    case watchDisconnects
    /// The phone drops the link again and again as soon as it is there.
    case phoneChurns

    /// Whether it is over as soon as it has happened.
    var isMomentary: Bool {
        switch self {
        case .hardwareError, .watchDisconnects: true
        default: false
        }
    }
}

/// A watch whose controller can be cut off, and whose events are counted.
struct FaultyWatch: HostOwner {
    static let address = DeviceAddress(0xC011_2233_4455)

    var host: Watch
    private var isCutOff = false
    /// Everything about recovery that it told.
    private(set) var recoveries: [RecoveryEvent] = []
    private(set) var eventCount = 0
    private(set) var connectionCount = 0
    /// The most links and sessions that there ever were at once.
    private(set) var mostLinks = 0
    private(set) var mostSessions = 0

    init(_ configuration: WatchConfiguration, seed: UInt64) throws {
        host = try Watch(
            configuration,
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: seed, SplitMix64.draw)
        )
    }

    mutating func cutOff(_ isCutOff: Bool, at now: Duration) {
        self.isCutOff = isCutOff
        isCutOff ? host.controllerLost(at: now) : host.start(at: now)
    }

    /// What a controller says that failed.
    mutating func failHardware(at now: Duration) { receive(HardwareError(code: 0x42).packet[...], at: now) }

    mutating func perform(_ command: WatchCommand, at now: Duration) {
        // Without a link there is nothing to disconnect.
        _ = try? host.perform(command, at: now)
    }

    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { !isCutOff && host.nextPacket(into: &buffer) }

    mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        guard !isCutOff else { return }
        host.receive(packet, at: now)
        settle(at: now)
    }

    mutating func settle(at now: Duration) {
        host.finishMemoryChanges(at: now)
        let before = eventCount
        while let event = host.nextEvent() {
            eventCount += 1
            switch event {
            case .recovery(let event): recoveries.append(event)
            case .connected: connectionCount += 1
            default: break
            }
        }
        guard eventCount > before else { return }
        let status = host.status
        mostLinks = max(mostLinks, status.links.count)
        mostSessions = max(mostSessions, status.sessions.count)
    }
}

/// A phone whose app can hang, and which can be in the habit of dropping every link.
struct FaultyPhone: HostOwner {
    static let address = DeviceAddress(0xC0FF_EE00_0001)

    var host: CompanionPhone
    var isAppHung = false
    var dropsLinks = false
    private(set) var isConnected = false
    private(set) var disconnections: [HCIStatus] = []
    private var lastTime: Duration = .zero

    init(_ configuration: PhoneConfiguration, seed: UInt64) throws {
        host = try CompanionPhone(configuration, randomness: RandomSource(state: seed, SplitMix64.draw))
    }

    mutating func setRadio(isOn: Bool, at now: Duration) {
        isOn ? host.connect(to: .random(FaultyWatch.address), at: now) : host.disconnect(at: now)
    }

    /// Whether time passes for its app: one that hangs does not notice either how long it has been waiting.
    private var isAwake: Bool { !isAppHung || !isConnected }

    var nextDeadline: Duration? { isAwake ? host.nextDeadline : nil }

    mutating func advance(to now: Duration) {
        guard isAwake else { return }
        host.advance(to: now)
        settle(at: now)
    }

    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool {
        while host.nextPacket(into: &buffer) {
            guard isAppHung, Self.isPebblePacket(buffer) else { return true }
            // The controller sends it, and no device receives it.
            guard let handle = ConnectionHandle(rawValue: (UInt16(buffer[1]) | UInt16(buffer[2]) << 8) & 0xFFF) else {
                continue
            }
            let completed = CompletedPacketsList([.init(handle: handle, count: 1)])
            host.receive(NumberOfCompletedPackets(packets: completed).packet[...], at: lastTime)
        }
        return false
    }

    /// ACL data on ATT's channel with a notification or a Write Command.
    private static func isPebblePacket(_ packet: [UInt8]) -> Bool {
        packet.count > 9 && packet[0] == HCIPacketType.acl.rawValue && packet[7] == 4 && packet[8] == 0
            && [0x1B, 0x52].contains(packet[9])
    }

    mutating func settle(at now: Duration) {
        lastTime = now
        while let event = host.nextEvent() {
            switch event {
            case .connected:
                isConnected = true
                if dropsLinks {
                    host.disconnect(at: now)
                    host.connect(to: .random(FaultyWatch.address), at: now)
                }
            case .disconnected(let reason):
                isConnected = false
                disconnections.append(reason)
                if dropsLinks { host.connect(to: .random(FaultyWatch.address), at: now) }
            default: break
            }
        }
    }
}

/// A watch and a phone, and everything that can go wrong between them.
typealias FaultyAir = SimulatedPair<FaultyWatch, FaultyPhone>

extension FaultyAir {
    init(seed: UInt64, transport: PhoneTransport, profile: AdvertisingProfile = .pebble) throws {
        var watch = WatchConfiguration(identity: WatchIdentity(address: .random(FaultyWatch.address)))
        watch.defaultApp = EchoApp()
        watch.builtInApps = []
        watch.advertising = profile
        var phone = PhoneConfiguration(address: FaultyPhone.address, clock: Rig.clock)
        phone.transport = transport
        self.init(
            seed: seed,
            watch: try FaultyWatch(watch, seed: seed &+ 1),
            phone: try FaultyPhone(phone, seed: seed &+ 2)
        )
    }

    /// Lets a fault begin; for one that lasts, `end(_:)` follows.
    mutating func begin(_ fault: Fault) {
        switch fault {
        case .outOfRange, .phoneReboot: setQuality(.outOfRange)
        case .phoneRadioOff: onPhone { phone, now in phone.setRadio(isOn: false, at: now) }
        case .phoneAppHangs: onPhone { phone, _ in phone.isAppHung = true }
        case .hardwareError: onWatch { watch, now in watch.failHardware(at: now) }
        case .controllerUnreachable: onWatch { watch, now in watch.cutOff(true, at: now) }
        case .watchDisconnects: onWatch { watch, now in watch.perform(.disconnect, at: now) }
        case .phoneChurns: onPhone { phone, _ in phone.dropsLinks = true }
        }
    }

    mutating func end(_ fault: Fault) {
        switch fault {
        case .outOfRange: setQuality(.perfect)
        case .phoneRadioOff: onPhone { phone, now in phone.setRadio(isOn: true, at: now) }
        case .phoneReboot:
            onPhone { phone, now in phone.start(at: now) }
            setQuality(.perfect)
        case .phoneAppHangs: onPhone { phone, _ in phone.isAppHung = false }
        case .controllerUnreachable: onWatch { watch, now in watch.cutOff(false, at: now) }
        case .hardwareError, .watchDisconnects: break
        case .phoneChurns: onPhone { phone, _ in phone.dropsLinks = false }
        }
    }

    /// Runs until the phone has a session that is negotiated.
    /// - Returns: how long that took; nil if it did not come to it.
    mutating func runToSession(within limit: Duration) -> Duration? {
        run(within: limit) { [watch, phone] simulation in
            simulation.withHost(phone) { $0.host.isNegotiated } == true
                && simulation.withHost(watch) { $0.host.status.sessions.count == 1 } == true
        }
    }

    /// What the watch says of its last disconnection.
    var lastDisconnection: Disconnection? {
        mutating get { onWatch { watch, _ in watch.host.status.lastDisconnection } }
    }
}
