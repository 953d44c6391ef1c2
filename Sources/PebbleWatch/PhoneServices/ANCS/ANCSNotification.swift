import ByteCoding

/// Names a notification on the phone, as long as the link lasts.
public struct ANCSNotificationUID: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// No notification has it.
    static let none = ANCSNotificationUID(rawValue: 0xFFFF_FFFF)

    public var description: String { "\(rawValue)" }
}

/// What kind of thing a notification tells; numbers that have no name here are kept.
public struct ANCSCategory: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// What fits no other category.
    public static let other = ANCSCategory(rawValue: 0)
    /// A call that rings.
    public static let incomingCall = ANCSCategory(rawValue: 1)
    /// A call that was not answered.
    public static let missedCall = ANCSCategory(rawValue: 2)
    /// A recorded message of a caller.
    public static let voicemail = ANCSCategory(rawValue: 3)
    /// News of people: messages, posts.
    public static let social = ANCSCategory(rawValue: 4)
    /// A calendar's event, a reminder, an alarm.
    public static let schedule = ANCSCategory(rawValue: 5)
    /// A mail.
    public static let email = ANCSCategory(rawValue: 6)
    /// News of the world.
    public static let news = ANCSCategory(rawValue: 7)
    /// About the user's body and training.
    public static let healthAndFitness = ANCSCategory(rawValue: 8)
    /// About work and money.
    public static let businessAndFinance = ANCSCategory(rawValue: 9)
    /// About a place, such as the way there.
    public static let location = ANCSCategory(rawValue: 10)
    /// About games, music, films and the like.
    public static let entertainment = ANCSCategory(rawValue: 11)

    private static let names = [
        "other", "incoming call", "missed call", "voicemail", "social", "schedule", "email", "news",
        "health and fitness", "business and finance", "location", "entertainment",
    ]

    public var description: String {
        let number = Int(rawValue)
        return Self.names.indices.contains(number) ? Self.names[number] : "category \(rawValue)"
    }
}

/// How a notification is to be shown, and what can be done with it.
public struct ANCSEventFlags: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The phone makes no sound for it (EventFlagSilent). The watch does not use it.
    public static let silent = ANCSEventFlags(rawValue: 0x01)
    /// The phone marks it as important (EventFlagImportant). The watch does not use it.
    public static let important = ANCSEventFlags(rawValue: 0x02)
    /// It was there before the watch subscribed.
    public static let preExisting = ANCSEventFlags(rawValue: 0x04)
    /// It has a positive action, whose name can be asked for (EventFlagPositiveAction).
    public static let positiveAction = ANCSEventFlags(rawValue: 0x08)
    /// It has a negative action, whose name can be asked for (EventFlagNegativeAction).
    public static let negativeAction = ANCSEventFlags(rawValue: 0x10)
}

/// Of the two actions that a notification can have.
public enum ANCSAction: UInt8, Sendable {
    /// Such as answering a call.
    case positive = 0
    /// Such as clearing a message.
    case negative = 1
}

/// A value of the Notification Source: something about a notification, but not yet what it says.
///
/// Layout: event, flags, category, how many notifications the category has, UID (UInt32, little-endian).
struct ANCSSourceEvent: Hashable, Sendable {
    enum Kind: UInt8, Sendable {
        case added = 0
        case modified = 1
        case removed = 2
    }

    let kind: Kind
    let flags: ANCSEventFlags
    let category: ANCSCategory
    let categoryCount: UInt8
    let uid: ANCSNotificationUID

    init(_ value: ArraySlice<UInt8>) throws(ByteDecodingError) {
        var reader = ByteReader(value)
        let event = try reader.readUInt8("notification_source.event_id")
        guard let kind = Kind(rawValue: event) else {
            throw ByteDecodingError("notification_source.event_id", .invalidValue(UInt64(event)))
        }
        self.kind = kind
        flags = ANCSEventFlags(rawValue: try reader.readUInt8("notification_source.event_flags"))
        category = ANCSCategory(rawValue: try reader.readUInt8("notification_source.category_id"))
        categoryCount = try reader.readUInt8("notification_source.category_count")
        uid = ANCSNotificationUID(rawValue: try reader.readLittleEndian("notification_source.notification_uid"))
        try reader.expectEnd("notification_source")
    }
}

/// A notification of the phone, with what it says.
public struct ANCSNotification: Equatable, Sendable {
    /// The phone's number for it, by which an action is asked for.
    public let uid: ANCSNotificationUID
    /// Whether it is another form of one that came before.
    public let isModified: Bool
    /// How it is to be shown, and which actions it has.
    public let flags: ANCSEventFlags
    /// What kind of thing it tells.
    public let category: ANCSCategory
    /// Such as `com.apple.MobileSMS`.
    public let appIdentifier: String
    /// What the phone calls the app; nil if it did not say.
    public let appName: String?
    /// Its title, of which the watch asks for as many bytes as ``Personality/notificationTitleLimit``; empty if it has none.
    public let title: String
    /// Its subtitle, of which the watch asks for 40 bytes at most; empty if it has none.
    public let subtitle: String
    /// Its text, of which the watch asks for 200 bytes at most; empty if it has none.
    public let message: String
    /// The phone's local time; nil if it gave none that makes sense.
    public let date: ANCSDate?
    /// What the positive action is called; nil if there is none, empty if the phone does not name it.
    public let positiveActionLabel: String?
    /// What the negative action is called; nil if there is none, empty if the phone does not name it.
    public let negativeActionLabel: String?
}

extension ANCSNotification {
    /// What the phone said of a notification: first that there is one, then what it says.
    init(_ event: ANCSSourceEvent, _ attributes: [ANCSAttributeID: ArraySlice<UInt8>], appName: String?) {
        func text(_ id: ANCSAttributeID) -> String { String(phoneText: attributes[id] ?? []) }
        self.init(
            uid: event.uid,
            isModified: event.kind == .modified,
            flags: event.flags,
            category: event.category,
            appIdentifier: text(.appIdentifier),
            appName: appName.flatMap { $0.isEmpty ? nil : $0 },
            title: text(.title),
            subtitle: text(.subtitle),
            message: text(.message),
            date: ANCSDate(attributes[.date] ?? []),
            positiveActionLabel: event.flags.contains(.positiveAction) ? text(.positiveActionLabel) : nil,
            negativeActionLabel: event.flags.contains(.negativeAction) ? text(.negativeActionLabel) : nil
        )
    }
}

/// When a notification came, in the phone's local time. Layout: `yyyyMMdd'T'HHmmSS`.
public struct ANCSDate: Hashable, Sendable {
    /// Seconds that a clock on the wall had counted since 1970.
    public let localSeconds: UInt32

    /// The date's length.
    static let length = 15

    /// A date by what a clock on the wall shows.
    public init(localSeconds: UInt32) { self.localSeconds = localSeconds }

    /// Nil for anything else than a date from 1970 to 2105; iOS itself sends other things.
    init?(_ text: ArraySlice<UInt8>) {
        let digits = Array(text)
        guard digits.count == Self.length, digits[8] == UInt8(ascii: "T") else { return nil }
        func number(_ range: Range<Int>) -> Int? {
            var value = 0
            for digit in digits[range] {
                guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(digit) else { return nil }
                value = value * 10 + Int(digit - UInt8(ascii: "0"))
            }
            return value
        }
        guard let year = number(0..<4), let month = number(4..<6), let day = number(6..<8),
            let hour = number(9..<11), let minute = number(11..<13), let second = number(13..<15),
            let date = CalendarDate(year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        else { return nil }
        localSeconds = date.secondsSince1970
    }
}
