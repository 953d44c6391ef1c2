import BluetoothHost
import SeededRandomness
import Testing

@testable import PebbleWatch

/// When a watch that hides its address takes another one.
@Suite struct AddressEpochsTests {
    private static let lifetime: Duration = .seconds(900)
    /// A start between two moments: 1234 s after one, if that alone decided.
    private static let wallClock: Duration = .seconds(1_790_000_000) + .milliseconds(1234)

    /// The silences of a watch that runs for a day from a time on, in wall-clock time.
    private static func silences(seed: UInt64, from start: Duration) -> [(start: Duration, end: Duration)] {
        var epochs = AddressEpochs(
            lifetime: lifetime,
            wallClock: wallClock,
            random: RandomSource(state: seed, SplitMix64.draw),
            at: start
        )
        var silences: [(Duration, Duration)] = []
        var begin: Duration?
        while epochs.nextDeadline < start + .seconds(86_400) {
            let now = epochs.nextDeadline
            let hasChanged = epochs.advance(to: now)
            #expect(hasChanged)
            if epochs.isSilent {
                begin = wallClock + now
            } else if let begin {
                silences.append((begin, wallClock + now))
            }
        }
        return silences
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func allWatchesAreSilentAtTheSameMoments(seed: UInt64) {
        // Whenever the watch was switched on.
        let silences = Self.silences(seed: seed, from: .seconds(Int64(seed) * 37))
        #expect(silences.count >= 94)
        for (start, end) in silences {
            let moment = Self.lifetime * Int64(end / Self.lifetime)
            #expect(start <= moment && moment <= end, "seed \(seed): silent from \(start) to \(end), without \(moment)")
            #expect(moment - start <= AddressEpochs.longestSilence)
            #expect(end - moment <= AddressEpochs.longestSilence)
        }
    }

    @Test func neitherOrderOfTwoWatchesSaysAnything() {
        let first = Self.silences(seed: 1, from: .zero)
        let second = Self.silences(seed: 2, from: .zero)
        let pairs = Array(zip(first, second))
        let sameOrder = pairs.count { ($0.start < $1.start) == ($0.end < $1.end) }
        // By chance it is half of them; of 95, 30 or 65 are three standard deviations away.
        #expect((30...65).contains(sameOrder), "\(sameOrder) of \(pairs.count)")
    }

    @Test func timeThatWasSleptThroughIsSilenceEnough() {
        var epochs = AddressEpochs(
            lifetime: Self.lifetime,
            wallClock: Self.wallClock,
            random: RandomSource(state: 3, SplitMix64.draw),
            at: .zero
        )
        let woken = Self.lifetime * 10
        let changes = [epochs.advance(to: woken), epochs.advance(to: woken)]
        #expect(changes == [true, false])
        #expect(!epochs.isSilent)
        #expect(epochs.nextDeadline > woken)
    }
}
