import FoundationEssentials
import HCIRuntime
import Scenarios
import Settings

/// Where scenarios are: files by their path, and those that come with Cairn by their name.
enum ScenarioLibrary {
    /// The directory of those that come with Cairn: the one that CAIRN_SCENARIOS names, the one that is installed beside the
    /// program, or that of the checkout that the program was built in; nil if there is none.
    static var directory: String? {
        if let directory = Environment.directory("CAIRN_SCENARIOS") { return directory }
        guard let program = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") else {
            return nil
        }
        var candidates = ["/usr/share/cairn/scenarios"]
        var place = URL(fileURLWithPath: program).deletingLastPathComponent()
        candidates.insert(place.deletingLastPathComponent().path + "/share/cairn/scenarios", at: 0)
        // .build/CONFIGURATION in a checkout, or .build/TRIPLE/CONFIGURATION.
        for _ in 0..<4 {
            candidates.append(place.path + "/Sources/Scenarios/Shipped")
            place = place.deletingLastPathComponent()
        }
        return candidates.first { !files(in: $0).isEmpty }
    }

    /// The scenarios of a directory, in the order of their names.
    static func files(in directory: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.filter { $0.hasSuffix(".yaml") }.sorted().map { directory + "/" + $0 }
    }

    /// All scenarios of a directory, or those that come with Cairn.
    static func all(in directory: String?) throws(ProgramError) -> [String] {
        guard let directory = directory ?? self.directory else { throw noLibrary }
        let files = files(in: directory)
        guard !files.isEmpty else {
            throw ProgramError(
                .unavailable,
                "there are no scenarios in \(directory)",
                advice: "name a directory with files that end with .yaml"
            )
        }
        return files
    }

    private static let noLibrary = ProgramError(
        .unavailable,
        "the scenarios that come with Cairn are not found",
        advice: "name their directory in CAIRN_SCENARIOS, or name files by their paths"
    )

    /// The path of a scenario that was named: a file, or the name of one that comes with Cairn.
    static func path(of name: String) throws(ProgramError) -> String {
        if name.contains("/") || name.hasSuffix(".yaml") {
            return name.hasPrefix("/") ? name : FileManager.default.currentDirectoryPath + "/" + name
        }
        guard let directory else { throw noLibrary }
        let files = files(in: directory)
        let names = files.map { URL(fileURLWithPath: $0).deletingPathExtension().lastPathComponent }
        guard let index = names.firstIndex(of: name) else {
            throw ProgramError(
                .unavailable,
                "no scenario is called “\(name)”\(NearestName.question(name, among: names))",
                advice:
                    "cairn scenario list shows those that come with Cairn; a file of yours is named by its path, such as ./\(name).yaml"
            )
        }
        return files[index]
    }

    /// Reads a scenario.
    /// - Parameter parameters: values in the place of the defaults.
    static func read(_ path: String, parameters: [String: String] = [:]) throws(ScenarioErrors) -> Scenario {
        let text: String
        do {
            text = try contents(of: path)
        } catch {
            throw ScenarioErrors([ScenarioError(ScenarioPlace(file: path), "it cannot be read: \(explain(error))")])
        }
        let scenario = try ScenarioReader.read(text, path: path, parameters: parameters, load: contents)
        do throws(ProgramError) {
            _ = try RunPlan(of: scenario)
        } catch {
            throw ScenarioErrors([ScenarioError(ScenarioPlace(file: path), "watch: \(error.what)")])
        }
        return scenario
    }

    private static func contents(of path: String) throws -> String {
        try String(contentsOfFile: path, encoding: .utf8)
    }

    private static func explain(_ error: any Error) -> String {
        let code = (error as? CocoaError)?.code
        return switch code {
        case .fileReadNoSuchFile: "there is no such file"
        case .fileReadNoPermission: "this user may not read it"
        case .fileReadInapplicableStringEncoding, .fileReadCorruptFile: "this is not UTF-8 text"
        default: "see whether it is a file that this user may read"
        }
    }
}

extension RunPlan {
    /// The settings of a watch that a scenario may have: what the watch is, not where it runs.
    private static let settingsOfScenarios: [Setting<RunPlan>] = {
        let settings =
            WatchSettings.settings + PairingSettings.settings + LinkSettings.settings + AdvertisingSettings.settings
        return settings.filter { !["address", "capture"].contains($0.key.name) }
    }()

    /// The watch of a scenario.
    init(of scenario: Scenario) throws(ProgramError) {
        let settings = Self.settingsOfScenarios
        var typed: [SettingKey: [String]] = [:]
        for (name, values) in scenario.watch.sorted(by: { $0.key < $1.key }) {
            guard let key = settings.map(\.key).first(where: { $0.name == name }) else {
                let names = settings.map(\.key.name)
                throw ProgramError(
                    .configuration,
                    "a scenario's watch has no setting “\(name)”\(NearestName.question(name, among: names))",
                    advice: "there are \(names.joined(separator: ", "))"
                )
            }
            typed[key] = values
        }
        try self.init(typed, of: settings, command: "cairn scenario")
    }
}
