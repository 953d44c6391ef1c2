import BluetoothHCI

/// What is known about a connection.
public struct Connection: Hashable, Sendable {
    /// What it is called.
    public let handle: ConnectionHandle
    /// Which side of it this device is.
    public let role: ConnectionRole
    /// The peer: its identity address, if the controller or a bond's key told it.
    public internal(set) var peer: LEAddress
    /// The peer's address as it was on the air.
    package let peerAddressOnAir: LEAddress
    /// This device's address as it was on the air.
    package internal(set) var ownAddress: LEAddress
    /// The time between connection events.
    public internal(set) var interval: ConnectionInterval
    /// How many connection events, or subrated ones, the peripheral may skip.
    public internal(set) var latency: UInt16
    /// How long the link may hear nothing.
    public internal(set) var supervisionTimeout: SupervisionTimeout
    /// At how few of its events the sides meet while they have nothing to say.
    public internal(set) var subrating = LinkSubrating.none
    /// The PHYs in use.
    public internal(set) var phys = LinkPHYs.le1M
    /// The most that is transmitted in one link layer packet.
    public internal(set) var transmitLength = DataLength.minimum
    /// The most that is received in one link layer packet.
    public internal(set) var receiveLength = DataLength.minimum
    /// What the peer's link layer can do; nil until it said so, or if it did not.
    public internal(set) var remoteFeatures: LEFeatures?
    /// What is known about the link's security.
    public internal(set) var security = LinkSecurity.none
}

/// How a connection is subrated: both sides use only every Nth connection event, and a few more after data.
///
/// Source: Core 5.4, Vol 6, Part B, 4.5.1.
public struct LinkSubrating: Hashable, Sendable {
    /// Both sides use every Nth connection event, and this is N: 1 to 500.
    public var factor: UInt16
    /// How many connection events after data both sides use as well: 0 to 499.
    public var continuationNumber: UInt16

    /// The sides meet at every connection event.
    public static let none = LinkSubrating(factor: 1, continuationNumber: 0)

    /// Makes a subrating of any values.
    public init(factor: UInt16, continuationNumber: UInt16) {
        self.factor = factor
        self.continuationNumber = continuationNumber
    }
}

/// Why connection parameters stayed as they were.
public enum ParameterUpdateFailure: Hashable, Sendable {
    /// The Core does not allow such parameters; nothing was sent.
    case invalid
    /// The peer said no.
    case rejectedByPeer
    /// The peer did not answer.
    case notAnswered
    /// The controller said no, or the peer's controller did.
    case controller(HCIStatus)
}

/// Which connection parameters a peer gets that asks for them.
public struct AcceptableParameters: Hashable, Sendable {
    /// The shortest interval that is accepted.
    package var intervalMinimum: ConnectionInterval
    /// The longest interval that is accepted.
    package var intervalMaximum: ConnectionInterval
    /// The most connection events that the peripheral may skip.
    package var maximumLatency: UInt16

    /// All that the Core allows.
    public static let all = AcceptableParameters(
        intervalMinimum: ConnectionInterval(rawValue: ConnectionInterval.validRange.lowerBound),
        intervalMaximum: ConnectionInterval(rawValue: ConnectionInterval.validRange.upperBound),
        maximumLatency: ConnectionParameters.maximumLatency
    )

    /// Limits of one's own. `intervalMinimum` must not be longer than `intervalMaximum`, which is not checked.
    public init(intervalMinimum: ConnectionInterval, intervalMaximum: ConnectionInterval, maximumLatency: UInt16) {
        self.intervalMinimum = intervalMinimum
        self.intervalMaximum = intervalMaximum
        self.maximumLatency = maximumLatency
    }

    /// Whether parameters are allowed and within these limits, so that the intersection of intervals is not empty.
    func accepts(_ parameters: ConnectionParameters) -> Bool {
        parameters.areValid && parameters.latency <= maximumLatency
            && parameters.intervalMaximum >= intervalMinimum && parameters.intervalMinimum <= intervalMaximum
    }

    /// What is granted of parameters that are accepted.
    func granted(_ parameters: ConnectionParameters) -> ConnectionParameters {
        var granted = parameters
        granted.intervalMinimum = max(parameters.intervalMinimum, intervalMinimum)
        granted.intervalMaximum = min(parameters.intervalMaximum, intervalMaximum)
        return granted
    }
}

extension ParameterUpdateFailure: CustomStringConvertible {
    public var description: String {
        switch self {
        case .invalid: "the Core does not allow such parameters"
        case .rejectedByPeer: "the peer rejected them"
        case .notAnswered: "the peer did not answer"
        case .controller(let status): "the controllers refused: \(status)"
        }
    }
}
