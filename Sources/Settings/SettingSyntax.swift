/// How the value of a setting is written: what a person reads about it, how text becomes a value, and a value text.
public struct SettingSyntax<Value: Sendable>: Sendable {
    /// What it takes, in words, such as `a number from 1 to 16`.
    public let takes: String
    /// What stands for the value in the help, such as `seconds`; nil for the option's name.
    let placeholder: String?
    /// The range as a sentence for the help, such as `From 1 to 16.`; nil if there is none.
    let rangeSentence: String?
    /// Whether a value can begin with a dash, as numbers below zero do.
    let allowsDash: Bool
    /// The names that are the only values, if they are so few.
    let names: any SettingNames.Type
    let form: SettingForm
    /// Makes a value of the words: one, or those of a list.
    let parse: @Sendable ([String]) throws(SettingRefusal) -> Value
    /// The words that make this value.
    let print: @Sendable (Value) -> [String]

    init(
        _ form: SettingForm = .word,
        takes: String,
        placeholder: String? = nil,
        rangeSentence: String? = nil,
        allowsDash: Bool = false,
        names: any SettingNames.Type = FreeText.self,
        print: @escaping @Sendable (Value) -> [String],
        parse: @escaping @Sendable ([String]) throws -> Value
    ) {
        self.form = form
        self.takes = takes
        self.placeholder = placeholder
        self.rangeSentence = rangeSentence
        self.allowsDash = allowsDash
        self.names = names
        self.print = print
        self.parse = { words throws(SettingRefusal) in
            do {
                return try parse(words)
            } catch let refusal as SettingRefusal {
                throw refusal
            } catch {
                throw .because("\(error)")
            }
        }
    }
}

/// Why text is no value of a setting.
public enum SettingRefusal: Error, Equatable, Sendable {
    /// It is none of what the setting takes. What that is, a person is told along with it.
    case notUnderstood
    /// A sentence that says what is wrong and what to write instead.
    case because(String)
}

/// How many words a setting has, and how they are typed.
public enum SettingForm: Sendable, Equatable {
    /// `--option WORD`
    case word
    /// `--option WORD`, or `--option` alone, which means a word too.
    case optionalWord(alone: String)
    /// `--option` and `--no-option`, for true and false.
    case flag
    /// A list: `--option WORD,WORD`
    case list
    /// A list: `--option WORD --option WORD`
    case repeated

    var isList: Bool {
        switch self {
        case .list, .repeated: true
        case .word, .optionalWord, .flag: false
        }
    }
}

/// A type with few values, each of which has a name that people write.
public protocol SettingChoice: Sendable, SendableMetatype {
    /// All values, in the order in which people are told of them.
    static var choices: [Self] { get }
    /// What people write for it: lowercase letters, digits and hyphens.
    var choiceName: String { get }
    /// What else is understood; people are told of these by help alone.
    var otherChoiceNames: [String] { get }
}

extension SettingChoice {
    /// Nothing else.
    public var otherChoiceNames: [String] { [] }
}

extension SettingChoice where Self: CaseIterable {
    /// All cases, in the order of their declaration.
    public static var choices: [Self] { Array(allCases) }
}

extension SettingChoice where Self: RawRepresentable<String> {
    /// The raw value.
    public var choiceName: String { rawValue }
}

/// The names that a setting takes, as a type: ArgumentParser asks types for them.
protocol SettingNames: SendableMetatype {
    static var names: [String] { get }
}

/// Names of choices.
enum ChoiceNames<Value: SettingChoice>: SettingNames {
    static var names: [String] { Value.choices.map(\.choiceName) }
}

/// No names: a setting that takes more than can be counted.
enum FreeText: SettingNames {
    static var names: [String] { [] }
}
