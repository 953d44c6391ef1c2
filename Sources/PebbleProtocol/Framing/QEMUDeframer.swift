import ByteCoding

/// Finds frames in a TCP stream. What is no frame is skipped; a frame that is not complete 10 s after it began is
/// dropped.
package struct QEMUDeframer: Sendable {
    /// How long a frame may take to arrive.
    package static let frameTimeout = Duration.seconds(10)

    private var buffer: [UInt8] = []
    private var start = 0
    private var frameBegan: Duration?
    /// How many bytes belonged to no frame.
    package private(set) var skippedByteCount: UInt64 = 0

    /// A stream of which no byte has arrived.
    package init() {}

    /// How many bytes wait for the rest of their frame: less than one frame.
    package var bufferedByteCount: Int { buffer.count - start }

    /// When ``advance(to:)`` has something to do.
    package var nextDeadline: Duration? { frameBegan.map { $0 + Self.frameTimeout } }

    /// Takes bytes; then call ``nextFrame(at:)`` until it returns nil.
    package mutating func receive(_ bytes: ArraySlice<UInt8>) {
        if start > 0 {
            buffer.removeSubrange(..<start)
            start = 0
        }
        buffer += bytes
    }

    /// The next whole frame.
    package mutating func nextFrame(at now: Duration) -> QEMUFrame? {
        while findSignature() {
            var reader = ByteReader(buffer[start...])
            guard let header = try? Self.readHeader(&reader),
                reader.count >= header.dataLength + QEMUFrame.footer.count
            else { break }
            let data = reader.remaining.prefix(header.dataLength)
            let footer = reader.remaining.dropFirst(header.dataLength).prefix(QEMUFrame.footer.count)
            // The firmware handles a frame whatever its footer is. Only one that it would not have taken for its length may be
            // something else, that happened to hold a signature; what follows it may still hold a frame.
            guard header.dataLength <= QEMUFrame.maximumDataLength || footer.elementsEqual(QEMUFrame.footer) else {
                skip(QEMUFrame.signature.count)
                continue
            }
            let frame = QEMUFrame(header.protocolID, data: Array(data))
            start += QEMUFrame.overhead + header.dataLength
            frameBegan = nil
            return frame
        }
        if bufferedByteCount == 0 {
            frameBegan = nil
        } else if frameBegan == nil {
            frameBegan = now
        }
        return nil
    }

    /// Drops a frame whose time is over.
    package mutating func advance(to now: Duration) {
        guard let nextDeadline, nextDeadline <= now else { return }
        skip(bufferedByteCount)
        frameBegan = nil
    }

    /// Skips to the next signature, or to a last byte that may be the first of one.
    private mutating func findSignature() -> Bool {
        while let first = buffer[start...].firstIndex(of: QEMUFrame.signature[0]) {
            skip(first - start)
            guard let second = buffer[start...].dropFirst().first else { return false }
            if second == QEMUFrame.signature[1] { return true }
            skip(1)
        }
        skip(bufferedByteCount)
        return false
    }

    private static func readHeader(
        _ reader: inout ByteReader
    ) throws(ByteDecodingError) -> (protocolID: QEMUProtocol, dataLength: Int) {
        _ = try reader.readBytes(QEMUFrame.signature.count, "qemu.signature")
        let number: UInt16 = try reader.readBigEndian("qemu.protocol")
        let length: UInt16 = try reader.readBigEndian("qemu.length")
        return (QEMUProtocol(rawValue: number), Int(length))
    }

    private mutating func skip(_ count: Int) {
        guard count > 0 else { return }
        start += count
        skippedByteCount &+= UInt64(count)
        frameBegan = nil
    }
}
