/// A JSON object of the vocabulary: a request, an answer, the fields of an event, or a part of one of them.
///
/// Its fields are declared once, in `declare(_:)`. What reads, what writes and what describes such an object are three
/// visitors of that declaration, so that none of them can know other fields than the rest.
package protocol ControlObject: Codable, Sendable, Equatable {
    /// An object whose fields have the values that they have at first.
    static var blank: Self { get }

    /// Tells a visitor every field: its name on the wire, where its value is kept, its format, and what it says.
    mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure)
}

/// What goes through the fields of an object.
package protocol FieldVisitor {
    /// Why it stops: `Never` for what only looks.
    associatedtype Failure: Error

    /// A field that is always there.
    mutating func required<Value, Wire>(
        _ name: String,
        _ value: inout Value,
        _ format: ControlFormat<Value, Wire>,
        _ help: String
    ) throws(Failure)

    /// A field that may be left out: nil then. In a request, null means the same.
    mutating func optional<Value, Wire>(
        _ name: String,
        _ value: inout Value?,
        _ format: ControlFormat<Value, Wire>,
        _ help: String
    ) throws(Failure)

    /// A field of a request that has the value that it had before if it is left out.
    mutating func defaulted<Value, Wire>(
        _ name: String,
        _ value: inout Value,
        _ format: ControlFormat<Value, Wire>,
        _ help: String
    ) throws(Failure)
}

extension ControlObject {
    /// An object whose fields a closure sets.
    package init(_ set: (inout Self) -> Void) {
        self = .blank
        set(&self)
    }

    /// The fields that have a value, by their names.
    package var values: [String: ControlValue] {
        var copy = self
        var writer = FieldWriter()
        copy.declare(&writer)
        return writer.values
    }

    /// The fields that such an object can have, in the order of their declaration.
    package static var fields: [ControlField] {
        var blank = Self.blank
        var describer = FieldDescriber()
        blank.declare(&describer)
        return describer.fields
    }

    package init(from decoder: any Decoder) throws {
        self = .blank
        var reader = FieldReader(try decoder.container(keyedBy: FieldKey.self))
        try declare(&reader)
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: FieldKey.self)
        for (name, value) in values { try container.encode(value, forKey: FieldKey(name)) }
    }
}

/// A field as it is declared.
package struct ControlField: Sendable {
    /// Whether it is always there.
    package enum Presence: Sendable, Equatable {
        case required
        case optional
        /// It stands for this value if it is left out.
        case defaulted(ControlValue)
    }

    package let name: String
    package let schema: ControlSchema
    package let presence: Presence
    /// What its value says.
    package let help: String

    /// The words that its value can be, if it is one of a few.
    package var words: [String]? {
        guard case .list(let words)? = schema.keywords["enum"] else { return nil }
        return words.compactMap { if case .text(let word) = $0 { word } else { nil } }
    }
}

/// The name of a field on the wire.
struct FieldKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { nil }
}

/// Collects the values of an object's fields.
struct FieldWriter: FieldVisitor {
    typealias Failure = Never

    private(set) var values: [String: ControlValue] = [:]

    mutating func required<Value, Wire>(
        _ name: String,
        _ value: inout Value,
        _ format: ControlFormat<Value, Wire>,
        _ help: String
    ) {
        values[name] = format.write(value)
    }

    mutating func optional<Value, Wire>(
        _ name: String,
        _ value: inout Value?,
        _ format: ControlFormat<Value, Wire>,
        _ help: String
    ) {
        if let value { values[name] = format.write(value) }
    }

    mutating func defaulted<Value, Wire>(
        _ name: String,
        _ value: inout Value,
        _ format: ControlFormat<Value, Wire>,
        _ help: String
    ) {
        values[name] = format.write(value)
    }
}

/// Collects the fields that an object can have.
struct FieldDescriber: FieldVisitor {
    typealias Failure = Never

    private(set) var fields: [ControlField] = []

    mutating func required<Value, Wire>(
        _ name: String,
        _ value: inout Value,
        _ format: ControlFormat<Value, Wire>,
        _ help: String
    ) {
        fields.append(ControlField(name: name, schema: format.schema, presence: .required, help: help))
    }

    mutating func optional<Value, Wire>(
        _ name: String,
        _ value: inout Value?,
        _ format: ControlFormat<Value, Wire>,
        _ help: String
    ) {
        fields.append(ControlField(name: name, schema: format.schema, presence: .optional, help: help))
    }

    mutating func defaulted<Value, Wire>(
        _ name: String,
        _ value: inout Value,
        _ format: ControlFormat<Value, Wire>,
        _ help: String
    ) {
        let usual = format.write(value)
        fields.append(ControlField(name: name, schema: format.schema, presence: .defaulted(usual), help: help))
    }
}

/// Reads an object's fields from a request.
struct FieldReader: FieldVisitor {
    typealias Failure = any Error

    private let container: KeyedDecodingContainer<FieldKey>

    init(_ container: KeyedDecodingContainer<FieldKey>) { self.container = container }

    mutating func required<Value, Wire>(
        _ name: String,
        _ value: inout Value,
        _ format: ControlFormat<Value, Wire>,
        _ help: String
    ) throws {
        guard let wire = try container.decodeIfPresent(Wire.self, forKey: FieldKey(name)) else {
            throw ControlRequest.Invalid(description: "“\(name)” is missing")
        }
        value = try format.read(wire, name)
    }

    mutating func optional<Value, Wire>(
        _ name: String,
        _ value: inout Value?,
        _ format: ControlFormat<Value, Wire>,
        _ help: String
    ) throws {
        let wire = try container.decodeIfPresent(Wire.self, forKey: FieldKey(name))
        value = try wire.map { try format.read($0, name) }
    }

    mutating func defaulted<Value, Wire>(
        _ name: String,
        _ value: inout Value,
        _ format: ControlFormat<Value, Wire>,
        _ help: String
    ) throws {
        guard let wire = try container.decodeIfPresent(Wire.self, forKey: FieldKey(name)) else { return }
        value = try format.read(wire, name)
    }
}
