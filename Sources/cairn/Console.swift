import ArgumentParser
import Daemon
import Glibc
import HCIRuntime
import LinuxBluetooth

/// Text for the person at the terminal.
enum Console {
    /// How a command ends whose output is not read any more.
    enum LostReader {
        /// It ends at once, without a message, as if SIGPIPE had ended it.
        case ends
        /// It is the loop that notices, and brings everything to a clean end.
        case isNoticed
    }

    /// Writes a line to standard output, at once. Output that cannot be written ends the process: it would be missing from a
    /// file that a person relies on.
    static func print(_ line: String, lostReader: LostReader = .ends) {
        write(Array((line + "\n").utf8), lostReader: lostReader)
    }

    /// Writes bytes to standard output, at once. See `print(_:lostReader:)`.
    static func write(_ bytes: [UInt8], lostReader: LostReader = .ends) {
        do throws(SystemError) {
            try write(bytes, to: STDOUT_FILENO)
        } catch {
            if error.code == EPIPE {
                guard lostReader == .ends else { return }
                exit(ExitStatus.readerGone.rawValue)
            }
            let full = ProgramError(
                .inputOutput,
                "cannot write to standard output: \(error)",
                advice: "send it elsewhere, or make room where it goes"
            )
            exit(report(full).rawValue)
        }
    }

    /// Writes a line to standard error, at once.
    static func printError(_ line: String) { try? write(Array((line + "\n").utf8), to: STDERR_FILENO) }

    private static func write(_ bytes: [UInt8], to descriptor: Int32) throws(SystemError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EAGAIN {
                // A terminal or a pipe that another program has made non-blocking.
                var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&request, 1, -1)
            } else if count < 0, errno != EINTR {
                throw .last
            }
            rest = rest.dropFirst(max(0, count))
        }
    }

    /// Makes what a command needs; an error ends the command in words and an exit status.
    static func value<Value>(_ body: () throws(ProgramError) -> Value) throws -> Value {
        do {
            return try body()
        } catch {
            throw ended(by: error)
        }
    }

    /// Says what is wrong, and is what a command throws then.
    static func ended(by error: ProgramError) -> ExitCode { ExitCode(report(error).rawValue) }

    static func report(_ error: ProgramError) -> ExitStatus {
        let prefix = Journal.readsStandardError ? Journal.prefix(.error) : ""
        let lines = "cairn: \(error.what)\n\(error.advice)".split(separator: "\n")
        let text = lines.enumerated().map { prefix + ($0.offset == 0 ? "" : "       ") + $0.element + "\n" }.joined()
        try? write(Array(text.utf8), to: STDERR_FILENO)
        return error.status
    }

    /// Runs what a command is for, and turns an error into words and an exit status.
    static func run(_ body: () throws(ProgramError) -> ExitStatus) throws {
        let status: ExitStatus
        do {
            status = try body()
        } catch {
            status = report(error)
        }
        guard status == .success else { throw ExitCode(status.rawValue) }
    }
}

extension EventLoop.Outcome {
    /// How a process ends that was asked to.
    var exitStatus: ExitStatus {
        switch self {
        case .stopped, .stopTimedOut: .success
        case .killed: .killed
        case .readerGone: .readerGone
        }
    }
}
