import AirSimulator
import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import ByteCoding
import PebbleWatch
import SeededRandomness
import Testing

/// A watch and a phone on the air.
typealias RigPair = SimulatedPair<RigWatch, RigPhone>

extension RigPair {
    /// The two of them, connected.
    init(connecting watch: RigWatch, _ phone: RigPhone, seed: UInt64) throws {
        self.init(seed: seed, watch: watch, phone: phone)
        run(for: .seconds(1))
        try connect()
    }

    mutating func connect() throws {
        onPhone { phone, _ in phone.connect(to: RigWatch.address) }
        let time = runUntilPhone(within: .seconds(20)) { $0.connection != nil }
        try #require(time != nil, "the phone did not connect")
        run(for: .seconds(1))
    }

    mutating func pair() throws {
        try onPhone { phone, now in try phone.pair(at: now) }
        run(for: .seconds(5))
    }

    mutating func encrypt(for time: Duration) throws {
        try onPhone { phone, now in try phone.encrypt(at: now) }
        run(for: time)
    }

    mutating func reconnect() throws {
        onPhone { phone, _ in phone.disconnect() }
        run(for: .seconds(1))
        try connect()
    }

    /// What a procedure answered, or nil if it failed.
    mutating func perform(_ procedure: GATTProcedure) throws -> GATTResponse? {
        let before = try onPhone { phone, now in
            try phone.perform(procedure, at: now)
            return phone.responses.count
        }
        run(for: .seconds(2))
        return onPhone { phone, _ in phone.responses.count > before ? phone.responses.last : nil }
    }

    /// The value of the first characteristic with a UUID, or nil if it cannot be read.
    mutating func read(_ uuid: BluetoothUUID) throws -> [UInt8]? {
        guard case .values(let values)? = try perform(.readByUUID(uuid)) else { return nil }
        return values.first.map { Array($0.value) }
    }

    /// The handle of the configuration that belongs to a characteristic; none if there is no such characteristic.
    mutating func configuration(of uuid: BluetoothUUID) throws -> AttributeHandle {
        try Self.configuration(of: uuid, in: try perform(.readByUUID(.characteristic)))
    }

    /// The same, where all characteristics have been asked for already.
    static func configuration(of uuid: BluetoothUUID, in declarations: GATTResponse?) throws -> AttributeHandle {
        let value = try value(of: uuid, in: declarations)
        return value == .none ? .none : AttributeHandle(rawValue: value.rawValue + 1)
    }

    /// The handle of a characteristic's value.
    static func value(of uuid: BluetoothUUID, in declarations: GATTResponse?) throws -> AttributeHandle {
        guard case .values(let values)? = declarations else { return .none }
        for declaration in values {
            var reader = ByteReader(declaration.value)
            _ = try reader.readUInt8("properties")
            let handle: UInt16 = try reader.readLittleEndian("handle")
            let rest = Array(reader.readRemaining())
            var expected: [UInt8] = []
            expected.append(uuid)
            if rest == expected { return AttributeHandle(rawValue: handle) }
        }
        return .none
    }

    mutating func order(_ command: WatchCommand) throws {
        try onWatch { watch, now in _ = try watch.host.perform(command, at: now) }
    }
}

/// A central that accepts every pairing and remembers what it hears.
struct RigPhone: HostOwner {
    var host: LEHost
    var connection: ConnectionHandle?
    var connectionCount = 0
    var bonds: [Bond] = []
    var received: [ReceivedValue] = []
    var responses: [GATTResponse] = []
    var failures: [GATTProcedureError] = []
    var pairingFailures: [PairingFailure] = []
    var pairings: [PairingSummary] = []
    var security = LinkSecurity.none
    /// The channels that are open, and what has come in on each that ever was.
    var channels: [Channel] = []
    var streams: [Channel.ID: [UInt8]] = [:]
    var closures: [ChannelClosure] = []
    /// GATT events of the phone's own database, in a test that has one.
    private var serverEvents: [GATTEvent] = []
    private(set) var now = Duration.zero

    init(address: UInt64, bonds: [Bond] = [], seed: UInt64, database: GATTDatabase = GATTDatabase()) {
        var security = SecurityManager.Configuration()
        let own = LEAddress.random(DeviceAddress(staticRandomFrom: address))
        security.ioCapability = .keyboardDisplay
        security.identity = LocalIdentity(
            address: own,
            identityResolvingKey: IdentityResolvingKey(UInt128(address) << 64 | 0x5EED)
        )
        host = LEHost(
            configuration: LEHost.Configuration(ownAddress: own, security: security),
            database: database,
            bonds: bonds,
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: seed, SplitMix64.draw)
        )
        self.bonds = bonds
    }

    var identity: LEAddress { host.configuration.ownAddress }

    mutating func connect(to watch: LEAddress) {
        host.connect(
            to: watch,
            ConnectionParameters(
                intervalMinimum: .milliseconds(30),
                intervalMaximum: .milliseconds(30),
                latency: 0,
                supervisionTimeout: .milliseconds(2000)
            ),
            at: now
        )
    }

    mutating func disconnect() {
        if let connection { host.disconnect(connection, at: now) }
    }

    mutating func pair(at now: Duration) throws {
        guard let connection else { return }
        host.advance(to: now)
        try host.security?.pair(connection, at: now)
    }

    mutating func encrypt(at now: Duration) throws {
        guard let connection else { return }
        host.advance(to: now)
        try host.security?.encrypt(connection, at: now)
    }

    mutating func perform(_ procedure: GATTProcedure, at now: Duration) throws {
        guard let connection else { return }
        host.advance(to: now)
        try host.gatt.start(procedure, on: connection, at: now)
    }

    /// Since this was last asked.
    mutating func takeServerEvents() -> [GATTEvent] {
        defer { serverEvents = [] }
        return serverEvents
    }

    mutating func settle(at now: Duration) {
        self.now = now
        while let event = host.nextEvent() {
            switch event {
            case .connected(let new):
                connection = new.handle
                connectionCount += 1
                security = new.security
            case .disconnected: connection = nil
            case .securityChanged(_, let level): security = level
            case .security(.prompt(let prompt)):
                if case .displayPasskey = prompt.kind { continue }
                _ = host.security?.answer(prompt.id, with: .accept, at: now)
            case .security(.bonded(_, let bond)):
                bonds = [bond]
                host.security?.bondStored(bond.identity)
            case .security(.pairingCompleted(_, let summary)): pairings.append(summary)
            case .security(.pairingFailed(_, let failure)): pairingFailures.append(failure)
            case .channel(.opened(let channel)): channels.append(channel)
            case .channel(.readable(let id)): host.channels.read(from: id, into: &streams[id, default: []], at: now)
            case .channel(.closed(let id, let closure, var unread)):
                unread.read(into: &streams[id, default: []])
                channels.removeAll { $0.id == id }
                closures.append(closure)
            case .gatt(.valueReceived(let value)): received.append(value)
            case .gatt(.procedureEnded(let ended)):
                switch ended.result {
                case .success(let response): responses.append(response)
                case .failure(let error): failures.append(error)
                }
            case .gatt(let event): serverEvents.append(event)
            default: break
            }
        }
    }
}

/// A watch with a store that a test can hold back or break.
struct RigWatch: HostOwner {
    static let address = LEAddress.random(DeviceAddress(0xC0DE_0000_1234))

    var host: Watch
    var memory: WatchMemory
    var events: [WatchEvent] = []
    /// Whether changes are carried out at once.
    var storeWorks = true
    var storeIsSlow = false
    var changes: [MemoryChange] = []

    init(_ configuration: WatchConfiguration, memory: WatchMemory = WatchMemory(), seed: UInt64) throws {
        host = try Watch(
            configuration,
            memory: memory,
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: seed, SplitMix64.draw)
        )
        self.memory = memory
    }

    mutating func settle(at now: Duration) {
        if !storeIsSlow {
            while let (id, change) = host.nextMemoryChange() {
                changes.append(change)
                if storeWorks { memory.apply(change) }
                host.memoryChangeFinished(id, failure: storeWorks ? nil : .full(path: "/state"), at: now)
            }
        }
        while let event = host.nextEvent() { events.append(event) }
    }
}

extension WatchMemory {
    /// What a store does with a change.
    mutating func apply(_ change: MemoryChange) {
        switch change {
        case .identity(let identity):
            self.identity = identity
        case .bond(let bond, let replacingOthers, let keepingClient):
            let known = phones.first { $0.bond.identity == bond.identity }
            phones.removeAll { replacingOthers || $0.bond.identity == bond.identity }
            var phone = RememberedPhone(bond: bond)
            if keepingClient, let known {
                phone.client = known.client
                phone.seenDatabaseHash = known.seenDatabaseHash
            }
            phones.append(phone)
        case .forget(let identity):
            phones.removeAll { $0.bond.identity == identity }
        case .client(let identity, let client, let hash):
            guard let index = phones.firstIndex(where: { $0.bond.identity == identity }) else { return }
            phones[index].client = client
            phones[index].seenDatabaseHash = hash
        case .phoneServices(let identity, let services):
            guard let index = phones.firstIndex(where: { $0.bond.identity == identity }) else { return }
            phones[index].services = services
        case .service(let change):
            services.apply(change)
        }
    }
}
