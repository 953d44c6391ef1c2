import AirSimulator
import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import Testing

/// One host with several phones on the air. A link's event ends where the next link's begins, and the phones say where that is:
/// with one interval for all, a phone that comes right before another has little for ever. Intervals of different lengths make
/// each phone's events pass by all the others', so that the radio has as much time for each, and the rest is up to the host.
@Suite("A host with several phones on the air")
struct FairAirTests {
    private static let address = DeviceAddress(0xC011_2233_4455)

    /// Notifications as fast as they go to all phones at once.
    @Test("gives no phone less than 80 % of its share", arguments: [2, 4, 8], [1, 2] as [UInt64])
    func share(phones count: Int, seed: UInt64) throws {
        var simulation = Simulation(seed: seed)
        let database = try GATTDatabase {
            Service(.uuid16(0xFFF0)) { Characteristic(.uuid16(0xFFF1), .notify, name: "stream") }
        }
        let value = try #require(database.handle(of: "stream"))
        let host = simulation.add(Self.host(Self.address, database))
        let phones = try (0..<count).map { number in
            simulation.add(Self.host(DeviceAddress(0xC0FF_EE00_0001 + UInt64(number)), try GATTDatabase([])))
        }
        for (number, phone) in phones.enumerated() {
            let now = simulation.now
            simulation.withHost(host) { $0.startAdvertising(Self.set, at: now) }
            simulation.withHost(phone) { $0.connect(to: .random(Self.address), Self.parameters(number), at: now) }
            let outcome = simulation.run(until: now + .seconds(10)) { simulation in
                simulation.withHost(phone) { while $0.nextEvent() != nil {} }
                return simulation.withHost(host) { host in
                    while host.nextEvent() != nil {}
                    return host.connections.count == number + 1
                } == true
            }
            try #require(outcome == .conditionMet, "phone \(number), seed \(seed)")
        }
        // What hosts ask each other at first is to be over.
        simulation.run(for: .seconds(2))

        var received = [Int](repeating: 0, count: count)
        let bytes = [UInt8](repeating: 1, count: 20)
        _ = simulation.run(until: simulation.now + .seconds(20)) { simulation in
            let now = simulation.now
            simulation.withHost(host) { host in
                while host.nextEvent() != nil {}
                for connection in host.connections {
                    while (try? host.gatt.notify(
                        bytes[...],
                        of: value,
                        on: connection.handle,
                        evenIfNotSubscribed: true,
                        at: now
                    )) != nil {}
                }
            }
            for (number, phone) in phones.enumerated() {
                simulation.withHost(phone) { phone in
                    while let event = phone.nextEvent() {
                        if case .gatt(.valueReceived) = event { received[number] += 1 }
                    }
                }
            }
            return false
        }
        let share = Double(received.reduce(0, +)) / Double(count)
        #expect(share > 100, "\(received), seed \(seed)")
        for amount in received { #expect(Double(amount) >= 0.8 * share, "\(received), seed \(seed)") }
    }

    private static let set = AdvertisingSet(
        id: AdvertisingSetID(rawValue: 0),
        kind: .connectable,
        interval: .milliseconds(20),
        data: []
    )

    private static func parameters(_ number: Int) -> ConnectionParameters {
        // 30 ms, and 1.25 ms more for each.
        let interval = ConnectionInterval(rawValue: UInt16(24 + number))
        return ConnectionParameters(
            intervalMinimum: interval,
            intervalMaximum: interval,
            latency: 0,
            supervisionTimeout: .milliseconds(5000)
        )
    }

    private static func host(_ address: DeviceAddress, _ database: GATTDatabase) -> LEHost {
        LEHost(
            configuration: LEHost.Configuration(ownAddress: .random(address)),
            database: database,
            cryptography: .swiftCrypto,
            randomness: .system
        )
    }
}
