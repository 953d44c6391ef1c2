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
        var text: [UInt8] = []
        appendText(to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the description as UTF-8, for those who have a buffer for it.
    package func appendText(to text: inout [UInt8]) {
        text.append(UInt8(ascii: "{"))
        var isFirst = true
        for tuple in self {
            if !isFirst { text.append(text: ", ") }
            isFirst = false
            text.append(decimal: UInt64(tuple.key))
            text.append(text: ": ")
            tuple.value.appendText(to: &text)
        }
        text.append(UInt8(ascii: "}"))
    }
}

extension AppMessageValue: CustomStringConvertible {
    /// For transcripts and logs: type and value; bytes in hexadecimal if they are few.
    public var description: String {
        var text: [UInt8] = []
        appendText(to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the description as UTF-8.
    fileprivate func appendText(to text: inout [UInt8]) {
        switch self {
        case .bytes(let bytes): Self.append(bytes, to: &text)
        case .string(let string):
            text.append(UInt8(ascii: "\""))
            text.append(text: string.text)
            text.append(UInt8(ascii: "\""))
        case .uint8(let value): Self.append("uint8 ", Int(value), to: &text)
        case .uint16(let value): Self.append("uint16 ", Int(value), to: &text)
        case .uint32(let value): Self.append("uint32 ", Int(value), to: &text)
        case .int8(let value): Self.append("int8 ", Int(value), to: &text)
        case .int16(let value): Self.append("int16 ", Int(value), to: &text)
        case .int32(let value): Self.append("int32 ", Int(value), to: &text)
        case .unrecognized(let type, let bytes):
            Self.append("type ", Int(type), to: &text)
            text.append(UInt8(ascii: " "))
            Self.append(bytes, to: &text)
        }
    }

    private static func append(_ name: String, _ value: Int, to text: inout [UInt8]) {
        text.append(text: name)
        text.append(decimal: value)
    }

    private static func append(_ bytes: ArraySlice<UInt8>, to text: inout [UInt8]) {
        let printedByteCount = 16
        text.append(UInt8(ascii: "<"))
        if bytes.count <= printedByteCount {
            for byte in bytes { text.appendHexadecimal(byte) }
        } else {
            text.append(decimal: bytes.count)
            text.append(text: " bytes")
        }
        text.append(UInt8(ascii: ">"))
    }
}
