import PebbleProtocol
import SeededRandomness
import Testing

@testable import PebbleWatch

/// What leaves for the emulator, and when: never more than the firmware's port holds, in virtual time.
@Suite struct EmulatorOutboxTests {
    /// The port of the emulator, and how much of what came the firmware has not read.
    private struct Port {
        /// When the firmware has not read so many bytes, its port stops for good.
        static let room = 2175

        var outbox = EmulatorOutbox()
        var now: Duration = .zero
        var unread = 0
        /// How often the firmware has been asked and has not answered.
        var questions = 0
        var frames: [QEMUFrame] = []
        /// The most bytes that were unread at once.
        var mostUnread = 0
        private var deframer = QEMUDeframer()

        /// Takes what may leave.
        /// - Returns: how many bytes that were.
        @discardableResult
        mutating func take() -> Int {
            var count = 0
            while outbox.canSend {
                let bytes = outbox.next(at: now)
                count += bytes.count
                deframer.receive(bytes[...])
            }
            while let frame = deframer.nextFrame(at: now) {
                frames.append(frame)
                if frame.protocolID == .accelerometer { questions += 1 }
            }
            unread += count
            mostUnread = max(mostUnread, unread)
            #expect(outbox.next(at: now).isEmpty)
            return count
        }

        /// The firmware reads all that has come, and answers.
        mutating func read() {
            unread = 0
            while questions > 0 {
                questions -= 1
                outbox.wasAnswered()
            }
        }

        /// The stream that has come.
        var stream: [UInt8] { frames.filter { $0.protocolID == .spp }.flatMap(\.data) }
    }

    private static func message(_ count: Int) -> PebbleMessage {
        PebbleMessage(endpoint: .appMessage, payload: (0..<count).map { UInt8(truncatingIfNeeded: $0) })
    }

    private static func stream(of messages: [PebbleMessage]) throws -> [UInt8] {
        var stream: [UInt8] = []
        for message in messages { try MessageFramer.append(message, to: &stream) }
        return stream
    }

    @Test func aSmallMessageLeavesAtOnceAndAlone() throws {
        var port = Port()
        let messages = [Self.message(10), Self.message(20)]
        for message in messages {
            #expect(port.outbox.append(message))
            port.take()
        }
        #expect(port.frames.count == 2 && port.questions == 0)
        #expect(port.stream == (try Self.stream(of: messages)))
        #expect(port.outbox.nextDeadline == nil)
    }

    @Test(arguments: [2045, 3000, 8226, 20_000, 65_535])
    func aLongMessageWaitsForTheFirmwareToRead(count: Int) throws {
        var port = Port()
        let message = Self.message(count)
        #expect(port.outbox.append(message))
        var turns = 0
        while !port.outbox.isEmpty {
            #expect(port.take() > 0, "nothing leaves, and nothing is waited for")
            port.read()
            turns += 1
        }
        #expect(port.stream == (try Self.stream(of: [message])))
        #expect(port.mostUnread <= EmulatorOutbox.window && EmulatorOutbox.window < Port.room)
        #expect(turns <= count / EmulatorOutbox.part / 2 + 1, "two parts are on their way at once")
        #expect(port.frames.allSatisfy { $0.data.count <= QEMUFrame.maximumDataLength })
    }

    @Test func nothingMoreLeavesBeforeTheFirmwareHasRead() {
        var port = Port()
        for _ in 0..<20 { _ = port.outbox.append(Self.message(500)) }
        port.take()
        let unread = port.unread
        port.now += .seconds(3600)
        port.outbox.advance(to: port.now)
        let more = port.take()
        #expect(more == 0 && unread > 0 && port.outbox.nextDeadline == nil)
        port.read()
        let next = port.take()
        #expect(next > 0)
    }

    /// A process that is killed between two parts of a message would leave half of it.
    @Test func aMessageThatAFrameHoldsIsNotDivided() {
        var port = Port()
        #expect(port.outbox.append(Self.message(900)) && port.outbox.append(Self.message(2044)))
        port.take()
        #expect(port.outbox.isInMessage == false && !port.outbox.isEmpty)
        port.read()
        port.take()
        #expect(port.frames.filter { $0.protocolID == .spp }.map(\.data.count) == [904, 2048])
        #expect(port.outbox.append(Self.message(2045)) && !port.outbox.isInMessage)
        port.read()
        _ = port.outbox.next(at: port.now)
        #expect(port.outbox.isInMessage)
    }

    @Test func aFirmwareThatDoesNotAnswerGetsPauses() throws {
        var port = Port()
        port.outbox.ask()
        port.take()
        port.outbox.wasRead()
        port.unread = 0
        #expect(port.outbox.append(Self.message(8000)))
        var pauses = 0
        while true {
            port.take()
            guard !port.outbox.isEmpty else { break }
            let deadline = try #require(port.outbox.nextDeadline)
            #expect(deadline == port.now + EmulatorOutbox.pause)
            port.now = deadline
            port.unread = 0
            port.outbox.advance(to: port.now)
            pauses += 1
        }
        #expect(pauses == 3 && port.mostUnread <= EmulatorOutbox.window)
        // One that answers after all is not paused any more.
        port.outbox.wasAnswered()
        port.outbox.wasRead()
        #expect(port.outbox.append(Self.message(8000)))
        port.take()
        #expect(port.outbox.nextDeadline == nil)
    }

    /// A question makes the firmware forget what else its accelerometer was to measure, so it ends with the last of that.
    @Test func aQuestionRepeatsWhatTheAccelerometerMeasuredLast() {
        var port = Port()
        let last = AccelerometerSample(x: 4, y: 5, z: 6)
        port.outbox.append(.accelerometer([AccelerometerSample(x: 1, y: 2, z: 3), last]))
        #expect(port.outbox.append(Self.message(1500)))
        port.take()
        let told = port.frames.filter { $0.protocolID == .accelerometer }.compactMap { try? QEMUMessage($0) }
        #expect(told.count == 2 && told.last == .accelerometer([last]))
        port.outbox.wasAnswered()
        port.outbox.wasAnswered()
        port.unread = 0
        let room = port.outbox.append(Self.message(2044))
        #expect(room && port.take() > 0, "its answer counts as well")
    }

    @Test(arguments: 1...50 as ClosedRange<UInt64>)
    func whateverIsSentFitsAndArrives(seed: UInt64) throws {
        var chance = SplitMix64(seed: seed)
        var port = Port()
        var sent: [PebbleMessage] = []
        for _ in 0..<300 {
            switch Int.random(in: 0..<4, using: &chance) {
            case 0:
                let message = Self.message(Int.random(in: 0...Int.random(in: 1...9000, using: &chance), using: &chance))
                if port.outbox.append(message) { sent.append(message) }
            case 1:
                let sample = AccelerometerSample(x: 1, y: 2, z: 3)
                let count = Int.random(in: 0...300, using: &chance)
                port.outbox.append(.accelerometer(Array(repeating: sample, count: count)))
            case 2: port.outbox.append(.buttons(.select))
            default: port.read()
            }
            port.take()
        }
        while !port.outbox.isEmpty {
            port.read()
            #expect(port.take() > 0, "seed \(seed)")
        }
        #expect(port.mostUnread < Port.room, "seed \(seed)")
        #expect(port.stream == (try Self.stream(of: sent)), "seed \(seed)")
        #expect(port.outbox.byteCount == 0)
    }
}
