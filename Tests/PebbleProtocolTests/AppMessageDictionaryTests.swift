import ByteCoding
import PebbleProtocol
import SeededRandomness
import Testing

@Suite("AppMessage dictionaries")
struct AppMessageDictionaryTests {
    @Test("Up to sixteen bytes are printed, more are counted")
    func printedBytes() {
        #expect(
            AppMessageValue.bytes([UInt8](repeating: 0xAB, count: 16)[...]).description
                == "<\(String(repeating: "ab", count: 16))>"
        )
        #expect(AppMessageValue.bytes([UInt8](repeating: 0xAB, count: 17)[...]).description == "<17 bytes>")
    }

    @Test("A merge takes values from the other; keys that only it has are added unless only updates are wanted")
    func merges() throws {
        let old = AppMessageDictionary(encoded: hex("02 01000000020100 07 02000000020100 08")[...])
        let new = AppMessageDictionary(encoded: hex("02 02000000020100 09 03000000020100 0a")[...])
        #expect(try old.merged(with: new, updatingKeysOnly: true).map(\.value) == [.uint8(7), .uint8(9)])
        let merged = try old.merged(with: new, updatingKeysOnly: false)
        #expect(merged.map(\.key) == [1, 2, 3])
        #expect(merged.map(\.value) == [.uint8(7), .uint8(9), .uint8(10)])
    }

    @Test("Every dictionary vector decodes and encodes")
    func vectors() throws {
        let expected: [String: AppMessageDictionary] = [
            "dict-empty": .empty,
            "dict-single-byte": ExpectedAppMessages.dictionary([(0, .uint8(7))]),
            "dict-mixed": ExpectedAppMessages.dictionary([(1, .int16(-2)), (65536, .string("z")), (2, .bytes([]))]),
        ]
        let vectors = GoldenVector.pebbleProtocol.filter { $0.kind == "dictionary" }
        #expect(Set(vectors.map(\.name)) == Set(expected.keys))
        for vector in vectors {
            let dictionary = try #require(expected[vector.name])
            #expect(Array(dictionary.encoded) == vector.bytes, "\(vector.name)")
            let read = AppMessageDictionary(encoded: vector.bytes[...])
            #expect(try read.checkedTuples() == Array(read), "\(vector.name)")
            #expect(read.declaredCount == Array(read).count, "\(vector.name)")
        }
    }

    @Test("Every AppMessage vector reads the same way to a watch and to a phone")
    func bothReaders() throws {
        var pushes = 0
        for vector in EndpointVectorTests.packets where vector.endpoint == Endpoint.appMessage.rawValue {
            guard case .push(let push) = try AppMessage(payload: vector.bytes.dropFirst(4)) else { continue }
            let isReadTheSame = try push.dictionary.checkedTuples() == Array(push.dictionary)
            #expect(isReadTheSame, "\(vector.name)")
            pushes += 1
        }
        #expect(pushes == 26)
    }

    @Test(
        "The watch reads tuples until the bytes end, whatever the count says",
        arguments: [0, 1, 2, 3, 255] as [UInt8]
    )
    func watchIgnoresCount(count: UInt8) {
        let dictionary = AppMessageDictionary(encoded: ([count] + hex("0100000002010007 0200000002010008"))[...])
        #expect(dictionary.map(\.key) == [1, 2])
        #expect(dictionary.declaredCount == Int(count))
    }

    @Test("A phone reads exactly as many tuples as the count says")
    func phoneFollowsCount() throws {
        let tuples = hex("0100000002010007 0200000002010008")
        func checked(_ count: UInt8) throws -> [AppMessageTuple] {
            try AppMessageDictionary(encoded: ([count] + tuples)[...]).checkedTuples()
        }
        #expect(try checked(2).map(\.key) == [1, 2])
        #expect(throws: ByteDecodingError("dictionary", .trailingBytes(8))) { try checked(1) }
        #expect(throws: ByteDecodingError("tuple.key", .truncated(needed: 4, available: 0))) { try checked(3) }
    }

    @Test("A final tuple that does not fit ends the watch's reading, and its rest is never read as a tuple")
    func unfinishedTuple() throws {
        let bytes = hex("02 01000000 02 0100 07 02000000 00 1400 010000000201000701000000020100")
        let dictionary = AppMessageDictionary(encoded: bytes[...])
        var iterator = dictionary.makeIterator()
        #expect(iterator.next() == AppMessageTuple(key: 1, value: .uint8(7)))
        #expect(iterator.next() == nil)
        #expect(iterator.next() == nil)
        #expect(throws: ByteDecodingError("tuple.value", .truncated(needed: 20, available: 15))) {
            try dictionary.checkedTuples()
        }
    }

    @Test("Equal keys are kept, and the first is found")
    func duplicateKeys() {
        let dictionary = ExpectedAppMessages.dictionary([(5, .uint8(1)), (5, .uint8(2)), (6, .int32(-9))])
        #expect(dictionary.map(\.value) == [.uint8(1), .uint8(2), .int32(-9)])
        #expect(dictionary.first(forKey: 5) == .uint8(1))
        #expect(dictionary.first(forKey: 6)?.integer == -9)
        #expect(dictionary.first(forKey: 7) == nil)
    }

    @Test("An integer is read in any width and with either sign")
    func anyWidth() {
        let same: [AppMessageValue] = [.uint8(5), .uint16(5), .uint32(5), .int8(5), .int16(5), .int32(5)]
        #expect(same.allSatisfy { $0.integer == 5 })
        #expect(AppMessageValue.int8(-1).integer == -1)
        #expect(AppMessageValue.uint32(.max).integer == 4_294_967_295)
        #expect(AppMessageValue.string("5").integer == nil)
        #expect(AppMessageValue.bytes([5]).integer == nil)
    }

    @Test("Types and widths that do not exist are kept by the watch, refused by a phone, and written back unchanged")
    func unrecognized() throws {
        let threeByteInteger = hex("01 09000000 02 0300 010203")
        let typeNine = hex("01 09000000 09 0100 2a")
        let emptyString = hex("01 09000000 01 0000")
        #expect(
            Array(AppMessageDictionary(encoded: threeByteInteger[...])).map(\.value)
                == [.unrecognized(type: 2, [1, 2, 3])]
        )
        #expect(throws: ByteDecodingError("tuple.length", .invalidLength(3))) {
            try AppMessageDictionary(encoded: threeByteInteger[...]).checkedTuples()
        }
        #expect(throws: ByteDecodingError("tuple.type", .invalidValue(9))) {
            try AppMessageDictionary(encoded: typeNine[...]).checkedTuples()
        }
        #expect(throws: ByteDecodingError("tuple.length", .invalidLength(0))) {
            try AppMessageDictionary(encoded: emptyString[...]).checkedTuples()
        }
        for bytes in [threeByteInteger, typeNine, emptyString] {
            let rewritten = try AppMessageDictionary(AppMessageDictionary(encoded: bytes[...]))
            #expect(Array(rewritten.encoded) == bytes)
        }
    }

    @Test("Text ends at its first NUL, and need be neither terminated nor UTF-8")
    func text() {
        #expect(AppMessageString(terminatedBytes: hex("6869")[...]).text == "hi")
        #expect(AppMessageString(terminatedBytes: hex("6800690000")[...]).text == "h")
        #expect(AppMessageString(terminatedBytes: hex("68ff00")[...]).text == "h\u{FFFD}")
        #expect(AppMessageString(terminatedBytes: []).text == "")
        #expect(Array(AppMessageString("é").terminatedBytes) == hex("c3a900"))
    }

    @Test("Sizes are those of dict_calc_buffer_size")
    func sizes() throws {
        #expect(AppMessageDictionary.encodedLength(valueLengths: []) == 1)
        #expect(AppMessageDictionary.encodedLength(valueLengths: [1]) == 9)
        #expect(AppMessageDictionary.encodedLength(valueLengths: [4096, 4089]) == 8200)
    }

    @Test("A writer stops exactly at its limit and leaves what it has untouched")
    func writerLimit() throws {
        var writer = AppMessageDictionaryWriter(limit: 20)
        try writer.append(.uint32(1), forKey: 1)
        #expect(writer.encodedLength == 12)
        #expect(throws: AppMessageDictionaryError.notEnoughStorage(needed: 9, available: 8)) {
            try writer.append(.uint16(2), forKey: 2)
        }
        try writer.append(.uint8(2), forKey: 2)
        #expect(writer.encodedLength == 20)
        #expect(Array(writer.dictionary.encoded) == hex("02 01000000 02 0400 01000000 02000000 02 0100 02"))
        #expect(throws: AppMessageDictionaryError.notEnoughStorage(needed: 7, available: 0)) {
            try writer.append(.bytes([]), forKey: 3)
        }
    }

    @Test("The count's byte and the length's two bytes are limits too")
    func formatLimits() throws {
        var writer = AppMessageDictionaryWriter()
        for key in 0..<255 as Range<UInt32> { try writer.append(.bytes([]), forKey: key) }
        #expect(throws: AppMessageDictionaryError.tooManyTuples) { try writer.append(.bytes([]), forKey: 255) }
        #expect(writer.dictionary.declaredCount == 255)
        #expect(try writer.dictionary.checkedTuples().count == 255)
        #expect(throws: AppMessageDictionaryError.valueTooLong(65536)) {
            try AppMessageDictionaryWriter.single(.bytes([UInt8](repeating: 0, count: 65536)))
        }
        // What a dictionary can hold always fits into a message.
        let largest = AppMessageDictionary.maximumEncodedLength - 8
        let whole = try AppMessageDictionaryWriter.single(.bytes([UInt8](repeating: 0, count: largest)))
        var stream: [UInt8] = []
        try MessageFramer.append(
            AppMessage.push(AppMessagePush(transaction: 0, application: .system, dictionary: whole)),
            to: &stream
        )
        #expect(stream.count == 4 + 65535)
    }

    @Test("The limits of the documentation")
    func limits() {
        #expect(AppMessageLimits.pushHeaderLength == 18)
        #expect(AppMessageLimits.minimumPushLength == 19)
        #expect(AppMessageLimits.legacyInboxSize == 126)
        #expect(AppMessageLimits.legacyJavaScriptInboxSize == 2026)
        #expect(AppMessageLimits.legacyOutboxSize == 654)
        #expect(AppMessageLimits.extendedSize == 8200)
        let newSDK = SDKVersion(major: 5, minor: 0x3F)
        let oldSDK = SDKVersion(major: 5, minor: 0x3E)
        #expect(
            AppMessageLimits.maximumInboxSize(phone: .appMessage8K, sdk: newSDK, allowsJavaScript: false) == 8200
        )
        #expect(
            AppMessageLimits.maximumInboxSize(phone: .appMessage8K, sdk: oldSDK, allowsJavaScript: false) == 126
        )
        #expect(AppMessageLimits.maximumInboxSize(phone: [], sdk: newSDK, allowsJavaScript: true) == 2026)
        #expect(AppMessageLimits.maximumOutboxSize(phone: .appMessage8K, sdk: newSDK) == 8200)
        #expect(AppMessageLimits.maximumOutboxSize(phone: [], sdk: newSDK) == 654)
    }

    @Test("The largest legal vectors fit the 8K limit, the vector that must be refused does not")
    func largeVectors() throws {
        func size(_ name: String) throws -> Int {
            let vector = try #require(EndpointVectorTests.packets.first { $0.name == name })
            guard case .push(let push) = try AppMessage(payload: vector.bytes.dropFirst(4)) else { return 0 }
            return push.dictionary.encoded.count
        }
        #expect(try size("appmessage-push-8192-bytearray") == AppMessageLimits.extendedSize)
        #expect(try size("appmessage-push-8200-dict-two-arrays") == AppMessageLimits.extendedSize)
        #expect(try size("appmessage-push-8193-too-big") == AppMessageLimits.extendedSize + 1)
    }

    @Test("Random dictionaries survive writing and both readers")
    func randomRoundTrips() throws {
        for seed in 0..<500 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            let tuples = (0..<Int.random(in: 0...20, using: &random)).map { _ in
                AppMessageTuple(key: random.next32(), value: .random(using: &random))
            }
            let dictionary = try AppMessageDictionary(tuples)
            #expect(
                dictionary.encoded.count
                    == AppMessageDictionary.encodedLength(valueLengths: tuples.map(\.value.encodedLength))
            )
            #expect(Array(dictionary) == tuples, "seed \(seed)")
            #expect(try dictionary.checkedTuples() == tuples, "seed \(seed)")
        }
    }

    @Test("A transcript can print a dictionary")
    func description() {
        let dictionary = ExpectedAppMessages.dictionary([
            (1, .uint8(7)), (2, .string("hi")), (3, .bytes([0xAB])), (4, .bytes([UInt8](repeating: 0, count: 17))),
        ])
        #expect(dictionary.description == #"{1: uint8 7, 2: "hi", 3: <ab>, 4: <17 bytes>}"#)
        let numbers = ExpectedAppMessages.dictionary([
            (0, .uint16(.max)), (.max, .uint32(.max)), (5, .int8(-7)), (6, .int16(.min)), (7, .int32(.min)),
            (8, .unrecognized(type: 9, [1, 2])), (9, .string("")),
        ])
        #expect(
            numbers.description == "{0: uint16 65535, 4294967295: uint32 4294967295, 5: int8 -7, 6: int16 -32768, "
                + #"7: int32 -2147483648, 8: type 9 <0102>, 9: ""}"#
        )
        #expect(AppMessageDictionary.empty.description == "{}")
    }
}

extension AppMessageDictionaryWriter {
    fileprivate static func single(_ value: AppMessageValue) throws -> AppMessageDictionary {
        var writer = AppMessageDictionaryWriter()
        try writer.append(value, forKey: 1)
        return writer.dictionary
    }
}

extension AppMessageValue {
    static func random(using random: inout SplitMix64) -> AppMessageValue {
        let bits = random.next32()
        switch Int.random(in: 0..<8, using: &random) {
        case 0: return .bytes((0..<Int.random(in: 0...40, using: &random)).map { _ in UInt8(random.next32() & 0xFF) })
        case 1: return .string(String(bits, radix: 36))
        case 2: return .uint8(UInt8(truncatingIfNeeded: bits))
        case 3: return .uint16(UInt16(truncatingIfNeeded: bits))
        case 4: return .uint32(bits)
        case 5: return .int8(Int8(truncatingIfNeeded: bits))
        case 6: return .int16(Int16(truncatingIfNeeded: bits))
        default: return .int32(Int32(truncatingIfNeeded: bits))
        }
    }
}

extension SplitMix64 {
    mutating func next32() -> UInt32 { UInt32(truncatingIfNeeded: next()) }
}
