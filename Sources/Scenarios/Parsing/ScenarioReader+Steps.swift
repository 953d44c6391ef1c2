import Control
import Faults
import PebblePhone
import Settings
import YAML

// The steps: when each begins, and what it does.
extension ScenarioReader {
    static let verbs = ["do", "fault", "clear", "expect", "never", "until", "tell", "repeat", "include"]
    static let starts = ["at", "after", "when"]
    /// What a step may have beside its verb and its beginning.
    static let companions: [String: [String]] = [
        "do": ["with", "gives", "fails", "wait", "person"], "fault": ["with"], "clear": [],
        "expect": ["with", "within"],
        "never": ["with", "for"], "until": ["with", "gives", "within"], "tell": [], "repeat": ["steps"],
        "include": ["set"],
    ]

    mutating func steps(_ node: YAMLNode) -> [ScenarioStep] {
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

    mutating func step(_ node: YAMLNode) -> [ScenarioStep] {
        guard let mapping = node.mapping else {
            refuse(node, "a step is a mapping such as “do: phone connect”; the verbs are \(Self.verbs.listed)")
            return []
        }
        let keys = mapping.compactMap { $0.key.scalar?.text }
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

    mutating func start(
        of mapping: YAMLMapping,
        _ node: YAMLNode,
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

    mutating func deed(_ verb: String, _ operand: YAMLNode, _ mapping: YAMLMapping) -> ScenarioStep.Deed? {
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

    mutating func ending(of mapping: YAMLMapping) -> ScenarioStep.Ending? {
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

    mutating func repeated(_ count: YAMLNode, _ mapping: YAMLMapping) -> [ScenarioStep] {
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

    mutating func included(_ operand: YAMLNode, _ mapping: YAMLMapping) -> [ScenarioStep] {
        guard let name = text(operand) else { return [] }
        inclusions += 1
        guard inclusions <= Self.inclusionLimit else {
            // Said once, however many there are.
            if inclusions == Self.inclusionLimit + 1 {
                refuse(operand, "more than \(Self.inclusionLimit) files are included, with those that they include")
            }
            return []
        }
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
                if let key = key.scalar?.text, let value = text(value) { chosen[key] = value }
            }
        }
        let path = self.path.sibling(name)
        guard let content = try? load(path) else {
            refuse(operand, "there is no file “\(name)” that could be included: it is looked for at \(path)")
            return []
        }
        var reader = ScenarioReader(path, load)
        reader.depth = depth + 1
        reader.inclusions = inclusions
        defer {
            errors += reader.errors
            inclusions = reader.inclusions
        }
        guard let inner = reader.compose(content) else { return [] }
        reader.checkKeys(of: inner, against: ["description", "parameters", "steps"], of: "file that is included")
        reader.readParameters(inner["parameters"], chosen)
        guard let node = inner["steps"] else {
            refuse(operand, "\(path) has no steps")
            return []
        }
        return reader.steps(node)
    }
}
