import PebbleProtocol
import SeededRandomness
import Testing

/// Bytes that a broken or hostile phone might send. Nothing may trap, and nothing may grow beyond its bounds.
@Suite("Mutated input")
struct MutationTests {
    /// 350,000 mutated packets and payloads in all.
    private static let roundsPerTarget = 100_000

    /// Valid payloads and packets, from which the mutations are made.
    private static let seeds: [[UInt8]] = GoldenVector.pebbleProtocol
        .filter { $0.kind == "packet" && $0.bytes.count < 400 }.map { Array($0.bytes.dropFirst(4)) }

    private static let decoders: [@Sendable ([UInt8]) throws -> (any EndpointMessage)] = [
        { try MetaMessage(payload: $0) }, { try PhoneVersionMessage(payload: $0) },
        { try WatchVersionMessage(payload: $0) }, { try TimeMessage(payload: $0) },
        { try SystemMessage(payload: $0) }, { try FactoryRegistryMessage(payload: $0) },
        { try PingMessage(payload: $0) }, { try ResetMessage(payload: $0) },
        { try AppRunStateMessage(payload: $0) }, { try LauncherMessage(payload: $0) },
        { try AppFetchRequest(payload: $0) }, { try AppFetchResponse(payload: $0) },
        { try AppMessage(payload: $0) }, { try PutBytesRequest(payload: $0) },
        { try PutBytesResponse(payload: $0) }, { try BlobDBRequest(payload: $0) },
        { try BlobDBResponse(payload: $0) }, { try BlobDB2Message(payload: $0) },
        { try AppOrderRequest(payload: $0) }, { try AppOrderResponse(payload: $0) },
        { try AppLogControl(payload: $0) }, { try AppLogRecord(payload: $0) },
        { try LogDumpMessage(payload: $0) }, { try ScreenshotRequest(payload: $0) },
        { try ScreenshotHeader(payload: $0) }, { try ScreenshotContinuation(payload: $0) },
        { try DataLoggingMessage(payload: $0) }, { try GetBytesMessage(payload: $0) },
        { try MusicMessage(payload: $0) }, { try PhoneControlMessage(payload: $0) },
        { try TimelineActionMessage(payload: $0) }, { try HealthSyncMessage(payload: $0) },
        { try BLEControlMessage(payload: $0) },
    ]

    @Test("Endpoint decoders: a value that can be encoded, or an error")
    func endpointDecoders() throws {
        var random = SplitMix64(seed: 1)
        var decoded = 0
        for round in 0..<Self.roundsPerTarget {
            let bytes = Self.mutated(Self.seeds.randomElement(using: &random) ?? [], using: &random)
            let decoder = Self.decoders[round % Self.decoders.count]
            guard let message = try? decoder(bytes) else { continue }
            decoded += 1
            // A decoded value is encoded, and decodes to the same value.
            let encoded = PebbleMessage(message).payload
            let again = PebbleMessage(try decoder(encoded)).payload
            #expect(again == encoded, "round \(round): \(bytes)")
            // And its dictionary can be walked.
            if case .push(let push)? = message as? AppMessage {
                #expect(Array(push.dictionary).count <= push.dictionary.encoded.count / 7)
                _ = try? push.dictionary.checkedTuples()
                _ = push.dictionary.description
                _ = push.dictionary.first(forKey: 1)
            }
        }
        #expect(decoded > Self.roundsPerTarget / 20, "\(decoded) decoded")
    }

    @Test("Records and emulator frames: a value, or an error; the stream's buffer stays bounded")
    func recordsAndFrames() {
        var random = SplitMix64(seed: 4)
        let records = GoldenVector.pebbleProtocol.filter { $0.kind == "blob" }.map(\.bytes)
        let frames = QEMUTests.vectors.map(\.bytes).filter { $0.count < 100 }
        var deframer = QEMUDeframer()
        var now = Duration.zero
        var counts = [0, 0, 0]
        for _ in 0..<Self.roundsPerTarget / 2 {
            let record = Self.mutated(records.randomElement(using: &random) ?? [], using: &random)[...]
            if (try? TimelineItem(record)) != nil { counts[0] += 1 }
            if (try? AppMetadata(record)) != nil { counts[1] += 1 }
            deframer.receive(Self.mutated(frames.randomElement(using: &random) ?? [], using: &random)[...])
            while let frame = deframer.nextFrame(at: now) {
                counts[2] += 1
                _ = try? QEMUMessage(frame)
            }
            #expect(deframer.bufferedByteCount < 65535 + 8)
            now += .milliseconds(100)
            deframer.advance(to: now)
        }
        #expect(counts.allSatisfy { $0 > 1000 }, "\(counts)")
    }

    @Test("The deframer: bounded for any stream")
    func deframer() {
        var random = SplitMix64(seed: 2)
        var deframer = MessageDeframer()
        let vectors = GoldenVector.pebbleProtocol.filter { $0.kind == "packet" && $0.bytes.count < 400 }
        var messages = 0
        var skipped = 0
        for _ in 0..<Self.roundsPerTarget {
            let vector = vectors.randomElement(using: &random)?.bytes ?? []
            var bytes = Self.mutated(vector, using: &random)[...]
            let fed = bytes.count
            let before = deframer.bufferedByteCount
            var taken = 0
            while let item = deframer.next(from: &bytes, where: { $0.endpoint.rawValue % 7 != 0 }) {
                switch item {
                case .message(let message):
                    messages += 1
                    taken += message.payload.count
                case .skipped: skipped += 1
                }
            }
            #expect(bytes.isEmpty)
            #expect(deframer.bufferedByteCount <= PebbleMessage.headerLength + PebbleMessage.maximumPayloadLength)
            #expect(deframer.bufferedByteCount + taken <= before + fed)
            if random.chance(1, in: 50) { deframer.reset() }
        }
        #expect(messages > 1000 && skipped > 1000, "\(messages) messages, \(skipped) skipped")
    }

    @Test("PPoGATT links in every state: no trap, no growth, and a correct phone can still open a session")
    func ppogatt() {
        var random = SplitMix64(seed: 3)
        var harness = Self.anyLink(using: &random)
        var opened: UInt64 = 0
        let packets = GoldenVector.bleWatch.filter { $0.name.hasPrefix("ppog_") }.map(\.bytes)
        for round in 0..<Self.roundsPerTarget {
            let packet = Self.mutated(packets.randomElement(using: &random) ?? [], using: &random)
            // Events and packets are often left where they are.
            harness.link.receive(packet[...], at: harness.now)
            if random.chance(1, in: 10) { harness.step { link, _ in _ = link.send(packet[...]) } }
            if random.chance(1, in: 20) { harness.run(for: .milliseconds(Int.random(in: 0...3000, using: &random))) }
            if random.chance(1, in: 100) { harness.step { link, _ in link.attMTU = Int(packet.first ?? 0) * 2 } }
            let eventCount = harness.takeEvents().count
            #expect(eventCount <= 70)
            #expect(harness.link.writableByteCount <= harness.link.configuration.sendBufferCapacity)
            if let deadline = harness.link.nextDeadline {
                #expect(deadline <= harness.now + .seconds(12), "round \(round)")
            }
            for packet in harness.takeSent() { #expect(packet.count / 2 <= harness.link.attMTU - 3) }
            if random.chance(1, in: 300) || harness.link.state == .ended {
                opened += harness.link.statistics.openedSessions
                harness = Self.anyLink(using: &random)
            }
        }
        #expect(opened > 1000, "\(opened) sessions")
    }

    /// A link of any side and carrier, set going.
    private static func anyLink(using random: inout SplitMix64) -> LinkHarness {
        let carrier = PPoGATTPairTests.carriers.randomElement(using: &random) ?? .forward
        let isWatch = random.chance(2, in: 3)
        var harness = LinkHarness(isWatch ? .watch(carrier, serialNumber: "2DQ0135B3424") : .phone(carrier), attMTU: 64)
        harness.step { $0.start(at: $1) }
        if random.chance(3, in: 4) {
            let meta =
                random.chance(1, in: 4) ? mutated(LinkHarness.androidMeta, using: &random) : LinkHarness.androidMeta
            harness.step { $0.receiveMeta(meta[...], at: $1) }
        }
        if random.chance(3, in: 4) { harness.step { $0.subscribed(at: $1) } }
        return harness
    }

    /// Changes, cuts, lengthens, repeats or replaces bytes; sometimes nothing.
    private static func mutated(_ bytes: [UInt8], using random: inout SplitMix64) -> [UInt8] {
        var bytes = bytes
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            let position = Int.random(in: 0...bytes.count, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: bytes = Array(bytes[..<position])
            case 1: bytes.insert(UInt8(truncatingIfNeeded: random.next()), at: position)
            case 2 where position < bytes.count:
                bytes[position] = [0, 1, 0x7F, 0x80, 0xFF].randomElement(using: &random) ?? 0
            case 3 where position < bytes.count: bytes[position] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 4: bytes += bytes[position...].prefix(64)
            case 5 where random.chance(1, in: 8):
                bytes = (0..<position).map { _ in UInt8(truncatingIfNeeded: random.next()) }
            default: break
            }
        }
        return bytes
    }
}
