/// Something that a machine wants a person to know: how machines log. Drained like events.
public struct Diagnostic: Hashable, Sendable, CustomStringConvertible {
    /// How much it matters.
    public enum Severity: Int, Hashable, Comparable, Sendable, CaseIterable {
        /// Of use to a person who looks for a fault.
        case debug
        /// What happens in normal operation, but seldom.
        case info
        /// Something was wrong and has been dealt with.
        case warning
        /// Something was wrong, and something is lost or does not work because of it.
        case error

        public static func < (left: Severity, right: Severity) -> Bool { left.rawValue < right.rawValue }
    }

    /// Where it comes from: the host's layers, and those that stand on them. A layer that is not here has no place in a log, so
    /// every label of a diagnostic is one that a person can name.
    public enum Layer: String, Hashable, Sendable, CaseIterable {
        /// Commands, events and data between host and controller.
        case hci
        /// Advertising, scanning and connections.
        case gap
        /// Signaling, credit-based channels, and frames that are put together from packets.
        case l2cap
        /// Pairing, bonds and encryption: the Security Manager Protocol.
        case smp
        /// PDUs that were refused, ignored or not answered: the Attribute Protocol.
        case att
        /// Services, values and procedures: the Generic Attribute Profile.
        case gatt
        /// The Pebble transport over GATT.
        case ppogatt
        /// Sessions of companions and the services that talk to them.
        case session
        /// The watch as a whole.
        case watch
        /// What a watch remembers.
        case store
    }

    /// How much it matters.
    public var severity: Severity
    /// Where it comes from.
    public var layer: Layer
    /// What happened.
    public var message: String

    /// A diagnostic whose message is for people to read.
    package init(severity: Severity, layer: Layer, message: String) {
        self.severity = severity
        self.layer = layer
        self.message = message
    }

    public var description: String { "\(severity) \(layer.rawValue): \(message)" }
}
