import AirSimulator
import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import PebbleWatch
import SeededRandomness
import Testing

@testable import Faults

/// A watch with a line of faults between it and its controller.
struct FaultedWatch: HCIHost {
    var watch: Watch
    private(set) var line: HCIFaultLine?
    private(set) var firings: [FaultFiring] = []
    private(set) var actions: [HCIFaultLine.Action] = []
    private var buffer: [UInt8] = []

    init(_ watch: Watch) { self.watch = watch }

    mutating func add(_ fault: Fault, as id: FaultID, at now: Duration) throws {
        switch fault.kind {
        case .hci:
            var line = line ?? HCIFaultLine(watch.faultBasis)
            try line.add(fault, as: id, at: now)
            self.line = line
            drain(at: now)
        case .radio, .ppogatt, .message, .watch: try watch.perform(.addFault(fault, id), at: now)
        }
    }

    mutating func clear(_ id: FaultID?, at now: Duration) throws {
        if line?.clear(id, at: now) == true { return drain(at: now) }
        try watch.perform(.clearFaults(id), at: now)
    }

    mutating func start(at now: Duration) { watch.start(at: now) }

    mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        guard line != nil else { return watch.receive(packet, at: now) }
        line?.fromController(packet, at: now)
        drain(at: now)
    }

    mutating func advance(to now: Duration) {
        line?.advance(to: now)
        drain(at: now)
        watch.advance(to: now)
    }

    var nextDeadline: Duration? { [watch.nextDeadline, line?.nextDeadline].compactMap { $0 }.min() }

    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool {
        guard line != nil else { return watch.nextPacket(into: &buffer) }
        while line?.nextForController(into: &buffer) == false {
            guard watch.nextPacket(into: &self.buffer), let now = line?.now else { return false }
            line?.fromHost(self.buffer[...], at: now)
            drain(at: now)
            if line == nil { return watch.nextPacket(into: &buffer) }
        }
        return true
    }

    private mutating func drain(at now: Duration) {
        while line?.nextForHost(into: &buffer) == true { watch.receive(buffer[...], at: now) }
        while let firing = line?.nextFiring() { firings.append(firing) }
        while let action = line?.nextAction() { actions.append(action) }
        if line?.isIdle == true { line = nil }
    }
}

/// Its owner, with a store that remembers nothing.
struct FaultOwner: HostOwner {
    static let address = LEAddress.random(DeviceAddress(0xC0DE_0000_1234))

    var host: FaultedWatch
    private(set) var events: [WatchEvent] = []
    private(set) var storedChanges = 0

    init(_ change: (inout WatchConfiguration) -> Void) throws {
        var configuration = WatchConfiguration(identity: WatchIdentity(address: Self.address))
        configuration.serviceChangedDelay = .seconds(1)
        change(&configuration)
        host = FaultedWatch(
            try Watch(
                configuration,
                cryptography: .swiftCrypto,
                randomness: RandomSource(state: 11, SplitMix64.draw)
            )
        )
    }

    mutating func settle(at now: Duration) {
        while let (id, _) = host.watch.nextMemoryChange() {
            storedChanges += 1
            host.watch.memoryChangeFinished(id, failure: nil, at: now)
        }
        while let event = host.watch.nextEvent() { events.append(event) }
    }

    /// What the faults of a name have done.
    func firings(_ name: String) -> [FaultFiring] {
        let told = events.compactMap { event in
            if case .fault(let firing) = event { firing } else { nil }
        }
        return (host.firings + told).filter { $0.name == name }
    }
}

/// A phone that does what a test says, and remembers what it hears.
struct PlainPhone: HostOwner {
    var host: LEHost
    var connection: ConnectionHandle?
    var responses: [GATTResponse] = []
    var failures: [GATTProcedureError] = []
    var reasons: [HCIStatus] = []
    var pairingFailures: [PairingFailure] = []
    var security = LinkSecurity.none
    var channels: [Channel] = []
    var closures: [ChannelClosure] = []
    private(set) var now = Duration.zero

    init() {
        var security = SecurityManager.Configuration()
        let own = LEAddress.random(DeviceAddress(staticRandomFrom: 0xA1))
        security.ioCapability = .keyboardDisplay
        security.identity = LocalIdentity(address: own, identityResolvingKey: IdentityResolvingKey(0x5EED))
        host = LEHost(
            configuration: LEHost.Configuration(ownAddress: own, security: security),
            database: GATTDatabase(),
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: 12, SplitMix64.draw)
        )
    }

    mutating func settle(at now: Duration) {
        self.now = now
        while let event = host.nextEvent() {
            switch event {
            case .connected(let new):
                connection = new.handle
                security = new.security
            case .disconnected(_, let reason):
                connection = nil
                reasons.append(reason)
            case .securityChanged(_, let level): security = level
            case .security(.prompt(let prompt)):
                if case .displayPasskey = prompt.kind { continue }
                _ = host.security?.answer(prompt.id, with: .accept, at: now)
            case .security(.bonded(_, let bond)): host.security?.bondStored(bond.identity)
            case .security(.pairingFailed(_, let failure)): pairingFailures.append(failure)
            case .channel(.opened(let channel)): channels.append(channel)
            case .channel(.closed(let id, let closure, _)):
                channels.removeAll { $0.id == id }
                closures.append(closure)
            case .gatt(.procedureEnded(let ended)):
                switch ended.result {
                case .success(let response): responses.append(response)
                case .failure(let error): failures.append(error)
                }
            default: break
            }
        }
    }
}

/// The PDUs that a phone hears.
final class Tap {
    private var recombiner = FaultRecombiner()
    private(set) var heard: [FaultPDU] = []

    func take(_ packet: Simulation.Packet, of phone: ControllerID) {
        guard packet.controller == phone, !packet.isFromHost, packet.bytes.first == HCIPacketType.acl.rawValue,
            let data = try? ACLPacket(body: packet.bytes.dropFirst())
        else { return }
        if case .whole(let pdu) = recombiner.take(data) { heard.append(pdu) }
    }

    /// The PDUs of a channel that begin with an octet.
    func heard(_ channel: ChannelID, _ code: UInt8) -> [FaultPDU] {
        heard.filter { $0.channel == channel && $0[0] == code }
    }
}

/// A watch with faults and a phone, on one air.
final class FaultRig {
    var air: SimulatedPair<FaultOwner, PlainPhone>
    let tap = Tap()
    private var lastID = 0

    /// - Parameter change: what is special about the watch.
    init(_ change: (inout WatchConfiguration) -> Void = { _ in }) throws {
        air = SimulatedPair(seed: 0xFA, watch: try FaultOwner(change), phone: PlainPhone())
        let (tap, phone) = (tap, air.phone.controller)
        air.simulation.observer = { packet in tap.take(packet, of: phone) }
        air.run(for: .seconds(1))
    }

    /// With the phone connected.
    static func connected(_ change: (inout WatchConfiguration) -> Void = { _ in }) throws -> FaultRig {
        let rig = try FaultRig(change)
        try #require(rig.connect(), "the phone did not connect")
        return rig
    }

    /// With the phone paired.
    static func paired() throws -> FaultRig {
        let rig = try connected()
        rig.pair()
        try #require(rig.phone { $0.security.isEncrypted })
        return rig
    }

    func add(_ text: String) throws {
        lastID += 1
        let (fault, id) = (try Fault(parsing: text), FaultID(rawValue: lastID))
        try air.onWatch { owner, now in try owner.host.add(fault, as: id, at: now) }
    }

    func clear(_ number: Int? = nil) throws {
        try air.onWatch { owner, now in try owner.host.clear(number.map(FaultID.init(rawValue:)), at: now) }
    }

    func phone<Result>(_ body: (inout PlainPhone) throws -> Result) rethrows -> Result {
        try air.onPhone { phone, _ in try body(&phone) }
    }

    func watch<Result>(_ body: (inout FaultOwner) throws -> Result) rethrows -> Result {
        try air.onWatch { owner, _ in try body(&owner) }
    }

    func run(_ seconds: Int) { air.run(for: .seconds(seconds)) }

    /// How often the faults of a name have fired, and told it.
    func firings(_ name: String) -> Int { watch { $0.firings(name).count } }

    func connect(within limit: Duration = .seconds(20)) -> Bool {
        air.onPhone { phone, now in
            phone.host.connect(
                to: FaultOwner.address,
                ConnectionParameters(
                    intervalMinimum: .milliseconds(30),
                    intervalMaximum: .milliseconds(30),
                    latency: 0,
                    supervisionTimeout: .milliseconds(2000)
                ),
                at: now
            )
        }
        let time = air.runUntilPhone(within: limit) { $0.connection != nil }
        if time != nil { run(1) }
        return time != nil
    }

    func pair(for seconds: Int = 5) {
        air.onPhone { phone, now in
            phone.host.advance(to: now)
            if let connection = phone.connection { try? phone.host.security?.pair(connection, at: now) }
        }
        run(seconds)
    }

    /// The phone comes back and encrypts with the key that it has.
    func encryptAgain() throws {
        air.onPhone { phone, now in
            if let connection = phone.connection { phone.host.disconnect(connection, at: now) }
        }
        run(1)
        try #require(connect())
        air.onPhone { phone, now in
            phone.host.advance(to: now)
            if let connection = phone.connection { try? phone.host.security?.encrypt(connection, at: now) }
        }
        run(3)
    }

    func begin(_ procedure: GATTProcedure) throws {
        try air.onPhone { phone, now in
            phone.host.advance(to: now)
            guard let connection = phone.connection else { return }
            try phone.host.gatt.start(procedure, on: connection, at: now)
        }
    }

    /// What a procedure ends with in two seconds; nil if it does not end.
    func perform(_ procedure: GATTProcedure, for seconds: Int = 2) throws -> Result<GATTResponse, GATTProcedureError>? {
        let before = phone { ($0.responses.count, $0.failures.count) }
        try begin(procedure)
        run(seconds)
        return phone { phone in
            if phone.responses.count > before.0 { return phone.responses.last.map { .success($0) } }
            return phone.failures.count > before.1 ? phone.failures.last.map { .failure($0) } : nil
        }
    }

    static let deviceName = GATTProcedure.readOneByUUID(.uuid16(0x2A00))

    /// Whether the phone gets the watch's name in two seconds.
    func readsName() throws -> Bool {
        if case .success(.values(let values))? = try perform(Self.deviceName) { !values.isEmpty } else { false }
    }

    /// Opens a channel to the watch's stream, of a watch that asks for no pairing.
    func openChannel() throws -> Channel.ID? {
        let spsm = try #require(watch { $0.host.watch.status.streams[.pebble] })
        try air.onPhone { phone, now in
            phone.host.advance(to: now)
            if let connection = phone.connection { _ = try phone.host.channels.open(to: spsm, on: connection, at: now) }
        }
        run(1)
        return phone { $0.channels.last?.id }
    }
}
