import ByteCoding
import PebbleProtocol
import Testing

@Suite("Executable headers and resource packs")
struct BundleTests {
    /// What a client uploaded in a captured session: the data of its PutBytes messages.
    private func upload(_ steps: [Int]) throws -> [UInt8] {
        try steps.flatMap { step in
            let name = "tx-pebble-install-\(step < 10 ? "0" : "")\(step)"
            let vector = try #require(GoldenVector.pebbleProtocol.first { $0.name == name })
            // Header of the Pebble Protocol; command, token, length.
            return Array(vector.bytes.dropFirst(4 + 9))
        }
    }

    @Test("The header of the vectors")
    func header() throws {
        let vector = try #require(GoldenVector.pebbleProtocol.first { $0.name == "pbw-process-info-header" })
        var reader = ByteReader(vector.bytes)
        let header = try ProcessHeader(reading: &reader)
        #expect(reader.isEmpty)
        #expect(header.sdk == SDKVersion(major: 5, minor: 0x6A))
        #expect([header.majorVersion, header.minorVersion] == [1, 2])
        #expect(header.loadSize == 4321)
        #expect(header.entryOffset == 130)
        #expect(header.crc == 1_432_778_632)
        #expect(header.name == "Spec Test")
        #expect(header.company == "Lab")
        #expect(header.flags.rawValue == 136)
        #expect(header.relocationCount == 0)
        #expect(header.uuid == PebbleUUID("6b1f5c2e-0f3a-4d0e-9b7a-1c2d3e4f5a6b"))
        #expect(header.virtualSize == 4400)
        #expect(header.metadata.name == "Spec Test")
        for length in 0..<vector.bytes.count {
            #expect(throws: ByteDecodingError.self) {
                var reader = ByteReader(vector.bytes.prefix(length))
                return try ProcessHeader(reading: &reader)
            }
        }
        var later = vector.bytes
        later[8] = 0x11
        #expect(throws: ByteDecodingError("process.struct_version", .invalidValue(0x11))) {
            var reader = ByteReader(later)
            return try ProcessHeader(reading: &reader)
        }
    }

    @Test("An executable with an invented checksum, as in the captured install, is refused for its checksum alone")
    func executable() throws {
        let binary = try upload([11, 13, 15])
        #expect(binary.count == 4321)
        #expect(throws: ByteDecodingError("process.crc", .invalidValue(0))) {
            try ProcessHeader(checking: binary[...])
        }
        var repaired = binary
        var crc: [UInt8] = []
        crc.appendLittleEndian(LegacyChecksum.checksum(of: binary.dropFirst(130)))
        repaired.replaceSubrange(20..<24, with: crc)
        #expect(try ProcessHeader(checking: repaired[...]).loadSize == 4321)
        var withoutEntry = repaired
        withoutEntry.replaceSubrange(16..<20, with: [0xE1, 0x10, 0, 0])
        #expect(throws: ByteDecodingError("process.offset", .invalidValue(4321))) {
            try ProcessHeader(checking: withoutEntry[...])
        }
        #expect(throws: ByteDecodingError("process.load_size", .invalidLength(4321))) {
            try ProcessHeader(checking: repaired.dropLast())
        }
        #expect(throws: ByteDecodingError("process.num_reloc_entries", .invalidValue(0))) {
            try ProcessHeader(checking: (repaired + [0, 0, 0, 0])[...])
        }
    }

    @Test("The resource pack that a client uploaded has the right checksums; a changed or cut one has not")
    func resources() throws {
        let pack = try upload([23, 25, 27, 29])
        #expect(pack.count == 6429)
        let read = try ResourcePack(checking: pack[...])
        #expect(read.entries.map(\.id) == [1, 2])
        #expect(read.contentCRC == 0xAB67_E16D)
        for index in [0, 4, 12, 16, 24, 5000, pack.count - 1] {
            var bent = pack
            bent[index] ^= 0x10
            // The id of an entry is covered by no checksum.
            #expect((try? ResourcePack(checking: bent[...])) == nil || index == 12)
        }
        for length in stride(from: 0, to: pack.count, by: 13) {
            #expect(throws: ByteDecodingError.self) { try ResourcePack(checking: pack.prefix(length)) }
        }
    }
}
