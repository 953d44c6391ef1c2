import BluetoothHCI
import ByteCoding
import PebbleProtocol

/// How the value of a field stands on the wire: what is read and what is refused, what is written, and the schema of it.
package struct ControlFormat<Value, Wire: Decodable & Sendable>: Sendable {
    /// Makes the schema: it is not needed where values are only read or written.
    private let makeSchema: @Sendable () -> ControlSchema
    /// Makes the value of what the JSON has; the text is the field's name, for what is wrong.
    let read: @Sendable (Wire, String) throws -> Value
    let write: @Sendable (Value) -> ControlValue

    init(
        _ schema: @autoclosure @escaping @Sendable () -> ControlSchema,
        read: @escaping @Sendable (Wire, String) throws -> Value,
        write: @escaping @Sendable (Value) -> ControlValue
    ) {
        makeSchema = schema
        self.read = read
        self.write = write
    }

    var schema: ControlSchema { makeSchema() }

    /// The same in a unit.
    func `in`(_ unit: ControlUnit) -> Self { describing(["x-unit": .text(unit.rawValue)]) }

    /// The same with more keywords in its schema.
    func describing(_ keywords: @autoclosure @escaping @Sendable () -> [String: SchemaValue]) -> Self {
        Self(makeSchema().adding(keywords()), read: read, write: write)
    }
}

/// The units of the vocabulary: `x-unit` in the schema.
package enum ControlUnit: String, Sendable, CaseIterable {
    case seconds, milliseconds, minutes, percent, degrees, octets, bytes
    /// One turn is 65536 of them.
    case turns = "65536ths of a turn"
    case milligravity = "thousandths of g"
    case connectionEvents = "connection events"
    case beatsPerMinute = "beats per minute"
}

// MARK: Plain values

extension ControlFormat where Value == Bool, Wire == Bool {
    /// True or false.
    static var flag: Self { Self(["type": "boolean"], read: { value, _ in value }, write: { .flag($0) }) }
}

extension ControlFormat where Value == String, Wire == String {
    /// Any text.
    static var text: Self { Self(["type": "string"], read: { value, _ in value }, write: { .text($0) }) }

    /// One of these words. Only what the watch says has this format: of a word that a newer watch says, nothing is known.
    static func word(_ words: [String]) -> Self {
        text.describing(["enum": .list(words.map { .text($0) })])
    }

    /// One of these words.
    static func word(_ words: String...) -> Self { word(words) }

    /// The raw value of one of the cases of an enumeration.
    static func word<Word: RawRepresentable & CaseIterable>(_ type: Word.Type) -> Self where Word.RawValue == String {
        word(type.allCases.map(\.rawValue))
    }

    /// A device address, such as `C0:11:22:33:44:55`.
    static var address: Self { text.describing(["pattern": .text(ControlPattern.address)]) }

    /// A UUID.
    static var uuid: Self { text.describing(["pattern": .text(ControlPattern.uuid)]) }

    /// Bytes as hexadecimal digits.
    static var hexadecimal: Self { text.describing(["pattern": .text(ControlPattern.bytes)]) }
}

extension ControlFormat where Value == Double, Wire == Double {
    /// Any number.
    static var number: Self { Self(["type": "number"], read: { value, _ in value }, write: { .real($0) }) }

    /// A number that is not less than 0.
    static var amount: Self { number.describing(["minimum": .whole(0)]) }

    /// A number in a range of whole ends; another is refused.
    static func number(in range: ClosedRange<Int>) -> Self {
        Self(
            ["type": "number", "minimum": .whole(range.lowerBound), "maximum": .whole(range.upperBound)],
            read: { value, name in
                guard (Double(range.lowerBound)...Double(range.upperBound)).contains(value) else {
                    throw ControlRequest.Invalid.outside(name, range)
                }
                return value
            },
            write: { .real($0) }
        )
    }
}

extension ControlFormat where Value: FixedWidthInteger & Sendable, Wire == Int {
    /// A whole number that the type has room for.
    static var integer: Self {
        let range = Value.min...Value.max
        return Self(
            ["type": "integer", "minimum": .whole(Value.min), "maximum": .whole(Value.max)],
            read: { number, name in
                guard let value = Value(exactly: number) else { throw ControlRequest.Invalid.outside(name, range) }
                return value
            },
            write: { .whole($0) }
        )
    }
}

extension ControlFormat where Value == Int, Wire == Int {
    /// A whole number from 0 on.
    static var count: Self {
        Self(
            ["type": "integer", "minimum": .whole(0), "maximum": .whole(Int.max)],
            read: { number, name in
                guard number >= 0 else {
                    throw ControlRequest.Invalid(description: "“\(name)” is a number from 0 on")
                }
                return number
            },
            write: { .whole($0) }
        )
    }
}

extension ControlFormat where Value == UInt64, Wire == UInt64 {
    /// The number of an event or of a session.
    static var serial: Self {
        Self(
            ["type": "integer", "minimum": .whole(0), "maximum": .unsigned(.max)],
            read: { number, _ in number },
            write: { .whole($0) }
        )
    }
}

// MARK: Values of several parts

extension ControlFormat where Value: ControlObject, Wire == Value {
    /// An object with fields of its own.
    static var object: Self {
        Self(ControlSchema.object(Value.fields), read: { value, _ in value }, write: { .object($0.values) })
    }
}

extension ControlFormat {
    /// A list of values of a format.
    static func list<Element, Part>(of element: ControlFormat<Element, Part>) -> Self
    where Value == [Element], Wire == [Part] {
        Self(
            ["type": "array", "items": .schema(element.schema)],
            read: { parts, name in try parts.map { try element.read($0, name) } },
            write: { .list($0.map(element.write)) }
        )
    }

    /// Values of a format by names that are not known before.
    static func dictionary<Element, Part>(of element: ControlFormat<Element, Part>) -> Self
    where Value == [String: Element], Wire == [String: Part] {
        Self(
            ["type": "object", "additionalProperties": .schema(element.schema)],
            read: { parts, name in try parts.mapValues { try element.read($0, name) } },
            write: { .object($0.mapValues(element.write)) }
        )
    }
}

extension ControlFormat where Value == [String: ControlValue], Wire == [String: ControlValue] {
    /// An event, as its line has it.
    static var event: Self {
        Self(["$ref": "#/$defs/event"], read: { fields, _ in fields }, write: { .object($0) })
    }
}

// MARK: Values that requests name

/// The patterns of texts, as regular expressions of JSON Schema.
enum ControlPattern {
    static let address = "^[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}$"
    static let uuid = "^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$"
    /// Spaces may stand between the digits.
    static let bytes = "^ *([0-9A-Fa-f] *[0-9A-Fa-f] *)*$"
}

extension ControlFormat
where Wire == String, Value: RawRepresentable & CaseIterable & Sendable, Value.RawValue == String {
    /// A case of an enumeration by its raw value; what it is called stands in the error.
    static func name(of noun: String) -> Self {
        let values = Array(Value.allCases)
        return Self(
            ["type": "string", "enum": .list(values.map { .text($0.rawValue) })],
            read: { text, _ in
                guard let value = values.first(where: { $0.rawValue == text }) else {
                    let known = values.map(\.rawValue).joined(separator: ", ")
                    throw ControlRequest.Invalid(
                        description: "“\(text.abbreviated)” is no \(noun); there are \(known)"
                    )
                }
                return value
            },
            write: { .text($0.rawValue) }
        )
    }
}

extension ControlFormat where Wire == String, Value: Equatable & Sendable {
    /// One of these, each by its name.
    /// - Parameter refusal: what is said of another name, in place of the names in their alphabetical order.
    static func one(of choices: [String: Value], otherwise refusal: String? = nil) -> Self {
        let names = choices.keys.sorted()
        return Self(
            ["type": "string", "enum": .list(names.map { .text($0) })],
            read: { text, name in
                guard let value = choices[text] else {
                    let refusal = refusal ?? "is one of \(names.joined(separator: ", "))"
                    throw ControlRequest.Invalid(description: "“\(name)” \(refusal)")
                }
                return value
            },
            write: { value in .text(names.first { choices[$0] == value } ?? "") }
        )
    }
}

extension ControlFormat where Wire == String, Value == PebbleUUID {
    /// A UUID.
    static var uuid: Self {
        Self(
            ["type": "string", "pattern": .text(ControlPattern.uuid)],
            read: { text, name in
                guard let uuid = PebbleUUID(text) else {
                    throw ControlRequest.Invalid(
                        description: "“\(name)” is a UUID, such as 6b1f5c2e-0f3a-4d0e-9b7a-1c2d3e4f5a6b"
                    )
                }
                return uuid
            },
            write: { .text("\($0)") }
        )
    }
}

extension ControlFormat where Wire == String, Value == [UInt8] {
    /// Bytes as hexadecimal digits.
    static var bytes: Self {
        Self(
            ["type": "string", "pattern": .text(ControlPattern.bytes)],
            read: { text, name in
                guard let bytes = [UInt8](hexadecimal: text) else {
                    throw ControlRequest.Invalid(description: "“\(name)” is a string of hexadecimal digits")
                }
                return bytes
            },
            write: { .text($0.hexadecimal) }
        )
    }
}

extension ControlFormat where Wire == String, Value == DeviceAddress {
    /// A device address.
    static var address: Self {
        Self(
            ["type": "string", "pattern": .text(ControlPattern.address)],
            read: { text, _ in
                guard let address = DeviceAddress(text) else {
                    throw ControlRequest.Invalid(
                        description: "“\(text.abbreviated)” is no address; one is written C0:11:22:33:44:55"
                    )
                }
                return address
            },
            write: { .text($0.description) }
        )
    }
}

extension ControlRequest.Invalid {
    fileprivate static func outside<Number>(_ name: String, _ range: ClosedRange<Number>) -> Self {
        Self(description: "“\(name)” is a number from \(range.lowerBound) to \(range.upperBound)")
    }
}

extension String {
    /// Enough of the text for its writer to recognise it.
    var abbreviated: String { count > 40 ? prefix(40) + "…" : self }
}
