import ByteCoding
import Testing

@Suite struct ByteCodingTests {
    @Test func readsBothByteOrders() throws {
        var reader = ByteReader([0x01, 0x02, 0x03, 0x04, 0xFF])
        #expect(try reader.readLittleEndian("a", as: UInt16.self) == 0x0201)
        #expect(try reader.readBigEndian("b", as: UInt16.self) == 0x0304)
        #expect(try reader.readInt8("c") == -1)
        #expect(reader.isEmpty)
    }

    @Test func numbersAreWrittenAsPeopleWriteThem() {
        let numbers: [Int] = [0, 1, 9, 10, 11, 99, 100, 65535, .max, -1, -10, -255, .min]
        for number in numbers {
            var text = Array("n ".utf8)
            text.append(decimal: number)
            #expect(String(decoding: text, as: UTF8.self) == "n \(number)")
        }
        var text: [UInt8] = []
        text.append(decimal: UInt64.max)
        #expect(String(decoding: text, as: UTF8.self) == "\(UInt64.max)")
    }

    @Test func readsIntegersOfEachWidthWhereverASliceBegins() throws {
        let storage = (0..<24).map { UInt8($0 * 37 & 0xFF) }
        func check<Value: FixedWidthInteger>(_ type: Value.Type) throws {
            let size = Value.bitWidth / 8
            for start in 0...8 {
                for end in start...storage.count {
                    let slice = storage[start..<end]
                    for offset in -1...slice.count + 1 {
                        let isThere = offset >= 0 && offset + size <= slice.count
                        let octets = isThere ? Array(slice.dropFirst(offset).prefix(size)) : []
                        // Digits, as people write numbers: nothing of the coding is used.
                        let big = Value(octets.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(), radix: 16)
                        let little = Value(
                            octets.reversed().map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(),
                            radix: 16
                        )
                        #expect(slice.littleEndian(at: offset, as: type) == little)
                        guard isThere else { continue }
                        var reader = ByteReader(slice.dropFirst(offset))
                        var other = reader
                        #expect(try reader.readLittleEndian("a", as: type) == little)
                        #expect(try other.readBigEndian("a", as: type) == big)
                        #expect(reader.remaining == slice.dropFirst(offset + size))
                        #expect(other.remaining == reader.remaining)
                    }
                }
            }
        }
        try check(UInt8.self)
        try check(UInt16.self)
        try check(UInt32.self)
        try check(UInt64.self)
    }

    @Test func namesTheFieldThatIsMissing() {
        var reader = ByteReader([0x01])
        #expect(throws: ByteDecodingError("handle", .truncated(needed: 2, available: 1))) {
            _ = try reader.readLittleEndian("handle", as: UInt16.self)
        }
        #expect(reader.count == 1, "a failed read takes nothing")
        #expect(throws: ByteDecodingError("size", .truncated(needed: -1, available: 1))) {
            _ = try reader.readBytes(-1, "size")
        }
    }

    @Test func writesWhatItReads() throws {
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(UInt32(0x0403_0201))
        bytes.appendBigEndian(Int16(-2))
        bytes.appendLittleEndian(Int8(-1))
        #expect(bytes.hexadecimal == "01020304fffeff")
        #expect([UInt8](hexadecimal: "01020304 fffe ff") == bytes)
        #expect([UInt8](hexadecimal: "0") == nil)
        #expect([UInt8](hexadecimal: "zz") == nil)
    }

    @Test func queueKeepsOrderAcrossGrowthAndReuse() {
        var queue = PacketQueue()
        var buffer: [UInt8] = []
        var next: UInt8 = 0
        var expected: UInt8 = 0
        for round in 0..<200 {
            for _ in 0..<(round % 7 + 1) {
                queue.append { $0.append(next) }
                next &+= 1
            }
            for _ in 0..<(round % 5 + 1) where queue.popFirst(into: &buffer) {
                #expect(buffer == [expected])
                expected &+= 1
            }
        }
        while queue.popFirst(into: &buffer) {
            #expect(buffer == [expected])
            expected &+= 1
        }
        #expect(expected == next)
        #expect(queue.isEmpty)
    }
}
