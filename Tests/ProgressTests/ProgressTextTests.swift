import Testing

@testable import Progress

struct ProgressTextTests {
    @Test func aLineSaysHowMuchIsDoneAndWhatIsLeft() {
        let line = ProgressText.line("Trials", 25, of: 100, after: .seconds(24), width: 80)
        #expect(line == "Trials  [######··················] 25 %  1 min 12 s left")
    }

    @Test func aBeginningAndAnEndPromiseNothing() {
        #expect(!ProgressText.line("Trials", 0, of: 10, after: .seconds(9), width: 80).contains("left"))
        #expect(!ProgressText.line("Trials", 1, of: 10, after: .milliseconds(10), width: 80).contains("left"))
        #expect(ProgressText.line("Trials", 10, of: 10, after: .seconds(9), width: 80).hasSuffix(" 100 %"))
        #expect(ProgressText.line("Trials", 0, of: 0, after: .zero, width: 80).hasSuffix(" 100 %"))
    }

    @Test func aLineFitsTheTerminal() {
        #expect(ProgressText.line("Trials", 25, of: 100, after: .seconds(24), width: 20).count == 19)
        #expect(ProgressText.line("Trials", 25, of: 100, after: .seconds(24), width: 0).isEmpty)
    }

    @Test func timesAreRound() {
        #expect(ProgressText.time(.milliseconds(20)) == "1 s")
        #expect(ProgressText.time(.seconds(59.6)) == "1 min 0 s")
        #expect(ProgressText.time(.seconds(3720)) == "1 h 2 min")
    }
}
