import Foundation
import Testing

@testable import cairn_bench

/// Figures that are held to those in a file.
@Suite struct HeldTests {
    private func held(_ figures: [String: Double]) -> HeldFigures {
        var held = HeldFigures()
        held.allocations[HeldFigures.build] = figures
        return held
    }

    @Test func whatHasGrownIsNamed() {
        let held = held(["a": 0, "b": 100, "gone": 1])
        #expect(held.problems(["a": 0.5, "b": 102.5, "gone": 0]) == [])
        #expect(
            held.problems(["a": 0.51, "b": 102.6, "new": 0]) == [
                "a: 0.51 allocations, and 0.00 are held", "b: 102.60 allocations, and 100.00 are held",
                "new: 0.00 allocations, and no figure is held", "gone: there is no such benchmark any more",
            ]
        )
    }

    @Test func aFileIsReadAsItWasWritten() throws {
        var held = held(["a": 1.25, "b": 0])
        held.allocations["another"] = ["a": 7]
        #expect(try HeldFigures(try held.file()) == held)
        #expect(throws: (any Error).self) { _ = try HeldFigures(Data("no figures".utf8)) }
    }

    @Test func aCountIsTheSameTwice() throws {
        let benchmark = try #require(Catalogue.benchmarks.first { $0.name == "appmessage-encode" })
        #expect(try HeldFigures.measure(benchmark) == HeldFigures.measure(benchmark))
    }
}
