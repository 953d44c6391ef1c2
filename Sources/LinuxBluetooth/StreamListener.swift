import CLinux
import Glibc

/// Listens for stream connections: on a TCP port of this machine alone, or on a Unix socket.
public struct StreamListener: ~Copyable, Sendable {
    /// Why a port cannot be listened on.
    public struct PortError: Error, Hashable, Sendable, CustomStringConvertible {
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

    /// How many connections wait in the kernel until they are taken.
    private static let backlog: Int32 = 128
    /// How much the kernel keeps of what a connection sends before it is read: others may connect and send as they like.
    private static let receiveBuffer: Int32 = 256 * 1024

    private let socket: FileDescriptor
    /// The TCP port that it listens on: the one asked for, or the one that the kernel chose for 0. 0 for a Unix socket.
    public let port: UInt16

    /// Listens on a TCP port of 127.0.0.1; 0 lets the kernel choose a free one.
    public init(loopbackPort port: UInt16) throws(PortError) {
        do throws(SystemError) {
            let socket = try FileDescriptor.socket(AF_INET)
            // A port whose last connections are still in TIME_WAIT is free for us.
            try socket.setOption(level: SOL_SOCKET, name: SO_REUSEADDR, to: 1)
            // Every connection inherits it.
            try socket.setOption(level: SOL_SOCKET, name: SO_RCVBUF, to: Self.receiveBuffer)
            try SocketAddress(loopbackPort: port).bind(socket)
            guard listen(socket.number, Self.backlog) == 0 else { throw SystemError.last }
            self.port = try Self.boundPort(of: socket)
            self.socket = socket
        } catch {
            throw PortError(port: port, cause: error)
        }
    }

    /// Listens on a Unix socket that only this user, and its group if asked for, can connect to. The path must be free.
    public init(unixPath path: String, forGroup: Bool = false) throws(SystemError) {
        guard path.utf8.count <= UnixSocketPath.longest else { throw SystemError(code: ENAMETOOLONG) }
        let socket = try FileDescriptor.socket(AF_UNIX)
        // On Linux the socket's own mode becomes the file's, so that it never exists with wider permissions, less what the
        // process's umask takes away.
        let mode: mode_t = forGroup ? 0o660 : 0o600
        guard fchmod(socket.number, mode) == 0 else { throw .last }
        try SocketAddress(unixPath: path).bind(socket)
        guard fchmodat(AT_FDCWD, path, mode, 0) == 0 else { throw .last }
        guard listen(socket.number, Self.backlog) == 0 else { throw .last }
        self.port = 0
        self.socket = socket
    }

    /// What to poll for reading.
    public var descriptor: Int32 { socket.number }

    /// Takes the next waiting connection, non-blocking; nil if none is waiting.
    public func accept() throws(SystemError) -> FileDescriptor? {
        while true {
            let flags = Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
            do throws(SystemError) {
                return try .checking(accept4(socket.number, nil, nil, flags))
            } catch {
                if error.isWouldBlock { return nil }
                // A connection that died in the queue is no failure of the listener: accept(2), "Error handling".
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
