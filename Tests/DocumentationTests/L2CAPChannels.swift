import AirSimulator
import BluetoothCentral
import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import BluetoothPeripheral
import HCIRuntime
import Testing

// snippet: echo
struct Echo: ChannelService {
    enum Value: String, CaseIterable { case spsm }

    let listener = ChannelListener(requirement: .open)
    var spsm: SPSM?

    let declaration = Service(.uuid16(0xFF20)) {
        Characteristic(.uuid16(0xFF21), .read, of: Value.spsm)
    }

    mutating func listens(on spsm: SPSM) { self.spsm = spsm }

    func read(_ value: Value, by peer: Peer, _ output: inout Output) -> ReadReply {
        guard let number = spsm?.rawValue else { return .refused(.unlikelyError) }
        return .value([UInt8(number & 0xFF), UInt8(number >> 8)])
    }

    func write(_ bytes: ArraySlice<UInt8>, to value: Value, by peer: Peer, _ output: inout Output) -> WriteReply {
        .refused(.writeNotPermitted)
    }

    func received(_ bytes: [UInt8], on channel: Channel.ID, _ output: inout Output) {
        output.write(bytes, to: channel)
    }
}
// end

/// A central that opens a channel.
private struct Opener: HostOwner {
    var host = LEHost(
        configuration: LEHost.Configuration(ownAddress: .staticRandom(3)),
        database: GATTDatabase(),
        cryptography: .swiftCrypto,
        randomness: .system
    )
    var connection: ConnectionHandle?
    var isOpen = false
    var stream: [UInt8] = []

    mutating func settle(at now: Duration) {
        while let event = host.nextEvent() {
            switch event {
            case .connected(let new): connection = new.handle
            case .channel(.opened): isOpen = true
            case .channel(.readable(let id)): host.channels.read(from: id, into: &stream, at: now)
            default: break
            }
        }
    }
}

@Suite struct ChannelsTests {
    static let configuration = PeripheralConfiguration(name: "Echo", address: .staticRandom(2))

    private func spsm() throws -> UInt16 {
        var room = try Room(try Peripheral(Echo(), Self.configuration))
        let remote = try room.connect(to: .staticRandom(2))
        let bytes = try room.read(.uuid16(0xFF21), of: .uuid16(0xFF20), on: remote)
        try #require(bytes.count == 2)
        return UInt16(bytes[0]) | UInt16(bytes[1]) << 8
    }

    @Test func theSPSMIsPublished() throws { #expect(try (0x80...0xFF).contains(spsm())) }

    @Test func whatIsSentComesBack() throws {
        var simulation = Simulation(seed: 1)
        let echo = simulation.add(try Peripheral(Echo(), Self.configuration))
        let opener = simulation.add(Opener())
        let start = simulation.now
        simulation.withHost(opener) {
            $0.host.connect(to: .staticRandom(2), CentralConfiguration().connection, at: start)
        }
        simulation.run(for: .seconds(2))
        let now = simulation.now
        let spsm = try #require(simulation.withHost(echo) { $0.update(at: now) { $0.spsm } } ?? nil)
        let connection = try #require(simulation.withHost(opener) { $0.connection } ?? nil)
        let opened = try simulation.withHost(opener) { try $0.host.channels.open(to: spsm, on: connection, at: now) }
        let channel = try #require(opened)
        simulation.run(for: .seconds(1))
        #expect(simulation.withHost(opener) { $0.isOpen } == true)
        let later = simulation.now
        _ = simulation.withHost(opener) { $0.host.channels.write([1, 2, 3], to: channel, at: later) }
        simulation.run(for: .seconds(1))
        #expect(simulation.withHost(opener) { $0.stream } == [1, 2, 3])
    }
}
