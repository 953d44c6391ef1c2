import ByteCoding

/// Why a tuple was not added to a dictionary.
public enum AppMessageDictionaryError: Error, Equatable, Sendable, CustomStringConvertible {
    /// It needs more bytes than the dictionary's limit leaves (`DICT_NOT_ENOUGH_STORAGE`).
    case notEnoughStorage(needed: Int, available: Int)
    /// The count has one byte: 255 tuples are all there can be.
    case tooManyTuples
    /// A value's length has two bytes.
    case valueTooLong(Int)

    public var description: String {
        switch self {
        case .notEnoughStorage(let needed, let available):
            "dictionary: the tuple needs \(needed) bytes, \(available) are left"
        case .tooManyTuples:
            "dictionary: \(AppMessageDictionary.maximumTupleCount) tuples are all it can hold"
        case .valueTooLong(let length):
            "dictionary: a value of \(length) bytes, at most \(UInt16.max) can be written"
        }
    }
}

/// Builds a dictionary tuple by tuple, within a size that is fixed beforehand, as the C API does.
public struct AppMessageDictionaryWriter: Sendable {
    /// The size that the dictionary will not exceed.
    public let limit: Int
    private var encoded: [UInt8] = [0]

    /// An empty dictionary that will not grow beyond `limit` bytes (one byte is taken at once, by the count).
    public init(limit: Int = AppMessageDictionary.maximumEncodedLength) {
        self.limit = Swift.min(limit, AppMessageDictionary.maximumEncodedLength)
    }

    /// The dictionary's size so far.
    public var encodedLength: Int { encoded.count }

    /// What has been written so far.
    public var dictionary: AppMessageDictionary { AppMessageDictionary(encoded: encoded[...]) }

    /// Adds a tuple; if it does not fit, nothing changes.
    public mutating func append(_ tuple: AppMessageTuple) throws(AppMessageDictionaryError) {
        guard let length = UInt16(exactly: tuple.value.encodedLength) else {
            throw .valueTooLong(tuple.value.encodedLength)
        }
        let needed = AppMessageTuple.headerLength + Int(length)
        let available = Swift.max(0, limit - encoded.count)
        guard needed <= available else { throw .notEnoughStorage(needed: needed, available: available) }
        guard encoded[0] < AppMessageDictionary.maximumTupleCount else { throw .tooManyTuples }
        encoded[0] += 1
        encoded.appendLittleEndian(tuple.key)
        encoded.append(tuple.value.type)
        encoded.appendLittleEndian(length)
        tuple.value.encode(to: &encoded)
    }

    /// Adds a tuple; if it does not fit, nothing changes.
    public mutating func append(_ value: AppMessageValue, forKey key: UInt32) throws(AppMessageDictionaryError) {
        try append(AppMessageTuple(key: key, value: value))
    }
}
