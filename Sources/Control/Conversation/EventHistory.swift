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
    private var counts: [Name: Int] = [:]
    private var recent = BoundedHistory<NamedControlEvent<Name>>(count: eventLimit, bytes: byteLimit)
    private var lastOfName: [Name: NamedControlEvent<Name>] = [:]

    /// A watch or a phone on which nothing has happened.
    package init() {}

    /// How often each event has happened that has.
    var countsByName: [String: Int] {
        Dictionary(counts.map { ($0.key.rawValue, $0.value) }) { first, _ in first }
    }

    /// Takes an event in.
    /// - Returns: the event with its number.
    package mutating func record(_ unnumbered: NamedControlEvent<Name>) -> NamedControlEvent<Name> {
        last += 1
        let event = unnumbered.numbered(last)
        counts[event.name, default: 0] += 1
        lastOfName[event.name] = event
        recent.append(event, size: event.size)
        return event
    }

    /// The first event of a name that is kept, after a number; nil if there is none.
    package func first(_ name: Name, after sequence: UInt64) -> NamedControlEvent<Name>? {
        if let event = recent.all.first(where: { $0.name == name && $0.sequence > sequence }) { return event }
        guard let event = lastOfName[name], event.sequence > sequence else { return nil }
        return event
    }

    /// The lines of all kept events after a number, in their order; the number of those not kept any more comes first.
    package func lines(after sequence: UInt64, at now: Duration) -> [UInt8] {
        var events = recent.all.filter { $0.sequence > sequence }
        let oldest = events.first?.sequence ?? last + 1
        let older = lastOfName.values.filter { $0.sequence > sequence && $0.sequence < oldest }
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
    /// - Returns: the event with its number; nil for what programs are not told.
    package mutating func record(_ watchEvent: WatchEvent, text: String, at now: Duration) -> ControlEvent? {
        guard let unnumbered = ControlEvent(watchEvent, text: text, at: now) else { return nil }
        let event = events.record(unnumbered)
        switch watchEvent {
        case .appMessageReceived(let app, let dictionary):
            received.append(KeptMessage(event, app, dictionary, .ok), size: event.size)
        case .appMessageSent(let app, let dictionary, let result):
            sent.append(KeptMessage(event, app, dictionary, result), size: event.size)
        default: break
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
    /// Those before `start` are gone.
    private var kept: [(element: Element, size: Int)?] = []
    private var start = 0
    private var byteCount = 0

    /// - Parameters:
    ///   - count: how many are kept at most.
    ///   - bytes: how many bytes they take at most, roughly.
    init(count: Int, bytes: Int) {
        countLimit = count
        byteLimit = bytes
    }

    /// Those that are kept.
    var all: some Sequence<Element> { kept[start...].lazy.compactMap { $0?.element } }

    /// Adds the newest; the oldest make way for it.
    mutating func append(_ element: Element, size: Int) {
        kept.append((element, size))
        byteCount += size
        while kept.count - start > countLimit || byteCount > byteLimit, start < kept.count {
            byteCount -= kept[start]?.size ?? 0
            kept[start] = nil
            start += 1
        }
        if start >= countLimit {
            kept.removeSubrange(..<start)
            start = 0
        }
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
