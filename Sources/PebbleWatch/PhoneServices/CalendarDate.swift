/// A date and a time of day of the Gregorian calendar, as the phone's services give them.
struct CalendarDate: Hashable, Sendable {
    /// What the watch's clock, which counts seconds since 1970 with 32 bits, can show whole years of.
    static let years = 1970...2105

    /// As a clock counts that shows this date.
    let secondsSince1970: UInt32

    /// Nil for a date that there is not, and for years outside of ``years``.
    init?(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
        guard Self.years.contains(year), (1...12).contains(month),
            (1...Self.dayCount(ofMonth: month, in: year)).contains(day), (0...23).contains(hour),
            (0...59).contains(minute), (0...59).contains(second)
        else { return nil }
        let days = Self.daysBefore(year: year) + (1..<month).reduce(0) { $0 + Self.dayCount(ofMonth: $1, in: year) }
        let seconds = ((days + day - 1) * 24 + hour) * 3600 + minute * 60 + second
        guard let seconds = UInt32(exactly: seconds) else { return nil }
        secondsSince1970 = seconds
    }

    private static func dayCount(ofMonth month: Int, in year: Int) -> Int {
        switch month {
        case 4, 6, 9, 11: 30
        case 2: isLeap(year) ? 29 : 28
        default: 31
        }
    }

    private static func isLeap(_ year: Int) -> Bool { year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) }

    /// Days from 1 January 1970 to 1 January of a year.
    private static func daysBefore(year: Int) -> Int {
        (years.lowerBound..<year).reduce(0) { $0 + (isLeap($1) ? 366 : 365) }
    }
}
