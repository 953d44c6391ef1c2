import Glibc

/// Limits of a Unix socket's name.
enum UnixSocketPath {
    /// Bytes that a path may have, without the zero that ends it.
    static let longest = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1
}

/// A place that a stream socket connects or binds to, in the kernel's own form.
struct SocketAddress: Sendable {
    private var storage: sockaddr_storage
    private var length: socklen_t

    /// The address family, such as `AF_INET`.
    var family: Int32 { Int32(storage.ss_family) }

    /// The name of a Unix socket.
    init(unixPath path: String) {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { field in
            for (offset, byte) in path.utf8.prefix(UnixSocketPath.longest).enumerated() { field[offset] = byte }
        }
        self.init(copying: address)
    }

    /// A TCP port of this machine alone, IPv4.
    init(loopbackPort port: UInt16) {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = INADDR_LOOPBACK.bigEndian
        self.init(copying: address)
    }

    private init<Address>(copying address: Address) {
        storage = sockaddr_storage()
        length = socklen_t(MemoryLayout<Address>.size)
        withUnsafeMutableBytes(of: &storage) { target in
            withUnsafeBytes(of: address) { target.copyMemory(from: $0) }
        }
    }

    private init(copying address: UnsafePointer<sockaddr>, length: socklen_t) {
        storage = sockaddr_storage()
        self.length = length
        withUnsafeMutableBytes(of: &storage) { target in
            target.copyMemory(from: UnsafeRawBufferPointer(start: address, count: min(Int(length), target.count)))
        }
    }

    /// Begins to connect a non-blocking socket.
    /// - Returns: nil when it is connected or on its way, else why not.
    func connect(_ descriptor: borrowing FileDescriptor) -> SystemError? {
        let result = withPointer { Glibc.connect(descriptor.number, $0, $1) }
        guard result != 0 else { return nil }
        let error = SystemError.last
        return error.code == EINPROGRESS || error.isInterrupted ? nil : error
    }

    /// Gives a socket this address.
    func bind(_ descriptor: borrowing FileDescriptor) throws(SystemError) {
        guard withPointer({ Glibc.bind(descriptor.number, $0, $1) }) == 0 else { throw .last }
    }

    private func withPointer<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        withUnsafePointer(to: storage) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, length) }
        }
    }

    /// Every TCP address that a host name stands for, in the order in which to try them. Asks the resolver, which
    /// may take a while for a name and takes none for a numeric address.
    static func resolve(host: String, port: UInt16) throws(NameResolutionError) -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_flags = AI_NUMERICSERV | AI_ADDRCONFIG
        var list: UnsafeMutablePointer<addrinfo>?
        var status = getaddrinfo(host, String(port), &hints, &list)
        if status != 0 {
            // A machine whose only interface is the loopback has no "configured" address family.
            hints.ai_flags = AI_NUMERICSERV
            status = getaddrinfo(host, String(port), &hints, &list)
        }
        guard status == 0 else { throw NameResolutionError(status: status) }
        defer { freeaddrinfo(list) }
        var found: [SocketAddress] = []
        var next = list
        while let entry = next {
            if let address = entry.pointee.ai_addr {
                found.append(SocketAddress(copying: address, length: entry.pointee.ai_addrlen))
            }
            next = entry.pointee.ai_next
        }
        return found
    }
}

/// Why a host name stands for no address.
public struct NameResolutionError: Error, Hashable, Sendable, CustomStringConvertible {
    let status: Int32

    public var description: String {
        guard let text = gai_strerror(status) else { return "error \(status)" }
        return String(cString: text)
    }
}
