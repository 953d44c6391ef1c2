import AirSimulator
import BluetoothCentral
import BluetoothCryptography
import BluetoothHost
import BluetoothPeripheral
import HCIRuntime
import Testing

private func readBattery(on controller: String) async throws -> UInt8? {
    // snippet: read
    let central = try RunningCentral(on: controller)
    let found = try await central.find(within: .seconds(30)) { $0.services.contains(.uuid16(0x180F)) }
    let peripheral = try await central.connect(to: found.address, within: .seconds(30))
    let level = try await peripheral.read(.uuid16(0x2A19), of: .uuid16(0x180F)).first
    try await central.stop()
    // end
    return level
}

private func followRate(of peripheral: ConnectedPeripheral) async throws -> [UInt8] {
    var rates: [UInt8] = []
    // snippet: subscribe
    for try await value in try await peripheral.subscribe(to: .uuid16(0x2A37), of: .uuid16(0x180D)) {
        rates.append(value[1])
        if rates.count == 3 { break }
    }
    // end
    return rates
}

private struct Battery: GATTService {
    enum Value: String, CaseIterable { case level }

    let declaration = Service(.uuid16(0x180F)) {
        Characteristic(.uuid16(0x2A19), .read, of: Value.level)
    }

    func read(_ value: Value, by peer: Peer, _ output: inout Output) -> ReadReply { .value([64]) }

    func write(_ bytes: ArraySlice<UInt8>, to value: Value, by peer: Peer, _ output: inout Output) -> WriteReply {
        .refused(.writeNotPermitted)
    }
}

/// On a virtual air in real time, since the loops have threads of their own.
@Suite struct ReadingAPeripheralTests {
    @Test(.timeLimit(.minutes(1)))
    func theBatteryIsRead() async throws {
        let air = try RunningAir()
        var configuration = PeripheralConfiguration(name: "Torch", address: .staticRandom(11))
        configuration.advertising?.services = [.uuid16(0x180F)]
        let torch = try RunningPeripheral(try Peripheral(Battery(), configuration), on: air.transport)
        #expect(try await readBattery(on: air.transport) == 64)
        try await torch.stop()
        await air.stop()
    }

    @Test(.timeLimit(.minutes(1)))
    func threeRatesAreHeard() async throws {
        let air = try RunningAir()
        let configuration = PeripheralConfiguration(name: "Heart", address: .staticRandom(12))
        let heart = try RunningPeripheral(try Peripheral(HeartRate(), configuration), on: air.transport)
        let central = try RunningCentral(on: air.transport)
        let peripheral = try await central.connect(to: .staticRandom(12), within: .seconds(30))
        let beating = Task {
            for rate in UInt8(60)...250 {
                try await heart.update { $0.beatsPerMinute = rate }
                try await Task.sleep(for: .milliseconds(50))
            }
        }
        let rates = try await followRate(of: peripheral)
        beating.cancel()
        #expect(rates.count == 3)
        #expect(zip(rates, rates.dropFirst()).allSatisfy { $0 < $1 })
        try await peripheral.disconnect()
        await #expect(throws: CentralError.disconnected(nil)) {
            try await peripheral.read(.uuid16(0x2A38), of: .uuid16(0x180D))
        }
        try await central.stop()
        try await heart.stop()
        await air.stop()
    }
}
