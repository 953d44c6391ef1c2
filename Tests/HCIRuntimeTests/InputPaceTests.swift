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
        ///   - outstanding: how many packets the controller has after each read: as many as it has buffers, unless it is said.
        mutating func run(
            for span: Duration,
            _ packet: [UInt8],
            every interval: Duration,
            buffers: Int = .max,
            isAnswered: Bool = false,
            outstanding: Int? = nil
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
                pace.decide(isAnswered: isAnswered, outstanding: outstanding ?? (buffers == .max ? 0 : buffers))
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
            pace.decide(isAnswered: false, outstanding: 0)
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

    @Test func aSlowerControllerIsReadEveryFiveMilliseconds() {
        var reader = Reader()
        reader.run(for: .seconds(1), Self.completion, every: .microseconds(270), buffers: 64, isAnswered: true)
        #expect(reader.packets > 3_700 * 95 / 100, "\(reader.packets) packets")
        #expect(reader.reads < 250, "\(reader.reads) reads")
    }

    /// Several connections, each with more than one packet, in one event.
    @Test func everyPacketOfAnEventCounts() {
        var reader = Reader()
        let event: [UInt8] = [0x04, 0x13, 0x09, 0x02, 0x40, 0x00, 0x03, 0x00, 0x41, 0x00, 0x01, 0x00]
        // Sixteen packets are four events: a rest of three quarters of the time that they take.
        reader.run(for: .seconds(1), event, every: .microseconds(320), buffers: 4, isAnswered: true, outstanding: 16)
        #expect(reader.packets > 3_100 * 95 / 100, "\(reader.packets) events")
        #expect((900...1_400).contains(reader.reads), "\(reader.reads) reads")
    }

    @Test(arguments: [[0x04, 0x13], [0x04, 0x13, 0x00], [0x04, 0x13, 0x05, 0xFF, 0x40, 0x00, 0x01]] as [[UInt8]])
    func aShortEventIsNoProblem(event: [UInt8]) {
        var pace = InputPace()
        pace.read(at: .seconds(1))
        pace.took(event[...])
        pace.decide(isAnswered: false, outstanding: 4)
        #expect(pace.restEnds == nil)
    }
}
