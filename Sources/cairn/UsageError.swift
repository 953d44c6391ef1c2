import ArgumentParser
import Daemon
import HCIRuntime
import Settings

/// What is wrong with a command line, and what to write instead.
///
/// ArgumentParser finds what is wrong, and tells it only in its own sentences: they are taken apart here, so that a person
/// reads the same kind of message for every mistake, with the nearest name where one is near.
struct UsageError {
    private let message: String
    /// What the option is for that is concerned, if ArgumentParser says so.
    private let help: String?
    /// Such as `cairn run`.
    private let command: String
    private let words: [String]

    /// - Parameters:
    ///   - fullMessage: ArgumentParser's, whole.
    ///   - words: the command line, without the program.
    init(fullMessage: String, words: [String]) {
        var rest = fullMessage[...]
        func cut(_ mark: String) -> Substring? {
            guard let range = rest.firstRange(of: mark) else { return nil }
            defer { rest = rest[..<range.lowerBound] }
            return rest[range.upperBound...]
        }
        let see = cut("\n  See '")
        _ = cut("\nUsage: ")
        // What an argument without a name is for makes no sentence without the command's help around it.
        let synopsis = cut("\nHelp:  ").flatMap { $0.hasPrefix("-") ? $0 : nil }
        help = synopsis.flatMap { text in text.firstRange(of: "  ").map { String(text[$0.upperBound...]) } }
        message = rest.hasPrefix("Error: ") ? String(rest.dropFirst("Error: ".count)) : String(rest)
        command =
            see.flatMap { text in text.firstRange(of: " --help'").map { String(text[..<$0.lowerBound]) } } ?? "cairn"
        self.words = words
    }

    /// A word that should be a command.
    init(unknownCommand word: String, of command: String, among names: [String]) {
        message =
            "“\(word)” is no command of \(command)\(NearestName.question(word, among: names)); there are "
            + names.joined(separator: ", ")
        help = nil
        self.command = command
        words = []
    }

    /// For the person at the terminal.
    var error: ProgramError {
        let help = help.map { "\($0.hasSuffix(".") ? $0 : $0 + ".") " } ?? ""
        return ProgramError(.usage, sentence, advice: "\(help)See \(command) --help")
    }

    /// ArgumentParser's sentence in our words; one of our own as it is.
    private var sentence: String {
        if let quoted = message.quoted(after: "Unknown option ") { return unknownOption(quoted) }
        if let quoted = message.quoted(after: "Missing value for ") { return missingValue(quoted) }
        if let quoted = message.quoted(after: "Missing expected argument ") {
            return "\(quoted) is missing\(Self.choices(in: message))"
        }
        if let quoted = message.quoted(after: "Unexpected argument ") {
            return "“\(quoted)” is one word too many for \(command)"
        }
        if message.contains(" unexpected arguments: ") {
            let extra = message.split(separator: ": ", maxSplits: 1).last ?? ""
            return "these words are too many for \(command): \(extra.replacing("'", with: ""))"
        }
        if let value = message.quoted(after: "The value ") { return invalid(value) }
        if let option = message.quoted(after: "The option ") {
            return "\(option) takes no value"
        }
        return message
    }

    private func unknownOption(_ option: String) -> String {
        let known = CairnCommand.helpMessage(for: CairnCommand.type(of: command)).optionNames
        return "\(command) has no option \(option)\(NearestName.question(option, among: known))"
    }

    private func missingValue(_ synopsis: String) -> String {
        let option = String(synopsis.prefix { $0 != " " })
        guard let index = words.firstIndex(of: option), words.indices.contains(index + 1) else {
            return "\(option) needs a value: \(synopsis)"
        }
        // A word with a dash in front is an option to ArgumentParser, also where a number below zero was meant.
        let next = words[index + 1]
        guard next.dropFirst().first?.isNumber == true else { return "\(option) needs a value: \(synopsis)" }
        return "“\(next)” is not understood by \(option): it takes \(Self.takes(option) ?? synopsis)"
    }

    private func invalid(_ value: String) -> String {
        let rest = message.dropFirst("The value '\(value)' is invalid for '".count)
        let name = String(rest.prefix { $0 != "'" && $0 != " " })
        // A reason of our own stands after the name.
        if let reason = rest.firstRange(of: "': ") {
            return (name.hasPrefix("--") ? "\(name): " : "") + rest[reason.upperBound...]
        }
        let choices = Self.choices(in: message)
        let names = choices.isEmpty ? [] : message.allQuoted.dropFirst(2).map { $0 }
        let takes = choices.isEmpty ? Self.takes(name).map { ": it takes \($0)" } ?? "" : choices
        let whose = name.hasPrefix("--") ? "by \(name)" : "as \(name)"
        return "“\(value)” is not understood \(whose)\(takes)\(NearestName.question(value, among: names))"
    }

    /// What an option of `cairn run` takes.
    private static func takes(_ option: String) -> String? {
        RunSettings.settings.first { "--\($0.option)" == option }?.takes
    }

    /// Such as `; there are 'back', 'up', 'select' or 'down'`.
    private static func choices(in message: String) -> String {
        guard let range = message.firstRange(of: "Please provide one of ") else { return "" }
        let list = message[range.upperBound...].replacing("'", with: "").replacing(" or ", with: ", ")
        return ": it takes one of \(list.hasSuffix(".") ? list.dropLast() : list[...])"
    }
}

extension String {
    /// What stands in quotes behind a beginning, if the text begins so.
    fileprivate func quoted(after beginning: String) -> String? {
        guard hasPrefix(beginning + "'") else { return nil }
        let rest = dropFirst(beginning.count + 1)
        // What was typed may have quotes of its own: ArgumentParser's go on with what can follow.
        for end in ["' is invalid for '", "' does not take", "'. ", "', "] {
            if let range = rest.firstRange(of: end) { return String(rest[..<range.lowerBound]) }
        }
        return String(rest.prefix { $0 != "'" })
    }

    /// Everything that stands in quotes.
    fileprivate var allQuoted: [String] {
        split(separator: "'", omittingEmptySubsequences: false).enumerated().filter { !$0.offset.isMultiple(of: 2) }
            .map { String($0.element) }
    }

    /// The long options that a help text lists.
    fileprivate var optionNames: [String] {
        var names: [String] = []
        for word in split(whereSeparator: { " \n,[]/()".contains($0) }) where word.hasPrefix("--") {
            names.append(String(word.prefix { $0.isLetter || $0.isNumber || $0 == "-" }))
        }
        return names
    }
}
