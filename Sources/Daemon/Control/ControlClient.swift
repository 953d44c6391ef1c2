import Control
import Glibc
import HCIRuntime
import LinuxBluetooth
import PebbleWatch
import PrivateFiles

/// Where a running watch, or a running phone, takes commands.
public struct ControlAddress: Sendable {
    /// What takes commands there.
    enum Listener: String, Sendable {
        case watch, phone

        /// How a person starts one.
        fileprivate var advice: String {
            switch self {
            case .watch: "start one with cairn run, or name the one that runs with --state or --control"
            case .phone: "start one with cairn phone run, or name the one that runs with --state or --control"
            }
        }

        /// Who may give it commands.
        fileprivate var rule: String {
            switch self {
            case .watch:
                "only the user who started it may give them, and with --control-access group the members of its group"
            case .phone: "only the user who started it may give them"
            }
        }

        /// What tells how it is doing.
        var statusCommand: String {
            switch self {
            case .watch: "cairn status"
            case .phone: "cairn phone status"
            }
        }
    }

    let path: String
    /// How the person named it, for errors.
    private let origin: String
    let listener: Listener

    /// The socket's name within the state directory.
    static let fileName = "control.sock"

    /// Where a watch that runs as a service takes commands.
    public static let service = ControlAddress(path: "/run/cairn/" + fileName)

    /// The socket in a directory that was made for a watch's.
    public static func path(in directory: String) -> String { directory + "/" + fileName }

    /// Whether there is a file.
    public var exists: Bool { access(path, F_OK) == 0 }

    /// The socket of the watch that was started with this state directory.
    public init(stateDirectory: String) {
        path = Self.path(in: stateDirectory)
        origin = "with the state directory \(stateDirectory)"
        listener = .watch
    }

    /// The socket of a phone in a directory that was made for its state.
    public static func phonePath(in directory: String) -> String { directory + "/phone.sock" }

    /// The socket of the phone that was started with this state directory.
    public init(phoneStateDirectory directory: String) {
        path = Self.phonePath(in: directory)
        origin = "with the state directory \(directory)"
        listener = .phone
    }

    /// A phone's socket by its path.
    public init(phonePath path: String) {
        self.path = path
        origin = "at \(path)"
        listener = .phone
    }

    /// A socket by its path.
    public init(path: String) {
        self.path = path
        origin = "at \(path)"
        listener = .watch
    }

    /// Whether what answers is this user's or root's, or is in a directory where no other user could have put it.
    /// What a person types, such as a passkey, is for no other program.
    fileprivate func isTrusted(_ connection: borrowing UnixConnection) -> Bool {
        connection.peerUser.map(TrustedUsers.numbers().contains) ?? false || PrivateDirectory.isOutOfReachOfOthers(path)
    }

    fileprivate func explain(_ error: SystemError) -> ProgramError {
        switch error.code {
        case ENOENT, ECONNREFUSED, ENOTDIR:
            ProgramError(
                .unavailable,
                "no \(listener) runs \(origin)",
                advice: listener.advice
            )
        case EACCES:
            ProgramError(
                .notPermitted,
                "the \(listener) \(origin) does not take your commands",
                advice: listener.rule
            )
        default:
            ProgramError(
                .unavailable,
                "cannot reach the \(listener) \(origin): \(error)",
                advice: "see whether it still runs"
            )
        }
    }
}

/// A program's side of the control socket of a watch or a phone: it asks and waits.
public struct ControlClient: ~Copyable {
    /// How long a watch that runs may take for an answer, and a phone beyond the time that a command has.
    public static let patience: Duration = .seconds(10)

    private let address: ControlAddress
    private let connection: UnixConnection
    private var inbound: [UInt8]

    /// Connects to a running watch, or a running phone.
    public init(_ address: ControlAddress) throws(ProgramError) {
        // Swift 6.2 destroys twice what is initialized before a `catch` throws on: nothing is.
        let connection: UnixConnection
        do throws(SystemError) {
            connection = try UnixConnection(path: address.path)
        } catch {
            throw address.explain(error)
        }
        guard address.isTrusted(connection) else {
            throw ProgramError(
                .notPermitted,
                "what answers at \(address.path) belongs to another user, who may have put it there for you",
                advice: "name the \(address.listener) that you mean with --state or --control"
            )
        }
        self.address = address
        self.connection = connection
        inbound = []
    }

    /// Gives a command, and returns the answer to it.
    /// - Parameter patience: how long the answer may take.
    /// - Throws: also when it was refused.
    package mutating func ask<Command: NamedCommand>(
        _ command: Command,
        within patience: Duration = patience
    ) throws(ProgramError) -> ControlReply<Command.Answer> {
        let answer = try askForLine(command.line, within: patience).answer
        try throwRefusal(answer)
        do {
            return try ControlReply(answer)
        } catch {
            throw ProgramError(
                .inputOutput,
                "the \(address.listener) answered “\(Command.name)” with something else",
                advice: "use the same version of cairn for the \(address.listener) and for this command"
            )
        }
    }

    /// Sends a request, a JSON object, and returns the answer as it was written.
    /// - Parameter patience: how long the answer may take.
    /// - Throws: also when it was refused.
    public mutating func answerLine(
        to request: String,
        within patience: Duration = patience
    ) throws(ProgramError) -> String {
        let (answer, line) = try askForLine(Array(request.utf8) + [UInt8(ascii: "\n")], within: patience)
        try throwRefusal(answer)
        return String(decoding: line, as: UTF8.self)
    }

    /// Gives a command, and returns what is said to it, a refusal as well.
    /// - Parameter patience: how long the answer may take beyond what it usually may.
    package mutating func answer(
        to command: some NamedCommand,
        after patience: Duration = .zero
    ) throws(ProgramError) -> ControlAnswer {
        try askForLine(command.line, within: Self.patience + patience).answer
    }

    /// Sends a request, a JSON object, and returns what is said to it, a refusal as well.
    package mutating func answer(toLine request: String) throws(ProgramError) -> ControlAnswer {
        try askForLine(Array(request.utf8) + [UInt8(ascii: "\n")], within: Self.patience).answer
    }

    private func throwRefusal(_ answer: ControlAnswer) throws(ProgramError) {
        guard let failure = answer.error else { return }
        throw ProgramError(.refused, failure.message, advice: failure.advice(from: address.listener))
    }

    /// Sends a request, a JSON object, without waiting for its answer: `nextLine(within:)` has that.
    package mutating func send(_ request: String) throws(ProgramError) {
        try send(Array(request.utf8) + [UInt8(ascii: "\n")])
    }

    private mutating func send(_ request: [UInt8]) throws(ProgramError) {
        do throws(SystemError) {
            try connection.write(request)
        } catch {
            // A watch that takes no more programs says so before it hangs up.
            guard error.code == EPIPE || error.code == ECONNRESET else { throw address.explain(error) }
        }
    }

    private mutating func askForLine(
        _ request: [UInt8],
        within patience: Duration
    ) throws(ProgramError) -> (answer: ControlAnswer, line: [UInt8]) {
        try send(request)
        while true {
            switch try nextLine(within: patience) {
            case .line(let line):
                guard let answer = ControlAnswer(parsing: line) else { continue }
                return (answer, line)
            case .nothingYet: throw address.explain(SystemError(code: ETIMEDOUT))
            case .ended:
                throw ProgramError(
                    .unavailable,
                    "the \(address.listener) ended before it answered",
                    advice: "see its log"
                )
            }
        }
    }

    /// What there is to read.
    public enum Reading: Sendable {
        /// A line, without its end.
        case line([UInt8])
        /// Nothing in the time that was given.
        case nothingYet
        /// The watch has ended.
        case ended
    }

    /// Waits for the next line.
    /// - Parameter patience: how long to wait for more bytes; nil for as long as it takes.
    public mutating func nextLine(within patience: Duration? = nil) throws(ProgramError) -> Reading {
        while true {
            if let end = inbound.firstIndex(of: UInt8(ascii: "\n")) {
                defer { inbound.removeSubrange(...end) }
                return .line(Array(inbound[..<end]))
            }
            do throws(SystemError) {
                let bytes = try connection.read(patience: patience)
                if bytes.isEmpty { return .ended }
                inbound += bytes
            } catch {
                switch error.code {
                case ECONNRESET: return .ended
                case ETIMEDOUT: return .nothingYet
                default: throw address.explain(error)
                }
            }
        }
    }
}

extension ControlFailure {
    /// What a person can do about it.
    fileprivate func advice(from listener: ControlAddress.Listener) -> String {
        switch listener {
        case .watch: kind.advice
        case .phone: PhoneControlFailureCode(rawValue: code).advice
        }
    }
}

extension PhoneControlFailureCode? {
    /// What a person can do about what the phone refused.
    fileprivate var advice: String {
        switch self {
        case .notConnected?: "connect it first: cairn phone connect"
        case .noSession?:
            "a watch that insists on pairing opens no session before: cairn phone pair; then cairn phone wait session"
        case .isConnected?: "cairn phone disconnect ends the link"
        case .cannotPair?: "start the phone without --no-pairing"
        case .nothingAsked?: "cairn phone pair asks, if the watch can show a number"
        case .unknownWatch?: "cairn phone status lists the watches that it is paired with"
        case .noApp?: "name one with --app"
        case .badFile?: "name a file that the phone's user may read"
        case .unknownSequence?:
            "the number may be from before the phone was started again: see cairn phone status --json"
        case .busy?: "programs that stay connected, such as cairn phone events, are counted"
        case .pairingFailed?: "see what the watch says: cairn status, cairn events"
        case .timedOut?, .ended?, .connectionFailed?: "cairn phone events --since 0 shows what happened"
        case .badRequest?, .notReady?, .phoneBusy?, .refused?, .tooLong?, .tooMuch?, .cancelled?, nil:
            "cairn phone status shows how the phone is doing"
        }
    }
}

extension ControlFailureCode? {
    /// What a person can do about what the watch refused.
    package var advice: String {
        switch self {
        case .nothingWaits?: "let the phone pair first; cairn events shows when the watch asks"
        case .passkeyIsAsked?: "give it: cairn passkey NNNNNN"
        case .passkeyIsShown?: "type it on the phone, or cairn refuse"
        case .noPasskeyIsAsked?:
            "a phone that shows one makes the watch ask, if it runs with --io-capability keyboard-only"
        case .notBondable?: "start the watch without --no-bonding"
        case .pairingIsRefused?: "start the watch with --pairing auto or button"
        case .unknownPhone?: "cairn status lists the phones that are remembered"
        case .unknownSequence?:
            "the number may be from before the watch was started again: see cairn status --json"
        case .busy?: "programs that stay connected, such as cairn events, are counted"
        case .timedOut?: "wait longer with --for; cairn status shows how the watch is doing"
        case .badPackage?: "build the package again, for this model of watch, or name the file that the SDK made"
        case .packageTooLarge?, .noRoomForApp?: "remove an app with cairn remove; cairn apps lists them"
        case .notStored?: "the watch's log says more; make room on its disk"
        case .captureRuns?: "end the other one, or name another file"
        case .captureFailed?, .recordingFailed?: "name another file, in a directory that the watch may write to"
        case .badLogLevel?: "write them as in info,att=debug"
        case .appIsBuiltIn?: "cairn apps shows which apps can be removed"
        case .unknownApp?: "cairn apps lists the apps there are"
        case .faultNotTaken?: "cairn fault names NAME says what a fault takes and needs"
        case .faultsNotAllowed?: "start the watch with --faults-allowed, if it is yours to break"
        case .unknownFault?: "cairn fault list has the faults that are there"
        case .badRequest?, .notPermitted?, .noPackage?, .screenshotFailed?, .noCapture?, .installsAlready?,
            .nothingIsKept?, .noBackup?, .backupFailed?, .runsAlready?,
            .nothingToStop?, .databaseIsFixed?, .badWindow?, .noSecrets?, .noPhones?, .notConnected?,
            .impossibleReading?, .noCall?, .noSuchAction?, .noSuchSetting?, .noRoomForData?, .notSent?, nil:
            "cairn status shows how the watch is doing"
        }
    }
}
