import SeededRandomness
import Testing

@testable import Board

/// What the LED does in time.
@Suite struct LEDPatternTests {
    /// When the LED goes on and off, up to a time, if the loop wakes at each deadline.
    private func changes(of signal: LEDSignal, shownAt start: Int, until end: Int) -> [Int] {
        var pattern = LEDPattern()
        pattern.show(signal, at: .milliseconds(start))
        var times = pattern.isLit ? [start] : []
        while let deadline = pattern.nextDeadline, deadline <= .milliseconds(end) {
            let wasLit = pattern.isLit
            pattern.advance(to: deadline)
            if pattern.isLit != wasLit { times.append(Int(deadline / .milliseconds(1))) }
        }
        return times
    }

    @Test func eachSignalHasItsPattern() {
        #expect(
            changes(of: .advertising, shownAt: 100, until: 2200) == [100, 150, 1100, 1150, 2100, 2150]
        )
        #expect(changes(of: .pairing, shownAt: 0, until: 1600) == [0, 500, 1000, 1500])
        #expect(changes(of: .question, shownAt: 7, until: 450) == [7, 107, 207, 307, 407])
        #expect(
            changes(of: .fault, shownAt: 0, until: 2500) == [0, 100, 300, 400, 2000, 2100, 2300, 2400]
        )
        #expect(changes(of: .connected, shownAt: 5, until: 100_000) == [5])
        #expect(changes(of: .idle, shownAt: 5, until: 100_000) == [])
    }

    @Test func sayingTheSameAgainDoesNotBeginAgain() {
        var pattern = LEDPattern()
        pattern.show(.pairing, at: .zero)
        pattern.show(.pairing, at: .milliseconds(400))
        #expect(pattern.nextDeadline == .milliseconds(500))
        pattern.show(.connected, at: .milliseconds(450))
        #expect(pattern.isLit)
        #expect(pattern.nextDeadline == nil)
        pattern.show(.idle, at: .milliseconds(460))
        #expect(!pattern.isLit)
    }

    /// The loop may come late and at any time: the LED is as it should be then, and the next change is in the future.
    @Test(arguments: LEDSignal.allCases) func aLateLoopLosesNoTime(signal: LEDSignal) {
        var random = SplitMix64(seed: 7)
        let period = signal.steps.reduce(.zero, +)
        let start = Duration.milliseconds(12_345)
        var late = LEDPattern()
        late.show(signal, at: start)
        var now = start
        for _ in 0..<300 {
            now += .microseconds(Int64.random(in: 0...3_000_000, using: &random))
            late.advance(to: now)
            // Counted by hand: how far into the period, and which step that is.
            var phase = now - start
            while period > .zero, phase >= period { phase -= period }
            var end = Duration.zero
            let index = signal.steps.firstIndex { step in
                end += step
                return phase < end
            }
            #expect(
                late.isLit == (index.map { $0.isMultiple(of: 2) } ?? (signal == .connected)),
                "at \(now)"
            )
            #expect(late.nextDeadline == index.map { _ in now + end - phase }, "at \(now)")
            #expect(late.nextDeadline.map { $0 > now } ?? true)
        }
    }

    @Test func nothingHappensBeforeItsTime() {
        var pattern = LEDPattern()
        pattern.show(.advertising, at: .zero)
        pattern.advance(to: .milliseconds(49))
        #expect(pattern.isLit)
        #expect(pattern.nextDeadline == .milliseconds(50))
    }
}
