import Control
import Faults
import PebblePhone
import Settings
import YAML

// What steps name: commands, events and faults, and the values that they are given or compared with.
extension ScenarioReader {
    mutating func command(_ node: YAMLNode, _ arguments: YAMLNode?) -> ScenarioCommand? {
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
                if let key = key.scalar?.text { values[key] = self.value(value) }
            }
        }
        return checked(side, name, values, arguments ?? node)
    }

    mutating func checked(
        _ side: ScenarioSide,
        _ name: String,
        _ values: [String: ControlValue],
        _ node: YAMLNode
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

    mutating func pattern(_ node: YAMLNode, with fields: YAMLNode?) -> ScenarioPattern? {
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

    func event(_ side: ScenarioSide, _ name: String) -> (name: String, fields: [String], variant: String?)? {
        switch side {
        case .watch:
            if let event = ControlEventName(rawValue: name) { return (name, event.fieldNames, nil) }
            guard let event = ControlEventName.withVariant(name) else { return nil }
            return (event.rawValue, event.fieldNames, name)
        case .phone: return PhoneControlEventName(rawValue: name).map { (name, $0.fieldNames, nil) }
        }
    }

    mutating func sideAndName(_ node: YAMLNode, _ example: String) -> (ScenarioSide, String)? {
        guard let text = text(node) else { return nil }
        let words = text.split(separator: " ").map(String.init)
        guard words.count == 2, let side = ScenarioSide(rawValue: words[0]) else {
            refuse(node, "“\(text)” is not understood: say watch or phone, and what, as in “watch \(example)”")
            return nil
        }
        return (side, words[1])
    }

    mutating func fault(_ node: YAMLNode, _ parameters: YAMLNode?) -> Fault? {
        guard let name = text(node) else { return nil }
        var words: [String] = []
        if let parameters {
            guard let mapping = parameters.mapping else {
                refuse(parameters, "“with” has parameters of the fault, as in “with: {count: 3}”")
                return nil
            }
            for (key, value) in mapping {
                guard let key = key.scalar?.text, let value = text(value) else { continue }
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

    mutating func cleared(_ node: YAMLNode) -> ScenarioStep.Deed? {
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

    mutating func match(_ node: YAMLNode) -> ScenarioMatch? {
        guard let match = ScenarioMatch(value(node)) else {
            refuse(node, "a value, or one of \(ScenarioMatch.operators.listed) with what it takes, is to stand here")
            return nil
        }
        return match
    }

    mutating func duration(_ node: YAMLNode) -> Duration? {
        guard let text = text(node) else { return nil }
        guard let duration = Duration(scenario: text) else {
            refuse(node, "“\(text)” is no time: write 30 s, 500 ms, 2 min or 1 h, a week at most")
            return nil
        }
        return duration
    }

    mutating func value(_ node: YAMLNode) -> ControlValue {
        switch node {
        case .scalar(let scalar):
            let text = text(node) ?? ""
            return scalar.isPlain ? Self.plain(text) : .text(text)
        case .sequence(let nodes, _): return .list(nodes.map { value($0) })
        case .mapping(let mapping):
            var fields: [String: ControlValue] = [:]
            for (key, value) in mapping {
                if let key = key.scalar?.text { fields[key] = self.value(value) }
            }
            return .object(fields)
        }
    }

    static func plain(_ text: String) -> ControlValue {
        if let flag = Bool(text) { return .flag(flag) }
        if text.hasPrefix("0x"), let number = Int64(text.dropFirst(2), radix: 16) { return .integer(number) }
        if let number = Int64(text) { return .integer(number) }
        if text.first.map({ $0.isNumber || $0 == "-" }) == true, let number = Double(text), number.isFinite {
            return .number(number)
        }
        return .text(text)
    }

    /// The text of a scalar, with the values of parameters in it.
    mutating func text(_ node: YAMLNode) -> String? {
        guard let scalar = node.scalar else {
            refuse(node, "one plain value is to stand here")
            return nil
        }
        var rest = scalar.text[...]
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
}

extension ScenarioCommand {
    /// What makes no sense, or has no answer of its own, in a scenario.
    static let unusable: Set<String> = [
        "events", "packets", "wait", "install-part", "backup", "backup-part", "capture-start", "capture-stop",
        "log-level",
        "fault-add", "fault-list", "fault-names", "fault-clear",
    ]

    /// Whether it changes nothing.
    var onlyLooks: Bool {
        switch side {
        case .watch: ControlCommands.all.first { $0.name == name }?.onlyReads ?? false
        case .phone: name == "status"
        }
    }
}

extension ScenarioStep {
    /// The side that it needs; nil for none in particular.
    var side: ScenarioSide? {
        switch deed {
        case .give(let command, _), .until(let command, _, _): command.side
        case .expect(let pattern, _), .never(let pattern, _): pattern.side
        case .fault, .clear, .tell, .pause: nil
        }
    }
}
