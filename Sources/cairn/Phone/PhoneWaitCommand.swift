import ArgumentParser
import Control
import Daemon
import HCIRuntime
import Settings

/// `cairn phone wait`
struct PhoneWaitCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "wait",
        abstract: "Wait until the phone is ready, or until something has happened on it.",
        discussion: """
            A phone that is only just being started is waited for too.

              ready         its controller is ready, and it takes commands
              connected     there is a link to a watch now
              disconnected  there is none now
              session       the session with a watch is open now
              paired        the phone has keys of a watch

            Everything else is the name of an event. One that has happened since the phone was started counts; with --since, only \
            one with a higher number than that, and session, connected, disconnected and paired are events too. Every answer has \
            the number of the last event before its command, with --json as sequence.

            The status is 0 when it is so, 75 when it is not within --for, and 69 when there is no phone within --for or it has \
            ended. The events are \(PhoneControlEventName.list).
            """
    )

    /// What can be waited for.
    enum Goal {
        case condition(Condition)
        case event(PhoneControlEventName)

        static func argument(_ text: String) throws -> Goal {
            if let condition = Condition(rawValue: text) { return .condition(condition) }
            if let name = PhoneControlEventName(rawValue: text) { return .event(name) }
            let conditions = Condition.allCases.map(\.rawValue)
            let names = conditions + PhoneControlEventName.allCases.map(\.rawValue)
            throw ValidationError(
                "“\(text)” is nothing that can be waited for\(NearestName.question(text, among: names)); there are "
                    + "\(conditions.joined(separator: ", ")), and the events \(PhoneControlEventName.list)"
            )
        }
    }

    /// Something that holds now or does not.
    enum Condition: String, CaseIterable {
        case ready, connected, disconnected, session, paired

        func holds(_ status: PhoneControlStatus) -> Bool {
            switch self {
            case .ready: status.isReady
            case .connected: status.link != nil
            case .disconnected: status.link == nil
            case .session: status.link?.hasSession == true
            case .paired: !status.bonds.isEmpty
            }
        }
    }

    @Argument(help: ArgumentHelp("What to wait for.", valueName: "what"), transform: Goal.argument)
    var goal: Goal

    @Option(help: ArgumentHelp("Only an event after the one of this number counts.", valueName: "number"))
    var since: UInt64?

    @Option(name: .customLong("for"), help: ArgumentHelp("How long to wait.", valueName: "seconds"))
    var seconds = 30.0

    @OptionGroup var phone: PhoneReference

    func validate() throws { try Patience.check(seconds) }

    func run() throws {
        try Console.run { () throws(ProgramError) in
            let patience = Patience(seconds: seconds)
            var client = try patience.connect { () throws(ProgramError) in try phone.connect() }
            switch goal {
            case .event(let name): try wait(for: name, &client, patience)
            case .condition(let condition):
                if since != nil, let name = PhoneControlEventName(rawValue: condition.rawValue) {
                    try wait(for: name, &client, patience)
                } else {
                    try wait(until: condition, &client, patience)
                }
            }
            return .success
        }
    }

    private func wait(
        for name: PhoneControlEventName,
        _ client: inout ControlClient,
        _ patience: Patience
    ) throws(ProgramError) {
        try client.listenToPhone(after: since ?? 0)
        while true {
            let line = try nextLine(&client, patience, "no event “\(name.rawValue)” came")
            guard let event = ControlEventLine(parsing: line), event.event == name.rawValue else { continue }
            return Console.print(phone.json ? String(decoding: line, as: UTF8.self) : event.words)
        }
    }

    /// Every change of a condition is an event: it is looked at again after each.
    private func wait(
        until condition: Condition,
        _ client: inout ControlClient,
        _ patience: Patience
    ) throws(ProgramError) {
        try client.listenToPhone(after: nil)
        while true {
            let status = try client.ask(PhoneControlCommands.Status.blank).content.status
            if condition.holds(status) {
                if phone.json { Console.print(status.json) }
                return
            }
            _ = try nextLine(&client, patience, "the phone was not “\(condition.rawValue)”")
        }
    }

    private func nextLine(
        _ client: inout ControlClient,
        _ patience: Patience,
        _ failure: String
    ) throws(ProgramError) -> [UInt8] {
        switch try client.nextLine(within: patience.left) {
        case .line(let line): return line
        case .nothingYet:
            throw ProgramError(
                .refused,
                "\(failure) in \(seconds) seconds",
                advice: "wait longer with --for; cairn phone status shows how the phone is doing"
            )
        case .ended:
            throw ProgramError(.unavailable, "\(failure) before the phone ended", advice: "see its log")
        }
    }
}

/// `cairn phone events`
struct PhoneEventsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "events",
        abstract: "Print what happens on the phone, until Ctrl-C or until it ends.",
        discussion: """
            With --until, it ends at the first event of that name from now on, and with status 75 if there is none within --for. \
            The events are \(PhoneControlEventName.list).
            """
    )

    @Option(
        help: ArgumentHelp("End, with status 0, after an event of this name.", valueName: "event"),
        transform: PhoneControlEventName.argument
    )
    var until: PhoneControlEventName?

    @Option(help: ArgumentHelp("Begin with what has happened after the event of this number.", valueName: "number"))
    var since: UInt64?

    @Option(name: .customLong("for"), help: ArgumentHelp("End after this long.", valueName: "seconds"))
    var seconds: Double?

    @OptionGroup var phone: PhoneReference

    func validate() throws { try Patience.check(seconds) }

    func run() throws {
        try Console.run { () throws(ProgramError) in
            let patience = Patience(seconds: seconds)
            var client = try phone.connect()
            try client.listenToPhone(after: since)
            while true {
                switch try client.nextLine(within: patience.left) {
                case .line(let line):
                    guard let event = ControlEventLine(parsing: line) else { continue }
                    Console.print(phone.json ? String(decoding: line, as: UTF8.self) : event.words)
                    if event.event == until?.rawValue { return .success }
                case .nothingYet: return try outcome(missing: "in \(seconds ?? 0) seconds")
                case .ended: return try outcome(missing: "before the phone ended")
                }
            }
        }
    }

    private func outcome(missing why: String) throws(ProgramError) -> ExitStatus {
        guard let until else { return .success }
        throw ProgramError(
            .refused,
            "no event “\(until.rawValue)” came \(why)",
            advice: "cairn phone wait \(until.rawValue) also takes one that came before"
        )
    }
}

/// `cairn phone ask`
struct PhoneAskCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ask",
        abstract: "Give the phone any command as JSON, and print its answer.",
        discussion: "Docs/phone-reference.md lists the commands. Example: cairn phone ask '{\"command\":\"ping\"}'"
    )

    @Argument(help: "A JSON object on one line.")
    var request: String

    @OptionGroup var phone: PhoneReference

    func validate() throws {
        guard !request.contains(where: \.isNewline) else { throw ValidationError("a request is one line") }
        guard ControlRequest.isObject(request) else {
            throw ValidationError(
                "“\(request.inOneLine)” is no JSON object; write one such as {\"command\":\"status\"}, in single quotes for the shell"
            )
        }
    }

    func run() throws {
        try Console.run { () throws(ProgramError) in
            var client = try phone.connect()
            Console.print(try client.answerLine(to: request, within: .seconds(2 * PhoneControlCommands.longest)))
            return .success
        }
    }
}

extension ControlClient {
    /// Asks a phone for events: those that come, and before them those after a number.
    fileprivate mutating func listenToPhone(after sequence: UInt64?) throws(ProgramError) {
        _ = try ask(PhoneControlCommands.Events { $0.since = sequence })
    }
}

extension PhoneControlEventName {
    /// Every name, as people are told.
    static let list = allCases.map(\.rawValue).joined(separator: ", ")

    /// The event of a name that was typed.
    static func argument(_ text: String) throws -> PhoneControlEventName {
        guard let name = PhoneControlEventName(rawValue: text) else {
            throw ValidationError(
                "“\(text)” is no event\(NearestName.question(text, among: allCases.map(\.rawValue))); there are \(list)"
            )
        }
        return name
    }
}
