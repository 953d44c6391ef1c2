import ByteCoding
import Foundation
import PebbleProtocol
import SeededRandomness
import Testing

@testable import PebbleWatch

/// Hostile messages to every endpoint: no trap, no growth, and a watch that answers the next phone.
///
/// Messages that mean something are bent, cut, joined and repeated, in any order, on one session after another, with a
/// store that works, fails or does not answer, and time that passes.
@Suite struct ServiceMutationTests {
    private static let count = ProcessInfo.processInfo.environment["CAIRN_MUTATIONS"].flatMap(Int.init) ?? 60_000
    private static let seed = ProcessInfo.processInfo.environment["CAIRN_SEED"].flatMap(UInt64.init) ?? 0x5EC1

    /// Messages of every endpoint, as real phones send them, and some of each service's own.
    private static func corpus() throws -> [PebbleMessage] {
        var corpus: [PebbleMessage] = []
        for session in TranscriptTests.sessions {
            corpus += try TranscriptStep.load(session).filter(\.isFromPhone).map(\.message)
        }
        let uuid = PebbleUUID(upperHalf: 1, lowerHalf: 2).key
        let payloads: [(Endpoint, [UInt8])] = [
            (.music, [0x10, 1, 0x41, 1, 0x42, 1, 0x43, 1, 0, 0, 0, 2, 0, 1, 0]), (.music, [0x12, 200]),
            (.music, [0x11, 1, 0xFF, 0xFF, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 0x7F, 1, 1]),
            (.phoneControl, [0x04, 0, 0, 0, 9, 2, 0x31, 0x32, 3, 0x4D, 0x75, 0x6D]),
            (.phoneControl, [0x83, 5, 5, 0, 0, 0, 1]),
            (.dataLogging, [0x84, 1, 2, 3]), (.dataLogging, [0x85, 1]), (.dataLogging, [0x86, 1]),
            (.dataLogging, [0x88, 1]), (.dataLogging, [0x8B, 1]), (.healthSync, [1, 0, 0, 0, 0]),
            (.blobDB2, [0x0B, 1, 0]), (.blobDB2, [0x0C, 1, 0, 12]), (.blobDB2, [0x89, 1, 0, 1]),
            (.blobDB2, [0x07, 1, 0, 12]),
            (.blobDB, [0x0D, 1, 0, 12, 1, 0, 0, 0, 1, 0x61, 2, 0, 1, 2]), (.blobDB, [0x05, 1, 0, 2]),
            (.blobDB, [0x04, 1, 0, 7, 1, 0x61]), (.blobDB, [0x01, 1, 0, 7, 1, 0x61, 2, 0, 1, 2]),
            (.timelineAction, [0x11] + uuid + [0, 0]), (.appOrder, [1, 1] + uuid), (.screenshot, [0]),
            (.getBytes, [0, 1]),
            (.logDump, [0x10, 0, 1, 2, 3, 4]), (.systemMessage, [0, 1]), (.systemMessage, [0, 0x0B]),
            (.systemMessage, [0, 2]), (.reset, [0]), (.appFetch, [1, 1]),
            (.launcher, [1, 1] + uuid + [1, 1, 0, 0, 0, 2, 1, 0, 1]),
            (.putBytes, [1, 0, 0, 0x10, 0, 1, 0]), (.putBytes, [1, 0, 0, 0x10, 0, 6, 0, 0x6C, 0x61, 0x6E, 0x67, 0]),
            (.putBytes, [1, 0xFF, 0xFF, 0xFF, 0xFF, 1, 0, 0xBE, 0x43, 0x54, 0xEF, 0xFF, 0xFF, 0xFF, 0xFF]),
            (.voiceControl, [1, 0, 0, 0, 0, 1, 0]), (.remoteInput, [0, 1, 1, 0, 1, 0, 1]),
        ]
        return corpus + payloads.map { PebbleMessage(endpoint: $0.0, payload: $0.1) }
    }

    @Test func noMessageBringsTheWatchDown() throws {
        let corpus = try Self.corpus()
        var random = SplitMix64(seed: Self.seed)
        var rig = ServiceRig(memory: ServiceMemory(coreDump: CoreDump(bytes: [1, 2, 3])), seed: Self.seed)
        var token: [UInt8] = [0, 0, 0, 0]
        for round in 0..<Self.count {
            var message = corpus[Int.random(in: 0..<corpus.count, using: &random)]
            // Tokens that the watch gave out keep uploads going.
            if message.endpoint == .putBytes, message.payload.count >= 5, message.payload[0] != 1,
                Bool.random(using: &random)
            {
                message.payload.replaceSubrange(1..<5, with: token)
            }
            Self.bend(&message.payload, corpus, &random)
            switch UInt8.random(in: 0...255, using: &random) {
            case 0: rig.reopen(Bool.random(using: &random) ? .reversedV2 : .init(kind: .app, application: .system))
            case 1: rig.storeWorks.toggle()
            case 2: rig.storeAnswers.toggle()
            case 3...6: rig.wait(.seconds(Int.random(in: 0...40, using: &random)))
            case 7...20:
                let bytes = [UInt8](repeating: 1, count: Int.random(in: 1...3000, using: &random))
                let description = DataLoggingMessage.Session(
                    application: .system,
                    timestamp: 0,
                    tag: UInt32.random(in: 0...30, using: &random),
                    itemType: .bytes,
                    itemSize: 1
                )
                _ = rig.system.withServices(at: rig.now) { $0.log(bytes, as: description, in: &$1) }
            default: break
            }
            var bytes: [UInt8] = []
            try MessageFramer.append(message, to: &bytes)
            let answers = rig.send(bytes)
            #expect(answers.count < 400, "round \(round), seed \(Self.seed): a flood")
            if let answer = answers.last(where: { $0.endpoint == .putBytes && $0.payload.count == 5 }) {
                token = Array(answer.payload[1...])
            }
            _ = rig.system.takeRestart()
            if round % 1000 == 0 { try Self.checkLimits(rig.system, round) }
        }
        rig.storeAnswers = true
        rig.storeWorks = true
        rig.wait(.seconds(60))
        rig.reopen()
        #expect(
            try rig.send(PingMessage.ping(cookie: 7, isIdle: false)).decoded(PingMessage.self) == [.pong(cookie: 7)]
        )
    }

    private static func bend(_ payload: inout [UInt8], _ corpus: [PebbleMessage], _ random: inout SplitMix64) {
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            guard !payload.isEmpty else { return }
            let place = Int.random(in: 0..<payload.count, using: &random)
            switch Int.random(in: 0...5, using: &random) {
            case 0: payload[place] ^= 1 << UInt8.random(in: 0...7, using: &random)
            case 1: payload[place] = [0, 1, 0x7F, 0x80, 0xFE, 0xFF][Int.random(in: 0...5, using: &random)]
            case 2: payload.removeSubrange(place...)
            case 3: payload.remove(at: place)
            case 4: payload.insert(.random(in: 0...255, using: &random), at: place)
            default: payload += corpus[Int.random(in: 0..<corpus.count, using: &random)].payload.prefix(200)
            }
        }
    }

    /// What a phone can make grow stays within what is named.
    private static func checkLimits(_ system: WatchSystem, _ round: Int) throws {
        let services = system.services
        for database in services.store.databases.databases {
            let rules = try #require(DatabaseRules(database), "round \(round)")
            #expect(services.store.databases.count(of: database) <= rules.recordLimit)
            #expect(services.store.databases.byteCount(of: database) <= rules.byteLimit)
        }
        #expect(services.store.spools.count <= DataLoggingService.sessionLimit)
        #expect(services.store.spools.values.allSatisfy { $0.bytes.count <= DataLoggingService.spoolLimit })
        #expect(services.phoneControl.calls.count <= PhoneControlService.callLimit)
        #expect(services.timeline.pending.count <= TimelineService.pendingLimit)
        #expect(services.log.generations.count <= SystemLog.generationLimit)
        #expect(services.store.files.count <= 1)
    }
}
