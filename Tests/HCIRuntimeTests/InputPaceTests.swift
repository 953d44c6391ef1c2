import Testing

@testable import HCIRuntime

/// When the input rests, and for how long.
@Suite struct InputPaceTests {
    private static let completion: [UInt8] = [0x04, 0x13, 0x05, 0x01, 0x40, 0x00, 0x01, 0x00]
    private static let data: [UInt8] = [0x02, 0x40, 0x20, 0x01, 0x00, 0x00]

    /// A controller whose packets come at a steady pace, and the loop that reads them.
    private struct Reader {
        var pace = InputPace()
        var now: Duration = .seconds(1)
        private var next: Duration = .seconds(1)
        private(set) var reads = 0
        private(set) var packets = 0

        /// Reads for a while.
        /// - Parameters:
        ///   - interval: how often a packet comes.
        ///   - buffers: how many can be unread, if packets give buffers back that are sent again.
        mutating func run(
            for span: Duration,
            _ packet: [UInt8],
            every interval: Duration,
            buffers: Int = .max,
            isAnswered: Bool = false
        ) {
            let end = now + span
            while now < end {
                now = max(next, pace.restEnds ?? next)
                pace.read(at: now)
                var count = 0
                while next <= now, count < buffers {
                    pace.took(packet[...])
                    next += interval
                    count += 1
                }
                // A controller whose buffers were all given back had nothing to do until now.
                if count == buffers { next = max(next, now + interval) }
                pace.decide(isAnswered: isAnswered)
                reads += 1
                packets += count
            }
        }
    }

    @Test func aStreamIsReadEveryTwoMilliseconds() {
        var reader = Reader()
        reader.run(for: .seconds(1), Self.data, every: .microseconds(80))
        #expect((11_000...12_600).contains(reader.packets))
        #expect(reader.reads < 550, "\(reader.reads) reads")
    }

    @Test func whatIsAsSlowAsARadioIsReadAtOnce() {
        for packet in [Self.data, Self.completion] {
            var reader = Reader()
            reader.run(for: .seconds(1), packet, every: .microseconds(1_400))
            #expect(reader.reads == reader.packets)
            #expect(reader.pace.restEnds == nil)
        }
    }

    @Test func aConversationIsReadAtOnce() {
        var reader = Reader()
        reader.run(for: .seconds(1), Self.data, every: .microseconds(80), isAnswered: true)
        #expect(reader.reads == reader.packets)
    }

    @Test func twoAnswersEndAStream() {
        var reader = Reader()
        reader.run(for: .milliseconds(100), Self.data, every: .microseconds(80))
        #expect(reader.pace.restEnds != nil)
        // Each comes at the end of a rest.
        reader.run(for: .milliseconds(3), Self.data, every: .microseconds(80), isAnswered: true)
        #expect(reader.pace.restEnds == nil)
    }

    @Test func aStreamThatEndsIsNotWaitedForLong() {
        var reader = Reader()
        reader.run(for: .milliseconds(100), Self.data, every: .microseconds(80))
        var pace = reader.pace
        var empty = 0
        while let end = pace.restEnds {
            pace.read(at: end)
            pace.decide(isAnswered: false)
            empty += 1
        }
        #expect(empty <= 4, "\(empty) empty rests")
    }

    /// Packets go out as buffers come back: what the rests cost the stream, whatever number of buffers the controller has.
    @Test(arguments: [2, 4, 8, 20, 64]) func aControllerKeepsSomethingToSend(buffers: Int) {
        var reader = Reader()
        reader.run(for: .seconds(1), Self.completion, every: .microseconds(80), buffers: buffers, isAnswered: true)
        #expect(reader.packets > 12_500 * 7 / 10, "\(reader.packets) packets")
        if buffers >= 8 { #expect(reader.reads < reader.packets / 4, "\(reader.reads) reads") }
    }
}
