import CLinux
import Glibc

/// Listens on a loopback TCP port for hosts that want a controller: each connection speaks H4.
public struct H4Server: ~Copyable, Sendable {
    /// Why a port cannot be listened on.
    public struct ListenError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The port that was asked for.
        public let port: UInt16
        /// Why not.
        public let cause: SystemError

        /// Whether the reason is that this user is not allowed to.
        public var isPermission: Bool { cause.code == EACCES }

        public var description: String { "cannot listen on port \(port) of 127.0.0.1: \(cause)" }

        /// What a person can do about it.
        public var advice: String {
            switch cause.code {
            case EADDRINUSE: "another program has it: end that one, choose another port, or 0 for any that is free"
            case EACCES: "ports below 1024 are reserved: choose a higher one, or 0 for any that is free"
            default: "choose another port, or 0 for any that is free"
            }
        }
    }

    private let socket: FileDescriptor
    /// The port that it listens on: the one asked for, or the one that the kernel chose for 0.
    public let port: UInt16

    /// Starts to listen; port 0 lets the kernel choose a free one.
    public init(port: UInt16) throws(ListenError) {
        do throws(SystemError) {
            self = try H4Server(listeningOn: port)
        } catch {
            throw ListenError(port: port, cause: error)
        }
    }

    private init(listeningOn port: UInt16) throws(SystemError) {
        let socket = try FileDescriptor.socket(AF_INET)
        // A port whose last connections are still in TIME_WAIT is free for us.
        try socket.setOption(level: SOL_SOCKET, name: SO_REUSEADDR, to: 1)
        try SocketAddress(loopbackPort: port).bind(socket)
        guard listen(socket.number, SOMAXCONN) == 0 else { throw SystemError.last }
        self.port = try Self.boundPort(of: socket)
        self.socket = socket
    }

    /// What to poll for reading.
    public var descriptor: Int32 { socket.number }

    /// Takes the next waiting connection; nil if none is waiting.
    public func accept() throws(SystemError) -> H4Stream? {
        while true {
            let flags = Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
            do throws(SystemError) {
                return try H4Stream(
                    tcp: .checking(accept4(socket.number, nil, nil, flags)),
                    peer: .host
                )
            } catch {
                if error.isWouldBlock { return nil }
                // A connection that died in the queue is nobody's problem: accept(2), "Error handling".
                if error.isInterrupted || error.code == ECONNABORTED || error.code == EPROTO { continue }
                throw error
            }
        }
    }

    private static func boundPort(of socket: borrowing FileDescriptor) throws(SystemError) -> UInt16 {
        var address = sockaddr_in()
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let result = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(socket.number, $0, &length) }
        }
        guard result == 0 else { throw .last }
        return UInt16(bigEndian: address.sin_port)
    }
}
