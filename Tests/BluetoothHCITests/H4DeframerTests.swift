import BluetoothHCI
import ByteCoding
import SeededRandomness
import Testing

@Suite("H4 framing")
struct H4DeframerTests {
    /// Everything that comes out of a deframer when bytes come in chunks of random sizes.
    struct Drained: Equatable {
        var packets: [[UInt8]] = []
        var garbage: [UInt8] = []
    }

    func drain(
        _ deframer: inout H4Deframer,
        _ bytes: [UInt8],
        chunks: (inout SplitMix64) -> Int,
        random: inout SplitMix64
    ) -> Drained {
        var drained = Drained()
        var buffer: [UInt8] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = max(1, chunks(&random))
            deframer.append(rest.prefix(count))
            rest = rest.dropFirst(count)
            while let item = deframer.nextItem(into: &buffer) {
                switch item {
                case .packet: drained.packets.append(buffer)
                case .garbage:
                    #expect(buffer.count <= H4Deframer.maximumGarbage)
                    drained.garbage += buffer
                }
            }
            #expect(deframer.bufferedCount <= H4Deframer.defaultMaximumDataLength + 5)
        }
        return drained
    }

    static func packet(from source: H4Deframer.Source, _ random: inout SplitMix64) -> [UInt8] {
        let handle = UInt16.random(in: 0...0x0EFF, using: &random)
        let flags = UInt16.random(in: 0...15, using: &random) << 12
        var bytes: [UInt8] = []
        let payload = random.bytes(Int.random(in: 0...60, using: &random))
        switch (Int.random(in: 0...3, using: &random), source) {
        case (0, .host):
            bytes = [1]
            bytes.appendLittleEndian(UInt16.random(in: 1...UInt16.max, using: &random))
            bytes.append(UInt8(payload.count))
        case (0, .controller): bytes = [4, UInt8.random(in: 1...0x7F, using: &random), UInt8(payload.count)]
        case (1, _):
            bytes = [2]
            bytes.appendLittleEndian(handle | flags)
            bytes.appendLittleEndian(UInt16(payload.count))
        case (2, _):
            bytes = [3]
            bytes.appendLittleEndian(handle | flags)
            bytes.append(UInt8(payload.count))
        default:
            bytes = [5]
            bytes.appendLittleEndian(handle | flags)
            bytes.appendLittleEndian(UInt16(payload.count) | 0xC000)
        }
        return bytes + payload
    }

    @Test("Whole packets are made from chunks of any size", arguments: [H4Deframer.Source.host, .controller])
    func chunks(_ source: H4Deframer.Source) {
        for seed: UInt64 in 1...50 {
            var random = SplitMix64(seed: seed)
            let packets = (0..<40).map { _ in Self.packet(from: source, &random) }
            var deframer = H4Deframer(from: source)
            let drained = drain(
                &deframer,
                packets.flatMap { $0 },
                chunks: { Int.random(in: 1...30, using: &$0) },
                random: &random
            )
            #expect(drained == Drained(packets: packets, garbage: []), "seed \(seed)")
            #expect(deframer.bufferedCount == 0)
        }
    }

    @Test("Bytes that begin no packet are reported, and the packets around them arrive")
    func resynchronisation() {
        for seed: UInt64 in 100...300 {
            var random = SplitMix64(seed: seed)
            var stream: [UInt8] = []
            var packets: [[UInt8]] = []
            var garbage: [UInt8] = []
            for _ in 0..<20 {
                let packet = Self.packet(from: .controller, &random)
                packets.append(packet)
                // None of 2...5 is among these, so that a header cannot begin within them.
                let noise = random.bytes(Int.random(in: 0...600, using: &random)).map { $0 | 0x08 }
                garbage += noise
                stream += noise + packet
            }
            var deframer = H4Deframer(from: .controller)
            let drained = drain(&deframer, stream, chunks: { Int.random(in: 1...400, using: &$0) }, random: &random)
            #expect(drained == Drained(packets: packets, garbage: garbage), "seed \(seed)")
        }
    }

    @Test("After noise of any kind, no byte is lost and packets arrive again")
    func arbitraryNoise() {
        for seed: UInt64 in 1000...1200 {
            var random = SplitMix64(seed: seed)
            let noise = random.bytes(Int.random(in: 1...2000, using: &random))
            let packets = (0..<2000).map { _ in Self.packet(from: .controller, &random) }
            let stream = noise + packets.flatMap { $0 }
            var deframer = H4Deframer(from: .controller)
            let drained = drain(&deframer, stream, chunks: { Int.random(in: 1...100, using: &$0) }, random: &random)
            #expect(drained.packets.suffix(100) == packets.suffix(100), "seed \(seed)")
            let count = drained.garbage.count + drained.packets.reduce(0) { $0 + $1.count } + deframer.bufferedCount
            #expect(count == stream.count, "seed \(seed)")
        }
    }

    @Test("Headers that cannot be are skipped")
    func implausible() {
        let event: [UInt8] = [0x04, 0x10, 0x01, 0x42]
        for noise: [UInt8] in [
            [0x01, 0x10, 0x10, 0x00],  // a command, which controllers do not send
            [0x02, 0xFF, 0xFF, 0x10, 0x00],  // a handle of 0xFFF
            [0x02, 0x40, 0x00, 0xFF, 0xFF],  // longer than anything
            [0x04, 0x90, 0x00],  // no event has this code
            [0x00], [0x06], [0xFF],
        ] {
            var deframer = H4Deframer(from: .controller)
            var random = SplitMix64(seed: 1)
            let drained = drain(&deframer, noise + event, chunks: { _ in 3 }, random: &random)
            #expect(drained.packets.last == event, "\(noise)")
            #expect(drained.garbage == noise, "\(noise)")
        }
    }

    @Test("The longest packet can be configured, and packets up to it pass")
    func maximumLength() {
        var deframer = H4Deframer(from: .controller, maximumDataLength: 300)
        var random = SplitMix64(seed: 7)
        let longest = ACLPacket(handle: 1, boundary: .firstFlushable, data: random.bytes(300)[...]).packet
        #expect(drain(&deframer, longest, chunks: { _ in 7 }, random: &random) == Drained(packets: [longest]))
        let tooLong = ACLPacket(handle: 1, boundary: .firstFlushable, data: [UInt8](repeating: 0, count: 301)[...])
        let drained = drain(&deframer, tooLong.packet, chunks: { _ in 7 }, random: &random)
        #expect(drained.packets.isEmpty && drained.garbage.count == tooLong.packet.count)
    }
}
