import ByteCoding
import PebbleProtocol
import Testing

/// Executables and resource packs that are well made but for one thing.
@Suite("Checks of executables and resource packs")
struct ExecutableCheckTests {
    /// Four bytes of code, all zero, whose checksum is 0xC704DD7B: CRC-32 with polynomial 0x04C11DB7, from ones, not reflected.
    private static let code: [UInt8] = [0, 0, 0, 0]
    private static let checksum: [UInt8] = [0x7B, 0xDD, 0x04, 0xC7]

    /// An executable of 134 bytes, header and code, that begins behind its header.
    private func executable(virtualSize: UInt8 = 134, uuid: [UInt8] = Array(1...16)) -> [UInt8] {
        Array("PBLAPP".utf8) + [0, 0, 0x10, 0, 5, 0x6A, 1, 2, 134, 0, 130, 0, 0, 0] + Self.checksum
            + Array("App".utf8) + [UInt8](repeating: 0, count: 61) + [UInt8](repeating: 0, count: 16) + uuid
            + [UInt8](repeating: 0, count: 8) + [virtualSize, 0] + Self.code
    }

    @Test("An executable that is loaded whole is taken")
    func taken() throws {
        let header = try ProcessHeader(checking: executable()[...])
        #expect(header.name == "App" && header.company.isEmpty)
        #expect(header.crc == 0xC704_DD7B && header.entryOffset == 130 && header.virtualSize == 134)
    }

    @Test("An app needs the memory that it is loaded into")
    func virtualSize() {
        #expect(throws: ByteDecodingError("process.virtual_size", .invalidLength(133))) {
            try ProcessHeader(checking: executable(virtualSize: 133)[...])
        }
    }

    @Test("An app cannot be called the system, or nothing", arguments: [0x00, 0xFF] as [UInt8])
    func uuid(_ byte: UInt8) {
        #expect(throws: ByteDecodingError("process.uuid", .invalidValue(0))) {
            try ProcessHeader(checking: executable(uuid: [UInt8](repeating: byte, count: 16))[...])
        }
    }

    @Test("What does not begin as an app does is none")
    func sentinel() {
        var other = executable()
        other[5] = UInt8(ascii: "Q")
        #expect(throws: ByteDecodingError("process.header", .invalidValue(0))) {
            try ProcessHeader(checking: other[...])
        }
    }

    /// A pack with one resource in a content of four zeros.
    private func pack(offset: UInt8, length: UInt8) -> [UInt8] {
        [1, 0, 0, 0] + Self.checksum + [0, 0, 0, 0] + [1, 0, 0, 0, offset, 0, 0, 0, length, 0, 0, 0] + Self.checksum
            + [UInt8](repeating: 0, count: 255 * 16) + Self.code
    }

    @Test("A resource lies within the pack's content")
    func resources() throws {
        let entries = try ResourcePack(checking: pack(offset: 0, length: 4)[...]).entries
        #expect(entries.map(\.id) == [1] && entries.map(\.length) == [4] && entries.map(\.crc) == [0xC704_DD7B])
        for (offset, length) in [(1, 4), (4, 1), (0, 5), (255, 0)] as [(UInt8, UInt8)] {
            #expect(throws: ByteDecodingError("resource.length", .invalidLength(Int(length)))) {
                try ResourcePack(checking: pack(offset: offset, length: length)[...])
            }
        }
        #expect(throws: ByteDecodingError("resource.crc", .invalidValue(0xC704_DD7B))) {
            // The checksum of no bytes is another one.
            try ResourcePack(checking: pack(offset: 4, length: 0)[...])
        }
    }
}
