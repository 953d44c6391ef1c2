import ByteCoding

/// Endpoint 0x1F40, phone to watch: `00`, asks for the frame buffer.
package struct ScreenshotRequest: EndpointMessage {
    private static let command: UInt8 = 0x00

    /// A request.
    package init() {}

    package static var endpoint: Endpoint { .screenshot }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let command = try reader.readUInt8("screenshot.command")
        guard command == Self.command else {
            throw ByteDecodingError("screenshot.command", .invalidValue(UInt64(command)))
        }
    }

    package func encodePayload(to payload: inout [UInt8]) { payload.append(Self.command) }
}

/// Endpoint 0x1F40, watch to phone, the first message: what follows, and its first pixels. Later messages are pixels
/// only (``ScreenshotContinuation``); the phone counts them by this header.
///
/// Layout: status, format, width, height (UInt32 each, big-endian), pixels.
package struct ScreenshotHeader: EndpointMessage {
    /// Whether there is a picture.
    package var status: Status
    /// How pixels are packed.
    package var format: Format
    /// In pixels; for one bit a pixel a multiple of 8.
    package var width: UInt32
    /// In pixels.
    package var height: UInt32
    /// As many as fit into this message.
    package var pixels: ArraySlice<UInt8>

    /// Whether there is a picture.
    package enum Status: UInt8, Sendable {
        /// The picture follows, as large as the header says.
        case ok = 0
        /// The request cannot be read.
        case malformedRequest = 1
        /// The watch had no memory for the picture.
        case outOfMemory = 2
        /// Another screenshot is being sent; it is not disturbed.
        case alreadyInProgress = 3
    }

    /// How pixels are packed.
    package enum Format: UInt32, Sendable {
        /// One bit a pixel, bit 0 leftmost, 1 is white.
        case oneBit = 1
        /// One byte a pixel, `aarrggbb`.
        case eightBits = 2
    }

    /// A header.
    package init(status: Status, format: Format, width: UInt32, height: UInt32, pixels: ArraySlice<UInt8>) {
        self.status = status
        self.format = format
        self.width = width
        self.height = height
        self.pixels = pixels
    }

    /// A refusal.
    package init(failure: Status) {
        self.init(status: failure, format: .oneBit, width: 0, height: 0, pixels: [])
    }

    package static var endpoint: Endpoint { .screenshot }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let code = try reader.readUInt8("screenshot.status")
        guard let status = Status(rawValue: code) else {
            throw ByteDecodingError("screenshot.status", .invalidValue(UInt64(code)))
        }
        let version: UInt32 = try reader.readBigEndian("screenshot.version")
        guard let format = Format(rawValue: version) else {
            throw ByteDecodingError("screenshot.version", .invalidValue(UInt64(version)))
        }
        self.status = status
        self.format = format
        width = try reader.readBigEndian("screenshot.width")
        height = try reader.readBigEndian("screenshot.height")
        pixels = reader.readRemaining()
    }

    package func encodePayload(to payload: inout [UInt8]) {
        payload.append(status.rawValue)
        payload.appendBigEndian(format.rawValue)
        payload.appendBigEndian(width)
        payload.appendBigEndian(height)
        payload += pixels
    }
}

/// Endpoint 0x1F40, watch to phone, every message but the first: pixels.
package struct ScreenshotContinuation: EndpointMessage {
    /// The next ones.
    package var pixels: ArraySlice<UInt8>

    /// More pixels.
    package init(pixels: ArraySlice<UInt8>) { self.pixels = pixels }

    package static var endpoint: Endpoint { .screenshot }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) { pixels = reader.readRemaining() }

    package func encodePayload(to payload: inout [UInt8]) { payload += pixels }
}
