import PebbleProtocol

/// What the phone writes into the watch's databases (BlobDB): apps, and notifications.
struct WatchDatabaseWriter: Sendable {
    /// The icon of a notification whose sender has none of its own (libpebble3).
    private static let genericNotificationIcon: UInt32 = 0x8000_0001

    private var lastToken: UInt16 = 0
    private var lastItem: UInt64 = 0
    /// The half that the ids of all notifications of this phone share.
    private let itemFamily: UInt64

    init(itemFamily: UInt64) { self.itemFamily = itemFamily }

    /// Writes an app's metadata.
    /// - Returns: what the watch's answer will name.
    mutating func insert(
        _ app: AppMetadata,
        _ phone: inout CompanionPhone,
        at now: Duration
    ) throws(PhoneCommandError) -> BlobDBToken {
        var value: [UInt8] = []
        app.encode(to: &value)
        return try insert(into: .apps, key: app.uuid, value: value, &phone, at: now)
    }

    /// Writes a notification.
    /// - Returns: its id, and what the watch's answer will name.
    mutating func insertNotification(
        title: String,
        body: String,
        _ phone: inout CompanionPhone,
        at now: Duration
    ) throws(PhoneCommandError) -> (PebbleUUID, BlobDBToken) {
        lastItem &+= 1
        let item = TimelineItem(
            id: PebbleUUID(upperHalf: itemFamily, lowerHalf: lastItem),
            parent: .notificationSource,
            timestamp: phone.clockSeconds(at: now),
            durationMinutes: 0,
            kind: .notification,
            flags: [],
            layout: .notification,
            attributes: [
                TimelineAttribute(.title, title), TimelineAttribute(.body, body),
                TimelineAttribute(.tinyIcon, Self.genericNotificationIcon),
            ],
            actions: [TimelineItemAction(id: 0, kind: .dismiss, attributes: [TimelineAttribute(.title, "Dismiss")])]
        )
        var value: [UInt8] = []
        item.encode(to: &value)
        return (item.id, try insert(into: .notifications, key: item.id, value: value, &phone, at: now))
    }

    private mutating func insert(
        into database: BlobDBDatabase,
        key: PebbleUUID,
        value: [UInt8],
        _ phone: inout CompanionPhone,
        at now: Duration
    ) throws(PhoneCommandError) -> BlobDBToken {
        // No request has the token that stands for none.
        lastToken = lastToken == .max ? 1 : lastToken + 1
        let token = BlobDBToken(rawValue: lastToken)
        var name: [UInt8] = []
        key.encode(to: &name)
        let record = BlobDBRecord(key: name[...], value: value[...])
        let request = BlobDBRequest(token: token, command: .insert(database, record, timestamp: nil))
        try phone.send(PebbleMessage(request), at: now)
        return token
    }
}

extension PebbleUUID {
    /// What notifications come from: ed429c16-f674-4220-95da-454f303f15e2 (PebbleOS, `UUID_NOTIFICATIONS_DATA_SOURCE`).
    fileprivate static let notificationSource = PebbleUUID(
        upperHalf: 0xED42_9C16_F674_4220,
        lowerHalf: 0x95DA_454F_303F_15E2
    )
}
