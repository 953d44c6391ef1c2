import ByteCoding
import PebblePhone
import SeededRandomness
import Testing

@testable import FlightRecorder

/// What a recorder keeps in memory: the last frames, whatever their lengths are.
@Suite struct MemoryTests {
    /// A header that can be read.
    private static let header = RecordingHeader(
        program: "test",
        circumstances: .init(addressType: 1, address: 0xC0DE, startTime: 0, wallClock: .zero)
    )

    private static func region(_ limit: Int) -> UnsafeMutableRawBufferPointer {
        let size = RecorderMemory.size(beginning: Recording.beginning(header).count, limit: limit)
        return .allocate(byteCount: size, alignment: 8)
    }

    private static func frame(_ content: [UInt8]) -> [UInt8] {
        var frame: [UInt8] = []
        Recording.append(frame: content, to: &frame)
        return frame
    }

    @Test(arguments: [1, 2, 3, 4] as [UInt64]) func theLastFramesAreKept(_ seed: UInt64) throws {
        var chance = SplitMix64(seed: seed)
        let limit = 1000 + Int(chance.next() % 100)
        let region = Self.region(limit)
        defer { region.deallocate() }
        var memory = RecorderMemory(in: region, beginning: Recording.beginning(Self.header))
        var all: [[UInt8]] = []
        for number in 0..<500 {
            let frame = Self.frame(chance.bytes(Int(chance.next() % (number % 50 == 49 ? 1500 : 200))))
            memory.append(frame, upTo: .nanoseconds(number))
            all.append(frame)
            // As many of the last ones as there is room for; one that is too long itself leaves nothing.
            var kept: [[UInt8]] = []
            var size = 0
            for frame in all.reversed() {
                size += frame.count + 12
                guard size <= limit else { break }
                kept.insert(frame, at: 0)
            }
            let dropped = all.count - kept.count
            #expect(memory.frames == kept.flatMap { $0 }, "seed \(seed), frame \(number)")
            #expect(memory.droppedCount == dropped, "seed \(seed), frame \(number)")
            #expect(memory.origin == .nanoseconds(max(dropped - 1, 0)), "seed \(seed), frame \(number)")
            let header = Self.header.beginning(part: dropped, at: .nanoseconds(max(dropped - 1, 0)))
            let left = try RecorderMemory.recording(of: Array(region))
            #expect(left == Recording.beginning(header) + kept.flatMap { $0 }, "seed \(seed), frame \(number)")
        }
        #expect(memory.droppedCount > 400)
    }

    @Test func aProcessThatIsGoneLeavesItsRecording() throws {
        let host = try RecordedHost(seed: 77, limit: 1_000_000)
        let owner = Region(host.recorder.memorySize)
        host.recorder.keepMemory(in: owner.bytes, of: owner)
        var air = try RecordedAir(host, seed: 77)
        air.acquaint()
        host.recorder.flush()
        let left = try FlightRecorder.recording(ofMemory: Array(owner.bytes))
        #expect(left == host.recorder.recording())
        let replay = try Replay.all(of: left)
        #expect(replay.divergence == nil)
        #expect(replay.watch.bondedPhones.count == 1)
    }

    /// The file that it is in is changed, or lost to zeros, while the recorder uses it: frames are lost, and nothing else.
    @Test(arguments: [1, 2, 3, 4] as [UInt64]) func aMemoryThatSomebodyChangesEndsNothing(_ seed: UInt64) {
        var chance = SplitMix64(seed: seed)
        let region = Self.region(1500)
        defer { region.deallocate() }
        var memory = RecorderMemory(in: region, beginning: Recording.beginning(Self.header))
        for number in 0..<2000 {
            memory.append(Self.frame(chance.bytes(Int(chance.next() % 200))), upTo: .nanoseconds(number))
            if number % 100 == 50 {
                let isZero = chance.next() % 2 == 0
                for index in region.indices { region[index] = isZero ? 0 : UInt8(truncatingIfNeeded: chance.next()) }
            }
            #expect(memory.frames.count <= 1500, "seed \(seed), frame \(number)")
        }
        // What is kept after all of the changed bytes have been given up is as it was written.
        let last = (0..<20).map { _ in Self.frame(chance.bytes(60)) }
        for frame in last { memory.append(frame, upTo: .seconds(1)) }
        #expect(memory.frames.suffix(600) == ArraySlice(last.flatMap { $0 }).suffix(600), "seed \(seed)")
    }

    /// Any bytes at all, and any change of good ones: an error with its place, or a recording.
    @Test func nothingInAMemoryIsBelieved() throws {
        let region = Self.region(2000)
        defer { region.deallocate() }
        var memory = RecorderMemory(in: region, beginning: Recording.beginning(Self.header))
        var chance = SplitMix64(seed: 0xBAD)
        for number in 0..<60 { memory.append(Self.frame(chance.bytes(80)), upTo: .seconds(number)) }
        let good = Array(region)
        var refusals = 0
        for round in 0..<4000 {
            var bytes = good
            switch round % 3 {
            case 0: bytes = chance.bytes(Int(chance.next() % 300))
            case 1: bytes.removeLast(Int(chance.next() % UInt64(bytes.count)))
            default:
                for _ in 0..<(1 + chance.next() % 4) {
                    bytes[Int(chance.next() % 60)] = UInt8(truncatingIfNeeded: chance.next())
                }
            }
            do {
                _ = try RecorderMemory.recording(of: bytes)
            } catch {
                refusals += 1
            }
        }
        #expect(refusals > 2000)
    }

    private final class Region {
        let bytes: UnsafeMutableRawBufferPointer

        init(_ size: Int) { bytes = .allocate(byteCount: size, alignment: 8) }
        deinit { bytes.deallocate() }
    }
}
