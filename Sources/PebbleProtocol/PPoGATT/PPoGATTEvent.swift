/// What happened on a ``PPoGATTLink``, and what it asks for.
public enum PPoGATTEvent: Equatable, Sendable {
    /// Watch, forward: read the meta characteristic, then call `receiveMeta` or `metaReadFailed`.
    case metaReadRequested
    /// Watch, forward: write the data characteristic's CCCD, then call `subscribed`, `subscriptionRefused` or
    /// `metaReadFailed` (if the write could not even be started).
    case subscriptionRequested
    /// Watch, forward: this service cannot be used; the link is over.
    case failed(PPoGATTFailure)
    /// A session of the Pebble Protocol begins, with an empty stream both ways.
    case opened(PPoGATTSession)
    /// The next piece of the inbound stream. It shares the storage of the packet that brought it.
    case received(ArraySlice<UInt8>)
    /// `send` took less than it was given before, and will take more now.
    case spaceAvailable
    /// The session has ended, with everything that was not yet acknowledged.
    case closed(PPoGATTCloseReason)
    /// Only disconnecting can help; the link is over.
    case disconnectRequested(PPoGATTCloseReason)
    /// Disconnecting has been tried too often; the link waits silently for a reset from the other side.
    case stalled
}

/// What was agreed for a session.
public struct PPoGATTSession: Equatable, Sendable {
    /// The version in force.
    public var version: PPoGATTVersion
    /// How many packets this side may have on their way.
    package var transmitWindow: Int
    /// How many packets the other side may have on their way.
    package var receiveWindow: Int
    /// What the session may ask for.
    public var destination: PPoGATTDestination

    /// What was agreed.
    package init(
        version: PPoGATTVersion,
        transmitWindow: Int,
        receiveWindow: Int,
        destination: PPoGATTDestination
    ) {
        self.version = version
        self.transmitWindow = transmitWindow
        self.receiveWindow = receiveWindow
        self.destination = destination
    }
}

/// Why a PPoGATT service cannot be used.
public enum PPoGATTFailure: Equatable, Sendable {
    /// Its meta value could not be read.
    case metaUnreadable
    /// Its meta value does not allow it.
    case metaRejected(PPoGATTMetaRejection)
    /// Its data characteristic refused the subscription.
    case subscriptionRefused
    /// Its meta value is not the one that the link was started with.
    case metaChanged
}

/// Why a session ended, or never began.
public enum PPoGATTCloseReason: Equatable, Sendable {
    /// Too many acknowledgements in a row did not come.
    case acknowledgementTimeout
    /// An acknowledgement named a packet that was not on its way.
    case acknowledgementOutOfRange
    /// No Reset Request or Reset Complete came in time.
    case resetTimeout
    /// The other side asked for a reset.
    case remoteReset
    /// A reset was asked for with a version that does not exist, or finished when none was under way.
    case protocolViolation
    /// The owner asked for a reset.
    case localReset
    /// The owner stopped the link.
    case stopped
}

extension PPoGATTCloseReason: CustomStringConvertible {
    public var description: String {
        switch self {
        case .acknowledgementTimeout: "the other side does not acknowledge"
        case .acknowledgementOutOfRange: "the other side acknowledged what was not sent"
        case .resetTimeout: "the other side does not answer resets"
        case .remoteReset: "the other side reset it"
        case .protocolViolation: "the other side broke the protocol"
        case .localReset: "this side reset it"
        case .stopped: "it was stopped"
        }
    }
}

/// What a link has seen and done. Nothing resets the counters; they wrap.
package struct PPoGATTStatistics: Equatable, Sendable {
    /// Data packets that were sent, those that were sent again among them.
    package internal(set) var sentDataPackets: UInt64 = 0
    /// How many of them were sent again.
    package internal(set) var retransmittedPackets: UInt64 = 0
    /// Acknowledgements that were sent.
    package internal(set) var sentAcknowledgements: UInt64 = 0
    /// Reset Requests that were sent.
    package internal(set) var sentResetRequests: UInt64 = 0
    /// Reset Completes that were sent.
    package internal(set) var sentResetCompletes: UInt64 = 0
    /// Data packets that came in an open session, duplicates and those out of order among them.
    package internal(set) var receivedDataPackets: UInt64 = 0
    /// Bytes of the inbound stream: the payloads of the data packets that came in order.
    package internal(set) var receivedBytes: UInt64 = 0
    /// Bytes of the outbound stream that the other side has acknowledged.
    package internal(set) var acknowledgedBytes: UInt64 = 0
    /// Data that had been received before.
    package internal(set) var duplicatePackets: UInt64 = 0
    /// Data that came before what precedes them.
    package internal(set) var outOfOrderPackets: UInt64 = 0
    /// Acknowledgements of what had been acknowledged before.
    package internal(set) var duplicateAcknowledgements: UInt64 = 0
    /// Acknowledgements of packets that were not on their way, and were not the last acknowledged one either.
    package internal(set) var unknownAcknowledgements: UInt64 = 0
    /// Empty packets and packets of types that do not exist.
    package internal(set) var invalidPackets: UInt64 = 0
    /// Packets that mean nothing in the state in which they came.
    package internal(set) var ignoredPackets: UInt64 = 0
    /// Packets that were dropped because events were not drained.
    package internal(set) var overflowedPackets: UInt64 = 0
    /// How often data in an open session were not acknowledged in time.
    package internal(set) var acknowledgementTimeouts: UInt64 = 0
    /// How often no Reset Request or Reset Complete came in time.
    package internal(set) var resetTimeouts: UInt64 = 0
    /// How many sessions have been opened on this link.
    package internal(set) var openedSessions: UInt64 = 0
}

/// How often in a row a watch has disconnected because of PPoGATT. It outlives links: hand it to the next one.
public struct PPoGATTDisconnectHistory: Equatable, Sendable {
    /// Disconnections since a reset was last completed.
    public internal(set) var count = 0

    /// No disconnections: for a stack that starts.
    public init() {}

    /// A link was lost that the watch did not give up.
    public mutating func linkLostByOtherSide() { count = 0 }
}
