/// Settings applied to their target, or all errors in them, not only the first.
public struct SettingsReading<Target: SettingTarget>: Sendable {
    /// What the values went into; nil if anything is wrong.
    public let target: Target?
    /// What is wrong, in the order in which a person reads.
    public let problems: [SettingError]

    /// Reads values and applies them in the order of the settings.
    /// - Parameters:
    ///   - values: those of settings that are not in the list are passed over.
    ///   - settings: all that there are.
    ///   - conflict: finds settings that do not go together, besides those that need another.
    public init(
        _ values: [SettingValue],
        of settings: [Setting<Target>],
        conflict: (Target) -> SettingConflict? = { _ in nil }
    ) {
        let byKey = Dictionary(values.map { ($0.key, $0) }) { first, _ in first }
        var target = Target()
        var problems: [SettingError] = []
        for setting in settings {
            guard let value = byKey[setting.key] else { continue }
            do throws(SettingRefusal) {
                try setting.apply(value.values, &target)
            } catch {
                problems.append(setting.error(error, for: value))
            }
        }
        // With values missing, nothing can be said about those that need them.
        if problems.isEmpty {
            let given = byKey.values.filter { $0.origin != .standard }
            let needs = Self.unmetNeed(of: settings, given: Set(given.map(\.key)), target)
            if let conflict = needs ?? conflict(target) { problems = [conflict.error(among: given, settings)] }
        }
        self.problems = problems.inReadingOrder
        self.target = problems.isEmpty ? target : nil
    }

    private static func unmetNeed(
        of settings: [Setting<Target>],
        given: Set<SettingKey>,
        _ target: Target
    ) -> SettingConflict? {
        for setting in settings where given.contains(setting.key) {
            if let need = setting.need, !need.isMet(target) { return need.conflict(of: setting.key.name) }
        }
        return nil
    }
}

extension SettingCatalog {
    /// Reads values of this catalog's settings.
    public static func read(_ values: [SettingValue]) -> SettingsReading<Target> {
        SettingsReading(values, of: settings, conflict: conflict)
    }

    /// Everything that is wrong with a file, if there were nothing besides it.
    public static func problems(in file: BoardFile) -> [SettingError] {
        let keys = settings.map(\.key)
        let problems = file.problems(against: keys)
        // Those have been told already, whose value cannot be read.
        let faulty = Set(problems.compactMap(\.key))
        var layers = SettingLayers()
        layers.file = file
        let reading = read(layers.settings(keys.filter { !faulty.contains($0.name) }))
        // With settings missing, nothing can be said about those that need them.
        return (problems + reading.problems.filter { problems.isEmpty || !$0.isConflict }).inReadingOrder
    }
}

extension Setting {
    /// What is wrong with a value, in the words that go with where it was said.
    func error(_ refusal: SettingRefusal, for value: SettingValue) -> SettingError {
        let text = value.values.joined(separator: ",")
        let question = NearestName.question(text, among: names.names)
        let isTyped = value.origin == .commandLine
        let problem =
            switch (refusal, isTyped) {
            case (.notUnderstood, true): "“\(text)” is not understood by --\(option): it takes \(takes)\(question)"
            case (.notUnderstood, false): "“\(text)” is not understood: this takes \(takes)\(question)"
            case (.because(let reason), true): "--\(option): \(reason)"
            case (.because(let reason), false): reason
            }
        return isTyped ? SettingError(ofCommandLine: problem, help: help) : SettingError(value, problem)
    }
}

extension SettingConflict {
    /// What a person is told: of the line or the variable where the setting stands, or of the command line.
    func error<Target>(among given: [SettingValue], _ settings: [Setting<Target>]) -> SettingError {
        if let value = given.first(where: { $0.key.name == setting }), value.origin != .commandLine {
            return SettingError(value, problem { $0 }, isConflict: true)
        }
        let options = Dictionary(settings.map { ($0.key.name, "--\($0.option)") }) { first, _ in first }
        return SettingError(ofCommandLine: problem { options[$0] ?? $0 }, isConflict: true)
    }
}
