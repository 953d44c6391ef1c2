import Control
import DequeModule
import Faults

/// Goes through a scenario: it is told of events, answers and the time, and says what is to be done. It does no I/O, so that
/// the same scenario runs on a simulated air and at sockets.
package struct ScenarioMachine: Sendable {
    /// Something to be done.
    package enum Order: Sendable, Equatable {
        /// Give a command; its end is told by ``finish(_:_:at:)``.
        case give(ScenarioCommand, id: Int)
        /// Begin a fault; whether it has begun is told by ``finish(_:_:at:)``.
        case fault(Fault, id: Int)
        /// End the faults of a name, or all; that it is done is told by ``finish(_:_:at:)``.
        case clear(String?, id: Int)
        /// Tell a person, who says when it is done: ``finish(_:_:at:)``.
        case tell(String, id: Int)
    }

    /// The end of an order.
    package enum Answer: Sendable, Equatable {
        /// It is done; what the answer has.
        case done([String: ControlValue])
        /// It is refused.
        case refused(code: String, String)
    }

    /// How often a command that only looks is repeated.
    private static let lookInterval: Duration = .milliseconds(500)
    /// The codes of faults that a watch does not take because of what it runs on.
    private static let absences = [
        ControlFailureCode.faultNotTaken.rawValue, ControlFailureCode.faultsNotAllowed.rawValue,
    ]
    /// How many events a story shows.
    private static let storyLimit = 40

    /// How far the present step is.
    private enum Phase: Sendable {
        case fresh
        case pausing(until: Duration)
        case awaiting(ScenarioPattern, until: Duration)
        case answering(Int)
        case expecting(ScenarioPattern, until: Duration)
        case forbidding(ScenarioPattern, until: Duration)
        /// A command that looks is under way, or is given again at a time.
        case looking(Int?, next: Duration, until: Duration)
    }

    private struct Record: Sendable {
        let event: ScenarioEvent
        /// Whether a step has taken it.
        var isTaken = false
    }

    private let steps: [ScenarioStep]
    private let isReal: Bool
    /// How much more time than the scenario says everything may take.
    private let patience: Double
    private var index = 0
    private var phase = Phase.fresh
    private var began: Duration = .zero
    private var stepEnded: Duration = .zero
    private var lastID = 0
    private var orders: Deque<Order> = []
    /// Commands whose end is not waited for.
    private var loose: Set<Int> = []
    /// What has happened since the last thing that was done.
    private var records: [Record] = []
    /// What a look has shown last.
    private var lastLook: String?

    /// How it ended; nil while it goes on.
    package private(set) var outcome: ScenarioOutcome?
    /// Everything that was done and has happened, line by line: the same for the same inputs.
    package private(set) var transcript: [String] = []
    /// Where the last thing that was done stands in the transcript.
    private var mark = 0

    /// A scenario that has not begun.
    /// - Parameters:
    ///   - isReal: whether the phone is in the hand of a person.
    ///   - patience: how much more time than it says everything may take, such as 3.
    package init(_ scenario: Scenario, isReal: Bool = false, patience: Double = 1) {
        steps = scenario.steps
        self.isReal = isReal
        self.patience = patience
    }

    /// Begins.
    package mutating func start(at now: Duration) {
        began = now
        stepEnded = now
        proceed(at: now)
    }

    /// Whether there is something to be done.
    package var hasOrders: Bool { !orders.isEmpty }

    /// The next thing to be done.
    package mutating func nextOrder() -> Order? { orders.popFirst() }

    // MARK: What happens

    /// Takes an event of the watch's or the phone's.
    package mutating func receive(_ event: ScenarioEvent, at now: Duration) {
        guard outcome == nil else { return }
        note("event", event.words, at: now)
        records.append(Record(event: event))
        proceed(at: now)
    }

    /// An order has come to its end.
    package mutating func finish(_ id: Int, _ answer: Answer, at now: Duration) {
        guard outcome == nil else { return }
        if loose.remove(id) != nil { return note("ended", answer.words, at: now) }
        switch phase {
        case .answering(id):
            note("answer", answer.words, at: now)
            judge(answer, at: now)
        case .looking(id?, _, let end):
            look(answer, until: end, at: now)
        case .fresh, .pausing, .awaiting, .answering, .expecting, .forbidding, .looking: return
        }
        proceed(at: now)
    }

    /// What carries the scenario out cannot go on.
    package mutating func abort(_ reason: String, at now: Duration) {
        guard outcome == nil else { return }
        fail("that the scenario goes on", reason, at: now)
    }

    /// Lets time pass.
    package mutating func advance(to now: Duration) { proceed(at: now) }

    /// When something is due without an event.
    package var nextDeadline: Duration? {
        guard outcome == nil else { return nil }
        return switch phase {
        case .fresh, .answering, .looking(.some, _, _): nil
        case .pausing(let end), .awaiting(_, let end), .expecting(_, let end), .forbidding(_, let end): end
        case .looking(nil, let next, let end): min(next, end)
        }
    }

    // MARK: Steps

    private mutating func proceed(at now: Duration) {
        while outcome == nil {
            guard index < steps.count else {
                outcome = .passed
                return note("passed", "\(steps.count) steps", at: now)
            }
            guard go(steps[index], at: now) else { return }
        }
    }

    /// - Returns: whether something has changed.
    private mutating func go(_ step: ScenarioStep, at now: Duration) -> Bool {
        switch phase {
        case .fresh: begin(step, at: now)
        case .pausing(let end):
            guard end <= now else { return false }
            perform(step, at: now)
        case .awaiting(let pattern, let end):
            if take(pattern) {
                perform(step, at: now)
            } else if end <= now {
                fail(pattern.words, "it did not come in the time that it had", at: now)
            } else {
                return false
            }
        case .answering: return false
        case .expecting(let pattern, let end):
            if take(pattern) {
                finishStep(at: now)
            } else if end <= now {
                fail(pattern.words, insteadOf(pattern), at: now)
            } else {
                return false
            }
        case .forbidding(let pattern, let end):
            if take(pattern) {
                fail("not \(pattern.words)", "it came", at: now)
            } else if end <= now {
                finishStep(at: now)
            } else {
                return false
            }
        case .looking(let id, let next, let end):
            guard id == nil, case .until(let command, let match, _) = step.deed else { return false }
            if end <= now {
                let words = "\(command.words) with \(match.words)"
                fail(words, lastLook.map { "the last answer was \($0)" } ?? "there was no answer", at: now)
            } else if next <= now {
                let id = order { .give(command, id: $0) }
                phase = .looking(id, next: now + Self.lookInterval, until: end)
            } else {
                return false
            }
        }
        return true
    }

    private mutating func begin(_ step: ScenarioStep, at now: Duration) {
        if isReal, step.isUnseen {
            note("skipped", "\(step.deed.words): the phone is real", at: now)
            return finishStep(at: now)
        }
        switch step.start {
        case .atOnce: perform(step, at: now)
        case .at(let time): phase = .pausing(until: began + time)
        case .after(let time): phase = .pausing(until: stepEnded + time)
        case .when(let pattern, let limit):
            guard !(isReal && pattern.side == .phone) else { return perform(step, at: now) }
            phase = .awaiting(pattern, until: now + limit * patience)
        }
    }

    private mutating func perform(_ step: ScenarioStep, at now: Duration) {
        switch step.deed {
        case .give(let command, let ending):
            beginDeed(step, at: now)
            if isReal, command.side == .phone {
                let words = step.person ?? command.wordsForPerson
                // What a phone of Cairn's needs, and a person does not.
                guard !words.isEmpty else { return finishStep(at: now) }
                phase = .answering(order { .tell(words, id: $0) })
                return
            }
            let id = order { .give(command, id: $0) }
            guard ending == .any else { return phase = .answering(id) }
            loose.insert(id)
            finishStep(at: now)
        case .fault(let fault):
            beginDeed(step, at: now)
            phase = .answering(order { .fault(fault, id: $0) })
        case .clear(let name):
            beginDeed(step, at: now)
            phase = .answering(order { .clear(name, id: $0) })
        case .tell(let words):
            beginDeed(step, at: now)
            phase = .answering(order { .tell(words, id: $0) })
        case .expect(let pattern, let limit): phase = .expecting(pattern, until: now + limit * patience)
        case .never(let pattern, let span): phase = .forbidding(pattern, until: now + span)
        case .until(_, _, let limit):
            lastLook = nil
            phase = .looking(nil, next: now, until: now + limit * patience)
        case .pause: finishStep(at: now)
        }
    }

    /// Expectations look at what happens from here on.
    private mutating func beginDeed(_ step: ScenarioStep, at now: Duration) {
        records = []
        mark = transcript.count
        note("do", step.deed.words, at: now)
    }

    private mutating func order(_ make: (Int) -> Order) -> Int {
        lastID += 1
        orders.append(make(lastID))
        return lastID
    }

    private mutating func finishStep(at now: Duration) {
        index += 1
        phase = .fresh
        stepEnded = now
    }

    /// Takes the first event of a kind that no step has taken.
    private mutating func take(_ pattern: ScenarioPattern) -> Bool {
        guard let index = records.firstIndex(where: { !$0.isTaken && pattern.matches($0.event) }) else { return false }
        records[index].isTaken = true
        return true
    }

    private mutating func judge(_ answer: Answer, at now: Duration) {
        if case .fault = steps[index].deed, case .refused(let code, let message) = answer, Self.absences.contains(code)
        {
            outcome = .skipped(message)
            return note("skipped", message, at: now)
        }
        guard case .give(_, let ending) = steps[index].deed, !(isReal && steps[index].isOfPhone) else {
            if case .refused(_, let message) = answer { return fail("that it is done", message, at: now) }
            return finishStep(at: now)
        }
        switch (ending, answer) {
        case (.done(let match), .done(let values)):
            guard match.matches(.object(values)) else {
                return fail("an answer with \(match.words)", ControlValue.object(values).json, at: now)
            }
            finishStep(at: now)
        case (.done, .refused(_, let message)): fail("that it is done", message, at: now)
        case (.refused(let code), .done):
            fail("that it is refused" + (code.map { ": \($0)" } ?? ""), "it was done", at: now)
        case (.refused(let wanted), .refused(let code, let message)):
            guard wanted == nil || wanted == code else {
                return fail("that it is refused: \(wanted ?? "")", "it was refused: \(code), \(message)", at: now)
            }
            finishStep(at: now)
        case (.any, _), (.either, _): finishStep(at: now)
        }
    }

    private mutating func look(_ answer: Answer, until end: Duration, at now: Duration) {
        guard case .until(_, let match, _) = steps[index].deed else { return }
        lastLook = answer.words
        if case .done(let values) = answer, match.matches(.object(values)) {
            note("seen", match.words, at: now)
            return finishStep(at: now)
        }
        phase = .looking(nil, next: now + Self.lookInterval, until: end)
    }

    // MARK: The story

    private mutating func fail(_ expected: String, _ instead: String, at now: Duration) {
        let place = steps.indices.contains(index) ? steps[index].place : ScenarioPlace(file: "")
        let before = Array(transcript[min(mark, transcript.count)...].suffix(Self.storyLimit))
        outcome = .failed(
            ScenarioFailure(place: place, time: now - began, expected: expected, instead: instead, before: before)
        )
        note("failed", "expected \(expected); \(instead)", at: now)
    }

    /// What came of the same name, or what came at all.
    private func insteadOf(_ pattern: ScenarioPattern) -> String {
        let waiting = records.filter { !$0.isTaken && $0.event.side == pattern.side }
        if let other = waiting.last(where: { $0.event.name == pattern.name }) { return other.event.words }
        guard let last = waiting.last else { return "no event of the \(pattern.side.rawValue) came" }
        return "\(waiting.count) other events of the \(pattern.side.rawValue) came, the last one \(last.event.name)"
    }

    private mutating func note(_ kind: String, _ words: String, at now: Duration) {
        let padded = kind + String(repeating: " ", count: max(0, 7 - kind.count))
        transcript.append("\((now - began).stamp) \(padded) \(words)")
    }
}

extension ScenarioMachine.Answer {
    /// As the transcript has it.
    fileprivate var words: String {
        switch self {
        case .done(let values): values.isEmpty ? "done" : ControlValue.object(values).json
        case .refused(let code, let message): "refused: \(code): \(message)"
        }
    }
}

extension ScenarioStep {
    /// Whether it only looks at the phone, which nothing can do whose phone is in a person's hand.
    fileprivate var isUnseen: Bool {
        switch deed {
        case .expect(let pattern, _), .never(let pattern, _): pattern.side == .phone
        case .until(let command, _, _): command.side == .phone
        case .give, .fault, .clear, .tell, .pause: false
        }
    }

    /// Whether the phone is told to do something.
    fileprivate var isOfPhone: Bool {
        if case .give(let command, _) = deed { command.side == .phone } else { false }
    }
}

extension ScenarioStep.Deed {
    /// As the transcript has it.
    var words: String {
        switch self {
        case .give(let command, _): command.words
        case .fault(let fault): "fault \(fault)"
        case .clear(let name): "clear \(name ?? "all")"
        case .expect(let pattern, let limit): "expect \(pattern.words) within \(limit.scenarioWords)"
        case .never(let pattern, let span): "never \(pattern.words) for \(span.scenarioWords)"
        case .until(let command, let match, _): "until \(command.words) has \(match.words)"
        case .tell(let words): "tell “\(words)”"
        case .pause: "pause"
        }
    }
}

extension ScenarioCommand {
    /// What a person with a real phone is told, if the scenario does not say it better.
    var wordsForPerson: String {
        var text: (String) -> String? { { name in if case .text(let text)? = arguments[name] { text } else { nil } } }
        return switch name {
        case "connect":
            "Have the companion app connect to the watch; set the watch up in it if it does not know the watch yet."
        case "disconnect": "Disconnect the watch in the companion app."
        case "drop": "Switch Bluetooth off on the phone, and on again."
        case "pair": "Pair the watch, and say yes on the phone."
        case "confirm": "Answer the question that the phone shows."
        case "forget": "Remove the watch in the phone's Bluetooth settings, and leave the companion app as it is."
        case "notify": "Have the phone get a notification: “\(text("title") ?? "any")”."
        case "install": "Install a watchapp from the companion app."
        case "upload": "Have the companion app give the watch a language pack."
        case "launch": "Start a watchapp from the companion app."
        case "stop": "Leave the watchapp from the companion app."
        case "push": "Have the companion app send something to the running watchapp."
        case "time": "Have the companion app set the watch's time."
        case "scan": "Look for watches in the companion app."
        default: "On the phone: \(words)."
        }
    }
}
