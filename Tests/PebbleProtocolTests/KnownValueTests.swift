import ByteCoding
import PebbleProtocol
import Testing

/// What Pebble's characteristics hold, against values that others have recorded, and numbers that phones have written into them.
@Suite("Values and numbers that others know") struct KnownValueTests {
    private static let recorded = GoldenVector.bleWatch.filter { $0.name.hasPrefix("pps_conn_") }

    @Test func connectivityIsReadAndWrittenAsRecorded() throws {
        #expect(Self.recorded.count >= 6)
        for vector in Self.recorded {
            let status = try ConnectivityStatus(decoding: vector.bytes[...])
            #expect(status.encoded == vector.bytes, "\(vector.name)")
        }
    }

    /// The numbers by which libpebble3 writes to the databases, in its order.
    @Test func databasesHaveTheNumbersThatPhonesUse() {
        let databases: [BlobDBDatabase] = [
            .test, .pins, .apps, .reminders, .notifications, .weather, .cannedMessages, .healthPreferences, .contacts,
            .watchAppPreferences, .healthStatistics, .appGlances, .settings,
        ]
        #expect(databases.map(\.rawValue) == Array(0...12))
    }

    /// A watch names the token in its refusal even of a message that is cut off.
    @Test func aTokenIsReadAsFarAsItIsThere() {
        #expect(PutBytesRequest.token(of: [2, 0x12, 0x34, 0x56, 0x78, 9]) == PutBytesToken(rawValue: 0x1234_5678))
        #expect(PutBytesRequest.token(of: [2, 0x12, 0x34]) == PutBytesToken(rawValue: 0x1234_0000))
        #expect(PutBytesRequest.token(of: [2]) == PutBytesToken(rawValue: 0))
    }

    /// What the SDK promises each app: `APP_MESSAGE_INBOX_SIZE_MINIMUM` and `APP_MESSAGE_OUTBOX_SIZE_MINIMUM`.
    @Test func appsHaveTheRoomThatTheSDKPromises() {
        #expect(AppMessageLimits.guaranteedInboxSize == 124)
        #expect(AppMessageLimits.guaranteedOutboxSize == 636)
    }

    /// `dict_find` has the tuple of a key and no other, and the first of several.
    @Test func aTupleIsFoundByItsKey() throws {
        var writer = AppMessageDictionaryWriter(limit: 100)
        for (key, value) in [(7, 1), (8, 2), (7, 3)] as [(UInt32, UInt8)] {
            try writer.append(AppMessageTuple(key: key, value: .uint8(value)))
        }
        #expect(writer.dictionary.find(7)?.value == .uint8(1))
        #expect(writer.dictionary.find(8)?.value == .uint8(2))
        #expect(writer.dictionary.find(9) == nil)
    }

    /// However little a frame may carry, it carries a byte, so that a stream comes to an end.
    @Test(arguments: [-1, 0, 1, 2]) func aStreamIsCutIntoFramesOfAByteAtLeast(limit: Int) {
        var bytes: [UInt8] = []
        QEMUFrame.append([1, 2, 3], as: .spp, maximumDataLength: limit, to: &bytes)
        var deframer = QEMUDeframer()
        deframer.receive(bytes[...])
        var data: [[UInt8]] = []
        while let frame = deframer.nextFrame(at: .zero) { data.append(frame.data) }
        #expect(data == (limit == 2 ? [[1, 2], [3]] : [[1], [2], [3]]))
    }
}
