import CZlib
import PebbleWatch

/// What the screen shows, as a file or as bytes.
package enum ScreenPicture {
    /// Why there is no picture.
    package struct Failure: Error {
        /// zlib's code.
        let code: Int32
    }

    /// A byte a pixel, row by row from the top left: `aarrggbb`.
    static func raw(_ frame: FrameBuffer) -> [UInt8] {
        guard !frame.display.hasColor else { return frame.pixels }
        return rows(of: frame).flatMap { $0.map(\.rawValue) }
    }

    /// A PNG file: the 64 colours as a palette, 8 bits a pixel; or grey of one bit. What cannot be seen of a round screen is
    /// transparent, by a 65th colour.
    ///
    /// Source: Portable Network Graphics (PNG) Specification, Third Edition, 5 and 11.
    package static func png(_ frame: FrameBuffer) throws(Failure) -> [UInt8] {
        let display = frame.display
        var file: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
        let colorType: UInt8 = display.hasColor ? 3 : 0
        let depth: UInt8 = display.hasColor ? 8 : 1
        let size = bigEndian(UInt32(clamping: display.width)) + bigEndian(UInt32(clamping: display.height))
        // No interlace, and the only methods that there are of compression and filtering.
        appendChunk("IHDR", size + [depth, colorType, 0, 0, 0], to: &file)
        if display.hasColor { appendChunk("PLTE", palette + (display.isRound ? [0, 0, 0] : []), to: &file) }
        if display.isRound {
            let opaque = [UInt8](repeating: 0xFF, count: Int(transparent))
            appendChunk("tRNS", opaque + [0], to: &file)
        }
        var lines: [UInt8] = []
        for (y, row) in rows(of: frame).enumerated() {
            // Filter 0: each byte as it is.
            lines.append(0)
            lines +=
                display.hasColor
                ? row.enumerated().map { display.shows(x: $0, y: y) ? $1.rawValue & 0x3F : transparent }
                : bits(of: row)
        }
        appendChunk("IDAT", try deflate(lines), to: &file)
        appendChunk("IEND", [], to: &file)
        return file
    }

    /// The colour after the 64: all round screens have colours.
    private static let transparent: UInt8 = 64

    /// Red, green and blue of each `rrggbb`; two bits become eight by repetition.
    private static let palette: [UInt8] = (UInt8(0)..<64).flatMap { (color: UInt8) -> [UInt8] in
        let parts: [UInt8] = [color >> 4 & 3, color >> 2 & 3, color & 3]
        return parts.map { $0 * 0x55 }
    }

    private static func rows(of frame: FrameBuffer) -> [[PebbleColor]] {
        (0..<frame.display.height).map { y in (0..<frame.display.width).map { x in frame[x, y] } }
    }

    /// Eight pixels a byte, the leftmost in the highest bit; white is 1.
    private static func bits(of row: [PebbleColor]) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: (row.count + 7) / 8)
        for (x, color) in row.enumerated() where color.isLight { bytes[x / 8] |= 0x80 >> UInt8(x % 8) }
        return bytes
    }

    /// Length, type, data, and the checksum of type and data.
    private static func appendChunk(_ type: String, _ data: [UInt8], to file: inout [UInt8]) {
        let body = Array(type.utf8) + data
        let crc = body.withUnsafeBufferPointer {
            UInt32(truncatingIfNeeded: CZlib.crc32(0, $0.baseAddress, UInt32(clamping: $0.count)))
        }
        file += bigEndian(UInt32(clamping: data.count)) + body + bigEndian(crc)
    }

    private static func bigEndian(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> $0) }
    }

    /// The bytes as a zlib stream.
    private static func deflate(_ bytes: [UInt8]) throws(Failure) -> [UInt8] {
        var length = compressBound(UInt(bytes.count))
        var packed = [UInt8](repeating: 0, count: Int(length))
        let code = compress2(&packed, &length, bytes, UInt(bytes.count), Z_BEST_SPEED)
        guard code == Z_OK else { throw Failure(code: code) }
        return Array(packed.prefix(Int(length)))
    }
}
