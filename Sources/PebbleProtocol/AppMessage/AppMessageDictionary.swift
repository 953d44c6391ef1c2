import ByteCoding

/// An AppMessage dictionary in its encoded form: count (UInt8), then tuples.
///
/// It is kept encoded because that is what limits count, what an echo returns, and what costs nothing to pass on.
/// Iterating reads it as the watch does: tuples until the *bytes* end, whatever the count says; a final tuple that
/// does not fit ends the walk; equal keys are kept. ``checkedTuples()`` reads it as phones do.
public struct AppMessageDictionary: Hashable, Sendable {
    /// The bytes, at least the count.
    public let encoded: ArraySlice<UInt8>

    /// The count of tuples that precedes them.
    package static let headerLength = 1
    /// The most that the count can say.
    package static let maximumTupleCount = Int(UInt8.max)
    /// The largest dictionary that still fits into one message.
    public static let maximumEncodedLength = PebbleMessage.maximumPayloadLength - AppMessageLimits.pushHeaderLength

    /// No tuples.
    public static let empty = AppMessageDictionary(encoded: [0])

    /// Bytes as they were received; nothing is checked before they are read.
    public init(encoded: ArraySlice<UInt8>) { self.encoded = encoded }

    /// Writes tuples in the order given.
    public init(
        _ tuples: some Sequence<AppMessageTuple>,
        limit: Int = maximumEncodedLength
    ) throws(AppMessageDictionaryError) {
        var writer = AppMessageDictionaryWriter(limit: limit)
        for tuple in tuples { try writer.append(tuple) }
        self = writer.dictionary
    }

    /// The size of a dictionary whose values have these lengths: what `dict_calc_buffer_size` returns.
    package static func encodedLength(valueLengths: some Sequence<Int>) -> Int {
        valueLengths.reduce(headerLength) { $0 + AppMessageTuple.headerLength + $1 }
    }

    /// The count that the first byte declares, which need not be true.
    package var declaredCount: Int { encoded.first.map(Int.init) ?? 0 }

    /// The first value under a key (`dict_find`).
    public func first(forKey key: UInt32) -> AppMessageValue? {
        first { $0.key == key }?.value
    }

    /// Reads the dictionary as phones do: exactly as many tuples as the count says, each of a type and width that
    /// exist, and nothing after them.
    public func checkedTuples() throws(ByteDecodingError) -> [AppMessageTuple] {
        var reader = ByteReader(encoded)
        let count = Int(try reader.readUInt8("dictionary.count"))
        var tuples: [AppMessageTuple] = []
        tuples.reserveCapacity(Swift.min(count, reader.count / AppMessageTuple.headerLength))
        for _ in 0..<count {
            let tuple = try AppMessageTuple(reading: &reader)
            switch tuple.value {
            case .unrecognized(let type, let bytes):
                guard type == AppMessageValue.TypeCode.unsigned || type == AppMessageValue.TypeCode.signed else {
                    throw ByteDecodingError("tuple.type", .invalidValue(UInt64(type)))
                }
                throw ByteDecodingError("tuple.length", .invalidLength(bytes.count))
            case .string(let string) where string.terminatedBytes.isEmpty:
                throw ByteDecodingError("tuple.length", .invalidLength(0))
            case .bytes, .string, .uint8, .uint16, .uint32, .int8, .int16, .int32:
                tuples.append(tuple)
            }
        }
        try reader.expectEnd("dictionary")
        return tuples
    }
}

extension AppMessageDictionary: Sequence {
    /// Reads tuples until the bytes end or the next one does not fit.
    public struct Iterator: IteratorProtocol {
        private var reader: ByteReader

        init(_ tuples: ArraySlice<UInt8>) { reader = ByteReader(tuples) }

        public mutating func next() -> AppMessageTuple? {
            guard let tuple = try? AppMessageTuple(reading: &reader) else {
                // What is left of a tuple that did not fit is not the start of another.
                reader = ByteReader([])
                return nil
            }
            return tuple
        }
    }

    public func makeIterator() -> Iterator { Iterator(encoded.dropFirst(Self.headerLength)) }
}

extension AppMessageDictionary: CustomStringConvertible {
    /// For transcripts and logs: `{1: uint8 7, 2: "hi", 3: <8192 bytes>}`.
    public var description: String {
        "{" + map { "\($0.key): \($0.value)" }.joined(separator: ", ") + "}"
    }
}

extension AppMessageValue: CustomStringConvertible {
    /// For transcripts and logs: type and value; bytes in hexadecimal if they are few.
    public var description: String {
        switch self {
        case .bytes(let bytes): Self.describe(bytes)
        case .string(let string): "\"\(string.text)\""
        case .uint8(let value): "uint8 \(value)"
        case .uint16(let value): "uint16 \(value)"
        case .uint32(let value): "uint32 \(value)"
        case .int8(let value): "int8 \(value)"
        case .int16(let value): "int16 \(value)"
        case .int32(let value): "int32 \(value)"
        case .unrecognized(let type, let bytes): "type \(type) \(Self.describe(bytes))"
        }
    }

    private static func describe(_ bytes: ArraySlice<UInt8>) -> String {
        let printedByteCount = 16
        return bytes.count <= printedByteCount ? "<\(bytes.hexadecimal)>" : "<\(bytes.count) bytes>"
    }
}
