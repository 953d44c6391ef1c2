// A heart rate sensor: `heart-rate hci0`. It tells subscribers a rate each second.
import BluetoothHost
import BluetoothPeripheral
import HCIRuntime

struct HeartRate: GATTService {
    enum Value: String, CaseIterable { case measurement }
    var beatsPerMinute: UInt8 = 60
    var nextDeadline: Duration? = .zero
    let declaration = Service(.uuid16(0x180D)) {
        Characteristic(.uuid16(0x2A37), .notify, of: Value.measurement)
        Characteristic(.uuid16(0x2A38), .read, value: [0x01])  // The sensor is on the chest.
    }
    func read(_ value: Value, by peer: Peer, _ output: inout Output) -> ReadReply { .refused(.readNotPermitted) }
    func write(_ bytes: ArraySlice<UInt8>, to value: Value, by peer: Peer, _ output: inout Output) -> WriteReply {
        .refused(.writeNotPermitted)
    }
    mutating func advance(_ output: inout Output) {
        guard let deadline = nextDeadline, deadline <= output.now else { return }
        beatsPerMinute = beatsPerMinute < 180 ? beatsPerMinute + 1 : 60
        output.notify(.measurement, [0x00, beatsPerMinute])
        nextDeadline = output.now + .seconds(1)
    }
}

var configuration = PeripheralConfiguration(name: "Heart", address: .staticRandom(0x4845_4152_5400))
configuration.advertising?.services = [.uuid16(0x180D)]
try Peripheral(HeartRate(), configuration).run(on: CommandLine.arguments.dropFirst().first ?? "hci0")
