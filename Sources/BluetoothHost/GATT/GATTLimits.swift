/// How much of anything is kept for one connection before the peer, or the caller, is told that it is too much.
enum GATTLimits {
    /// Requests that a client sent without waiting for the response to its last one.
    static let waitingRequests = 4
    /// Prepared writes in a queue: two values of 512 bytes, written at the default MTU.
    static let preparedWrites = 64
    /// Bytes in a queue of prepared writes.
    static let preparedBytes = 4096
    /// Indications that wait for the one in flight to be confirmed.
    static let waitingIndications = 16
    /// Client procedures that wait for the one that runs.
    static let waitingProcedures = 32
    /// Services, characteristics, descriptors or values that one client procedure collects.
    static let collectedItems = 4096
}
