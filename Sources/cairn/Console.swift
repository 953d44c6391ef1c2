import ArgumentParser
import Daemon
import Glibc

/// Text for the person at the terminal.
enum Console {
    /// Writes a line to standard output, at once.
    static func print(_ line: String) { write(line + "\n", to: STDOUT_FILENO) }

    /// Writes a line to standard error, at once.
    static func printError(_ line: String) { write(line + "\n", to: STDERR_FILENO) }

    private static func write(_ text: String, to descriptor: Int32) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno != EINTR { return }
            rest = rest.dropFirst(max(0, count))
        }
    }

    /// Makes what a command needs; an error ends the command in words and an exit status.
    static func value<Value>(_ body: () throws(DaemonError) -> Value) throws -> Value {
        do {
            return try body()
        } catch {
            throw ExitCode(report(error).rawValue)
        }
    }

    private static func report(_ error: DaemonError) -> ExitStatus {
        let prefix = Journal.readsStandardError ? Journal.prefix(.error) : ""
        let lines = "cairn: \(error.what)\n\(error.advice)".split(separator: "\n")
        let text = lines.enumerated().map { prefix + ($0.offset == 0 ? "" : "       ") + $0.element + "\n" }.joined()
        write(text, to: STDERR_FILENO)
        return error.status
    }

    /// Runs what a command is for, and turns an error into words and an exit status.
    static func run(_ body: () throws(DaemonError) -> ExitStatus) throws {
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
        }
    }
}
