import Control
import Faults
import PebblePhone
import Settings
import YAML

/// Reads scenarios: YAML, whose commands and events are those of the control vocabularies, and whose faults are those of the
/// table. Everything that is wrong is found, each with its line and column.
package struct ScenarioReader {
    /// The largest file that is read, in bytes.
    package static let sizeLimit = 256 * 1024
    /// The most steps of a scenario, with what is included and repeated.
    package static let stepLimit = 1000
    /// How deep files may include each other.
    static let depthLimit = 8
    /// How many files a scenario includes, each as often as it is included.
    package static let inclusionLimit = 100

    /// Reads a file that is included: its text.
    package typealias Loading = (_ path: String) throws -> String

    let path: String
    let load: Loading
    /// The values of the parameters.
    var values: [String: String] = [:]
    var errors: [ScenarioError] = []
    /// How many files include this one.
    var depth = 0
    /// How many files have been included, by this one and by those: of files that each include several, there are soon more than
    /// anybody can wait for.
    var inclusions = 0

    init(_ path: String, _ load: @escaping Loading) {
        self.path = path
        self.load = load
    }

    /// Reads a scenario.
    /// - Parameters:
    ///   - path: where it was read, for errors, and for the files that it names.
    ///   - parameters: values in the place of the defaults.
    ///   - load: reads the files that it includes.
    /// - Throws: `ScenarioErrors`, everything that is wrong.
    package static func read(
        _ text: String,
        path: String,
        parameters: [String: String] = [:],
        load: @escaping Loading
    ) throws(ScenarioErrors) -> Scenario {
        var reader = ScenarioReader(path, load)
        let scenario = reader.scenario(text, parameters)
        guard let scenario, reader.errors.isEmpty else { throw ScenarioErrors(reader.errors.inReadingOrder) }
        return scenario
    }

    // MARK: The file

    static let keys = [
        "name", "description", "modelled-on", "good companion", "defect", "parameters", "watch", "phone", "steps",
    ]

    mutating func scenario(_ text: String, _ chosen: [String: String]) -> Scenario? {
        guard let mapping = compose(text) else { return nil }
        checkKeys(of: mapping, against: Self.keys, of: "scenario")
        readParameters(mapping["parameters"], chosen)
        var scenario = Scenario(name: path.baseName)
        if let name = mapping["name"] {
            if let text = self.text(name), text == path.baseName {
                scenario.name = text
            } else {
                refuse(name, "a scenario is called as its file is: \(path.baseName)")
            }
        }
        scenario.description = mapping["description"].flatMap { self.text($0) } ?? ""
        scenario.goodCompanion = mapping["good companion"].flatMap { self.text($0) } ?? ""
        scenario.modelledOn = addresses(mapping["modelled-on"])
        scenario.parameters = values
        scenario.path = path
        if let node = mapping["defect"], let name = self.text(node) {
            scenario.defect = PhoneDefect(rawValue: name)
            let names = PhoneDefect.allCases.map(\.rawValue)
            if scenario.defect == nil {
                refuse(node, "no phone has the defect “\(name)”\(hint(name, names)); there are \(names.listed)")
            }
        }
        if let node = mapping["watch"] { scenario.watch = settings(node) }
        if let node = mapping["phone"] { scenario.phone = phone(node) }
        guard let node = mapping["steps"] else {
            errors.append(ScenarioError(ScenarioPlace(file: path), "there are no steps: “steps” is missing"))
            return nil
        }
        scenario.steps = steps(node)
        if scenario.phone.kind == .none {
            for step in scenario.steps where step.side == .phone {
                errors.append(ScenarioError(step.place, "this needs a phone, and the scenario has none: see “phone”"))
            }
        }
        return scenario
    }

    mutating func compose(_ text: String) -> YAMLMapping? {
        func refuse(_ problem: String, _ mark: YAMLMark? = nil) -> YAMLMapping? {
            let place = ScenarioPlace(file: path, line: mark?.line ?? 0, column: mark?.column ?? 0)
            errors.append(ScenarioError(place, problem))
            return nil
        }
        guard text.utf8.count <= Self.sizeLimit else {
            return refuse("it is larger than \(Self.sizeLimit / 1024) KiB, and so no scenario")
        }
        do throws(YAMLError) {
            guard let mapping = try YAMLReader.read(text)?.mapping else {
                return refuse("a scenario is a mapping with “steps”, as in Docs/scenarios.md")
            }
            return mapping
        } catch {
            switch error {
            case .malformed(let problem, let mark): return refuse("this is not YAML: \(problem)", mark)
            case .repeatedKey(let name, let mark): return refuse("\(name) stands more than once; keep one", mark)
            }
        }
    }

    mutating func readParameters(_ node: YAMLNode?, _ chosen: [String: String]) {
        if let node {
            guard let mapping = node.mapping else {
                return refuse(node, "parameters are names with their usual values")
            }
            for (key, value) in mapping {
                guard let name = key.scalar?.text, let usual = value.scalar?.text else {
                    refuse(value, "a parameter has one plain value")
                    continue
                }
                values[name] = usual
            }
        }
        for (name, value) in chosen.sorted(by: { $0.key < $1.key }) {
            guard values[name] != nil else {
                let names = values.keys.sorted()
                let known = names.isEmpty ? "it has none" : "there are \(names.listed)"
                let problem = "there is no parameter “\(name)”\(hint(name, names)); \(known)"
                errors.append(ScenarioError(ScenarioPlace(file: path), problem))
                continue
            }
            values[name] = value
        }
    }

    mutating func addresses(_ node: YAMLNode?) -> [String] {
        guard let node else { return [] }
        let nodes = node.sequence ?? [node]
        return nodes.compactMap { node in
            guard let text = self.text(node), text.hasPrefix("https://") || text.hasPrefix("http://") else {
                refuse(node, "this is the address of a public report, which begins with https://")
                return nil
            }
            return text
        }
    }

    // MARK: Watch and phone

    /// The settings of a watch, by the keys of a board file; the watch itself knows which there are.
    mutating func settings(_ node: YAMLNode) -> [String: [String]] {
        guard let mapping = node.mapping else {
            refuse(node, "these are settings of a watch, as in a board file")
            return [:]
        }
        var settings: [String: [String]] = [:]
        for (key, value) in mapping {
            guard let name = key.scalar?.text else { continue }
            if let section = value.mapping {
                for (inner, value) in section {
                    if let word = inner.scalar?.text { settings["\(name).\(word)"] = words(value) }
                }
            } else {
                settings[name] = words(value)
            }
        }
        return settings
    }

    mutating func words(_ node: YAMLNode) -> [String] {
        if let items = node.sequence { return items.compactMap { text($0) } }
        return text(node).map { [$0] } ?? []
    }

    static let phoneKeys = ["kind", "platform", "companion", "server", "stream", "pairing", "remembers"]

    mutating func phone(_ node: YAMLNode) -> ScenarioPhone {
        var phone = ScenarioPhone()
        guard let mapping = node.mapping else {
            phone.kind = word(node, ScenarioPhone.Kind.self) ?? .cairn
            return phone
        }
        checkKeys(of: mapping, against: Self.phoneKeys, of: "phone")
        if let node = mapping["kind"] { phone.kind = word(node, ScenarioPhone.Kind.self) ?? .cairn }
        if let node = mapping["platform"] { phone.platform = word(node, ScenarioPhone.Platform.self) ?? .android }
        if let node = mapping["companion"] { phone.isCompanion = flag(node) }
        if let node = mapping["server"] { phone.isServer = flag(node) }
        if let node = mapping["stream"] { phone.usesStream = flag(node) }
        if let node = mapping["pairing"] { phone.pairs = flag(node) }
        if let node = mapping["remembers"] { phone.remembersWatch = flag(node) }
        if phone.usesStream, phone.isServer || phone.platform == .ios {
            refuse(node, "“stream” goes with neither “server” nor “platform: ios”: both carry the session another way")
        }
        return phone
    }

    mutating func word<Word: RawRepresentable<String> & CaseIterable>(
        _ node: YAMLNode,
        _ type: Word.Type
    ) -> Word? {
        guard let text = text(node) else { return nil }
        if let word = Word(rawValue: text) { return word }
        let words = Word.allCases.map(\.rawValue)
        refuse(node, "“\(text)” is none of \(words.listed)\(hint(text, words))")
        return nil
    }

    mutating func flag(_ node: YAMLNode) -> Bool {
        switch text(node) {
        case "true"?: return true
        case "false"?: return false
        default:
            refuse(node, "this is true or false")
            return false
        }
    }

    // MARK: Errors

    mutating func checkKeys(of mapping: YAMLMapping, against known: [String], of what: String) {
        for (key, _) in mapping {
            guard let name = key.scalar?.text else {
                refuse(key, "a plain word is to stand here")
                continue
            }
            guard !known.contains(name) else { continue }
            let list = known.isEmpty ? "it has none" : "there are \(known.listed)"
            refuse(key, "the \(what) has no “\(name)”\(hint(name, known)); \(list)")
        }
    }

    mutating func refuse(_ node: YAMLNode, _ problem: String) {
        errors.append(ScenarioError(place(node), problem))
    }

    func place(_ node: YAMLNode) -> ScenarioPlace {
        ScenarioPlace(file: path, line: node.mark.line, column: node.mark.column)
    }

    func hint(_ name: String, _ names: [String]) -> String { NearestName.question(name, among: names) }
}

extension [ScenarioError] {
    /// File by file, from the top to the bottom.
    fileprivate var inReadingOrder: [ScenarioError] {
        sorted {
            ($0.place.file, $0.place.line, $0.place.column) < ($1.place.file, $1.place.line, $1.place.column)
        }
    }
}

extension [String] {
    /// With commas.
    var listed: String { joined(separator: ", ") }
}

extension String {
    /// The last component of a path, without what follows its first full stop.
    var baseName: String {
        let last = split(separator: "/").last.map(String.init) ?? self
        return last.split(separator: ".").first.map(String.init) ?? last
    }

    /// The path of a file that is named as seen from this one.
    func sibling(_ name: String) -> String {
        guard !name.hasPrefix("/"), let slash = lastIndex(of: "/") else { return name }
        return String(self[...slash]) + name
    }
}
