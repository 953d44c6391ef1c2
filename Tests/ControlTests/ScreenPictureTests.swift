import CZlib
import PebbleProtocol
import PebbleWatch
import Testing

@testable import Control

/// Pictures of the screen, read by rules of their own: RFC 2083's chunks, and zlib.
@Suite struct ScreenPictureTests {
    /// A chunk of a PNG file.
    private struct Chunk {
        let type: String
        let data: [UInt8]
    }

    private func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

    private func chunks(_ file: [UInt8]) throws -> [Chunk] {
        try #require(Array(file.prefix(8)) == [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
        var chunks: [Chunk] = []
        var rest = file.dropFirst(8)
        while !rest.isEmpty {
            try #require(rest.count >= 12)
            let length = number(rest.prefix(4))
            try #require(rest.count >= length + 12)
            let body = Array(rest.dropFirst(4).prefix(4 + length))
            let crc = body.withUnsafeBufferPointer { CZlib.crc32(0, $0.baseAddress, UInt32($0.count)) }
            #expect(number(rest.dropFirst(8 + length).prefix(4)) == Int(crc))
            chunks.append(Chunk(type: String(decoding: body.prefix(4), as: UTF8.self), data: Array(body.dropFirst(4))))
            rest = rest.dropFirst(12 + length)
        }
        return chunks
    }

    private func inflate(_ packed: [UInt8], count: Int) throws -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count + 1)
        var length = UInt(bytes.count)
        #expect(uncompress(&bytes, &length, packed, UInt(packed.count)) == Z_OK)
        #expect(Int(length) == count)
        return Array(bytes.prefix(count))
    }

    @Test func aColourScreenIsAPalette() throws {
        var frame = FrameBuffer(Display(of: .basalt))
        frame.fill(.oxfordBlue)
        frame[0, 0] = .red
        frame[143, 167] = .white
        let parts = try chunks(try ScreenPicture.png(frame))
        #expect(parts.map(\.type) == ["IHDR", "PLTE", "IDAT", "IEND"])
        #expect(parts[0].data == [0, 0, 0, 144, 0, 0, 0, 168, 8, 3, 0, 0, 0])
        #expect(parts[1].data.count == 64 * 3)
        let lines = try inflate(parts[2].data, count: 168 * 145)
        func color(_ x: Int, _ y: Int) -> [UInt8] {
            let index = Int(lines[y * 145 + 1 + x])
            return Array(parts[1].data[index * 3..<index * 3 + 3])
        }
        #expect(color(0, 0) == [0xFF, 0, 0] && color(1, 0) == [0, 0, 0x55] && color(143, 167) == [0xFF, 0xFF, 0xFF])
        #expect((0..<168).allSatisfy { lines[$0 * 145] == 0 }, "no filter")
        #expect(ScreenPicture.raw(frame) == frame.pixels)
    }

    @Test func aScreenOfBlackAndWhiteHasABitAPixel() throws {
        var frame = FrameBuffer(Display(of: .aplite))
        frame[0, 0] = .white
        frame[9, 1] = .white
        let parts = try chunks(try ScreenPicture.png(frame))
        #expect(parts.map(\.type) == ["IHDR", "IDAT", "IEND"])
        #expect(parts[0].data == [0, 0, 0, 144, 0, 0, 0, 168, 1, 0, 0, 0, 0])
        let lines = try inflate(parts[1].data, count: 168 * 19)
        #expect(lines[1] == 0x80 && lines[2] == 0, "the leftmost pixel is the highest bit")
        #expect(lines[19 + 1] == 0 && lines[19 + 2] == 0x40)
        let raw = ScreenPicture.raw(frame)
        #expect(raw.count == 144 * 168 && raw[0] == PebbleColor.white.rawValue && raw[1] == PebbleColor.black.rawValue)
        #expect(raw[144 + 9] == PebbleColor.white.rawValue)
    }
}
