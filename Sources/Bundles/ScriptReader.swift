import ByteCoding
import PebbleProtocol
import PebbleWatch

/// Makes a script of what is written.
enum ScriptReader {
    private static let longestDelay = 3600.0
    /// The most that may be done at once: as many messages as can wait.
    private static let actionLimit = ScriptedApp.queueLimit

    static func script(_ top: ScriptValue) throws(ScriptError) -> AppScript {
        let members = try top.object(allowing: ["inboxSize", "outboxSize", "onLaunch", "rules", "buttons"])
        var script = AppScript()
        if let size = members["inboxSize"] { script.inboxSize = Int(try size.integer(in: 0...8200)) }
        if let size = members["outboxSize"] { script.outboxSize = Int(try size.integer(in: 0...8200)) }
        if let actions = members["onLaunch"] { script.onLaunch = try self.actions(actions) }
        for rule in try members["rules"]?.array() ?? [] { script.rules.append(try self.rule(rule)) }
        let known = Set(WatchButton.allCases.map(\.rawValue)).subtracting([WatchButton.back.rawValue])
        for (name, actions) in try members["buttons"]?.object(allowing: known) ?? [:] {
            if let button = WatchButton(rawValue: name) { script.onButton[button] = try self.actions(actions) }
        }
        return script
    }

    private static func rule(_ rule: ScriptValue) throws(ScriptError) -> AppScript.Rule {
        let members = try rule.object(allowing: ["when", "do"])
        guard let actions = members["do"] else { throw rule.error("\"do\" is missing") }
        var conditions: [AppScript.Condition] = []
        if let when = members["when"] {
            for (key, value) in try keys(when) {
                if case .null = value.json.value {
                    conditions.append(.has(key))
                } else {
                    conditions.append(.equals(key, try self.value(value)))
                }
            }
        }
        return AppScript.Rule(conditions: conditions, actions: try self.actions(actions))
    }

    private static func actions(_ list: ScriptValue) throws(ScriptError) -> [AppScript.Action] {
        var actions: [AppScript.Action] = []
        for element in try list.array() {
            let members = try element.object(allowing: ["send", "draw", "after"])
            guard members["send"] != nil || members["draw"] != nil else {
                throw element.error("\"send\" or \"draw\" is missing")
            }
            var action = AppScript.Action(
                tuples: try members["send"].map { value throws(ScriptError) in try tuples(value) }
            )
            for drawing in try members["draw"]?.array() ?? [] { action.drawings.append(try self.drawing(drawing)) }
            if let after = members["after"] {
                guard case .number(let seconds) = after.json.value, (0...longestDelay).contains(seconds) else {
                    throw after.error("a number of seconds from 0 to 3600 is needed")
                }
                action.delay = .milliseconds(Int64((seconds * 1000).rounded()))
            }
            actions.append(action)
        }
        guard actions.count <= actionLimit else {
            throw list.error("there are \(actions.count) actions; at most \(actionLimit) are done at once")
        }
        return actions
    }

    private static func tuples(_ send: ScriptValue) throws(ScriptError) -> [AppScript.Tuple] {
        var tuples: [AppScript.Tuple] = []
        for (key, value) in try keys(send) {
            let source: AppScript.Tuple.Source =
                if let other = try received(value) { .received(other) } else { .value(try self.value(value)) }
            tuples.append(AppScript.Tuple(key: key, source: source))
        }
        let fixed = tuples.compactMap { tuple in
            if case .value(let value) = tuple.source { AppMessageTuple(key: tuple.key, value: value) } else { nil }
        }
        do throws(AppMessageDictionaryError) {
            _ = try AppMessageDictionary(fixed, limit: AppMessageLimits.extendedSize)
        } catch {
            throw send.error("\(error)")
        }
        return tuples
    }

    /// The key in `{"received": KEY}`; nil for anything else.
    static func received(_ value: ScriptValue) throws(ScriptError) -> UInt32? {
        guard case .object(let members) = value.json.value,
            let received = members.first(where: { $0.name == "received" })
        else { return nil }
        guard members.count == 1 else { throw value.error("\"received\" stands alone") }
        return UInt32(truncatingIfNeeded: try value.member(received).integer(in: 0...Int64(UInt32.max)))
    }

    /// The members of an object whose names are dictionary keys, in the order of the keys.
    private static func keys(_ object: ScriptValue) throws(ScriptError) -> [(UInt32, ScriptValue)] {
        var keys: [(UInt32, ScriptValue)] = []
        for member in try object.object() {
            guard let key = UInt32(member.name) else {
                throw ScriptError(
                    line: member.line,
                    place: object.place,
                    problem: "\"\(member.name)\" is no key: keys are whole numbers from 0 to \(UInt32.max)"
                )
            }
            keys.append((key, object.member(member)))
        }
        return keys.sorted { $0.0 < $1.0 }
    }

    private static func value(_ value: ScriptValue) throws(ScriptError) -> AppMessageValue {
        switch value.json.value {
        case .text(let text): return .string(text)
        case .bool(let flag): return .int32(flag ? 1 : 0)
        case .number:
            return .int32(Int32(truncatingIfNeeded: try value.integer(in: Int64(Int32.min)...Int64(Int32.max))))
        case .object(let members):
            guard members.count == 1, let member = members.first else { break }
            return try self.value(value.member(member), ofType: member.name)
        case .null, .array: break
        }
        throw value.error(
            "a number, a text, true, false, or an object of one type such as {\"uint8\": 7} is needed"
        )
    }

    private static func value(_ value: ScriptValue, ofType type: String) throws(ScriptError) -> AppMessageValue {
        func integer<Value: FixedWidthInteger>(_: Value.Type) throws(ScriptError) -> Value {
            Value(truncatingIfNeeded: try value.integer(in: Int64(Value.min)...Int64(Value.max)))
        }
        switch type {
        case "uint8": return .uint8(try integer(UInt8.self))
        case "uint16": return .uint16(try integer(UInt16.self))
        case "uint32": return .uint32(try integer(UInt32.self))
        case "int8": return .int8(try integer(Int8.self))
        case "int16": return .int16(try integer(Int16.self))
        case "int32": return .int32(try integer(Int32.self))
        case "bytes":
            guard case .text(let text) = value.json.value, let bytes = [UInt8](hexadecimal: text) else {
                throw value.error("hexadecimal digits are needed, such as \"00ff\"")
            }
            return .bytes(bytes)
        default:
            let types = "bytes, int8, int16, int32, uint8, uint16, uint32"
            throw value.error("there is no type \"\(type)\"; there are \(types)")
        }
    }
}
