import Glibc
import HCIRuntime
import LinuxBluetooth

/// The program that started this one as a service, and wants to know how it is doing: systemd, or another that speaks its
/// protocol.
///
/// Source: sd_notify(3), sd_watchdog_enabled(3).
public final class ServiceManager {
    private let socket: FileDescriptor
    private let address: [UInt8]
    /// How often it wants to hear that the process is not stuck; nil for never.
    public let watchdogTimeout: Duration?

    /// The service manager that the environment names; nil if there is none.
    public convenience init?() {
        func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
        guard let path = variable("NOTIFY_SOCKET") else { return nil }
        // The watchdog may be meant for another process that this one descends from.
        let isOurs = variable("WATCHDOG_PID").map { Int32($0) == getpid() } ?? true
        let timeout = isOurs ? variable("WATCHDOG_USEC").flatMap(Int64.init) : nil
        self.init(socketPath: path, watchdogTimeout: timeout.map { .microseconds($0) })
    }

    /// - Parameter socketPath: a file, or “@” and an abstract name.
    init?(socketPath path: String, watchdogTimeout: Duration?) {
        let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        socket = FileDescriptor(owning: descriptor)
        var name = Array(path.utf8)
        guard let first = name.first, name.count < MemoryLayout.size(ofValue: sockaddr_un().sun_path) else {
            return nil
        }
        switch first {
        case UInt8(ascii: "/"): break
        case UInt8(ascii: "@"): name[0] = 0
        // systemd also names sockets of virtual machines' hosts, which a board has none of.
        default: return nil
        }
        address = name
        self.watchdogTimeout = watchdogTimeout.flatMap { $0 > .zero ? $0 : nil }
    }

    /// Tells it something, such as `READY=1`; several lines are several variables.
    /// - Returns: whether it was told. A manager that does not listen is not waited for.
    @discardableResult
    public func tell(_ lines: String...) -> Bool {
        let text = Array(lines.joined(separator: "\n").utf8)
        var target = sockaddr_un()
        target.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &target.sun_path) { $0.copyBytes(from: address) }
        // An abstract name ends where the address ends, without a zero.
        let offset = MemoryLayout<sockaddr_un>.offset(of: \sockaddr_un.sun_path) ?? 0
        let length = socklen_t(offset + address.count)
        return withUnsafePointer(to: &target) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                sendto(socket.number, text, text.count, Int32(MSG_DONTWAIT) | Int32(MSG_NOSIGNAL), $0, length)
            }
        } == text.count
    }
}
