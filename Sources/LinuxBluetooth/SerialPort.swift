import Glibc

/// How the two ends of a serial line stop each other.
public enum SerialFlowControl: String, Hashable, Sendable {
    /// By RTS and CTS, as the UART transport layer has it.
    case hardware = "flow"
    /// Not at all, for a controller whose RTS and CTS are not wired. Bytes are lost when either side is slow.
    case none = "noflow"
}

/// Opens serial ports for the UART transport layer: 8 data bits, no parity, 1 stop bit, RTS/CTS flow control.
///
/// Source: Core 5.4, Vol 4, Part A, 3 and 4.
enum SerialPort {
    /// Opens a port for this process alone, in raw mode, with nothing of an earlier conversation left in it.
    static func open(
        device: String,
        rate: BaudRate,
        flow: SerialFlowControl = .hardware
    ) throws(TransportError.Cause) -> FileDescriptor {
        let port: FileDescriptor
        do {
            port = try .checking(Glibc.open(device, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC))
        } catch {
            throw error.code == EBUSY ? .held : .refused(error)
        }
        guard isatty(port.number) == 1 else { throw .notASerialPort }
        // TIOCEXCL keeps other users out but not root, flock keeps out every other program that asks for it.
        guard flock(port.number, LOCK_EX | LOCK_NB) == 0, ioctl(port.number, UInt(TIOCEXCL)) == 0 else { throw .held }
        try configure(port, rate: rate, flow: flow)
        return port
    }

    private static func configure(
        _ port: borrowing FileDescriptor,
        rate: BaudRate,
        flow: SerialFlowControl
    ) throws(TransportError.Cause) {
        var settings = termios()
        guard tcgetattr(port.number, &settings) == 0 else { throw .unsupportedSettings(.last) }
        cfmakeraw(&settings)
        settings.c_cflag &= ~tcflag_t(CSTOPB | PARENB)
        settings.c_cflag |= tcflag_t(CLOCAL | CREAD)
        let wantedFlow = flow == .hardware ? tcflag_t(CRTSCTS) : 0
        settings.c_cflag = settings.c_cflag & ~tcflag_t(CRTSCTS) | wantedFlow
        // A read finds at least one byte or fails with EAGAIN, so that zero bytes always mean a closed line.
        withUnsafeMutableBytes(of: &settings.c_cc) { characters in
            characters[Int(VMIN)] = 1
            characters[Int(VTIME)] = 0
        }
        guard cfsetspeed(&settings, rate.constant) == 0, tcsetattr(port.number, TCSANOW, &settings) == 0 else {
            throw .unsupportedSettings(.last)
        }
        // tcsetattr succeeds when it could do any part of what was asked (termios(3)): ask for the result.
        var actual = termios()
        guard tcgetattr(port.number, &actual) == 0 else { throw .unsupportedSettings(.last) }
        guard cfgetospeed(&actual) == rate.constant, cfgetispeed(&actual) == rate.constant,
            actual.c_cflag & tcflag_t(CRTSCTS) == wantedFlow
        else { throw .unsupportedSettings(nil) }
        tcflush(port.number, TCIOFLUSH)
    }
}
