import BluetoothHCI
import ByteCoding
import SeededRandomness
import Testing

@testable import BluetoothHost

@Suite("L2CAP recombination")
struct FrameRecombinerTests {
    static func bytes(_ text: String) -> ArraySlice<UInt8> { ([UInt8](hexadecimal: text) ?? [])[...] }

    static func frame(_ channel: UInt16, _ payload: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        L2CAPFrame.encodeHeader(payloadCount: payload.count, channel: ChannelID(rawValue: channel), to: &bytes)
        return bytes + payload
    }

    @Test("Frames that are fragmented into packets of any size are recombined")
    func anyCuts() {
        for seed: UInt64 in 1...300 {
            var random = SplitMix64(seed: seed)
            var recombiner = FrameRecombiner()
            for _ in 0..<20 {
                let payload = (0..<Int.random(in: 0...600, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
                let channel = UInt16.random(in: 1...0x7F, using: &random)
                var rest = Self.frame(channel, payload)[...]
                var frames: [L2CAPFrame] = []
                var isStart = true
                while !rest.isEmpty {
                    // Packets without data happen too.
                    let count = Int.random(in: isStart ? 1...60 : 0...60, using: &random)
                    let outcome = recombiner.receive(rest.prefix(count), isStart: isStart)
                    #expect(outcome.problems.isEmpty, "seed \(seed)")
                    if let frame = outcome.frame { frames.append(frame) }
                    rest = rest.dropFirst(count)
                    isStart = false
                }
                let expected = L2CAPFrame(channel: ChannelID(rawValue: channel), payload: payload[...])
                #expect(frames == [expected], "seed \(seed)")
                #expect(recombiner.bufferedCount == 0)
            }
        }
    }

    @Test("A frame that was passed on keeps its bytes when the next one comes")
    func keptFrame() {
        var recombiner = FrameRecombiner()
        _ = recombiner.receive(Self.bytes("0300 0400 01"), isStart: true)
        let kept = recombiner.receive(Self.bytes("0203"), isStart: false).frame
        _ = recombiner.receive(Self.bytes("0300 0400 aa"), isStart: true)
        _ = recombiner.receive(Self.bytes("bbcc"), isStart: false)
        #expect(kept?.payload == [1, 2, 3])
    }

    @Test("A fragment that belongs to no frame is dropped and reported, and the next frame arrives")
    func problems() {
        let whole = "0100 0400 77"
        let cases: [(packets: [(String, isStart: Bool)], problems: [FrameRecombiner.Problem])] = [
            ([("0102", false)], [.continuationWithoutStart(count: 2)]),
            ([("0300 0400 01", true), (whole, true)], [.frameCutShort(needed: 7, available: 5)]),
            (
                [("0300 0400 01", true), ("0100 0400 0102", true)],
                [.frameCutShort(needed: 7, available: 5), .frameOverrun(needed: 5, available: 6)]
            ),
            ([("0300", true), (whole, true)], [.frameCutShort(needed: 4, available: 2)]),
            ([("0100 0400 0102", true)], [.frameOverrun(needed: 5, available: 6)]),
            ([("0300 0400 01", true), ("020304", false), ("05", false)], [.frameOverrun(needed: 7, available: 8)]),
            ([("0108 0400 01", true), ("02", false), ("03", false)], [.frameTooLong(2049)]),
            ([("ff", true), ("ff 0400", false), ("03", false)], [.frameTooLong(0xFFFF)]),
        ]
        for (packets, expected) in cases {
            var recombiner = FrameRecombiner()
            var problems: [FrameRecombiner.Problem] = []
            for (packet, isStart) in packets {
                problems += recombiner.receive(Self.bytes(packet), isStart: isStart).problems
            }
            #expect(problems == expected)
            let next = recombiner.receive(Self.bytes(whole), isStart: true)
            #expect(next.frame?.payload == [0x77] && next.problems.isEmpty)
        }
    }

    @Test("The channel and the first bytes of a lost frame are known as soon as its header is")
    func lostFrames() {
        let whole = "0100 0400 77"
        let cases: [(packets: [(String, isStart: Bool)], lost: [String])] = [
            ([("0300 4000 01", true), (whole, true)], ["0x0040 01 frameCutShort(needed: 7, available: 5)"]),
            ([("0300 40", true), (whole, true)], []),
            ([("0100 4000 0102", true)], ["0x0040 0102 frameOverrun(needed: 5, available: 6)"]),
            ([("0108 0500 0102 03", true), ("0405", false)], ["0x0005 0102 frameTooLong(2049)"]),
            ([("0108 0500", true), ("01", false), ("02", false), ("03", false)], ["0x0005 0102 frameTooLong(2049)"]),
            ([("ffff 4000 01", true), (whole, true)], ["0x0040 01 frameTooLong(65535)"]),
            ([("ffff 4000 01 02", true), (whole, true)], ["0x0040 0102 frameTooLong(65535)"]),
        ]
        for (packets, expected) in cases {
            var recombiner = FrameRecombiner()
            var lost: [String] = []
            for (packet, isStart) in packets {
                lost += recombiner.receive(Self.bytes(packet), isStart: isStart).lost.map {
                    "\($0.channel) \($0.beginning.hexadecimal) \($0.problem.caseDescription)"
                }
            }
            #expect(lost == expected)
        }
    }

    @Test("The longest payload passes, in one packet and in many")
    func longest() {
        var recombiner = FrameRecombiner()
        let frame = Self.frame(4, [UInt8](repeating: 1, count: 2048))
        #expect(recombiner.receive(frame[...], isStart: true).frame?.payload.count == 2048)
        #expect(recombiner.receive(frame.prefix(27), isStart: true).frame == nil)
        #expect(recombiner.receive(frame.dropFirst(27), isStart: false).frame?.payload.count == 2048)
        let longer = Self.frame(4, [UInt8](repeating: 1, count: 2049))
        #expect(recombiner.receive(longer[...], isStart: true).problems == [.frameTooLong(2049)])
    }

    @Test("A packet is taken for a whole frame exactly if the decoder of packets and a new recombiner make it one")
    func wholeFrames() throws {
        for seed: UInt64 in 1...200 {
            var random = SplitMix64(seed: seed)
            var found = 0
            for _ in 0..<100 {
                let payload = [UInt8](repeating: 7, count: Int.random(in: 0...2050, using: &random))
                var packet: [UInt8] = [0xEE]
                ACLPacket.encodeHeader(
                    handle: try #require(ConnectionHandle(rawValue: UInt16.random(in: 0...0x0EFF, using: &random))),
                    boundary: try #require(PacketBoundary.allCases.randomElement(using: &random)),
                    length: L2CAPFrame.headerSize + payload.count,
                    to: &packet
                )
                packet += Self.frame(UInt16.random(in: 0...0x7F, using: &random), payload)
                if Bool.random(using: &random) {
                    let place = Int.random(in: 1..<min(12, packet.count), using: &random)
                    packet[place] = UInt8.random(in: 0...255, using: &random)
                }
                if Int.random(in: 0...9, using: &random) == 0 {
                    packet.removeLast(Int.random(in: 0..<packet.count - 1, using: &random))
                }
                // The packet begins somewhere in its storage.
                let slice = packet.dropFirst()
                let frame = WholeFrame(slice)
                let decoded = try? ACLPacket(body: slice.dropFirst())
                var recombiner = FrameRecombiner()
                let expected = decoded.flatMap {
                    recombiner.receive($0.data, isStart: $0.boundary != .continuing).frame
                }
                #expect(frame?.channel == expected?.channel, "seed \(seed)")
                #expect(frame?.payloadCount == expected?.payload.count, "seed \(seed)")
                guard let frame, let expected else { continue }
                found += 1
                #expect(frame.handle == decoded?.handle, "seed \(seed)")
                #expect(slice.dropFirst(WholeFrame.payloadOffset) == expected.payload, "seed \(seed)")
            }
            #expect(found > 10, "seed \(seed)")
        }
    }

    @Test("Any input leaves a bounded number of bytes waiting")
    func bounded() {
        for seed: UInt64 in 1...50 {
            var random = SplitMix64(seed: seed)
            var recombiner = FrameRecombiner()
            for _ in 0..<2000 {
                let data = (0..<Int.random(in: 0...300, using: &random)).map { _ in
                    UInt8.random(in: 0...9, using: &random)
                }
                _ = recombiner.receive(data[...], isStart: Int.random(in: 0...3, using: &random) == 0)
                #expect(recombiner.bufferedCount <= 4 + 2048, "seed \(seed)")
            }
        }
    }
}

extension FrameRecombiner.Problem {
    fileprivate var caseDescription: String {
        switch self {
        case .continuationWithoutStart(let count): "continuationWithoutStart(\(count))"
        case .frameCutShort(let needed, let available): "frameCutShort(needed: \(needed), available: \(available))"
        case .frameOverrun(let needed, let available): "frameOverrun(needed: \(needed), available: \(available))"
        case .frameTooLong(let count): "frameTooLong(\(count))"
        }
    }
}
