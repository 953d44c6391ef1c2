import AirSimulator
import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import BluetoothPeripheral
import SeededRandomness
import Testing

/// A service that does what it is told, and keeps what it is called for.
struct Bell: GATTService {
    enum Value: String, CaseIterable { case ring, kept, slow, stray }

    /// What the next `advance` does; `Peripheral.update` leads to one.
    var order: (@Sendable (inout Output) -> Void)?
    /// Requests that wait for an answer.
    var waiting: [ReplyToken] = []
    var writes: [[UInt8]] = []
    var disconnected: [LEAddress] = []
    /// When it has something to do.
    var nextDeadline: Duration?

    /// Behind the services that every peripheral has, which take 0x0001 to 0x0006, their handles are these.
    static let ring = AttributeHandle(rawValue: 0x0009)
    static let ringConfiguration = AttributeHandle(rawValue: 0x000A)
    static let kept = AttributeHandle(rawValue: 0x000C)
    static let slow = AttributeHandle(rawValue: 0x000E)
    static let stray = AttributeHandle(rawValue: 0x0010)

    let declaration = Service(.uuid16(0xFF40)) {
        Characteristic(.uuid16(0xFF41), [.read, .notify, .indicate], of: Value.ring)
        Characteristic(.uuid16(0xFF42), .read, of: Value.kept, keeping: .bytes([1], maximumLength: 4))
        Characteristic(.uuid16(0xFF43), [.read, .write], of: Value.slow)
        Characteristic(.uuid16(0xFF44), [.read, .write, .writeWithoutResponse], of: Value.stray)
    }

    /// It declares a value for which it does not answer.
    var values: [Value] { [.ring, .kept, .slow] }

    mutating func read(_ value: Value, by peer: Peer, _ output: inout Output) -> ReadReply {
        guard value == .slow else { return .value([0x2A]) }
        let token = output.later()
        waiting.append(token)
        return .later(token)
    }

    mutating func write(
        _ bytes: ArraySlice<UInt8>,
        to value: Value,
        by peer: Peer,
        _ output: inout Output
    ) -> WriteReply {
        writes.append(Array(bytes))
        let token = output.later()
        waiting.append(token)
        return .later(token)
    }

    mutating func disconnected(_ peer: Peer, _ output: inout Output) { disconnected.append(peer.address) }

    mutating func advance(_ output: inout Output) {
        order?(&output)
        order = nil
    }
}

/// A service that keeps what its channels bring, and does what it is told.
struct Pipe: ChannelService {
    enum Value: String, CaseIterable { case spsm }
    enum Call: Hashable {
        case opened(Channel.ID)
        case received([UInt8])
        case closed(ChannelClosure)
    }

    var wantedSPSM: SPSM? = SPSM(rawValue: 0x0080)
    var uuid: BluetoothUUID = .uuid16(0xFF50)
    var calls: [Call] = []
    /// How much it sends back for each byte that comes in.
    var answerFactor = 0
    /// What the next `advance` does.
    var order: (@Sendable (inout Output) -> Void)?
    let listener = ChannelListener(requirement: .open)

    var declaration: Service { Service(uuid) { Characteristic(.uuid16(0xFF51), .read, of: Value.spsm) } }

    func read(_ value: Value, by peer: Peer, _ output: inout Output) -> ReadReply { .value([0x80, 0]) }

    func write(_ bytes: ArraySlice<UInt8>, to value: Value, by peer: Peer, _ output: inout Output) -> WriteReply {
        .refused(.writeNotPermitted)
    }

    mutating func listens(on spsm: SPSM) { wantedSPSM = spsm }

    mutating func opened(_ channel: Channel, by peer: Peer, _ output: inout Output) {
        calls.append(.opened(channel.id))
    }

    mutating func received(_ bytes: [UInt8], on channel: Channel.ID, _ output: inout Output) {
        calls.append(.received(bytes))
        output.write([UInt8](repeating: 0xEE, count: bytes.count * answerFactor), to: channel)
    }

    mutating func closed(_ channel: Channel.ID, _ closure: ChannelClosure, _ output: inout Output) {
        calls.append(.closed(closure))
    }

    mutating func advance(_ output: inout Output) {
        order?(&output)
        order = nil
    }
}

/// A service with channels, one more, and one without.
struct Pipes: ServiceSet {
    var bell = Bell()
    var first = Pipe()
    var second = Pipe(wantedSPSM: nil, uuid: .uuid16(0xFF60))

    mutating func visitServices(_ visitor: inout some ServiceVisitor) {
        visitor.visit(&bell)
        visitor.visit(&first)
        visitor.visit(&second)
    }
}

/// A peripheral and a phone that is connected to it, in virtual time.
struct StationRig<Services: ServiceSet> {
    var air: SimulatedPair<Station<Services>, Central>

    init(
        _ services: Services,
        _ configuration: PeripheralConfiguration = PeripheralConfiguration(
            name: "Bell",
            address: PeripheralTests.address
        )
    ) throws {
        let peripheral = try Peripheral(
            services,
            configuration,
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: 1, SplitMix64.draw)
        )
        air = SimulatedPair(seed: 11, watch: Station(host: peripheral), phone: Central())
        air.run(for: .seconds(1))
        try connect()
    }

    mutating func connect() throws {
        air.onPhone { phone, now in
            phone.host.connect(
                to: PeripheralTests.address,
                ConnectionParameters(
                    intervalMinimum: .milliseconds(30),
                    intervalMaximum: .milliseconds(30),
                    latency: 0,
                    supervisionTimeout: .milliseconds(2000)
                ),
                at: now
            )
        }
        let time = air.runUntilPhone(within: .seconds(3)) { $0.connection != nil }
        try #require(time != nil, "not connected")
        air.run(for: .milliseconds(500))
    }

    /// Starts a procedure of the phone, and forgets the results of those before.
    mutating func start(_ procedure: GATTProcedure) throws {
        try air.onPhone { phone, now in
            phone.host.advance(to: now)
            phone.results = []
            let connection = try #require(phone.connection)
            try phone.host.gatt.start(procedure, on: connection, at: now)
        }
    }

    /// The results of the phone's procedures since the last one was started.
    var results: [Result<GATTResponse, GATTProcedureError>] {
        mutating get { air.onPhone { phone, _ in phone.results } }
    }

    /// What a procedure of the phone comes to within a second.
    mutating func perform(_ procedure: GATTProcedure) throws -> Result<GATTResponse, GATTProcedureError>? {
        try start(procedure)
        air.run(for: .seconds(1))
        return results.last
    }

    /// Why the peripheral refuses a procedure; nil if it does not.
    mutating func refusal(of procedure: GATTProcedure) throws -> ATTError? {
        guard case .failure(.refused(let refusal))? = try perform(procedure) else { return nil }
        return refusal.error
    }

    /// Changes the services, and lets what follows reach the phone.
    mutating func change(_ change: (inout Services) -> Void) {
        air.onWatch { $0.host.update(at: $1, change) }
        air.run(for: .seconds(1))
    }

    /// Looks at the services.
    mutating func look<Value>(_ look: (Services) -> Value) -> Value {
        air.onWatch { station, now in station.host.update(at: now) { look($0) } }
    }

    /// The peer of the peripheral.
    mutating func peer() throws -> Peer { try #require(air.onWatch { station, _ in station.host.peers }.first) }

    /// What the peripheral reported, and forgets it.
    mutating func takeEvents() -> [PeripheralEvent] {
        air.onWatch { station, _ in
            defer { station.events = [] }
            return station.events
        }
    }

    /// Opens a channel from the phone.
    mutating func open(_ spsm: UInt16) throws -> Channel.ID {
        try air.onPhone { phone, now in
            phone.host.advance(to: now)
            phone.channel = nil
            let connection = try #require(phone.connection)
            _ = try phone.host.channels.open(to: SPSM(rawValue: spsm), on: connection, at: now)
        }
        air.run(for: .seconds(1))
        return try #require(air.onPhone { phone, _ in phone.channel })
    }
}

extension [PeripheralEvent] {
    /// The values that could not be sent: why.
    var notSent: [GATTError] { compactMap { if case .notSent(_, let error) = $0 { error } else { nil } } }

    /// The values that could not be set: which, and why.
    var notSet: [String] {
        compactMap { if case .notSet(let name, let error) = $0 { "\(name): \(error)" } else { nil } }
    }

    /// Why peers were disconnected.
    var disconnections: [HCIStatus] { compactMap { if case .disconnected(_, let reason) = $0 { reason } else { nil } } }

    var readyCount: Int { count { if case .ready = $0 { true } else { false } } }
}
