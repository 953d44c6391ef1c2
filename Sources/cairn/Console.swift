import ArgumentParser
import Daemon
import Glibc

/// Text for the person at the terminal.
enum Console {
    /// Writes a line to standard output, at once.
    static func print(_ line: String) { write(line + "\n", to: STDOUT_FILENO) }

    private static func write(_ text: String, to descriptor: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno != EINTR { return }
            rest = rest.dropFirst(max(0, count))
        }
    }

    /// Runs what a command is for, and turns an error into words and an exit status.
    static func run(_ body: () throws(DaemonError) -> ExitStatus) throws {
        let status: ExitStatus
        do {
            status = try body()
        } catch {
            write("cairn: \(error.what)\n       \(error.advice)\n", to: STDERR_FILENO)
            status = error.status
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
        }
    }
}
