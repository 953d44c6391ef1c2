/// Why a fault is not taken, in words that say what to do.
public enum FaultError: Error, Hashable, Sendable, CustomStringConvertible {
    /// Nothing was typed where a fault is named.
    case noName
    /// No fault has this name; the nearest one, if one is near.
    case unknownName(String, nearest: String?)
    /// The fault has no parameter of this name; the nearest one, if one is near, and all of them.
    case unknownKey(String, fault: String, nearest: String?, keys: [String])
    /// What was typed is no `key=value`.
    case noPair(String)
    /// A parameter was given twice.
    case twice(String)
    /// A value is none of its parameter's, or out of the range; and what would be one.
    case badValue(String, key: String, expected: String)
    /// The values do not go together, and why.
    case impossible(String, String)
    /// Something that the fault needs is not there, and why.
    case notHere(String, String)
    /// Faults are switched off for good at this watch.
    case notAllowed
    /// There is no room for another fault; the number is the limit.
    case tooMany(Int)
    /// No fault has this number.
    case unknownNumber(Int)

    public var description: String {
        switch self {
        case .noName: "no fault is named: “cairn fault names” lists them"
        case .unknownName(let name, let nearest):
            "there is no fault “\(name)”: " + (nearest.map { "the nearest is “\($0)”; " } ?? "")
                + "“cairn fault names” lists them"
        case .unknownKey(let key, let fault, let nearest, let keys):
            "\(fault) has no “\(key)”: " + (nearest.map { "the nearest is “\($0)”; " } ?? "") + "it takes "
                + keys.joined(separator: ", ")
        case .noPair(let text): "“\(text)” is no key=value"
        case .twice(let key): "“\(key)” is given twice"
        case .badValue(let value, let key, let expected): "“\(value)” is no value of \(key): it takes \(expected)"
        case .impossible(let name, let why): "\(name) is impossible so: \(why)"
        case .notHere(let name, let why): "\(name) \(why)"
        case .notAllowed:
            "faults are switched off at this watch, by the setting faults.allowed, which is read when the watch starts"
        case .tooMany(let limit): "\(limit) faults are there, which is the most: clear one"
        case .unknownNumber(let number): "there is no fault with the number \(number): “cairn fault list” has them"
        }
    }
}
