/// A moment as a clock on the wall shows it, in the watch's own time zone.
public struct WatchTime: Hashable, Sendable {
    /// Of the Gregorian calendar, such as 2026.
    public let year: Int
    /// 1 to 12.
    public let month: Int
    /// 1 to 31.
    public let day: Int
    /// 0 is Sunday.
    public let weekday: Int
    /// 0 to 23.
    public let hour: Int
    /// 0 to 59.
    public let minute: Int
    /// 0 to 59.
    public let second: Int

    /// The time so many seconds after the beginning of 1970, in the proleptic Gregorian calendar.
    public init(secondsSince1970 seconds: Int64) {
        let secondsPerDay: Int64 = 86400
        let days = seconds >= 0 ? seconds / secondsPerDay : (seconds - secondsPerDay + 1) / secondsPerDay
        let rest = Int(seconds - days * secondsPerDay)
        hour = rest / 3600
        minute = rest / 60 % 60
        second = rest % 60
        weekday = Int((days % 7 + 11) % 7)
        // Counted from 1 March of the year 0, leap days come last in a year and 400 years are one period.
        let daysPerPeriod: Int64 = 146_097
        let shifted = days + 719_468
        let period = (shifted >= 0 ? shifted : shifted - daysPerPeriod + 1) / daysPerPeriod
        let dayOfPeriod = shifted - period * daysPerPeriod
        let yearOfPeriod =
            (dayOfPeriod - dayOfPeriod / 1460 + dayOfPeriod / 36524 - dayOfPeriod / (daysPerPeriod - 1)) / 365
        let dayOfYear = dayOfPeriod - (365 * yearOfPeriod + yearOfPeriod / 4 - yearOfPeriod / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        day = Int(dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
        month = Int(monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9)
        year = Int(yearOfPeriod + period * 400) + (month <= 2 ? 1 : 0)
    }
}

/// Parts of the time of day that an app can be told of (`TimeUnits` in the SDK).
public struct TickUnits: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The second has changed (`SECOND_UNIT`).
    public static let second = TickUnits(rawValue: 1 << 0)
    /// The minute has changed (`MINUTE_UNIT`).
    public static let minute = TickUnits(rawValue: 1 << 1)
    /// The hour has changed (`HOUR_UNIT`).
    public static let hour = TickUnits(rawValue: 1 << 2)
    /// The day of the month has changed (`DAY_UNIT`).
    public static let day = TickUnits(rawValue: 1 << 3)
    /// The month has changed (`MONTH_UNIT`).
    public static let month = TickUnits(rawValue: 1 << 4)
    /// The year has changed (`YEAR_UNIT`).
    public static let year = TickUnits(rawValue: 1 << 5)

    /// What differs between two times.
    public init(from old: WatchTime, to new: WatchTime) {
        self = []
        if old.second != new.second { insert(.second) }
        if old.minute != new.minute { insert(.minute) }
        if old.hour != new.hour { insert(.hour) }
        if old.day != new.day { insert(.day) }
        if old.month != new.month { insert(.month) }
        if old.year != new.year { insert(.year) }
    }
}
