/// A JSON Schema (draft 2020-12), as its keywords.
package struct ControlSchema: Sendable, Equatable, Encodable, ExpressibleByDictionaryLiteral {
    package private(set) var keywords: [String: SchemaValue]

    package init(_ keywords: [String: SchemaValue]) { self.keywords = keywords }

    package init(dictionaryLiteral keywords: (String, SchemaValue)...) {
        self.keywords = Dictionary(uniqueKeysWithValues: keywords)
    }

    package func encode(to encoder: any Encoder) throws { try keywords.encode(to: encoder) }

    /// The schema with more keywords, which take the place of those of the same name.
    package func adding(_ more: [String: SchemaValue]) -> ControlSchema {
        ControlSchema(keywords.merging(more) { $1 })
    }

    /// The schema of the same value or null.
    var orNull: ControlSchema {
        guard case .text(let type)? = keywords["type"] else {
            return ControlSchema(["anyOf": .list([.schema(self), .schema(ControlSchema(["type": "null"]))])])
        }
        var more: [String: SchemaValue] = ["type": .list([.text(type), "null"])]
        if case .list(let values)? = keywords["enum"] { more["enum"] = .list(values + [.null]) }
        return adding(more)
    }
}

/// The value of a keyword of a schema.
package indirect enum SchemaValue: Sendable, Equatable, Encodable, ExpressibleByStringLiteral {
    case null
    case flag(Bool)
    case integer(Int64)
    case unsigned(UInt64)
    case number(Double)
    case text(String)
    case list([SchemaValue])
    case object([String: SchemaValue])

    package init(stringLiteral text: String) { self = .text(text) }

    static func schema(_ schema: ControlSchema) -> SchemaValue { .object(schema.keywords) }

    /// A whole number of any width.
    static func whole(_ value: some BinaryInteger) -> SchemaValue {
        Int64(exactly: value).map { .integer($0) } ?? .unsigned(UInt64(clamping: value))
    }

    init(_ value: ControlValue) {
        self =
            switch value {
            case .flag(let flag): .flag(flag)
            case .integer(let integer): .integer(integer)
            case .number(let number): .number(number)
            case .text(let text): .text(text)
            case .list(let values): .list(values.map(SchemaValue.init))
            case .object(let fields): .object(fields.mapValues(SchemaValue.init))
            }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .flag(let flag): try container.encode(flag)
        case .integer(let integer): try container.encode(integer)
        case .unsigned(let integer): try container.encode(integer)
        case .number(let number): try container.encode(number)
        case .text(let text): try container.encode(text)
        case .list(let values): try container.encode(values)
        case .object(let fields): try container.encode(fields)
        }
    }
}

extension ControlField {
    /// The schema of its value, with what is said of it.
    /// - Parameter takesNull: whether null means that it is left out, as it does in a request.
    func schema(takesNull: Bool) -> ControlSchema {
        var described = schema.adding(["description": .text(help)])
        if case .defaulted(let usual) = presence { described = described.adding(["default": SchemaValue(usual)]) }
        return takesNull && presence != .required ? described.orNull : described
    }
}

extension ControlSchema {
    /// The schema of an object with these fields.
    /// - Parameters:
    ///   - constants: fields that always have this value.
    ///   - isRequest: whether people and programs write it: fields that it does not have are passed over, and one that is null
    ///     is left out.
    static func object(
        _ fields: [ControlField],
        constants: [String: ControlValue] = [:],
        isRequest: Bool = false
    ) -> ControlSchema {
        var properties = constants.mapValues { SchemaValue.object(["const": SchemaValue($0)]) }
        for field in fields { properties[field.name] = .schema(field.schema(takesNull: isRequest)) }
        let required = constants.keys.sorted() + fields.filter { $0.presence == .required }.map(\.name)
        var keywords: [String: SchemaValue] = ["type": "object", "properties": .object(properties)]
        if !required.isEmpty { keywords["required"] = .list(required.map { .text($0) }) }
        if !isRequest { keywords["additionalProperties"] = .flag(false) }
        return ControlSchema(keywords)
    }

    /// The schema of what matches exactly one of these definitions.
    static func oneOf(_ definitions: [String]) -> ControlSchema {
        ControlSchema(["oneOf": .list(definitions.map { .object(["$ref": .text("#/$defs/" + $0)]) })])
    }
    /// The schema of what matches one of these definitions or more.
    static func anyOf(_ definitions: [String]) -> ControlSchema {
        ControlSchema(["anyOf": .list(definitions.map { .object(["$ref": .text("#/$defs/" + $0)]) })])
    }
}
