import AirSimulator
import BluetoothCentral
import BluetoothCryptography
import BluetoothHost
import BluetoothPeripheral
import Testing

/// A peripheral and a central on one simulated air. No time passes but what the hosts wait for, and that at once.
struct Bench<Services: ServiceSet> {
    private var simulation = Simulation(seed: 1)
    private let peripheral: Simulation.HostID<Peripheral<Services>>
    private let central: Simulation.HostID<Central>
    /// What the peripheral has sent by itself.
    private(set) var values: [[UInt8]] = []

    // snippet: bench
    init(_ services: Services) throws {
        let configuration = PeripheralConfiguration(name: "Bench", address: .staticRandom(1))
        peripheral = simulation.add(
            try Peripheral(services, configuration, cryptography: .swiftCrypto, randomness: .system)
        )
        central = simulation.add(Central(cryptography: .swiftCrypto, randomness: .system))
    }
    // end

    var now: Duration { simulation.now }

    /// Changes the services, as the application does.
    mutating func update(_ change: (inout Services) -> Void) {
        let now = simulation.now
        simulation.withHost(peripheral) { $0.update(at: now, change) }
    }

    /// Lets time pass.
    mutating func run(for time: Duration) {
        simulation.run(for: time)
        _ = takeEvents()
    }

    mutating func connect() throws -> RemotePeripheral {
        let response = try perform { $0.connect(to: .staticRandom(1), within: .seconds(10), at: $1) }
        guard case .connected(let remote) = response else { throw CentralError.timedOut }
        return remote
    }

    mutating func read(_ characteristic: RemoteCharacteristic, of remote: RemotePeripheral) throws -> [UInt8] {
        let response = try perform { $0.read(characteristic, of: remote.id, at: $1) }
        guard case .value(let bytes) = response else { return [] }
        return bytes
    }

    // snippet: perform
    /// Makes a request of the central, and runs until it has ended.
    @discardableResult
    mutating func perform(_ begin: (inout Central, Duration) -> CentralRequestID) throws -> CentralResponse {
        let now = simulation.now
        let request = try #require(simulation.withHost(central) { begin(&$0, now) })
        while true {
            for case .ended(request, let result) in takeEvents() { return try result.get() }
            try #require(simulation.nextDeadline != nil, "nothing is left that could end the request")
            simulation.run(for: .milliseconds(10))
        }
    }
    // end

    private mutating func takeEvents() -> [CentralEvent] {
        var events: [CentralEvent] = []
        simulation.withHost(central) { central in
            while let event = central.nextEvent() { events.append(event) }
        }
        for case .valueReceived(_, let value) in events { values.append(value.bytes) }
        return events
    }
}
