import AirSimulator
import BluetoothHCI
import BluetoothHost
import PebblePhone
import PebbleProtocol
import PebbleWatch

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
struct FaultyWatch: HCIHost {
    static let address = DeviceAddress(0xC011_2233_4455)

    var firmware: Firmware
    private var isCutOff = false
    /// Everything about recovery that it told.
    private(set) var recoveries: [RecoveryEvent] = []
    private(set) var eventCount = 0
    private(set) var connectionCount = 0
    /// The most links, sessions and connections that there ever were at once.
    private(set) var mostLinks = 0
    private(set) var mostSessions = 0

    init(_ configuration: WatchConfiguration, seed: UInt64) throws {
        firmware = try Firmware(configuration, randomness: SplitMix64(seed: seed))
    }

    mutating func cutOff(_ isCutOff: Bool, at now: Duration) {
        self.isCutOff = isCutOff
        isCutOff ? firmware.controllerLost(at: now) : firmware.start(at: now)
        settle(at: now)
    }

    /// What a controller says that failed.
    mutating func failHardware(at now: Duration) { receive(HardwareError(code: 0x42).packet[...], at: now) }

    mutating func perform(_ command: WatchCommand, at now: Duration) {
        // Without a link there is nothing to disconnect.
        _ = try? firmware.perform(command, at: now)
        settle(at: now)
    }

    var nextDeadline: Duration? { firmware.nextDeadline }

    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { !isCutOff && firmware.nextPacket(into: &buffer) }

    mutating func start(at now: Duration) {
        firmware.start(at: now)
        settle(at: now)
    }

    mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        guard !isCutOff else { return }
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
            eventCount += 1
            switch event {
            case .recovery(let event): recoveries.append(event)
            case .connected: connectionCount += 1
            default: break
            }
        }
        let status = firmware.status
        mostLinks = max(mostLinks, status.links.count)
        mostSessions = max(mostSessions, status.sessions.count)
    }
}

/// A phone whose app can hang, and which can be in the habit of dropping every link.
struct FaultyPhone: HCIHost {
    static let address = DeviceAddress(0xC0FF_EE00_0001)

    private(set) var phone: CompanionPhone
    var isAppHung = false
    var dropsLinks = false
    private(set) var isConnected = false
    private(set) var disconnections: [HCIStatus] = []

    init(_ configuration: PhoneConfiguration, seed: UInt64) throws {
        phone = try CompanionPhone(configuration, randomness: SplitMix64(seed: seed))
    }

    mutating func setRadio(isOn: Bool, at now: Duration) {
        isOn ? phone.connect(to: .random(FaultyWatch.address), at: now) : phone.disconnect(at: now)
        settle(at: now)
    }

    /// Whether time passes for its app: one that hangs does not notice either how long it has been waiting.
    private var isAwake: Bool { !isAppHung || !isConnected }

    var nextDeadline: Duration? { isAwake ? phone.nextDeadline : nil }

    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool {
        while phone.nextPacket(into: &buffer) {
            guard isAppHung, Self.isPebblePacket(buffer) else { return true }
            // The controller sends it into the void.
            guard let handle = ConnectionHandle(rawValue: (UInt16(buffer[1]) | UInt16(buffer[2]) << 8) & 0xFFF) else {
                continue
            }
            let completed = CompletedPacketsList([.init(handle: handle, count: 1)])
            phone.receive(NumberOfCompletedPackets(packets: completed).packet[...], at: lastTime)
        }
        return false
    }

    /// ACL data on ATT's channel with a notification or a Write Command.
    private static func isPebblePacket(_ packet: [UInt8]) -> Bool {
        packet.count > 9 && packet[0] == HCIPacketType.acl.rawValue && packet[7] == 4 && packet[8] == 0
            && [0x1B, 0x52].contains(packet[9])
    }

    private var lastTime: Duration = .zero

    mutating func start(at now: Duration) {
        phone.start(at: now)
        settle(at: now)
    }

    mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        phone.receive(packet, at: now)
        settle(at: now)
    }

    mutating func advance(to now: Duration) {
        guard isAwake else { return }
        phone.advance(to: now)
        settle(at: now)
    }

    private mutating func settle(at now: Duration) {
        lastTime = now
        while let event = phone.nextEvent() {
            switch event {
            case .connected:
                isConnected = true
                if dropsLinks {
                    phone.disconnect(at: now)
                    phone.connect(to: .random(FaultyWatch.address), at: now)
                }
            case .disconnected(let reason):
                isConnected = false
                disconnections.append(reason)
                if dropsLinks { phone.connect(to: .random(FaultyWatch.address), at: now) }
            default: break
            }
        }
    }
}

/// A bonded pair that has a session, and everything that can go wrong with it.
struct FaultyAir {
    private(set) var simulation: Simulation
    let watch: Simulation.HostID<FaultyWatch>
    let phone: Simulation.HostID<FaultyPhone>

    init(seed: UInt64, transport: PhoneTransport, profile: AdvertisingProfile = .pebble) throws {
        simulation = Simulation(seed: seed)
        var watchConfiguration = WatchConfiguration(identity: WatchIdentity(address: .random(FaultyWatch.address)))
        watchConfiguration.defaultApp = EchoApp()
        watchConfiguration.builtInApps = []
        watchConfiguration.advertising = profile
        watch = simulation.add(try FaultyWatch(watchConfiguration, seed: seed &+ 1))
        var configuration = PhoneConfiguration(address: FaultyPhone.address, clock: Rig.clock)
        configuration.transport = transport
        phone = simulation.add(try FaultyPhone(configuration, seed: seed &+ 2))
    }

    var now: Duration { simulation.now }

    /// Lets a fault begin; for one that lasts, `end(_:)` follows.
    mutating func begin(_ fault: Fault) {
        let now = simulation.now
        switch fault {
        case .outOfRange: setQuality(.outOfRange)
        case .phoneRadioOff: withPhone { $0.setRadio(isOn: false, at: now) }
        case .phoneReboot: setQuality(.outOfRange)
        case .phoneAppHangs: withPhone { $0.isAppHung = true }
        case .hardwareError: withWatch { $0.failHardware(at: now) }
        case .controllerUnreachable: withWatch { $0.cutOff(true, at: now) }
        case .watchDisconnects: withWatch { $0.perform(.disconnect, at: now) }
        case .phoneChurns: withPhone { $0.dropsLinks = true }
        }
    }

    mutating func end(_ fault: Fault) {
        let now = simulation.now
        switch fault {
        case .outOfRange: setQuality(.perfect)
        case .phoneRadioOff: withPhone { $0.setRadio(isOn: true, at: now) }
        case .phoneReboot:
            withPhone { $0.start(at: now) }
            setQuality(.perfect)
        case .phoneAppHangs: withPhone { $0.isAppHung = false }
        case .controllerUnreachable: withWatch { $0.cutOff(false, at: now) }
        case .hardwareError, .watchDisconnects: break
        case .phoneChurns: withPhone { $0.dropsLinks = false }
        }
    }

    private mutating func setQuality(_ quality: LinkQuality) {
        simulation.air.setLinkQuality(quality, between: watch.controller, and: phone.controller)
    }

    mutating func run(for span: Duration) { simulation.run(for: span) }

    /// Runs until the phone has a session that is negotiated.
    /// - Returns: how long that took; nil if it did not come to it.
    mutating func runToSession(within limit: Duration) -> Duration? {
        let start = simulation.now
        let outcome = simulation.run(until: start + limit) { [watch, phone] simulation in
            simulation.withHost(phone) { $0.phone.isNegotiated } == true
                && simulation.withHost(watch) { $0.firmware.status.sessions.count == 1 } == true
        }
        return outcome == .conditionMet ? simulation.now - start : nil
    }

    mutating func withWatch<Result>(_ body: (inout FaultyWatch) -> Result) -> Result? {
        simulation.withHost(watch, body)
    }

    mutating func withPhone<Result>(_ body: (inout FaultyPhone) -> Result) -> Result? {
        simulation.withHost(phone, body)
    }

    /// What the watch says of its last disconnection.
    var lastDisconnection: Disconnection? {
        mutating get { withWatch { $0.firmware.status.lastDisconnection } ?? nil }
    }
}
