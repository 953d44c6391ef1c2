import ByteCoding
import PebbleProtocol

/// One entry of an AppMessage dictionary, as programs read and write it.
package struct ControlEntry: Codable, Sendable, Equatable {
    package let key: UInt32
    /// One of `types`; events also have `unrecognized`, with bytes.
    package let type: String
    /// Of a number.
    package var number: Int64?
    /// Of a string.
    package var string: String?
    /// Of bytes, in hexadecimal.
    package var bytes: String?

    /// What an entry can be.
    package static let types = "bytes, string, uint8, uint16, uint32, int8, int16, int32"

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
    package init?(_ text: String) {
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

extension ControlEntry {
    /// Its fields for `ControlValue`.
    fileprivate var values: [String: ControlValue] {
        var values: [String: ControlValue] = ["key": .whole(key), "type": .text(type)]
        values["number"] = number.map { .whole($0) }
        values["string"] = string.map { .text($0) }
        values["bytes"] = bytes.map { .text($0) }
        return values
    }

    /// The schema of an entry whose type has its value in one field.
    private static func schema(
        _ type: String,
        _ field: String,
        _ value: [String: SchemaValue],
        isRequest: Bool
    ) -> SchemaValue {
        let key: SchemaValue = .object(["type": "integer", "minimum": .whole(0), "maximum": .whole(UInt32.max)])
        var keywords: [String: SchemaValue] = [
            "type": "object",
            "properties": .object(["key": key, "type": .object(["const": .text(type)]), field: .object(value)]),
            "required": .list(["key", "type", .text(field)]),
        ]
        if !isRequest { keywords["additionalProperties"] = .flag(false) }
        return .object(keywords)
    }

    private static func range<Number: FixedWidthInteger>(_ type: Number.Type) -> [String: SchemaValue] {
        ["type": "integer", "minimum": .whole(Number.min), "maximum": .whole(Number.max)]
    }

    /// The schema: which field has the value, and its range, depends on the type.
    fileprivate static func schema(isRequest: Bool) -> [String: SchemaValue] {
        let bytes: [String: SchemaValue] = ["type": "string", "pattern": .text(ControlPattern.bytes)]
        let numbers = [
            ("uint8", range(UInt8.self)), ("uint16", range(UInt16.self)), ("uint32", range(UInt32.self)),
            ("int8", range(Int8.self)), ("int16", range(Int16.self)), ("int32", range(Int32.self)),
        ]
        var kinds = [
            schema("bytes", "bytes", bytes, isRequest: isRequest),
            schema("string", "string", ["type": "string"], isRequest: isRequest),
        ]
        kinds += numbers.map { schema($0.0, "number", $0.1, isRequest: isRequest) }
        guard isRequest else {
            return ["oneOf": .list(kinds + [schema("unrecognized", "bytes", bytes, isRequest: false)])]
        }
        // A field that the entry's type does not use is read all the same.
        return [
            "type": "object",
            "properties": .object([
                "number": .object(["type": .list(["integer", "null"])]),
                "string": .object(["type": .list(["string", "null"])]),
                "bytes": .object(["type": .list(["string", "null"])]),
            ]), "oneOf": .list(kinds),
        ]
    }
}

extension ControlFormat where Value == ControlEntry, Wire == ControlEntry {
    /// An entry as a request has it.
    static var entryOfRequest: Self {
        Self(
            ControlSchema(ControlEntry.schema(isRequest: true)),
            read: { entry, _ in entry },
            write: { .object($0.values) }
        )
    }

    /// An entry as an event has it.
    static var entry: Self {
        Self(
            ControlSchema(ControlEntry.schema(isRequest: false)),
            read: { entry, _ in entry },
            write: { .object($0.values) }
        )
    }
}
