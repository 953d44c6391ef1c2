import AirSimulator
import BluetoothCentral
import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import BluetoothPeripheral
import SeededRandomness
import Testing

/// A lamp: a value of any length, one that only an encrypted link may read, one that is notified, and one without any of these.
struct Lamp: GATTService {
    enum Value: String, CaseIterable { case text, secret, level, plain }
    static let uuid = BluetoothUUID.uuid16(0xFF00)
    static let text = BluetoothUUID.uuid16(0xFF01)
    static let secret = BluetoothUUID.uuid16(0xFF02)
    static let level = BluetoothUUID.uuid16(0xFF03)
    static let plain = BluetoothUUID.uuid128(0xEC40_0001_C0DE_4B1D_9A5E_0C0FFEE00001)

    var text: [UInt8] = Array("hello".utf8)
    var level: UInt8 = 0
    var isAnswering = true
    var nextDeadline: Duration? = .zero

    let declaration = Service(Self.uuid) {
        Characteristic(Self.text, [.read, .write, .writeWithoutResponse], of: Value.text)
        Characteristic(Self.secret, .read, of: Value.secret, permissions: .encrypted)
        Characteristic(Self.level, [.read, .notify], of: Value.level)
        Characteristic(Self.plain, .read, of: Value.plain)
    }

    func read(_ value: Value, by peer: Peer, _ output: inout Output) -> ReadReply {
        guard isAnswering else { return .later(output.later()) }
        switch value {
        case .text: return .value(text)
        case .secret: return .value([0x5E])
        case .level: return .value([level])
        case .plain: return .refused(ATTError(rawValue: 0x80))
        }
    }

    mutating func write(
        _ bytes: ArraySlice<UInt8>,
        to value: Value,
        by peer: Peer,
        _ output: inout Output
    ) -> WriteReply {
        text = Array(bytes)
        return .done
    }

    mutating func advance(_ output: inout Output) {
        guard let deadline = nextDeadline, deadline <= output.now else { return }
        level &+= 1
        output.notify(.level, [level])
        nextDeadline = output.now + .seconds(1)
    }
}

/// A central in the simulation, and what it reported.
struct Observer: HostOwner {
    var host: Central
    var ended: [CentralRequestID: Result<CentralResponse, CentralError>] = [:]
    var values: [RemoteValue] = []
    var disconnections: [HCIStatus] = []
    var bonds: [Bond] = []
    var isReady = false

    mutating func settle(at now: Duration) {
        while let event = host.nextEvent() {
            switch event {
            case .ready: isReady = true
            case .failed: isReady = false
            case .ended(let id, let result):
                #expect(ended[id] == nil, "a request ends once")
                ended[id] = result
            case .valueReceived(_, let value): values.append(value)
            case .disconnected(_, let reason): disconnections.append(reason)
            case .prompt(let prompt): host.answer(prompt.id, with: .accept, at: now)
            case .bonded(let bond): bonds.append(bond)
            case .notice: break
            }
        }
    }
}

/// A central and lamps on one air, in virtual time.
struct CentralRig {
    var simulation = Simulation(seed: 5)
    let central: Simulation.HostID<Observer>
    private(set) var lamps: [Simulation.HostID<Peripheral<Lamp>>] = []

    static func address(_ lamp: Int) -> LEAddress { .staticRandom(0x1A00 + UInt64(lamp)) }

    init(
        _ configuration: CentralConfiguration = CentralConfiguration(),
        lamps count: Int = 1,
        pairing: PeripheralConfiguration.Pairing = .none
    ) throws {
        let host = Central(
            configuration,
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: 9, SplitMix64.draw)
        )
        central = simulation.add(Observer(host: host))
        for lamp in 0..<count {
            var configuration = PeripheralConfiguration(
                name: "Lamp \(lamp)",
                address: Self.address(lamp),
                pairing: pairing
            )
            configuration.advertising?.services = [Lamp.uuid]
            let peripheral = try Peripheral(
                Lamp(),
                configuration,
                cryptography: .swiftCrypto,
                randomness: RandomSource(state: UInt64(lamp), SplitMix64.draw)
            )
            lamps.append(simulation.add(peripheral))
        }
    }

    /// Uses the central.
    mutating func use<Result>(_ body: (inout Central, Duration) -> Result) throws -> Result {
        let now = simulation.now
        return try #require(
            simulation.withHost(central) { observer in
                defer { observer.settle(at: now) }
                return body(&observer.host, now)
            }
        )
    }

    /// What the central reported.
    mutating func seen<Value>(_ look: (Observer) -> Value) throws -> Value {
        try #require(simulation.withHost(central) { look($0) })
    }

    /// Makes a request and waits for its end, but not for longer than this.
    mutating func perform(
        for time: Duration = .seconds(60),
        _ begin: (inout Central, Duration) -> CentralRequestID
    ) throws -> Result<CentralResponse, CentralError>? {
        let id = try use(begin)
        return try end(of: id, within: time)
    }

    mutating func end(
        of id: CentralRequestID,
        within time: Duration = .seconds(60)
    ) throws -> Result<CentralResponse, CentralError>? {
        let central = central
        _ = simulation.run(until: simulation.now + time) { simulation in
            simulation.withHost(central) { $0.ended[id] != nil } == true
        }
        return try seen { $0.ended[id] }
    }

    mutating func connect(_ lamp: Int = 0) throws -> RemotePeripheral {
        let result = try perform { $0.connect(to: Self.address(lamp), within: .seconds(10), at: $1) }
        guard case .success(.connected(let peripheral))? = result else {
            Issue.record("not connected: \(String(describing: result))")
            throw CentralError.timedOut
        }
        return peripheral
    }

    /// How well the central hears a lamp.
    mutating func setQuality(_ quality: LinkQuality, lamp: Int = 0) {
        simulation.air.setLinkQuality(quality, between: central.controller, and: lamps[lamp].controller)
    }
}
