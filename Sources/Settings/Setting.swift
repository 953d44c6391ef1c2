/// What the values of settings go into. A new one holds what is true where nothing is said.
public protocol SettingTarget: Sendable {
    /// Makes one to which nothing was said.
    init()
}

/// A setting, declared once: what it is called in a board file, in the environment and on the command line, how its value is
/// written, what it is by default, what it is for, and where its value goes.
///
/// The command line with its help and its completion, the manual page, the environment, board files, `cairn config` and the
/// table in the documentation have it from here.
public struct Setting<Target: SettingTarget>: Sendable {
    /// Its name in board files.
    public let key: SettingKey
    /// Its option's name, without dashes.
    public let option: String
    /// What it takes, in words.
    public let takes: String
    /// What it is for, in sentences.
    public let help: String
    /// The words of its default; nil if it has none, or one that depends on others.
    public let usual: [String]?
    /// The words of the default where there is a board file, if that is another.
    public let usualWithBoardFile: [String]?
    /// In words, what holds where nothing is said, if that is no value.
    public let otherwise: String?
    /// The page of the documentation that says more, such as `security.md`.
    public let page: String?

    let form: SettingForm
    let names: any SettingNames.Type
    let placeholder: String?
    let rangeSentence: String?
    let allowsDash: Bool
    let need: SettingNeed<Target>?
    let fromServiceManager: @Sendable () -> String?
    let apply: @Sendable ([String], inout Target) throws(SettingRefusal) -> Void

    /// Declares a setting whose value a closure takes.
    /// - Parameters:
    ///   - name: its name in board files, with its section, such as `pairing.phones`.
    ///   - option: its option's name, without dashes.
    ///   - syntax: how its value is written.
    ///   - placeholder: what stands for the value in the help; nil for what is usual for the syntax.
    ///   - standard: its default.
    ///   - withBoardFile: the default where there is a board file, if that is another.
    ///   - otherwise: in words, what holds where nothing is said, if that is no value.
    ///   - fromServiceManager: what a service manager says about it, which comes before the default.
    ///   - need: another setting without which it makes no sense.
    ///   - help: what it is for. Neither its names, nor its range, nor its default: those are added.
    ///   - page: the page of the documentation that says more.
    ///   - apply: puts the value where it goes.
    public init<Value>(
        _ name: String,
        option: String,
        _ syntax: SettingSyntax<Value>,
        placeholder: String? = nil,
        default standard: Value? = nil,
        withBoardFile: Value? = nil,
        otherwise: String? = nil,
        fromServiceManager: @escaping @Sendable () -> String? = { nil },
        needs need: SettingNeed<Target>? = nil,
        help: String,
        page: String? = nil,
        apply: @escaping @Sendable (inout Target, Value) throws -> Void
    ) {
        key = SettingKey(name, isList: syntax.form.isList)
        self.option = option
        self.help = help
        self.otherwise = otherwise
        self.page = page
        self.need = need
        self.fromServiceManager = fromServiceManager
        takes = syntax.takes
        form = syntax.form
        names = syntax.names
        self.placeholder = placeholder ?? syntax.placeholder
        rangeSentence = syntax.rangeSentence
        allowsDash = syntax.allowsDash
        // A list that is empty is no default to tell of.
        usual = standard.map(syntax.print).flatMap { $0.isEmpty ? nil : $0 }
        usualWithBoardFile = withBoardFile.map(syntax.print)
        self.apply = { words, target throws(SettingRefusal) in
            let value = try syntax.parse(words)
            do {
                try apply(&target, value)
            } catch {
                throw .because("\(error)")
            }
        }
    }

    /// Declares a setting whose value goes into a property. What the property of a new target has is its default.
    public init<Value>(
        _ name: String,
        option: String,
        _ syntax: SettingSyntax<Value>,
        into property: any WritableKeyPath<Target, Value> & Sendable,
        placeholder: String? = nil,
        withBoardFile: Value? = nil,
        needs need: SettingNeed<Target>? = nil,
        help: String,
        page: String? = nil
    ) {
        self.init(
            name,
            option: option,
            syntax,
            placeholder: placeholder,
            default: Target()[keyPath: property],
            withBoardFile: withBoardFile,
            needs: need,
            help: help,
            page: page
        ) { $0[keyPath: property] = $1 }
    }

    /// Declares a setting whose value goes into a property if there is one.
    public init<Value>(
        _ name: String,
        option: String,
        _ syntax: SettingSyntax<Value>,
        ifGiven property: any WritableKeyPath<Target, Value?> & Sendable,
        placeholder: String? = nil,
        otherwise: String? = nil,
        fromServiceManager: @escaping @Sendable () -> String? = { nil },
        needs need: SettingNeed<Target>? = nil,
        help: String,
        page: String? = nil
    ) {
        self.init(
            name,
            option: option,
            syntax,
            placeholder: placeholder,
            otherwise: otherwise,
            fromServiceManager: fromServiceManager,
            needs: need,
            help: help,
            page: page
        ) { $0[keyPath: property] = $1 }
    }
}

/// Another setting without which one makes no sense.
public struct SettingNeed<Target: SettingTarget>: Sendable {
    /// What is needed, such as `a beacon`.
    let what: String
    /// The setting that gives it, by its name in board files.
    let setting: String
    /// What to write there.
    let value: String
    let isMet: @Sendable (Target) -> Bool

    /// Says what is needed.
    /// - Parameters:
    ///   - what: such as `a beacon`.
    ///   - setting: the setting that gives it, by its name in board files.
    ///   - value: what to write there, such as `UUID`.
    ///   - isMet: whether it is there, once all settings have been applied.
    public init(
        _ what: String,
        from setting: String,
        _ value: String,
        isMet: @escaping @Sendable (Target) -> Bool
    ) {
        self.what = what
        self.setting = setting
        self.value = value
        self.isMet = isMet
    }

    /// What is wrong with a setting that lacks it.
    func conflict(of name: String) -> SettingConflict {
        SettingConflict(of: name) { [what, setting, value] naming in
            "\(naming(name)) needs \(what): add \(naming(setting)) \(value), or leave \(naming(name)) out"
        }
    }
}

/// Settings that do not go together.
public struct SettingConflict: Sendable {
    /// The setting that is to be changed, by its name in board files.
    let setting: String
    /// What is wrong, and what to do; it is handed what gives settings the names by which the person knows them.
    let problem: @Sendable (_ naming: (String) -> String) -> String

    /// Says what does not go together.
    /// - Parameters:
    ///   - setting: the setting that is to be changed, by its name in board files.
    ///   - problem: what is wrong and what to do. `naming` makes a setting's name in board files its option's name where
    ///     the setting was typed.
    public init(of setting: String, problem: @escaping @Sendable (_ naming: (String) -> String) -> String) {
        self.setting = setting
        self.problem = problem
    }
}
