import Glibc

/// The time that everything in the process goes by: how long ago the clock was made, never going back, standing still
/// while the machine sleeps.
public struct MonotonicClock: Sendable {
    private let origin: SuspendingClock.Instant
    /// The origin in civil time, for captures: since 1970-01-01 00:00 UTC.
    private let civilOrigin: Duration

    /// A clock that shows zero now.
    public init() {
        origin = SuspendingClock().now
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        civilOrigin = .seconds(now.tv_sec) + .nanoseconds(now.tv_nsec)
    }

    /// What has passed since the clock was made.
    public var now: Duration { SuspendingClock().now - origin }

    /// The civil time that goes with a reading of this clock, since 1970-01-01 00:00 UTC. Setting the machine's clock
    /// in between does not disturb the order.
    public func civilTime(at reading: Duration) -> Duration { civilOrigin + reading }
}
