import SeededRandomness
import Testing

@testable import Bundles

/// bzip2 as the SDK packs its flash images. The packed bytes were made by Python's bz2.
@Suite struct BZip2Tests {
    private struct Full: Error {}

    private func unpacked(_ packed: [UInt8], limit: Int = 1 << 20) -> (bytes: [UInt8], problem: BZip2.Problem?) {
        var bytes: [UInt8] = []
        let problem = BZip2.unpack(packed, limit: limit) { bytes += $0 }
        return (bytes, problem)
    }

    private static let text: [UInt8] = [
        0x42, 0x5A, 0x68, 0x39, 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, 0xAB, 0xF7, 0x2C, 0xBD, 0x00, 0x00, 0x04, 0x93,
        0x80, 0x40, 0x01, 0x04, 0x00, 0x3F, 0xFF, 0xFF, 0xF0, 0x20, 0x00, 0x31, 0x40, 0x00, 0xD0, 0x00, 0x01, 0x8F,
        0x4D, 0x23, 0x46, 0x4D, 0x34, 0xC8, 0x6D, 0x1B, 0x51, 0x11, 0x31, 0x04, 0x24, 0x97, 0x3E, 0xBE, 0x85, 0x4D,
        0x15, 0x95, 0xBF, 0x8A, 0xDF, 0x89, 0x82, 0xA7, 0xDA, 0x5C, 0xE7, 0x65, 0x30, 0x25, 0xAE, 0x31, 0x91, 0x77,
        0x24, 0x53, 0x85, 0x09, 0x0A, 0xBF, 0x72, 0xCB, 0xD0,
    ]
    private static let empty: [UInt8] = [
        0x42, 0x5A, 0x68, 0x39, 0x17, 0x72, 0x45, 0x38, 0x50, 0x90, 0x00, 0x00, 0x00, 0x00,
    ]
    private static let runs: [UInt8] = [
        0x42, 0x5A, 0x68, 0x39, 0x31, 0x41, 0x59, 0x26, 0x53, 0x59, 0x1B, 0x52, 0x87, 0x1A, 0x00, 0x03, 0xDE, 0x50,
        0x00, 0xE0, 0x80, 0x04, 0x20, 0x00, 0x08, 0xA0, 0x00, 0x31, 0x0C, 0x00, 0x52, 0x94, 0xF4, 0x26, 0xE4, 0xEE,
        0xF1, 0x7B, 0x19, 0x42, 0x16, 0x88, 0x5E, 0xFC, 0x5D, 0xC9, 0x14, 0xE1, 0x42, 0x40, 0x6D, 0x4A, 0x1C, 0x68,
    ]
    @Test func whatPythonPackedIsWhatItWas() throws {
        #expect(unpacked(Self.text).bytes == Array("The quick brown fox jumps over the lazy dog.".utf8))
        #expect(unpacked(Self.empty).bytes.isEmpty && unpacked(Self.empty).problem == nil)
        let runs = unpacked(Self.runs)
        #expect(runs.problem == nil)
        #expect(
            runs.bytes == [UInt8](repeating: 0xFF, count: 100_000) + [0, 0, 0, 0, 1] + [UInt8](repeating: 7, count: 300)
        )
        // Two streams, one after the other, are one file.
        #expect(unpacked(Self.text + Self.text).bytes == unpacked(Self.text).bytes + unpacked(Self.text).bytes)
    }

    @Test func whatIsDamagedSaysSo() {
        #expect(unpacked(Array("PK\u{3}\u{4}".utf8)).problem == .notPacked)
        #expect(unpacked([]).problem == .notPacked)
        #expect(unpacked(Array(Self.text.dropLast(5))).problem == .truncated)
        var wrong = Self.text
        // The checksum of the block: nothing of it is handed out.
        wrong[12] ^= 1
        #expect(unpacked(wrong).problem == .wrongChecksum)
        #expect(unpacked(wrong).bytes.isEmpty)
        #expect(unpacked(Self.runs, limit: 1000).problem == .tooLarge(limit: 1000))
    }

    @Test func anErrorOfTheWriterIsTheCallers() {
        #expect(throws: Full.self) { try BZip2.unpack(Self.text, limit: 1000) { _ throws(Full) in throw Full() } }
    }

    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func noFileTraps(seed: UInt64) {
        var chance = SplitMix64(seed: seed)
        for _ in 0..<20 {
            var packed = Bool.random(using: &chance) ? Self.text : Self.runs
            for _ in 0..<Int.random(in: 1...4, using: &chance) {
                packed[Int.random(in: 4..<packed.count, using: &chance)] = UInt8.random(in: 0...255, using: &chance)
            }
            #expect(unpacked(packed).bytes.count <= 1 << 20, "seed \(seed)")
        }
    }
}
