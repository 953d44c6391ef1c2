import BluetoothHCI
import BluetoothHost
import PebbleProtocol

/// Something that went wrong between the watch and its phones, or came right again.
public enum RecoveryEvent: Sendable, Hashable {
    /// A link has ended; what the watch does about it is known.
    case linkEnded(Disconnection)
    /// The phone of the link that ended last is connected again, and can be trusted if it is bonded.
    case phoneIsBack(LEAddress, after: Duration)
    /// The controller failed and is being started again.
    case controllerRestarting(RestartReason)
    /// The controller is out of reach.
    case controllerLost
    /// A transport over PPoGATT was given up; the link stays for the others on it.
    case transportGivenUp(ConnectionHandle, PPoGATTCloseReason)
    /// A transport over PPoGATT has failed again and again, and disconnecting did not help: the phone has to begin.
    case transportStalled(ConnectionHandle)
    /// Links come and go in a loop, or do not any more: while they do, the watch advertises slowly.
    case churning(Bool)
    /// Strangers connect so often that they are turned away at once, without a word about each.
    case strangersTurnedAway
    /// They do not any more; so many were turned away.
    case strangersGone(turnedAway: Int)
}

extension RecoveryEvent: CustomStringConvertible {
    public var description: String {
        switch self {
        case .linkEnded(let disconnection): "the link to \(disconnection.phone) ended: \(disconnection)"
        case .phoneIsBack(let phone, let absence): "\(phone) is back after \(absence.inSeconds)"
        case .controllerRestarting(let reason): "starts the controller again: \(reason)"
        case .controllerLost: "the controller is out of reach"
        case .transportGivenUp(let connection, let reason):
            "the transport of one companion is given up, \(connection): \(reason)"
        case .transportStalled(let connection):
            "the transport failed again and again; waits for the phone to reset it, \(connection)"
        case .churning(true):
            "more than \(LinkChurn.limit) links ended within \(LinkChurn.window.inSeconds); "
                + "advertises no faster than every \(LinkChurn.shortestInterval.inMilliseconds)"
        case .churning(false): "links do not come and go in a loop any more"
        case .strangersTurnedAway:
            "strangers connect again and again; those that are one too many are turned away at once, and not told of"
        case .strangersGone(let count): "no stranger connects any more; \(count) were turned away"
        }
    }
}
