import FoundationEssentials
import NIOCore
import NIOFoundationEssentialsCompat

/// A JSON value of any shape: what is passed on between a client and a watch is not looked at more than needed.
enum JSON: Sendable, Equatable {
    case null
    case flag(Bool)
    case integer(Int64)
    /// A whole number beyond `Int64`.
    case unsigned(UInt64)
    case number(Double)
    case text(String)
    case list([JSON])
    case object([String: JSON])

    /// Reads a document.
    /// - Throws: `DecodingError`.
    init(parsing bytes: Data) throws { self = try JSONDecoder().decode(JSON.self, from: bytes) }

    /// A member of an object; nil of anything else, and where there is none.
    subscript(name: String) -> JSON? {
        guard case .object(let members) = self else { return nil }
        return members[name]
    }

    /// The members of an object; none of anything else.
    var members: [String: JSON] {
        guard case .object(let members) = self else { return [:] }
        return members
    }

    /// The elements of a list; none of anything else.
    var elements: [JSON] {
        guard case .list(let elements) = self else { return [] }
        return elements
    }

    /// The text, if it is one.
    var text: String? {
        guard case .text(let text) = self else { return nil }
        return text
    }

    /// The number, if it is one.
    var number: Double? {
        switch self {
        case .integer(let integer): Double(integer)
        case .unsigned(let integer): Double(integer)
        case .number(let number): number
        case .null, .flag, .text, .list, .object: nil
        }
    }

    /// As one line of JSON, without its end.
    var line: ByteBuffer { encoded([.sortedKeys, .withoutEscapingSlashes]) }

    /// As a document that people read, with its last line's end.
    var document: ByteBuffer {
        var bytes = encoded([.sortedKeys, .withoutEscapingSlashes, .prettyPrinted])
        bytes.writeString("\n")
        return bytes
    }

    private func encoded(_ formatting: JSONEncoder.OutputFormatting) -> ByteBuffer {
        let encoder = JSONEncoder()
        encoder.outputFormatting = formatting
        // What was read from JSON has no value that JSON cannot have.
        return ByteBuffer(data: (try? encoder.encode(self)) ?? Data())
    }
}

extension JSON: Codable {
    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if let text = try? container.decode(String.self) {
            self = .text(text)
        } else if let integer = try? container.decode(Int64.self) {
            self = .integer(integer)
        } else if let members = try? container.decode([String: JSON].self) {
            self = .object(members)
        } else if let elements = try? container.decode([JSON].self) {
            self = .list(elements)
        } else if let flag = try? container.decode(Bool.self) {
            self = .flag(flag)
        } else if container.decodeNil() {
            self = .null
        } else if let integer = try? container.decode(UInt64.self) {
            self = .unsigned(integer)
        } else {
            self = .number(try container.decode(Double.self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .flag(let flag): try container.encode(flag)
        case .integer(let integer): try container.encode(integer)
        case .unsigned(let integer): try container.encode(integer)
        case .number(let number): try container.encode(number)
        case .text(let text): try container.encode(text)
        case .list(let elements): try container.encode(elements)
        case .object(let members): try container.encode(members)
        }
    }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByBooleanLiteral, ExpressibleByIntegerLiteral,
    ExpressibleByDictionaryLiteral, ExpressibleByArrayLiteral
{
    init(stringLiteral text: String) { self = .text(text) }
    init(booleanLiteral flag: Bool) { self = .flag(flag) }
    init(integerLiteral integer: Int64) { self = .integer(integer) }
    init(dictionaryLiteral members: (String, JSON)...) { self = .object(Dictionary(members) { $1 }) }
    init(arrayLiteral elements: JSON...) { self = .list(elements) }
}
