import Control

/// What a value has to be.
package indirect enum ScenarioMatch: Sendable, Equatable {
    /// Equal; numbers whatever they are written as.
    case equal(ControlValue)
    /// An object with at least these fields.
    case fields([String: ScenarioMatch])
    /// A list in which each of these has an element.
    case elements([ScenarioMatch])
    case atLeast(Double)
    case atMost(Double)
    /// A list or an object with so many elements.
    case count(Int)
    /// A text with this in it.
    case contains(String)
    /// Anything else than that; also nothing at all.
    case not(ScenarioMatch)
    /// All of them.
    case all([ScenarioMatch])

    /// The operators of the file, which stand in the place of a value.
    package static let operators = ["at-least", "at-most", "count", "contains", "not"]

    /// Reads what a file has.
    /// - Returns: nil for an operator with an operand that it cannot have.
    package init?(_ value: ControlValue) {
        switch value {
        case .object(let fields) where !fields.isEmpty && fields.keys.allSatisfy(Self.operators.contains):
            var matches: [ScenarioMatch] = []
            for (name, operand) in fields.sorted(by: { $0.key < $1.key }) {
                guard let match = Self.match(name, operand) else { return nil }
                matches.append(match)
            }
            self = matches.count == 1 ? matches[0] : .all(matches)
        case .object(let fields):
            var matches: [String: ScenarioMatch] = [:]
            for (name, value) in fields {
                guard let match = ScenarioMatch(value) else { return nil }
                matches[name] = match
            }
            self = .fields(matches)
        case .list(let values):
            let matches = values.compactMap(ScenarioMatch.init)
            guard matches.count == values.count else { return nil }
            self = .elements(matches)
        case .flag, .integer, .number, .text: self = .equal(value)
        }
    }

    private static func match(_ name: String, _ operand: ControlValue) -> ScenarioMatch? {
        switch (name, operand) {
        case ("at-least", _): operand.number.map { .atLeast($0) }
        case ("at-most", _): operand.number.map { .atMost($0) }
        case ("count", .integer(let count)): .count(Int(clamping: count))
        case ("contains", .text(let text)): .contains(text)
        case ("not", _): ScenarioMatch(operand).map { .not($0) }
        default: nil
        }
    }

    /// Whether a value is so.
    /// - Parameter value: nil for a field that is not there.
    package func matches(_ value: ControlValue?) -> Bool {
        switch (self, value) {
        case (.not(let match), _): !match.matches(value)
        case (.all(let matches), _): matches.allSatisfy { $0.matches(value) }
        case (.equal(let wanted), let value?):
            wanted == value || (wanted.number != nil && wanted.number == value.number)
        case (.fields(let wanted), .object(let fields)?):
            wanted.allSatisfy { name, match in match.matches(fields[name]) }
        case (.elements(let wanted), .list(let values)?):
            wanted.allSatisfy { match in values.contains { match.matches($0) } }
        case (.atLeast(let least), let value?): value.number.map { $0 >= least } ?? false
        case (.atMost(let most), let value?): value.number.map { $0 <= most } ?? false
        case (.count(let count), .list(let values)?): values.count == count
        case (.count(let count), .object(let fields)?): fields.count == count
        case (.contains(let part), .text(let text)?): text.contains(part)
        default: false
        }
    }

    /// As people read it; empty for what any value is.
    package var words: String {
        switch self {
        case .equal(let value): "= \(value.json)"
        case .fields(let fields):
            fields.sorted { $0.key < $1.key }.map { name, match in
                let isInner = if case .fields = match { true } else { false }
                return isInner ? "\(name): (\(match.words))" : "\(name) \(match.words)"
            }.joined(separator: ", ")
        case .elements(let matches): "with " + matches.map(\.words).joined(separator: " and ")
        case .atLeast(let least): "≥ \(least)"
        case .atMost(let most): "≤ \(most)"
        case .count(let count): "of \(count)"
        case .contains(let part): "with “\(part)” in it"
        case .not(let match): "not \(match.words)"
        case .all(let matches): matches.map(\.words).joined(separator: " and ")
        }
    }
}

extension ControlValue {
    /// As a number; nil for what is none.
    fileprivate var number: Double? {
        switch self {
        case .integer(let integer): Double(integer)
        case .number(let number): number
        case .flag, .text, .list, .object: nil
        }
    }
}
