import PebbleProtocol

/// What a ``Demonstration`` does once it has reached a watch.
package struct DemonstrationScript: Sendable {
    /// A dictionary that is sent and must come back as it was.
    package struct Exchange: Hashable, Sendable {
        package var dictionary: AppMessageDictionary
        /// What the watch must be able to do; else the exchange is left out.
        package var requires: Capabilities

        package init(_ dictionary: AppMessageDictionary, requires: Capabilities = []) {
            self.dictionary = dictionary
            self.requires = requires
        }
    }

    /// The watchapp that echoes.
    package var application = Self.echo
    /// One after the other.
    package var exchanges: [Exchange]
    /// From the start, or a lost link, to a session.
    package var reachTimeLimit: Duration = .seconds(90)
    /// For each answer of the watch. It may first have to give up on what a lost link left behind, for which it takes
    /// ten seconds.
    package var answerTimeLimit: Duration = .seconds(30)
    /// How many lost links are made again.
    package var reconnectionLimit = 5

    package init(exchanges: [Exchange]) { self.exchanges = exchanges }

    /// The built-in watchapp that echoes: 2c1d6f5e-8f3a-4c57-9d0e-ec0ec0ec0ec0.
    package static let echo = PebbleUUID(upperHalf: 0x2C1D_6F5E_8F3A_4C57, lowerHalf: 0x9D0E_EC0E_C0EC_0EC0)

    /// Dictionaries of every type, width and extreme that there is.
    package static let standard = DemonstrationScript(exchanges: standardExchanges)

    private static var standardExchanges: [Exchange] {
        let small: [[AppMessageTuple]] = [
            [tuple(0, .uint8(7))],
            [tuple(1, .uint8(.max)), tuple(2, .uint16(.max)), tuple(3, .uint32(.max))],
            [tuple(4, .int8(.min)), tuple(5, .int16(.min)), tuple(6, .int32(.min))],
            [tuple(7, .int8(-1)), tuple(8, .int16(-1)), tuple(9, .int32(-1))],
            [tuple(10, .string("hello")), tuple(11, .string("")), tuple(12, .string("café ☕ 時計"))],
            [tuple(13, .bytes([])), tuple(14, .bytes(pattern(1))), tuple(15, .bytes(pattern(255)))],
            [tuple(16, .uint8(1)), tuple(16, .uint8(2)), tuple(.max, .string("the largest key"))],
            [
                tuple(0, .string("mixed")), tuple(1, .int32(-123_456)), tuple(2, .bytes(pattern(40))),
                tuple(3, .uint16(9)),
            ],
            [],
        ]
        let large: [[AppMessageTuple]] = [
            [tuple(0, .bytes(pattern(8192)))],
            (0..<200).map { tuple($0, .uint32($0 &* 0x0101_0101)) },
        ]
        return small.compactMap { exchange($0) } + [pattern(600)].compactMap { exchange([tuple(0, .bytes($0))]) }
            + large.compactMap { exchange($0, requires: .appMessage8K) }
    }

    private static func tuple(_ key: UInt32, _ value: AppMessageValue) -> AppMessageTuple {
        AppMessageTuple(key: key, value: value)
    }

    /// Bytes in which a lost or repeated stretch would be noticed.
    private static func pattern(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) }
    }

    /// Nil for more than fits into a dictionary.
    private static func exchange(_ tuples: [AppMessageTuple], requires: Capabilities = []) -> Exchange? {
        (try? AppMessageDictionary(tuples)).map { Exchange($0, requires: requires) }
    }
}
