import Control
import Glibc
import HCIRuntime
import LinuxBluetooth
import PebbleWatch
import PrivateFiles

/// Where a running watch takes commands.
public struct ControlAddress: Sendable {
    let path: String
    /// How the person named it, for errors.
    private let origin: String

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
    }

    /// A socket by its path.
    public init(path: String) {
        self.path = path
        origin = "at \(path)"
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
                "no watch runs \(origin)",
                advice: "start one with cairn run, or name the one that runs with --state or --control"
            )
        case EACCES:
            ProgramError(
                .notPermitted,
                "the watch \(origin) does not take your commands",
                advice:
                    "only the user who started it may give them, and with --control-access group whoever is in its group"
            )
        default:
            ProgramError(
                .unavailable,
                "cannot reach the watch \(origin): \(error)",
                advice: "see whether it still runs"
            )
        }
    }
}

/// A program's side of the control socket: it asks and waits.
public struct ControlClient: ~Copyable {
    /// How long a watch that runs may take for an answer.
    private static let patience: Duration = .seconds(10)

    private let address: ControlAddress
    private let connection: UnixConnection
    private var inbound: [UInt8]

    /// Connects to a running watch.
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
                advice: "name the watch that you mean with --state or --control"
            )
        }
        self.address = address
        self.connection = connection
        inbound = []
    }

    /// Gives a command, and returns the answer to it.
    /// - Throws: also when the watch refused.
    package mutating func ask<Command: ControlCommand>(
        _ command: Command
    ) throws(ProgramError) -> ControlReply<Command.Answer> {
        let answer = try askForLine(command.line).answer
        if let failure = answer.error {
            throw ProgramError(.refused, failure.message, advice: failure.kind.advice)
        }
        do {
            return try ControlReply(answer)
        } catch {
            throw ProgramError(
                .inputOutput,
                "the watch answered “\(Command.name)” with something else",
                advice: "use the same version of cairn for the watch and for this command"
            )
        }
    }

    /// Sends a request, a JSON object, and returns the answer as the watch wrote it.
    /// - Throws: also when the watch refused.
    public mutating func answerLine(to request: String) throws(ProgramError) -> String {
        let (answer, line) = try askForLine(Array(request.utf8) + [UInt8(ascii: "\n")])
        if let failure = answer.error {
            throw ProgramError(.refused, failure.message, advice: failure.kind.advice)
        }
        return String(decoding: line, as: UTF8.self)
    }

    /// Gives a command, and returns what the watch says to it, a refusal as well.
    /// - Parameter patience: how long the watch may take beyond what it usually may.
    package mutating func answer(
        to command: some ControlCommand,
        after patience: Duration = .zero
    ) throws(ProgramError) -> ControlAnswer {
        try askForLine(command.line, within: Self.patience + patience).answer
    }

    private mutating func askForLine(
        _ request: [UInt8],
        within patience: Duration = patience
    ) throws(ProgramError) -> (answer: ControlAnswer, line: [UInt8]) {
        do throws(SystemError) {
            try connection.write(request)
        } catch {
            // A watch that takes no more programs says so before it hangs up.
            guard error.code == EPIPE || error.code == ECONNRESET else { throw address.explain(error) }
        }
        while true {
            switch try nextLine(within: patience) {
            case .line(let line):
                guard let answer = ControlAnswer(parsing: line) else { continue }
                return (answer, line)
            case .nothingYet: throw address.explain(SystemError(code: ETIMEDOUT))
            case .ended: throw ProgramError(.unavailable, "the watch ended before it answered", advice: "see its log")
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
        case .captureFailed?: "name another file, in a directory that the watch may write to"
        case .badLogLevel?: "write them as in info,att=debug"
        case .appIsBuiltIn?: "cairn apps shows which apps can be removed"
        case .unknownApp?: "cairn apps lists the apps there are"
        case .badRequest?, .notPermitted?, .noPackage?, .screenshotFailed?, .noCapture?, .installsAlready?,
            .nothingIsKept?, .noBackup?, .backupFailed?, .runsAlready?,
            .nothingToStop?, .databaseIsFixed?, .badWindow?, .noSecrets?, .noPhones?, .notConnected?,
            .impossibleReading?, .noCall?, .noSuchAction?, .noSuchSetting?, .noRoomForData?, .notSent?, nil:
            "cairn status shows how the watch is doing"
        }
    }
}
