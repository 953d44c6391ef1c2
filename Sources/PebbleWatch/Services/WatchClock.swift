/// The watch's real-time clock, which only a phone sets.
public struct WatchClock: Sendable, Equatable {
    /// How local time relates to UTC.
    public struct Zone: Sendable, Equatable {
        /// Minutes that local time is ahead of UTC.
        public let offsetMinutes: Int
        /// The name that the phone gave, such as `Europe/Paris`.
        public let name: String

        init(offsetMinutes: Int, name: String) {
            self.offsetMinutes = offsetMinutes
            self.name = name
        }

        /// A zone of which no more is known: its name is such as `UTC+1` or `UTC-3:30`.
        init(offsetMinutes: Int) {
            let (hours, minutes) = abs(offsetMinutes).quotientAndRemainder(dividingBy: 60)
            let rest = minutes == 0 ? "" : ":\(minutes < 10 ? "0" : "")\(minutes)"
            self.init(offsetMinutes: offsetMinutes, name: "UTC\(offsetMinutes < 0 ? "-" : "+")\(hours)\(rest)")
        }
    }

    /// What the clock showed, in seconds since 1970, when it was last set (or at start).
    private var seconds: UInt32
    /// When that was.
    private var reference: Duration
    /// The zone, once a phone has set UTC; until then the clock shows local time.
    public private(set) var zone: Zone?
    /// Whether it was set since the watch was started: by a phone, or by a person at control.
    public private(set) var isSet = false

    /// A clock that shows `seconds` at `now`.
    public init(seconds: UInt32, at now: Duration) {
        self.seconds = seconds
        reference = now
    }

    /// Seconds since 1970 that the clock shows: UTC once a zone is known, local time before.
    public func seconds(at now: Duration) -> UInt32 {
        let elapsed = max(.zero, now - reference).components.seconds
        return seconds &+ UInt32(truncatingIfNeeded: elapsed)
    }

    /// Seconds since 1970 that a clock on the wall would show.
    func localSeconds(at now: Duration) -> Int64 { Int64(seconds(at: now)) + Int64(zone?.offsetMinutes ?? 0) * 60 }

    /// What a clock on the wall would show.
    func localTime(at now: Duration) -> WatchTime { WatchTime(secondsSince1970: localSeconds(at: now)) }

    /// What the clock shows when a clock on the wall shows this.
    func seconds(ofLocal local: UInt32) -> UInt32 {
        UInt32(clamping: Int64(local) - Int64(zone?.offsetMinutes ?? 0) * 60)
    }

    /// When local time will next be a multiple of so many seconds.
    func nextMultiple(ofSeconds step: Int64, after now: Duration) -> Duration {
        let elapsed = max(.zero, now - reference).components.seconds
        let local = localSeconds(at: now)
        let past = (local % step + step) % step
        return reference + .seconds(elapsed + step - past)
    }

    /// Sets local time, without a zone.
    public mutating func setLocal(seconds: UInt32, at now: Duration) {
        self.seconds = seconds
        reference = now
        isSet = true
    }

    /// Sets UTC and the zone.
    public mutating func setUTC(seconds: UInt32, zone: Zone, at now: Duration) {
        setLocal(seconds: seconds, at: now)
        self.zone = zone
    }
}
