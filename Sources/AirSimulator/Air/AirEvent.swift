/// What an air tells whoever runs it, apart from packets.
public enum AirEvent: Hashable, Sendable {
    /// A host sent something that its controller could not make sense of, or had no room for; it was dropped.
    case packetDropped(ControllerID, reason: String)
}

extension AirEvent: CustomStringConvertible {
    public var description: String {
        switch self {
        case .packetDropped(let controller, let reason): "\(controller): packet dropped: \(reason)"
        }
    }
}
