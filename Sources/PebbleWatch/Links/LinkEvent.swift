import BluetoothHCI
import BluetoothHost

/// What became of a link's speed, and why: everything that the watch asked for, and everything that it got.
public enum LinkEvent: Sendable, Equatable {
    /// A link layer packet can carry this much now.
    case dataLength(transmit: DataLength, receive: DataLength)
    /// The radio modulates like this now.
    case phys(LinkPHYs)
    /// The watch wanted 2M, and the controllers did not agree.
    case phyRefused(HCIStatus)
    /// An ATT PDU can have this many bytes now.
    case mtu(Int)
    /// The sides meet this often now; by the watch's wish or the phone's.
    case parameters(
        interval: ConnectionInterval,
        latency: UInt16,
        supervisionTimeout: SupervisionTimeout,
        subrating: LinkSubrating
    )
    /// The watch needs another response time from now on; no consumer left means that it is idle.
    case responseTime(ResponseTime, for: [SpeedConsumer])
    /// The watch asks the phone for parameters.
    case requested(ConnectionParameters, attempt: Int)
    /// The phone did not grant them.
    case refused(ParameterUpdateFailure)
    /// The watch did not ask, because the phone would refuse.
    case notRequested(ConnectionParameters, ConnectionParameterRules.Violation)
    /// The watch lives with the link as it is until it needs another response time.
    case gaveUp(ResponseTime, attempts: Int)
    /// The phone says that it manages the parameters itself, or not any more.
    case phoneManages(Bool)
}

extension LinkEvent: CustomStringConvertible {
    public var description: String {
        switch self {
        case .dataLength(let transmit, let receive):
            "packets carry \(transmit.octets) bytes out and \(receive.octets) bytes in"
        case .phys(let phys): "radio: \(phys.transmit.name) out, \(phys.receive.name) in"
        case .phyRefused(let status): "radio: no 2M: \(status)"
        case .mtu(let mtu): "ATT MTU \(mtu)"
        case .parameters(let interval, let latency, let timeout, let subrating):
            "the phone set interval \(interval.milliseconds), latency \(latency), supervision timeout \(timeout)"
                + (subrating == .none ? "" : ", \(subrating.summary)")
        case .responseTime(let responseTime, let consumers):
            "response time \(responseTime) for "
                + (consumers.isEmpty ? "nobody: idle" : consumers.map(\.rawValue).joined(separator: ", "))
        case .requested(let parameters, let attempt): "asks for \(parameters.summary), attempt \(attempt)"
        case .refused(let failure): "parameters not granted: \(failure)"
        case .notRequested(let parameters, let violation):
            "does not ask for \(parameters.summary), which the phone would refuse: \(violation)"
        case .gaveUp(let responseTime, let attempts):
            "no \(responseTime) parameters after \(attempts) attempts; going on with what there is"
        case .phoneManages(true): "the phone manages the parameters; the watch asks for none"
        case .phoneManages(false): "the watch manages the parameters"
        }
    }
}

extension ConnectionParameters {
    fileprivate var summary: String {
        "interval \(intervalMinimum.milliseconds) to \(intervalMaximum.milliseconds), latency \(latency), "
            + "supervision timeout \(supervisionTimeout)"
    }
}

extension LinkSubrating {
    fileprivate var summary: String { "subrate factor \(factor), continuation number \(continuationNumber)" }
}

extension ConnectionInterval {
    /// Such as `11.25 ms`.
    fileprivate var milliseconds: String {
        let hundredths = UInt32(rawValue) * 125
        let rest = hundredths % 100
        let fraction = rest == 0 ? "" : rest == 50 ? ".5" : ".\(rest)"
        return "\(hundredths / 100)\(fraction) ms"
    }
}

extension PHY {
    fileprivate var name: String {
        switch self {
        case .le1M: "1M"
        case .le2M: "2M"
        case .leCoded: "coded"
        }
    }
}

extension LinkEvent {
    /// Whether this happens on every link all the time, so that a log need not say it unless asked for details.
    public var isRoutine: Bool {
        switch self {
        case .responseTime, .requested, .parameters: true
        case .dataLength, .phys, .phyRefused, .mtu, .refused, .notRequested, .gaveUp, .phoneManages: false
        }
    }
}
