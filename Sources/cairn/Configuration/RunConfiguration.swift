import Daemon
import HCIRuntime
import Settings

/// All settings of a watch, from every layer.
struct RunConfiguration {
    /// The settings that have a value.
    let values: [SettingValue]
    /// What they make.
    let plan: RunPlan

    /// Puts the layers together.
    /// - Parameters:
    ///   - typed: the settings that were typed.
    ///   - board: the board file that was named, if one was.
    init(typed: [SettingKey: [String]], board: String?) throws(ProgramError) {
        // The command line is looked at first: what is wrong with it is in front of the person's eyes.
        try Self.check(typed)
        let environment = [String: String].cairnEnvironment
        let keys = RunSettings.settings.map(\.key)
        let strangers = SettingKey.problems(inEnvironment: environment, against: keys, besides: Environment.others)
        guard strangers.isEmpty else { throw ProgramError(strangers) }
        var file: BoardFile?
        if let path = board ?? environment["CAIRN_BOARD"] { file = try Self.read(path) }
        let layers = SettingLayers(
            of: RunSettings.settings,
            typed: typed,
            environment: environment,
            file: file
        )
        values = layers.settings(keys)
        let reading = RunSettings.read(values)
        guard let plan = reading.target else { throw ProgramError(reading.problems) }
        self.plan = plan
    }

    private static func check(_ typed: [SettingKey: [String]]) throws(ProgramError) {
        var layers = SettingLayers()
        layers.commandLine = typed
        let problems = RunSettings.read(layers.settings(Array(typed.keys))).problems.filter { !$0.isConflict }
        guard problems.isEmpty else { throw ProgramError(problems) }
    }

    private static func read(_ path: String) throws(ProgramError) -> BoardFile {
        let file: BoardFile
        do throws(SettingError) {
            file = try BoardFile(path: path)
        } catch {
            throw ProgramError([error])
        }
        let problems = RunSettings.problems(in: file)
        guard problems.isEmpty else { throw ProgramError(problems) }
        return file
    }
}

extension RunPlan {
    /// Makes a plan of what was typed, for a command that has no other places for its settings.
    /// - Parameter command: such as `cairn demo`.
    init(_ typed: [SettingKey: [String]], of settings: [Setting<RunPlan>], command: String) throws(ProgramError) {
        let values = SettingLayers(of: settings, typed: typed).settings(settings.map(\.key))
        let reading = SettingsReading(values, of: settings)
        guard let plan = reading.target else { throw ProgramError(reading.problems, command: command) }
        self = plan
    }
}

extension ProgramError {
    /// Everything that is wrong with settings, as the end of the program.
    /// - Parameter command: whose help says more.
    init(_ problems: [SettingError], command: String = "cairn run") {
        let isUsage = problems.contains(where: \.isTyped)
        let isUnreadable = problems.contains(where: \.isUnreadable)
        let help = problems.count == 1 ? problems.first?.help : nil
        self.init(
            isUsage ? .usage : isUnreadable ? .unavailable : .configuration,
            problems.map(\.description).joined(separator: "\n"),
            advice: isUsage
                ? help.map { "\($0) See \(command) --help" } ?? "see \(command) --help"
                : "see Docs/boards.md for every setting; cairn config check FILE looks at a file only"
        )
    }
}
