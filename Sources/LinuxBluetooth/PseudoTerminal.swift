import CLinux
import Glibc

/// A pseudoterminal: a serial port whose other end is this process.
public struct PseudoTerminal: ~Copyable {
    private let file: FileDescriptor
    /// The device that others open.
    public let path: String

    /// Makes one, in raw mode: bytes pass as they are.
    public init() throws(SystemError) {
        let file = try FileDescriptor.checking(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC))
        guard grantpt(file.number) == 0, unlockpt(file.number) == 0 else { throw .last }
        guard fcntl(file.number, F_SETFL, O_NONBLOCK) == 0 else { throw .last }
        var name = [CChar](repeating: 0, count: 128)
        let status = ptsname_r(file.number, &name, name.count)
        guard status == 0 else { throw SystemError(code: status) }
        let path = String(decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        // Opened and closed once: from then on the kernel can tell whether a program has it open.
        let port = try FileDescriptor.checking(open(path, O_RDWR | O_NOCTTY | O_CLOEXEC))
        // The system lets the group “tty” write to terminals: to this one only its owner may.
        guard fchmod(port.number, 0o600) == 0 else { throw .last }
        var settings = termios()
        guard tcgetattr(port.number, &settings) == 0 else { throw .last }
        cfmakeraw(&settings)
        guard tcsetattr(port.number, TCSANOW, &settings) == 0 else { throw .last }
        self.path = path
        self.file = file
    }

    /// This process's end, non-blocking.
    public consuming func takeDescriptor() -> FileDescriptor { file }

    /// Whether a program has the device open that belongs to an end.
    public static func isOpenedByPeer(_ descriptor: Int32) -> Bool {
        var request = pollfd(fd: descriptor, events: 0, revents: 0)
        return poll(&request, 1, 0) == 0 || request.revents & Int16(POLLHUP) == 0
    }
}
