import ArgumentParser
import Settings
import Daemon
import HCIRuntime

/// Everything that was said about a watch, wherever it was said.
///
/// What a board file and the environment say takes the way of the command line: each setting is an option. So it means the
/// same, and what is wrong with it is found by the same code, wherever it comes from.
struct RunConfiguration {
    /// The settings that have a value.
    let settings: [SettingValue]
    /// The watch's command with all of them.
    let command: RunCommand

    /// Puts the layers together.
    /// - Parameters:
    ///   - board: the path of a board file, if one is named on the command line.
    ///   - words: the words of a command line of `cairn run` that ArgumentParser has accepted.
    ///   - typed: what it made of them, if it has to stand for the whole where no file or variable says anything.
    init(board: String?, words: some Sequence<String>, typed: RunCommand? = nil) throws(ProgramError) {
        let environment = [String: String].cairnEnvironment
        let strangers = SettingKey.problems(
            inEnvironment: environment,
            against: RunSetting.all.map(\.key),
            besides: Environment.others
        )
        guard strangers.isEmpty else { throw Self.error(strangers) }
        var file: BoardFile?
        if let path = board ?? environment["CAIRN_BOARD"] { file = try Self.read(path) }
        settings = SettingLayers(words: CommandWords(words), environment: environment, file: file)
            .settings(RunSetting.all.map(\.key))
        // Debug builds check every option whenever they parse, which is most of a start: not twice without need.
        if let typed, settings.allSatisfy(\.isTypedOrUsual), (try? typed.checkTogether()) != nil {
            command = typed
            return
        }
        let check = SettingsCheck(settings)
        guard let command = check.command else { throw Self.error(check.problems, check.isUsage) }
        self.command = command
    }

    private static func read(_ path: String) throws(ProgramError) -> BoardFile {
        let file: BoardFile
        do throws(SettingError) {
            file = try BoardFile(path: path)
        } catch {
            throw Self.error([error])
        }
        let problems = SettingsCheck.problems(in: file)
        guard problems.isEmpty else { throw error(problems) }
        return file
    }

    /// All that is wrong, as the end of the program.
    private static func error(_ problems: [SettingError], _ isUsage: Bool = false) -> ProgramError {
        let isUnreadable = problems.contains(where: \.isUnreadable)
        return ProgramError(
            isUsage ? .usage : isUnreadable ? .unavailable : .configuration,
            problems.map(\.description).joined(separator: "\n"),
            advice: isUsage
                ? "see cairn run --help"
                : "see Docs/boards.md for every setting; cairn config check FILE looks at a file only"
        )
    }
}
