import ByteCoding
import Foundation
import PebbleProtocol
import PebbleWatch

/// What a person writes down of an app's behaviour: JSON, see `Docs/watchapps.md`.
public enum BehaviorFile {
    /// Reads a behaviour: the word `echo` or `external`, or the path of a script.
    public static func behavior(named name: String) throws(BundleError) -> AppBehavior {
        switch name {
        case "echo": return .echo
        case "external": return .external
        default: return .scripted(try script(in: BundleFile.read(name, limit: 1024 * 1024)))
        }
    }

    /// Reads a script.
    public static func script(in json: [UInt8]) throws(BundleError) -> AppScript {
        do {
            return try JSONDecoder().decode(Script.self, from: Data(json)).script()
        } catch let error as ScriptError {
            throw .invalid(file: "the script", reason: error.description)
        } catch {
            throw .invalid(file: "the script", reason: JSONProblem.description(of: error))
        }
    }
}

/// What is wrong where.
private struct ScriptError: Error {
    let place: String
    let problem: String

    var description: String { "\(place): \(problem)" }
}

/// Any JSON, with the names that objects have.
private enum JSON: Decodable {
    case null
    case bool(Bool)
    case number(Double)
    case text(String)
    case array([JSON])
    case object([String: JSON])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if let value = try? container.decode(Bool.self) {
            self = .bool(value)
        } else if let value = try? container.decode(Double.self) {
            self = .number(value)
        } else if let value = try? container.decode(String.self) {
            self = .text(value)
        } else if let value = try? container.decode([JSON].self) {
            self = .array(value)
        } else {
            self = .object(try container.decode([String: JSON].self))
        }
    }

    func object(at place: String, allowing names: Set<String>) throws(ScriptError) -> [String: JSON] {
        guard case .object(let members) = self else { throw ScriptError(place: place, problem: "an object is needed") }
        if let unknown = members.keys.sorted().first(where: { !names.contains($0) }) {
            let allowed = names.sorted().joined(separator: ", ")
            throw ScriptError(place: place, problem: "\"\(unknown)\" is unknown; there are \(allowed)")
        }
        return members
    }

    func array(at place: String) throws(ScriptError) -> [JSON] {
        guard case .array(let elements) = self else { throw ScriptError(place: place, problem: "a list is needed") }
        return elements
    }

    /// A whole number in a range.
    func integer(at place: String, in range: ClosedRange<Int64>) throws(ScriptError) -> Int64 {
        guard case .number(let number) = self, let integer = Int64(exactly: number), range.contains(integer) else {
            throw ScriptError(
                place: place,
                problem: "a whole number from \(range.lowerBound) to \(range.upperBound) is needed"
            )
        }
        return integer
    }
}

/// The script as it is written.
private struct Script: Decodable {
    private let root: JSON

    private static let longestDelay = 3600.0

    init(from decoder: any Decoder) throws { root = try JSON(from: decoder) }

    func script() throws(ScriptError) -> AppScript {
        let names: Set = ["inboxSize", "outboxSize", "onLaunch", "rules", "buttons"]
        let members = try root.object(at: "the top", allowing: names)
        var script = AppScript()
        if let size = members["inboxSize"] { script.inboxSize = Int(try size.integer(at: "inboxSize", in: 0...8200)) }
        if let size = members["outboxSize"] {
            script.outboxSize = Int(try size.integer(at: "outboxSize", in: 0...8200))
        }
        if let actions = members["onLaunch"] { script.onLaunch = try Self.actions(actions, at: "onLaunch") }
        if let rules = members["rules"] {
            for (index, rule) in try rules.array(at: "rules").enumerated() {
                script.rules.append(try Self.rule(rule, at: "rules[\(index)]"))
            }
        }
        if let buttons = members["buttons"] {
            let known = Set(WatchButton.allCases.map(\.rawValue)).subtracting([WatchButton.back.rawValue])
            for (name, actions) in try buttons.object(at: "buttons", allowing: known) {
                guard let button = WatchButton(rawValue: name) else { continue }
                script.onButton[button] = try Self.actions(actions, at: "buttons.\(name)")
            }
        }
        return script
    }

    private static func rule(_ json: JSON, at place: String) throws(ScriptError) -> AppScript.Rule {
        let members = try json.object(at: place, allowing: ["when", "do"])
        guard let actions = members["do"] else { throw ScriptError(place: place, problem: "\"do\" is missing") }
        var conditions: [AppScript.Condition] = []
        if let when = members["when"] {
            for (key, json) in try keys(when, at: "\(place).when") {
                if case .null = json {
                    conditions.append(.has(key))
                } else {
                    conditions.append(.equals(key, try value(json, at: "\(place).when.\(key)")))
                }
            }
        }
        return AppScript.Rule(conditions: conditions, actions: try self.actions(actions, at: "\(place).do"))
    }

    private static func actions(_ json: JSON, at place: String) throws(ScriptError) -> [AppScript.Action] {
        var actions: [AppScript.Action] = []
        for (index, json) in try json.array(at: place).enumerated() {
            let place = "\(place)[\(index)]"
            let members = try json.object(at: place, allowing: ["send", "after"])
            guard let send = members["send"] else { throw ScriptError(place: place, problem: "\"send\" is missing") }
            var action = AppScript.Action(tuples: try tuples(send, at: "\(place).send"))
            if let after = members["after"] {
                guard case .number(let seconds) = after, (0...longestDelay).contains(seconds) else {
                    throw ScriptError(place: "\(place).after", problem: "a number of seconds from 0 to 3600 is needed")
                }
                action.delay = .milliseconds(Int64((seconds * 1000).rounded()))
            }
            actions.append(action)
        }
        return actions
    }

    private static func tuples(_ json: JSON, at place: String) throws(ScriptError) -> [AppScript.Tuple] {
        var tuples: [AppScript.Tuple] = []
        for (key, json) in try keys(json, at: place) {
            let place = "\(place).\(key)"
            if case .object(let members) = json, let other = members["received"] {
                guard members.count == 1 else { throw ScriptError(place: place, problem: "\"received\" stands alone") }
                let source = try other.integer(at: "\(place).received", in: 0...Int64(UInt32.max))
                tuples.append(AppScript.Tuple(key: key, source: .received(UInt32(truncatingIfNeeded: source))))
            } else {
                tuples.append(AppScript.Tuple(key: key, source: .value(try value(json, at: place))))
            }
        }
        let fixed = tuples.compactMap { tuple in
            if case .value(let value) = tuple.source { AppMessageTuple(key: tuple.key, value: value) } else { nil }
        }
        do throws(AppMessageDictionaryError) {
            _ = try AppMessageDictionary(fixed, limit: AppMessageLimits.extendedSize)
        } catch {
            throw ScriptError(place: place, problem: "\(error)")
        }
        return tuples
    }

    /// The members of an object whose names are dictionary keys, in the order of the keys.
    private static func keys(_ json: JSON, at place: String) throws(ScriptError) -> [(UInt32, JSON)] {
        guard case .object(let members) = json else { throw ScriptError(place: place, problem: "an object is needed") }
        var keys: [(UInt32, JSON)] = []
        for (name, json) in members {
            guard let key = UInt32(name) else {
                throw ScriptError(
                    place: place,
                    problem: "\"\(name)\" is no key: keys are whole numbers from 0 to \(UInt32.max)"
                )
            }
            keys.append((key, json))
        }
        return keys.sorted { $0.0 < $1.0 }
    }

    private static func value(_ json: JSON, at place: String) throws(ScriptError) -> AppMessageValue {
        switch json {
        case .text(let text): return .string(text)
        case .bool(let value): return .int32(value ? 1 : 0)
        case .number:
            return .int32(
                Int32(truncatingIfNeeded: try json.integer(at: place, in: Int64(Int32.min)...Int64(Int32.max)))
            )
        case .object(let members):
            guard members.count == 1, let (type, json) = members.first else { break }
            return try value(json, ofType: type, at: "\(place).\(type)")
        case .null, .array: break
        }
        throw ScriptError(
            place: place,
            problem: "a number, a text, true, false, or an object of one type such as {\"uint8\": 7} is needed"
        )
    }

    private static func value(
        _ json: JSON,
        ofType type: String,
        at place: String
    ) throws(ScriptError) -> AppMessageValue {
        func integer<Value: FixedWidthInteger>(_: Value.Type) throws(ScriptError) -> Value {
            Value(truncatingIfNeeded: try json.integer(at: place, in: Int64(Value.min)...Int64(Value.max)))
        }
        switch type {
        case "uint8": return .uint8(try integer(UInt8.self))
        case "uint16": return .uint16(try integer(UInt16.self))
        case "uint32": return .uint32(try integer(UInt32.self))
        case "int8": return .int8(try integer(Int8.self))
        case "int16": return .int16(try integer(Int16.self))
        case "int32": return .int32(try integer(Int32.self))
        case "bytes":
            guard case .text(let text) = json, let bytes = [UInt8](hexadecimal: text) else {
                throw ScriptError(place: place, problem: "hexadecimal digits are needed, such as \"00ff\"")
            }
            return .bytes(bytes)
        default:
            let types = "bytes, int8, int16, int32, uint8, uint16, uint32"
            throw ScriptError(place: place, problem: "there is no type \"\(type)\"; there are \(types)")
        }
    }
}
