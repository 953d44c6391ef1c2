import AirSimulator
import BluetoothHCI
import BluetoothHost
import PebbleProtocol
import Testing

@testable import PebbleWatch

/// An app on a phone: one PPoGATT service, what its meta value says, and what came over it.
struct RigCompanion {
    let name: AttributeName
    let meta: [UInt8]
    /// A companion that has crashed neither receives nor sends, and its service is still there.
    var isMute = false
    /// When the watch has asked it for a reset while it was mute.
    var unansweredResets: [Duration] = []
    /// Where its service is; the phone finds it when it starts.
    var data = AttributeHandle.none
    var transport: PPoGATTLink?
    var messages: [PebbleMessage] = []
    /// How often the watch has opened a session, and ended one or its subscription.
    var openedCount = 0
    var endedCount = 0
    private var deframer = MessageDeframer()

    /// - Parameters:
    ///   - application: whose companion it is; the system's UUID for the Pebble app.
    ///   - isHybrid: whether it serves every watchapp.
    init(_ name: AttributeName, _ application: PebbleUUID, isHybrid: Bool = false) {
        self.name = name
        // Section 4.3: versions 0 to 1, the UUID in the order of its text, the session type.
        var bytes: [UInt8] = [0, 1]
        application.encode(to: &bytes)
        meta = bytes + [isHybrid ? 1 : 0]
    }

    var dataName: AttributeName { AttributeName("\(name) data") }
    var isOpen: Bool { transport?.state == .open }

    /// Messages of one endpoint, since this was last asked.
    mutating func take(_ endpoint: Endpoint) -> [PebbleMessage] {
        defer { messages.removeAll { $0.endpoint == endpoint } }
        return messages.filter { $0.endpoint == endpoint }
    }

    /// The pushes among them.
    mutating func takePushes() -> [AppMessagePush] {
        take(.appMessage).compactMap {
            guard case .push(let push)? = try? AppMessage(payload: $0.payload) else { return nil }
            return push
        }
    }

    mutating func receive(_ bytes: ArraySlice<UInt8>) {
        var rest = bytes
        while case .message(let message)? = deframer.next(from: &rest) { messages.append(message) }
    }

    mutating func begin(mtu: Int, at now: Duration) {
        deframer = MessageDeframer()
        transport = PPoGATTLink(.phone(.forward), attMTU: mtu)
        transport?.start(at: now)
    }

    mutating func end() {
        if transport != nil { endedCount += 1 }
        transport = nil
    }
}

/// A phone with any number of companions, and App Launch, all of which can come and go.
struct CompanionsPhone: HostOwner {
    var host: RigPhone
    var companions: [RigCompanion]
    /// How often the watch has read App Launch.
    var wakings = 0

    static let appLaunch: AttributeName = "app launch"
    private static let serviceChanged: AttributeName = "service changed"

    /// - Parameter hidden: the services that are not there yet.
    init(_ companions: [RigCompanion], hidden: Set<AttributeName>, seed: UInt64) throws {
        self.companions = companions
        /// A UUID of Pebble's family, by its first 32 bits.
        func uuid(_ first: UInt32) -> BluetoothUUID {
            .uuid128(UInt128(first) << 96 | 0x328E_0FBB_C642_1AA6_699B_DADA)
        }
        var services = [
            Service(.genericAttribute) { Characteristic(.serviceChanged, .indicate, name: Self.serviceChanged) },
            Service(uuid(0x2000_0000), name: Self.appLaunch, isPublished: !hidden.contains(Self.appLaunch)) {
                Characteristic(uuid(0x2000_0001), .read, value: .askOwner)
            },
        ]
        services += companions.map { companion in
            Service(uuid(0x1000_0000), name: companion.name, isPublished: !hidden.contains(companion.name)) {
                Characteristic(
                    uuid(0x1000_0001),
                    [.writeWithoutResponse, .notify],
                    name: companion.dataName,
                    value: .askOwner
                )
                Characteristic(uuid(0x1000_0002), .read, value: .bytes(companion.meta))
            }
        }
        let database = try GATTDatabase(services)
        host = RigPhone(address: 0xC0, seed: seed, database: database)
        for index in companions.indices {
            self.companions[index].data = try #require(database.handle(of: companions[index].dataName))
        }
    }

    subscript(_ name: AttributeName) -> RigCompanion {
        get { companions.first { $0.name == name } ?? RigCompanion(name, .system) }
        set { if let index = companions.firstIndex(where: { $0.name == name }) { companions[index] = newValue } }
    }

    /// Adds a service or takes it away, and tells the watch.
    mutating func show(_ name: AttributeName, _ isShown: Bool) throws {
        guard let range = try host.host.gatt.setPublished(isShown, service: name) else { return }
        if !isShown { self[name].end() }
        let changed = try #require(host.host.gatt.database.handle(of: Self.serviceChanged))
        let bytes = [range.start, range.end].flatMap { [UInt8($0.rawValue & 0xFF), UInt8($0.rawValue >> 8)] }
        if let connection = host.connection {
            try host.host.gatt.indicate(bytes[...], of: changed, on: connection, at: host.now)
        }
    }

    /// A companion sends bytes.
    mutating func send(_ message: some EndpointMessage, from name: AttributeName) {
        send(PebbleMessage(message), from: name)
    }

    /// - Parameter part: of how many of its bytes the phone sends; nil for all.
    mutating func send(_ message: PebbleMessage, part: Int? = nil, from name: AttributeName) {
        var stream: [UInt8] = []
        try? MessageFramer.append(message, to: &stream)
        _ = self[name].transport?.send(stream.prefix(part ?? stream.count))
    }

    /// Takes a service away, adds it again at once, and tells the watch that another service is there.
    mutating func replace(_ name: AttributeName) throws {
        _ = try host.host.gatt.setPublished(false, service: name)
        try show(name, true)
    }

    // MARK: HostOwner

    var nextDeadline: Duration? {
        ([host.nextDeadline] + companions.map { $0.transport?.nextDeadline }).compactMap(\.self).min()
    }

    mutating func advance(to now: Duration) {
        host.advance(to: now)
        for index in companions.indices { companions[index].transport?.advance(to: now) }
        settle(at: now)
    }

    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool {
        settle(at: host.now)
        return host.nextPacket(into: &buffer)
    }

    mutating func settle(at now: Duration) {
        for event in host.takeServerEvents() { handle(event, at: now) }
        guard let connection = host.connection else {
            for index in companions.indices { companions[index].end() }
            return
        }
        for index in companions.indices {
            while let event = companions[index].transport?.nextEvent() {
                switch event {
                case .opened: companions[index].openedCount += 1
                case .received(let bytes): companions[index].receive(bytes)
                default: break
                }
            }
            var packet: [UInt8] = []
            while companions[index].transport?.nextPacket(into: &packet, at: now) == true {
                try? host.host.gatt.notify(packet[...], of: companions[index].data, on: connection, at: now)
                packet = []
            }
        }
    }

    private mutating func handle(_ event: GATTEvent, at now: Duration) {
        switch event {
        case .written(let write):
            guard let index = companions.firstIndex(where: { $0.data == write.handle }) else { return }
            guard !companions[index].isMute else {
                if case .resetRequest? = try? PPoGATTPacket(write.value) {
                    companions[index].unansweredResets.append(now)
                }
                return
            }
            companions[index].transport?.receive(write.value, at: now)
        case .subscriptionChanged(let change):
            guard let index = companions.firstIndex(where: { $0.data == change.handle }) else { return }
            companions[index].end()
            if change.current.contains(.notifications) {
                companions[index].begin(mtu: host.host.gatt.mtu(of: change.connection) ?? 23, at: now)
            }
        case .readRequested(let request):
            wakings += 1
            host.host.gatt.respond(to: request, with: [], at: now)
        default:
            break
        }
    }
}

/// A watch that runs a probe and has another, and a phone that has paired with it, on the air and in virtual time.
typealias CompanionsRig = SimulatedPair<RigWatch, CompanionsPhone>

extension CompanionsRig {
    /// The watchapp that runs, and the other one.
    static var first: PebbleUUID { PebbleUUID(upperHalf: 0xA, lowerHalf: 0xB) }
    static var second: PebbleUUID { PebbleUUID(upperHalf: 0xC, lowerHalf: 0xD) }

    init(
        _ companions: [RigCompanion],
        hidden: Set<AttributeName> = [CompanionsPhone.appLaunch],
        personality: Personality = .universal,
        flags: AppFlags = [],
        discovery: PhoneDiscovery = .remembering,
        brain: WatchBrain = .builtIn
    ) throws {
        let identity = WatchIdentity(address: RigWatch.address, personality: personality)
        var configuration = WatchConfiguration(identity: identity, personality: personality)
        configuration.phoneDiscovery = discovery
        configuration.brain = brain
        var probe = ProbeApp()
        probe.uuid = Self.first
        probe.flags = flags
        configuration.defaultApp = probe
        probe.uuid = Self.second
        configuration.builtInApps.append(probe)
        let seed: UInt64 = 0xC0FFEE
        self.init(
            seed: seed,
            watch: try RigWatch(configuration, seed: seed),
            phone: try CompanionsPhone(companions, hidden: hidden, seed: seed)
        )
        run(for: .seconds(1))
        onPhone { phone, _ in phone.host.connect(to: RigWatch.address) }
        run(for: .seconds(3))
        try #require(onPhone { phone, _ in phone.host.connection } != nil)
        try onPhone { phone, now in try phone.host.pair(at: now) }
        run(for: .seconds(8))
    }

    /// The kinds of the sessions, oldest first.
    mutating func kinds() -> [SessionKind] {
        onWatch { watch, _ in watch.host.status.sessions.map(\.kind) }
    }

    mutating func companion(_ name: AttributeName) -> RigCompanion {
        onPhone { phone, _ in phone[name] }
    }

    mutating func show(_ name: AttributeName, _ isShown: Bool = true, for time: Duration = .seconds(4)) throws {
        try onPhone { phone, _ in try phone.show(name, isShown) }
        run(for: time)
    }

    /// The running app sends a dictionary.
    mutating func sendFromApp(_ message: AppMessageDictionary) throws {
        try onWatch { watch, now in try watch.host.perform(.sendAppMessage(message), at: now) }
    }

    /// Another app is launched.
    mutating func launch(_ application: PebbleUUID) throws {
        try onWatch { watch, now in _ = try watch.host.perform(.launchApp(application), at: now) }
    }

    /// Which app runs.
    mutating func runningApp() -> PebbleUUID {
        onWatch { watch, _ in watch.host.status.runningApp.uuid }
    }

    /// A companion acknowledges a message, and time passes.
    mutating func acknowledge(_ transaction: AppMessageTransactionID = 1, from name: AttributeName) {
        onPhone { phone, _ in phone.send(AppMessage.acknowledgement(transaction), from: name) }
        run(for: .seconds(1))
    }

    /// What a companion has been sent by watchapps.
    mutating func pushes(to name: AttributeName) -> [AppMessageDictionary] {
        onPhone { phone, _ in phone[name].takePushes().map(\.dictionary) }
    }

    /// The results of the app's messages, since this was last asked.
    mutating func results() -> [AppMessageResult] {
        onWatch { watch, _ in
            defer { watch.events = [] }
            return watch.events.compactMap { event in
                if case .appMessageSent(_, _, let result) = event { result } else { nil }
            }
        }
    }

    mutating func wakings() -> Int { onPhone { phone, _ in phone.wakings } }

    /// A companion pings, and is answered.
    mutating func expectAlive(
        _ name: AttributeName,
        _ cookie: UInt32,
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        onPhone { phone, _ in phone.send(PingMessage.ping(cookie: cookie, isIdle: nil), from: name) }
        run(for: .seconds(1))
        let answers = onPhone { phone, _ in phone[name].take(.ping) }
        let isAnswered = answers.contains { (try? PingMessage(payload: $0.payload)) == .pong(cookie: cookie) }
        #expect(isAnswered, "\(name), ping \(cookie)", sourceLocation: sourceLocation)
    }
}
