import ByteCoding
import PebbleProtocol
import Testing

@testable import PebbleWatch

/// Logged data on their way to the phone.
@Suite struct DataLoggingTests {
    private static let application = PebbleUUID(upperHalf: 1, lowerHalf: 2)
    private static func session(tag: UInt32 = 7, itemSize: UInt16 = 4) -> DataLoggingMessage.Session {
        .init(application: application, timestamp: 0x0102_0304, tag: tag, itemType: .unsigned, itemSize: itemSize)
    }

    @discardableResult
    private func log(_ rig: inout ServiceRig, _ bytes: [UInt8], tag: UInt32 = 7, itemSize: UInt16 = 4) -> Bool? {
        rig.system.withServices(at: rig.now) { $0.log(bytes, as: Self.session(tag: tag, itemSize: itemSize), in: &$1) }
    }

    /// `0x1A7A` with a payload.
    private func say(_ rig: inout ServiceRig, _ payload: [UInt8]) -> [[UInt8]] {
        rig.send([0x00, UInt8(payload.count), 0x1A, 0x7A] + payload).map(\.payload)
    }

    /// Session 1 of the tests' own description, opened, acknowledged and emptied; then so much is logged.
    private func openedRig(_ bytes: [UInt8] = []) -> ServiceRig {
        var rig = ServiceRig()
        log(&rig, [9, 9, 9, 9])
        _ = say(&rig, [0x84])
        #expect(say(&rig, [0x85, 1]).map { $0.suffix(4) } == [[9, 9, 9, 9]])
        #expect(say(&rig, [0x85, 1]).isEmpty)
        if !bytes.isEmpty { log(&rig, bytes) }
        #expect(rig.drain().isEmpty)
        return rig
    }

    @Test func aSessionByTheBytes() throws {
        var rig = ServiceRig()
        #expect(log(&rig, [1, 2, 3, 4, 5, 6, 7, 8]) == true)
        #expect(rig.drain().isEmpty, "no phone has asked for it")
        // The phone names a session that the watch does not know: closed. Then its own is opened.
        #expect(
            say(&rig, [0x84, 9]) == [
                [0x03, 9],
                [0x01, 1] + Self.application.key + [4, 3, 2, 1, 7, 0, 0, 0, 2, 4, 0],
            ]
        )
        var data: [UInt8] = [0x02, 1, 0xFF, 0xFF, 0, 0]
        data.appendLittleEndian(LegacyChecksum.checksum(of: [1, 2, 3, 4, 5, 6, 7, 8]))
        #expect(say(&rig, [0x85, 1]) == [data + [1, 2, 3, 4, 5, 6, 7, 8]], "all that there is, at once")
        #expect(say(&rig, [0x85, 1]).isEmpty)
        #expect(say(&rig, [0x88, 1]).isEmpty, "with nothing to send the watch is silent")
        #expect(rig.changes.last == .loggingConsumed(LoggingSessionID(rawValue: 1), upTo: 8))
        // What comes later is too little to be sent unasked.
        log(&rig, [1, 2, 3, 4])
        #expect(rig.drain().isEmpty)
        #expect(say(&rig, [0x88, 1]).map { $0.suffix(4) } == [[1, 2, 3, 4]])
    }

    @Test func messagesHoldWholeItemsUpToTheLimit() throws {
        var rig = ServiceRig()
        let bytes = (0..<700).map { UInt8(truncatingIfNeeded: $0) }
        log(&rig, bytes, itemSize: 100)
        _ = say(&rig, [0x84])
        let first = try #require(say(&rig, [0x85, 1]).first)
        #expect(first.count == 10 + 600)
        let second = try #require(say(&rig, [0x85, 1]).first)
        #expect(Array(first[10...] + second[10...]) == bytes)
    }

    @Test func eightThousandBytesGoOutUnasked() throws {
        var rig = openedRig([UInt8](repeating: 1, count: 7996))
        #expect(rig.drain().isEmpty)
        log(&rig, [1, 1, 1, 1])
        var sent = 0
        var messages = rig.drain().map(\.payload)
        while let message = messages.first {
            #expect(messages.count == 1, "one at a time")
            sent += message.count - 10
            messages = say(&rig, [0x85, 1])
        }
        #expect(sent == 8000)
    }

    @Test func anOpeningIsRepeatedTwentyTimesAndNoMore() throws {
        var rig = ServiceRig()
        log(&rig, [1, 2, 3, 4])
        var openings = say(&rig, [0x84]).count
        for _ in 0..<40 { openings += say(&rig, [0x86, 1]).count }
        #expect(openings == DataLoggingService.refusalLimit)
        #expect(say(&rig, [0x84]).count == 1, "a new report begins at the start")
    }

    @Test func dataRefusedTwentyTimesAreDropped() throws {
        var rig = openedRig([1, 2, 3, 4])
        var sent = say(&rig, [0x88, 1]).count
        for _ in 0..<40 { sent += say(&rig, [0x86, 1]).filter { $0.first == 0x02 }.count }
        #expect(sent == DataLoggingService.refusalLimit)
        #expect(rig.takeServiceEvents().contains(.dataDropped(LoggingSessionID(rawValue: 1), byteCount: 4)))
        #expect(rig.system.services.store.spools.values.allSatisfy { $0.bytes.isEmpty })
    }

    @Test func silenceIsTimedOutAfterThirtySeconds() throws {
        var rig = openedRig([1, 2, 3, 4])
        #expect(say(&rig, [0x88, 1]).count == 1)
        #expect(rig.wait(.milliseconds(29_999)).isEmpty)
        #expect(rig.wait(.milliseconds(1)).map(\.payload) == [[0x07, 1]])
        #expect(say(&rig, [0x88, 1]).count == 1, "the data are still there")
    }

    @Test func aPhoneThatWantsNothingGetsAnswersOnly() throws {
        var rig = ServiceRig()
        #expect(say(&rig, [0x89]) == [[0x0A, 1]])
        #expect(say(&rig, [0x8B, 0]).isEmpty)
        log(&rig, [1, 2, 3, 4])
        #expect(say(&rig, [0x84, 5]) == [[0x03, 5]])
        #expect(say(&rig, [0x89]) == [[0x0A, 0]])
        #expect(say(&rig, [0x8B, 1]).map(\.first) == [0x01])
    }

    @Test func aFinishedSessionIsEmptiedAndClosed() throws {
        var rig = openedRig([1, 2, 3, 4])
        _ = rig.system.withServices(at: rig.now) { $0.finishLogging(LoggingSessionID(rawValue: 1), in: &$1) }
        #expect(rig.drain().map(\.payload.first) == [0x02])
        #expect(say(&rig, [0x85, 1]) == [[0x03, 1]])
        #expect(rig.system.services.store.spools.isEmpty)
        #expect(rig.changes.last == .loggingEnded(LoggingSessionID(rawValue: 1)))
    }

    @Test func roomIsLimited() throws {
        var rig = ServiceRig()
        for tag in 0..<UInt32(DataLoggingService.sessionLimit) { #expect(log(&rig, [1, 2, 3, 4], tag: tag) == true) }
        #expect(log(&rig, [1, 2, 3, 4], tag: 99) == false)
        let full = [UInt8](repeating: 0, count: DataLoggingService.spoolLimit)
        #expect(log(&rig, full, tag: 0) == false)
        #expect(log(&rig, Array(full.dropLast(4)), tag: 0) == true)
        #expect(log(&rig, [1, 2, 3, 4], tag: 0) == false)
        #expect(log(&rig, [1, 2, 3], tag: 1) == false, "no whole item")
    }

    @Test func whatIsNotStoredIsNotLogged() throws {
        var rig = ServiceRig()
        log(&rig, [1, 2, 3, 4])
        _ = rig.takeServiceEvents()
        rig.storeWorks = false
        #expect(log(&rig, [5, 6, 7, 8]) == true)
        #expect(
            rig.takeServiceEvents() == [
                .dataNotLogged(LoggingSessionID(rawValue: 1), reason: "/state: no space is left")
            ]
        )
        #expect(rig.system.services.store.spools.values.map(\.bytes) == [[1, 2, 3, 4]])
    }

    @Test func nothingIsSaidDuringAnUpload() throws {
        var rig = openedRig([1, 2, 3, 4])
        let object = PutBytesObject(size: 4, kind: .file, target: .bank(0, fileName: "lang"))
        let began = try rig.send(PutBytesRequest.begin(object)).decoded(PutBytesResponse.self)
        guard case .acknowledgement(let token)? = began.first else {
            Issue.record("the upload was refused")
            return
        }
        #expect(say(&rig, [0x88, 1]).isEmpty)
        let said = try rig.send(PutBytesRequest.abort(token))
        #expect(
            said.map(\.endpoint) == [.dataLogging, .putBytes] || said.map(\.endpoint) == [.putBytes, .dataLogging]
        )
    }

    @Test func healthDataAreFlushedWhenThePhoneWantsThem() throws {
        var rig = ServiceRig()
        log(&rig, [1, 2, 3, 4], tag: 81)
        log(&rig, [5, 6, 7, 8], tag: 7)
        _ = say(&rig, [0x84])
        for session: UInt8 in [1, 1, 2, 2] { _ = say(&rig, [0x85, session]) }
        log(&rig, [1, 2, 3, 4], tag: 81)
        log(&rig, [5, 6, 7, 8], tag: 7)
        #expect(rig.drain().isEmpty)
        let said = rig.send([0x00, 0x05, 0x03, 0x8F, 0x01, 0, 0, 0, 0])
        #expect(said.first?.payload == [0x11, 0x01])
        #expect(said.dropFirst().map { Array($0.payload.suffix(4)) } == [[1, 2, 3, 4]])
    }
}
