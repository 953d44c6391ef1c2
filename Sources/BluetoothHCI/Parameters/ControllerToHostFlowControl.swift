/// For which data the controller waits until the host has room.
package enum ControllerToHostFlowControl: UInt8, Hashable, Sendable, CaseIterable {
    /// 0: for no data.
    case off = 0
    /// 1: for ACL data only.
    case acl = 1
    /// 2: for synchronous data only.
    case synchronous = 2
    /// 3: for ACL data and synchronous data.
    case both = 3
}
