import BluetoothHCI
import DequeModule
import PebbleProtocol

/// Notifications that come through ANCS: items among those that the Pebble app brings, calls among its calls.
///
/// Each phone names its notifications by numbers that hold as long as its link. What the watch shows has names of its own, and
/// stays when the phone is gone.
struct AppleNotificationService: Sendable {
    /// A notification, as its phone names it.
    struct Source: Hashable, Sendable {
        let connection: ConnectionHandle
        let uid: ANCSNotificationUID
    }

    /// The app that tells of calls on the phone itself; others only show that somebody calls.
    static let phoneApp = "com.apple.mobilephone"
    /// How many notifications the watch remembers phones' names of; more it does not show either.
    static let sourceLimit = 128

    private var items: [Source: PebbleUUID] = [:]
    /// The notifications of `items`, oldest first.
    private var order: Deque<Source> = []

    /// Where an item came from; nil if it did not come from a phone that is still there.
    func source(of item: PebbleUUID) -> Source? { items.first { $0.value == item }?.key }

    /// The item that shows a notification.
    func item(for source: Source) -> PebbleUUID? { items[source] }

    /// A notification came, or has another form.
    mutating func receive(
        _ notification: ANCSNotification,
        from connection: ConnectionHandle,
        calls: inout PhoneControlService,
        in context: inout ServiceContext
    ) {
        let source = Source(connection: connection, uid: notification.uid)
        if notification.appIdentifier == Self.phoneApp {
            let caller = PhoneControlMessage.Caller(number: "", name: notification.title)
            if notification.category == .incomingCall {
                return calls.rings(caller, on: source, in: &context)
            }
            if notification.category == .missedCall, !notification.isModified {
                guard calls.missedOnPhone(caller, in: &context) else { return }
            }
        }
        show(notification, from: source, in: &context)
    }

    private mutating func show(
        _ notification: ANCSNotification,
        from source: Source,
        in context: inout ServiceContext
    ) {
        var item = TimelineItem(notification, in: context)
        if let known = items[source] {
            item.id = known
        } else if let same = context.store.databases.items(of: .notifications).first(where: {
            item.isSame(as: $0) && self.source(of: $0.id) == nil
        }) {
            // The phone tells once more what it told on an earlier link.
            remember(same.id, as: source)
            guard same.status.contains(.dismissed) else { return }
            // It does not know that it was dismissed meanwhile.
            let dismissal = same.actions.first { $0.ancsAction == .negative }
            if dismissal != nil { context.phoneRequests.append(.act(.negative, on: source)) }
            return
        } else {
            item.id = PebbleUUID(
                version4: UInt64.random(in: 0...UInt64.max, using: &context.randomness),
                UInt64.random(in: 0...UInt64.max, using: &context.randomness)
            )
        }
        remember(item.id, as: source)
        var value: [UInt8] = []
        item.encode(to: &value)
        let seconds = context.clock.seconds(at: context.now)
        let record = BlobDatabases.Record(value: value, timestamp: seconds)
        context.insert(.notifications, item.id.key, record)
        context.emit(.notificationShown(item))
    }

    private mutating func remember(_ item: PebbleUUID, as source: Source) {
        if items.updateValue(item, forKey: source) == nil { order.append(source) }
        if order.count > Self.sourceLimit, let oldest = order.popFirst() { items[oldest] = nil }
    }

    /// The phone does not show a notification any more.
    /// - Returns: the item that showed it.
    mutating func removed(_ source: Source) -> PebbleUUID? {
        guard let item = items.removeValue(forKey: source) else { return nil }
        order.removeAll { $0 == source }
        return item
    }

    /// A phone's notifications come no more: its numbers mean nothing from now on.
    mutating func ended(on connection: ConnectionHandle) {
        items = items.filter { $0.key.connection != connection }
        order.removeAll { $0.connection == connection }
    }
}

// MARK: - Items

extension TimelineItem {
    /// The most bytes of an app's name, and of what an action is called.
    private static let nameLimit = 64

    /// The item that shows a notification; it has yet to get a name of its own.
    fileprivate init(_ notification: ANCSNotification, in context: ServiceContext) {
        let texts: [(TimelineAttribute.ID, String?)] = [
            (.title, notification.title), (.subtitle, notification.subtitle), (.body, notification.message),
            (.appName, notification.appName?.cut(to: Self.nameLimit)), (.iOSAppIdentifier, notification.appIdentifier),
        ]
        var attributes = texts.compactMap { id, text in text.flatMap { $0.isEmpty ? nil : TimelineAttribute(id, $0) } }
        attributes.append(TimelineAttribute(.ancsID, notification.uid.rawValue))
        self.init(
            id: .invalid,
            parent: .system,
            timestamp: notification.date.map { context.clock.seconds(ofLocal: $0.localSeconds) }
                ?? context.clock.seconds(at: context.now),
            durationMinutes: 0,
            kind: .notification,
            flags: .fromANCS,
            layout: .notification,
            attributes: attributes,
            actions: Self.actions(of: notification)
        )
    }

    private static func actions(of notification: ANCSNotification) -> [TimelineItemAction] {
        let isCall = notification.appIdentifier == AppleNotificationService.phoneApp
        let isVoicemail = isCall && notification.category == .voicemail
        let actions: [(ANCSAction, TimelineItemAction.Kind, label: String?, fallback: String)] = [
            (.positive, isCall ? .ancsDial : .ancsPositive, notification.positiveActionLabel, "Accept"),
            (.negative, isVoicemail ? .ancsDelete : .ancsNegative, notification.negativeActionLabel, "Dismiss"),
        ]
        return actions.compactMap { action, kind, label, fallback in
            label.map { label in
                TimelineItemAction(
                    id: action.rawValue,
                    kind: kind,
                    attributes: [
                        TimelineAttribute(.ancsAction, value: [action.rawValue]),
                        TimelineAttribute(.title, label.isEmpty ? fallback : label.cut(to: Self.nameLimit)),
                    ]
                )
            }
        }
    }

    /// Whether two items, each under a name of its own, show the same notification.
    fileprivate func isSame(as other: TimelineItem) -> Bool {
        func content(of item: TimelineItem) -> [TimelineAttribute] {
            item.attributes.filter { ![.ancsID, .appName].contains($0.id) }
        }
        return other.flags.contains(.fromANCS) && other.timestamp == timestamp
            && content(of: other) == content(of: self)
    }

    /// Whether the item came through the watch's own client of ANCS, rather than from the Pebble app.
    var isFromOwnANCS: Bool { flags.contains(.fromANCS) && attributes.contains { $0.id == .ancsID } }
}

extension TimelineItemAction {
    /// What it is to ANCS; nil for actions that are not ANCS's.
    var ancsAction: ANCSAction? {
        attributes.first { $0.id == .ancsAction }?.value.first.flatMap(ANCSAction.init(rawValue:))
    }
}

extension PebbleUUID {
    /// A random UUID, in the form of RFC 4122, 4.4.
    init(version4 upper: UInt64, _ lower: UInt64) {
        self.init(
            upperHalf: upper & ~0xF000 | 0x4000,
            lowerHalf: lower & ~(0b11 << 62) | 0b10 << 62
        )
    }
}
