import CZlib

/// zlib, as far as zip archives need it.
enum Inflate {
    /// Unpacks deflated bytes (no zlib header) that are known to become `byteCount` bytes; never makes more than that.
    /// - Returns: nil for anything else.
    static func inflate(_ packed: ArraySlice<UInt8>, byteCount: Int) -> [UInt8]? {
        var stream = z_stream()
        // Negative: a raw stream, with the largest window.
        guard inflateInit2_(&stream, -MAX_WBITS, ZLIB_VERSION, CInt(MemoryLayout<z_stream>.size)) == Z_OK else {
            return nil
        }
        defer { inflateEnd(&stream) }
        // zlib wants a place to write to even for an empty file, and one byte more shows a stream that is too long.
        var output = [UInt8](repeating: 0, count: byteCount + 1)
        var input = Array(packed)
        guard let inputLength = UInt32(exactly: input.count), let outputLength = UInt32(exactly: output.count) else {
            return nil
        }
        let status = input.withUnsafeMutableBufferPointer { source in
            output.withUnsafeMutableBufferPointer { destination in
                stream.next_in = source.baseAddress
                stream.avail_in = inputLength
                stream.next_out = destination.baseAddress
                stream.avail_out = outputLength
                return CZlib.inflate(&stream, Z_FINISH)
            }
        }
        guard status == Z_STREAM_END, Int(stream.total_out) == byteCount, stream.avail_in == 0 else { return nil }
        output.removeLast()
        return output
    }

    /// The checksum of zip archives.
    static func crc32(_ bytes: [UInt8]) -> UInt32 {
        guard let length = UInt32(exactly: bytes.count) else { return 0 }
        return bytes.withUnsafeBufferPointer { UInt32(truncatingIfNeeded: CZlib.crc32(0, $0.baseAddress, length)) }
    }
}
