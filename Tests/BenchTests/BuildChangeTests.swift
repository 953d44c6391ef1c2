import Foundation
import Testing

@testable import cairn_bench

/// What is said of two builds that were measured in turns.
@Suite struct BuildChangeTests {
    @Test func whatChanceExplainsIsNoChange() {
        // The same program, from turn to turn.
        let noisy = BuildChange("a", ratios: [0.9, 1.05, 1.1, 0.98, 1.0, 1.02, 0.95], allocations: (3, 3.4))
        #expect(noisy.verdict == .same && noisy.allocationChange == nil && !noisy.isWorse)
        // Steady, but so little that moved code explains it.
        let little = BuildChange("b", ratios: [1.015, 1.016, 1.015, 1.014, 1.015], allocations: nil)
        #expect(little.verdict == .same)
    }

    @Test func whatIsBeyondTheNoiseIsNamed() {
        let slower = BuildChange("a", ratios: [1.09, 1.12, 1.1, 1.11, 2.5, 1.1, 1.08], allocations: (3, 3))
        #expect(slower.verdict == .slower && slower.isWorse)
        #expect(abs(slower.ratio - 1.1) < 0.001)
        let faster = BuildChange("b", ratios: [0.5, 0.52, 0.51, 0.49, 0.5], allocations: (3, 5))
        #expect(faster.verdict == .faster)
        #expect(faster.allocationChange == 2 && faster.isWorse)
        let text = CairnBench.CompareCommand.table([slower, faster])
        #expect(text.hasSuffix("Changed: a, b."))
        #expect(text.contains("3 → 5"))
    }

    @Test func onlyWhatBothHaveIsCompared() throws {
        func figures(_ text: String) throws -> CostFigures {
            try JSONDecoder().decode(CostFigures.self, from: Data(text.utf8))
        }
        let before = try figures(
            #"{"measurements":[{"name":"a","nanoseconds":100,"allocations":1},{"name":"old","nanoseconds":1,"allocations":0}]}"#
        )
        let after = try figures(
            #"{"measurements":[{"name":"a","nanoseconds":150,"allocations":1},{"name":"new","nanoseconds":1,"allocations":0}]}"#
        )
        let changes = CostFigures.changes(from: [before, before, before], to: [after, after, after])
        #expect(changes.map(\.name) == ["a"])
        #expect(changes.map(\.ratio) == [1.5] && changes.map(\.verdict) == [.slower])
        #expect(CostFigures.changes(from: [], to: []).isEmpty)
    }

    @Test func aCheckoutWithoutABuildIsRefused() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(throws: (any Error).self) { try CairnBench.CompareCommand.program(of: folder.path) }
        #expect(throws: (any Error).self) { try CairnBench.CompareCommand.program(of: folder.path + "/none") }
    }
}
