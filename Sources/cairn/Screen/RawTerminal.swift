import Glibc
import HCIRuntime
import LinuxBluetooth

/// How large a terminal is, in characters.
struct TerminalSize: Equatable {
    var columns: Int
    var rows: Int
}

/// The terminal while a program draws on all of it and takes single keys: another screen, no cursor, no echo.
///
/// It is put back by `restore()`; at an exit from anywhere; and by the signals that end a program which is wrong. What comes from
/// the keyboard as a signal, such as Ctrl-C, is the owner's to catch.
final class RawTerminal {
    /// Clear colours, show the cursor, and back to the first screen.
    private static let leave: [UInt8] = Array("\u{1B}[0m\u{1B}[?25h\u{1B}[?1049l".utf8)
    private static let enter = "\u{1B}[?1049h\u{1B}[?25l\u{1B}[2J"
    /// Signals of a program that is wrong, and of a person who ends it at once.
    private static let lastSignals = [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGQUIT, SIGSEGV, SIGTRAP]

    /// What a signal handler needs, which may allocate nothing: set before it can run, and never changed while it can.
    nonisolated(unsafe) private static var settingsToRestore: UnsafeMutablePointer<termios>?
    nonisolated(unsafe) private static var bytesToRestore: UnsafeMutableBufferPointer<UInt8>?

    /// Changes the terminal.
    /// - Throws: if standard input is none.
    init() throws(ProgramError) {
        var settings = termios()
        guard tcgetattr(STDIN_FILENO, &settings) == 0 else { throw Self.failure(.last) }
        let kept = UnsafeMutablePointer<termios>.allocate(capacity: 1)
        kept.initialize(to: settings)
        let bytes = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: Self.leave.count)
        _ = bytes.initialize(from: Self.leave)
        Self.settingsToRestore = kept
        Self.bytesToRestore = bytes
        atexit { RawTerminal.putBack() }
        for signal in Self.lastSignals {
            Glibc.signal(signal) { number in
                RawTerminal.putBack()
                Glibc.signal(number, SIG_DFL)
                raise(number)
            }
        }
        // Stopped, the program would leave the terminal as it is now.
        Glibc.signal(SIGTSTP, SIG_IGN)
        settings.c_lflag &= ~tcflag_t(ICANON | ECHO)
        withUnsafeMutableBytes(of: &settings.c_cc) { characters in
            characters[Int(VMIN)] = 1
            characters[Int(VTIME)] = 0
        }
        guard tcsetattr(STDIN_FILENO, TCSAFLUSH, &settings) == 0 else { throw Self.failure(.last) }
        Console.write(Array(Self.enter.utf8))
    }

    private static func failure(_ error: SystemError) -> ProgramError {
        ProgramError(
            .inputOutput,
            "the terminal cannot be changed: \(error)",
            advice: "cairn screenshot writes the picture to a file"
        )
    }

    /// Puts the terminal back, once.
    func restore() { Self.putBack() }

    /// Only with calls that a signal handler may make (signal-safety(7)).
    private static func putBack() {
        guard let settings = settingsToRestore, let bytes = bytesToRestore else { return }
        settingsToRestore = nil
        _ = Glibc.write(STDOUT_FILENO, bytes.baseAddress, bytes.count)
        tcsetattr(STDIN_FILENO, TCSADRAIN, settings)
    }

    /// How large it is now; the usual size if it does not say.
    var size: TerminalSize {
        var size = winsize()
        guard ioctl(STDOUT_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0, size.ws_row > 0 else {
            return TerminalSize(columns: 80, rows: 24)
        }
        return TerminalSize(columns: Int(size.ws_col), rows: Int(size.ws_row))
    }

    /// Waits for keys or a signal.
    func wait(for signals: StopSignals, atMost time: Duration) -> (hasKeys: Bool, hasSignal: Bool) {
        var requests = [
            pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0),
            pollfd(fd: signals.descriptor, events: Int16(POLLIN), revents: 0),
        ]
        let milliseconds = Int32((time / .milliseconds(1)).rounded(.up))
        guard poll(&requests, nfds_t(requests.count), milliseconds) > 0 else { return (false, false) }
        return (requests[0].revents != 0, requests[1].revents != 0)
    }

    /// What was typed; nil when the terminal is gone.
    func read() -> [UInt8]? {
        var bytes = [UInt8](repeating: 0, count: 256)
        let count = Glibc.read(STDIN_FILENO, &bytes, bytes.count)
        if count < 0, errno == EINTR || errno == EAGAIN { return [] }
        return count > 0 ? Array(bytes.prefix(count)) : nil
    }
}
