/// What an oracle found wrong: said in words, with what is needed to see why.
package struct FuzzFinding: Error, Sendable, CustomStringConvertible {
    /// What is wrong.
    package let description: String

    /// Says what is wrong.
    package init(_ description: String) { self.description = description }
}

/// Fails with a finding unless the condition holds.
func expect(_ condition: Bool, _ text: @autoclosure () -> String) throws(FuzzFinding) {
    guard condition else { throw FuzzFinding(text()) }
}

/// One thing that hostile bytes are thrown at: a decoder, or a machine whose input is a program.
///
/// A target is a function of its bytes alone: no clock, no randomness but what is seeded, no state that outlives a run. The
/// same target is run by libFuzzer (`Tests/Fuzz/run`) and by `Tests/FuzzTests`, which needs no sanitizer.
package struct FuzzTarget: Sendable {
    /// What an input may cost: a bound that needs no clock.
    package struct Budget: Sendable {
        /// The bytes that any input may allocate, however short it is.
        package var bytes: Int
        /// The bytes that it may allocate for each of its own. Work that grows with the square of an input shows in it,
        /// as long as the work copies something.
        package var bytesEach: Int
        /// The edges of our rooms' code that any input may go through: work that copies nothing shows in them. Only
        /// `Tests/Fuzz/run` compiles what counts them.
        package var edges: Int
        /// The edges for each of its bytes.
        package var edgesEach: Int

        /// All that an input of this length may allocate.
        package func bytes(for count: Int) -> Int { bytes + bytesEach * count }

        /// All the edges that an input of this length may go through.
        package func edges(for count: Int) -> Int { edges + edgesEach * count }
    }

    /// What it is called on a command line, and its folder of inputs in `Tests/Fuzz/corpus`.
    package let name: String
    /// What it runs, in a line.
    package let summary: String
    /// The longest input that is made for it, in bytes.
    package let inputLimit: Int
    /// What an input may cost.
    package let budget: Budget
    /// How many inputs of a decoder take as long as one of its own.
    package let weight: Int
    /// The rooms whose code guides a search: an input that reaches new code of theirs is kept. What it reaches elsewhere is run
    /// all the same; to look at all code after each input takes more time than the input does.
    package let rooms: [String]
    private let body: @Sendable (ArraySlice<UInt8>) throws -> UInt64

    init(
        _ name: String,
        _ summary: String,
        inputLimit: Int,
        budget: Budget,
        weight: Int = 1,
        rooms: [String],
        _ body: @escaping @Sendable (ArraySlice<UInt8>) throws -> UInt64
    ) {
        self.name = name
        self.summary = summary
        self.inputLimit = inputLimit
        self.budget = budget
        self.weight = weight
        self.rooms = rooms
        self.body = body
    }

    /// Runs one input.
    /// - Returns: a digest of everything that came out: the same for the same input, always.
    /// - Throws: ``FuzzFinding`` when an oracle does not hold.
    @discardableResult
    package func run(_ input: ArraySlice<UInt8>) throws -> UInt64 {
        try body(input.prefix(inputLimit))
    }

    /// Runs an input twice, from different places of memory, and compares.
    package func runTwice(_ input: [UInt8]) throws {
        let first = try run(input[...])
        // A slice that does not begin at index 0 is what decoders get most of the time.
        let second = try run(([0xA5, 0x5A, 0xA5] + input)[3...])
        try expect(first == second, "\(name): the same input came to two results")
    }
}
