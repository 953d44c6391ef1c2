import BluetoothHCI
import BluetoothHost
import ByteCoding
import Foundation
import PebbleProtocol
import SeededRandomness
import Testing

@testable import PebbleWatch

/// Captures of the messages of real clients and the answers of a watch, replayed against this one.
///
/// Each message from the phone is given to the watch, and each answer of the captured watch must come from this one too, with
/// the same meaning. What a watch chooses for itself (tokens, app ids, timestamps, its version block) may differ, and when the
/// phone repeats such a value the watch's own is put in its place.
@Suite("Transcripts of real clients")
struct TranscriptTests {
    /// The sessions whose every message this watch answers.
    static let sessions = [
        "pebble-ping", "pebble-send-app-message", "pebble-install", "pebble-logs", "pebble-fw-install",
        "pebble-fw-coredump", "pypkjs-install-8k-both-ways",
    ]

    @Test("No captured session is left out")
    func allSessions() throws {
        #expect(try TranscriptStep.sessions() == Set(Self.sessions))
    }

    @Test(arguments: sessions)
    func replays(session: String) throws {
        let steps = try TranscriptStep.load(session)
        #expect(!steps.isEmpty)
        var replay = TranscriptReplay(session)
        for step in steps { replay.play(step) }
        replay.finish()
    }

    @Test("A replay notices an answer that is missing, one that is wrong, and one too many")
    func replayNotices() throws {
        let steps = try TranscriptStep.load("pebble-ping")
        let pong = try #require(steps.last)
        func issues(_ steps: [TranscriptStep]) -> [String] {
            var replay = TranscriptReplay("pebble-ping", isRecording: false)
            for step in steps { replay.play(step) }
            replay.finish()
            return replay.problems
        }
        #expect(issues(steps).isEmpty)
        #expect(issues(steps + [pong]).count == 1)
        var wrong = pong
        wrong.message.payload[1] ^= 1
        #expect(issues(steps.dropLast() + [wrong]).count == 1)
        #expect(issues(steps.dropLast()).count == 1)
    }
}

/// One message of a capture.
struct TranscriptStep: Sendable {
    var isFromPhone: Bool
    var message: PebbleMessage
    var name: String

    private struct Entry: Decodable {
        let name: String
        let kind: String
        let session: String?
        let step: Int?
        let direction: String?
        let hex: String
    }

    private static func entries() throws -> [Entry] {
        let url = try #require(
            Bundle.module.url(forResource: "transcripts", withExtension: "json", subdirectory: "Vectors")
        )
        return try JSONDecoder().decode([Entry].self, from: Data(contentsOf: url))
    }

    /// The names of all sessions.
    static func sessions() throws -> Set<String> { Set(try entries().compactMap(\.session)) }

    /// The steps of a session, in order.
    static func load(_ session: String) throws -> [TranscriptStep] {
        return
            try entries()
            .filter { $0.kind == "transcript" && $0.session == session }
            .sorted { ($0.step ?? 0) < ($1.step ?? 0) }
            .map { entry in
                var bytes = try #require([UInt8](hexadecimal: entry.hex))[...]
                var deframer = MessageDeframer()
                guard case .message(let message)? = deframer.next(from: &bytes), bytes.isEmpty else {
                    throw ByteDecodingError(entry.name, .truncated(needed: 1, available: 0))
                }
                return TranscriptStep(
                    isFromPhone: entry.direction == "phone->watch",
                    message: message,
                    name: entry.name
                )
            }
    }
}

/// A watch that is told what a captured phone said, and whose answers are compared with those of the captured watch.
struct TranscriptReplay {
    private var system: WatchSystem
    private let session: SessionID
    private var deframer = MessageDeframer()
    private var now = Duration.seconds(1)
    /// What the watch said and no step has expected yet.
    private var answers: [PebbleMessage] = []
    /// What the captured watch chose, and what this one chose in its place.
    private var ownValues: [TranscriptValue: [UInt8]] = [:]
    private let isRecording: Bool
    private(set) var problems: [String] = []

    /// - Parameter isRecording: whether problems are failures of the test.
    init(_ name: String, isRecording: Bool = true) {
        self.isRecording = isRecording
        let address = LEAddress.random(DeviceAddress(staticRandomFrom: 0x1234))
        var configuration = WatchConfiguration(identity: WatchIdentity(address: address))
        configuration.defaultApp = CapturedFace()
        system = WatchSystem(
            identity: configuration.identity,
            clock: WatchClock(seconds: 1_700_000_000, at: .zero),
            apps: AppManager(configuration),
            // What the captured watch had to send.
            memory: ServiceMemory(coreDump: CoreDump(bytes: Array(0...9))),
            randomness: RandomSource(state: 1, SplitMix64.draw)
        )
        system.start(at: .zero)
        session = system.openSession(.reversedV1, over: .reversedPPoGATT, at: now)
        drain()
    }

    /// The app that ran on the captured watch when nothing else did: it takes messages.
    private struct CapturedFace: WatchApp {
        let uuid = PebbleUUID(upperHalf: 0, lowerHalf: 0x11)
        let name = "Captured"

        mutating func didLaunch(_ context: inout AppContext) {
            _ = context.open(inboxSize: context.inboxSizeMaximum, outboxSize: context.outboxSizeMaximum)
        }
    }

    /// Sends the phone's message, or expects the watch's.
    mutating func play(_ step: TranscriptStep) {
        if step.isFromPhone {
            var stream: [UInt8] = []
            var message = step.message
            message.payload = substituted(step.message)
            try? MessageFramer.append(message, to: &stream)
            now += .milliseconds(10)
            system.receive(stream[...], on: session, at: now)
            drain()
        } else {
            cause(step)
            expect(step)
        }
    }

    /// Has an app do what one on the captured watch did of its own accord.
    private mutating func cause(_ step: TranscriptStep) {
        switch step.message.endpoint {
        case .appLog:
            guard let record = try? AppLogRecord(payload: step.message.payload) else { break }
            _ = system.withApps(at: now) { _, context in context.events.append(.appLogged(record)) }
        case .appMessage:
            guard case .push(let push)? = try? AppMessage(payload: step.message.payload) else { break }
            _ = system.withApps(at: now) { apps, _ in apps.send(push.dictionary) }
        default:
            break
        }
        drain()
    }

    /// The watch has nothing more to say.
    mutating func finish() {
        // The captured phones say that they are Androids, which a Pebble asks for their music; that watch did not.
        answers.removeAll { $0 == PebbleMessage(MusicMessage.command(.getAll)) }
        for answer in answers { problem("nobody expected \(answer.endpoint): \(answer.payload.hexadecimal)") }
    }

    private mutating func expect(_ step: TranscriptStep) {
        guard let index = answers.firstIndex(where: { $0.endpoint == step.message.endpoint }) else {
            return problem("\(step.name): the watch does not answer \(step.message.payload.hexadecimal)")
        }
        let answer = answers.remove(at: index)
        let captured = step.message.payload
        guard let chosen = Self.ownChoice(of: step.message.endpoint, in: captured) else {
            if answer.payload != captured {
                problem("\(step.name): \(answer.payload.hexadecimal) instead of \(captured.hexadecimal)")
            }
            return
        }
        guard answer.payload.count == captured.count,
            answer.payload.prefix(chosen.lowerBound) == captured.prefix(chosen.lowerBound),
            answer.payload.dropFirst(chosen.upperBound) == captured.dropFirst(chosen.upperBound)
        else {
            return problem("\(step.name): \(answer.payload.hexadecimal) instead of \(captured.hexadecimal)")
        }
        if let kind = TranscriptValue.Kind(in: step.message.endpoint) {
            let value = TranscriptValue(kind: kind, captured: Array(captured[chosen]))
            ownValues[value] = Array(answer.payload[chosen])
        }
    }

    /// Which bytes of a watch's message are its own choice; nil for none.
    private static func ownChoice(of endpoint: Endpoint, in payload: [UInt8]) -> Range<Int>? {
        switch endpoint {
        // The command, then who the watch is.
        case .watchVersion where payload.count > 1: 1..<payload.count
        // Command, token.
        case .putBytes where payload.count == 5: 1..<5
        // Command, UUID, app id (little-endian).
        case .appFetch where payload.count == 21: 17..<21
        default: nil
        }
    }

    /// A phone's message with the values that this watch chose.
    private func substituted(_ message: PebbleMessage) -> [UInt8] {
        var payload = message.payload
        guard message.endpoint == .putBytes, let command = payload.first else { return payload }
        if command == 1, payload.count == 10, payload[5] & 0x80 != 0 {
            // Command, size, type, app id (big-endian).
            let captured = TranscriptValue(kind: .appID, captured: payload[6..<10].reversed())
            if let own = ownValues[captured] { payload.replaceSubrange(6..<10, with: own.reversed()) }
        } else if payload.count >= 5 {
            let captured = TranscriptValue(kind: .putBytesToken, captured: Array(payload[1..<5]))
            if let own = ownValues[captured] { payload.replaceSubrange(1..<5, with: own) }
        }
        return payload
    }

    private mutating func drain() {
        while let change = system.nextChange() { system.changeFinished(for: change.owner, failure: nil, at: now) }
        var bytes: [UInt8] = []
        while case let part = system.takeOutbound(of: session, atMost: 4096, at: now), !part.isEmpty { bytes += part }
        var rest = bytes[...]
        while case .message(let message)? = deframer.next(from: &rest) { answers.append(message) }
    }

    private mutating func problem(_ text: String) {
        problems.append(text)
        if isRecording { Issue.record("\(text)") }
    }
}

/// A value that the captured watch chose and the phone says again.
private struct TranscriptValue: Hashable {
    enum Kind: Hashable {
        case putBytesToken
        case appID

        /// What a watch chooses in its messages to an endpoint.
        init?(in endpoint: Endpoint) {
            switch endpoint {
            case .putBytes: self = .putBytesToken
            case .appFetch: self = .appID
            default: return nil
            }
        }
    }

    let kind: Kind
    let captured: [UInt8]
}
