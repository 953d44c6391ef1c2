import PebbleProtocol
import Testing

/// The calls by which an app of the SDK writes dictionaries, and what they come to.
@Suite("The SDK's dictionary calls")
struct AppMessageSDKTests {
    @Test("Each call writes key, type, length and value, least significant byte first")
    func writes() throws {
        var writer = AppMessageDictionaryWriter()
        try writer.writeUInt8(0xF0, forKey: 1)
        try writer.writeUInt16(0xF102, forKey: 2)
        try writer.writeUInt32(0xF203_0201, forKey: 0x0403_0201)
        try writer.writeInt8(-2, forKey: 4)
        try writer.writeInt16(-2, forKey: 5)
        try writer.writeInt32(-2, forKey: 6)
        try writer.writeData([0xCA, 0x00, 0xFE], forKey: 7)
        try writer.writeCString("hé", forKey: 8)
        try writer.writeTuplet(AppMessageTuple(key: 1, value: .uint8(9)))
        #expect(
            Array(writer.dictionary.encoded)
                == hex(
                    "09 01000000 02 0100 f0 02000000 02 0200 02f1 01020304 02 0400 010203f2"
                        + " 04000000 03 0100 fe 05000000 03 0200 feff 06000000 03 0400 feffffff"
                        + " 07000000 00 0300 ca00fe 08000000 01 0400 68c3a900 01000000 02 0100 09"
                )
        )
        #expect(writer.encodedLength == 86)
        // Of two tuples with one key the first is found.
        #expect(writer.dictionary.find(1)?.value == .uint8(0xF0))
        #expect(writer.dictionary.find(9) == nil)
    }

    @Test("A missing text has no NUL, and an empty one has")
    func texts() throws {
        var writer = AppMessageDictionaryWriter()
        try writer.writeCString(nil, forKey: 1)
        try writer.writeCString("", forKey: 2)
        #expect(Array(writer.dictionary.encoded) == hex("02 01000000 01 0000 02000000 01 0100 00"))
    }

    @Test("What does not fit changes nothing, and has the SDK's number")
    func failures() throws {
        var writer = AppMessageDictionaryWriter(limit: 12)
        try writer.writeData([1, 2], forKey: 1)
        let before = Array(writer.dictionary.encoded)
        do throws(AppMessageDictionaryError) {
            try writer.writeUInt8(3, forKey: 2)
            Issue.record("it fits")
        } catch {
            #expect(error == .notEnoughStorage(needed: 8, available: 2))
            #expect(error.result == .notEnoughStorage && error.result.rawValue == 2)
        }
        #expect(Array(writer.dictionary.encoded) == before)
        do throws(AppMessageDictionaryError) {
            try writer.writeData([UInt8](repeating: 0, count: 65_536), forKey: 2)
            Issue.record("it fits")
        } catch {
            #expect(error == .valueTooLong(65_536))
            #expect(error.result == .invalidArguments && error.result.rawValue == 4)
        }
        #expect(AppMessageDictionaryError.tooManyTuples.result == .invalidArguments)
        #expect(Array(writer.dictionary.encoded) == before)
    }

    @Test("A merge stays within its limit")
    func mergeLimit() throws {
        let old = AppMessageDictionary(encoded: hex("01 01000000 02 0100 07")[...])
        let new = AppMessageDictionary(encoded: hex("02 01000000 02 0400 01020304 02000000 02 0100 09")[...])
        #expect(throws: AppMessageDictionaryError.notEnoughStorage(needed: 11, available: 8)) {
            try old.merged(with: new, updatingKeysOnly: true, limit: 9)
        }
        let updated = try old.merged(with: new, updatingKeysOnly: true, limit: 12)
        #expect(Array(updated.encoded) == hex("01 01000000 02 0400 01020304"))
        #expect(throws: AppMessageDictionaryError.notEnoughStorage(needed: 8, available: 7)) {
            try old.merged(with: new, updatingKeysOnly: false, limit: 19)
        }
        let merged = try old.merged(with: new, updatingKeysOnly: false, limit: 20)
        #expect(Array(merged.encoded) == hex("02 01000000 02 0400 01020304 02000000 02 0100 09"))
    }

    @Test("A dictionary without even its count declares no tuples, and has none")
    func nothing() {
        let nothing = AppMessageDictionary(encoded: [])
        #expect(nothing.declaredCount == 0)
        #expect(Array(nothing).isEmpty)
        #expect(nothing.description == "{}")
    }
}
