import BluetoothHCI
import ByteCoding

/// What a host has to tell its owner.
///
/// Some events are requests. Each can be answered and refused by a call of `LEHost`, and each is refused when the owner
/// does not answer in time:
///
/// | request | answered by | refused by |
/// |---|---|---|
/// | `GATTEvent.readRequested` | `respond(to:with:at:)` | `refuse(_:with:at:)` |
/// | `GATTEvent.writeRequested` | `respond(to:at:)` | `refuse(_:with:at:)` |
/// | `GATTEvent.subscriptionChanged`, of the cause `requested` | `respond(to:at:)` | `refuse(_:with:at:)` |
/// | `SecurityEvent.prompt` | `answer(_:with:at:)` | the same with `reject`; `cancelPairing(_:at:)` |
/// | `SecurityEvent.securityRequested` | `pair(_:at:)`, `encrypt(_:at:)` | `rejectSecurityRequest(_:at:)` |
///
/// What the owner does not answer within `GATTLayer.OwnerAnswers`, 10 s, of a client's requests, the host refuses with
/// Unlikely Error, and `GATTEvent.requestNotAnswered` follows. A pairing that the owner does not answer for fails after
/// 30 s on both sides, without another command to the peer (Core 5.4, Vol 3, Part H, 3.4); `SecurityEvent.pairingFailed`
/// follows.
///
/// The host answers all other requests of peers and of the controller by itself: for channels by the `ChannelListener`, for
/// connection parameters by `AcceptableParameters`, for keys by the bonds, for pairing by the configuration of the
/// Security Manager.
public enum LEHostEvent: Sendable {
    /// The controller has been started, or started again: what was wanted on the air is going there.
    indirect case ready(ControllerCapabilities)
    /// The controller is being started again; all connections are gone.
    case restarting(RestartReason)
    /// The controller is out of reach; all connections are gone. `start(at:)` begins again.
    case controllerLost
    /// The controller cannot be used. `start(at:)` tries again.
    case failed(StartUpFailure)

    /// A set is on the air.
    case advertisingStarted(AdvertisingSetID)
    /// A set could not be put on the air.
    case advertisingFailed(AdvertisingSetID, HCIStatus)
    /// A set is not on the air any more.
    case advertisingEnded(AdvertisingSetID, AdvertisingEnd)
    /// A set was to leave the air, and the controller refused: it may still be there. `stopAdvertising` tries again.
    case advertisingNotStopped(AdvertisingSetID, HCIStatus)

    /// Scanning has begun. It begins again, with this event, after new parameters and after a restart of the
    /// controller.
    case scanningStarted
    /// The controller refused to listen for advertisements, and does not. If the parameters are not valid it is not
    /// asked: the status is `.invalidHCICommandParameters` then, and scanning that was on goes on.
    case scanningFailed(HCIStatus)
    /// Scanning has ended, by `stopScanning` or by the controller. A controller that refused to stop is a matter for
    /// the log, and this event comes all the same.
    case scanningEnded
    /// An advertisement or a scan response was heard. While too many events wait for the owner, reports are dropped,
    /// which `LEHostCounters.lostEvents` counts.
    case advertisingReport(AdvertisingReport)

    /// A connection is there, in either role. What changes later is in `LEHost.connection(_:)`.
    indirect case connected(Connection)
    /// The connection that `connect` asked for failed; `.operationCancelledByHost` if it was cancelled.
    case connectionFailed(LEAddress, HCIStatus)
    /// What is to be kept of a bonded client's subscriptions; `disconnected` follows.
    case clientStateToKeep(ConnectionHandle, GATTClientState)
    /// A connection is gone, and why. The reason is `.hardwareFailure` if the controller was lost or is started again.
    case disconnected(ConnectionHandle, HCIStatus)

    /// What the peer's link layer can do, once a connection; nil if that cannot be found out.
    case remoteFeaturesRead(ConnectionHandle, LEFeatures?)
    /// Interval, latency and supervision timeout were set, by either side's wish; `LEHost.connection(_:)` has them.
    case parametersUpdated(ConnectionHandle)
    /// A change of connection parameters failed, and why: one that this side asked for, or granted to the
    /// peer.
    case parametersUpdateFailed(ConnectionHandle, ParameterUpdateFailure)
    /// The PHYs that a connection uses now, by either side's wish, or why a change failed.
    case phyUpdated(ConnectionHandle, HCIOutcome<LinkPHYs>)
    /// How much a link layer packet of a connection may carry has changed; `LEHost.connection(_:)` has the lengths.
    case dataLengthUpdated(ConnectionHandle)
    /// How strongly the peer is received, in dBm; nil if that is not known.
    case rssi(ConnectionHandle, dBm: Int8?)
    /// What is known about the security of a link changed.
    case securityChanged(ConnectionHandle, LinkSecurity)
    /// The Security Manager has something to say, other than a change of security: that is `securityChanged`.
    case security(SecurityEvent)
    /// The GATT layer has something to say: a request to answer, a value, a result.
    case gatt(GATTEvent)
    /// Something happened to a credit-based channel.
    case channel(ChannelEvent)
    /// There is something for the log. While too many events wait for the owner, notices are dropped as reports are.
    case notice(HostNotice)

    /// Whether it may be left out while too many others wait: a peer can cause as many of these as it likes.
    var mayBeLost: Bool {
        switch self {
        case .advertisingReport, .notice: true
        case .ready, .restarting, .controllerLost, .failed, .advertisingStarted, .advertisingFailed, .advertisingEnded,
            .advertisingNotStopped, .scanningStarted, .scanningFailed, .scanningEnded, .connected, .connectionFailed,
            .clientStateToKeep, .disconnected, .remoteFeaturesRead, .parametersUpdated, .parametersUpdateFailed,
            .phyUpdated, .dataLengthUpdated, .rssi, .securityChanged, .security, .gatt, .channel:
            false
        }
    }
}

/// Why a controller is started again.
public enum RestartReason: Hashable, Sendable {
    /// It said that it failed, with a code of its manufacturer's.
    case hardwareError(code: UInt8)
    /// It did not answer a command in time.
    case commandTimeout(HCIOpcode)
    /// It was reset without being asked to.
    case unexpectedReset
}

extension RestartReason: CustomStringConvertible {
    public var description: String {
        switch self {
        case .hardwareError(let code): "hardware error 0x\([code].hexadecimal)"
        case .commandTimeout(let opcode): "no answer to \(opcode) within \(CommandQueue.timeout)"
        case .unexpectedReset: "the controller was reset without being asked to"
        }
    }
}

/// How often something went wrong that was dealt with; what notices tell one by one, as numbers.
package struct LEHostCounters: Hashable, Sendable {
    /// Packets from the controller that could not be read.
    package internal(set) var malformedPackets = 0
    /// Events that this host does not know, beyond the first of each kind, which it tells of.
    package internal(set) var unknownEvents = 0
    /// ACL packets of connections that do not exist.
    package internal(set) var unknownConnectionPackets = 0
    /// L2CAP frames that were dropped because their packets did not fit together.
    package internal(set) var droppedFrames = 0
    /// L2CAP frames on channels that are not open.
    package internal(set) var unknownChannelFrames = 0
    /// Packets that the controller says it sent, but that were not sent to it.
    package internal(set) var excessCompletedPackets = 0
    /// Reports and notices that were lost because the owner did not take them.
    package internal(set) var lostEvents = 0

    /// Nothing has gone wrong.
    package init() {}
}
