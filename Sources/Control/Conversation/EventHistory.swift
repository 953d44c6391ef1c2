import PebbleWatch

/// What has happened since a watch or a phone was started: everything is numbered and counted, the newest events are kept, and of each
/// name the last. So a program that asks late misses nothing that it waits for.
package struct NamedEventHistory<Name: ControlEventNaming>: Sendable {
    /// How many events are kept at most.
    static var eventLimit: Int { 512 }
    /// How many bytes they take at most, roughly.
    static var byteLimit: Int { 128 * 1024 }

    private struct Kept: Sendable {
        let event: NamedControlEvent<Name>
        let size: Int
    }

    /// The number of the last event; 0 before the first.
    package private(set) var last: UInt64 = 0
    private var counts: [Name: Int] = [:]
    /// The newest, oldest first; those before `start` are gone.
    private var recent: [Kept?] = []
    private var start = 0
    private var byteCount = 0
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
        let kept = Kept(event: event, size: event.size)
        recent.append(kept)
        byteCount += kept.size
        while recent.count - start > Self.eventLimit || byteCount > Self.byteLimit, start < recent.count {
            byteCount -= recent[start]?.size ?? 0
            recent[start] = nil
            start += 1
        }
        if start >= Self.eventLimit {
            recent.removeSubrange(..<start)
            start = 0
        }
        return event
    }

    /// The lines of all kept events after a number, in their order; the number of those not kept any more comes first.
    package func lines(after sequence: UInt64, at now: Duration) -> [UInt8] {
        var events = recent[start...].compactMap { $0?.event }.filter { $0.sequence > sequence }
        let oldest = events.first?.sequence ?? last + 1
        let older = lastOfName.values.filter { $0.sequence > sequence && $0.sequence < oldest }
        events = older.sorted { $0.sequence < $1.sequence } + events
        let missing = last - min(last, sequence) - UInt64(events.count)
        let notice = missing > 0 ? NamedControlEvent<Name>.lost(missing, at: now).line : []
        return notice + events.flatMap(\.line)
    }
}

/// What has happened to a watch.
package typealias EventHistory = NamedEventHistory<ControlEventName>

extension EventHistory {
    /// Takes an event in.
    /// - Returns: the event with its number; nil for what programs are not told.
    package mutating func record(_ event: WatchEvent, text: String, at now: Duration) -> ControlEvent? {
        ControlEvent(event, text: text, at: now).map { record($0) }
    }
}

extension NamedControlEvent {
    /// Roughly how many bytes it takes.
    fileprivate var size: Int { 64 + text.utf8.count + fields.reduce(0) { $0 + $1.key.utf8.count + $1.value.size } }
}

extension ControlValue {
    fileprivate var size: Int {
        switch self {
        case .flag, .integer, .number: 16
        case .text(let text): 16 + text.utf8.count
        case .list(let values): values.reduce(16) { $0 + $1.size }
        case .object(let fields): fields.reduce(16) { $0 + $1.key.utf8.count + $1.value.size }
        }
    }
}
