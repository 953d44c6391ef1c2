import FoundationEssentials
import PebbleProtocol
import PebbleWatch

/// Something that happened, as programs are told: one JSON object on one line, whose `event` says what.
package struct NamedControlEvent<Name: ControlEventNaming>: Encodable, Sendable {
    /// What happened.
    package let name: Name
    /// Counts the events from 1 on; 0 for `lost`, which only concerns one program.
    package private(set) var sequence: UInt64 = 0
    /// Roughly how many bytes it takes.
    let size: Int
    private let moment: Duration
    private let contents: Contents

    private enum Contents: Sendable {
        case told(String, [String: ControlValue])
        /// Words and fields are made when somebody reads them.
        case frequent(FrequentEvent)
    }

    init(_ name: Name, _ values: [String: ControlValue], _ text: String, at now: Duration) {
        self.name = name
        contents = .told(text, values)
        size = Self.emptySize + text.utf8.count + values.reduce(0) { $0 + $1.key.utf8.count + $1.value.size }
        moment = now
    }

    fileprivate init(_ name: Name, _ event: consuming FrequentEvent, at now: Duration) {
        self.name = name
        size = Self.emptySize + event.size
        contents = .frequent(event)
        moment = now
    }

    /// What an event takes besides its text and its fields, roughly, in bytes.
    private static var emptySize: Int { 64 }

    /// When: seconds since the watch or the phone was started.
    package var at: Double { moment.inSeconds }

    /// What happened, in words.
    package var text: String {
        switch contents {
        case .told(let text, _): text
        case .frequent(let event): event.text
        }
    }

    /// The same as values: everything that the words say.
    package var fields: [String: ControlValue] {
        switch contents {
        case .told(_, let values): values
        case .frequent(let event): event.fields.values
        }
    }

    /// That events were lost, because the program did not read them.
    static func lost(_ count: UInt64, at now: Duration) -> Self {
        let text = count == 1 ? "1 event was lost" : "\(count) events were lost"
        let values = ControlEvents.Count(count: Int(clamping: count)).values
        return Self(.lost, values, text + ": not read in time", at: now)
    }

    /// The event with its number.
    consuming func numbered(_ sequence: UInt64) -> Self {
        var event = self
        event.sequence = sequence
        return event
    }

    /// The event as a line.
    package var line: [UInt8] { JSONLine.bytes(self) }

    /// Everything that its line has.
    package var values: [String: ControlValue] {
        var values = fields
        values["event"] = .text(name.rawValue)
        values["at"] = .real(at)
        values["text"] = .text(text)
        if sequence > 0 { values["sequence"] = .whole(sequence) }
        return values
    }

    package func encode(to encoder: any Encoder) throws { try values.encode(to: encoder) }
}

/// Something that happened on the watch.
package typealias ControlEvent = NamedControlEvent<ControlEventName>

extension ControlEvent {
    /// The event for programs; nil for what only matters to a person who looks for a fault.
    /// - Parameter text: the event in words. One of which there are many has words of its own, which say the same.
    package init?(_ event: WatchEvent, text: @autoclosure () -> String, at now: Duration) {
        if let frequent = event.frequent {
            self.init(frequent, at: now)
        } else if let fields = event.control(at: now) {
            self.init(fields.name, fields.values, text(), at: now)
        } else {
            return nil
        }
    }

    /// An event of which there are many, for programs.
    init(_ event: consuming FrequentEvent, at now: Duration) { self.init(event.name, event, at: now) }
}

/// An event's name, and what it has beside its number, time and text.
package struct ControlEventFields: Sendable {
    package let name: ControlEventName
    /// Which variant of the event it is: its field `name`.
    package let variant: String?
    /// Of the type that the name's declaration has.
    package let fields: any ControlObject

    init(_ name: ControlEventName, _ fields: some ControlObject) {
        self.name = name
        variant = nil
        self.fields = fields
    }

    init<Variant: ControlEventVariant>(_ variant: Variant, _ fields: some ControlObject) {
        name = Variant.event
        self.variant = variant.rawValue
        self.fields = fields
    }

    var values: [String: ControlValue] {
        var values = fields.values
        if let variant { values["name"] = .text(variant) }
        return values
    }
}

/// An event as a program reads it.
package struct ControlEventLine: Decodable, Sendable {
    package let event: String
    /// None in `lost`.
    package let sequence: UInt64?
    package let at: Double
    package let text: String
    /// What else it has; nil for an event that only a newer watch knows.
    package let fields: ControlEventFields?

    /// Reads a line; nil if it is no event.
    package init?(parsing line: some Sequence<UInt8>) {
        guard let event = try? JSONDecoder().decode(Self.self, from: Data(line)) else { return nil }
        self = event
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: FieldKey.self)
        event = try container.decode(String.self, forKey: FieldKey("event"))
        sequence = try container.decodeIfPresent(UInt64.self, forKey: FieldKey("sequence"))
        at = try container.decode(Double.self, forKey: FieldKey("at"))
        text = try container.decode(String.self, forKey: FieldKey("text"))
        fields = ControlEventName(rawValue: event).flatMap { ControlEventFields($0, from: decoder) }
    }
}

extension ControlEventFields {
    /// Reads the fields of an event; nil if they are others than its declaration's.
    fileprivate init?(_ name: ControlEventName, from decoder: any Decoder) {
        let variant = try? decoder.container(keyedBy: FieldKey.self).decode(String.self, forKey: FieldKey("name"))
        guard let type = name.declaration.type(variant: variant), let fields = try? type.init(from: decoder) else {
            return nil
        }
        self.name = name
        self.fields = fields
        self.variant = if case .variants = name.declaration.fields { variant } else { nil }
    }
}
