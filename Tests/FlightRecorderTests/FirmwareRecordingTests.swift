import AirSimulator
import BluetoothHCI
import ByteCoding
import PebblePhone
import PebbleProtocol
import PebbleWatch
import SeededRandomness
import Testing

@testable import FlightRecorder

/// What an emulator that is a watch's brain says and is given is recorded, and replayed without the emulator.
@Suite struct FirmwareRecordingTests {
    private static func configuration() -> WatchConfiguration {
        var configuration = RecordedHost.configuration()
        configuration.brain = .emulator
        return configuration
    }

    /// Gives the emulator what waits for it, and lets it answer the watch's own questions.
    /// - Parameter measures: whether it has an accelerometer. One that has none gets pauses.
    /// - Returns: how many messages it was given.
    private static func serve(
        _ air: inout RecordedAir,
        _ stream: inout MessageDeframer,
        measures: Bool
    ) throws -> Int {
        var count = 0
        while case .firmwareBytes(let bytes)? = air.give(.firmware(.hasRoom)), !bytes.isEmpty {
            var deframer = QEMUDeframer()
            deframer.receive(bytes[...])
            while let frame = deframer.nextFrame(at: .zero) {
                if frame.protocolID == .accelerometer, measures { say(QEMUMessage.accelerometerSpace(256).frame, &air) }
                var rest = frame.protocolID == .spp ? frame.data[...] : []
                while case .message(let message)? = stream.next(from: &rest) {
                    count += 1
                    // The watch's own question for a database that does not exist.
                    guard message.endpoint == .blobDB, let request = try? BlobDBRequest(payload: message.payload),
                        case .clear = request.command
                    else { continue }
                    var answer: [UInt8] = []
                    let response = BlobDBResponse(token: request.token, status: .invalidDatabase)
                    try MessageFramer.append(response, to: &answer)
                    say(QEMUFrame(.spp, data: answer), &air)
                }
            }
        }
        return count
    }

    private static func say(_ frame: QEMUFrame, _ air: inout RecordedAir) {
        var bytes: [UInt8] = []
        QEMUFrame.append(frame.data[...], as: frame.protocolID, to: &bytes)
        _ = air.give(.firmware(.bytes(bytes[...])))
    }

    /// A replay of a recording that is read otherwise than it was written can agree with itself.
    @Test(
        arguments: [
            .start, .controllerLost, .packet([1, 2]), .time, .command(.press(.select, .short)),
            .changeFinished(1, failure: nil), .changeFinished(2, failure: .full(path: "/a")), .shutdown,
            .toolConnected(.qemu), .toolConnected(.serial), .toolLeft(3, reason: "gone"), .toolBytes([4], from: 5),
            .toolHasRoom(6), .firmware(.connected), .firmware(.lost(reason: "gone")), .firmware(.bytes([7, 8])),
            .firmware(.hasRoom), .firmware(.console(isThere: true)), .firmware(.console(isThere: false)),
            .firmware(.sessionRenewed),
        ] as [RecordedInput]
    )
    func everyInputIsReadAsItWasWritten(input: RecordedInput) throws {
        var writer = EntryWriter()
        writer.append(input, at: .seconds(9))
        var reader = ByteReader(writer.bytes[...])
        var time = Duration.zero
        #expect(try RecordingEntry(reading: &reader, time: &time) == .input(input, at: .seconds(9)))
        #expect(reader.isEmpty)
    }

    /// The watch's deadline is right after each batch: `RecordedHost` compares it with one that is looked for.
    @Test func whatWaitsForThePauseHasADeadline() throws {
        var air = try RecordedAir(RecordedHost(Self.configuration(), seed: 1), seed: 1)
        var stream = MessageDeframer()
        _ = air.give(.firmware(.connected))
        air.run(for: .seconds(9))
        _ = try Self.serve(&air, &stream, measures: false)
        for _ in 0..<100 { _ = air.give(.command(.sense(.tap(.x, direction: 1)))) }
        var batches = 0
        for _ in 0..<20 {
            air.run(for: .milliseconds(150))
            if case .firmwareBytes(let bytes)? = air.give(.firmware(.hasRoom)), !bytes.isEmpty { batches += 1 }
        }
        #expect(batches > 2)
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func aReplayIsTheSameAsTheRun(seed: UInt64) throws {
        var chance = SplitMix64(seed: seed)
        var air = try RecordedAir(RecordedHost(Self.configuration(), seed: seed), transport: .reversed, seed: seed)
        var stream = MessageDeframer()
        _ = air.give(.firmware(.connected))
        // It says nothing, and so it may be starting.
        air.run(for: .seconds(9))
        let measures = seed.isMultiple(of: 2)
        var count = try Self.serve(&air, &stream, measures: measures)
        air.acquaint()
        for _ in 0..<12 {
            count += try Self.serve(&air, &stream, measures: measures)
            if !measures {
                air.run(for: .milliseconds(150))
                count += try Self.serve(&air, &stream, measures: measures)
            }
            switch Int.random(in: 0..<6, using: &chance) {
            case 0: air.tell(.ping)
            case 4:
                _ = air.give(.firmware(.console(isThere: Bool.random(using: &chance))))
                air.tell(.disconnect)
                _ = air.give(.firmware(.sessionRenewed))
            case 1: _ = air.give(.firmware(.bytes(ArraySlice(chance.bytes(60)))))
            case 2:
                _ = air.give(.firmware(.lost(reason: "its port was closed")))
                _ = air.give(.firmware(.connected))
            case 3: _ = air.give(.command(.press(.select, .short)))
            default: air.tell(.disconnect)
            }
            air.run(for: .milliseconds(Int.random(in: 0...5000, using: &chance)))
        }
        #expect(count > 10, "seed \(seed): the phone and the firmware have talked")
        let recorded = air.recorded()
        let (bytes, watch) = try #require(recorded)
        let replay = try Replay.all(of: bytes, Self.configuration())
        if let divergence = replay.divergence { Issue.record("seed \(seed): \(divergence)") }
        #expect(replay.inputCount == replay.recording.inputCount, "seed \(seed)")
        #expect(replay.watch.nextDeadline == watch.nextDeadline, "seed \(seed)")
    }
}
