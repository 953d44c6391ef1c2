/// The value of a field, whichever field it is.
package enum ControlValue: Sendable, Equatable, Encodable {
    case flag(Bool)
    case integer(Int64)
    case number(Double)
    case text(String)
    case list([ControlValue])
    case object([String: ControlValue])

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .flag(let flag): try container.encode(flag)
        case .integer(let integer): try container.encode(integer)
        case .number(let number): try container.encode(number)
        case .text(let text): try container.encode(text)
        case .list(let values): try container.encode(values)
        case .object(let fields): try container.encode(fields)
        }
    }

    /// As one line of JSON.
    package var json: String { String(decoding: JSONLine.bytes(self).dropLast(), as: UTF8.self) }

    /// A number that need not be whole. A whole one is an integer, since JSON does not tell them apart.
    static func real(_ value: Double) -> ControlValue { Int64(exactly: value).map { .integer($0) } ?? .number(value) }

    /// A whole number of any width.
    static func whole(_ value: some BinaryInteger) -> ControlValue { .integer(Int64(clamping: value)) }
}

extension ControlValue: Decodable {
    package init(from decoder: any Decoder) throws {
        if let fields = try? [String: ControlValue](from: decoder) {
            self = .object(fields)
        } else if let values = try? [ControlValue](from: decoder) {
            self = .list(values)
        } else {
            let container = try decoder.singleValueContainer()
            if let text = try? container.decode(String.self) {
                self = .text(text)
            } else if let flag = try? container.decode(Bool.self) {
                self = .flag(flag)
            } else if let integer = try? container.decode(Int64.self) {
                self = .integer(integer)
            } else {
                self = .number(try container.decode(Double.self))
            }
        }
    }
}
