import BluetoothHCI
import Foundation
import PebbleWatch

/// What the watch says to a request: one JSON object on one line.
package struct ControlAnswer: Sendable, Equatable {
    /// Why it was not done; nil if it was.
    package let error: ControlFailure?
    /// The number of the last event before what was carried out. Its results have higher numbers.
    package let sequence: UInt64?
    /// What the answer has beside that, which the command's `Answer` declares.
    let values: [String: ControlValue]

    /// Whether it was done.
    package var ok: Bool { error == nil }

    /// It was done.
    /// - Parameter sequence: the number of the last event before it, for a command whose answer has that.
    package init(_ answer: some ControlObject, after sequence: UInt64? = nil) {
        error = nil
        self.sequence = sequence
        values = answer.values
    }

    /// It was not done.
    package init(failure code: ControlFailureCode, _ message: String) { self.init(ControlFailure(code, message)) }

    /// It was not done, in the words of any vocabulary.
    init(_ failure: ControlFailure) {
        error = failure
        sequence = nil
        values = [:]
    }

    /// The answer to a command of a type.
    /// - Throws: `DecodingError`, `ControlRequest.Invalid` if the answer has other fields.
    package func content<Answer: ControlObject>(_ type: Answer.Type) throws -> Answer {
        try JSONDecoder().decode(type, from: JSONEncoder().encode(values))
    }
}

extension ControlAnswer {
    /// What a command came to.
    /// - Parameter sequence: the number of the last event before it.
    package init(_ result: WatchCommandResult, after sequence: UInt64? = nil, at now: Duration) {
        let answer: any ControlObject =
            switch result {
            case .done: ControlAnswers.Done()
            case .pairingOpen(let end): ControlAnswers.PairingOpen { $0.pairingSeconds = (end - now).inSeconds }
            case .outOfBandData(let block): ControlAnswers.Secrets { $0.data = block.bytes }
            case .appMessage(let app, let delivery):
                ControlAnswers.Delivery {
                    $0.app = "\(app)"
                    $0.delivery = delivery
                }
            case .forgot(let phones), .disconnecting(let phones):
                ControlAnswers.Phones { $0.phones = phones.map { $0.address.description } }
            }
        self.init(answer, after: sequence)
    }

    /// How the watch is doing.
    package init(_ status: WatchStatus, at now: Duration) {
        self.init(ControlAnswers.Status { $0.status = ControlStatus(status, at: now) })
    }

    /// How the watch is doing, and the process that runs it.
    package init(_ status: WatchStatus, of program: ControlProgram, _ history: EventHistory, at now: Duration) {
        let answer = ControlAnswers.Status {
            $0.status = ControlStatus(status, at: now)
            $0.status.add(program, history, at: now)
        }
        self.init(answer, after: history.last)
    }

    /// A copy of the watch's state is there to be read.
    package init(_ backup: ControlBackup) { self.init(ControlAnswers.Backup { $0.backup = backup }) }

    /// Bytes of that copy.
    package init(backupPart bytes: [UInt8]) { self.init(ControlAnswers.BackupPart { $0.data = bytes }) }

    /// It was not done.
    package init(_ error: WatchCommandError) { self.init(failure: ControlFailureCode(error), error.description) }

    /// The lines to a program that asked for events.
    /// - Parameter sequence: those after it are wanted that have happened; nil for none.
    package static func events<Name>(
        after sequence: UInt64?,
        from history: NamedEventHistory<Name>,
        at now: Duration
    ) -> [UInt8] {
        let done = ControlAnswer(ControlAnswers.Done()).line
        guard let sequence else { return done }
        guard sequence <= history.last else {
            let message =
                "no event has the number \(sequence) yet: the last one is \(history.last), since \(Name.speaker) was started"
            return ControlAnswer(failure: .unknownSequence, message).line
        }
        return done + history.lines(after: sequence, at: now)
    }
}

extension ControlAnswer: Codable {
    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: FieldKey.self)
        let isDone = try container.decode(Bool.self, forKey: FieldKey("ok"))
        error = isDone ? nil : try container.decode(ControlFailure.self, forKey: FieldKey("error"))
        sequence = try container.decodeIfPresent(UInt64.self, forKey: FieldKey("sequence"))
        let head: Set = ["ok", "error", "sequence"]
        values = try [String: ControlValue](from: decoder).filter { !head.contains($0.key) }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: FieldKey.self)
        for (name, value) in values { try container.encode(value, forKey: FieldKey(name)) }
        try container.encode(ok, forKey: FieldKey("ok"))
        try container.encodeIfPresent(error, forKey: FieldKey("error"))
        try container.encodeIfPresent(sequence, forKey: FieldKey("sequence"))
    }

    /// The answer as a line.
    package var line: [UInt8] { JSONLine.bytes(self) }

    /// Reads a line; nil if it is no answer, but an event.
    package init?(parsing line: some Sequence<UInt8>) {
        guard let answer = try? JSONDecoder().decode(ControlAnswer.self, from: Data(line)) else { return nil }
        self = answer
    }
}

/// The answer to a command of a type, for the program that gave it.
package struct ControlReply<Answer: ControlObject>: Sendable {
    /// What the answer has.
    package let content: Answer
    /// The number of the last event before the command was carried out.
    package let sequence: UInt64?

    /// The reply that an answer is.
    /// - Throws: if the answer has other fields than the command's.
    package init(_ answer: ControlAnswer) throws {
        content = try answer.content(Answer.self)
        sequence = answer.sequence
    }
}

/// One JSON object on one line.
enum JSONLine {
    /// Fields in the order of their names, so that every program writes the same line.
    static func bytes(_ value: some Encodable) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        guard let data = try? encoder.encode(value) else { return [] }
        return [UInt8](data) + [UInt8(ascii: "\n")]
    }
}

extension Duration {
    /// With milliseconds.
    var inSeconds: Double { (self / .milliseconds(1)).rounded() / 1000 }
}
