import CLinux
import Glibc
import LinuxBluetooth

/// SIGINT, SIGTERM and SIGHUP as something that can be polled.
///
/// While it lives they no longer end the process. Made before any thread is, since threads inherit the mask.
public final class StopSignals {
    /// Which signal asked the process to stop.
    public struct Signal: Hashable, Sendable, CustomStringConvertible {
        /// Its number.
        public let number: Int32

        public var description: String {
            switch number {
            case SIGINT: "SIGINT"
            case SIGTERM: "SIGTERM"
            case SIGHUP: "SIGHUP"
            default: "signal \(number)"
            }
        }
    }

    private let file: FileDescriptor
    private var previousMask = sigset_t()

    /// Catches the signals from now on.
    public init() throws(SystemError) {
        var mask = sigset_t()
        sigemptyset(&mask)
        for signal in [SIGINT, SIGTERM, SIGHUP] { sigaddset(&mask, signal) }
        let descriptor = signalfd(-1, &mask, Int32(SFD_NONBLOCK) | Int32(SFD_CLOEXEC))
        guard descriptor >= 0 else { throw .last }
        file = FileDescriptor(owning: descriptor)
        pthread_sigmask(SIG_BLOCK, &mask, &previousMask)
    }

    /// The same, for a process that cannot do without.
    package static func catching() throws(ProgramError) -> StopSignals {
        do {
            return try StopSignals()
        } catch {
            throw ProgramError(
                .systemError,
                "cannot watch for signals: \(error)",
                advice: "see the limits of open files"
            )
        }
    }

    deinit { pthread_sigmask(SIG_SETMASK, &previousMask, nil) }

    /// What to poll for reading.
    package var descriptor: Int32 { file.number }

    /// Takes the oldest signal that came in; nil if none has.
    package func next() -> Signal? {
        var information = signalfd_siginfo()
        let size = MemoryLayout<signalfd_siginfo>.size
        guard read(file.number, &information, size) == size else { return nil }
        return Signal(number: Int32(truncatingIfNeeded: information.ssi_signo))
    }
}
