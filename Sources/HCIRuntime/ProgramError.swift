import Glibc

/// What a process says with its exit status.
///
/// Source: sysexits(3head).
public enum ExitStatus: Int32, Sendable {
    case success = 0
    /// The command line is wrong.
    case usage = 64
    /// Something that is needed, such as the controller, is not there or does not answer.
    case unavailable = 69
    /// The demonstration did not do what it was to show: a defect. Or what was compared differs.
    case demonstrationFailed = 70
    /// The operating system refused something that it normally grants.
    case systemError = 71
    /// A file cannot be created.
    case cannotCreate = 73
    /// Reading or writing failed half-way.
    case inputOutput = 74
    /// The watch does not do what it was asked.
    case refused = 75
    /// This user may not do that.
    case notPermitted = 77
    /// The board file or the environment is wrong.
    case configuration = 78
    /// A second signal ended it at once. The shell's number for SIGINT.
    case killed = 130
    /// Nothing reads its output any more. The shell's number for SIGPIPE.
    case readerGone = 141
}

/// An end that the person at the terminal has to know about: what happened and where, and what to do next.
public struct ProgramError: Error, Sendable, CustomStringConvertible {
    /// How the process ends.
    public let status: ExitStatus
    /// What happened, and where.
    public let what: String
    /// What to do next.
    public let advice: String

    /// Describes an end.
    public init(_ status: ExitStatus, _ what: String, advice: String) {
        self.status = status
        self.what = what
        self.advice = advice
    }

    public var description: String { "\(what)\n\(advice)" }
}

extension ProgramError {
    /// Ends the process because of an error, with what it says on standard error. The status is that of a `ProgramError`, and 1 of
    /// any other error.
    public static func exit(with error: any Error) -> Never {
        let text = Array("\(error)\n".utf8)
        _ = write(STDERR_FILENO, text, text.count)
        Glibc.exit((error as? ProgramError)?.status.rawValue ?? EXIT_FAILURE)
    }
}
