import BluetoothHost
import SeededRandomness
import Synchronization

/// A source of randomness that remembers what was drawn, for a recorder.
///
/// A recording keeps the numbers themselves and no seed: a seed would give away every key that the watch ever makes, also those
/// that it makes after the recording, and would put a generator of our own in the place of the operating system's.
public final class DrawnNumbers: Sendable {
    private struct State: Sendable {
        var source: RandomSource
        var numbers: [UInt64] = []
    }

    private let state: Mutex<State>

    /// - Parameter source: where the numbers come from; all copies of `randomness` share it.
    public init(_ source: RandomSource) { state = Mutex(State(source: source)) }

    /// The source for the watch.
    public var randomness: RandomSource {
        RandomSource { _ in
            self.state.withLock { state in
                let number = state.source.next()
                state.numbers.append(number)
                return number
            }
        }
    }

    /// Takes what has been drawn since it was last asked.
    func take() -> [UInt64] {
        state.withLock { state in
            guard !state.numbers.isEmpty else { return [] }
            defer { state.numbers = [] }
            return state.numbers
        }
    }
}

/// A source of randomness that yields what a recording has, for a replay.
final class ReplayedNumbers: Sendable {
    private struct State: Sendable {
        var numbers: ArraySlice<UInt64> = []
        /// How many were drawn beyond those.
        var missing = 0
        /// What is drawn then: a replay that differs still is the same every time.
        var substitute = SplitMix64(seed: 0)
    }

    private let state = Mutex(State())

    /// The source for the watch.
    var randomness: RandomSource {
        RandomSource { _ in
            self.state.withLock { state in
                if let number = state.numbers.popFirst() { return number }
                state.missing += 1
                return state.substitute.next()
            }
        }
    }

    /// Lays out what is drawn next.
    func load(_ numbers: [UInt64]) {
        state.withLock { state in
            state.numbers = numbers[...]
            state.missing = 0
        }
    }

    /// How many numbers were not drawn, or, if that is negative, how many too many.
    var balance: Int { state.withLock { $0.missing > 0 ? -$0.missing : $0.numbers.count } }
}
