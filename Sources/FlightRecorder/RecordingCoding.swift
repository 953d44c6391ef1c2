import ByteCoding

// How values stand in a recording. Integers have their type's own width, least significant byte first. A count has seven bits a
// byte, least significant first, and the highest bit of all bytes but the last is set.

/// A value that a recording has: its bytes, and back.
protocol RecordedValue {
    /// Appends the value.
    func encode(into bytes: inout [UInt8])
    /// Reads what `encode(into:)` appended.
    init(recorded reader: inout ByteReader) throws(ByteDecodingError)
}

extension [UInt8] {
    /// Appends a count.
    mutating func appendCount(_ count: UInt64) {
        var rest = count
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(truncatingIfNeeded: rest))
    }

    /// Appends a count that is not negative.
    mutating func appendCount(_ count: Int) { appendCount(UInt64(clamping: count)) }

    /// Appends bytes behind their count.
    mutating func appendCounted(_ bytes: some Collection<UInt8>) {
        appendCount(bytes.count)
        append(contentsOf: bytes)
    }

    /// Appends a text as UTF-8 behind the count of its bytes.
    mutating func appendText(_ text: String) { appendCounted(text.utf8) }

    /// Appends a yes or a no.
    mutating func appendFlag(_ flag: Bool) { append(flag ? 1 : 0) }

    /// Appends a span of time: the nanoseconds, zigzag and doubled, or 1 and the two parts of one that is no whole number of
    /// them.
    mutating func appendSpan(_ span: Duration) {
        let nanoseconds = span.attoseconds / 1_000_000_000
        // Two bits are for the sign and the form.
        if nanoseconds * 1_000_000_000 == span.attoseconds, nanoseconds.magnitude < 1 << 60 {
            let total = Int64(truncatingIfNeeded: nanoseconds)
            appendCount(UInt64(bitPattern: total << 1 ^ total >> 63) << 1)
        } else {
            let (seconds, attoseconds) = span.components
            appendCount(UInt64(1))
            appendLittleEndian(seconds)
            appendLittleEndian(attoseconds)
        }
    }

    /// Appends a value, or that there is none.
    mutating func appendOptional<Value>(_ value: Value?, _ write: (Value, inout [UInt8]) -> Void) {
        appendFlag(value != nil)
        if let value { write(value, &self) }
    }

    /// Appends values behind their count.
    mutating func appendList<Value>(_ values: some Collection<Value>, _ write: (Value, inout [UInt8]) -> Void) {
        appendCount(values.count)
        for value in values { write(value, &self) }
    }
}

extension ByteReader {
    /// Takes a count.
    mutating func readCount(_ field: String) throws(ByteDecodingError) -> UInt64 {
        var count: UInt64 = 0
        var shift: UInt64 = 0
        while true {
            let byte = try readUInt8(field)
            guard shift < 63 || byte <= 1 else { throw ByteDecodingError(field, .invalidValue(UInt64(byte))) }
            count |= UInt64(byte & 0x7F) << shift
            if byte & 0x80 == 0 { return count }
            shift += 7
            guard shift <= 63 else { throw ByteDecodingError(field, .invalidValue(UInt64(byte))) }
        }
    }

    /// Takes a number that must fit into `Int`.
    mutating func readInt(_ field: String) throws(ByteDecodingError) -> Int {
        let count = try readCount(field)
        guard let number = Int(exactly: count) else { throw ByteDecodingError(field, .invalidValue(count)) }
        return number
    }

    /// Takes bytes behind their count.
    mutating func readCounted(_ field: String) throws(ByteDecodingError) -> ArraySlice<UInt8> {
        try readBytes(try readInt(field), field)
    }

    /// Takes a text.
    mutating func readText(_ field: String) throws(ByteDecodingError) -> String {
        String(decoding: try readCounted(field), as: UTF8.self)
    }

    /// Takes a yes or a no.
    mutating func readFlag(_ field: String) throws(ByteDecodingError) -> Bool {
        let byte = try readUInt8(field)
        guard byte <= 1 else { throw ByteDecodingError(field, .invalidValue(UInt64(byte))) }
        return byte == 1
    }

    /// Takes a span of time.
    mutating func readSpan(_ field: String) throws(ByteDecodingError) -> Duration {
        let count = try readCount(field)
        guard count & 1 == 0 else {
            guard count == 1 else { throw ByteDecodingError(field, .invalidValue(count)) }
            let seconds: Int64 = try readLittleEndian(field)
            let attoseconds: Int64 = try readLittleEndian(field)
            // 1 << 40 seconds are 34,000 years: no sum of them overflows.
            guard seconds.magnitude < 1 << 40, attoseconds.magnitude < 1_000_000_000_000_000_000 else {
                throw ByteDecodingError(field, .invalidValue(UInt64(bitPattern: seconds)))
            }
            return Duration(secondsComponent: seconds, attosecondsComponent: attoseconds)
        }
        let folded = count >> 1
        return .nanoseconds(Int64(bitPattern: folded >> 1) ^ -Int64(bitPattern: folded & 1))
    }

    /// Takes a value, or nil.
    mutating func readOptional<Value>(
        _ field: String,
        _ read: (inout ByteReader) throws(ByteDecodingError) -> Value
    ) throws(ByteDecodingError) -> Value? {
        guard try readFlag(field) else { return nil }
        return try read(&self)
    }

    /// Takes values behind their count. Each takes at least one byte, so that a forged count reserves nothing.
    mutating func readList<Value>(
        _ field: String,
        _ read: (inout ByteReader) throws(ByteDecodingError) -> Value
    ) throws(ByteDecodingError) -> [Value] {
        let count = try readInt(field)
        guard count <= self.count else {
            throw ByteDecodingError(field, .truncated(needed: count, available: self.count))
        }
        var values: [Value] = []
        for _ in 0..<count { values.append(try read(&self)) }
        return values
    }

    /// Takes a case of an enumeration by the byte that is its raw value.
    mutating func readRaw<Value: RawRepresentable<UInt8>>(
        _ field: String,
        as type: Value.Type = Value.self
    ) throws(ByteDecodingError) -> Value {
        let byte = try readUInt8(field)
        guard let value = Value(rawValue: byte) else { throw ByteDecodingError(field, .invalidValue(UInt64(byte))) }
        return value
    }

    /// Takes a case of an enumeration by its name.
    mutating func readName<Value: RawRepresentable<String>>(
        _ field: String,
        as type: Value.Type = Value.self
    ) throws(ByteDecodingError) -> Value {
        let name = try readText(field)
        guard let value = Value(rawValue: name) else { throw ByteDecodingError(field, .invalidLength(name.utf8.count)) }
        return value
    }
}

/// CRC-32 as in IEEE 802.3 and zlib: reflected, polynomial 0xEDB88320.
struct CRC32 {
    private static let table: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { value, _ in value & 1 == 0 ? value >> 1 : value >> 1 ^ 0xEDB8_8320 }
    }

    private let table = CRC32.table
    private var rest: UInt32 = ~0

    init() {}

    /// The checksum of what was added.
    var checksum: UInt32 { ~rest }

    mutating func add(_ bytes: some Sequence<UInt8>) {
        var rest = rest
        table.withUnsafeBufferPointer { table in
            for byte in bytes { rest = table[Int(UInt8(truncatingIfNeeded: rest) ^ byte)] ^ rest >> 8 }
        }
        self.rest = rest
    }

    /// Adds a number, least significant byte first.
    mutating func add(_ number: UInt32) {
        for shift in stride(from: 0, to: 32, by: 8) {
            rest = table[Int(UInt8(truncatingIfNeeded: rest ^ number >> UInt32(shift)))] ^ rest >> 8
        }
    }

    /// The checksum of some bytes.
    static func checksum(of bytes: some Sequence<UInt8>) -> UInt32 {
        var sum = CRC32()
        sum.add(bytes)
        return sum.checksum
    }
}
