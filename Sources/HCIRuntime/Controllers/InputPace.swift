import BluetoothHCI

/// How soon what a controller has sent is looked at.
///
/// At once, as a rule. While more than a packet a millisecond comes and nothing of it is answered, each would cost a wakeup, a read
/// and a send of its own; the input then rests for some milliseconds, and what has come is taken together. Network drivers
/// treat interrupts like that. A radio hardly comes to it: a full packet and its acknowledgement take more than a millisecond on
/// LE 2M. Simulated controllers on this machine do.
///
/// Nobody waits for such input. Number Of Completed Packets says that the controller has buffers again, and the rests are short
/// enough for some to be full at their end; data without an answer is a stream. A request that is answered counts against the
/// stream, so that two of them end the rests.
struct InputPace: Sendable {
    /// The longest rest while data comes in.
    static let longestRest: Duration = .milliseconds(2)
    /// The longest while nothing comes but Number Of Completed Packets.
    static let longestRestOfCompletions: Duration = .milliseconds(5)
    /// The shortest rest.
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
    /// How much of what the controller has to send it may send during a rest.
    static let shareOfRest = 0.75

    /// When the input is read again; nil while it does not rest.
    private(set) var restEnds: Duration?
    /// How many packets have come, less one a millisecond, and less what was answered.
    private var calm = 0.0
    /// The next rest.
    private var rest = longestRest
    private var previousRead: Duration = .zero

    // What has come in since the last decision, and when it was read.
    private var packets = 0
    private var completions = 0
    private var completedPackets = 0
    private var readTime: Duration = .zero
    private var hasRested = false

    /// The input is read now.
    mutating func read(at now: Duration) {
        hasRested = restEnds != nil
        restEnds = nil
        readTime = now
        packets = 0
        completions = 0
        completedPackets = 0
    }

    /// A packet has come, type byte first.
    mutating func took(_ packet: ArraySlice<UInt8>) {
        packets += 1
        guard let count = Self.completedPackets(in: packet) else { return }
        completions += 1
        completedPackets += count
    }

    /// Whether the input goes on coming while it rests. Then the other side does not wait for acknowledgements of what was read,
    /// and none need be sent at once. One that does (Nagle's algorithm) makes the next rest an empty one.
    var isStreaming: Bool { hasRested && packets >= Self.leastOfRest }

    /// What has come in was worked on, and what that led to is on its way: decides whether the input rests now.
    /// - Parameters:
    ///   - isAnswered: whether something was sent.
    ///   - outstanding: how many ACL packets the controller has and has not completed.
    mutating func decide(isAnswered: Bool, outstanding: @autoclosure () -> Int) {
        guard packets > 0 || hasRested else { return }
        let elapsed = readTime - previousRead
        calm -= elapsed / .milliseconds(1)
        previousRead = readTime
        if hasRested, packets < Self.leastOfRest { calm -= Self.emptyRestCost }
        calm = max(0, calm)
        let isStreamOut = completions == packets
        if isAnswered && !isStreamOut {
            calm -= Self.answerCost
        } else {
            calm = min(calm + Double(packets), Self.calmLimit)
        }
        if !isStreamOut { rest = Self.longestRest } else { fitRest(elapsed, outstanding: outstanding()) }
        packets = 0
        hasRested = false
        if calm >= Self.calmPackets { restEnds = readTime + rest }
    }

    /// Fits the next rest to what the controller has to send, so that some of it is left at the end.
    ///
    /// A controller that had sent everything before the end seems slower than it is. The next rest is then shorter than this one, and so
    /// on until the controller keeps something.
    /// - Parameter elapsed: the time in which it has completed what was read.
    private mutating func fitRest(_ elapsed: Duration, outstanding: Int) {
        guard completedPackets > 0 else { return }
        let wanted = elapsed * (Double(outstanding) * Self.shareOfRest / Double(completedPackets))
        rest = min(max((rest + wanted) / 2, Self.shortestRest), Self.longestRestOfCompletions)
    }

    /// How many packets a Number Of Completed Packets tells of, over all connections; nil for any other packet.
    private static func completedPackets(in packet: ArraySlice<UInt8>) -> Int? {
        // No other packet is decoded a second time.
        guard NumberOfCompletedPackets.isIn(packet) else { return nil }
        guard case .numberOfCompletedPackets(let event)? = try? HCIEvent(body: packet.dropFirst()) else { return 0 }
        return event.packets.reduce(0) { $0 + Int($1.count) }
    }
}
