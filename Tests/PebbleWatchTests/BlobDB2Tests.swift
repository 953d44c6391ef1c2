import ByteCoding
import PebbleProtocol
import Testing

@testable import PebbleWatch

/// Settings on their way back to the phone.
@Suite struct BlobDB2Tests {
    private static let key = Array("clock24h".utf8)
    /// A phone that takes settings.
    private static let phone = PhoneVersionMessage.response(
        PhoneVersion(
            platform: PhonePlatform(.iOS),
            appVersion: .init(major: 4, minor: 4, bugfix: 2),
            capabilities: [.appRunState, .settingsSync]
        )
    )

    private func change(_ rig: inout ServiceRig, to value: UInt8) {
        let isChanged = rig.system.withServices(at: rig.now) { $0.changeSetting(Self.key, to: [value], in: &$1) }
        #expect(isChanged == true)
    }

    @Test func aPhoneThatNeverAsksIsSentNothing() throws {
        var rig = ServiceRig()
        try rig.send(Self.phone)
        change(&rig, to: 1)
        #expect(rig.wait(.seconds(600)).isEmpty)
    }

    @Test func theVersionIsAnsweredAndTheEndOfTheSyncTold() throws {
        var rig = ServiceRig()
        try rig.send(Self.phone)
        #expect(
            rig.send([0x00, 0x03, 0xB2, 0xDB, 0x0B, 0x34, 0x12]).map(\.payload) == [[0x8B, 0x34, 0x12, 0x01, 0x01]]
        )
        // Nothing to write: done, token 1, settings.
        #expect(rig.wait(.seconds(5)).map(\.payload) == [[0x0A, 0x01, 0x00, 0x0C]])
        #expect(rig.wait(.seconds(60)).isEmpty, "once a connection")
    }

    @Test func changesAreWrittenOneByOneAndThenTheSyncIsDone() throws {
        var rig = ServiceRig()
        try rig.send(Self.phone)
        change(&rig, to: 1)
        let mask = Array("mask".utf8)
        _ = rig.system.withServices(at: rig.now) { $0.changeSetting(mask, to: [9], in: &$1) }
        let stamp = (0..<4).map { UInt8(truncatingIfNeeded: ServiceRig.startTime >> (8 * $0)) }
        // Command, token, database, time, key with its length, value with its length. The firmware's own preferences have a
        // NUL behind their key, the alerts' have none.
        let first = [0x09, 1, 0, 12] + stamp + [UInt8(Self.key.count) + 1] + Self.key + [0, 1, 0, 1]
        let second = [0x09, 2, 0, 12] + stamp + [4] + mask + [1, 0, 9]
        let marked = rig.send([0x00, 0x04, 0xB2, 0xDB, 0x0C, 0x01, 0x00, 0x0C])
        #expect(marked.map(\.payload) == [[0x8C, 1, 0, 1], first])
        #expect(rig.send([0x00, 0x04, 0xB2, 0xDB, 0x89, 0x07, 0x00, 0x01]).isEmpty, "an answer to something else")
        #expect(rig.send([0x00, 0x04, 0xB2, 0xDB, 0x89, 0x01, 0x00, 0x01]).map(\.payload) == [second])
        #expect(rig.send([0x00, 0x04, 0xB2, 0xDB, 0x89, 0x02, 0x00, 0x01]).map(\.payload) == [[0x0A, 3, 0, 0x0C]])
        let settings = rig.system.services.store.databases
        #expect(settings[.settings, Self.key]?.isDirty == false)
        #expect(settings[.settings, mask]?.isDirty == false)
    }

    @Test func aWriteIsRepeatedEveryThirtySecondsForFiveMinutes() throws {
        var rig = ServiceRig()
        try rig.send(Self.phone)
        change(&rig, to: 1)
        let first = rig.send([0x00, 0x04, 0xB2, 0xDB, 0x0C, 0x01, 0x00, 0x0C]).last
        #expect(first?.payload.first == 0x09)
        let repeated = rig.wait(.seconds(299))
        #expect(repeated.count == 9)
        #expect(repeated.allSatisfy { $0 == first }, "the same token again and again")
        #expect(rig.wait(.seconds(600)).isEmpty)
        #expect(rig.system.services.store.databases[.settings, Self.key]?.isDirty == true)
    }

    @Test func aPhoneWithoutSettingsOnlyHearsTheEnd() throws {
        var rig = ServiceRig()
        change(&rig, to: 1)
        rig.send([0x00, 0x03, 0xB2, 0xDB, 0x0B, 0x01, 0x00])
        #expect(rig.wait(.seconds(5)).map(\.payload) == [[0x0A, 0x01, 0x00, 0x0C]])
    }

    @Test func whatCannotBeDoneIsRefused() throws {
        var rig = ServiceRig()
        let cases: [(request: [UInt8], answers: [[UInt8]])] = [
            ([0x0C, 1, 0, 2], [[0x8C, 1, 0, 9]]), ([0x06, 1, 0], [[0x86, 1, 0, 1, 0]]),
            ([0x33, 1, 0], [[0xB3, 1, 0, 3]]),
            ([0x08, 1, 0], [[0x88, 1, 0, 3]]), ([0x09, 1, 0], [[0x89, 1, 0, 3]]),
            ([0x0A, 1, 0, 12], [[0x8A, 1, 0, 3]]),
            // A database in which the watch changes nothing: done, and then the answer; and none at all.
            ([0x07, 1, 0, 2], [[0x0A, 1, 0, 2], [0x87, 1, 0, 1]]), ([0x07, 1, 0, 0x42], [[0x87, 1, 0, 4]]),
            // What is too short is not answered.
            ([0x0B, 1], []), ([0x06, 2], []), ([0x07, 6, 0], []), ([0x0C, 7, 0], []), ([0x06], []), ([0x55, 8], []),
        ]
        for (request, answers) in cases {
            let said = rig.send([0x00, UInt8(request.count), 0xB2, 0xDB] + request)
            #expect(said.map(\.payload) == answers, "\(request)")
        }
    }

    @Test func aSyncThatIsUnderWayIsNotBegunAgain() throws {
        var rig = ServiceRig()
        try rig.send(Self.phone)
        change(&rig, to: 1)
        let began = rig.send([0x00, 0x04, 0xB2, 0xDB, 0x07, 0x01, 0x00, 0x0C])
        #expect(began.map(\.payload.first) == [0x09, 0x87], "the write comes before the answer")
        #expect(rig.send([0x00, 0x04, 0xB2, 0xDB, 0x07, 0x03, 0x00, 0x0C]).map(\.payload) == [[0x87, 3, 0, 0x0B]])
        #expect(rig.send([0x00, 0x04, 0xB2, 0xDB, 0x89, 0x01, 0x00, 0x01]).map(\.payload) == [[0x0A, 2, 0, 0x0C]])
        let again = rig.send([0x00, 0x04, 0xB2, 0xDB, 0x07, 0x04, 0x00, 0x0C])
        #expect(again.map(\.payload) == [[0x0A, 3, 0, 0x0C], [0x87, 4, 0, 1]], "nothing to write")
    }

    @Test func aSettingThatThereIsNotIsNeitherStoredNorWritten() throws {
        var rig = ServiceRig()
        try rig.send(Self.phone)
        let isChanged = rig.system.withServices(at: rig.now) {
            $0.changeSetting(Array("nonsense".utf8), to: [1], in: &$1)
        }
        #expect(isChanged == false)
        let record = BlobDBRecord(key: Array("nonsense".utf8)[...], value: [1])
        let request = BlobDBRequest(token: .none, command: .insert(.settings, record, timestamp: nil))
        #expect(try rig.send(request).decoded(BlobDBResponse.self).map(\.status) == [.dataStale])
        #expect(rig.system.services.store.databases.count(of: .settings) == 0)
        let marked = rig.send([0x00, 0x04, 0xB2, 0xDB, 0x0C, 0x01, 0x00, 0x0C])
        #expect(marked.map(\.payload.first) == [0x8C, 0x0A], "there is nothing to write back")
    }
}
