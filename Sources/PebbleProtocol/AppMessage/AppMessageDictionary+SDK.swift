// The SDK's own names for reading and writing dictionaries, in Swift's spelling: `dict_write_uint8` is `writeUInt8`, and
// so on.

/// How a dictionary call of the SDK went, with the SDK's numbers.
package enum DictionaryResult: Int, Sendable, Equatable, Error {
    /// `DICT_OK`: the call succeeded.
    case ok = 0
    /// `DICT_NOT_ENOUGH_STORAGE`: the tuple needs more bytes than the dictionary has left.
    case notEnoughStorage = 2
    /// `DICT_INVALID_ARGS`: an argument cannot be used, such as a value whose length does not fit into two bytes.
    case invalidArguments = 4
    /// `DICT_INTERNAL_INCONSISTENCY`: the count and the lengths in a dictionary do not fit its tuples. No call here results in
    /// it.
    case internalInconsistency = 8
    /// `DICT_MALLOC_FAILED`: there was no memory for the call. No call here results in it.
    case mallocFailed = 16
}

extension AppMessageDictionaryError {
    /// What the SDK calls it.
    package var result: DictionaryResult {
        switch self {
        case .notEnoughStorage: .notEnoughStorage
        case .tooManyTuples, .valueTooLong: .invalidArguments
        }
    }
}

extension AppMessageDictionaryWriter {
    /// `dict_write_data`.
    package mutating func writeData(_ bytes: [UInt8], forKey key: UInt32) throws(AppMessageDictionaryError) {
        try append(.bytes(bytes), forKey: key)
    }

    /// `dict_write_cstring`; a missing text is written without its NUL, as the SDK does.
    package mutating func writeCString(_ text: String?, forKey key: UInt32) throws(AppMessageDictionaryError) {
        let string = text.map { AppMessageString($0) } ?? AppMessageString(terminatedBytes: [])
        try append(.string(string), forKey: key)
    }

    /// `dict_write_uint8`.
    package mutating func writeUInt8(_ value: UInt8, forKey key: UInt32) throws(AppMessageDictionaryError) {
        try append(.uint8(value), forKey: key)
    }

    /// `dict_write_uint16`.
    package mutating func writeUInt16(_ value: UInt16, forKey key: UInt32) throws(AppMessageDictionaryError) {
        try append(.uint16(value), forKey: key)
    }

    /// `dict_write_uint32`.
    package mutating func writeUInt32(_ value: UInt32, forKey key: UInt32) throws(AppMessageDictionaryError) {
        try append(.uint32(value), forKey: key)
    }

    /// `dict_write_int8`.
    package mutating func writeInt8(_ value: Int8, forKey key: UInt32) throws(AppMessageDictionaryError) {
        try append(.int8(value), forKey: key)
    }

    /// `dict_write_int16`.
    package mutating func writeInt16(_ value: Int16, forKey key: UInt32) throws(AppMessageDictionaryError) {
        try append(.int16(value), forKey: key)
    }

    /// `dict_write_int32`.
    package mutating func writeInt32(_ value: Int32, forKey key: UInt32) throws(AppMessageDictionaryError) {
        try append(.int32(value), forKey: key)
    }

    /// `dict_write_tuplet`.
    package mutating func writeTuplet(_ tuple: AppMessageTuple) throws(AppMessageDictionaryError) { try append(tuple) }
}

extension AppMessageDictionary {
    /// `dict_find`: the first tuple with this key.
    package func find(_ key: UInt32) -> AppMessageTuple? { first { $0.key == key } }

    /// `dict_merge`: every tuple of this dictionary, with the other's value where it has the key too, then, if new keys may be
    /// added, those that this one lacks.
    package func merged(
        with other: AppMessageDictionary,
        updatingKeysOnly: Bool,
        limit: Int = maximumEncodedLength
    ) throws(AppMessageDictionaryError) -> AppMessageDictionary {
        var writer = AppMessageDictionaryWriter(limit: limit)
        for tuple in self { try writer.append(other.find(tuple.key) ?? tuple) }
        guard !updatingKeysOnly else { return writer.dictionary }
        for tuple in other where find(tuple.key) == nil { try writer.append(tuple) }
        return writer.dictionary
    }
}
