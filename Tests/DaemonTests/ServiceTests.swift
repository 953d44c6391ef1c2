import Glibc
import SystemTestSupport
import Testing

@testable import Daemon

/// What a service manager is told.
@Suite struct ServiceTests {
    /// A datagram socket, as systemd listens on it.
    private func listener(_ name: [UInt8]) throws -> RawSocket {
        let socket = RawSocket(Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: name) }
        let length = socklen_t(2 + name.count)
        let result = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(socket.descriptor, $0, length) }
        }
        try #require(result == 0)
        return socket
    }

    private func received(by socket: RawSocket) throws -> String {
        try #require(isReadable(socket.descriptor))
        return String(decoding: try socket.readWhatIsThere(), as: UTF8.self)
    }

    @Test func aFileOrAnAbstractNameIsTold() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("notify")
        let file = try listener(Array(path.utf8))
        let manager = try #require(ServiceManager(socketPath: path, watchdogTimeout: nil))
        #expect(manager.tell("READY=1", "STATUS=here"))
        #expect(try received(by: file) == "READY=1\nSTATUS=here")

        let name = "cairn-test-\(getpid())"
        let abstract = try listener([0] + Array(name.utf8))
        let other = try #require(ServiceManager(socketPath: "@" + name, watchdogTimeout: nil))
        #expect(other.tell("WATCHDOG=1"))
        #expect(try received(by: abstract) == "WATCHDOG=1")
    }

    @Test func aManagerThatDoesNotListenIsNotWaitedFor() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("notify")
        let manager = try #require(ServiceManager(socketPath: path, watchdogTimeout: nil))
        #expect(!manager.tell("READY=1"))
        let socket = try listener(Array(path.utf8))
        // No program reads: at some point nothing more fits.
        #expect((0..<100_000).contains { _ in !manager.tell("WATCHDOG=1") })
        withExtendedLifetime(socket) {}
    }

    @Test(arguments: ["", "vsock:2:1234", "relative/path", "/" + String(repeating: "x", count: 107)])
    func whatIsNoSocketIsNoManager(path: String) {
        #expect(ServiceManager(socketPath: path, watchdogTimeout: nil) == nil)
    }

    @Test func aWatchdogWithoutTimeIsNone() throws {
        #expect(ServiceManager(socketPath: "@x", watchdogTimeout: .zero)?.watchdogTimeout == nil)
        #expect(ServiceManager(socketPath: "@x", watchdogTimeout: .seconds(1))?.watchdogTimeout == .seconds(1))
    }

    @Test func theProcessKnowsItsAge() throws {
        let ticks = Int64(sysconf(Int32(_SC_CLK_TCK)))
        let stat = "42 (a) b (c) S 1 1 1 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 \(ticks * 90) 1000 2 3"
        #expect(ProcessAge.starting(stat: stat) == .seconds(90))
        for text in ["", "42 (", "42 (x) S 1", "42 (x)" + String(repeating: " x", count: 30)] {
            #expect(ProcessAge.starting(stat: text) == nil, "\(text)")
        }
        let age = try #require(ProcessAge.now)
        #expect(age >= .zero && age < .seconds(3600))
    }

    @Test func theJournalIsKnownByItsStream() throws {
        var status = stat()
        try #require(fstat(STDERR_FILENO, &status) == 0)
        #expect(Journal.isStream("\(status.st_dev):\(status.st_ino)", STDERR_FILENO))
        #expect(!Journal.isStream("\(status.st_dev):\(status.st_ino + 1)", STDERR_FILENO))
        for text in ["", ":", "1", "a:b", "1:2:3"] { #expect(!Journal.isStream(text, STDERR_FILENO), "\(text)") }
    }
}
