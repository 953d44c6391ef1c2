import AirSimulator
import BluetoothCentral
import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import BluetoothPeripheral
import Testing

/// A peripheral of an article, and a central, in virtual time.
struct Room<Services: ServiceSet> {
    private(set) var simulation = Simulation(seed: 1)
    private let peripheral: Simulation.HostID<Peripheral<Services>>
    private let central: Simulation.HostID<Central>
    private(set) var values: [[UInt8]] = []
    private var ended: [CentralRequestID: Result<CentralResponse, CentralError>] = [:]

    init(_ peripheral: Peripheral<Services>, _ configuration: CentralConfiguration = CentralConfiguration()) throws {
        self.peripheral = simulation.add(peripheral)
        central = simulation.add(Central(configuration, cryptography: .swiftCrypto, randomness: .system))
    }

    mutating func update(_ change: (inout Services) -> Void) {
        let now = simulation.now
        simulation.withHost(peripheral) { $0.update(at: now, change) }
    }

    /// What the peripheral has reported.
    mutating func takeEvents() -> [PeripheralEvent] {
        var events: [PeripheralEvent] = []
        simulation.withHost(peripheral) { peripheral in
            while let event = peripheral.nextEvent() { events.append(event) }
        }
        return events
    }

    mutating func use<Result>(_ body: (inout Peripheral<Services>, Duration) throws -> Result) throws -> Result {
        let now = simulation.now
        return try #require(try simulation.withHost(peripheral) { try body(&$0, now) })
    }

    mutating func connect(to address: LEAddress) throws -> RemotePeripheral {
        let response = try perform { $0.connect(to: address, within: .seconds(10), at: $1) }
        guard case .connected(let remote) = response else { throw CentralError.timedOut }
        return remote
    }

    mutating func read(
        _ uuid: BluetoothUUID,
        of service: BluetoothUUID,
        on remote: RemotePeripheral
    ) throws -> [UInt8] {
        let characteristic = try remote.characteristic(uuid, of: service)
        let response = try perform { $0.read(characteristic, of: remote.id, at: $1) }
        guard case .value(let bytes) = response else { return [] }
        return bytes
    }

    mutating func run(for time: Duration) {
        simulation.run(for: time)
        takeCentralEvents()
    }

    /// Makes a request of the central.
    mutating func begin(_ begin: (inout Central, Duration) -> CentralRequestID) throws -> CentralRequestID {
        let now = simulation.now
        return try #require(simulation.withHost(central) { begin(&$0, now) })
    }

    /// How a request has ended; nil if it has not.
    mutating func result(of request: CentralRequestID) -> Result<CentralResponse, CentralError>? {
        takeCentralEvents()
        return ended[request]
    }

    /// Makes a request of the central, and runs until it has ended.
    @discardableResult
    mutating func perform(_ begin: (inout Central, Duration) -> CentralRequestID) throws -> CentralResponse {
        let request = try self.begin(begin)
        let limit = simulation.now + .seconds(60)
        while simulation.now < limit {
            if let result = result(of: request) { return try result.get() }
            simulation.run(for: .milliseconds(10))
        }
        throw CentralError.timedOut
    }

    private mutating func takeCentralEvents() {
        var events: [CentralEvent] = []
        simulation.withHost(central) { central in
            while let event = central.nextEvent() { events.append(event) }
        }
        for event in events {
            switch event {
            case .ended(let request, let result): ended[request] = result
            case .valueReceived(_, let value): values.append(value.bytes)
            case .ready, .failed, .disconnected, .prompt, .bonded, .notice: break
            }
        }
    }
}
