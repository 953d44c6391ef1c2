/// Something that a machine wants a person to know: how machines log. Drained like events.
public struct Diagnostic: Hashable, Sendable, CustomStringConvertible {
    /// How much it matters.
    public enum Severity: Int, Hashable, Comparable, Sendable, CaseIterable {
        /// Of use to whoever looks for a fault.
        case debug
        /// What happens in normal operation, but seldom.
        case info
        /// Something was wrong and has been dealt with.
        case warning
        /// Something was wrong, and something is lost or does not work because of it.
        case error

        public static func < (left: Severity, right: Severity) -> Bool { left.rawValue < right.rawValue }
    }

    /// How much it matters.
    public var severity: Severity
    /// Where it comes from: `hci`, `gap`, `l2cap`, `att`…
    public var layer: String
    /// What happened.
    public var message: String

    public init(severity: Severity, layer: String, message: String) {
        self.severity = severity
        self.layer = layer
        self.message = message
    }

    public var description: String { "\(severity) \(layer): \(message)" }
}
