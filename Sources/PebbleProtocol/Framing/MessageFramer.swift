import ByteCoding

/// A payload that the header's 16-bit length cannot say; nothing of it was written.
public struct MessageTooLongError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The endpoint it was meant for.
    public let endpoint: Endpoint
    /// How many bytes it has.
    public let payloadLength: Int

    /// Names the endpoint and the length that was refused.
    package init(endpoint: Endpoint, payloadLength: Int) {
        self.endpoint = endpoint
        self.payloadLength = payloadLength
    }

    public var description: String {
        "\(endpoint): a payload of \(payloadLength) bytes, at most \(PebbleMessage.maximumPayloadLength) can be sent"
    }
}

/// Writes messages into the byte stream that a session carries.
///
/// The stream has no alignment, checksum, escape or resynchronisation: what is appended here must arrive whole and in
/// order.
public enum MessageFramer {
    /// Appends header and payload.
    public static func append(
        _ message: some EndpointMessage,
        to stream: inout [UInt8]
    ) throws(MessageTooLongError) {
        try append(endpoint: type(of: message).endpoint, to: &stream) { message.encodePayload(to: &$0) }
    }

    /// Appends header and payload.
    public static func append(_ message: PebbleMessage, to stream: inout [UInt8]) throws(MessageTooLongError) {
        try append(endpoint: message.endpoint, to: &stream) { $0 += message.payload }
    }

    private static func append(
        endpoint: Endpoint,
        to stream: inout [UInt8],
        writePayload: (inout [UInt8]) -> Void
    ) throws(MessageTooLongError) {
        let start = stream.count
        stream.appendBigEndian(UInt16(0))
        stream.appendBigEndian(endpoint.rawValue)
        writePayload(&stream)
        let payloadLength = stream.count - start - PebbleMessage.headerLength
        guard let length = UInt16(exactly: payloadLength) else {
            stream.removeSubrange(start...)
            throw MessageTooLongError(endpoint: endpoint, payloadLength: payloadLength)
        }
        stream[start] = UInt8(truncatingIfNeeded: length >> 8)
        stream[start + 1] = UInt8(truncatingIfNeeded: length)
    }
}
