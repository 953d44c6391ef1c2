import Glibc

/// What a clock on the wall shows.
enum LocalTime {
    /// Seconds since 1970 in local time, as a Pebble counts that no phone has told its time zone.
    static var now: UInt32 {
        var seconds = time(nil)
        var parts = tm()
        localtime_r(&seconds, &parts)
        return UInt32(truncatingIfNeeded: seconds + parts.tm_gmtoff)
    }

    /// The time since 1970, UTC, as exactly as the machine knows it.
    static var sinceEpoch: Duration {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// Seconds since 1970, UTC, and how many minutes local time is ahead of it.
    static var utc: (seconds: UInt32, offsetMinutes: Int16) {
        var seconds = time(nil)
        var parts = tm()
        localtime_r(&seconds, &parts)
        return (UInt32(truncatingIfNeeded: seconds), Int16(truncatingIfNeeded: parts.tm_gmtoff / 60))
    }
}
