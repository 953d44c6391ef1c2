import Glibc
import SystemTestSupport
import Testing

@testable import LinuxBluetooth

@Suite struct TCPSocketTableTests {
    private static let heading =
        "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n"
    /// 127.0.0.1 and 127.0.0.5, as this machine reads them from memory.
    private static let own = TCPSocketTable.Endpoint(address: UInt32(0x7F00_0001).bigEndian, port: 12344)
    private static let peer = TCPSocketTable.Endpoint(address: UInt32(0x7F00_0005).bigEndian, port: 40_000)

    private func word(_ endpoint: TCPSocketTable.Endpoint) -> String {
        func padded(_ number: some BinaryInteger, _ width: Int) -> String {
            let digits = String(number, radix: 16, uppercase: true)
            return String(repeating: "0", count: width - digits.count) + digits
        }
        return "\(padded(endpoint.address, 8)):\(padded(endpoint.port, 4))"
    }

    private func row(_ local: String, _ remote: String, user: Int, inode: Int, state: String = "01") -> String {
        "   1: \(local) \(remote) \(state) 00000000:00000000 00:00000000 00000000  \(user)        0 \(inode) 1 0 20 4 30 10 -1\n"
    }

    @Test func findsTheOtherEnd() {
        let text =
            Self.heading + row(word(Self.own), word(Self.peer), user: 7, inode: 8)
            + row(word(Self.peer), word(Self.own), user: 1000, inode: 9)
        let table = TCPSocketTable([text], connectedTo: Self.own.port)
        #expect(table.owner(of: Self.peer, connectedTo: Self.own) == 1000)
        #expect(table.owner(of: Self.own, connectedTo: Self.peer) == nil, "only the port's connections are kept")
        #expect(table.rowCount == 2)
    }

    /// What its process has closed is shown with user 0 and no inode: it is not root's.
    @Test func aSocketThatIsClosedIsNobodys() {
        let text = Self.heading + row(word(Self.peer), word(Self.own), user: 0, inode: 0, state: "06")
        #expect(TCPSocketTable([text], connectedTo: Self.own.port).owner(of: Self.peer, connectedTo: Self.own) == nil)
    }

    /// A program may connect to an IPv4 address with an IPv6 socket, as those in Java do.
    @Test func findsMappedAddresses() {
        let prefix = "0000000000000000" + (UInt32(1).bigEndian == 1 ? "0000FFFF" : "FFFF0000")
        let text = Self.heading + row(prefix + word(Self.peer), prefix + word(Self.own), user: 1000, inode: 9)
        let table = TCPSocketTable([Self.heading, text], connectedTo: Self.own.port)
        #expect(table.owner(of: Self.peer, connectedTo: Self.own) == 1000)
    }

    @Test(arguments: [
        "", "\n\n", "heading\n   1: x y z", "heading\n 1 :3038 :3038 01 0 0 0 -4 0 9 1\n", "heading\n\u{0}\u{1}",
    ])
    func nonsenseHasNoOwners(text: String) {
        #expect(TCPSocketTable([text], connectedTo: Self.own.port).owner(of: Self.peer, connectedTo: Self.own) == nil)
    }

    @Test func theKernelKnowsThisProcess() throws {
        let listener = try StreamListener(loopbackPort: 0)
        let peer = try RawSocket.connecting(port: listener.port)
        try #require(isReadable(listener.descriptor))
        let accepted = try listener.accept()
        switch accepted {
        case .some(let socket):
            guard let ends = socket.tcpEndpoints else { throw TestSetupError("it has no ends") }
            let table = try TCPSocketTable(connectedTo: listener.port)
            #expect(table.owner(of: ends.peer, connectedTo: ends.own) == geteuid())
        case nil: throw TestSetupError("nobody came")
        }
        withExtendedLifetime(peer) {}
    }

    @Test func aMachineWithoutAListSaysSo() throws {
        #expect(throws: SystemError(code: ENOENT)) { _ = try TCPSocketTable(connectedTo: 1, paths: ["/nowhere/tcp"]) }
        #expect(try TCPSocketTable(connectedTo: 1, paths: ["/dev/null", "/nowhere/tcp6"]).rowCount == 0)
    }
}
