import ByteCoding
import PebbleProtocol
import SeededRandomness
import Testing

@Suite("Framing")
struct MessageFramingTests {
    /// Every packet vector that fits one after the other in one stream.
    static let vectors = GoldenVector.pebbleProtocol.filter { $0.kind == "packet" }

    private func messages(in chunks: [[UInt8]]) -> [PebbleMessage] {
        var deframer = MessageDeframer()
        var found: [PebbleMessage] = []
        for chunk in chunks {
            var bytes = chunk[...]
            while let item = deframer.next(from: &bytes) {
                if case .message(let message) = item { found.append(message) }
            }
            #expect(bytes.isEmpty)
        }
        return found
    }

    @Test("The stream gives the same messages, cut at any place", arguments: [1, 2, 3, 5, 20, 252, 4096, 1 << 20])
    func anyChunks(length: Int) {
        let stream = Self.vectors.flatMap(\.bytes)
        let chunks = stride(from: 0, to: stream.count, by: length).map {
            Array(stream[$0..<min($0 + length, stream.count)])
        }
        let found = messages(in: chunks)
        #expect(found.count == Self.vectors.count)
        for (message, vector) in zip(found, Self.vectors) {
            let isSame = message.payload[...] == vector.bytes.dropFirst(4)
            #expect(isSame && message.endpoint.rawValue == vector.endpoint, "\(vector.name)")
        }
    }

    @Test("The stream gives the same messages in chunks of random lengths, empty ones among them")
    func randomChunks() {
        for seed in 0..<200 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            var rest = Self.vectors.prefix(40).flatMap(\.bytes)[...]
            var chunks: [[UInt8]] = []
            while !rest.isEmpty {
                let chunk = rest.prefix(Int.random(in: 0...30, using: &random))
                chunks.append(Array(chunk))
                rest = rest.dropFirst(chunk.count)
            }
            #expect(messages(in: chunks).count == 40, "seed \(seed)")
        }
    }

    @Test("A message without payload is a message")
    func emptyPayload() {
        #expect(
            messages(in: [hex("0000 0030 0001 0011 00")]) == [
                PebbleMessage(endpoint: .appMessage, payload: []),
                PebbleMessage(endpoint: .phoneVersion, payload: [0]),
            ]
        )
    }

    @Test("The largest payload that a header can announce goes through")
    func largestPayload() throws {
        let payload = [UInt8](repeating: 7, count: PebbleMessage.maximumPayloadLength)
        var stream: [UInt8] = []
        try MessageFramer.append(PebbleMessage(endpoint: .putBytes, payload: payload), to: &stream)
        #expect(Array(stream.prefix(4)) == hex("ffff beef"))
        #expect(messages(in: [stream]).first?.payload.count == 65535)
    }

    @Test("A payload too long for the header is refused, and the bytes in the stream stay")
    func tooLongPayload() throws {
        var stream: [UInt8] = []
        try MessageFramer.append(PhoneVersionMessage.request, to: &stream)
        let long = PebbleMessage(endpoint: .ping, payload: [UInt8](repeating: 0, count: 65536))
        #expect(throws: MessageTooLongError(endpoint: .ping, payloadLength: 65536)) {
            try MessageFramer.append(long, to: &stream)
        }
        #expect(stream == hex("0001 0011 00"))
    }

    @Test("A message that is not wanted is reported at its header and skipped whole")
    func skipping() {
        var deframer = MessageDeframer()
        var bytes = hex("0003 7777 01")[...]
        func isPing(_ header: MessageDeframer.Header) -> Bool { header.endpoint == .ping }
        #expect(
            deframer.next(from: &bytes, where: isPing)
                == .skipped(.init(endpoint: Endpoint(rawValue: 0x7777), payloadLength: 3))
        )
        #expect(deframer.next(from: &bytes, where: isPing) == nil)
        #expect(bytes.isEmpty)
        #expect(deframer.bufferedByteCount == PebbleMessage.headerLength)
        // The rest of it, an unwanted one without payload, and a wanted one.
        bytes = hex("0203 0000 0042 0001 07d1 00")[...]
        #expect(
            deframer.next(from: &bytes, where: isPing)
                == .skipped(.init(endpoint: Endpoint(rawValue: 0x42), payloadLength: 0))
        )
        #expect(
            deframer.next(from: &bytes, where: isPing) == .message(PebbleMessage(endpoint: .ping, payload: [0]))
        )
        #expect(deframer.next(from: &bytes, where: isPing) == nil)
    }

    @Test("A session that closes drops its unfinished message")
    func reset() {
        var deframer = MessageDeframer()
        var bytes = hex("0010 0030 0102")[...]
        #expect(deframer.next(from: &bytes) == nil)
        #expect(deframer.bufferedByteCount == 6)
        deframer.reset()
        #expect(deframer.bufferedByteCount == 0)
        bytes = hex("0001 0011 00")[...]
        #expect(
            deframer.next(from: &bytes) == .message(PebbleMessage(endpoint: .phoneVersion, payload: [0]))
        )
    }
}

@Suite("UUIDs")
struct PebbleUUIDTests {
    @Test("Text and bytes have the same order")
    func order() throws {
        let uuid = try #require(PebbleUUID("6b1f5c2e-0f3a-4d0e-9b7a-1c2d3e4f5a6b"))
        var bytes: [UInt8] = []
        uuid.encode(to: &bytes)
        #expect(bytes == hex("6b1f5c2e0f3a4d0e9b7a1c2d3e4f5a6b"))
        var reader = ByteReader(bytes)
        #expect(try PebbleUUID(reading: &reader, "uuid") == uuid)
        #expect(uuid.description == "6b1f5c2e-0f3a-4d0e-9b7a-1c2d3e4f5a6b")
        #expect(PebbleUUID("6B1F5C2E-0F3A-4D0E-9B7A-1C2D3E4F5A6B") == uuid)
    }

    @Test(
        "Anything but the usual form is refused",
        arguments: [
            "", "6b1f5c2e0f3a4d0e9b7a1c2d3e4f5a6b", "6b1f5c2e-0f3a-4d0e-9b7a-1c2d3e4f5a6",
            "6b1f5c2e-0f3a-4d0e-9b7a-1c2d3e4f5a6bc", "6b1f5c2-e0f3a-4d0e-9b7a-1c2d3e4f5a6b",
            "6b1f5c2g-0f3a-4d0e-9b7a-1c2d3e4f5a6b", "6b1f5c2e-0f3a-4d0e-9b7a-1c2d3e4f5a6é",
            "--------------------------------6b1f",
        ]
    )
    func otherText(text: String) { #expect(PebbleUUID(text) == nil) }

    @Test("System and invalid name no app")
    func special() {
        #expect(PebbleUUID("00000000-0000-0000-0000-000000000000") == .system)
        #expect(PebbleUUID("ffffffff-ffff-ffff-ffff-ffffffffffff") == .invalid)
        #expect(!PebbleUUID.system.isLaunchable && !PebbleUUID.invalid.isLaunchable)
        #expect(ExpectedMessages.specApp.isLaunchable)
    }
}
