import ByteCoding
import PebbleProtocol

/// What each database takes, as the firmware does, and how much of it.
///
/// | database | key | value |
/// |---|---|---|
/// | pins, reminders | 16 bytes, not necessarily the item's id | a whole item |
/// | apps | 16 bytes, not looked at: an app is known by the UUID in its entry | 126 bytes |
/// | notifications | 16 bytes, not looked at: a notification is known by its own id | a header and attributes |
/// | weather, contacts, app glances | 16 bytes | their header |
/// | notification preferences | anything | their header |
/// | preferences, settings | a name that the firmware knows | of the right length (preferences) |
/// | watchapps' preferences | three names | a counted list |
/// | health statistics | a name with `_` | whole words of four bytes |
///
/// A pin or a reminder must have what its layout shows, and must not be too old. A pin must not have the layout of
/// notifications or of reminders. A notification's attributes must fit into the length that it declares; the value itself may
/// be shorter.
struct DatabaseRules: Sendable {
    /// A record as it is kept.
    struct Place: Sendable {
        var key: [UInt8]
        var value: [UInt8]
    }

    /// What a phone is answered instead.
    struct Refusal: Error {
        let status: BlobDBStatus
    }

    /// How old the end of a pin or reminder may be, in seconds.
    static let pinAge: Int64 = 3 * 24 * 60 * 60
    static let reminderAge: Int64 = 15 * 60

    private let database: BlobDBDatabase
    /// The most records that there is room for.
    let recordLimit: Int
    /// The longest value, and the most bytes of values together.
    let byteLimit: Int
    /// Whether the oldest record makes way when there is no room; otherwise the new one is refused.
    let dropsOldest: Bool

    private init(_ database: BlobDBDatabase, records: Int, bytes: Int, dropsOldest: Bool = false) {
        self.database = database
        recordLimit = records
        byteLimit = bytes
        self.dropsOldest = dropsOldest
    }

    /// Nil for a number that no database has.
    init?(_ database: BlobDBDatabase) {
        switch database {
        case .test: self.init(database, records: 0, bytes: 0)
        case .pins, .reminders: self.init(database, records: 1024, bytes: 512 * 1024)
        case .apps: self.init(database, records: 512, bytes: 512 * AppMetadata.encodedLength)
        case .notifications: self.init(database, records: 128, bytes: 128 * 1024, dropsOldest: true)
        case .weather, .appGlances: self.init(database, records: 128, bytes: 128 * 1024)
        case .contacts, .cannedMessages, .healthPreferences, .watchAppPreferences, .healthStatistics:
            self.init(database, records: 512, bytes: 256 * 1024)
        case .settings: self.init(database, records: 256, bytes: 64 * 1024)
        default: return nil
        }
    }

    /// Whether a phone can clear it: the preferences can only be written, and this firmware has no test database.
    var canBeCleared: Bool { database != .test && database != .healthPreferences }
}

// MARK: - Insertion

extension DatabaseRules {
    /// Of the record of the weather's oldest layout, with the length of its texts.
    private static let shortestWeather = 20
    /// UUID, flags, and how many attributes and addresses.
    private static let contactHeaderLength = 22
    /// Flags, and how many attributes and actions.
    private static let notificationPreferencesHeaderLength = 6
    /// Version and time.
    private static let glanceHeaderLength = 5

    /// Where a phone's record goes.
    /// - Throws: the refusal that the firmware answers with.
    func place(of record: BlobDBRecord, in context: ServiceContext) throws(Refusal) -> Place {
        guard record.value.count <= byteLimit || database == .test else { throw Refusal(status: .invalidData) }
        let plain = Place(key: Array(record.key), value: Array(record.value))
        switch database {
        case .pins, .reminders:
            try expectUUID(record.key)
            try expect(isWholeItem(record.value, in: context))
            return plain
        case .apps:
            try expectUUID(record.key)
            guard let metadata = try? AppMetadata(record.value), metadata.uuid.isLaunchable else {
                throw Refusal(status: .invalidData)
            }
            return Place(key: metadata.uuid.key, value: plain.value)
        case .notifications:
            return try notification(record)
        case .weather:
            try expectUUID(record.key)
            try expect(record.value.count >= Self.shortestWeather && [3, 4].contains(record.value.first))
            return plain
        case .cannedMessages:
            try expect(record.value.count >= Self.notificationPreferencesHeaderLength)
            return plain
        case .healthPreferences:
            let lengths = SettingKeys.preferenceLengths[String(decoding: record.key, as: UTF8.self)]
            try expect(lengths?.contains(record.value.count) == true)
            return plain
        case .contacts:
            try expectUUID(record.key)
            try expect(record.value.count >= Self.contactHeaderLength)
            return plain
        case .watchAppPreferences:
            try expect(isWatchAppPreference(record))
            return plain
        case .healthStatistics:
            try expect(isStatistic(record.key) && record.value.count.isMultiple(of: 4))
            return plain
        case .appGlances:
            try glance(record, in: context)
            return plain
        case .settings:
            guard let key = SettingKeys.setting(record.key) else { throw Refusal(status: .dataStale) }
            return Place(key: key, value: plain.value)
        default:
            throw Refusal(status: .dataStale)
        }
    }

    private func expect(_ isRight: Bool) throws(Refusal) {
        if !isRight { throw Refusal(status: .invalidData) }
    }

    private func expectUUID(_ key: ArraySlice<UInt8>) throws(Refusal) {
        try expect(key.count == PebbleUUID.encodedLength)
    }

    /// Kept under its own id, and written as it was understood, so that it can be read later whatever it declared.
    private func notification(_ record: BlobDBRecord) throws(Refusal) -> Place {
        try expectUUID(record.key)
        try expect(record.value.count >= TimelineItem.headerLength)
        guard let item = try? TimelineItem(record.value, reading: .asFarAsItGoes) else {
            throw Refusal(status: .generalFailure)
        }
        var value: [UInt8] = []
        item.encode(to: &value)
        return Place(key: item.id.key, value: value)
    }

    private func isWholeItem(_ value: ArraySlice<UInt8>, in context: ServiceContext) throws(Refusal) -> Bool {
        guard let item = try? TimelineItem(value) else { return false }
        let isOfNotifications = [.notification, .reminder].contains(item.layout)
        guard database != .pins || !isOfNotifications, let shown = Self.attributes(shownBy: item.layout),
            shown.allSatisfy({ id in item.attributes.contains { $0.id == id } })
        else { return false }
        // What floats, or lasts all day, is at a time of the clock on the wall.
        let isLocal = !item.flags.isDisjoint(with: [.floating, .allDay])
        let now = isLocal ? context.clock.localSeconds(at: context.now) : Int64(context.clock.seconds(at: context.now))
        let end = Int64(item.timestamp) + Int64(item.durationMinutes) * 60
        guard end >= now - (database == .pins ? Self.pinAge : Self.reminderAge) else {
            throw Refusal(status: .dataStale)
        }
        return true
    }

    /// What a layout cannot do without; nil for a layout that there is not, or not for items that are kept.
    private static func attributes(shownBy layout: TimelineItem.Layout) -> [TimelineAttribute.ID]? {
        switch layout {
        case .generic, .calendar, .reminder, .notification, .sports, .health: [.title]
        case .weather: [.title, .location]
        case .alarm: [.title, .subtitle]
        default: nil
        }
    }

    /// The three apps of the firmware that have preferences: a count, and as many entries; the reminders' are not looked at.
    private func isWatchAppPreference(_ record: BlobDBRecord) -> Bool {
        let length: Int
        switch String(decoding: record.key, as: UTF8.self) {
        case "weatherApp": length = PebbleUUID.encodedLength
        // Contact, address, and whether it is a favourite.
        case "sendTextApp": length = 2 * PebbleUUID.encodedLength + 1
        case "remindersApp": return true
        default: return false
        }
        guard let count = record.value.first else { return false }
        return record.value.count % length == 1 && record.value.count >= 1 + Int(count) * length
    }

    private func isStatistic(_ key: ArraySlice<UInt8>) -> Bool { key.contains(UInt8(ascii: "_")) }

    /// Only for apps that are there, and only if it is newer than the one that is there.
    private func glance(_ record: BlobDBRecord, in context: ServiceContext) throws(Refusal) {
        try expectUUID(record.key)
        try expect(record.value.count >= Self.glanceHeaderLength && record.value.first == 1)
        if let old = context.store.databases[.appGlances, Array(record.key)]?.value {
            try expect(Self.glanceTime(record.value) > Self.glanceTime(old[...]))
        }
        guard let application = PebbleUUID(Array(record.key)), context.knownApps.contains(application) else {
            throw Refusal(status: .keyDoesNotExist)
        }
    }

    private static func glanceTime(_ value: ArraySlice<UInt8>) -> UInt32 {
        var reader = ByteReader(value.dropFirst())
        return (try? reader.readLittleEndian("app_glance.creation_time")) ?? 0
    }
}

// MARK: - Deletion

extension DatabaseRules {
    /// The key that a phone's deletion means, and what is answered when there is no such record.
    ///
    /// Most of the firmware's databases do not say that there was nothing to delete.
    /// - Throws: the refusal that the firmware answers with.
    func deletion(of key: ArraySlice<UInt8>) throws(Refusal) -> (key: [UInt8], statusIfMissing: BlobDBStatus) {
        switch database {
        case .pins, .reminders, .notifications, .contacts, .appGlances:
            try expectUUID(key)
            return (Array(key), .success)
        case .apps, .weather:
            try expectUUID(key)
            return (Array(key), .keyDoesNotExist)
        case .cannedMessages, .watchAppPreferences:
            return (Array(key), .success)
        case .healthStatistics:
            try expect(isStatistic(key))
            return (Array(key), .success)
        case .settings:
            guard let setting = SettingKeys.setting(key) else { throw Refusal(status: .dataStale) }
            return (setting, .success)
        default:
            throw Refusal(status: .dataStale)
        }
    }
}
