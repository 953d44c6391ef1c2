import CLinux
import Glibc

/// A connection to a Unix socket for a program that has nothing else to do: its calls wait.
public struct UnixConnection: ~Copyable, Sendable {
    private let file: FileDescriptor

    /// Connects.
    public init(path: String) throws(SystemError) {
        guard path.utf8.count <= UnixSocketPath.longest else { throw SystemError(code: ENAMETOOLONG) }
        let socket = try FileDescriptor.checking(
            Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        )
        if let error = SocketAddress(unixPath: path).connect(socket) { throw error }
        file = socket
    }

    /// The user that the other side ran as when it began to listen; nil if the kernel does not say.
    ///
    /// Source: unix(7), SO_PEERCRED: process, user and group, 32 bits each.
    public var peerUser: uid_t? {
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 3) { values in
            values.initialize(repeating: 0)
            let size = socklen_t(values.count * MemoryLayout<UInt32>.size)
            var length = size
            guard getsockopt(file.number, SOL_SOCKET, SO_PEERCRED, values.baseAddress, &length) == 0, length == size
            else {
                return nil
            }
            return values[1]
        }
    }

    /// Sends all of the bytes.
    public func write(_ bytes: [UInt8]) throws(SystemError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes {
                Glibc.send(file.number, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if !SystemError.last.isInterrupted {
                throw .last
            }
        }
    }

    /// Waits for bytes; none at the end of the stream.
    /// - Parameter patience: how long to wait; nil for as long as it takes.
    public func read(patience: Duration? = nil) throws(SystemError) -> [UInt8] {
        var request = pollfd(fd: file.number, events: Int16(POLLIN), revents: 0)
        let milliseconds = patience.map { Int32(clamping: Int64($0 / .milliseconds(1))) } ?? -1
        while true {
            let ready = poll(&request, 1, milliseconds)
            if ready == 0 { throw SystemError(code: ETIMEDOUT) }
            if ready < 0, !SystemError.last.isInterrupted { throw .last }
            guard ready > 0 else { continue }
            var bytes = [UInt8](repeating: 0, count: 65_536)
            let count = bytes.withUnsafeMutableBytes { Glibc.read(file.number, $0.baseAddress, $0.count) }
            if count >= 0 { return Array(bytes.prefix(count)) }
            if !SystemError.last.isInterrupted { throw .last }
        }
    }
}
