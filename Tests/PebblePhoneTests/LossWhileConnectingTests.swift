import AirSimulator
import BluetoothHCI
import PebblePhone
import PebbleProtocol
import PebbleWatch
import Testing

/// Any packet between the first advertisement and the open session may get lost, and the air may be gone with it for any time:
/// the watch and the phone connect in the end.
@Suite struct LossWhileConnectingTests {
    /// The moments at which the packets that matter begin, from the first one that the phone hears until the session is
    /// negotiated, without empty packets: of those that follow each other the loss of one is the loss of the next.
    private func packetStarts(seed: UInt64) throws -> [Duration] {
        var air = try FaultyAir(seed: seed, transport: .forward)
        air.simulation.air.recordPackets(true)
        var packets: [AirPacket] = []
        let time = air.run(within: .seconds(60)) { [phone = air.phone] simulation in
            while let packet = simulation.air.nextAirPacket() { packets.append(packet) }
            return simulation.withHost(phone) { $0.host.isNegotiated } == true
        }
        try #require(time != nil, "seed \(seed)")
        return packets.filter { $0.isReceived && $0.payloadLength > 0 }.map(\.start).sorted()
    }

    /// Runs with the air gone from one moment on.
    /// - Returns: whether the session was negotiated in the end, and how many connections that took.
    private func connect(seed: UInt64, losing start: Duration, for span: Duration) throws -> (Bool, connections: Int) {
        var air = try FaultyAir(seed: seed, transport: .forward)
        air.run(for: start)
        air.setQuality(.outOfRange)
        air.run(for: span)
        air.setQuality(.perfect)
        let time = air.runUntilPhone(within: .seconds(200)) { $0.host.isNegotiated }
        return (time != nil, air.onWatch { watch, _ in watch.connectionCount })
    }

    /// The lost packet alone: the link layers repeat it, or one end starts again.
    @Test(arguments: 1...2 as ClosedRange<UInt64>)
    func anyOnePacketMayGetLost(seed: UInt64) throws {
        let starts = try packetStarts(seed: seed)
        #expect(starts.count > 100)
        for (index, start) in starts.enumerated() {
            // Two milliseconds: no packet is longer, and every one in between is gone.
            let (isNegotiated, _) = try connect(seed: seed, losing: start, for: .milliseconds(2))
            #expect(isNegotiated, "seed \(seed): packet \(index) at \(start) lost, and no session after 200 s")
        }
    }

    /// Everything for longer than any supervision timeout: the link and its session are gone.
    @Test func theAirMayBeGoneFromAnyPacketOn() throws {
        let starts = try packetStarts(seed: 3)
        var reconnections = 0
        for (index, start) in starts.enumerated() {
            let (isNegotiated, connections) = try connect(seed: 3, losing: start, for: .seconds(12))
            #expect(isNegotiated, "packet \(index) at \(start) and all for 12 s lost, and no session after 200 s")
            if connections > 1 { reconnections += 1 }
        }
        // Most losses come after the connection was made, so that it has to be made again.
        #expect(reconnections > starts.count / 2)
    }
}
