import BluetoothCentral
import BluetoothHost
import BluetoothPeripheral
import HCIRuntime
import Testing

// snippet: later
/// A value that a slow sensor has to be asked for.
struct SlowSensor: GATTService {
    enum Value: String, CaseIterable { case reading }

    var waiting: (token: ReplyToken, until: Duration)?

    let declaration = Service(.uuid16(0xFF00)) {
        Characteristic(.uuid16(0xFF01), .read, of: Value.reading)
    }

    mutating func read(_ value: Value, by peer: Peer, _ output: inout Output) -> ReadReply {
        guard waiting == nil else { return .refused(.unlikelyError) }
        let token = output.later()
        waiting = (token, output.now + .seconds(2))
        return .later(token)
    }

    func write(_ bytes: ArraySlice<UInt8>, to value: Value, by peer: Peer, _ output: inout Output) -> WriteReply {
        .refused(.writeNotPermitted)
    }

    var nextDeadline: Duration? { waiting?.until }

    mutating func advance(_ output: inout Output) {
        guard let (token, time) = waiting, time <= output.now else { return }
        waiting = nil
        output.answer(token, with: [42])
    }
}
// end

// snippet: set
struct Station: ServiceSet {
    var heart = HeartRate()
    var sensor = SlowSensor()

    mutating func visitServices(_ visitor: inout some ServiceVisitor) {
        visitor.visit(&heart)
        visitor.visit(&sensor)
    }
}
// end

@Suite struct GATTServicesTests {
    @Test func theSlowSensorAnswersLater() throws {
        var room = try Room(try Peripheral(Station(), PeripheralConfiguration(name: "Both", address: .staticRandom(1))))
        let remote = try room.connect(to: .staticRandom(1))
        let start = room.simulation.now
        #expect(try room.read(.uuid16(0xFF01), of: .uuid16(0xFF00), on: remote) == [42])
        #expect(room.simulation.now - start >= .seconds(2))
        #expect(try room.read(.uuid16(0x2A37), of: .uuid16(0x180D), on: remote) == [0x00, 60])
    }
}
