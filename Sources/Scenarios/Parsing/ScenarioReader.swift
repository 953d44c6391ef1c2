import Control
import Faults
import PebblePhone
import Settings
import Yams

/// Reads scenarios: YAML, whose commands and events are those of the control vocabularies, and whose faults are those of the
/// table. Everything that is wrong is found, each with its line and column.
package struct ScenarioReader {
    /// The largest file that is read, in bytes.
    package static let sizeLimit = 256 * 1024
    /// The most steps of a scenario, with what is included and repeated.
    package static let stepLimit = 1000
    /// How deep files may include each other.
    private static let depthLimit = 8

    /// Reads a file that is included: its text.
    package typealias Loading = (_ path: String) throws -> String

    private let path: String
    private let load: Loading
    /// The values of the parameters.
    private var values: [String: String] = [:]
    private var errors: [ScenarioError] = []
    /// How many files include this one.
    private var depth = 0

    private init(_ path: String, _ load: @escaping Loading) {
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

    private static let keys = [
        "name", "description", "modelled-on", "good companion", "defect", "parameters", "watch", "phone", "steps",
    ]

    private mutating func scenario(_ text: String, _ chosen: [String: String]) -> Scenario? {
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

    private mutating func compose(_ text: String) -> Node.Mapping? {
        func refuse(_ problem: String, _ mark: Mark? = nil) -> Node.Mapping? {
            let place = ScenarioPlace(file: path, line: mark?.line ?? 0, column: mark?.column ?? 0)
            errors.append(ScenarioError(place, problem))
            return nil
        }
        guard text.utf8.count <= Self.sizeLimit else {
            return refuse("it is larger than \(Self.sizeLimit / 1024) KiB, and so no scenario")
        }
        do {
            guard let mapping = try Yams.compose(yaml: text)?.mapping else {
                return refuse("a scenario is a mapping with “steps”, as in Docs/scenarios.md")
            }
            return mapping
        } catch let error as YamlError {
            switch error {
            case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
                .composer(_, let problem, let mark, _):
                return refuse("this is not YAML: \(problem)", mark)
            case .duplicatedKeysInMapping(let names, let context):
                return refuse("\(names.sorted().listed) stands more than once; keep one", context.mark)
            default: return refuse("this is not YAML that can be read")
            }
        } catch {
            return refuse("this is not YAML that can be read")
        }
    }

    private mutating func readParameters(_ node: Node?, _ chosen: [String: String]) {
        if let node {
            guard let mapping = node.mapping else {
                return refuse(node, "parameters are names with their usual values")
            }
            for (key, value) in mapping {
                guard let name = key.scalar?.string, let usual = value.scalar?.string else {
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

    private mutating func addresses(_ node: Node?) -> [String] {
        guard let node else { return [] }
        let nodes = node.sequence.map(Array.init) ?? [node]
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
    private mutating func settings(_ node: Node) -> [String: [String]] {
        guard let mapping = node.mapping else {
            refuse(node, "these are settings of a watch, as in a board file")
            return [:]
        }
        var settings: [String: [String]] = [:]
        for (key, value) in mapping {
            guard let name = key.scalar?.string else { continue }
            if let section = value.mapping {
                for (inner, value) in section {
                    if let word = inner.scalar?.string { settings["\(name).\(word)"] = words(value) }
                }
            } else {
                settings[name] = words(value)
            }
        }
        return settings
    }

    private mutating func words(_ node: Node) -> [String] {
        if let items = node.sequence { return items.compactMap { text($0) } }
        return text(node).map { [$0] } ?? []
    }

    private static let phoneKeys = ["kind", "platform", "companion", "server", "stream", "pairing", "remembers"]

    private mutating func phone(_ node: Node) -> ScenarioPhone {
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

    private mutating func word<Word: RawRepresentable<String> & CaseIterable>(
        _ node: Node,
        _ type: Word.Type
    ) -> Word? {
        guard let text = text(node) else { return nil }
        if let word = Word(rawValue: text) { return word }
        let words = Word.allCases.map(\.rawValue)
        refuse(node, "“\(text)” is none of \(words.listed)\(hint(text, words))")
        return nil
    }

    private mutating func flag(_ node: Node) -> Bool {
        switch text(node) {
        case "true"?: return true
        case "false"?: return false
        default:
            refuse(node, "this is true or false")
            return false
        }
    }

    // MARK: Steps

    private static let verbs = ["do", "fault", "clear", "expect", "never", "until", "tell", "repeat", "include"]
    private static let starts = ["at", "after", "when"]
    /// What a step may have beside its verb and its beginning.
    private static let companions: [String: [String]] = [
        "do": ["with", "gives", "fails", "wait", "person"], "fault": ["with"], "clear": [],
        "expect": ["with", "within"],
        "never": ["with", "for"], "until": ["with", "gives", "within"], "tell": [], "repeat": ["steps"],
        "include": ["set"],
    ]

    private mutating func steps(_ node: Node) -> [ScenarioStep] {
        guard let nodes = node.sequence else {
            refuse(node, "steps are a list: each begins with “- ”")
            return []
        }
        var steps: [ScenarioStep] = []
        for node in nodes {
            steps += self.step(node)
            guard steps.count <= Self.stepLimit else {
                refuse(node, "there are more than \(Self.stepLimit) steps, with what is included and repeated")
                return []
            }
        }
        return steps
    }

    private mutating func step(_ node: Node) -> [ScenarioStep] {
        guard let mapping = node.mapping else {
            refuse(node, "a step is a mapping such as “do: phone connect”; the verbs are \(Self.verbs.listed)")
            return []
        }
        let keys = mapping.compactMap { $0.key.scalar?.string }
        let verbs = keys.filter(Self.verbs.contains)
        guard verbs.count <= 1 else {
            refuse(node, "a step does one thing: \(verbs.listed) are steps of their own")
            return []
        }
        let known = (verbs.first.flatMap { Self.companions[$0] } ?? []) + verbs + Self.starts + ["within"]
        let possible = verbs.isEmpty ? Self.verbs + known : known
        checkKeys(of: mapping, against: possible, of: verbs.first.map { "“\($0)” step" } ?? "step")
        guard let start = start(of: mapping, node, verbs.first) else { return [] }
        guard let verb = verbs.first, let operand = mapping[verb] else {
            if start == .atOnce {
                refuse(node, "a step has one of \(Self.verbs.listed)")
                return []
            }
            return [ScenarioStep(start: start, deed: .pause, person: nil, place: place(node))]
        }
        if verb == "repeat" || verb == "include" {
            guard start == .atOnce else {
                refuse(node, "“\(verb)” begins at once: put a step with “after” in front of it")
                return []
            }
            return verb == "repeat" ? repeated(operand, mapping) : included(operand, mapping)
        }
        guard let deed = deed(verb, operand, mapping) else { return [] }
        let person = mapping["person"].flatMap { text($0) }
        return [ScenarioStep(start: start, deed: deed, person: person, place: place(node))]
    }

    private mutating func start(
        of mapping: Node.Mapping,
        _ node: Node,
        _ verb: String?
    ) -> ScenarioStep.Start? {
        let starts = Self.starts.filter { mapping[$0] != nil }
        guard starts.count <= 1 else {
            refuse(node, "a step begins once: keep one of \(starts.listed)")
            return nil
        }
        if let at = mapping["at"] { return duration(at).map { .at($0) } }
        if let after = mapping["after"] { return duration(after).map { .after($0) } }
        guard let when = mapping["when"] else {
            if let within = mapping["within"], let verb, Self.companions[verb]?.contains("within") != true {
                refuse(within, "“within” goes with expect, until and when")
            }
            return .atOnce
        }
        var limit: Duration = .seconds(60)
        // Of a step that expects something the time limit is that of what it expects.
        let isOwn = verb.flatMap { Self.companions[$0]?.contains("within") } != true
        if isOwn, let node = mapping["within"] { limit = duration(node) ?? limit }
        if let inner = when.mapping {
            checkKeys(of: inner, against: ["event", "with", "within"], of: "“when”")
            if let node = inner["within"] { limit = duration(node) ?? limit }
            guard let event = inner["event"] else {
                refuse(when, "“event” says what is waited for, as in “event: watch connected”")
                return nil
            }
            return pattern(event, with: inner["with"]).map { .when($0, within: limit) }
        }
        return pattern(when, with: nil).map { .when($0, within: limit) }
    }

    private mutating func deed(_ verb: String, _ operand: Node, _ mapping: Node.Mapping) -> ScenarioStep.Deed? {
        switch verb {
        case "do":
            guard let command = command(operand, mapping["with"]) else { return nil }
            return ending(of: mapping).map { .give(command, $0) }
        case "fault": return fault(operand, mapping["with"]).map { .fault($0) }
        case "clear": return cleared(operand)
        case "expect":
            guard let pattern = pattern(operand, with: mapping["with"]) else { return nil }
            let limit = mapping["within"].map { duration($0) } ?? .seconds(30)
            return limit.map { .expect(pattern, within: $0) }
        case "never":
            guard let pattern = pattern(operand, with: mapping["with"]) else { return nil }
            guard let span = mapping["for"] else {
                refuse(operand, "“for” says how long it must not happen, as in “for: 30 s”")
                return nil
            }
            return duration(span).map { .never(pattern, during: $0) }
        case "until":
            guard let command = command(operand, mapping["with"]) else { return nil }
            guard command.onlyLooks else {
                refuse(
                    operand,
                    "“until” takes a command that only looks, such as watch status; “do” takes \(command.name)"
                )
                return nil
            }
            guard let gives = mapping["gives"], let match = match(gives) else {
                if mapping["gives"] == nil { refuse(operand, "“gives” says what the answer is to have") }
                return nil
            }
            let limit = mapping["within"].map { duration($0) } ?? .seconds(30)
            return limit.map { .until(command, match, within: $0) }
        case "tell": return text(operand).map { .tell($0) }
        default: return nil
        }
    }

    private mutating func ending(of mapping: Node.Mapping) -> ScenarioStep.Ending? {
        let keys = ["gives", "fails", "wait"].filter { mapping[$0] != nil }
        guard keys.count <= 1 else {
            if let node = mapping[keys[1]] { refuse(node, "a command ends in one way: keep one of \(keys.listed)") }
            return nil
        }
        if let gives = mapping["gives"] { return match(gives).map { .done($0) } }
        if let node = mapping["wait"] { return flag(node) ? .done(.fields([:])) : .any }
        guard let fails = mapping["fails"] else { return .done(.fields([:])) }
        switch text(fails) {
        case "true"?: return .refused(nil)
        case "false"?: return .done(.fields([:]))
        case "maybe"?: return .either
        case let code?:
            let codes = ControlFailureCode.allCases.map(\.rawValue) + PhoneControlFailureCode.allCases.map(\.rawValue)
            guard codes.contains(code) else {
                refuse(
                    fails,
                    "no command fails with “\(code)”\(hint(code, codes)): say true, maybe, or a code of the vocabulary"
                )
                return nil
            }
            return .refused(code)
        case nil: return nil
        }
    }

    private mutating func repeated(_ count: Node, _ mapping: Node.Mapping) -> [ScenarioStep] {
        guard let number = text(count).flatMap({ Int($0) }), (1...100).contains(number) else {
            refuse(count, "“repeat” takes a number from 1 to 100")
            return []
        }
        guard let node = mapping["steps"] else {
            refuse(count, "“steps” says what is repeated")
            return []
        }
        let steps = self.steps(node)
        guard steps.count * number <= Self.stepLimit else {
            refuse(count, "these are \(steps.count * number) steps; at most \(Self.stepLimit) are carried out")
            return []
        }
        return Array(repeating: steps, count: number).flatMap(\.self)
    }

    private mutating func included(_ operand: Node, _ mapping: Node.Mapping) -> [ScenarioStep] {
        guard let name = text(operand) else { return [] }
        guard depth < Self.depthLimit else {
            refuse(operand, "files include each other more than \(Self.depthLimit) deep: one includes itself")
            return []
        }
        var chosen: [String: String] = [:]
        if let set = mapping["set"] {
            guard let pairs = set.mapping else {
                refuse(set, "“set” has names of the file's parameters, and their values")
                return []
            }
            for (key, value) in pairs {
                if let key = key.scalar?.string, let value = text(value) { chosen[key] = value }
            }
        }
        let path = self.path.sibling(name)
        guard let content = try? load(path) else {
            refuse(operand, "there is no file “\(name)” that could be included: it is looked for at \(path)")
            return []
        }
        var reader = ScenarioReader(path, load)
        reader.depth = depth + 1
        defer { errors += reader.errors }
        guard let inner = reader.compose(content) else { return [] }
        reader.checkKeys(of: inner, against: ["description", "parameters", "steps"], of: "file that is included")
        reader.readParameters(inner["parameters"], chosen)
        guard let node = inner["steps"] else {
            refuse(operand, "\(path) has no steps")
            return []
        }
        return reader.steps(node)
    }

    // MARK: Commands, events, faults

    private mutating func command(_ node: Node, _ arguments: Node?) -> ScenarioCommand? {
        guard let (side, name) = sideAndName(node, "press") else { return nil }
        let types: [any NamedCommand.Type] =
            switch side {
            case .watch: ControlCommands.all
            case .phone: PhoneControlCommands.all
            }
        let usable = types.filter {
            !ScenarioCommand.unusable.contains($0.name) && !(side == .watch && $0.name == "install")
        }
        guard let type = usable.first(where: { $0.name == name }) else {
            let names = usable.map { $0.name }
            refuse(
                node,
                "“\(name)” is no command that a scenario can give the \(side)\(hint(name, names)); there are \(names.listed)"
            )
            return nil
        }
        var values: [String: ControlValue] = [:]
        if let arguments {
            guard let mapping = arguments.mapping else {
                refuse(arguments, "“with” has the fields of the command, as in “with: {title: Hello}”")
                return nil
            }
            checkKeys(of: mapping, against: type.fields.map(\.name), of: "\(side) \(name)")
            for (key, value) in mapping {
                if let key = key.scalar?.string { values[key] = self.value(value) }
            }
        }
        return checked(side, name, values, arguments ?? node)
    }

    private mutating func checked(
        _ side: ScenarioSide,
        _ name: String,
        _ values: [String: ControlValue],
        _ node: Node
    ) -> ScenarioCommand? {
        var request = values.merging(["command": .text(name)]) { $1 }
        // Files are named beside the scenario.
        if case .text(let file)? = values["path"] { request["path"] = .text(path.sibling(file)) }
        let line = ControlValue.object(request).json
        do throws(ControlRequest.Invalid) {
            switch side {
            case .watch: _ = try ControlRequest(parsing: line.utf8)
            case .phone:
                // A path that is not whole belongs to a scenario that was named by such a one.
                if case .text(let file)? = request["path"], !file.hasPrefix("/") { break }
                _ = try PhoneControlRequest(parsing: line.utf8)
            }
        } catch {
            refuse(node, "\(side) \(name): \(error.description)")
            return nil
        }
        return ScenarioCommand(side: side, name: name, arguments: values, line: line)
    }

    private mutating func pattern(_ node: Node, with fields: Node?) -> ScenarioPattern? {
        guard let (side, name) = sideAndName(node, "connected") else { return nil }
        guard let (event, fieldNames, variant) = event(side, name) else {
            let names =
                switch side {
                case .watch: ControlEventName.allCases.map(\.rawValue) + ControlEventName.variantNames
                case .phone: PhoneControlEventName.allCases.map(\.rawValue)
                }
            refuse(node, "“\(name)” is no event of the \(side)\(hint(name, names)); there are \(names.listed)")
            return nil
        }
        var match = ScenarioMatch.fields([:])
        if let fields {
            guard let mapping = fields.mapping else {
                refuse(fields, "“with” has fields of the event, as in “with: {transport: reversed}”")
                return nil
            }
            checkKeys(of: mapping, against: fieldNames, of: "\(side) \(name)")
            guard let own = self.match(fields) else { return nil }
            match = own
        }
        if let variant {
            guard case .fields(let fields) = match else { return nil }
            match = .fields(fields.merging(["name": .equal(.text(variant))]) { $1 })
        }
        return ScenarioPattern(side: side, name: event, fields: match)
    }

    private func event(_ side: ScenarioSide, _ name: String) -> (name: String, fields: [String], variant: String?)? {
        switch side {
        case .watch:
            if let event = ControlEventName(rawValue: name) { return (name, event.fieldNames, nil) }
            guard let event = ControlEventName.withVariant(name) else { return nil }
            return (event.rawValue, event.fieldNames, name)
        case .phone: return PhoneControlEventName(rawValue: name).map { (name, $0.fieldNames, nil) }
        }
    }

    private mutating func sideAndName(_ node: Node, _ example: String) -> (ScenarioSide, String)? {
        guard let text = text(node) else { return nil }
        let words = text.split(separator: " ").map(String.init)
        guard words.count == 2, let side = ScenarioSide(rawValue: words[0]) else {
            refuse(node, "“\(text)” is not understood: say watch or phone, and what, as in “watch \(example)”")
            return nil
        }
        return (side, words[1])
    }

    private mutating func fault(_ node: Node, _ parameters: Node?) -> Fault? {
        guard let name = text(node) else { return nil }
        var words: [String] = []
        if let parameters {
            guard let mapping = parameters.mapping else {
                refuse(parameters, "“with” has parameters of the fault, as in “with: {count: 3}”")
                return nil
            }
            for (key, value) in mapping {
                guard let key = key.scalar?.string, let value = text(value) else { continue }
                words.append("\(key)=\(value.filter { $0 != " " })")
            }
        }
        do throws(FaultError) {
            return try Fault(named: name, words)
        } catch {
            refuse(parameters ?? node, error.description)
            return nil
        }
    }

    private mutating func cleared(_ node: Node) -> ScenarioStep.Deed? {
        guard let name = text(node) else { return nil }
        guard name != "all" else { return .clear(nil) }
        let names = FaultDefinition.all.map(\.name)
        guard names.contains(name) else {
            refuse(node, "no fault is called “\(name)”\(hint(name, names)): say its name, or all")
            return nil
        }
        return .clear(name)
    }

    // MARK: Values

    private mutating func match(_ node: Node) -> ScenarioMatch? {
        guard let match = ScenarioMatch(value(node)) else {
            refuse(node, "a value, or one of \(ScenarioMatch.operators.listed) with what it takes, is to stand here")
            return nil
        }
        return match
    }

    private mutating func duration(_ node: Node) -> Duration? {
        guard let text = text(node) else { return nil }
        guard let duration = Duration(scenario: text) else {
            refuse(node, "“\(text)” is no time: write 30 s, 500 ms, 2 min or 1 h, a week at most")
            return nil
        }
        return duration
    }

    private mutating func value(_ node: Node) -> ControlValue {
        switch node {
        case .scalar(let scalar):
            let text = text(node) ?? ""
            return scalar.style == .any || scalar.style == .plain ? Self.plain(text) : .text(text)
        case .sequence(let nodes): return .list(nodes.map { value($0) })
        case .mapping(let mapping):
            var fields: [String: ControlValue] = [:]
            for (key, value) in mapping {
                if let key = key.scalar?.string { fields[key] = self.value(value) }
            }
            return .object(fields)
        case .alias:
            refuse(node, "aliases are not understood here")
            return .text("")
        }
    }

    private static func plain(_ text: String) -> ControlValue {
        if let flag = Bool(text) { return .flag(flag) }
        if text.hasPrefix("0x"), let number = Int64(text.dropFirst(2), radix: 16) { return .integer(number) }
        if let number = Int64(text) { return .integer(number) }
        if text.first.map({ $0.isNumber || $0 == "-" }) == true, let number = Double(text), number.isFinite {
            return .number(number)
        }
        return .text(text)
    }

    /// The text of a scalar, with the values of parameters in it.
    private mutating func text(_ node: Node) -> String? {
        guard let scalar = node.scalar else {
            refuse(node, "one plain value is to stand here")
            return nil
        }
        var rest = scalar.string[...]
        var text = ""
        while let start = rest.firstRange(of: "${") {
            text += rest[..<start.lowerBound]
            guard let end = rest[start.upperBound...].firstIndex(of: "}") else {
                refuse(node, "“${” has no “}”")
                return nil
            }
            let name = String(rest[start.upperBound..<end])
            guard let value = values[name] else {
                refuse(
                    node,
                    "there is no parameter “\(name)”\(hint(name, values.keys.sorted())): “parameters” has them"
                )
                return nil
            }
            text += value
            rest = rest[rest.index(after: end)...]
        }
        return text + rest
    }

    // MARK: Errors

    private mutating func checkKeys(of mapping: Node.Mapping, against known: [String], of what: String) {
        for (key, _) in mapping {
            guard let name = key.scalar?.string else {
                refuse(key, "a plain word is to stand here")
                continue
            }
            guard !known.contains(name) else { continue }
            let list = known.isEmpty ? "it has none" : "there are \(known.listed)"
            refuse(key, "the \(what) has no “\(name)”\(hint(name, known)); \(list)")
        }
    }

    private mutating func refuse(_ node: Node, _ problem: String) {
        errors.append(ScenarioError(place(node), problem))
    }

    private func place(_ node: Node) -> ScenarioPlace {
        ScenarioPlace(file: path, line: node.mark?.line ?? 0, column: node.mark?.column ?? 0)
    }

    private func hint(_ name: String, _ names: [String]) -> String { NearestName.question(name, among: names) }
}

extension ScenarioCommand {
    /// What makes no sense, or has no answer of its own, in a scenario.
    fileprivate static let unusable: Set<String> = [
        "events", "packets", "wait", "install-part", "backup", "backup-part", "capture-start", "capture-stop",
        "log-level",
        "fault-add", "fault-list", "fault-names", "fault-clear",
    ]

    /// Whether it changes nothing.
    fileprivate var onlyLooks: Bool {
        switch side {
        case .watch: ControlCommands.all.first { $0.name == name }?.onlyReads ?? false
        case .phone: name == "status"
        }
    }
}

extension ScenarioStep {
    /// The side that it needs; nil for none in particular.
    fileprivate var side: ScenarioSide? {
        switch deed {
        case .give(let command, _), .until(let command, _, _): command.side
        case .expect(let pattern, _), .never(let pattern, _): pattern.side
        case .fault, .clear, .tell, .pause: nil
        }
    }
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
