import ByteCoding
import PebbleProtocol

/// One entry of an AppMessage dictionary, as programs read and write it.
public struct ControlEntry: Codable, Sendable, Equatable {
    public let key: UInt32
    /// One of `types`; events also have `unrecognized`, with bytes.
    public let type: String
    /// Of a number.
    public var number: Int64?
    /// Of a string.
    public var string: String?
    /// Of bytes, in hexadecimal.
    public var bytes: String?

    /// What an entry can be.
    public static let types = "bytes, string, uint8, uint16, uint32, int8, int16, int32"

    /// The entry for programs.
    init(_ tuple: AppMessageTuple) {
        key = tuple.key
        number = tuple.value.integer
        string = tuple.value.text
        switch tuple.value {
        case .bytes(let value):
            type = "bytes"
            bytes = value.hexadecimal
        case .unrecognized(_, let value):
            type = "unrecognized"
            bytes = value.hexadecimal
        case .string: type = "string"
        case .uint8: type = "uint8"
        case .uint16: type = "uint16"
        case .uint32: type = "uint32"
        case .int8: type = "int8"
        case .int16: type = "int16"
        case .int32: type = "int32"
        }
    }

    /// Reads an entry as a person writes it, `key=type:value`; nil if it is none, or its value does not fit its type.
    public init?(_ text: String) {
        let halves = text.split(separator: "=", maxSplits: 1)
        guard let keyText = halves.first, halves.count == 2, let key = UInt32(keyText) else { return nil }
        let parts = halves[1].split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard let typeText = parts.first, parts.count == 2 else { return nil }
        self.key = key
        type = String(typeText)
        let value = String(parts[1])
        switch type {
        case "bytes": bytes = value
        case "string": string = value
        default: number = Int64(value)
        }
        guard tuple != nil else { return nil }
    }

    /// The entry for the watch; nil if it is none.
    var tuple: AppMessageTuple? { value.map { AppMessageTuple(key: key, value: $0) } }

    private var value: AppMessageValue? {
        switch type {
        case "bytes": bytes.flatMap { [UInt8](hexadecimal: $0) }.map { .bytes($0) }
        case "string": string.map { .string($0) }
        case "uint8": number.flatMap(UInt8.init(exactly:)).map { .uint8($0) }
        case "uint16": number.flatMap(UInt16.init(exactly:)).map { .uint16($0) }
        case "uint32": number.flatMap(UInt32.init(exactly:)).map { .uint32($0) }
        case "int8": number.flatMap(Int8.init(exactly:)).map { .int8($0) }
        case "int16": number.flatMap(Int16.init(exactly:)).map { .int16($0) }
        case "int32": number.flatMap(Int32.init(exactly:)).map { .int32($0) }
        default: nil
        }
    }
}
