import ByteCoding

/// Cuts a session's byte stream into messages.
///
/// The stream is not aligned to transport packets: a header may arrive one byte at a time, and one packet may hold
/// the end of one message, several whole ones and the start of another. Nothing but the one unfinished message is
/// ever stored. There is no resynchronisation: if the stream is wrong, only closing the session helps.
public struct MessageDeframer: Sendable {
    /// What the header of a message says.
    public struct Header: Equatable, Sendable {
        /// Which service the message is for.
        public let endpoint: Endpoint
        /// How many bytes follow the header.
        public let payloadLength: Int

        /// A header by its fields.
        package init(endpoint: Endpoint, payloadLength: Int) {
            self.endpoint = endpoint
            self.payloadLength = payloadLength
        }
    }

    /// What was found in the stream.
    public enum Item: Equatable, Sendable {
        /// A whole message. An empty payload is legal.
        case message(PebbleMessage)
        /// A header that was not accepted, reported as soon as it is complete; its payload will be skipped.
        case skipped(Header)
    }

    /// Header bytes seen so far, first byte most significant.
    private var headerBits: UInt32 = 0
    private var headerByteCount = 0
    private var header = Header(endpoint: .meta, payloadLength: 0)
    private var payload: [UInt8] = []
    private var isSkipping = false
    private var missingByteCount = 0

    /// A stream of which no byte has arrived.
    public init() {}

    /// How many bytes of the current message have been received but not handed out.
    package var bufferedByteCount: Int { headerByteCount + payload.count }

    /// The header of a message that was accepted and whose payload is not complete.
    package var unfinishedHeader: Header? {
        headerByteCount == PebbleMessage.headerLength && !isSkipping ? header : nil
    }

    /// Takes bytes off the front of `bytes` until an item is complete or the bytes are used up.
    ///
    /// Call it until it returns nil; then `bytes` is empty and everything in it has been taken in.
    /// `isAccepted` is asked once a message, when its header is complete; false skips the payload without storing it.
    public mutating func next(
        from bytes: inout ArraySlice<UInt8>,
        where isAccepted: (Header) -> Bool = { _ in true }
    ) -> Item? {
        while headerByteCount < PebbleMessage.headerLength {
            guard let byte = bytes.popFirst() else { return nil }
            headerBits = headerBits << 8 | UInt32(byte)
            headerByteCount += 1
            guard headerByteCount == PebbleMessage.headerLength else { continue }
            header = Header(
                endpoint: Endpoint(rawValue: UInt16(truncatingIfNeeded: headerBits)),
                payloadLength: Int(headerBits >> 16)
            )
            missingByteCount = header.payloadLength
            isSkipping = !isAccepted(header)
            if isSkipping {
                endSkippedMessageIfComplete()
                return .skipped(header)
            }
            payload.reserveCapacity(header.payloadLength)
        }
        let part = bytes.prefix(missingByteCount)
        bytes = bytes.dropFirst(part.count)
        missingByteCount -= part.count
        if isSkipping {
            endSkippedMessageIfComplete()
            return bytes.isEmpty ? nil : next(from: &bytes, where: isAccepted)
        }
        payload += part
        guard missingByteCount == 0 else { return nil }
        var whole: [UInt8] = []
        swap(&whole, &payload)
        headerByteCount = 0
        return .message(PebbleMessage(endpoint: header.endpoint, payload: whole))
    }

    /// Forgets the unfinished message: for a session that closes.
    package mutating func reset() { self = MessageDeframer() }

    private mutating func endSkippedMessageIfComplete() {
        if missingByteCount == 0 { headerByteCount = 0 }
    }
}
