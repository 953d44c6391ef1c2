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
        let event = unnumbered.numbered(last + 1)
        keep(event)
        return event
    }

    /// Takes an event in that nobody is told now.
    fileprivate mutating func note(_ unnumbered: consuming NamedControlEvent<Name>) {
        keep(unnumbered.numbered(last + 1))
    }

    private mutating func keep(_ event: consuming NamedControlEvent<Name>) {
        last += 1
        let size = event.size
        let place = place(of: event.name)
        if tallies[place].isOutlived { outlived[event.name] = nil }
        tallies[place] = Tally(count: tallies[place].count + 1, last: last)
        recent.append(event, size: size)
        while recent.hasSurplus { dropOldest() }
    }

    /// The oldest event has no room any more. Mostly its name has newer ones, and nothing is kept of it.
    private mutating func dropOldest() {
        guard let dropped = recent.popFirst() else { return }
        let place = place(of: dropped.name)
        guard tallies[place].last == dropped.sequence else { return }
        tallies[place].isOutlived = true
        outlived[dropped.name] = dropped
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
        let moment: Duration
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
        _ event: WatchEvent,
        text: @autoclosure () -> String,
        at now: Duration
    ) -> ControlEvent? {
        if let frequent = event.frequent { return record(frequent, at: now) }
        return ControlEvent(event, text: text(), at: now).map { events.record($0) }
    }

    /// Takes an event in of which there are many.
    /// - Returns: the event with its number.
    package mutating func record(_ event: FrequentEvent, at now: Duration) -> ControlEvent {
        keepMessage(of: event, at: now)
        return events.record(ControlEvent(event, at: now))
    }

    /// Takes an event in of which there are many, and which no program is told now.
    package mutating func note(_ event: FrequentEvent, at now: Duration) {
        keepMessage(of: event, at: now)
        events.note(ControlEvent(event, at: now))
    }

    /// Keeps the AppMessage that the next event tells of, if it tells of one.
    private mutating func keepMessage(of event: FrequentEvent, at now: Duration) {
        switch event {
        case .message: break
        case .appMessageReceived(let app, let dictionary):
            let message = KeptMessage(sequence: last + 1, moment: now, app: app, dictionary: dictionary, result: .ok)
            received.append(message, size: event.size)
            while received.hasSurplus { _ = received.popFirst() }
        case .appMessageSent(let app, let dictionary, let result):
            let message = KeptMessage(
                sequence: last + 1,
                moment: now,
                app: app,
                dictionary: dictionary,
                result: result
            )
            sent.append(message, size: event.size)
            while sent.hasSurplus { _ = sent.popFirst() }
        }
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
    fileprivate var message: ControlMessage {
        ControlMessage(
            sequence: sequence,
            at: moment.inSeconds,
            message: ControlEvents.AppMessageSent(message: .init(app, dictionary), result: "\(result)")
        )
    }
}

/// The newest of many, oldest first.
private struct BoundedHistory<Element: Sendable>: Sendable {
    private let countLimit: Int
    private let byteLimit: Int
    private struct Kept {
        let element: Element
        let size: Int
    }

    private var kept: Deque<Kept> = []
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

    /// Adds the newest. Then take out what is too much.
    mutating func append(_ element: consuming Element, size: Int) {
        kept.append(Kept(element: element, size: size))
        byteCount += size
    }

    /// Whether there are more than are kept.
    var hasSurplus: Bool { !kept.isEmpty && (kept.count > countLimit || byteCount > byteLimit) }

    /// Takes the oldest out.
    mutating func popFirst() -> Element? {
        guard let oldest = kept.popFirst() else { return nil }
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
