import CZlib
import FoundationEssentials
import NIOCore

/// What a watch's screen shows, as `screenshot` answers.
struct ScreenPicture: Decodable, Sendable {
    private struct Answer: Decodable {
        let screen: ScreenPicture
    }

    /// In pixels.
    let width: Int
    let height: Int
    /// Whether only the circle in the middle can be seen.
    let isRound: Bool
    /// The picture, in hexadecimal.
    let data: String

    /// Reads an answer; nil if it has no picture.
    init?(answer line: ByteBuffer) {
        guard let answer = try? JSONDecoder().decode(Answer.self, from: Data(line.readableBytesView)) else {
            return nil
        }
        self = answer.screen
    }

    /// The picture; nil if it is not in hexadecimal.
    var bytes: [UInt8]? { Web.bytes(hexadecimal: data) }

    /// A PNG file in which each pixel of the watch is a square, of a picture that has a byte a pixel (`aarrggbb`).
    /// - Returns: nil if the bytes are not as many as the pixels.
    ///
    /// Source: Portable Network Graphics (PNG) Specification, Third Edition, 5 and 11.
    func png(scale: Int) -> [UInt8]? {
        guard let pixels = bytes, width > 0, height > 0, pixels.count == width * height else { return nil }
        var lines: [UInt8] = []
        lines.reserveCapacity(height * scale * (width * scale + 1))
        for y in 0..<height {
            // Filter 0: each byte as it is.
            var row: [UInt8] = [0]
            for pixel in pixels[y * width..<(y + 1) * width] { row += repeatElement(pixel & 0x3F, count: scale) }
            for _ in 0..<scale { lines += row }
        }
        var length = compressBound(UInt(lines.count))
        var packed = [UInt8](repeating: 0, count: Int(length))
        guard compress2(&packed, &length, lines, UInt(lines.count), Z_BEST_SPEED) == Z_OK else { return nil }
        var file: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        // 8 bits a pixel, which choose from a palette.
        let header = Self.bigEndian(width * scale) + Self.bigEndian(height * scale) + [8, 3, 0, 0, 0]
        Self.append("IHDR", header, to: &file)
        Self.append("PLTE", Self.palette, to: &file)
        Self.append("IDAT", Array(packed.prefix(Int(length))), to: &file)
        Self.append("IEND", [], to: &file)
        return file
    }

    /// Red, green and blue of each `rrggbb`; two bits become eight by repetition.
    private static let palette: [UInt8] = (UInt8(0)..<64).flatMap { (color: UInt8) -> [UInt8] in
        let parts: [UInt8] = [color >> 4 & 3, color >> 2 & 3, color & 3]
        return parts.map { $0 * 0x55 }
    }

    /// Length, type, data, and the checksum of type and data.
    private static func append(_ type: String, _ data: [UInt8], to file: inout [UInt8]) {
        let body = Array(type.utf8) + data
        let checksum = crc32(0, body, UInt32(body.count))
        file += bigEndian(data.count) + body + bigEndian(Int(checksum))
    }

    private static func bigEndian(_ value: Int) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }
}
