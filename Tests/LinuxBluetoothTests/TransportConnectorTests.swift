import Glibc
import LinuxBluetooth
import SystemTestSupport
import Testing

@Suite struct TransportConnectorTests {
    private func error(connectingTo address: TransportAddress) throws -> TransportError {
        try #require(throws: TransportError.self) { try connect(to: address) }
    }

    @Test func saysThatNobodyListens() throws {
        // The port was free a moment ago and ephemeral ports are not handed out again at once.
        let port = try { try RawSocket.listening().port }()
        let error = try error(connectingTo: .tcp(host: "127.0.0.1", port: port))
        #expect(error.cause == .refused(SystemError(code: ECONNREFUSED)))
        #expect(error.description == "cannot reach the controller at tcp:127.0.0.1:\(port): Connection refused")
        #expect(error.advice == "nothing listens there: start the controller first, and check the port")
    }

    @Test func triesEachAddressOfAName() throws {
        // "localhost" stands for ::1 as well on most machines, where no program listens.
        let (listener, port) = try RawSocket.listening()
        let stream = try connect(to: .tcp(host: "localhost", port: port))
        _ = try listener.accepting()
        #expect(stream.descriptor >= 0)
    }

    @Test func saysThatAHostIsUnknown() throws {
        let error = try error(connectingTo: .tcp(host: "no such host", port: 1))
        guard case .unknownHost = error.cause else {
            Issue.record("\(error)")
            return
        }
        #expect(error.description.hasPrefix("cannot find the host of the controller at tcp:no such host:1: "))
    }

    @Test func givesUpOnAHostThatDoesNotAnswer() throws {
        // A listener whose queue is full does not answer: listen(2), "backlog".
        let (listener, port) = try RawSocket.listening(backlog: 0)
        var waiting: [TransportConnector] = []
        let connector = try {
            while true {
                let connector = try TransportConnector(to: .tcp(host: "127.0.0.1", port: port))
                while try connector.proceed() == nil {
                    // Loopback answers at once or not at all.
                    var request = pollfd(fd: try #require(connector.descriptor), events: Int16(POLLOUT), revents: 0)
                    if poll(&request, 1, 200) == 0 { return connector }
                }
                waiting.append(connector)
                try #require(waiting.count < 64)
            }
        }()
        #expect(try connector.proceed() == nil, "still under way")
        let error = try #require(throws: TransportError.self) { try connector.giveUpWaiting() }
        #expect(error.cause == .noAnswer)
        #expect(error.description == "the controller at tcp:127.0.0.1:\(port) does not answer")
        withExtendedLifetime(listener) {}
    }

    @Test func saysThatAPathIsNotThere() throws {
        let folder = try TemporaryFolder()
        for address in [
            TransportAddress.unix(path: folder.file("none")),
            .serial(device: folder.file("none"), try #require(BaudRate(115_200))),
        ] {
            let error = try error(connectingTo: address)
            #expect(error.cause == .refused(SystemError(code: ENOENT)))
            #expect(error.description == "cannot reach the controller at \(address): No such file or directory")
            #expect(error.advice.hasPrefix("there is no such path"))
        }
    }

    @Test func saysThatASocketIsStale() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("stale.sock")
        _ = try RawSocket.listening(unixPath: path)
        let error = try error(connectingTo: .unix(path: path))
        #expect(error.cause == .refused(SystemError(code: ECONNREFUSED)))
        #expect(error.advice == "the socket is there but nobody listens on it: start the controller again")
    }
}
