import ArgumentParser
import Control
import Daemon
import HCIRuntime
import Settings

/// `cairn wait`
struct WaitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait",
        abstract: "Wait until the watch is ready, or until something has happened on it.",
        discussion: """
            A watch that is only just being started is waited for too.

              ready      its controller is ready, and it takes commands
              connected  a phone is connected now
              session    a companion app has a session now
              paired     a phone is remembered

            Everything else is the name of an event. One that has happened since the watch was started counts, so that none is \
            missed; with --since, only one with a higher number than that. Every event has a number, and cairn status --json \
            and the answers of cairn ask have the last.

              cairn run --controller hci0 --state ~/.cairn & cairn wait ready
              cairn press up; cairn wait app-message-sent
              cairn wait session-opened --since 17 --for 120

            The status is 0 when it is so, 75 when it is not within --for, and 69 when there is no watch within --for or it has \
            ended. The events are \(ControlEventName.list).
            """
    )

    /// What can be waited for.
    enum Goal {
        case condition(ControlCondition)
        case event(ControlEventName)

        static func argument(_ text: String) throws -> Goal {
            if let condition = ControlCondition(rawValue: text) { return .condition(condition) }
            if let name = ControlEventName(rawValue: text) { return .event(name) }
            let conditions = ControlCondition.allCases.map(\.rawValue)
            let names = conditions + ControlEventName.allCases.map(\.rawValue)
            throw ValidationError(
                "“\(text)” is nothing that can be waited for\(NearestName.question(text, among: names)); there are "
                    + "\(conditions.joined(separator: ", ")), and the events \(ControlEventName.list)"
            )
        }
    }

    @Argument(help: ArgumentHelp("What to wait for.", valueName: "what"), transform: Goal.argument)
    var goal: Goal

    @Option(help: ArgumentHelp("Only an event after the one of this number counts.", valueName: "number"))
    var since: UInt64?

    @Option(name: .customLong("for"), help: ArgumentHelp("How long to wait.", valueName: "seconds"))
    var seconds = 30.0

    @Flag(help: "Print the event, or the watch's status, as JSON.")
    var json = false

    @OptionGroup var watch: WatchReference

    func validate() throws {
        try Patience.check(seconds)
        guard since != nil, case .condition(let condition) = goal, ControlEventName(rawValue: condition.rawValue) == nil
        else { return }
        throw ValidationError("--since goes with events; \(condition.rawValue) holds now or does not")
    }

    func run() throws {
        try Console.run { () throws(ProgramError) in
            let patience = Patience(seconds: seconds)
            var client = try patience.connect { () throws(ProgramError) in try watch.connect() }
            if try askToWait(&client, patience) { return .success }
            switch goal {
            case .event(let name): try wait(for: name, &client, patience)
            case .condition(let condition):
                // With a number, connected and paired are events too.
                if since != nil, let name = ControlEventName(rawValue: condition.rawValue) {
                    try wait(for: name, &client, patience)
                } else {
                    try wait(until: condition, &client, patience)
                }
            }
            return .success
        }
    }

    /// Has the watch itself wait.
    /// - Returns: false if it is of an older version, which cannot.
    private func askToWait(_ client: inout ControlClient, _ patience: Patience) throws(ProgramError) -> Bool {
        let left = patience.left ?? .zero
        let name: String
        let missing: String
        switch goal {
        case .event(let event):
            name = event.rawValue
            missing = Self.missing(event)
        case .condition(let condition):
            name = condition.rawValue
            missing = since == nil ? Self.missing(condition) : "no event “\(name)” came"
        }
        let command = ControlCommands.Wait {
            $0.goal = name
            $0.since = since
            $0.seconds = min(left / .seconds(1), Patience.longest)
        }
        let answer = try client.answer(to: command, after: left)
        switch answer.error?.kind {
        case .badRequest?: return false
        case .timedOut?: throw timedOut(missing)
        case let kind:
            if let failure = answer.error {
                throw ProgramError(.refused, failure.message, advice: kind.advice)
            }
        }
        if let event = (try? answer.content(ControlAnswers.Awaited.self))?.event {
            let line = ControlValue.object(event).json
            Console.print(json ? line : ControlEventLine(parsing: line.utf8)?.words ?? line)
        } else if json {
            Console.print(try client.ask(ControlCommands.Status.blank).content.status.json)
        }
        return true
    }

    private static func missing(_ event: ControlEventName) -> String { "no event “\(event.rawValue)” came" }

    private static func missing(_ condition: ControlCondition) -> String {
        "the watch was not “\(condition.rawValue)”"
    }

    private func timedOut(_ failure: String) -> ProgramError {
        ProgramError(
            .refused,
            "\(failure) in \(seconds) seconds",
            advice: "wait longer with --for; cairn status shows how the watch is doing"
        )
    }

    private func wait(
        for name: ControlEventName,
        _ client: inout ControlClient,
        _ patience: Patience
    ) throws(ProgramError) {
        try client.listen(after: since ?? 0)
        while true {
            let line = try nextLine(&client, patience, Self.missing(name))
            guard let event = ControlEventLine(parsing: line), event.event == name.rawValue else { continue }
            return Console.print(json ? String(decoding: line, as: UTF8.self) : event.words)
        }
    }

    /// Every change of a condition is an event: it is looked at again after each.
    private func wait(
        until condition: ControlCondition,
        _ client: inout ControlClient,
        _ patience: Patience
    ) throws(ProgramError) {
        try client.listen(after: nil)
        while true {
            let status = try client.ask(ControlCommands.Status.blank).content.status
            if condition.holds(status) {
                if json { Console.print(status.json) }
                return
            }
            _ = try nextLine(&client, patience, Self.missing(condition))
        }
    }

    private func nextLine(
        _ client: inout ControlClient,
        _ patience: Patience,
        _ failure: String
    ) throws(ProgramError) -> [UInt8] {
        switch try client.nextLine(within: patience.left) {
        case .line(let line): return line
        case .nothingYet: throw timedOut(failure)
        case .ended:
            throw ProgramError(.unavailable, "\(failure) before the watch ended", advice: "see its log")
        }
    }
}
