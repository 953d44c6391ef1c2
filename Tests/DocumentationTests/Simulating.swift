import AirSimulator
import BluetoothCentral
import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import BluetoothPeripheral
import HCIRuntime
import Testing

/// The rate that a central reads, and when; nil if it does not get so far.
private func readRate(seed: UInt64, quality: LinkQuality) throws -> (rate: [UInt8], time: Duration)? {
    // snippet: simulation
    var simulation = Simulation(seed: seed, quality: quality)
    let address = LEAddress.staticRandom(1)
    let heart = simulation.add(try Peripheral(HeartRate(), PeripheralConfiguration(name: "Heart", address: address)))
    let central = simulation.add(Central(cryptography: .swiftCrypto, randomness: .system))
    simulation.run(for: .seconds(1))
    // end
    _ = heart
    // snippet: condition
    let now = simulation.now
    let request = simulation.withHost(central) { $0.connect(to: address, within: .seconds(30), at: now) }
    var peripheral: RemotePeripheral?
    let outcome = simulation.run(until: now + .seconds(30)) { simulation in
        simulation.withHost(central) { central in
            while let event = central.nextEvent() {
                if case .ended(request, .success(.connected(let found))) = event { peripheral = found }
            }
        }
        return peripheral != nil
    }
    // end
    guard outcome == .conditionMet, let peripheral else { return nil }
    let rate = try peripheral.characteristic(.uuid16(0x2A37), of: .uuid16(0x180D))
    let time = simulation.now
    var bytes: [UInt8] = []
    let read = simulation.withHost(central) { $0.read(rate, of: peripheral.id, at: time) }
    simulation.run(for: .seconds(10))
    simulation.withHost(central) { central in
        while let event = central.nextEvent() {
            if case .ended(read, .success(.value(let value))) = event { bytes = value }
        }
    }
    return (bytes, time)
}

private func loseTheLink() throws -> HCIStatus? {
    var simulation = Simulation(seed: 1)
    let address = LEAddress.staticRandom(1)
    let heart = simulation.add(try Peripheral(HeartRate(), PeripheralConfiguration(name: "Heart", address: address)))
    let central = simulation.add(Central(cryptography: .swiftCrypto, randomness: .system))
    simulation.withHost(central) { _ = $0.connect(to: address, within: .seconds(30), at: .zero) }
    simulation.run(for: .seconds(5))
    // snippet: loss
    simulation.air.setLinkQuality(.outOfRange, between: heart.controller, and: central.controller)
    simulation.run(for: .seconds(10))
    // end
    var reason: HCIStatus?
    simulation.withHost(central) { central in
        while let event = central.nextEvent() {
            if case .disconnected(_, let why) = event { reason = why }
        }
    }
    return reason
}

@Suite struct SimulatedAirTests {
    @Test func theSameSeedGivesTheSameTimes() throws {
        let quality = LinkQuality(loss: .uniform(probability: 0.2))
        let first = try #require(try readRate(seed: 1, quality: quality))
        let second = try #require(try readRate(seed: 1, quality: quality))
        #expect(first.rate == [0x00, 60] && second.rate == first.rate)
        #expect(first.time == second.time)
        #expect(try readRate(seed: 2, quality: quality)?.time != first.time)
    }

    @Test func aPeerOutOfRangeIsLostBySupervision() throws { #expect(try loseTheLink() == .connectionTimeout) }
}
