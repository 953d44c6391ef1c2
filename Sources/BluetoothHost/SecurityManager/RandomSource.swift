/// A source of random numbers that is a value: a copy goes on by itself, with what the original would have yielded.
///
/// On a real radio every number has to come from a cryptographically secure generator, since keys, nonces, passkeys and
/// private addresses are made of them. Such a source keeps its state elsewhere and ignores the one that it is given.
/// Simulations and tests hand in a generator whose whole state is one number, so that a run can be repeated.
public struct RandomSource: RandomNumberGenerator, Sendable {
    private var state: UInt64
    private let draw: @Sendable (inout UInt64) -> UInt64

    /// A source that draws each number with a function.
    /// - Parameters:
    ///   - state: what the function starts from; of no meaning to a function that ignores it.
    ///   - draw: yields 64 random bits, and changes the state to what the next draw starts from. It must keep nothing
    ///     else that copies of the source would share, unless what it yields is not to be repeated.
    public init(state: UInt64 = 0, _ draw: @escaping @Sendable (_ state: inout UInt64) -> UInt64) {
        self.state = state
        self.draw = draw
    }

    /// Draws 64 random bits.
    public mutating func next() -> UInt64 { draw(&state) }
}
