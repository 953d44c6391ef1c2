import BluetoothHCI
import Glibc
import SeededRandomness
import SystemTestSupport
import Testing

@testable import LinuxBluetooth

/// An H4 stream that talks to `RawSocket`s.
@Suite struct H4StreamTests {
    /// Command Complete for Reset, and ACL data of five bytes.
    private static let event: [UInt8] = [0x04, 0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00]
    private static let data: [UInt8] = [0x02, 0x40, 0x20, 0x05, 0x00, 0x01, 0x00, 0x04, 0x00, 0x0A]

    private func connectedPair() throws -> (any HCIConnection, RawSocket) {
        let (listener, port) = try RawSocket.listening()
        let stream = try connect(to: .tcp(host: "127.0.0.1", port: port))
        return (stream, try listener.accepting())
    }

    @Test func putsPacketsTogetherThatComeByteByByte() throws {
        let (stream, peer) = try connectedPair()
        var packets: [[UInt8]] = []
        for byte in Self.event + Self.data + Self.event {
            try peer.write([byte])
            try #require(isReadable(stream.descriptor))
            try stream.receive { packets.append(Array($0)) }
        }
        #expect(packets == [Self.event, Self.data, Self.event])
        #expect(stream.takeGarbage() == nil)
    }

    @Test func takesManyPacketsFromOneRead() throws {
        let (stream, peer) = try connectedPair()
        let packets = (0..<500).map { number in [0x04, 0xFF, 0x02, UInt8(number & 0xFF), UInt8(number >> 8)] }
        try peer.write(packets.joined())
        var received: [[UInt8]] = []
        while received.count < packets.count {
            try #require(isReadable(stream.descriptor))
            try stream.receive { received.append(Array($0)) }
        }
        #expect(received == packets)
    }

    @Test func showsPacketsBeforeTheyAreWorkedOn() throws {
        let (stream, peer) = try connectedPair()
        let packets = (0..<500).map { number in [0x04, 0xFF, 0x02, UInt8(number & 0xFF), UInt8(number >> 8)] }
        try peer.write(packets.joined())
        var shown: [[UInt8]] = []
        var handled: [[UInt8]] = []
        var isEachShownFirst = true
        var mostAhead = 0
        while handled.count < packets.count {
            try #require(isReadable(stream.descriptor))
            try stream.receive { packet in
                shown.append(Array(packet))
            } _: { packet in
                handled.append(Array(packet))
                isEachShownFirst = isEachShownFirst && shown.count >= handled.count
                mostAhead = max(mostAhead, shown.count - handled.count)
            }
        }
        #expect(shown == packets && handled == packets)
        #expect(isEachShownFirst)
        #expect((1..<500).contains(mostAhead), "several at once, but no endless number: \(mostAhead)")
    }

    @Test func returnsWhenNothingIsThere() throws {
        let (stream, peer) = try connectedPair()
        try stream.receive { _ in Issue.record("a packet from nowhere") }
        try peer.write([0x04])
        try #require(isReadable(stream.descriptor))
        try stream.receive { _ in Issue.record("a packet of one byte") }
    }

    @Test func reportsGarbageAndGoesOn() throws {
        let (stream, peer) = try connectedPair()
        try peer.write([0xAA, 0xBB] + Self.event)
        var packets: [[UInt8]] = []
        while packets.isEmpty {
            try #require(isReadable(stream.descriptor))
            try stream.receive { packets.append(Array($0)) }
        }
        #expect(packets == [Self.event])
        let garbage = try #require(stream.takeGarbage())
        #expect(garbage.description == "skipped 2 bytes that begin no HCI packet: aabb")
        #expect(stream.takeGarbage() == nil)
    }

    /// The reader stops for so long that every buffer on the way is full; then it reads everything.
    @Test func losesNothingToAReaderThatStalls() throws {
        let (listener, port) = try RawSocket.listening(receiveBuffer: 4096)
        let stream = try connect(to: .tcp(host: "127.0.0.1", port: port))
        let peer = try listener.accepting()
        var random = SplitMix64(seed: 7)
        var expected: [UInt8] = []
        var longestQueue = 0

        func packet() -> [UInt8] {
            let length = Int.random(in: 0...1021, using: &random)
            return [0x02, 0x40, 0x20, UInt8(length & 0xFF), UInt8(length >> 8)]
                + (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
        }
        // Until neither the kernel nor the queue takes any more: what stalls is the sender.
        while stream.hasRoom {
            let packet = packet()
            stream.send(packet)
            expected += packet
            try stream.flush()
            longestQueue = max(longestQueue, stream.waitingBytes)
        }
        #expect(stream.wantsToWrite)
        // Then the reader takes a little at a time, and the sender goes on whenever it has room.
        var received: [UInt8] = []
        for _ in 0..<2_000 {
            received += try peer.read(min(997, expected.count - received.count))
            while stream.hasRoom, expected.count < 1_500_000 {
                let packet = packet()
                stream.send(packet)
                expected += packet
            }
            longestQueue = max(longestQueue, stream.waitingBytes)
            try stream.flush()
        }
        while received.count < expected.count {
            try stream.flush()
            received += try peer.read(min(32_768, expected.count - received.count))
        }
        #expect(received == expected)
        #expect(!stream.wantsToWrite)
        #expect(longestQueue >= H4Stream.outboundLimit, "the queue was never full: nothing was proven")
        #expect(longestQueue <= H4Stream.outboundLimit + 1026)
    }

    @Test func tellsAnEndBetweenPacketsFromOneInTheMiddle() throws {
        for (bytes, loss) in [
            (Self.event, ConnectionLoss.closed(unfinishedPacketBytes: 0)),
            (Self.event + Self.data.prefix(7), .closed(unfinishedPacketBytes: 7)),
        ] {
            let (listener, port) = try RawSocket.listening()
            let stream = try connect(to: .tcp(host: "127.0.0.1", port: port))
            do {
                let peer = try listener.accepting()
                try peer.write(bytes)
            }
            var packets: [[UInt8]] = []
            #expect(throws: loss) {
                while isReadable(stream.descriptor) { try stream.receive { packets.append(Array($0)) } }
            }
            #expect(packets == [Self.event], "what came before the end counts")
        }
    }

    @Test func noticesAPeerThatIsGoneWhenItSends() throws {
        let (stream, peer) = try connectedPair()
        peer.resetOnClose()
        withExtendedLifetime(peer) { _ = shutdown($0.descriptor, Int32(SHUT_RDWR)) }
        #expect(throws: ConnectionLoss.self) {
            while isWritable(stream.descriptor) {
                stream.send(Self.data)
                try stream.flush()
                // Sending to a closed socket draws a reset, which the next call sees.
                try stream.receive { _ in }
            }
        }
    }

    @Test func reportsAReset() throws {
        let (listener, port) = try RawSocket.listening()
        let stream = try connect(to: .tcp(host: "127.0.0.1", port: port))
        do { try listener.accepting().resetOnClose() }
        try #require(isReadable(stream.descriptor))
        #expect(throws: ConnectionLoss.failed(SystemError(code: ECONNRESET))) { try stream.receive { _ in } }
        #expect(ConnectionLoss.failed(SystemError(code: ECONNRESET)).description == "Connection reset by peer")
    }

    @Test func worksOverAUnixSocket() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("controller.sock")
        let listener = try RawSocket.listening(unixPath: path)
        let stream = try connect(to: .unix(path: path))
        let peer = try listener.accepting()
        stream.send(Self.data)
        try stream.flush()
        #expect(try peer.read(Self.data.count) == Self.data)
        try peer.write(Self.event)
        try #require(isReadable(stream.descriptor))
        var packets: [[UInt8]] = []
        try stream.receive { packets.append(Array($0)) }
        #expect(packets == [Self.event])
    }
}

/// Connects the way the daemon does, waiting where it polls.
func connect(to address: TransportAddress) throws -> any HCIConnection {
    let connector = try TransportConnector(to: address)
    while true {
        if let stream = try connector.proceed() { return stream }
        try #require(isWritable(try #require(connector.descriptor)))
    }
}
