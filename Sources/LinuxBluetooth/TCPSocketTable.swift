import Glibc

/// The TCP sockets of this machine as the kernel lists them: which user is at the other end of a connection.
///
/// A row has the columns `sl local_address rem_address st tx_queue:rx_queue tr:tm->when retrnsmt uid timeout inode` and more.
/// Addresses are in hexadecimal, each 32 bits as this machine would read them from memory. Source: proc(5), `/proc/net/tcp`.
public struct TCPSocketTable: Sendable {
    /// An IPv4 address and a port.
    public struct Endpoint: Hashable, Sendable {
        /// The address in network order, as `in_addr` has it.
        public var address: UInt32
        public var port: UInt16

        public init(address: UInt32, port: UInt16) {
            self.address = address
            self.port = port
        }
    }

    /// Where the kernel's lists are: IPv4, and IPv6, in which programs connect to IPv4 addresses too.
    public static let paths = ["/proc/self/net/tcp", "/proc/self/net/tcp6"]

    /// How much one read asks for.
    private static let readSize = 64 * 1024
    /// Columns of a row, from 0.
    private static let localColumn = 1
    private static let remoteColumn = 2
    private static let userColumn = 7
    private static let inodeColumn = 9

    private var owners: [String: uid_t] = [:]
    /// How many rows have been looked at.
    public private(set) var rowCount = 0

    /// Reads the rows of connections to a port.
    /// - Throws: if there is no list at all, which a machine without `/proc` has.
    public init(connectedTo port: UInt16, paths: [String] = paths) throws(SystemError) {
        var failure: SystemError?
        var texts: [[UInt8]] = []
        for path in paths {
            do throws(SystemError) { texts.append(try Self.contents(of: path)) } catch { failure = error }
        }
        // A kernel without IPv6 has no second list.
        if texts.isEmpty, let failure { throw failure }
        for text in texts { addRows(of: text, connectedTo: port) }
    }

    /// Takes the rows of lists that have been read.
    init(_ texts: [String], connectedTo port: UInt16) {
        for text in texts { addRows(of: Array(text.utf8), connectedTo: port) }
    }

    /// The user whose socket is at `peer` and connected to `own`; nil if no process has it open any more: the kernel shows
    /// such a socket as root's.
    public func owner(of peer: Endpoint, connectedTo own: Endpoint) -> uid_t? {
        owners["\(Self.text(peer)) \(Self.text(own))"] ?? owners["\(Self.mappedText(peer)) \(Self.mappedText(own))"]
    }

    private mutating func addRows(of text: [UInt8], connectedTo port: UInt16) {
        let wanted = Array((":" + Self.hexadecimal(UInt64(port), digits: 4)).utf8)
        for line in text.split(separator: UInt8(ascii: "\n")).dropFirst() {
            rowCount += 1
            let columns = line.split(separator: UInt8(ascii: " "), maxSplits: Self.inodeColumn + 1)
            guard columns.count > Self.inodeColumn,
                columns[Self.remoteColumn].suffix(wanted.count).elementsEqual(wanted),
                let user = uid_t(String(decoding: columns[Self.userColumn], as: UTF8.self)),
                columns[Self.inodeColumn] != [UInt8(ascii: "0")]
            else { continue }
            let local = String(decoding: columns[Self.localColumn], as: UTF8.self)
            owners["\(local) \(String(decoding: columns[Self.remoteColumn], as: UTF8.self))"] = user
        }
    }

    private static func text(_ endpoint: Endpoint) -> String {
        hexadecimal(UInt64(endpoint.address), digits: 8) + ":" + hexadecimal(UInt64(endpoint.port), digits: 4)
    }

    /// An IPv4 address as an IPv6 socket has it, `::ffff:a.b.c.d`.
    private static func mappedText(_ endpoint: Endpoint) -> String {
        hexadecimal(0, digits: 16) + hexadecimal(UInt64(UInt32(0xFFFF).bigEndian), digits: 8) + text(endpoint)
    }

    private static func hexadecimal(_ number: UInt64, digits: Int) -> String {
        let text = String(number, radix: 16, uppercase: true)
        return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }

    private static func contents(of path: String) throws(SystemError) -> [UInt8] {
        let file = try FileDescriptor.checking(open(path, O_RDONLY | O_CLOEXEC))
        var text: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: readSize)
        while true {
            let count = buffer.withUnsafeMutableBytes { read(file.number, $0.baseAddress, $0.count) }
            if count > 0 {
                text += buffer.prefix(count)
            } else if count == 0 {
                return text
            } else if !SystemError.last.isInterrupted {
                throw .last
            }
        }
    }
}

extension FileDescriptor {
    /// The two ends of an IPv4 TCP connection; nil when it has none any more.
    public var tcpEndpoints: (own: TCPSocketTable.Endpoint, peer: TCPSocketTable.Endpoint)? {
        guard let own = endpoint(getsockname), let peer = endpoint(getpeername) else { return nil }
        return (own, peer)
    }

    private func endpoint(
        _ call: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
    ) -> TCPSocketTable.Endpoint? {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { call(number, $0, &length) }
        }
        guard result == 0, Int32(address.sin_family) == AF_INET else { return nil }
        return .init(address: address.sin_addr.s_addr, port: UInt16(bigEndian: address.sin_port))
    }
}
