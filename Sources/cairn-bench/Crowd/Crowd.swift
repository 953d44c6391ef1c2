import AirSimulator
import BluetoothHCI
import PebbleWatch
import SeededRandomness

/// Many watches on one air, each with a phone of its own.
struct Crowd {
    /// How the pairs come to the air.
    enum Arrival {
        /// One after the other: each has met before the next one comes.
        case oneByOne
        /// All at one instant.
        case together
    }

    private(set) var simulation: Simulation
    private var watches: [Simulation.HostID<StoredWatch>] = []
    private var phones: [Simulation.HostID<CrowdPhone>] = []
    private let seed: UInt64

    /// As many simulated seconds are enough for a pair that is alone.
    private static let patience: Duration = .seconds(60)

    /// A crowd of pairs, which run from now on.
    /// - Throws: `WorkloadFailure` if a pair that came alone did not meet.
    init(_ count: Int, _ arrival: Arrival, seed: UInt64) throws {
        self.seed = seed
        simulation = Simulation(seed: seed)
        for number in 0..<count {
            try addPair(number)
            if arrival == .oneByOne { try runUntilMet(number) }
        }
    }

    private mutating func addPair(_ number: Int) throws {
        let address = DeviceAddress(0xC011_2200_0000 + UInt64(number))
        var configuration = StoredWatch.configuration(address: address)
        configuration.linkSecurity = .insecureTestLink
        watches.append(simulation.add(try StoredWatch(configuration, seed: UInt64(2 * number + 2))))
        phones.append(simulation.add(try CrowdPhone(number: number, watch: address)))
    }

    private mutating func runUntilMet(_ number: Int) throws {
        let outcome = simulation.run(until: simulation.now + Self.patience) { [phones] simulation in
            simulation.withHost(phones[number]) { $0.metAt != nil } == true
        }
        guard outcome == .conditionMet else { throw WorkloadFailure("seed \(seed): pair \(number) did not meet") }
    }

    /// Lets time pass.
    mutating func run(for span: Duration) { simulation.run(for: span) }

    /// Lets each phone send every second from now on, each at a moment of its own.
    mutating func talk() {
        var random = SplitMix64(seed: seed)
        let now = simulation.now
        for phone in phones {
            let phase = Duration.microseconds(Int64.random(in: 0..<1_000_000, using: &random))
            simulation.withHost(phone) { $0.talk(from: now + phase) }
        }
    }

    /// What every phone has to tell.
    mutating func ask<Answer>(_ question: (CrowdPhone) -> Answer) -> [Answer] {
        phones.compactMap { phone in simulation.withHost(phone) { question($0) } }
    }

    /// Has every packet that crosses an HCI boundary seen.
    mutating func observe(_ observer: @escaping (Simulation.Packet) -> Void) { simulation.observer = observer }
}
