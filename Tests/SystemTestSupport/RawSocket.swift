import Glibc

/// Why the surroundings of a test could not be set up, or an event that had to happen did not.
public struct TestSetupError: Error, CustomStringConvertible {
    public let description: String

    public init(_ description: String) { self.description = description }
}

private func require(_ condition: Bool, _ call: String) throws(TestSetupError) {
    guard condition else { throw TestSetupError("\(call): \(String(cString: strerror(errno)))") }
}

/// The other end of a connection in tests: blocking system calls and nothing else, so that what it sees does not
/// depend on the code that is tested.
public final class RawSocket {
    public let descriptor: Int32

    public init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Listens on an ephemeral loopback port.
    /// - Parameters:
    ///   - receiveBuffer: what accepted connections buffer, for readers that stall.
    ///   - backlog: how many connections may wait to be accepted.
    public static func listening(receiveBuffer: Int32? = nil, backlog: Int32 = 8) throws -> (RawSocket, port: UInt16) {
        let listener = RawSocket(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
        if var size = receiveBuffer {
            setsockopt(listener.descriptor, SOL_SOCKET, SO_RCVBUF, &size, socklen_t(MemoryLayout<Int32>.size))
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener.descriptor, $0, length) == 0 && listen(listener.descriptor, backlog) == 0
                    && getsockname(listener.descriptor, $0, &length) == 0
            }
        }
        try require(bound, "bind")
        return (listener, UInt16(bigEndian: address.sin_port))
    }

    /// Listens on a Unix socket.
    public static func listening(unixPath: String) throws -> RawSocket {
        let listener = RawSocket(socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0))
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(unixPath.utf8)) }
        let bound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener.descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
                    && listen(listener.descriptor, 8) == 0
            }
        }
        try require(bound, "bind")
        return listener
    }

    /// Connects to a loopback port.
    public static func connecting(port: UInt16) throws -> RawSocket {
        let client = RawSocket(socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let connected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(client.descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        try require(connected, "connect")
        return client
    }

    public func accepting() throws -> RawSocket {
        let descriptor = accept(descriptor, nil, nil)
        try require(descriptor >= 0, "accept")
        return RawSocket(descriptor)
    }

    public func write(_ bytes: some Collection<UInt8>) throws {
        let bytes = Array(bytes)
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                Glibc.write(descriptor, buffer.baseAddress?.advanced(by: written), buffer.count - written)
            }
            try require(count > 0, "write")
            written += count
        }
    }

    /// Reads exactly `count` bytes, which are on their way.
    public func read(_ count: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            try require(isReadable(descriptor), "\(filled) of \(count) bytes came")
            let got = bytes.withUnsafeMutableBytes { buffer in
                Glibc.read(descriptor, buffer.baseAddress?.advanced(by: filled), count - filled)
            }
            try require(got > 0, "\(filled) of \(count) bytes came")
            filled += got
        }
        return bytes
    }

    /// Reads what has arrived; nothing at the end of the stream.
    public func readWhatIsThere() throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 65_536)
        let count = Glibc.read(descriptor, &bytes, bytes.count)
        try require(count >= 0, "read")
        return Array(bytes.prefix(count))
    }

    /// Closes so that the peer gets a reset instead of an end.
    public func resetOnClose() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }
}

/// How long a test waits for an event that has to happen, before it fails.
public let patienceMilliseconds: Int32 = 20_000

/// Waits until a descriptor has something to be read.
public func isReadable(_ descriptor: Int32) -> Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&request, 1, patienceMilliseconds) > 0
}

/// Waits until a descriptor can be written to, or has failed.
public func isWritable(_ descriptor: Int32) -> Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return poll(&request, 1, patienceMilliseconds) > 0
}
