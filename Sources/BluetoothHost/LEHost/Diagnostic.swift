import BluetoothHCI

/// Something that a machine wants a person to know: how machines log. Drained like events.
public enum Diagnostic: Equatable, Sendable {
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

    /// The host says it, as a value: its words are made when they are asked for.
    case notice(HostNotice)
    /// A machine on top of the host says it, in words for people to read.
    case message(Severity, Layer, String)

    /// A diagnostic whose message is for people to read.
    package init(severity: Severity, layer: Layer, message: String) { self = .message(severity, layer, message) }

    /// How much it matters.
    public var severity: Severity {
        switch self {
        case .notice(let notice): notice.severity
        case .message(let severity, _, _): severity
        }
    }

    /// Where it comes from.
    public var layer: Layer {
        switch self {
        case .notice(let notice): notice.layer
        case .message(_, let layer, _): layer
        }
    }

    /// What happened, in words.
    public var message: String {
        switch self {
        case .notice(let notice): notice.description
        case .message(_, _, let message): message
        }
    }

    /// The connection that it is about; nil if it is about none, or if only its words say which.
    public var connection: ConnectionHandle? {
        switch self {
        case .notice(let notice): notice.connection
        case .message: nil
        }
    }
}

extension Diagnostic: CustomStringConvertible {
    public var description: String { "\(severity) \(layer.rawValue): \(message)" }
}
