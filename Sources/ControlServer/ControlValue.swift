/// The value of a field of an event.
public enum ControlValue: Sendable, Equatable, Encodable {
    case flag(Bool)
    case integer(Int64)
    case number(Double)
    case text(String)
    case list([ControlValue])
    case object([String: ControlValue])

    public func encode(to encoder: any Encoder) throws {
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

    static func integer(_ value: some BinaryInteger) -> ControlValue { .integer(Int64(clamping: value)) }

    /// In seconds, with milliseconds.
    static func seconds(_ duration: Duration) -> ControlValue { .number(duration.inSeconds) }

    /// In milliseconds, to a hundredth.
    static func milliseconds(_ duration: Duration) -> ControlValue {
        .number((duration / .microseconds(10)).rounded() / 100)
    }
}

/// The fields of an event by name. One without a value is left out.
typealias ControlFields = [String: ControlValue?]
