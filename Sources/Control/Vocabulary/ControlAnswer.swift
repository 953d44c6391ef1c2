import BluetoothHCI
import FoundationEssentials
import PebbleProtocol
import PebbleWatch

/// What the watch says to a request: one JSON object on one line.
package struct ControlAnswer: Sendable, Equatable {
    /// Why it was not done; nil if it was.
    package let error: ControlFailure?
    /// The number of the last event before what was carried out. Its results have higher numbers.
    package let sequence: UInt64?
    /// What the answer has beside that, which the command's `Answer` declares.
    package let values: [String: ControlValue]

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

    /// A part of what the watch is.
    /// - Parameter sequence: the number of the last event before the look.
    package init(_ look: ControlLook, of watch: Watch, after sequence: UInt64? = nil, at now: Duration) {
        let answer: any ControlObject =
            switch look {
            case .apps: ControlAnswers.Apps { $0.apps = watch.apps.map { ControlApp($0) } }
            case .notifications:
                ControlAnswers.Notifications {
                    $0.notifications = watch.notifications.map { ControlServices.Notification($0) }
                }
            case .settings:
                ControlAnswers.Settings {
                    $0.settings = watch.settings.map { ControlSetting(key: $0.key, data: $0.value) }
                }
            case .time:
                ControlAnswers.Time {
                    $0.time = ControlTime(
                        clock: ControlEvents.ClockSet(watch.clock, at: now),
                        is24Hour: watch.is24HourStyle,
                        isSet: watch.clock.isSet
                    )
                }
            case .links: ControlAnswers.Links { $0.links = watch.linkDetails.map { ControlLink($0) } }
            }
        self.init(answer, after: sequence)
    }

    /// The picture that the screen shows.
    /// - Parameter sequence: the number of the last event before it.
    package init(_ frame: FrameBuffer, as format: ControlScreen.Format, after sequence: UInt64? = nil) {
        do throws(ScreenPicture.Failure) {
            let data =
                switch format {
                case .png: try ScreenPicture.png(frame)
                case .raw: ScreenPicture.raw(frame)
                }
            let screen = ControlScreen(
                width: frame.display.width,
                height: frame.display.height,
                isRound: frame.display.isRound,
                hasColor: frame.display.hasColor,
                format: format,
                data: data
            )
            self.init(ControlAnswers.Screen(screen: screen), after: sequence)
        } catch {
            self.init(
                failure: .screenshotFailed,
                "the picture cannot be packed (zlib says \(error.code)); format raw needs no packing"
            )
        }
    }

    /// The messages of one direction that are kept.
    package init(
        _ direction: ControlMessage.Direction,
        app: PebbleUUID?,
        after sequence: UInt64?,
        from history: EventHistory
    ) {
        if let failure = Self.refusal(of: sequence, from: history.events) {
            self = failure
        } else {
            let messages = history.messages(direction, app: app.map { "\($0)" }, after: sequence ?? 0)
            self.init(ControlAnswers.Messages(messages: messages), after: history.last)
        }
    }

    /// A wait is over: it is as it should be.
    /// - Parameter sequence: the number of the last event before the wait began.
    package init(awaited event: ControlEvent?, after sequence: UInt64) {
        self.init(ControlAnswers.Awaited(event: event?.values), after: sequence)
    }

    /// A wait is over without it.
    package init(timedOut wait: ControlWait) {
        let seconds = "\(wait.duration.inSeconds) seconds"
        switch wait.goal {
        case .condition(let condition):
            self.init(failure: .timedOut, "the watch was not “\(condition.rawValue)” in \(seconds)")
        case .event(let name, _): self.init(failure: .timedOut, "no event “\(name.rawValue)” came in \(seconds)")
        }
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
        return refusal(of: sequence, from: history)?.line ?? done + history.lines(after: sequence, at: now)
    }

    /// Why a number is none that a program can have heard of; nil if it is one.
    package static func refusal<Name>(
        of sequence: UInt64?,
        from history: NamedEventHistory<Name>
    ) -> ControlAnswer? {
        guard let sequence, sequence > history.last else { return nil }
        let message =
            "no event has the number \(sequence) yet: the last one is \(history.last), since \(Name.speaker) was started"
        return ControlAnswer(failure: .unknownSequence, message)
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
