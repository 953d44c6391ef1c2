import AirSimulator
import BluetoothHCI
import BluetoothHost
import ByteCoding
import PebbleWatch
import Testing

/// The link policy inside the firmware: the commands and signaling that leave, byte for byte, and the order in which a
/// controller sees them.
@Suite struct LinkTests {
    private static let seed: UInt64 = 0x11A4

    /// What the watch sends to its controller from the connection on.
    private final class Sent {
        var packets: [(time: Duration, bytes: [UInt8])] = []

        /// When the first packet went out that begins like this, in hexadecimal.
        func time(of prefix: String) -> Duration? {
            let wanted = [UInt8](hexadecimal: prefix) ?? []
            return packets.first { $0.bytes.starts(with: wanted) }?.time
        }

        func packets(with opcode: String) -> [String] {
            packets.map(\.bytes.hexadecimal).filter { $0.hasPrefix("01" + opcode) }
        }
    }

    private struct Outcome {
        let connectedAt: Duration
        let sent: Sent
        let events: [WatchEvent]
    }

    /// A watch on a plain link with a phone of some controller, for some time.
    private func connect(
        to controller: ControllerConfiguration,
        profile: LinkProfile = .pebble,
        for time: Duration = .seconds(20)
    ) throws -> Outcome {
        var configuration = WatchConfiguration(identity: WatchIdentity(address: RigWatch.address))
        configuration.linkSecurity = .insecureTestLink
        configuration.link = profile
        var pair = RigPair(
            seed: Self.seed,
            watch: try RigWatch(configuration, seed: Self.seed),
            phone: RigPhone(address: 0xA1, seed: Self.seed),
            phoneController: controller
        )
        pair.run(for: .seconds(1))
        let sent = Sent()
        pair.simulation.observer = { [watch = pair.watch] packet in
            guard packet.controller == watch.controller, packet.isFromHost else { return }
            sent.packets.append((packet.time, Array(packet.bytes)))
        }
        pair.onPhone { phone, _ in phone.connect(to: RigWatch.address) }
        let isConnected = pair.runUntilWatch(within: .seconds(20)) { watch in
            watch.events.contains { if case .connected = $0 { true } else { false } }
        }
        try #require(isConnected != nil, "the phone did not connect")
        let connectedAt = pair.now
        pair.run(for: time)
        return Outcome(connectedAt: connectedAt, sent: sent, events: pair.onWatch { watch, _ in watch.events })
    }

    private func links(_ events: [WatchEvent]) -> [LinkEvent] {
        events.compactMap { if case .link(_, let event) = $0 { event } else { nil } }
    }

    @Test func longPacketsThenMTUAnd2MThenParameters() throws {
        let outcome = try connect(to: .modern)
        let sent = outcome.sent
        // LE Set Data Length: 251 bytes in 17040 us; LE Set PHY: 2M both ways; Exchange MTU Request: 517.
        #expect(sent.packets(with: "2220").allSatisfy { $0.hasSuffix("fb009042") }, "\(sent.packets(with: "2220"))")
        #expect(sent.packets(with: "3220").allSatisfy { $0.hasSuffix("0002020000") }, "\(sent.packets(with: "3220"))")
        let events = links(outcome.events)
        let length = try #require(events.firstIndex { if case .dataLength = $0 { true } else { false } })
        let radio = try #require(events.firstIndex(of: .phys(LinkPHYs(transmit: .le2M, receive: .le2M))))
        #expect(length < radio)
        let mtu = try #require(
            sent.packets.firstIndex { $0.bytes.dropFirst(5).starts(with: [0x03, 0x00, 0x04, 0x00, 0x02, 0x05, 0x02]) },
            "no Exchange MTU Request for 517"
        )
        let phy = try #require(sent.packets.firstIndex { $0.bytes.starts(with: [0x01, 0x32, 0x20]) })
        #expect(phy <= mtu, "the MTU waits until packets are long, and so for no less than the radio")
        // The link is fast while the watch looks for services: LE Connection Update, 15 ms, latency 0, 6 s.
        let updates = sent.packets(with: "1320")
        #expect(updates.first?.dropFirst(4 * 2 + 4) == "0c000c000000580200000000", "\(updates)")
        let first = try #require(sent.time(of: "011320"))
        #expect(first - outcome.connectedAt == .seconds(1))
        // Ten seconds after the search it is slow again: 30 to 45 ms, latency 3.
        #expect(updates.last?.dropFirst(4 * 2 + 4) == "180024000300580200000000", "\(updates)")
        guard case .parameters(let interval, 3, let timeout, .none)? = events.last else {
            Issue.record("the link did not become slow again: \(events)")
            return
        }
        #expect((30...45).contains(interval.duration / .milliseconds(1)))
        #expect(timeout.duration == .seconds(6))
    }

    /// A phone that writes that it manages the parameters, as libpebble3 does, is sent no request; what it reads
    /// and hears is how the link is.
    @Test func aPhoneManages() throws {
        var configuration = WatchConfiguration(identity: WatchIdentity(address: RigWatch.address))
        configuration.offersConnectionParameters = true
        var pair = RigPair(
            seed: Self.seed,
            watch: try RigWatch(configuration, seed: Self.seed),
            phone: RigPhone(address: 0xA2, seed: Self.seed)
        )
        pair.run(for: .seconds(1))
        pair.onPhone { phone, _ in phone.connect(to: RigWatch.address) }
        pair.run(for: .milliseconds(500))
        func perform(_ procedure: GATTProcedure) throws {
            try pair.onPhone { phone, now in try phone.perform(procedure, at: now) }
            pair.run(for: .milliseconds(200))
        }
        let uuid = BluetoothUUID.uuid128(0x0000_0005_328E_0FBB_C642_1AA6_699B_DADA)
        try perform(.readByUUID(uuid))
        guard case .values(let values)? = pair.onPhone({ phone, _ in phone.responses.last }) else {
            Issue.record("the characteristic cannot be read")
            return
        }
        let value = try #require(values.first)
        // Long packets, 30 ms, latency 0, 2 s: as the phone connected.
        #expect(Array(value.value).hexadecimal == "01" + "1800" + "0000" + "c800")
        try perform(.write(value.handle, [0x00, 0x01]))
        pair.run(for: .seconds(20))
        let events = links(pair.onWatch { watch, _ in watch.events })
        #expect(events.contains(.phoneManages(true)))
        #expect(!events.contains { if case .requested = $0 { true } else { false } }, "\(events)")
        try perform(.write(value.handle, [0x00, 0x00]))
        try perform(.write(value.handle, [0x01, 0x02]))
        pair.run(for: .seconds(1))
        let later = links(pair.onWatch { watch, _ in watch.events })
        #expect(later.contains(.responseTime(.fast, for: [.phone])))
        try perform(.write(value.handle, [0x01, 0x03]))
        guard case .refused(let response)? = pair.onPhone({ phone, _ in phone.failures.last }) else {
            Issue.record("a response time that does not exist was not refused")
            return
        }
        #expect(response.error == ATTError(rawValue: 0x81))
    }

    /// A phone of 2012 is asked by signaling: Connection Parameter Update Request, all in one frame.
    @Test func anOldPhoneIsAskedBySignaling() throws {
        var old = ControllerConfiguration.legacy
        old.features.remove(.connectionParametersRequest)
        let outcome = try connect(to: old, profile: .apple2012, for: .seconds(15))
        let requests = outcome.sent.packets.filter { $0.bytes.count == 21 && $0.bytes[9] == 0x12 }
        let request = try #require(requests.first, "no request went out")
        // 30 ms is fast enough for these rules while the watch looks for services; then 30 to 50 ms, latency 3, 6 s.
        #expect(request.bytes.dropFirst(5).hexadecimal == "0c00050012010800" + "1800280003005802")
        #expect(requests.count == 1)
        #expect(links(outcome.events).contains { if case .parameters(_, 3, _, _) = $0 { true } else { false } })
        #expect(outcome.sent.packets(with: "1320").isEmpty && outcome.sent.packets(with: "3220").isEmpty)
    }
}
