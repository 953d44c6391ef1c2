extension SettingSyntax {
    /// One word that a closure reads. An error that it throws is told to the person with its description.
    /// - Parameters:
    ///   - takes: what the setting takes, in words.
    ///   - placeholder: what stands for the value in the help.
    ///   - print: the word for a value.
    ///   - parse: throws ``SettingRefusal/notUnderstood`` for text that is nothing that the setting takes.
    public static func word(
        _ takes: String,
        placeholder: String? = nil,
        print: @escaping @Sendable (Value) -> String = { "\($0)" },
        parse: @escaping @Sendable (String) throws -> Value
    ) -> SettingSyntax {
        SettingSyntax(takes: takes, placeholder: placeholder, print: { [print($0)] }) { try parse($0.first ?? "") }
    }

    /// One word, or the option alone.
    /// - Parameter alone: the word that the option alone means.
    public static func optionalWord(
        _ takes: String,
        placeholder: String,
        alone: Value,
        print: @escaping @Sendable (Value) -> String = { "\($0)" },
        parse: @escaping @Sendable (String) throws -> Value
    ) -> SettingSyntax {
        SettingSyntax(
            .optionalWord(alone: print(alone)),
            takes: takes,
            placeholder: placeholder,
            print: { [print($0)] },
            parse: { try parse($0.first ?? "") }
        )
    }

    /// A list that is typed as one word with commas, and that a closure reads as a whole.
    public static func list(
        _ takes: String,
        placeholder: String,
        print: @escaping @Sendable (Value) -> [String],
        parse: @escaping @Sendable ([String]) throws -> Value
    ) -> SettingSyntax {
        SettingSyntax(.list, takes: takes, placeholder: placeholder, print: print, parse: parse)
    }

    /// A list whose option is typed once for each element; a closure reads each.
    public static func each<Element>(
        _ takes: String,
        placeholder: String,
        print: @escaping @Sendable (Element) -> String = { "\($0)" },
        parse: @escaping @Sendable (String) throws -> Element
    ) -> SettingSyntax where Value == [Element] {
        SettingSyntax(.repeated, takes: takes, placeholder: placeholder, print: { $0.map(print) }) { try $0.map(parse) }
    }
}

extension SettingSyntax where Value == String {
    /// Any text but none.
    public static func path(_ takes: String, placeholder: String = "path") -> SettingSyntax {
        .word(takes, placeholder: placeholder, parse: SettingPath.parse)
    }
}

extension SettingSyntax where Value == [String] {
    /// A list of paths.
    public static func paths(_ takes: String, placeholder: String) -> SettingSyntax {
        .each(takes, placeholder: placeholder, parse: SettingPath.parse)
    }
}

/// The path of a file or a directory, which may be there or not.
public enum SettingPath {
    /// Refuses text that names nothing.
    @Sendable public static func parse(_ text: String) throws(SettingRefusal) -> String {
        guard text.isEmpty else { return text }
        throw .because("a path is missing: nothing stands there; name one, or leave the option out")
    }
}

extension SettingSyntax where Value == Bool {
    /// True or false.
    public static var flag: SettingSyntax {
        SettingSyntax(.flag, takes: "true or false", print: { ["\($0)"] }) { words in
            guard let value = Bool(words.first ?? "") else { throw SettingRefusal.because("this takes true or false") }
            return value
        }
    }
}

extension SettingSyntax where Value: SettingChoice {
    /// The name of one of few values.
    public static var choice: SettingSyntax {
        let names = Value.choices.map(\.choiceName)
        return SettingSyntax(
            takes: "one of " + names.joined(separator: ", "),
            names: ChoiceNames<Value>.self,
            print: { [$0.choiceName] },
            parse: { words in
                let word = words.first ?? ""
                // A loop, since generic algorithms look up their types by name, which is a good part of a program's start.
                let choices = Value.choices
                for index in 0..<choices.count {
                    let choice = choices[index]
                    if choice.choiceName == word || choice.otherChoiceNames.contains(word) { return choice }
                }
                throw SettingRefusal.notUnderstood
            }
        )
    }
}

extension SettingSyntax where Value: FixedWidthInteger {
    /// A number in a range.
    /// - Parameter unit: such as `dBm`.
    public static func number(_ range: ClosedRange<Value>, of unit: String? = nil) -> SettingSyntax {
        let words = "from \(range.lowerBound) to \(range.upperBound)"
        return SettingSyntax(
            takes: "a number \(unit.map { "of \($0) " } ?? "")\(words)",
            placeholder: unit,
            rangeSentence: "F\(words.dropFirst()).",
            allowsDash: range.lowerBound < 0,
            print: { ["\($0)"] },
            parse: { text in
                guard let value = Value(text.first ?? ""), range.contains(value) else {
                    throw SettingRefusal.notUnderstood
                }
                return value
            }
        )
    }

    /// A number that only its type limits.
    public static func number(_ takes: String = "a number", placeholder: String) -> SettingSyntax {
        .word(takes, placeholder: placeholder) { text in
            guard let value = Value(text) else { throw SettingRefusal.notUnderstood }
            return value
        }
    }
}

extension SettingSyntax where Value == Double {
    /// A number in a range, which need not be whole.
    /// - Parameter unit: such as `percent`.
    public static func decimal(_ range: ClosedRange<Int>, of unit: String) -> SettingSyntax {
        let words = "from \(range.lowerBound) to \(range.upperBound)"
        return SettingSyntax(
            takes: "a number of \(unit) \(words)",
            placeholder: unit,
            rangeSentence: "F\(words.dropFirst()).",
            allowsDash: range.lowerBound < 0,
            print: { [$0.rounded() == $0 && abs($0) < 1e9 ? "\(Int($0))" : "\($0)"] },
            parse: { text in
                guard let value = Double(text.first ?? ""),
                    (Double(range.lowerBound)...Double(range.upperBound)).contains(value)
                else { throw SettingRefusal.notUnderstood }
                return value
            }
        )
    }
}

/// What people count time in.
public enum SettingTimeUnit: String, Sendable {
    /// Thousandths of a second.
    case milliseconds
    /// Seconds.
    case seconds
    /// 60 seconds.
    case minutes

    var duration: Duration {
        switch self {
        case .milliseconds: .milliseconds(1)
        case .seconds: .seconds(1)
        case .minutes: .seconds(60)
        }
    }
}

extension SettingSyntax where Value == Duration {
    /// A whole number of units of time, in a range.
    public static func duration(_ range: ClosedRange<Int>, _ unit: SettingTimeUnit) -> SettingSyntax {
        let number = SettingSyntax<Int>.number(range, of: unit.rawValue)
        return SettingSyntax(
            takes: number.takes,
            placeholder: number.placeholder,
            rangeSentence: number.rangeSentence,
            print: { ["\(Int(($0 / unit.duration).rounded()))"] },
            parse: { unit.duration * (try number.parse($0)) }
        )
    }
}
