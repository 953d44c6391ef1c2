import Glibc
import LinuxBluetooth
import SystemTestSupport
import Testing

@Suite struct StreamListenerTests {
    @Test func servesSeveralHostsAtOnce() throws {
        let server = try StreamListener(loopbackPort: 0)
        #expect(try server.accept() == nil, "no client has connected yet")
        let hosts = try (0..<3).map { _ in try RawSocket.connecting(port: server.port) }
        var streams: [H4Stream] = []
        while streams.count < hosts.count {
            try #require(isReadable(server.descriptor))
            while let socket = try server.accept() { streams.append(H4Stream(guest: socket, kind: .tcpSocket)) }
        }
        // Reset, from each host in an order of its own, with a different parameter after it to tell them apart.
        for (number, host) in hosts.enumerated().reversed() {
            try host.write([0x01, 0x03, 0x0C, 0x00, 0x01, 0x01, 0xFC, 0x01, UInt8(number)])
        }
        for (number, stream) in streams.enumerated() {
            var packets: [[UInt8]] = []
            while packets.count < 2 {
                try #require(isReadable(stream.descriptor))
                try stream.receive { packets.append(Array($0)) }
            }
            #expect(packets == [[0x01, 0x03, 0x0C, 0x00], [0x01, 0x01, 0xFC, 0x01, UInt8(number)]])
            stream.send([0x04, 0x0F, 0x01, UInt8(number)])
            try stream.flush()
        }
        for (number, host) in hosts.enumerated() {
            #expect(try host.read(4) == [0x04, 0x0F, 0x01, UInt8(number)])
        }
    }

    @Test func saysThatAPortIsTaken() throws {
        let (other, port) = try RawSocket.listening()
        let error = try #require(throws: StreamListener.PortError.self) { _ = try StreamListener(loopbackPort: port) }
        #expect(error.description == "cannot listen on port \(port) of 127.0.0.1: Address already in use")
        #expect(error.advice == "another program has it: end that one, choose another port, or 0 for any that is free")
        withExtendedLifetime(other) {}
    }

    @Test func canListenAgainAtOnceOnThePortItHad() throws {
        let port: UInt16
        do {
            let server = try StreamListener(loopbackPort: 0)
            port = server.port
            let host = try RawSocket.connecting(port: port)
            try #require(isReadable(server.descriptor))
            // The server closes first: its end of the connection stays in TIME_WAIT.
            let accepted = try server.accept() != nil
            #expect(accepted)
            withExtendedLifetime(host) {}
        }
        #expect(try StreamListener(loopbackPort: port).port == port)
    }
}
