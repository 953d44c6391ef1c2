import BluetoothHCI
import PebbleProtocol

/// How a link ended, and what the watch did about it: what somebody asks whose phone is not there.
public struct Disconnection: Sendable, Hashable {
    /// Why the watch wanted an end.
    public enum Cause: Sendable, Hashable {
        /// The Pebble transport over GATT could not be brought back in any other way.
        case transport(PPoGATTCloseReason)
        /// The phone did not answer a request of the Attribute Protocol in time (Core 5.4, Vol 3, Part F, 3.3.3).
        case noResponse
        /// Somebody asked for it.
        case command
        /// Its bond was removed.
        case forgotten
        /// Another phone was bonded, or the same one with another key: what this one was trusted with counts no more.
        case replaced
        /// It paired, and its key was not taken.
        case keyRejected
        /// It had not earned its place.
        case tenure(TenureEnd)
        /// The watch restarts.
        case restart(RestartCause)
        /// The watch is being switched off.
        case switchedOff
        /// The firmware that the watch is the radio of has one session, and another companion has it.
        case busy
        /// That firmware has crashed, or cannot be reached.
        case firmwareGone
    }

    /// What the watch did then.
    public enum Remedy: Sendable, Hashable {
        /// It advertises, for this and so often.
        case advertises(OnAir.Role, every: AdvertisingInterval)
        /// Its controller has to be started first; then it advertises.
        case awaitsController
        /// Other phones are connected.
        case keepsOtherLinks
        /// It restarts first, or has been switched off.
        case none
    }

    /// Who was on the link: the phone's identity if it is bonded, else the address that it used.
    public let phone: LEAddress
    /// The controller's reason.
    public let reason: HCIStatus
    /// Why the watch wanted it; nil if it did not.
    public let cause: Cause?
    /// When the link ended.
    public let time: Duration
    /// How long it had lasted.
    public let linkDuration: Duration
    /// What the watch did then; `none` until the advertising policy has decided.
    public internal(set) var remedy = Remedy.none
    /// How long the phone was away; nil while it is.
    public internal(set) var absence: Duration?
}

extension Disconnection: CustomStringConvertible {
    /// Such as `Connection Timeout (0x08), after 12.5 s; advertises for reconnection every 20 ms`.
    public var description: String {
        "\(reason)\(cause.map { ", since \($0)" } ?? ""), after \(linkDuration.inSeconds)\(remedy.addition)"
    }
}

extension Disconnection.Cause: CustomStringConvertible {
    public var description: String {
        switch self {
        case .transport(let reason): "the Pebble transport did not work: \(reason)"
        case .noResponse: "the phone did not answer a request"
        case .command: "somebody asked for it"
        case .forgotten: "the phone was forgotten"
        case .replaced: "another phone or another key has taken its place"
        case .keyRejected: "its key was not taken"
        case .tenure(let end): "\(end)"
        case .restart: "the watch restarts"
        case .switchedOff: "the watch is switched off"
        case .busy: "another companion has the firmware's one session"
        case .firmwareGone: "the firmware is gone"
        }
    }
}

extension Disconnection.Remedy: CustomStringConvertible {
    public var description: String {
        switch self {
        case .advertises(let role, let interval):
            "advertises for \(role.rawValue) every \(interval.inMilliseconds)"
        case .awaitsController: "advertises as soon as the controller is ready"
        case .keepsOtherLinks: "other phones are connected"
        case .none: "nothing"
        }
    }

    fileprivate var addition: String { self == .none ? "" : "; \(self)" }
}
