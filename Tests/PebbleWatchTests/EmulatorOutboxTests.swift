import PebbleProtocol
import SeededRandomness
import Testing

@testable import PebbleWatch

/// What leaves for the emulator, and when, in virtual time.
@Suite struct EmulatorOutboxTests {
    /// The port of the emulator, with what makes it deaf.
    private struct Port {
        /// When the firmware has not read so many bytes, it is deaf.
        static let room = 2175

        var outbox = EmulatorOutbox()
        var now: Duration = .zero
        /// Whether the firmware answers.
        var answers = true
        var frames: [QEMUFrame] = []
        /// How long each batch was.
        var batches: [Int] = []
        private var questions = 0
        private var deframer = QEMUDeframer()

        /// Takes what may leave.
        /// - Returns: how many bytes that were.
        @discardableResult
        mutating func take() -> Int {
            guard outbox.canSend else {
                #expect(outbox.next(at: now).isEmpty)
                return 0
            }
            let bytes = outbox.next(at: now)
            #expect(!bytes.isEmpty && bytes.count < Self.room)
            batches.append(bytes.count)
            deframer.receive(bytes[...])
            var ends: [Int] = []
            while let frame = deframer.nextFrame(at: now) {
                frames.append(frame)
                ends.append((ends.last ?? 0) + QEMUFrame.overhead + frame.data.count)
                if frame.protocolID == .accelerometer { questions += 1 }
            }
            #expect(ends.last == bytes.count && frames.last?.protocolID == .accelerometer)
            // When the first frame has come to its end, the main task begins to read: then all of the batch has come.
            #expect((ends[0] - 1) / EmulatorOutbox.piece == (bytes.count - 1) / EmulatorOutbox.piece)
            #expect(questions == 1, "one is enough, and one is needed")
            return bytes.count
        }

        /// The firmware reads what has come.
        mutating func read() {
            if answers, questions > 0 { outbox.wasAnswered() }
            questions = 0
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

    @Test(arguments: [0, 10, 230, 500, 2044, 3000, 8226, 20_000, 65_535])
    func aMessageLeavesInBatches(count: Int) throws {
        var port = Port()
        let message = Self.message(count)
        let isQueued = port.outbox.append(message)
        #expect(isQueued)
        while !port.outbox.isEmpty {
            let taken = port.take()
            #expect(taken > 0, "nothing leaves, and nothing is waited for")
            port.read()
        }
        #expect(port.stream == (try Self.stream(of: [message])))
        #expect(port.batches.count <= count / 2000 + 2)
        #expect(port.frames.allSatisfy { $0.data.count <= QEMUFrame.maximumDataLength })
    }

    @Test func nothingMoreLeavesBeforeTheFirmwareHasRead() {
        var port = Port()
        _ = port.outbox.append(Self.message(10))
        port.take()
        port.read()
        for _ in 0..<20 { _ = port.outbox.append(Self.message(500)) }
        port.take()
        port.now += .seconds(3600)
        port.outbox.advance(to: port.now)
        let more = port.take()
        #expect(more == 0 && port.outbox.nextDeadline == nil)
        port.read()
        let next = port.take()
        #expect(next > 0)
    }

    /// A process that is killed between two batches would leave half a message.
    @Test func aMessageThatAFrameHoldsIsNotDivided() {
        var port = Port()
        for count in [2044, 900] { _ = port.outbox.append(Self.message(count)) }
        port.take()
        #expect(!port.outbox.isInMessage && port.frames.first?.data.count == 2048)
        port.read()
        port.take()
        #expect(!port.outbox.isInMessage && port.outbox.isEmpty)
        port.read()
        _ = port.outbox.append(Self.message(2045))
        port.take()
        #expect(port.outbox.isInMessage)
    }

    @Test func smallMessagesLeaveTogether() throws {
        var port = Port()
        let messages = (0..<20).map { Self.message($0) }
        for message in messages { _ = port.outbox.append(message) }
        port.outbox.append(.buttons(.select))
        while !port.outbox.isEmpty {
            port.take()
            port.read()
        }
        #expect(port.batches.count == 2 && port.batches.allSatisfy { $0 <= EmulatorOutbox.piece })
        #expect(port.stream == (try Self.stream(of: messages)))
    }

    @Test func aFirmwareThatDoesNotAnswerGetsPauses() throws {
        var port = Port()
        port.answers = false
        let isQueued = port.outbox.append(Self.message(8000))
        #expect(isQueued)
        var pauses = 0
        while true {
            port.take()
            port.read()
            guard !port.outbox.isEmpty else { break }
            let more = port.take()
            let deadline = try #require(port.outbox.nextDeadline)
            #expect(more == 0 && deadline == port.now + EmulatorOutbox.pause)
            port.now = deadline
            port.outbox.advance(to: port.now)
            pauses += 1
        }
        #expect(pauses == 3)
    }

    /// A question makes the firmware forget what else its accelerometer was to measure, so it ends with the last of that.
    @Test func aQuestionRepeatsWhatTheAccelerometerMeasuredLast() {
        var port = Port()
        let last = AccelerometerSample(x: 4, y: 5, z: 6)
        port.outbox.append(.accelerometer([AccelerometerSample(x: 1, y: 2, z: 3), last]))
        port.take()
        port.read()
        let isQueued = port.outbox.append(Self.message(1500))
        port.take()
        let told = port.frames.filter { $0.protocolID == .accelerometer }.compactMap { try? QEMUMessage($0) }
        #expect(isQueued && told.count == 2 && told.last == .accelerometer([last]))
    }

    @Test(arguments: 1...50 as ClosedRange<UInt64>)
    func whateverIsSentArrives(seed: UInt64) throws {
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
                let count = Int.random(in: 0...3, using: &chance)
                port.outbox.append(.accelerometer(Array(repeating: sample, count: count)))
            case 2: port.outbox.append(.buttons(.select))
            default: port.read()
            }
            if Bool.random(using: &chance) { port.take() }
        }
        while !port.outbox.isEmpty {
            port.read()
            port.take()
        }
        #expect(port.stream == (try Self.stream(of: sent)), "seed \(seed)")
        #expect(port.outbox.byteCount == 0)
    }
}
