/// For which data the controller waits until the host has room.
public enum ControllerToHostFlowControl: UInt8, Hashable, Sendable, CaseIterable {
    case off = 0
    case acl = 1
    case synchronous = 2
    case both = 3
}
