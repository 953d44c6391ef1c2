/// Whether the app behind a PPoGATT service may have started again, and its service be another one at the same handles.
///
/// Where the phone lets the subscription be read, that tells. Android refuses: its apps make their client characteristic
/// configurations write-only. Then the app's own behaviour tells: one that starts subscribes to Connectivity, though the link
/// has seen that already, and one that goes on sends more data in its session.
struct RestartDoubt: Sendable {
    /// Whether the phone said that its database changed where the service is, and nothing has shown yet what that means.
    private(set) var isRaised = false
    private var isUnreadable = false
    private var hasStarted = false

    /// The phone's database changed where the service is.
    mutating func raise() { isRaised = true }

    /// The subscription cannot be read.
    /// - Returns: whether the service is another one.
    mutating func subscriptionIsUnreadable() -> Bool {
        isUnreadable = isRaised
        return isUnreadable && hasStarted
    }

    /// An app on the phone does once more what one does that starts.
    /// - Returns: whether the service is another one.
    mutating func appStarts() -> Bool {
        hasStarted = isRaised
        return isUnreadable && hasStarted
    }
}
