import ByteCoding

/// The value of the Current Time characteristic: local time (Current Time Service 1.1, 3.1; GATT Specification
/// Supplement, 3.62).
///
/// Layout: year (UInt16, little-endian), month, day, hours, minutes, seconds, day of the week, 256ths of a second, adjust
/// reason.
struct CurrentTime: Hashable, Sendable {
    /// Why the phone changed its clock.
    struct AdjustReason: OptionSet, Hashable, Sendable {
        let rawValue: UInt8

        static let manual = AdjustReason(rawValue: 0x01)
        static let externalReference = AdjustReason(rawValue: 0x02)
        static let changeOfTimeZone = AdjustReason(rawValue: 0x04)
        static let changeOfDaylightSaving = AdjustReason(rawValue: 0x08)
    }

    /// As a clock on the wall had counted since 1970.
    let localSeconds: UInt32
    /// What has passed of the second.
    let fraction: Duration
    let reason: AdjustReason

    init(_ value: ArraySlice<UInt8>) throws(ByteDecodingError) {
        var reader = ByteReader(value)
        let year: UInt16 = try reader.readLittleEndian("current_time.year")
        let month = try reader.readUInt8("current_time.month")
        let day = try reader.readUInt8("current_time.day")
        let hour = try reader.readUInt8("current_time.hours")
        let minute = try reader.readUInt8("current_time.minutes")
        let second = try reader.readUInt8("current_time.seconds")
        let weekday = try reader.readUInt8("current_time.day_of_week")
        let fractions = try reader.readUInt8("current_time.fractions256")
        reason = AdjustReason(rawValue: try reader.readUInt8("current_time.adjust_reason"))
        try reader.expectEnd("current_time")
        // 0 stands for an unknown day, 1 for Monday.
        guard weekday <= 7 else {
            throw ByteDecodingError("current_time.day_of_week", .invalidValue(UInt64(weekday)))
        }
        guard
            let date = CalendarDate(
                year: Int(year),
                month: Int(month),
                day: Int(day),
                hour: Int(hour),
                minute: Int(minute),
                second: Int(second)
            )
        else { throw ByteDecodingError("current_time.date_time", .invalidValue(UInt64(year))) }
        localSeconds = date.secondsSince1970
        fraction = .microseconds(Int64(fractions) * 1_000_000 / 256)
    }
}

/// The value of the Local Time Information characteristic: how local time relates to UTC (Current Time Service 1.1, 3.2).
///
/// Layout: time zone (Int8, in quarters of an hour), daylight saving (UInt8, the same).
struct LocalTimeInformation: Hashable, Sendable {
    /// Minutes that local time is ahead of UTC; nil if the phone does not know.
    let offsetMinutes: Int?

    private static let unknownZone: Int8 = -128
    private static let zones: ClosedRange<Int8> = -48...56
    private static let unknownDaylightSaving: UInt8 = 255
    private static let daylightSavings: Set<UInt8> = [0, 2, 4, 8]

    init(_ value: ArraySlice<UInt8>) throws(ByteDecodingError) {
        var reader = ByteReader(value)
        let zone = try reader.readInt8("local_time_information.time_zone")
        let daylightSaving = try reader.readUInt8("local_time_information.dst_offset")
        try reader.expectEnd("local_time_information")
        guard zone == Self.unknownZone || Self.zones.contains(zone) else {
            throw ByteDecodingError("local_time_information.time_zone", .invalidValue(UInt64(UInt8(bitPattern: zone))))
        }
        guard daylightSaving == Self.unknownDaylightSaving || Self.daylightSavings.contains(daylightSaving) else {
            throw ByteDecodingError("local_time_information.dst_offset", .invalidValue(UInt64(daylightSaving)))
        }
        let isKnown = zone != Self.unknownZone && daylightSaving != Self.unknownDaylightSaving
        offsetMinutes = isKnown ? (Int(zone) + Int(daylightSaving)) * 15 : nil
    }
}
