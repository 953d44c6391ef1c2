import BluetoothHCI
import ByteCoding
import Foundation
import PebbleWatch

/// What the watch says to a request: one JSON object on one line.
public struct ControlAnswer: Codable, Sendable, Equatable {
    /// Why a request failed.
    public struct Failure: Codable, Sendable, Equatable {
        /// For programs: a name that does not change.
        public let code: String
        /// For people.
        public let message: String
    }

    /// Whether it was done.
    public let ok: Bool
    public var error: Failure?
    /// To `status`.
    public var status: ControlStatus?
    /// To `open-pairing`: how long phones may pair now.
    public var pairingSeconds: Double?
    /// To `oob`: the block to hand to the phone, in hexadecimal. To `backup-part`: bytes of the copy.
    public var data: String?
    /// To `backup`: what the copy has, of which `backup-part` gives the bytes.
    public var backup: ControlBackup?
    /// To what was carried out: the number of the last event before it. What comes of it has higher numbers.
    public var sequence: UInt64?
    /// To `send`: the app whose message it is.
    public var app: String?
    /// To `send`: `sent` to its companion, which has not answered yet; `waits` until its companion is back; or `queued` until
    /// the app is awake.
    public var delivery: String?
    /// To `forget`, `forget-all` and `disconnect`: the phones that were concerned.
    public var phones: [String]?

    /// The code of a request that could not be read.
    public static let badRequestCode = "bad-request"
    /// The code of a number that no event has yet.
    public static let unknownSequenceCode = "unknown-sequence"
    /// The code of a connection that is one too many.
    public static let busyCode = "busy"

    init(ok: Bool) { self.ok = ok }

    /// It is done.
    static let done = ControlAnswer(ok: true)

    /// What a command came to.
    /// - Parameter sequence: the number of the last event before it.
    public init(_ result: WatchCommandResult, after sequence: UInt64? = nil, at now: Duration) {
        self.init(ok: true)
        self.sequence = sequence
        switch result {
        case .done: break
        case .pairingOpen(let end): pairingSeconds = (end - now).inSeconds
        case .outOfBandData(let block): data = block.bytes.hexadecimal
        case .appMessage(let app, let delivery):
            self.app = "\(app)"
            self.delivery = delivery.rawValue
        case .forgot(let phones), .disconnecting(let phones): self.phones = phones.map { $0.address.description }
        }
    }

    /// How the watch is doing.
    public init(_ status: WatchStatus, at now: Duration) {
        self.init(ok: true)
        self.status = ControlStatus(status, at: now)
    }

    /// A copy of the watch's state is there to be read.
    public init(_ backup: ControlBackup) {
        self.init(ok: true)
        self.backup = backup
    }

    /// Bytes of that copy.
    public init(backupPart bytes: [UInt8]) {
        self.init(ok: true)
        data = bytes.hexadecimal
    }

    /// How the watch is doing, and the process that runs it.
    public init(_ status: WatchStatus, of program: ControlProgram, _ history: EventHistory, at now: Duration) {
        self.init(status, at: now)
        self.status?.add(program, history, at: now)
        sequence = history.last
    }

    /// The lines to a program that asked for events.
    /// - Parameter sequence: those after it are wanted that have happened; nil for none.
    public static func events(after sequence: UInt64?, from history: EventHistory, at now: Duration) -> [UInt8] {
        guard let sequence else { return done.line }
        guard sequence <= history.last else {
            let message =
                "no event has the number \(sequence) yet: the last one is \(history.last), since the watch was started"
            return ControlAnswer(failure: unknownSequenceCode, message).line
        }
        return done.line + history.lines(after: sequence, at: now)
    }

    /// It was not done.
    public init(failure code: String, _ message: String) {
        self.init(ok: false)
        error = Failure(code: code, message: message)
    }

    /// It was not done.
    public init(_ error: WatchCommandError) { self.init(failure: error.code, error.description) }
}

/// One JSON object on one line.
enum JSONLine {
    /// Fields in the order of their names, so that a line is the same wherever it is written.
    static func bytes(_ value: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else { return [] }
        return [UInt8](data) + [UInt8(ascii: "\n")]
    }
}

extension ControlAnswer {
    /// The answer as a line.
    public var line: [UInt8] { JSONLine.bytes(self) }

    /// Reads a line; nil if it is no answer, but an event.
    public init?(parsing line: some Sequence<UInt8>) {
        guard let answer = try? JSONDecoder().decode(ControlAnswer.self, from: Data(line)) else { return nil }
        self = answer
    }
}

extension Duration {
    /// With milliseconds.
    var inSeconds: Double { (self / .milliseconds(1)).rounded() / 1000 }
}
