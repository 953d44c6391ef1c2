import AirSimulator
import BluetoothHCI
import BluetoothHost
import ByteCoding
import PebbleWatch

/// A small generator whose sequence is the same everywhere.
struct SplitMix64: RandomNumberGenerator, Sendable {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// A central that accepts every pairing and remembers what it hears.
struct RigPhone: HCIHost {
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
    /// What clients did to the phone's own database, for whoever gave it one.
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
            randomness: SplitMix64(seed: seed)
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
            )
        )
    }

    mutating func pair(at now: Duration) throws {
        guard let connection else { return }
        host.advance(to: now)
        try host.security?.pair(connection, at: now)
    }

    mutating func encrypt(at now: Duration) throws {
        guard let connection else { return }
        host.advance(to: now)
        try host.security?.encrypt(connection)
    }

    mutating func perform(_ procedure: GATTProcedure, at now: Duration) throws {
        guard let connection else { return }
        host.advance(to: now)
        try host.gatt.start(procedure, on: connection, at: now)
    }

    // MARK: HCIHost

    var nextDeadline: Duration? { host.nextDeadline }

    mutating func start(at now: Duration) { host.start(at: now) }

    mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        host.receive(packet, at: now)
        drain(at: now)
    }

    mutating func advance(to now: Duration) {
        host.advance(to: now)
        drain(at: now)
    }

    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { host.nextPacket(into: &buffer) }

    /// Since this was last asked.
    mutating func takeServerEvents() -> [GATTEvent] {
        defer { serverEvents = [] }
        return serverEvents
    }

    private mutating func drain(at now: Duration) {
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
            case .channel(.readable(let id)): host.read(from: id, into: &streams[id, default: []])
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
struct RigWatch: HCIHost {
    var firmware: Firmware
    var memory: WatchMemory
    var events: [WatchEvent] = []
    /// Whether changes are carried out at once.
    var storeWorks = true
    var storeIsSlow = false
    var changes: [MemoryChange] = []

    init(_ configuration: WatchConfiguration, memory: WatchMemory = WatchMemory(), seed: UInt64) throws {
        firmware = try Firmware(configuration, memory: memory, randomness: SplitMix64(seed: seed))
        self.memory = memory
    }

    var nextDeadline: Duration? { firmware.nextDeadline }

    mutating func start(at now: Duration) {
        firmware.start(at: now)
        drain(at: now)
    }

    mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        firmware.receive(packet, at: now)
        drain(at: now)
    }

    mutating func advance(to now: Duration) {
        firmware.advance(to: now)
        drain(at: now)
    }

    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { firmware.nextPacket(into: &buffer) }

    mutating func drain(at now: Duration) {
        if !storeIsSlow {
            while let (id, change) = firmware.nextMemoryChange() {
                changes.append(change)
                if storeWorks { memory.apply(change) }
                firmware.memoryChangeFinished(id, failure: storeWorks ? nil : .full(path: "/state"), at: now)
            }
        }
        while let event = firmware.nextEvent() { events.append(event) }
    }
}

extension WatchMemory {
    /// What a store does with a change.
    mutating func apply(_ change: MemoryChange) {
        switch change {
        case .identity(let identity):
            self.identity = identity
        case .bond(let bond, let replacingOthers):
            if replacingOthers { phones.removeAll { $0.bond.identity != bond.identity } }
            if let index = phones.firstIndex(where: { $0.bond.identity == bond.identity }) {
                phones[index].bond = bond
                phones[index].services = nil
            } else {
                phones.append(RememberedPhone(bond: bond))
            }
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
