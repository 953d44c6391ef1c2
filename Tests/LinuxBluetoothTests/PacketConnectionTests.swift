import Glibc
import SystemTestSupport
import Testing

@testable import LinuxBluetooth

/// Packets through descriptors that keep them apart.
@Suite struct PacketConnectionTests {
    /// Command Complete for Reset, and ACL data of five bytes.
    private static let event: [UInt8] = [0x04, 0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00]
    private static let data: [UInt8] = [0x02, 0x40, 0x20, 0x05, 0x00, 0x01, 0x00, 0x04, 0x00, 0x0A]

    private func pair(_ kind: PacketConnection.Kind = .userChannel) throws -> (PacketConnection, RawSocket) {
        let (descriptor, peer) = try RawSocket.packetPair()
        return (PacketConnection(owning: FileDescriptor(owning: descriptor), kind: kind), peer)
    }

    @Test func takesEachPacketByItself() throws {
        let (connection, peer) = try pair()
        try connection.receive { _ in Issue.record("a packet from nowhere") }
        try peer.write(Self.event)
        try peer.write(Self.data)
        var packets: [[UInt8]] = []
        try connection.receive { packets.append(Array($0)) }
        #expect(packets == [Self.event, Self.data])
        #expect(connection.takeGarbage() == nil)
    }

    @Test func emptiesTheKernelsBufferWhileItWorks() throws {
        let (connection, peer) = try pair()
        // A peer that sends more while the first packets are handled, as when a handler is slow.
        for number in 0..<64 { try peer.write([0x04, 0xFF, 0x01, UInt8(number)]) }
        var numbers: [UInt8] = []
        try connection.receive { packet in
            if numbers.count == 8 { try? peer.write([0x04, 0xFF, 0x01, 64]) }
            numbers.append(packet.last ?? 0)
        }
        #expect(numbers == Array(0...64), "what arrived in that time was taken in the same turn")
    }

    @Test func showsPacketsBeforeTheyAreWorkedOn() throws {
        let (connection, peer) = try pair()
        for number in 0..<3 { try peer.write([0x04, 0xFF, 0x01, UInt8(number)]) }
        try peer.write([0xFF, 0x00])
        var story: [String] = []
        try connection.receive { packet in
            story.append("shown \(packet.last ?? 0)")
        } _: { packet in
            story.append("handled \(packet.last ?? 0)")
        }
        #expect(story == ["shown 0", "shown 1", "shown 2", "handled 0", "handled 1", "handled 2"])
    }

    @Test func goesOnAfterAFairShare() throws {
        let (connection, peer) = try pair()
        var sent = 0
        var received = 0
        var longestTurn = 0
        // A writer that never stops as long as there is room.
        _ = fcntl(peer.descriptor, F_SETFL, O_NONBLOCK)
        while received < 3 * PacketConnection.packetsPerReceive {
            var turn = 0
            try connection.receive { _ in
                turn += 1
                while (try? peer.write(Self.event)) != nil { sent += 1 }
            }
            while (try? peer.write(Self.event)) != nil { sent += 1 }
            received += turn
            longestTurn = max(longestTurn, turn)
            #expect(connection.hasMore == (turn == PacketConnection.packetsPerReceive))
        }
        #expect(longestTurn == PacketConnection.packetsPerReceive)
        #expect(received <= sent)
    }

    @Test func keepsOutWhatIsNoHCIPacket() throws {
        let (connection, peer) = try pair()
        try peer.write([0xFF, 0x00, 0x01, 0x00])
        try peer.write(Self.event)
        var packets: [[UInt8]] = []
        try connection.receive { packets.append(Array($0)) }
        #expect(packets == [Self.event])
        #expect(connection.takeGarbage()?.description == "skipped 4 bytes that begin no HCI packet: ff000100")
    }

    @Test func writesEachPacketByItselfAndWaitsForRoom() throws {
        let (connection, peer) = try pair()
        var sent = 0
        while connection.hasRoom {
            connection.send([0x02, UInt8(sent & 0xFF), UInt8(sent >> 8)] + [UInt8](repeating: 7, count: 997))
            sent += 1
            try connection.flush()
        }
        #expect(connection.waitingBytes >= PacketConnection.outboundLimit)
        #expect(connection.waitingBytes < PacketConnection.outboundLimit + 1000)
        #expect(connection.wantsToWrite)
        for number in 0..<sent {
            let packet = try peer.readPacket()
            #expect(packet.count == 1000)
            #expect(packet.prefix(3) == [0x02, UInt8(number & 0xFF), UInt8(number >> 8)])
            try connection.flush()
        }
        #expect(connection.waitingBytes == 0)
        #expect(!connection.wantsToWrite)
    }

    @Test func noticesThatTheOtherSideIsGone() throws {
        var (connection, peer): (PacketConnection, RawSocket?) = try pair()
        try peer?.write(Self.event)
        peer = nil
        var packets: [[UInt8]] = []
        let loss = #expect(throws: ConnectionLoss.self) { try connection.receive { packets.append(Array($0)) } }
        #expect(loss == .closed(unfinishedPacketBytes: 0))
        #expect(packets == [Self.event], "what came before counts")
    }

    /// A UDP socket with a small buffer loses datagrams as a HCI socket does, and tells it in the same way.
    @Test func noticesThatTheKernelDroppedPackets() throws {
        let socket = try FileDescriptor.checking(
            Glibc.socket(AF_INET, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
        )
        try socket.setOption(level: SOL_SOCKET, name: SO_RCVBUF, to: 4096)
        try connectToItself(socket.number)
        let descriptor = socket.number
        let connection = PacketConnection(owning: socket, kind: .userChannel)
        try connection.receive { _ in Issue.record("a packet from nowhere") }
        #expect(send(descriptor, Self.event, Self.event.count, 0) == Self.event.count)
        var count = 0
        try connection.receive { _ in count += 1 }
        #expect(count == 1)

        for _ in 0..<1000 { send(descriptor, Self.event, Self.event.count, 0) }
        let loss = try #require(throws: ConnectionLoss.self) { try connection.receive { _ in count += 1 } }
        guard case .overrun(let dropped) = loss else {
            Issue.record("\(loss)")
            return
        }
        #expect((1..<1000).contains(dropped))
        #expect(count == 1, "nothing is worked on that has a gap before or in it")
        #expect("\(loss)".hasPrefix("the kernel has dropped \(dropped) packets"))
        // It is told once.
        try connection.receive { _ in }
    }

    private func connectToItself(_ descriptor: Int32) throws {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isConnected = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, length) == 0 && getsockname(descriptor, $0, &length) == 0
                    && Glibc.connect(descriptor, $0, length) == 0
            }
        }
        try #require(isConnected)
    }
}
