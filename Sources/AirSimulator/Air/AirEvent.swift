import BluetoothHCI

/// What an air tells its owner, apart from packets.
public enum AirEvent: Hashable, Sendable {
    /// A host sent something that its controller could not make sense of, or had no room for; it was dropped.
    case packetDropped(ControllerID, reason: String)
    /// A host has taken a random address that another controller's host has taken already: peers can't tell the two apart.
    case addressTakenTwice(DeviceAddress, by: ControllerID, and: ControllerID)
}

extension AirEvent: CustomStringConvertible {
    public var description: String {
        switch self {
        case .packetDropped(let controller, let reason): "\(controller): packet dropped: \(reason)"
        case .addressTakenTwice(let address, let newcomer, let holder):
            "\(newcomer) and \(holder) both have the address \(address)"
        }
    }
}
