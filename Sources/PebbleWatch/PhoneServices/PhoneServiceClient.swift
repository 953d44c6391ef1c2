import BluetoothHost

/// A characteristic value of the phone that notifies, and where that is switched on.
struct NotifyingValue: Hashable, Sendable {
    let value: AttributeHandle
    /// Its client characteristic configuration.
    let configuration: AttributeHandle
}

/// The watch's client of one of the phone's services, on one link.
///
/// It asks for one GATT procedure at a time and is told how that ended. The service may be absent, appear and vanish at any
/// time, refuse, and send anything: what goes wrong is a problem with a name, and the client goes on as well as it can.
protocol PhoneServiceClient: Sendable {
    /// Where the service's characteristics are.
    associatedtype Handles: Hashable, Sendable
    /// What the client reports.
    associatedtype Event: Sendable

    /// The service was found, or is at another place than before. At the place where it was it changes nothing.
    mutating func serviceFound(_ handles: Handles, at now: Duration)
    /// The service is there no more.
    mutating func serviceGone(at now: Duration)
    /// The phone notified a value.
    /// - Returns: whether it was one of the service's.
    mutating func receive(_ value: ArraySlice<UInt8>, of handle: AttributeHandle, at now: Duration) -> Bool
    /// The procedure that `nextProcedure(at:)` asked for has ended.
    mutating func finish(_ result: Result<GATTResponse, GATTProcedureError>, at now: Duration)
    /// Lets time pass.
    mutating func advance(to now: Duration)
    /// When `advance(to:)` has something to do.
    var nextDeadline: Duration? { get }
    /// The procedure to carry out now; nil while one runs or there is nothing to do.
    mutating func nextProcedure(at now: Duration) -> GATTProcedure?
    /// The next thing that happened.
    mutating func nextEvent() -> Event?
}

/// The times that the watch's clients of phone services share.
enum PhoneServiceTiming {
    /// How long an operation may take before it is given up.
    static let operationTimeout: Duration = .seconds(10)
    /// After how long a write that the phone refused is tried once more.
    static let retryDelay: Duration = .seconds(5)
}

/// Says when what failed may be tried again, which it is once.
struct SingleRetry: Sendable {
    /// Until when nothing is tried.
    private(set) var end: Duration?
    private var isUsed = false

    /// The attempt failed.
    /// - Returns: false if it was the second.
    mutating func begin(at now: Duration) -> Bool {
        guard !isUsed else { return false }
        isUsed = true
        end = now + PhoneServiceTiming.retryDelay
        return true
    }

    /// The pause is over, if it was due.
    mutating func advance(to now: Duration) {
        if let end, end <= now { self.end = nil }
    }

    /// The attempt succeeded, or was given up: the next one has a retry of its own.
    mutating func reset() { self = SingleRetry() }
}

extension Duration {
    /// The earlier of two times of which either may not be. This is asked after every packet: it allocates nothing.
    static func earlier(_ left: Duration?, _ right: Duration?) -> Duration? {
        guard let left, let right else { return left ?? right }
        return min(left, right)
    }
}
