import ArgumentParser

/// A command that has an option for every setting.
///
/// ArgumentParser finds out by reflection which options a type has. So this type says that it has one for each setting, and
/// finds what was typed by the setting's name. Values are not looked at: other places may say something about them too.
///
/// The command itself says so, and not a group of options in it, because ArgumentParser's debug builds check each option
/// four times as often for each group that it is in.
public protocol SettingCommand: ParsableCommand, CustomReflectable {
    /// The settings.
    associatedtype Catalog: SettingCatalog
    /// For each setting that was typed, its words.
    var typed: [SettingKey: [String]] { get set }
    /// Options besides those of settings, as reflection shows them: the name of the property wrapper, and the wrapper.
    var otherOptions: [Mirror.Child] { get }
    /// Takes what ArgumentParser has parsed of the other options, by the names of their properties.
    mutating func takeOtherOptions(of container: KeyedDecodingContainer<SettingOptionKey>) throws
}

extension SettingCommand {
    /// Takes what ArgumentParser has parsed.
    public init(from decoder: any Decoder) throws {
        self.init()
        let container = try decoder.container(keyedBy: SettingOptionKey.self)
        try takeOtherOptions(of: container)
        for (index, group) in Catalog.groups.enumerated() {
            typed.merge(try group.typed(container, SettingOptionKey(group: index))) { first, _ in first }
        }
    }

    /// The other options, and a child for each group of settings, as ArgumentParser looks for options and their groups.
    public var customMirror: Mirror {
        let groups = Catalog.groups.enumerated().map { index, group -> Mirror.Child in
            ("_\(SettingOptionKey(group: index).stringValue)", group.definition())
        }
        return Mirror(self, children: otherOptions + groups)
    }
}

/// The options of the settings of one group.
public struct SettingGroupOptions<Group: SettingGroup>: ParsableArguments, CustomReflectable {
    /// For each setting that was typed, its words.
    public private(set) var typed: [SettingKey: [String]] = [:]

    /// Defines the options.
    public init() {}

    /// Takes what ArgumentParser has parsed.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: SettingOptionKey.self)
        for setting in Group.settings { typed[setting.key] = try setting.typed(in: container) }
    }

    /// A child for each setting, as ArgumentParser looks for options.
    public var customMirror: Mirror {
        Mirror(self, children: Group.settings.map { ("_\($0.option)", $0.definition) })
    }
}

/// The name that ArgumentParser keeps an option or a group under.
public struct SettingOptionKey: CodingKey {
    /// The name of a property.
    public let stringValue: String
    /// There are no numbers for options.
    public let intValue: Int? = nil

    /// Names a property.
    public init(stringValue: String) { self.stringValue = stringValue }

    /// Makes none: there are no numbers for options.
    public init?(intValue: Int) { return nil }

    init(group index: Int) { stringValue = "group\(index)" }
}

/// A word on the command line, or a default, which was not typed.
struct OptionWord<Names: SettingNames>: ExpressibleByArgument, CustomStringConvertible {
    let text: String
    let isTyped: Bool

    /// Takes every word: whether it is a value is found out where it is said what else would be.
    init(argument: String) {
        text = argument
        isTyped = true
    }

    init(usual: String) {
        text = usual
        isTyped = false
    }

    var description: String { text }

    static var allValueStrings: [String] { Names.names }

    static var defaultCompletionKind: CompletionKind { Names.names.isEmpty ? .default : .list(Names.names) }
}

extension Setting {
    /// ArgumentParser's definition of the option.
    fileprivate var definition: Any { definition(names) }

    private func definition<Names: SettingNames>(_: Names.Type) -> Any {
        let name = NameSpecification.customLong(option)
        let help = ArgumentHelp(wholeHelp, valueName: placeholder)
        switch form {
        case .flag:
            return Flag<Bool?>(name: name, inversion: .prefixedNo, exclusivity: .chooseLast, help: help)
        case .repeated:
            return Option<[OptionWord<Names>]>(wrappedValue: [], name: name, help: help)
        case .optionalWord(let alone):
            return Option<OptionWord<Names>?>(name: name, defaultAsFlag: OptionWord(argument: alone), help: help)
        case .word, .list:
            let strategy = allowsDash ? SingleValueParsingStrategy.unconditional : .next
            guard let usual = usualWord else {
                return Option<OptionWord<Names>?>(name: name, parsing: strategy, help: help)
            }
            return Option(wrappedValue: OptionWord<Names>(usual: usual), name: name, parsing: strategy, help: help)
        }
    }

    /// What was typed; nil if nothing was.
    fileprivate func typed(in container: KeyedDecodingContainer<SettingOptionKey>) throws -> [String]? {
        try typed(names, in: container)
    }

    private func typed<Names: SettingNames>(
        _: Names.Type,
        in container: KeyedDecodingContainer<SettingOptionKey>
    ) throws -> [String]? {
        let key = SettingOptionKey(stringValue: option)
        switch form {
        case .flag:
            return try container.decode(Flag<Bool?>.self, forKey: key).wrappedValue.map { ["\($0)"] }
        case .repeated:
            let words = try container.decode(Option<[OptionWord<Names>]>.self, forKey: key).wrappedValue
            return words.isEmpty ? nil : words.map(\.text)
        case .word, .list, .optionalWord:
            let word =
                if usualWord == nil {
                    try container.decode(Option<OptionWord<Names>?>.self, forKey: key).wrappedValue
                } else {
                    try container.decode(Option<OptionWord<Names>>.self, forKey: key).wrappedValue
                }
            guard let word, word.isTyped else { return nil }
            return form.words(of: word.text)
        }
    }

    /// The default as ArgumentParser is told of it: not that of a flag, which it would take for what was typed.
    private var usualWord: String? {
        switch form {
        case .word, .list: usual?.joined(separator: ",")
        case .flag, .repeated, .optionalWord: nil
        }
    }

    /// What the help says of it; names and a default that is a word are ArgumentParser's to add.
    private var wholeHelp: String {
        var text = help
        if let rangeSentence { text += " " + rangeSentence }
        if let usualWithBoardFile {
            text += " With a board file that says nothing, it is \(usualWithBoardFile.joined(separator: ","))."
        }
        if let otherwise { text += " (default: \(otherwise))" }
        if form == .flag, let usual { text += " (default: --\(usual == ["true"] ? "" : "no-")\(option))" }
        return text
    }
}
