import ByteCoding

/// One property of a timeline item or action. Layout: id (UInt8), length (UInt16, little-endian), bytes. Texts have
/// no NUL.
public struct TimelineAttribute: Equatable, Sendable {
    /// What it is.
    public var id: ID
    /// At most 65535 bytes are sent.
    public var value: ArraySlice<UInt8>

    /// How many bytes precede the value.
    static let headerLength = 3

    /// What a property is.
    public struct ID: RawRepresentable, Hashable, Sendable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// A text: the title, as the item's own view shows it. In an invocation it is the reply that the user chose.
        public static let title = ID(rawValue: 1)
        /// A text: what stands below the title.
        public static let subtitle = ID(rawValue: 2)
        /// A text: what the item says at length.
        public static let body = ID(rawValue: 3)
        /// An icon, UInt32: for the status bar, of 25 pixels.
        package static let tinyIcon = ID(rawValue: 4)
        /// An icon, UInt32: for the item's view, of 50 pixels.
        package static let smallIcon = ID(rawValue: 5)
        /// An icon, UInt32: shown when an action has been done, of 80 pixels.
        package static let largeIcon = ID(rawValue: 6)
        /// UInt8: what the action is to ANCS, 0 positive or 1 negative.
        package static let ancsAction = ID(rawValue: 7)
        /// Texts with a NUL between each two: the replies to choose from.
        package static let cannedResponses = ID(rawValue: 8)
        /// A text: the title, as lists show it.
        package static let shortTitle = ID(rawValue: 9)
        /// An icon, UInt32: for the timeline.
        package static let pinIcon = ID(rawValue: 10)
        /// A text: the name of a place.
        package static let location = ID(rawValue: 11)
        /// A text: who sent the message, or who invites to the event.
        package static let sender = ID(rawValue: 12)
        /// UInt32, of an action: what the watchapp that it opens is told.
        package static let launchCode = ID(rawValue: 13)
        /// UInt32, seconds since 1970: when the item last changed, as that of a weather forecast.
        package static let lastUpdated = ID(rawValue: 14)
        /// Texts with a NUL between each two: the headings of the ``paragraphs``.
        package static let headings = ID(rawValue: 25)
        /// Texts with a NUL between each two: what stands below each of the ``headings``.
        package static let paragraphs = ID(rawValue: 26)
        /// UInt8, `argb2222`: the main colour of what the item is from.
        package static let primaryColor = ID(rawValue: 27)
        /// UInt8, `argb2222`: the colour of the background.
        package static let backgroundColor = ID(rawValue: 28)
        /// UInt8, `argb2222`: the second colour of what the item is from.
        package static let secondaryColor = ID(rawValue: 29)
        /// A text: the name of the phone's app that the notification is from.
        package static let appName = ID(rawValue: 30)
        /// A text: the identifier of the iPhone's app that the notification is from, such as `com.apple.MobileSMS`.
        package static let iOSAppIdentifier = ID(rawValue: 32)
        /// UInt32: the notification's UID in ANCS.
        package static let ancsID = ID(rawValue: 34)

        /// How many bytes the number has that the property is; nil for texts, for lists, and for what the firmware does not know.
        package var numberLength: Int? {
            switch rawValue {
            case 7, 23, 27...29, 31, 33, 35, 38, 40, 44, 45, 52: 1
            case 4...6, 10, 13, 14, 34, 37, 48, 50: 4
            default: nil
            }
        }
    }

    /// A property.
    public init(_ id: ID, value: ArraySlice<UInt8>) {
        self.id = id
        self.value = value
    }

    /// A text.
    public init(_ id: ID, _ text: String) { self.init(id, value: Array(text.utf8)[...]) }

    /// A number of four bytes, such as an icon.
    public init(_ id: ID, _ number: UInt32) {
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(number)
        self.init(id, value: bytes[...])
    }

    /// The value as text; what is not UTF-8 becomes replacement characters.
    public var text: String { String(decoding: value, as: UTF8.self) }

    init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        id = ID(rawValue: try reader.readUInt8("attribute.id"))
        let length: UInt16 = try reader.readLittleEndian("attribute.length")
        value = try reader.readBytes(Int(length), "attribute.content")
    }

    func encode(to bytes: inout [UInt8]) {
        let fitting = value.prefix(Int(UInt16.max))
        bytes.append(id.rawValue)
        bytes.appendLittleEndian(UInt16(truncatingIfNeeded: fitting.count))
        bytes += fitting
    }

    static func readList(_ reader: inout ByteReader, count: UInt8) throws(ByteDecodingError) -> [TimelineAttribute] {
        var attributes: [TimelineAttribute] = []
        for _ in 0..<count { attributes.append(try TimelineAttribute(reading: &reader)) }
        return attributes
    }

    /// Whether `bytes` begin with `count` attributes, none of which is cut. What follows them is not looked at.
    package static func areWhole(_ bytes: ArraySlice<UInt8>, count: UInt8) -> Bool {
        var reader = ByteReader(bytes)
        return (try? readList(&reader, count: count)) != nil
    }

    /// The count and as many attributes.
    static func encodeCounted(_ attributes: [TimelineAttribute], to bytes: inout [UInt8]) {
        let fitting = attributes.prefix(Int(UInt8.max))
        bytes.append(UInt8(truncatingIfNeeded: fitting.count))
        for attribute in fitting { attribute.encode(to: &bytes) }
    }
}

/// Something that the user can do with an item. Layout: id, type, attribute count, attributes.
public struct TimelineItemAction: Equatable, Sendable {
    /// What ``TimelineActionMessage`` names.
    public var id: UInt8
    /// What it does or is.
    public var kind: Kind
    /// Title, texts, icons and the like.
    public var attributes: [TimelineAttribute]

    /// How many bytes precede the attributes.
    static let headerLength = 3

    /// What an action does.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// 1: the negative action of an ANCS notification, such as to dismiss it.
        package static let ancsNegative = Kind(rawValue: 1)
        /// 2: the phone does something, and says how it went.
        public static let generic = Kind(rawValue: 2)
        /// 3: the user replies with a text, which the phone sends.
        public static let response = Kind(rawValue: 3)
        /// 4: the item is dismissed.
        public static let dismiss = Kind(rawValue: 4)
        /// 5: the phone makes an HTTP request.
        package static let http = Kind(rawValue: 5)
        /// 6: the item is to come back later.
        package static let snooze = Kind(rawValue: 6)
        /// 7: the watch opens the watchapp that the item is from, and tells it the ``TimelineAttribute/ID/launchCode``.
        package static let openWatchApp = Kind(rawValue: 7)
        /// 8: an action that does nothing.
        package static let empty = Kind(rawValue: 8)
        /// 9: the pin is removed.
        package static let remove = Kind(rawValue: 9)
        /// 10: the watch opens the pin that the item is about, which is its parent.
        package static let openPin = Kind(rawValue: 10)
        /// 11: the positive action of an ANCS notification.
        package static let ancsPositive = Kind(rawValue: 11)
        /// 12: the positive action of an ANCS notification of the Phone app, such as to call back.
        package static let ancsDial = Kind(rawValue: 12)
        /// 15: the negative action of an ANCS notification of a voicemail, which deletes it.
        package static let ancsDelete = Kind(rawValue: 15)
    }

    /// An action.
    public init(id: UInt8, kind: Kind, attributes: [TimelineAttribute]) {
        self.id = id
        self.kind = kind
        self.attributes = attributes
    }

    init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        id = try reader.readUInt8("action.id")
        kind = Kind(rawValue: try reader.readUInt8("action.type"))
        let count = try reader.readUInt8("action.attribute_count")
        attributes = try TimelineAttribute.readList(&reader, count: count)
    }

    func encode(to bytes: inout [UInt8]) {
        bytes += [id, kind.rawValue]
        TimelineAttribute.encodeCounted(attributes, to: &bytes)
    }
}

/// A notification, pin or reminder, as the phone writes it into the watch's databases under its id.
///
/// Layout: id and parent (16 bytes each), time (UInt32), duration in minutes (UInt16), type, flags, status, layout,
/// length of the rest (UInt16), attribute count, action count, attributes, actions; little-endian.
public struct TimelineItem: Equatable, Sendable {
    /// Names the item. Of a notification it is not always the key that the phone writes it under.
    public var id: PebbleUUID
    /// The app, or where it comes from.
    public var parent: PebbleUUID
    /// Seconds since 1970.
    public var timestamp: UInt32
    /// How long it lasts.
    public var durationMinutes: UInt16
    /// What kind of item it is: a notification, a pin or a reminder.
    public var kind: Kind
    /// How it is shown.
    public var flags: Flags
    /// What has happened to it.
    public var status: Status
    /// How it is laid out.
    public var layout: Layout
    /// Title, texts, icons and the like.
    public var attributes: [TimelineAttribute]
    /// What the user can do with it.
    public var actions: [TimelineItemAction]

    /// The kinds of items. The firmware keeps any; it looks only at where an item was written to.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// 1: a notification, of ``BlobDBDatabase/notifications``.
        public static let notification = Kind(rawValue: 1)
        /// 2: a pin on the timeline, of ``BlobDBDatabase/pins``.
        public static let pin = Kind(rawValue: 2)
        /// 3: a reminder, of ``BlobDBDatabase/reminders``.
        public static let reminder = Kind(rawValue: 3)
    }

    /// How an item is shown, and where it comes from.
    public struct Flags: OptionSet, Hashable, Sendable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Bit 0: the item is to be seen.
        package static let visible = Flags(rawValue: 0x01)
        /// Bit 1: the time is that of the clock on the wall, in whatever time zone the watch is.
        package static let floating = Flags(rawValue: 0x02)
        /// Bit 2: the item lasts all day. Its time is that of the clock on the wall, and should be midnight.
        package static let allDay = Flags(rawValue: 0x04)
        /// Bit 3: the watch added the item itself.
        package static let fromWatch = Flags(rawValue: 0x08)
        /// Bit 4: the notification came through ANCS.
        package static let fromANCS = Flags(rawValue: 0x10)
        /// Bit 5: the timeline's preview is to show the item for as long as it lasts.
        package static let persistent = Flags(rawValue: 0x20)
    }

    /// What has happened to an item.
    public struct Status: OptionSet, Hashable, Sendable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Bit 0: the user has read the notification.
        package static let read = Status(rawValue: 0x01)
        /// Bit 1: the item is deleted.
        package static let deleted = Status(rawValue: 0x02)
        /// Bit 2: the user has done one of the item's actions.
        package static let actioned = Status(rawValue: 0x04)
        /// Bit 3: the watch has reminded the user.
        package static let reminded = Status(rawValue: 0x08)
        /// Bit 4: the user has dismissed the item.
        package static let dismissed = Status(rawValue: 0x10)
    }

    /// How an item is laid out.
    public struct Layout: RawRepresentable, Hashable, Sendable {
        public let rawValue: UInt8

        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// 1: for anything. It needs a title.
        public static let generic = Layout(rawValue: 1)
        /// 2: for events of a calendar. It needs a title.
        package static let calendar = Layout(rawValue: 2)
        /// 3: for reminders, and not for pins. It needs a title.
        package static let reminder = Layout(rawValue: 3)
        /// 4: for notifications, and not for pins. It needs a title.
        public static let notification = Layout(rawValue: 4)
        /// 5: for notifications of messages from people, and not for pins or reminders.
        package static let communication = Layout(rawValue: 5)
        /// 6: for weather. It needs a title and a location.
        package static let weather = Layout(rawValue: 6)
        /// 7: for sports. It needs a title.
        package static let sports = Layout(rawValue: 7)
        /// 8: for alarms. It needs a title and a subtitle.
        package static let alarm = Layout(rawValue: 8)
        /// 9: for health. It needs a title.
        package static let health = Layout(rawValue: 9)
        /// 11: for the firmware's own tests. It needs nothing.
        package static let test = Layout(rawValue: 11)
    }

    /// Whether it is still to be seen: neither dismissed nor removed.
    package var isShown: Bool { status.isDisjoint(with: [.dismissed, .deleted]) }

    /// How many bytes precede the attributes.
    package static let headerLength = 46

    /// An item.
    public init(
        id: PebbleUUID,
        parent: PebbleUUID,
        timestamp: UInt32,
        durationMinutes: UInt16,
        kind: Kind,
        flags: Flags,
        status: Status = [],
        layout: Layout,
        attributes: [TimelineAttribute],
        actions: [TimelineItemAction]
    ) {
        self.id = id
        self.parent = parent
        self.timestamp = timestamp
        self.durationMinutes = durationMinutes
        self.kind = kind
        self.flags = flags
        self.status = status
        self.layout = layout
        self.attributes = attributes
        self.actions = actions
    }

    /// Whether a value that has fewer bytes than it declares is read as far as it goes.
    public enum Reading: Sendable {
        /// Every attribute and action has to be there.
        case whole
        /// The text that the value ends in is cut, and what would follow it is left out.
        case asFarAsItGoes
        /// As the firmware keeps pins and reminders: whatever length is declared, every attribute has to be there, and of the actions
        /// those count that are.
        case asKept
    }

    /// Reads a record's value.
    ///
    /// Attributes and actions are counted. They have to fit into the length that the item declares for them; what it declares
    /// beyond the last one is ignored, since Gadgetbridge declares the length of a text of which it sends a part.
    /// - Throws: `ByteDecodingError` for a value without whole header (`headerLength` bytes), and for one whose attributes
    ///   and actions do not fit.
    public init(_ value: ArraySlice<UInt8>, reading: Reading = .whole) throws(ByteDecodingError) {
        var reader = ByteReader(value)
        id = try PebbleUUID(reading: &reader, "timeline_item.id")
        parent = try PebbleUUID(reading: &reader, "timeline_item.parent")
        timestamp = try reader.readLittleEndian("timeline_item.timestamp")
        durationMinutes = try reader.readLittleEndian("timeline_item.duration")
        kind = Kind(rawValue: try reader.readUInt8("timeline_item.type"))
        flags = Flags(rawValue: try reader.readUInt8("timeline_item.flags"))
        status = Status(rawValue: try reader.readUInt8("timeline_item.status"))
        layout = Layout(rawValue: try reader.readUInt8("timeline_item.layout"))
        let length: UInt16 = try reader.readLittleEndian("timeline_item.data_length")
        let attributeCount = try reader.readUInt8("timeline_item.attribute_count")
        let actionCount = try reader.readUInt8("timeline_item.action_count")
        let missing = max(0, Int(length) - reader.count)
        var elements = TimelineElementReader(
            reader: ByteReader(reading == .asKept ? reader.remaining : reader.remaining.prefix(Int(length))),
            missing: reading == .asFarAsItGoes ? missing : 0
        )
        attributes = try elements.readAttributes(attributeCount)
        actions =
            reading == .asKept ? elements.readActionsThatAreThere(actionCount) : try elements.readActions(actionCount)
    }

    /// Appends the value: as many actions and attributes as a byte can count.
    public func encode(to bytes: inout [UInt8]) {
        let attributes = attributes.prefix(Int(UInt8.max))
        let actions = actions.prefix(Int(UInt8.max))
        var rest: [UInt8] = []
        for attribute in attributes { attribute.encode(to: &rest) }
        for action in actions { action.encode(to: &rest) }
        id.encode(to: &bytes)
        parent.encode(to: &bytes)
        bytes.appendLittleEndian(timestamp)
        bytes.appendLittleEndian(durationMinutes)
        bytes += [kind.rawValue, flags.rawValue, status.rawValue, layout.rawValue]
        bytes.appendLittleEndian(UInt16(clamping: rest.count))
        bytes += [UInt8(truncatingIfNeeded: attributes.count), UInt8(truncatingIfNeeded: actions.count)]
        bytes += rest
    }
}
