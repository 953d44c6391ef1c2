import ByteCoding

/// The number of an event.
package struct HCIEventCode: RawRepresentable, Hashable, Sendable {
    /// The number on the wire.
    package let rawValue: UInt8
    /// Any code, known or not.
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The event that wraps all LE events.
    package static let leMeta = HCIEventCode(rawValue: 0x3E)
    /// The event that manufacturers put their own into.
    package static let vendor = HCIEventCode(rawValue: 0xFF)
}

/// The number of an LE event inside of the LE Meta event.
package struct LESubevent: RawRepresentable, Hashable, Sendable {
    /// The number on the wire.
    package let rawValue: UInt8
    /// Any code, known or not.
    package init(rawValue: UInt8) { self.rawValue = rawValue }
}

/// An event's parameters.
package protocol HCIEventParameters: HCIParameters {
    /// The number of the event.
    static var code: HCIEventCode { get }
    /// Appends the whole packet: packet type, event code, length, parameters.
    func encodePacket(to buffer: inout [UInt8])
}

/// An LE event's parameters, which follow the subevent code.
package protocol LEEventParameters: HCIEventParameters {
    /// The number of the LE event.
    static var subevent: LESubevent { get }
}

extension LEEventParameters {
    package static var code: HCIEventCode { .leMeta }
}

/// What an operation came to: a value, or the status that says why there is none.
public enum HCIOutcome<Value: Hashable & Sendable>: Hashable, Sendable {
    /// The operation succeeded, with this value.
    case success(Value)
    /// Never with `.success` as the status.
    case failure(HCIStatus)

    /// The value, if there is one.
    public var value: Value? {
        if case .success(let value) = self { value } else { nil }
    }

    /// The status: `.success` if there is a value.
    public var status: HCIStatus {
        if case .failure(let status) = self { status } else { .success }
    }
}
