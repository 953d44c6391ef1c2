import ByteCoding
import PebbleProtocol
import Testing

/// What a vector means: found by its name, written by hand from the vector's description.
struct ExpectedMessage: Sendable {
    let message: any EndpointMessage
    /// The vector has bytes at its end that decoders tolerate and encoders do not write.
    var hasTrailingBytes = false
}

@Suite("Golden messages of every endpoint")
struct EndpointVectorTests {
    static let packets = GoldenVector.pebbleProtocol.filter { $0.kind == "packet" }

    /// Vectors that have no codec: voice, and a service of firmware 2 that nothing handles.
    static let uncoveredEndpoints: [Endpoint: Int] = [.appManager: 1, .voiceControl: 2, .audioStream: 2]

    @Test("Every packet vector has a typed value or belongs to an endpoint that is listed as uncovered")
    func nothingIsMissing() {
        var uncovered: [Endpoint: Int] = [:]
        for vector in Self.packets where ExpectedMessages.byName[vector.name] == nil {
            uncovered[Endpoint(rawValue: vector.endpoint ?? 0), default: 0] += 1
        }
        #expect(uncovered == Self.uncoveredEndpoints)
        let names = Set(Self.packets.map(\.name))
        #expect(ExpectedMessages.byName.keys.filter { !names.contains($0) } == [])
        #expect(Self.packets.count == 216)
    }

    @Test("Decoding a vector gives its typed value, and encoding that gives the vector")
    func vectorsDecodeAndEncode() throws {
        for vector in Self.packets {
            guard let expected = ExpectedMessages.byName[vector.name] else { continue }
            try check(expected.message, vector, hasTrailingBytes: expected.hasTrailingBytes)
        }
    }

    private func check<Message: EndpointMessage>(
        _ expected: Message,
        _ vector: GoldenVector,
        hasTrailingBytes: Bool
    ) throws {
        var stream = vector.bytes[...]
        var deframer = MessageDeframer()
        guard case .message(let message)? = deframer.next(from: &stream) else {
            Issue.record("\(vector.name): no whole message")
            return
        }
        #expect(stream.isEmpty, "\(vector.name)")
        #expect(message.endpoint == Message.endpoint, "\(vector.name)")
        #expect(message.endpoint.rawValue == vector.endpoint, "\(vector.name)")
        // Compared outside the macro, which would print every byte of large messages.
        let isDecodedAsExpected = try Message(payload: message.payload) == expected
        #expect(isDecodedAsExpected, "\(vector.name)")
        guard !hasTrailingBytes else { return }
        var encoded: [UInt8] = []
        try MessageFramer.append(expected, to: &encoded)
        let isEncodedAsExpected = encoded == vector.bytes
        #expect(isEncodedAsExpected, "\(vector.name): \(encoded.prefix(64).hexadecimal)")
    }

    @Test("Every captured message decodes, and encodes to the same bytes")
    func transcriptsRoundTrip() throws {
        var checked = 0
        for vector in GoldenVector.pebbleProtocol where vector.kind == "transcript" {
            var stream = vector.bytes[...]
            var deframer = MessageDeframer()
            guard case .message(let message)? = deframer.next(from: &stream), stream.isEmpty else {
                Issue.record("\(vector.name): not one whole message")
                continue
            }
            guard let typed = try decode(message, isFromWatch: vector.direction == "watch->phone") else { continue }
            var encoded: [UInt8] = []
            try MessageFramer.append(typed, to: &encoded)
            let isEncodedAsReceived = encoded == vector.bytes
            #expect(isEncodedAsReceived, "\(vector.name)")
            checked += 1
        }
        #expect(checked == 143)
    }

    private func decode(_ message: PebbleMessage, isFromWatch: Bool) throws -> (any EndpointMessage)? {
        switch message.endpoint {
        case .phoneVersion: try PhoneVersionMessage(payload: message.payload)
        case .watchVersion: try WatchVersionMessage(payload: message.payload)
        case .systemMessage: try SystemMessage(payload: message.payload)
        case .ping: try PingMessage(payload: message.payload)
        case .appRunState: try AppRunStateMessage(payload: message.payload)
        case .appFetch where isFromWatch: try AppFetchRequest(payload: message.payload)
        case .appFetch: try AppFetchResponse(payload: message.payload)
        case .appMessage: try AppMessage(payload: message.payload)
        case .putBytes where isFromWatch: try PutBytesResponse(payload: message.payload)
        case .putBytes: try PutBytesRequest(payload: message.payload)
        case .blobDB where isFromWatch: try BlobDBResponse(payload: message.payload)
        case .blobDB: try BlobDBRequest(payload: message.payload)
        case .appLog where isFromWatch: try AppLogRecord(payload: message.payload)
        case .appLog: try AppLogControl(payload: message.payload)
        case .getBytes: try GetBytesMessage(payload: message.payload)
        default: nil
        }
    }
}
