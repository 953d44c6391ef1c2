import ByteCoding
import PebbleProtocol
import Testing

@testable import PebbleWatch

/// Logged data that no phone asks for: what goes out when a session is opened, and every quarter of an hour.
@Suite struct DataLoggingFlushTests {
    private static let application = PebbleUUID(upperHalf: 1, lowerHalf: 2)

    private func log(_ rig: inout ServiceRig, _ bytes: [UInt8], tag: UInt32 = 7) {
        let description = DataLoggingMessage.Session(
            application: Self.application,
            timestamp: 0,
            tag: tag,
            itemType: .unsigned,
            itemSize: 1
        )
        let isLogged = rig.system.withServices(at: rig.now) { $0.log(bytes, as: description, in: &$1) }
        #expect(isLogged == true)
    }

    private func say(_ rig: inout ServiceRig, _ payload: [UInt8]) -> [[UInt8]] {
        rig.send([0x00, UInt8(payload.count), 0x1A, 0x7A] + payload).map(\.payload)
    }

    /// Answers as Gadgetbridge does: every opening and every message with data is acknowledged, and nothing is asked for.
    /// - Returns: the data, by session, and how many messages they came in.
    private func acknowledgeAll(
        _ rig: inout ServiceRig,
        _ first: [[UInt8]]
    ) -> (data: [UInt8: [UInt8]], messageCount: Int) {
        var waiting = first
        var data: [UInt8: [UInt8]] = [:]
        var messageCount = 0
        while !waiting.isEmpty {
            let message = waiting.removeFirst()
            switch message.first {
            case 0x02:
                #expect(message.count <= 10 + DataLoggingService.dataLimit)
                data[message[1], default: []] += message[10...]
                messageCount += 1
            case 0x01: break
            default: Issue.record("\(message) is neither an opening nor data")
            }
            waiting += say(&rig, [0x85, message[1]])
        }
        return (data, messageCount)
    }

    /// `84`, then `85` to each message, and never `88`.
    @Test func aPhoneThatOnlyAcknowledgesGetsEverything() throws {
        var rig = ServiceRig()
        let much = (0..<3000).map { UInt8(truncatingIfNeeded: $0) }
        log(&rig, much)
        log(&rig, [1, 2, 3], tag: 8)
        let (data, messageCount) = acknowledgeAll(&rig, say(&rig, [0x84]))
        #expect(data == [1: much, 2: [1, 2, 3]])
        #expect(messageCount == 5 + 1)
        #expect(rig.system.services.store.spools.values.allSatisfy { $0.bytes.isEmpty })
        // A session that begins later is opened unasked, and its data follow.
        log(&rig, [4, 5], tag: 9)
        #expect(acknowledgeAll(&rig, rig.drain().map(\.payload)).data == [3: [4, 5]])
    }

    @Test func whatComesLaterGoesOutAtTheNextQuarter() throws {
        var rig = ServiceRig()
        log(&rig, [1])
        _ = acknowledgeAll(&rig, say(&rig, [0x84]))
        #expect(rig.system.services.nextDeadline == nil, "without data to send there is no deadline")
        rig.wait(.seconds(100))
        log(&rig, [2, 3])
        log(&rig, [4])
        #expect(rig.drain().isEmpty)
        #expect(rig.system.services.nextDeadline == .seconds(900))
        #expect(rig.wait(.milliseconds(799_999)).isEmpty)
        let sent = rig.wait(.milliseconds(1)).map(\.payload)
        #expect(acknowledgeAll(&rig, sent).data == [1: [2, 3, 4]])
        #expect(rig.system.services.nextDeadline == nil)
        // Hours later, the quarter that follows counts.
        rig.wait(.seconds(10_000 - 900))
        log(&rig, [5])
        #expect(rig.drain().isEmpty)
        #expect(rig.system.services.nextDeadline == .seconds(10_800))
    }

    @Test func anOpeningThatNobodyAnsweredIsRepeatedAtTheNextQuarter() throws {
        var rig = ServiceRig()
        log(&rig, [1, 2])
        #expect(say(&rig, [0x84]).map(\.first) == [0x01])
        #expect(rig.wait(.seconds(30)).map(\.payload) == [[0x07, 1]])
        let again = rig.wait(.seconds(870)).map(\.payload)
        #expect(again.map(\.first) == [0x01])
        #expect(acknowledgeAll(&rig, again).data == [1: [1, 2]])
    }

    /// Without the phone's wish nothing goes out, and without a phone nothing is due.
    @Test func aQuarterIsNothingToAPhoneThatDoesNotWantData() throws {
        var rig = ServiceRig()
        log(&rig, [1])
        #expect(rig.wait(.seconds(1000)).isEmpty, "no phone has asked for it")
        _ = acknowledgeAll(&rig, say(&rig, [0x84]))
        log(&rig, [2])
        #expect(say(&rig, [0x8B, 0]).isEmpty)
        #expect(rig.wait(.seconds(1000)).isEmpty)
        #expect(say(&rig, [0x8B, 1]).isEmpty)
        #expect(rig.system.services.nextDeadline == .seconds(2700))
        rig.closeSession()
        #expect(rig.system.services.nextDeadline == nil)
    }

    /// During an upload nothing is said; what is due goes out when it has ended.
    @Test func aQuarterThatFallsIntoAnUploadWaitsForItsEnd() throws {
        var rig = ServiceRig()
        log(&rig, [1])
        _ = acknowledgeAll(&rig, say(&rig, [0x84]))
        log(&rig, [2])
        rig.wait(.seconds(890))
        let object = PutBytesObject(size: 4, kind: .file, target: .bank(0, fileName: "lang"))
        try rig.send(PutBytesRequest.begin(object))
        #expect(rig.wait(.seconds(20)).isEmpty)
        #expect(rig.wait(.seconds(15)).map { $0.payload.last } == [2], "the upload has ended at its timeout")
    }

    /// pebble-tool's `data-logging download`: `84`, and openings are acknowledged until 2 s pass in silence, while data are
    /// overlooked; then `88`, and data are acknowledged until there is silence.
    @Test func theSDKsToolGetsTheDataAndThenSilence() throws {
        var rig = ServiceRig()
        let much = [UInt8](repeating: 5, count: 1000)
        log(&rig, much)
        #expect(say(&rig, [0x84]).map(\.first) == [0x01])
        let overlooked = say(&rig, [0x85, 1])
        #expect(overlooked.map(\.first) == [0x02])
        #expect(say(&rig, [0x88, 1]).isEmpty, "it may be on its way")
        #expect(rig.wait(.seconds(2)).isEmpty)
        let again = say(&rig, [0x88, 1])
        #expect(again == overlooked)
        #expect(acknowledgeAll(&rig, again).data == [1: much])
        #expect(say(&rig, [0x88, 1]).isEmpty)
        #expect(rig.wait(.seconds(10)).isEmpty)
    }
}
