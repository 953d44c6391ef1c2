import Glibc
import Testing

/// The other end of a connection in tests: blocking system calls and nothing else, so that what it sees does not
/// depend on the code that is tested.
final class RawSocket {
    let descriptor: Int32

    init(_ descriptor: Int32) { self.descriptor = descriptor }

    deinit { close(descriptor) }

    /// Listens on an ephemeral loopback port.
    /// - Parameters:
    ///   - receiveBuffer: what accepted connections buffer, for readers that stall.
    ///   - backlog: how many connections may wait to be accepted.
    static func listening(receiveBuffer: Int32? = nil, backlog: Int32 = 8) throws -> (RawSocket, port: UInt16) {
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
        try #require(bound)
        return (listener, UInt16(bigEndian: address.sin_port))
    }

    /// Listens on a Unix socket.
    static func listening(unixPath: String) throws -> RawSocket {
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
        try #require(bound)
        return listener
    }

    /// Connects to a loopback port.
    static func connecting(port: UInt16) throws -> RawSocket {
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
        try #require(connected)
        return client
    }

    func accepting() throws -> RawSocket {
        let descriptor = accept(descriptor, nil, nil)
        try #require(descriptor >= 0)
        return RawSocket(descriptor)
    }

    func write(_ bytes: some Collection<UInt8>) throws {
        let bytes = Array(bytes)
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                Glibc.write(descriptor, buffer.baseAddress?.advanced(by: written), buffer.count - written)
            }
            try #require(count > 0)
            written += count
        }
    }

    /// Reads exactly `count` bytes, which are on their way.
    func read(_ count: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            try #require(isReadable(descriptor), "\(filled) of \(count) bytes came")
            let got = bytes.withUnsafeMutableBytes { buffer in
                Glibc.read(descriptor, buffer.baseAddress?.advanced(by: filled), count - filled)
            }
            try #require(got > 0, "\(filled) of \(count) bytes came")
            filled += got
        }
        return bytes
    }

    /// Closes so that the peer gets a reset instead of an end.
    func resetOnClose() {
        var option = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
    }
}

/// How long a test waits for something that is bound to happen, before it fails.
let patienceMilliseconds: Int32 = 20_000

/// Waits until a descriptor has something to be read.
func isReadable(_ descriptor: Int32) -> Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return poll(&request, 1, patienceMilliseconds) > 0
}

/// Waits until a descriptor can be written to, or has failed.
func isWritable(_ descriptor: Int32) -> Bool {
    var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
    return poll(&request, 1, patienceMilliseconds) > 0
}

/// Bytes that look like nothing in particular, from a seed.
struct SplitMix64: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

/// A folder of its own for one test, gone with the value.
final class TemporaryFolder {
    let path: String
    private var names: [String] = []

    init() throws {
        var template = Array("/tmp/cairn-test-XXXXXX".utf8CString)
        path = try template.withUnsafeMutableBufferPointer { buffer in
            let name = try #require(buffer.baseAddress)
            return String(cString: try #require(mkdtemp(name)))
        }
    }

    deinit {
        for name in names { unlink("\(path)/\(name)") }
        rmdir(path)
    }

    func file(_ name: String) -> String {
        names.append(name)
        return "\(path)/\(name)"
    }
}

/// The whole content of a file.
func contents(of path: String) throws -> [UInt8] {
    let file = try #require(fopen(path, "r"))
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4096)
    while true {
        let count = fread(&chunk, 1, chunk.count, file)
        guard count > 0 else { return bytes }
        bytes += chunk.prefix(count)
    }
}
