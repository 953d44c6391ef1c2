import BluetoothHCI

/// How soon what a controller has sent is looked at.
///
/// At once, as a rule. While more than a packet a millisecond comes and nothing of it is answered, each would cost a wakeup, a read
/// and a send of its own; the input then rests for two milliseconds at most, and what has come is taken together. Network drivers
/// treat interrupts like that. A radio hardly comes to it: a full packet and its acknowledgement take more than a millisecond on
/// LE 2M. Simulated controllers on this machine do.
///
/// Nobody waits for such input. Number Of Completed Packets says that the controller has buffers again, and the rests are short
/// enough for some to be full at their end; data without an answer is a stream. A request that is answered counts against the
/// stream, so that two of them end the rests.
struct InputPace: Sendable {
    /// The longest and the shortest rest.
    static let longestRest: Duration = .milliseconds(2)
    static let shortestRest: Duration = .microseconds(100)
    /// How many packets make a stream, less one a millisecond. An AppMessage and its acknowledgements are fewer.
    static let calmPackets = 16.0
    /// More of them do not count.
    static let calmLimit = 64.0
    /// How many of them an answer takes away.
    static let answerCost = 32.0
    /// A rest that has brought fewer packets was not worth it, and takes away...
    static let leastOfRest = 2
    /// ...so many.
    static let emptyRestCost = 16.0

    /// When the input is read again; nil while it does not rest.
    private(set) var restEnds: Duration?
    /// How many packets have come, less one a millisecond, and less what was answered.
    private var calm = 0.0
    private var rest = longestRest
    /// The most buffers that were given back in one read: as many as there are, if the controller had nothing left to send.
    private var mostCompletions = 0
    private var previousRead: Duration = .zero

    // What has come in since the last decision, and when it was read.
    private var packets = 0
    private var completions = 0
    private var readTime: Duration = .zero
    private var hasRested = false

    /// The input is read now.
    mutating func read(at now: Duration) {
        hasRested = restEnds != nil
        restEnds = nil
        readTime = now
        packets = 0
        completions = 0
    }

    /// A packet has come, type byte first.
    mutating func took(_ packet: ArraySlice<UInt8>) {
        packets += 1
        if Self.isCompletion(packet) { completions += 1 }
    }

    /// Whether the input goes on coming while it rests. Then the other side does not wait for acknowledgements of what was read,
    /// and none need be sent at once. One that does (Nagle's algorithm) makes the next rest an empty one.
    var isStreaming: Bool { hasRested && packets >= Self.leastOfRest }

    /// What has come in was worked on, and what that led to is on its way: decides whether the input rests now.
    /// - Parameter isAnswered: whether something was sent.
    mutating func decide(isAnswered: Bool) {
        guard packets > 0 || hasRested else { return }
        calm -= (readTime - previousRead) / .milliseconds(1)
        previousRead = readTime
        if hasRested, packets < Self.leastOfRest { calm -= Self.emptyRestCost }
        calm = max(0, calm)
        if calm == 0 { mostCompletions = 0 }
        let isStreamOut = completions == packets
        if isAnswered && !isStreamOut {
            calm -= Self.answerCost
        } else {
            calm = min(calm + Double(packets), Self.calmLimit)
        }
        if !isStreamOut { rest = Self.longestRest } else if hasRested { fitRest() }
        packets = 0
        hasRested = false
        if calm >= Self.calmPackets { restEnds = readTime + rest }
    }

    /// The next rest is to bring three quarters of the buffers, so that the controller has something to send all the time.
    private mutating func fitRest() {
        mostCompletions = max(mostCompletions, completions)
        let wanted = max(1, mostCompletions * 3 / 4)
        let fitting = rest * wanted / max(1, completions)
        rest = min(max((rest + fitting) / 2, Self.shortestRest), Self.longestRest)
    }

    private static func isCompletion(_ packet: ArraySlice<UInt8>) -> Bool {
        packet.count > 1 && packet[packet.startIndex] == HCIPacketType.event.rawValue
            && packet[packet.startIndex + 1] == NumberOfCompletedPackets.code.rawValue
    }
}
