import ByteCoding
import PebbleProtocol

/// What each database takes, as the firmware does, and how much of it.
///
/// | database | key | value |
/// |---|---|---|
/// | pins, reminders | 16 bytes, not necessarily the item's id | a whole item |
/// | apps | 16 bytes, not looked at: an app is known by the UUID in its entry | 126 bytes |
/// | notifications | 16 bytes, not looked at: a notification is known by its own id | a header and attributes |
/// | weather | 16 bytes | a record of layout 3 or 4, whose texts are where its minor version has them |
/// | contacts | 16 bytes | their header |
/// | app glances | 16 bytes | whole slices, of which eight are kept |
/// | notification preferences | anything | their header |
/// | preferences, settings | a name that the firmware knows | of the right length (preferences) |
/// | watchapps' preferences | three names | a counted list |
/// | health statistics | a name with `_` | whole words of four bytes |
///
/// A pin or a reminder must have what its layout shows, numbers must have their lengths, and it must not be too old; its actions and
/// the length that it declares are not looked at. A pin must not have the layout of notifications or of reminders. A notification must
/// have something, and its attributes must fit into the length that it declares; the value itself may be shorter.
///
/// Weather is for phones that have said that they have it.
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

    /// Refuses a database that is not for the phone.
    func expectDatabase(in context: ServiceContext) throws(Refusal) {
        guard database == .weather, !context.phoneCapabilities.isEmpty else { return }
        // One that has not said what it can do may have said so in an earlier session.
        guard context.phoneCapabilities.contains(.weatherApp) else { throw Refusal(status: .invalidDatabase) }
    }

    /// Whether a phone can clear it: the preferences can only be written, and this firmware has no test database.
    var canBeCleared: Bool { database != .test && database != .healthPreferences }
}

// MARK: - Insertion

extension DatabaseRules {
    /// The longest value, and the longest key, of what the firmware keeps in files of settings.
    private static let longestFileValue = 2046
    private static let longestFileKey = 127
    /// UUID, flags, and how many attributes and addresses.
    private static let contactHeaderLength = 22
    /// Flags, and how many attributes and actions.
    private static let notificationPreferencesHeaderLength = 6
    /// Version and time.
    private static let glanceHeaderLength = 5
    /// How many slices of a glance are kept.
    private static let sliceLimit = 8
    /// Of a slice: its length, which counts the header, its type, and how many attributes it has.
    private static let sliceHeaderLength = 4
    /// A slice has a time at least, and an icon and a subtitle of 150 bytes at most.
    private static let sliceLengths = 11...172

    /// Where a phone's record goes.
    /// - Throws: the refusal that the firmware answers with.
    func place(of record: BlobDBRecord, in context: ServiceContext) throws(Refusal) -> Place {
        try expectDatabase(in: context)
        guard record.value.count <= byteLimit || database == .test else { throw Refusal(status: .invalidData) }
        let plain = Place(key: Array(record.key), value: Array(record.value))
        switch database {
        case .pins, .reminders:
            try expectUUID(record.key)
            try expect(record.value.count <= Self.longestFileValue)
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
            try expect(WeatherRecord.isWhole(record.value))
            return plain
        case .cannedMessages:
            try expect(record.value.count >= Self.notificationPreferencesHeaderLength)
            try expectRoomInFile(record)
            return plain
        case .healthPreferences:
            let key = record.key.last == 0 ? record.key.dropLast() : record.key
            let lengths = SettingKeys.preferenceLengths[String(decoding: key, as: UTF8.self)]
            try expect(lengths?.contains(record.value.count) == true)
            return Place(key: Array(key), value: plain.value)
        case .contacts:
            try expectUUID(record.key)
            try expect(record.value.count >= Self.contactHeaderLength)
            try expectRoomInFile(record)
            return plain
        case .watchAppPreferences:
            try expect(isWatchAppPreference(record))
            try expectRoomInFile(record)
            return plain
        case .healthStatistics:
            try expect(isStatistic(record.key) && record.value.count.isMultiple(of: 4))
            return plain
        case .appGlances:
            return try glance(record, in: context)
        case .settings:
            guard let key = SettingKeys.setting(record.key) else { throw Refusal(status: .dataStale) }
            try expectRoomInFile(record)
            return Place(key: key, value: plain.value)
        default:
            throw Refusal(status: .dataStale)
        }
    }

    private func expect(_ isRight: Bool) throws(Refusal) {
        if !isRight { throw Refusal(status: .invalidData) }
    }

    /// The firmware says of what is too long for a file of settings that there is no such database.
    private func expectRoomInFile(_ record: BlobDBRecord) throws(Refusal) {
        guard record.value.count <= Self.longestFileValue, record.key.count <= Self.longestFileKey else {
            throw Refusal(status: .invalidDatabase)
        }
    }

    private func expectUUID(_ key: ArraySlice<UInt8>) throws(Refusal) {
        try expect(key.count == PebbleUUID.encodedLength)
    }

    /// Kept under its own id, and written as it was understood, so that it can be read later whatever it declared.
    private func notification(_ record: BlobDBRecord) throws(Refusal) -> Place {
        try expectUUID(record.key)
        try expect(record.value.count >= TimelineItem.headerLength)
        // Its last two bytes count attributes and actions.
        let counts = record.value.prefix(TimelineItem.headerLength).suffix(2)
        guard counts.contains(where: { $0 > 0 }) else { throw Refusal(status: .generalFailure) }
        guard let item = try? TimelineItem(record.value, reading: .asFarAsItGoes) else {
            throw Refusal(status: .generalFailure)
        }
        var value: [UInt8] = []
        item.encode(to: &value)
        return Place(key: item.id.key, value: value)
    }

    private func isWholeItem(_ value: ArraySlice<UInt8>, in context: ServiceContext) throws(Refusal) -> Bool {
        guard let item = try? TimelineItem(value, reading: .asKept),
            item.attributes.allSatisfy({ $0.id.numberLength == nil || $0.id.numberLength == $0.value.count })
        else { return false }
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
        case .test: []
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
    private func glance(_ record: BlobDBRecord, in context: ServiceContext) throws(Refusal) -> Place {
        try expectUUID(record.key)
        try expect(record.value.count >= Self.glanceHeaderLength && record.value.first == 1)
        if let old = context.store.databases[.appGlances, Array(record.key)]?.value {
            try expect(Self.glanceTime(record.value) > Self.glanceTime(old[...]))
        }
        let slices = try slices(record.value.dropFirst(Self.glanceHeaderLength))
        guard let application = PebbleUUID(Array(record.key)), context.knownApps.contains(application) else {
            throw Refusal(status: .keyDoesNotExist)
        }
        let value = record.value.prefix(Self.glanceHeaderLength) + slices
        return Place(key: Array(record.key), value: Array(value))
    }

    /// A glance's slices, without those that are too many.
    private func slices(_ bytes: ArraySlice<UInt8>) throws(Refusal) -> ArraySlice<UInt8> {
        var rest = bytes
        for _ in 0..<Self.sliceLimit where !rest.isEmpty {
            var reader = ByteReader(rest)
            let length = (try? reader.readLittleEndian("app_glance.slice_length", as: UInt16.self)).map(Int.init) ?? 0
            let type = try? reader.readUInt8("app_glance.slice_type")
            try expect(type == 0 && Self.sliceLengths.contains(length) && length <= rest.count)
            let count = rest[rest.startIndex + Self.sliceHeaderLength - 1]
            let attributes = rest.prefix(length).dropFirst(Self.sliceHeaderLength)
            try expect(TimelineAttribute.areWhole(attributes, count: count))
            rest = rest.dropFirst(length)
        }
        return bytes.prefix(bytes.count - rest.count)
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
    func deletion(
        of key: ArraySlice<UInt8>,
        in context: ServiceContext
    ) throws(Refusal) -> (key: [UInt8], statusIfMissing: BlobDBStatus) {
        try expectDatabase(in: context)
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
