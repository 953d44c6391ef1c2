import DequeModule
import PebbleProtocol
import PebbleWatch

/// What has happened since a watch or a phone was started: everything is numbered and counted, the newest events are kept, and
/// of each name the last. So a program that asks late misses nothing that it waits for.
package struct NamedEventHistory<Name: ControlEventNaming>: Sendable {
    /// How many events are kept at most.
    static var eventLimit: Int { 512 }
    /// How many bytes they take at most, roughly.
    static var byteLimit: Int { 128 * 1024 }

    /// The number of the last event; 0 before the first.
    package private(set) var last: UInt64 = 0
    private var recent = BoundedHistory<NamedControlEvent<Name>>(count: eventLimit, bytes: byteLimit)
    /// The names that there have been, each with its tally at the same place: there are few, and looking for one among them is
    /// cheaper than to hash it.
    private var names: [Name] = []
    private var tallies: [Tally] = []
    /// The last events of their names, if there is no room for them among the recent ones any more.
    private var outlived: [Name: NamedControlEvent<Name>] = [:]

    /// What is known of the events of a name.
    private struct Tally {
        var count = 0
        /// The number of the last one.
        var last: UInt64 = 0
        /// Whether that is in `outlived`.
        var isOutlived = false
    }

    /// A watch or a phone on which nothing has happened.
    package init() {}

    /// How often each event has happened that has.
    var countsByName: [String: Int] {
        Dictionary(zip(names, tallies).map { ($0.rawValue, $1.count) }) { first, _ in first }
    }

    /// Takes an event in.
    /// - Returns: the event with its number.
    package mutating func record(_ unnumbered: consuming NamedControlEvent<Name>) -> NamedControlEvent<Name> {
        last += 1
        let event = unnumbered.numbered(last)
        let place = place(of: event.name)
        if tallies[place].isOutlived { outlived[event.name] = nil }
        tallies[place] = Tally(count: tallies[place].count + 1, last: last)
        recent.append(event, size: event.size)
        while let dropped = recent.dropSurplus() {
            let place = self.place(of: dropped.name)
            guard tallies[place].last == dropped.sequence else { continue }
            tallies[place].isOutlived = true
            outlived[dropped.name] = dropped
        }
        return event
    }

    private mutating func place(of name: Name) -> Int {
        if let place = names.firstIndex(of: name) { return place }
        names.append(name)
        tallies.append(Tally())
        return names.count - 1
    }

    /// The first event of a name that is kept, after a number; nil if there is none.
    package func first(_ name: Name, after sequence: UInt64) -> NamedControlEvent<Name>? {
        guard let place = names.firstIndex(of: name), tallies[place].last > sequence else { return nil }
        return outlived[name] ?? recent.all.first { $0.name == name && $0.sequence > sequence }
    }

    /// The lines of all kept events after a number, in their order; the number of those not kept any more comes first.
    package func lines(after sequence: UInt64, at now: Duration) -> [UInt8] {
        var events = recent.all.filter { $0.sequence > sequence }
        let oldest = events.first?.sequence ?? last + 1
        let older = outlived.values.filter { $0.sequence > sequence && $0.sequence < oldest }
        events = older.sorted { $0.sequence < $1.sequence } + events
        let missing = last - min(last, sequence) - UInt64(events.count)
        let notice = missing > 0 ? NamedControlEvent<Name>.lost(missing, at: now).line : []
        return notice + events.flatMap(\.line)
    }
}

/// What has happened to a watch: its events, and beside them the AppMessages of both directions, so that other events do not
/// push them out.
package struct EventHistory: Sendable {
    /// How many AppMessages of each direction are kept at most.
    static let messageLimit = 256

    /// The events.
    package private(set) var events = NamedEventHistory<ControlEventName>()
    private var received = messages
    private var sent = messages

    /// An AppMessage, and what became of it. Programs get it as a `ControlMessage`, which is made when one asks.
    fileprivate struct KeptMessage {
        let sequence: UInt64
        let at: Double
        let app: PebbleUUID
        let dictionary: AppMessageDictionary
        let result: AppMessageResult
    }

    private static var messages: BoundedHistory<KeptMessage> {
        BoundedHistory(count: messageLimit, bytes: NamedEventHistory<ControlEventName>.byteLimit)
    }

    /// A watch on which nothing has happened.
    package init() {}

    /// The number of the last event; 0 before the first.
    package var last: UInt64 { events.last }

    /// Takes an event in.
    /// - Parameter text: the event in words, as `ControlEvent` takes them.
    /// - Returns: the event with its number; nil for what programs are not told.
    package mutating func record(
        _ watchEvent: WatchEvent,
        text: @autoclosure () -> String,
        at now: Duration
    ) -> ControlEvent? {
        guard let unnumbered = ControlEvent(watchEvent, text: text(), at: now) else { return nil }
        let event = events.record(unnumbered)
        if case .appMessageReceived(let app, let dictionary) = watchEvent {
            received.append(KeptMessage(event, app, dictionary, .ok), size: event.size)
            while received.dropSurplus() != nil {}
        } else if case .appMessageSent(let app, let dictionary, let result) = watchEvent {
            sent.append(KeptMessage(event, app, dictionary, result), size: event.size)
            while sent.dropSurplus() != nil {}
        }
        return event
    }

    /// The AppMessages of one direction that are kept, oldest first.
    /// - Parameters:
    ///   - app: only those of this app; nil for all.
    ///   - sequence: only those after the event of this number.
    package func messages(
        _ direction: ControlMessage.Direction,
        app: String?,
        after sequence: UInt64
    ) -> [ControlMessage] {
        let kept = direction == .received ? received.all : sent.all
        return kept.filter { $0.sequence > sequence && (app == nil || "\($0.app)" == app) }.map(\.message)
    }
}

extension EventHistory.KeptMessage {
    /// The AppMessage that an event tells of.
    fileprivate init(
        _ event: ControlEvent,
        _ app: PebbleUUID,
        _ dictionary: AppMessageDictionary,
        _ result: AppMessageResult
    ) {
        sequence = event.sequence
        at = event.at
        self.app = app
        self.dictionary = dictionary
        self.result = result
    }

    fileprivate var message: ControlMessage {
        ControlMessage(
            sequence: sequence,
            at: at,
            message: ControlEvents.AppMessageSent(message: .init(app, dictionary), result: "\(result)")
        )
    }
}

/// The newest of many, oldest first.
private struct BoundedHistory<Element: Sendable>: Sendable {
    private let countLimit: Int
    private let byteLimit: Int
    private var kept: Deque<(element: Element, size: Int)> = []
    private var byteCount = 0

    /// - Parameters:
    ///   - count: how many are kept at most.
    ///   - bytes: how many bytes they take at most, roughly.
    init(count: Int, bytes: Int) {
        countLimit = count
        byteLimit = bytes
    }

    /// Those that are kept.
    var all: some Sequence<Element> { kept.lazy.map(\.element) }

    /// Adds the newest. Then drop what is too much.
    mutating func append(_ element: Element, size: Int) {
        kept.append((element, size))
        byteCount += size
    }

    /// Takes the oldest out, if there are more than are kept.
    mutating func dropSurplus() -> Element? {
        guard kept.count > countLimit || byteCount > byteLimit, let oldest = kept.popFirst() else { return nil }
        byteCount -= oldest.size
        return oldest.element
    }
}

extension ControlValue {
    /// Roughly how many bytes it takes.
    var size: Int {
        switch self {
        case .flag, .integer, .number: 16
        case .text(let text): 16 + text.utf8.count
        case .list(let values): values.reduce(16) { $0 + $1.size }
        case .object(let fields): fields.reduce(16) { $0 + $1.key.utf8.count + $1.value.size }
        }
    }
}
