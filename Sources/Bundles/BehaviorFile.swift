import ByteCoding
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
        let text: LocatedJSON
        do throws(LocatedJSON.Fault) {
            text = try LocatedJSON(parsing: json)
        } catch {
            throw .invalid(file: "the script", reason: "line \(error.line): \(error.problem)")
        }
        do throws(ScriptError) {
            return try ScriptReader.script(ScriptValue(text, at: "the top"))
        } catch {
            throw .invalid(file: "the script", reason: error.description)
        }
    }
}

/// What is wrong where.
struct ScriptError: Error {
    let line: Int
    let place: String
    let problem: String

    var description: String { "line \(line), \(place): \(problem)" }
}

/// A value of a script, and the way to it from the top.
struct ScriptValue {
    let json: LocatedJSON
    let place: String

    init(_ json: LocatedJSON, at place: String) {
        self.json = json
        self.place = place
    }

    func error(_ problem: String) -> ScriptError { ScriptError(line: json.line, place: place, problem: problem) }

    /// The members of an object, by name; nothing else may be in it.
    func object(allowing names: Set<String>) throws(ScriptError) -> [String: ScriptValue] {
        var members: [String: ScriptValue] = [:]
        for member in try object() {
            guard names.contains(member.name) else {
                let allowed = names.sorted().joined(separator: ", ")
                throw ScriptError(
                    line: member.line,
                    place: place,
                    problem: "\"\(member.name)\" is unknown; there are \(allowed)"
                )
            }
            members[member.name] = self.member(member)
        }
        return members
    }

    /// The members of any object.
    func object() throws(ScriptError) -> [LocatedJSON.Member] {
        guard case .object(let members) = json.value else { throw error("an object is needed") }
        return members
    }

    func member(_ member: LocatedJSON.Member) -> ScriptValue {
        ScriptValue(member.value, at: place == "the top" ? member.name : "\(place).\(member.name)")
    }

    /// The elements of a list.
    func array(_ what: String = "a list is needed") throws(ScriptError) -> [ScriptValue] {
        guard case .array(let elements) = json.value else { throw error(what) }
        return elements.enumerated().map { ScriptValue($1, at: "\(place)[\($0)]") }
    }

    /// A whole number in a range.
    func integer(in range: ClosedRange<Int64>) throws(ScriptError) -> Int64 {
        guard case .number(let number) = json.value, let integer = Int64(exactly: number), range.contains(integer)
        else {
            throw error("a whole number from \(range.lowerBound) to \(range.upperBound) is needed")
        }
        return integer
    }

    func text(_ what: String = "a text is needed") throws(ScriptError) -> String {
        guard case .text(let text) = json.value else { throw error(what) }
        return text
    }

    func bool() throws(ScriptError) -> Bool {
        guard case .bool(let value) = json.value else { throw error("true or false is needed") }
        return value
    }
}
