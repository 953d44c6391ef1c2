import Foundation
import FuzzTargets
import SeededRandomness
import Testing

/// Every target, without libFuzzer: over the inputs that are kept, and over a seeded share of what can be made of them.
@Suite("Fuzz targets") struct TargetTests {
    /// The first seed, unless `CAIRN_SEED` sets it.
    private static let seed = ProcessInfo.processInfo.environment["CAIRN_SEED"].flatMap(UInt64.init) ?? 0xF022
    /// How many inputs are made for a decoder, unless `CAIRN_FUZZ_RUNS` sets the number. Of what takes
    /// longer there are as many fewer.
    private static let runs = ProcessInfo.processInfo.environment["CAIRN_FUZZ_RUNS"].flatMap(Int.init) ?? 20_000

    private static func corpus(of target: FuzzTarget) throws -> [(name: String, bytes: [UInt8])] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appending(path: "Fuzz/corpus/\(target.name)")
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path()).sorted()
        return try names.map { ($0, [UInt8](try Data(contentsOf: folder.appending(path: $0)))) }
    }

    private static func share(of target: FuzzTarget) -> Int { runs / target.weight }

    @Test(arguments: FuzzTarget.all.map(\.name))
    func keptInputs(name: String) throws {
        let target = try #require(FuzzTarget.named(name))
        let inputs = try Self.corpus(of: target)
        #expect(!inputs.isEmpty, "there are no inputs for \(name)")
        for input in inputs {
            #expect(throws: Never.self, "Tests/Fuzz/corpus/\(name)/\(input.name)") { try target.runTwice(input.bytes) }
        }
    }

    @Test(arguments: FuzzTarget.all.map(\.name))
    func seededMutations(name: String) throws {
        let target = try #require(FuzzTarget.named(name))
        let inputs = try Self.corpus(of: target).map(\.bytes)
        var mutator = Mutator(seed: Self.seed)
        for number in 0..<Self.share(of: target) {
            let input = mutator.next(from: inputs, limit: target.inputLimit)
            do {
                try target.run(input[...])
            } catch {
                let hexadecimal = input.map { String(format: "%02x", $0) }.joined()
                Issue.record("CAIRN_SEED=\(Self.seed), input \(number): \(error): \(hexadecimal)")
                return
            }
        }
    }

    @Test func aFindingIsAnError() throws {
        let target = try #require(FuzzTarget.named("ppogatt"))
        #expect(FuzzTarget.named("no such target") == nil)
        #expect(FuzzTarget.all.map(\.name).count == Set(FuzzTarget.all.map(\.name)).count)
        // The same input comes to the same digest, and another to another.
        let first = try target.run([0, 1, 0, 0, 0, 100, 0][...])
        #expect(try target.run([0, 1, 0, 0, 0, 100, 0][...]) == first)
        #expect(try target.run([1, 1, 0, 0, 0, 100, 0][...]) != first)
    }
}
