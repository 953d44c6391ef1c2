import ArgumentParser
import Control
import Faults

/// `cairn fault`
struct FaultCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fault",
        abstract: "Make the watch fail on purpose.",
        discussion: """
            Each fault has a name; “cairn fault names” lists them. It is there until its time is over, until it has fired as \
            often as it may, until it is cleared, or until the watch's process ends. Each of its firings is an event “fault”, a \
            line in the log and a packet in captures.

              cairn fault add att.error opcode=0x0A error=5 --count 3
              cairn fault add ppogatt.ack-lost --for 30s --probability 0.5 --seed 1
              cairn fault list
              cairn fault clear 2

            A watch on a real controller takes faults only if it was started with --faults-allowed.
            """,
        subcommands: [Add.self, List.self, Names.self, Clear.self]
    )

    /// `cairn fault add`
    struct Add: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "add",
            abstract: ControlCommands.FaultAdd.help,
            discussion: """
                Times are written as 250ms, 2s or 1.5min; a number alone is in seconds. “cairn fault names NAME” says what a \
                fault takes. Prints the number that the fault goes by.
                """
        )

        @Argument(help: "The fault.", completion: .list(FaultDefinition.all.map(\.name)))
        var name: String

        @Argument(help: ArgumentHelp("What it is to do, in its own words.", valueName: "key=value"))
        var parameters: [String] = []

        @Option(name: .customLong("for"), help: .option(.for, "time"))
        var duration: String?
        @Option(help: .option(.after, "time"))
        var after: String?
        @Option(help: .option(.skip, "number"))
        var skip: String?
        @Option(help: .option(.count, "number"))
        var count: String?
        @Option(help: .option(.every, "time"))
        var every: String?
        @Option(help: .option(.probability, "number"))
        var probability: String?
        @Option(help: .option(.seed, "number"))
        var seed: String?
        @Option(help: .option(.phone, "address"))
        var phone: String?

        @OptionGroup var watch: WatchReference

        /// What was typed, as `key=value`.
        private var words: [String] {
            let options: [(FaultKey, String?)] = [
                (.for, duration), (.after, after), (.skip, skip), (.count, count), (.every, every),
                (.probability, probability), (.seed, seed), (.phone, phone),
            ]
            return parameters + options.compactMap { key, value in value.map { "\(key.rawValue)=\($0)" } }
        }

        private var fault: Fault {
            get throws {
                do throws(FaultError) {
                    return try Fault(named: name, words)
                } catch {
                    throw ValidationError(error.description)
                }
            }
        }

        func validate() throws { _ = try fault }

        func run() throws {
            let fault = try fault
            var command = ControlCommands.FaultAdd.blank
            command.name = fault.name
            for argument in fault.arguments { command.arguments[argument.key] = argument.value }
            try watch.ask(command) { "\($0.content.number)" }
        }
    }

    /// `cairn fault list`
    struct List: ParsableCommand {
        static let configuration = CommandConfiguration(commandName: "list", abstract: ControlCommands.FaultList.help)

        @Flag(help: "As JSON, for programs.")
        var json = false

        @OptionGroup var watch: WatchReference

        func run() throws {
            try watch.ask(ControlCommands.FaultList.blank) { reply in
                if json, let value = reply.content.values.first?.value { return value.json }
                let rows = reply.content.faults.map { fault in
                    let state = fault.isAtWork ? "" : "waits"
                    return ["\(fault.number)", fault.words, "fired \(fault.firings) times", state]
                }
                return Columns.lines(rows, none: "no fault is there").map(\.printable).joined(separator: "\n")
            }
        }
    }

    /// `cairn fault names`
    struct Names: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "names",
            abstract: ControlCommands.FaultNames.help,
            discussion: "Needs no watch. With a name, says what that fault takes."
        )

        @Argument(help: "The fault; without it, all of them.", completion: .list(FaultDefinition.all.map(\.name)))
        var name: String?

        @Flag(help: "As a table in Markdown, which Docs/faults.md has.")
        var markdown = false

        func validate() throws {
            guard let name, FaultDefinition(named: name) == nil else { return }
            do throws(FaultError) {
                _ = try Fault(named: name, [])
            } catch {
                throw ValidationError(error.description)
            }
        }

        func run() {
            if markdown { return Console.print(FaultReference.markdown) }
            guard let definition = name.flatMap(FaultDefinition.init(named:)) else {
                let rows = FaultDefinition.all.map { [$0.name, $0.help] }
                return Console.print(Columns.lines(rows, none: "").joined(separator: "\n"))
            }
            let rows = (definition.parameters + FaultParameter.options).map { parameter in
                let usual = parameter.fallback.map { " (\($0) if left out)" } ?? ""
                return [parameter.key.rawValue + "=", parameter.help + usual, parameter.form.description]
            }
            Console.print(([definition.help] + Columns.lines(rows, none: "")).joined(separator: "\n"))
        }
    }

    /// `cairn fault clear`
    struct Clear: ParsableCommand {
        static let configuration = CommandConfiguration(commandName: "clear", abstract: ControlCommands.FaultClear.help)

        @Argument(help: "The fault's number; without it, all of them.")
        var number: Int?

        @OptionGroup var watch: WatchReference

        func validate() throws {
            if let number, number < 1 {
                throw ValidationError("faults are numbered from 1 on: cairn fault list has them")
            }
        }

        func run() throws {
            var command = ControlCommands.FaultClear.blank
            command.number = number
            try watch.ask(command)
        }
    }
}

extension ArgumentHelp {
    /// The help of an option that every fault has.
    fileprivate static func option(_ key: FaultKey, _ valueName: String) -> ArgumentHelp {
        let help = FaultParameter.options.first { $0.key == key }?.help ?? ""
        return ArgumentHelp(stringLiteral: help.prefix(1).uppercased() + help.dropFirst() + ".").named(valueName)
    }

    private func named(_ name: String) -> ArgumentHelp {
        var copy = self
        copy.valueName = name
        return copy
    }
}
