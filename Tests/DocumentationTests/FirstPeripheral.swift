import AirSimulator
import BluetoothCentral
import BluetoothHost
import BluetoothPeripheral
import HCIRuntime
import Testing

// snippet: service
struct HeartRate: GATTService {
    enum Value: String, CaseIterable { case measurement }

    var beatsPerMinute: UInt8 = 60

    let declaration = Service(.uuid16(0x180D)) {
        Characteristic(.uuid16(0x2A37), [.read, .notify], of: Value.measurement)
        Characteristic(.uuid16(0x2A38), .read, value: [0x01])  // The sensor is on the chest.
    }

    func read(_ value: Value, by peer: Peer, _ output: inout Output) -> ReadReply {
        switch value {
        case .measurement: .value([0x00, beatsPerMinute])
        }
    }

    func write(_ bytes: ArraySlice<UInt8>, to value: Value, by peer: Peer, _ output: inout Output) -> WriteReply {
        .refused(.writeNotPermitted)
    }

    mutating func advance(_ output: inout Output) { output.notify(.measurement, [0x00, beatsPerMinute]) }
}
// end

private func heartPeripheral() throws -> Peripheral<HeartRate> {
    // snippet: peripheral
    var configuration = PeripheralConfiguration(name: "Heart", address: .staticRandom(0x4845_4152_5400))
    configuration.advertising?.services = [.uuid16(0x180D)]
    let peripheral = try Peripheral(HeartRate(), configuration)
    // end
    return peripheral
}

private func run(_ peripheral: Peripheral<HeartRate>, on controller: String) async throws {
    // snippet: run
    let heart = try RunningPeripheral(peripheral, on: controller)
    for await event in heart.events {
        guard case .ready = event else { continue }
        break
    }
    try await heart.update { $0.beatsPerMinute = 72 }
    try await heart.stop()
    // end
}

@Suite struct FirstPeripheralTests {
    @Test(.timeLimit(.minutes(1)))
    func itRuns() async throws { try await run(try heartPeripheral(), on: "virtual") }

    @Test func itsRateIsRead() throws {
        var room = try Room(try heartPeripheral())
        let remote = try room.connect(to: .staticRandom(0x4845_4152_5400))
        #expect(try room.read(.uuid16(0x2A37), of: .uuid16(0x180D), on: remote) == [0x00, 60])
        #expect(try room.read(.uuid16(0x2A38), of: .uuid16(0x180D), on: remote) == [0x01])
    }
}
