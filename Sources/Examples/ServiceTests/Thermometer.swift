import BluetoothHost
import BluetoothPeripheral

/// The service that is tested: a thermometer, which tells subscribers the temperature whenever it has changed by half a degree.
struct Thermometer: GATTService {
    enum Value: String, CaseIterable { case temperature }
    static let environmentalSensing = BluetoothUUID.uuid16(0x181A)
    static let temperature = BluetoothUUID.uuid16(0x2A6E)

    /// What the sensor says, in hundredths of a degree Celsius.
    var hundredths: Int16 = 2100
    private var told: Int16 = 2100

    let declaration = Service(Self.environmentalSensing) {
        Characteristic(Self.temperature, [.read, .notify], of: Value.temperature)
    }

    private var bytes: [UInt8] {
        [UInt8(truncatingIfNeeded: hundredths), UInt8(truncatingIfNeeded: hundredths >> 8)]
    }

    func read(_ value: Value, by peer: Peer, _ output: inout Output) -> ReadReply { .value(bytes) }

    func write(_ bytes: ArraySlice<UInt8>, to value: Value, by peer: Peer, _ output: inout Output) -> WriteReply {
        .refused(.writeNotPermitted)
    }

    mutating func advance(_ output: inout Output) {
        guard abs(Int(hundredths) - Int(told)) >= 50 else { return }
        told = hundredths
        output.notify(.temperature, bytes)
    }
}
