import Foundation
import PebbleWatch

/// Something that happened on the watch, as programs are told: one JSON object on one line, whose `event` says what.
public struct ControlEvent: Encodable, Sendable {
    /// What happened.
    public let name: ControlEventName
    /// Counts the events of a watch from 1 on; 0 for `lost`, which only concerns one program.
    public private(set) var sequence: UInt64 = 0
    /// When: seconds since the watch was started.
    public let at: Double
    /// The same in words.
    public let text: String
    /// The same as values: everything that the words say.
    public let fields: [String: ControlValue]

    init(_ name: ControlEventName, _ text: String, at now: Duration, _ fields: ControlFields = [:]) {
        self.name = name
        self.text = text
        self.fields = fields.compactMapValues(\.self)
        at = now.inSeconds
    }

    /// The event for programs; nil for what only matters to a person who looks for a fault.
    /// - Parameter text: the event in words.
    public init?(_ event: WatchEvent, text: String, at now: Duration) {
        guard let (name, fields) = event.control(at: now) else { return nil }
        self.init(name, text, at: now, fields)
    }

    /// That events were lost, because the program did not read them.
    static func lost(_ count: UInt64, at now: Duration) -> ControlEvent {
        let text = count == 1 ? "1 event was lost" : "\(count) events were lost"
        return ControlEvent(.lost, text + ": not read in time", at: now, ["count": .integer(count)])
    }

    /// The event with its number.
    func numbered(_ sequence: UInt64) -> ControlEvent {
        var event = self
        event.sequence = sequence
        return event
    }

    /// The event as a line.
    public var line: [UInt8] { JSONLine.bytes(self) }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        for (name, value) in fields { try container.encode(value, forKey: Key(name)) }
        try container.encode(name.rawValue, forKey: Key("event"))
        try container.encode(at, forKey: Key("at"))
        try container.encode(text, forKey: Key("text"))
        if sequence > 0 { try container.encode(sequence, forKey: Key("sequence")) }
    }

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(_ name: String) { stringValue = name }
        init?(stringValue: String) { self.init(stringValue) }
        init?(intValue: Int) { nil }
    }
}

/// What every event's line has: what, when, and what in words.
public struct ControlEventLine: Decodable, Sendable {
    public let event: String
    /// None in `lost`.
    public let sequence: UInt64?
    public let at: Double
    public let text: String

    /// Reads a line; nil if it is no event.
    public init?(parsing line: some Sequence<UInt8>) {
        guard let event = try? JSONDecoder().decode(Self.self, from: Data(line)) else { return nil }
        self = event
    }
}
