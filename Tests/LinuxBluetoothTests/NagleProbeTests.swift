import Glibc
import SystemTestSupport
import Testing

@testable import LinuxBluetooth

/// A stream learns of real sockets whether their other end waits for acknowledgements.
@Suite struct NagleProbeTests {
    /// - Parameter waits: whether the other end sends by Nagle's algorithm, as the kernel does unless it is told otherwise.
    private func pair(waits: Bool) throws -> (ByteStream, RawSocket) {
        let (listener, port) = try RawSocket.listening()
        let peer = try RawSocket.connecting(port: port)
        var isPrompt: Int32 = waits ? 0 : 1
        setsockopt(peer.descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isPrompt, socklen_t(MemoryLayout<Int32>.size))
        let guest = try listener.accepting()
        let accepted = withExtendedLifetime(guest) { FileDescriptor(owning: dup(guest.descriptor)) }
        try ByteStream.prepare(tcp: accepted)
        try #require(fcntl(accepted.number, F_SETFL, O_NONBLOCK) == 0)
        return (ByteStream(owning: accepted, kind: .tcpSocket, outboundLimit: 4096), peer)
    }

    /// The stream says something, and the other end answers in two writes, which it does not wait between.
    private func converse(_ stream: ByteStream, _ peer: RawSocket) throws {
        stream.send([1])
        try stream.flush()
        _ = try peer.read(1)
        var count = 0
        for byte: UInt8 in [2, 3] {
            try peer.write([byte])
            // In the first turn, so that the two are not read at once.
            if byte == 2 { try take(from: stream, &count) }
        }
        // A loop whose input rests looks without being told that there is something. If the other end waits, it looks in vain.
        try stream.receive { count += $0.count }
        while count < 2 { try take(from: stream, &count) }
    }

    private func take(from stream: ByteStream, _ count: inout Int) throws {
        try #require(isReadable(stream.descriptor))
        try stream.receive { count += $0.count }
        try stream.flush()
    }

    @Test func aPeerThatSendsAtOnceIsFoundOut() throws {
        let (stream, peer) = try pair(waits: false)
        var rounds = 0
        while !stream.isPeerPrompt, rounds < NagleProbe.attemptLimit {
            try converse(stream, peer)
            rounds += 1
        }
        #expect(stream.isPeerPrompt)
    }

    @Test func aPeerThatWaitsIsNeverTakenForOneThatDoesNot() throws {
        let (stream, peer) = try pair(waits: true)
        for _ in 0..<(2 * NagleProbe.attemptLimit) { try converse(stream, peer) }
        #expect(!stream.isPeerPrompt)
    }

    @Test func largeReadsProveNothing() throws {
        let (stream, peer) = try pair(waits: false)
        let answer = [UInt8](repeating: 0, count: NagleProbe.smallCount)
        for _ in 0..<NagleProbe.attemptLimit {
            stream.send([1])
            try stream.flush()
            _ = try peer.read(1)
            for _ in 0..<2 {
                try peer.write(answer)
                var count = 0
                while count < answer.count { try take(from: stream, &count) }
            }
        }
        #expect(!stream.isPeerPrompt)
    }
}
