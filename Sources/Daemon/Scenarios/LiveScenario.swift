import Control
import Faults
import HCIRuntime
import Scenarios

/// Runs a scenario with a watch that runs, and with a phone that runs or that a person has in their hand, at their control
/// sockets.
package struct LiveScenario {
    /// How long a line is waited for before the next socket is looked at.
    private static let turn: Duration = .milliseconds(20)

    /// A connection to a socket: a class, because connections are not copied.
    fileprivate final class Line {
        private var client: ControlClient

        init(_ address: ControlAddress) throws(ProgramError) { client = try ControlClient(address) }

        func send(_ request: String) throws(ProgramError) { try client.send(request) }

        func next(within time: Duration) throws(ProgramError) -> ControlClient.Reading {
            try client.nextLine(within: time)
        }
    }

    /// A command whose answer is waited for.
    private struct Pending {
        let id: Int
        let line: Line
    }

    private let scenario: Scenario
    private let watch: ControlAddress
    private let phone: ControlAddress?
    /// Tells a person something, and returns when they have done it.
    private let tell: (String) -> Void
    private var machine: ScenarioMachine
    private var listeners: [(side: ScenarioSide, line: Line)] = []
    private var pending: [Pending] = []
    /// The faults whose beginning is not answered yet, by their orders.
    private var begun: [Int: String] = [:]
    /// The numbers of the faults that have begun, by their names.
    private var numbers: [String: [Int64]] = [:]
    private let began = ContinuousClock.now

    /// Prepares a run.
    /// - Parameters:
    ///   - phone: the phone that runs; nil for a real one, or for none.
    ///   - patience: how much more time than the scenario says everything may take.
    ///   - tell: tells a person what to do, and returns when that is done.
    package init(
        _ scenario: Scenario,
        watch: ControlAddress,
        phone: ControlAddress?,
        patience: Double,
        tell: @escaping (String) -> Void
    ) throws(ProgramError) {
        guard phone != nil || scenario.phone.kind != .cairn else {
            throw ProgramError(
                .usage,
                "\(scenario.name) needs a phone, and none is named",
                advice: "name one that runs with --phone-state or --phone-control, or take a real one: --phone real"
            )
        }
        self.scenario = scenario
        self.watch = watch
        self.phone = phone
        self.tell = tell
        machine = ScenarioMachine(scenario, isReal: scenario.phone.kind == .real, patience: patience)
    }

    private var now: Duration { ContinuousClock.now - began }

    /// Runs to the end.
    /// - Parameter command: what runs it again in the same way, for a person.
    /// - Throws: `ProgramError` when the watch or the phone cannot be reached. What ends later is a failure of the scenario.
    package mutating func run(command: String) throws(ProgramError) -> ScenarioResult {
        try listen(.watch, at: watch)
        if let phone { try listen(.phone, at: phone) }
        let start = now
        machine.start(at: start)
        while machine.outcome == nil {
            do throws(ProgramError) {
                while let order = machine.nextOrder() { try carryOut(order) }
                guard machine.outcome == nil else { break }
                try takeLines()
            } catch {
                machine.abort(error.what, at: now)
            }
            machine.advance(to: now)
        }
        clearFaults()
        return ScenarioResult(
            scenario,
            machine.outcome ?? .passed,
            seed: 0,
            duration: now - start,
            transcript: machine.transcript,
            command: command
        )
    }

    /// The next scenario finds no faults of this one's.
    private func clearFaults() {
        guard !numbers.isEmpty, var client = try? ControlClient(watch) else { return }
        for number in numbers.values.joined().sorted() {
            // One that is over is not there any more, and a watch that has ended has none.
            _ = try? client.answer(toLine: Fault.endingRequest(number))
        }
    }

    /// Has a side say what happens from now on.
    private mutating func listen(_ side: ScenarioSide, at address: ControlAddress) throws(ProgramError) {
        let line = try Line(address)
        try line.send(#"{"command":"events"}"#)
        guard case .line(let answer) = try line.next(within: ControlClient.patience),
            ControlAnswer(parsing: answer)?.ok == true
        else {
            throw ProgramError(
                .unavailable,
                "the \(side.rawValue) does not say what happens",
                advice: "see whether it still runs, and whether too many programs are connected to it"
            )
        }
        listeners.append((side, line))
    }

    private mutating func carryOut(_ order: ScenarioMachine.Order) throws(ProgramError) {
        switch order {
        case .give(let command, let id):
            guard let address = command.side == .watch ? watch : phone else {
                return machine.finish(id, .refused(code: "not-ready", "there is no phone"), at: now)
            }
            try ask(command.line, at: address, id)
        case .fault(let fault, let id):
            begun[id] = fault.name
            try ask(fault.beginningRequest, at: watch, id)
        case .clear(nil, let id): try ask(Fault.endingRequest(nil), at: watch, id)
        case .clear(let name?, let id):
            // Those that are over already are not there any more, and are refused.
            for number in numbers.removeValue(forKey: name) ?? [] {
                var line = try ControlClient(watch)
                _ = try line.answer(toLine: Fault.endingRequest(number))
            }
            machine.finish(id, .done([:]), at: now)
        case .tell(let words, let id):
            tell(words)
            machine.finish(id, .done([:]), at: now)
        }
    }

    private mutating func ask(_ request: String, at address: ControlAddress, _ id: Int) throws(ProgramError) {
        let line = try Line(address)
        try line.send(request)
        pending.append(Pending(id: id, line: line))
    }

    /// Takes what every socket has, and waits a moment for it.
    private mutating func takeLines() throws(ProgramError) {
        for listener in listeners {
            while case .line(let line) = try listener.line.reading(of: listener.side, within: Self.turn) {
                if let event = ScenarioEvent(listener.side, parsing: line) { machine.receive(event, at: now) }
                guard machine.outcome == nil else { return }
            }
        }
        for waiting in pending {
            guard case .line(let line) = try waiting.line.next(within: .milliseconds(1)),
                let answer = ControlAnswer(parsing: line)
            else { continue }
            pending.removeAll { $0.id == waiting.id }
            if let name = begun.removeValue(forKey: waiting.id), case .integer(let number)? = answer.values["number"] {
                numbers[name, default: []].append(number)
            }
            machine.finish(waiting.id, ScenarioMachine.Answer(answer), at: now)
        }
    }
}

extension LiveScenario.Line {
    /// What there is to read of events.
    /// - Throws: `ProgramError` when the side has ended.
    fileprivate func reading(of side: ScenarioSide, within time: Duration) throws(ProgramError) -> ControlClient.Reading
    {
        let reading = try next(within: time)
        if case .ended = reading {
            throw ProgramError(.unavailable, "the \(side.rawValue) has ended", advice: "see its log")
        }
        return reading
    }
}
