import ByteCoding

/// One message of the Pebble Protocol: an endpoint and its payload, without the four bytes of header.
public struct PebbleMessage: Equatable, Sendable {
    /// Which service it is for.
    public var endpoint: Endpoint
    /// What the header's length counts.
    public var payload: [UInt8]

    /// Length (UInt16, big-endian, payload only), then endpoint (UInt16, big-endian).
    package static let headerLength = 4
    /// The most that the header's length can say.
    public static let maximumPayloadLength = Int(UInt16.max)

    /// A payload for an endpoint; that it is short enough is checked when it is framed.
    public init(endpoint: Endpoint, payload: [UInt8]) {
        self.endpoint = endpoint
        self.payload = payload
    }

    /// A typed message, encoded.
    public init(_ message: some EndpointMessage) {
        endpoint = type(of: message).endpoint
        payload = []
        message.encodePayload(to: &payload)
    }
}

/// A value that one endpoint's payloads encode.
///
/// Both directions are there, whichever side sends the message, because the watch decodes what the phone encodes and the
/// companion phone the reverse.
public protocol EndpointMessage: Equatable, Sendable {
    /// The endpoint whose payload this is.
    static var endpoint: Endpoint { get }

    /// Reads a payload; bytes that the endpoint tolerates at its end are left in the reader.
    init(reading reader: inout ByteReader) throws(ByteDecodingError)

    /// Appends the payload, without header.
    func encodePayload(to payload: inout [UInt8])
}

extension EndpointMessage {
    /// Reads a whole payload.
    public init(payload: ArraySlice<UInt8>) throws(ByteDecodingError) {
        var reader = ByteReader(payload)
        try self.init(reading: &reader)
    }

    /// Reads a whole payload.
    public init(payload: [UInt8]) throws(ByteDecodingError) {
        try self.init(payload: payload[...])
    }
}
