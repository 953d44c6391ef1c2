// An echo over an L2CAP credit-based channel, whose SPSM peers read from a characteristic: `l2cap-echo hci0`.
import BluetoothHost
import BluetoothPeripheral
import HCIRuntime

struct Echo: ChannelService {
    enum Value: String, CaseIterable { case spsm }
    let listener = ChannelListener(requirement: .open)
    var spsm: SPSM?

    /// A service and a characteristic of our own; the value is the SPSM, two bytes, least significant first.
    let declaration = Service(.uuid128(0xEC40_0000_C0DE_4B1D_9A5E_0C0FFEE00001)) {
        Characteristic(.uuid128(0xEC40_0001_C0DE_4B1D_9A5E_0C0FFEE00001), .read, of: Value.spsm)
    }

    mutating func listens(on spsm: SPSM) { self.spsm = spsm }

    func read(_ value: Value, by peer: Peer, _ output: inout Output) -> ReadReply {
        switch value {
        case .spsm:
            guard let number = spsm?.rawValue else { return .refused(.unlikelyError) }
            return .value([UInt8(number & 0xFF), UInt8(number >> 8)])
        }
    }

    func write(_ bytes: ArraySlice<UInt8>, to value: Value, by peer: Peer, _ output: inout Output) -> WriteReply {
        .refused(.writeNotPermitted)
    }

    func received(_ bytes: [UInt8], on channel: Channel.ID, _ output: inout Output) {
        output.write(bytes, to: channel)
    }
}

let configuration = PeripheralConfiguration(
    name: "Echo",
    address: .staticRandom(0x4543_484F_0000),
    advertising: .init(services: [Echo().declaration.uuid])
)
try Peripheral(Echo(), configuration).run(on: CommandLine.arguments.dropFirst().first ?? "hci0")
