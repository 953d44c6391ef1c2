import Glibc

/// Owns an open file descriptor and closes it when it goes away.
public struct FileDescriptor: ~Copyable, Sendable {
    /// The number, for system calls. It is valid as long as this value lives.
    public let number: Int32

    /// Takes ownership of an open descriptor.
    public init(owning number: Int32) { self.number = number }

    deinit { close(number) }

    /// Turns the result of a system call that returns a descriptor into an owned one.
    static func checking(_ result: Int32) throws(SystemError) -> FileDescriptor {
        guard result >= 0 else { throw .last }
        return FileDescriptor(owning: result)
    }
}

extension FileDescriptor {
    /// Sets an integer socket option.
    func setOption(level: Int32, name: Int32, to value: Int32) throws(SystemError) {
        var value = value
        guard setsockopt(number, level, name, &value, socklen_t(MemoryLayout<Int32>.size)) == 0 else { throw .last }
    }

    /// The error that an asynchronous operation on a socket ended with, nil for none.
    func pendingError() -> SystemError? {
        var code: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        guard getsockopt(number, SOL_SOCKET, SO_ERROR, &code, &size) == 0 else { return .last }
        return code == 0 ? nil : SystemError(code: code)
    }
}

extension FileDescriptor {
    /// Opens a non-blocking socket that no child process inherits.
    static func socket(_ family: Int32, protocol number: Int32 = 0) throws(SystemError) -> FileDescriptor {
        let kind = Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue) | Int32(SOCK_CLOEXEC.rawValue)
        return try checking(Glibc.socket(family, kind, number))
    }
}

extension FileDescriptor {
    /// Bytes that wait to be read on a socket, at most `count`, which stay there; none if there are none.
    public func peek(_ count: Int) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        while true {
            let found = bytes.withUnsafeMutableBytes {
                recv(number, $0.baseAddress, $0.count, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
            }
            if found >= 0 { return Array(bytes.prefix(found)) }
            if !SystemError.last.isInterrupted { return [] }
        }
    }

    /// Makes a TCP socket readable only when `count` bytes have arrived, or the end of the stream (tcp(7), SO_RCVLOWAT).
    public func wakeReader(at count: Int) {
        try? setOption(level: SOL_SOCKET, name: SO_RCVLOWAT, to: Int32(clamping: count))
    }
}
