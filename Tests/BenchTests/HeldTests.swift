import Foundation
import Testing

@testable import cairn_bench

/// Figures that are held to those in a file.
@Suite struct HeldTests {
    private func held(_ figures: [String: Double]) -> HeldFigures {
        var held = HeldFigures()
        held[.allocations] = figures
        return held
    }

    @Test func whatHasGrownIsNamed() {
        let held = held(["a": 0, "b": 100, "gone": 1])
        #expect(held.problems(["a": 0.5, "b": 102.5, "gone": 0], .allocations) == [])
        #expect(
            held.problems(["a": 0.51, "b": 102.6, "new": 0], .allocations) == [
                "a: 0.51 allocations, and 0.00 are held", "b: 102.60 allocations, and 100.00 are held",
                "new: 0.00 allocations, and no figure is held", "gone: there is no such benchmark any more",
            ]
        )
    }

    @Test func whatHasFallenFarIsNamed() {
        var held = held(["a": 6.3, "b": 100, "c": 0.5, "new": 1])
        #expect(
            held.fallen(["a": 0.06, "b": 97.6, "c": 0, "other": 0], .allocations) == [
                "a: 0.06 allocations, and 6.30 are held, which is more"
            ]
        )
        held[.ratios] = ["idle": 1.7]
        #expect(held.fallen(["idle": 1], .ratios) == [])
    }

    @Test func aFileIsReadAsItWasWritten() throws {
        var held = held(["a": 1.25, "b": 0])
        held[.systemCalls] = ["c": 7]
        #expect(try HeldFigures(try held.file()) == held)
        #expect(throws: (any Error).self) { _ = try HeldFigures(Data("no figures".utf8)) }
    }

    @Test func memorySystemCallsAndRatiosAreHeldAsWell() {
        var held = HeldFigures()
        held[.systemCalls] = ["reads": 1]
        held[.ratios] = ["idle": 1]
        held[.memory] = ["pair": 58_000]
        #expect(held.problems(["pair": 59_000], .memory) == [])
        #expect(held.problems(["pair": 60_000], .memory) == ["pair: 60000.00 bytes, and 58000.00 are held"])
        #expect(held.problems(["reads": 1.04], .systemCalls) == [])
        #expect(held.problems(["reads": 1.1], .systemCalls) == ["reads: 1.10 system calls, and 1.00 are held"])
        #expect(held.problems(["idle": 1.14], .ratios) == [])
        #expect(held.problems(["idle": 1.2], .ratios) == ["idle: 1.20 times as much, and 1.00 are held"])
    }

    /// One turn of the loop a burst: one wait, one read, one send, and what is sent acknowledges what was read.
    @Test func aBurstIsReadAndAnsweredAtOnce() throws {
        let calls = try LoopTrial.run(bursts: 200).systemCalls
        #expect(calls == ["reads": 1, "waits": 1, "sends": 1, "options": 0])
    }

    @Test func aCountIsTheSameTwice() throws {
        let benchmark = try #require(Catalogue.benchmarks.first { $0.name == "appmessage-encode" })
        #expect(try HeldFigures.measure(benchmark) == HeldFigures.measure(benchmark))
    }
}
