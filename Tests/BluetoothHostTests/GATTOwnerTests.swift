import BluetoothHCI
import BluetoothHost
import ByteCoding
import Testing

/// Values that only the owner knows, and what happens before it answers.
@Suite struct GATTOwnerTests {
    /// 0003 asked (read, write, no response); 0005 stored 01; 0007 asked; 0009 asked (notify) with 000a.
    private static func rig(mtu: Int? = nil) throws -> GATTRig {
        let database = try GATTDatabase {
            Service(.uuid16(0x1800)) {
                Characteristic(
                    .uuid16(0x2AAA),
                    [.read, .write, .writeWithoutResponse],
                    value: .askOwner(maximumLength: 40)
                )
                Characteristic(.uuid16(0x2AAA), [.read, .write], value: [0x01])
                Characteristic(.uuid16(0x2AAB), [.read, .write], value: .askOwner)
                Characteristic(.uuid16(0x2AAC), .notify, value: .askOwner, ownerAnswersSubscriptions: true)
            }
        }
        return GATTRig(database, mtu: mtu)
    }

    private static func read(_ rig: inout GATTRig) throws -> ReadRequest {
        let requests = rig.events().compactMap { if case .readRequested(let request) = $0 { request } else { nil } }
        #expect(requests.count == 1)
        return try #require(requests.first)
    }

    private static func write(_ rig: inout GATTRig) throws -> WriteRequest {
        let requests = rig.events().compactMap { if case .writeRequested(let request) = $0 { request } else { nil } }
        #expect(requests.count == 1)
        return try #require(requests.first)
    }

    // MARK: Reads

    @Test func ownerAnswersReads() throws {
        var rig = try Self.rig()
        #expect(rig.exchange("0a 0300") == [], "nothing is said before the owner has")
        let request = try Self.read(&rig)
        #expect(request.handle == 0x0003)
        #expect(request.offset == 0)
        #expect(rig.layer.respond(to: request, with: Array(0..<30)[...], at: rig.now) == true)
        #expect(rig.sent() == ["0b000102030405060708090a0b0c0d0e0f101112131415"])
        #expect(rig.layer.respond(to: request, with: [1], at: rig.now) == false, "answered once")
        #expect(rig.sent() == [])
    }

    @Test func ownerAnswersBlobsWithTheWholeValue() throws {
        var rig = try Self.rig()
        #expect(rig.exchange("0c 0300 1600") == [])
        let request = try Self.read(&rig)
        #expect(request.offset == 22)
        rig.layer.respond(to: request, with: Array(0..<30)[...], at: rig.now)
        #expect(rig.sent() == ["0d161718191a1b1c1d"])

        #expect(rig.exchange("0c 0300 1600") == [])
        rig.layer.respond(to: try Self.read(&rig), with: [1, 2, 3], at: rig.now)
        #expect(rig.sent() == ["010c030007"], "Invalid Offset")
    }

    @Test func ownerAnswersByType() throws {
        var rig = try Self.rig()
        #expect(rig.exchange("08 0100 ffff aa2a") == [])
        rig.layer.respond(to: try Self.read(&rig), with: [0xEE], at: rig.now)
        #expect(rig.sent() == ["0903 0300ee".filter { $0 != " " }])
        rig.expect("08 0400 ffff aa2a", "09 03 0500 01")
    }

    @Test func byTypeDoesNotAskForMoreThanTheFirst() throws {
        let database = try GATTDatabase {
            Service(.uuid16(0x1800)) {
                Characteristic(.uuid16(0x2AAA), .read, value: [0x01])
                Characteristic(.uuid16(0x2AAA), .read, value: .askOwner)
            }
        }
        var rig = GATTRig(database)
        rig.expect("08 0100 ffff aa2a", "09 03 0300 01")
        #expect(rig.events().isEmpty)
    }

    @Test func ownerIsAskedForEachOfMultipleInTurn() throws {
        var rig = try Self.rig()
        #expect(rig.exchange("0e 0300 0500 0700") == [])
        let first = try Self.read(&rig)
        #expect(first.handle == 0x0003)
        rig.layer.respond(to: first, with: [0xA1, 0xA2], at: rig.now)
        #expect(rig.sent() == [])
        let second = try Self.read(&rig)
        #expect(second.handle == 0x0007)
        rig.layer.respond(to: second, with: [0xB1], at: rig.now)
        #expect(rig.sent() == ["0fa1a201b1"])

        #expect(rig.exchange("20 0500 0700 0300") == [])
        rig.layer.respond(to: try Self.read(&rig), with: [], at: rig.now)
        rig.layer.respond(to: try Self.read(&rig), with: [0xC1, 0xC2], at: rig.now)
        #expect(rig.sent() == ["210100010000" + "0200c1c2"])
    }

    @Test func ownerIsNotAskedForWhatDoesNotFit() throws {
        var rig = try Self.rig()
        #expect(rig.exchange("0e 0300 0700") == [])
        rig.layer.respond(to: try Self.read(&rig), with: Array(repeating: 0xDD, count: 22)[...], at: rig.now)
        #expect(rig.sent() == ["0f" + String(repeating: "dd", count: 22)])
        #expect(rig.events().isEmpty)
    }

    @Test func ownerRefusesReads() throws {
        var rig = try Self.rig()
        let cases = [("0a 0300", "010a030080"), ("0c 0300 0000", "010c030080"), ("08 0100 ffff aa2a", "0108030080")]
        for (request, refusal) in cases {
            #expect(rig.exchange(request) == [])
            rig.layer.refuse(try Self.read(&rig), with: ATTError(rawValue: 0x80), at: rig.now)
            #expect(rig.sent() == [refusal])
            _ = rig.events()
        }
        #expect(rig.exchange("0e 0500 0300 0700") == [])
        rig.layer.respond(to: try Self.read(&rig), with: [1], at: rig.now)
        rig.layer.refuse(try Self.read(&rig), with: .unlikelyError, at: rig.now)
        #expect(rig.sent() == ["010e07000e"], "at the one that failed")
    }

    // MARK: Writes

    @Test func ownerTakesWrites() throws {
        var rig = try Self.rig()
        #expect(rig.exchange("12 0300 aabb") == [])
        let request = try Self.write(&rig)
        #expect(request.handle == 0x0003)
        #expect(Array(request.value) == [0xAA, 0xBB])
        #expect(rig.layer.respond(to: request, at: rig.now) == true)
        #expect(rig.sent() == ["13"])
        #expect(rig.layer.respond(to: request, at: rig.now) == false)

        #expect(rig.exchange("12 0300 ff") == [])
        rig.layer.refuse(try Self.write(&rig), with: .invalidAttributeValueLength, at: rig.now)
        #expect(rig.sent() == ["011203000d"])
    }

    @Test func ownerNeverSeesAValueThatIsTooLong() throws {
        var rig = try Self.rig(mtu: 100)
        let long = String(repeating: "00", count: 41)
        rig.expect("12 0300 \(long)", "01 12 0300 0d")
        rig.expect("16 0300 0000 \(long)", "17 0300 0000 \(long)")
        rig.expect("18 01", "01 18 0300 0d")
        let asked = rig.events().contains { if case .writeRequested = $0 { true } else { false } }
        #expect(!asked)
    }

    @Test func commandsToTheOwnerNeedNoAnswer() throws {
        var rig = try Self.rig()
        #expect(rig.exchange("52 0300 0102") == [])
        guard case .written(let write) = rig.events().first else {
            Issue.record("no event")
            return
        }
        #expect(write.connection == GATTRig.connection)
        #expect(write.handle == 0x0003)
        #expect(Array(write.value) == [1, 2])
    }

    // MARK: Subscriptions

    @Test func ownerNotifiesInFrontOfTheAnswer() throws {
        var rig = try Self.rig()
        #expect(rig.exchange("12 0a00 0100") == [])
        guard case .subscriptionChanged(let change) = rig.events().first else {
            Issue.record("no event")
            return
        }
        #expect(change.cause == .requested)
        try rig.layer.notify([0x11, 0, 0, 0], of: 0x0009, on: GATTRig.connection, at: rig.now)
        #expect(rig.layer.respond(to: change, at: rig.now) == true)
        #expect(rig.sent() == ["1b090011000000", "13"])
    }

    @Test func ownerRefusesASubscription() throws {
        var rig = try Self.rig()
        #expect(rig.exchange("12 0a00 0100") == [])
        guard case .subscriptionChanged(let change) = rig.events().first else {
            Issue.record("no event")
            return
        }
        #expect(rig.layer.refuse(change, with: .insufficientResources, at: rig.now) == true)
        #expect(rig.sent() == ["01120a0011"])
        rig.expect("0a 0a00", "0b 0000", "as it was")
    }

    // MARK: While the owner has not answered

    @Test func otherPDUsFlowWhileTheOwnerThinks() throws {
        var rig = try Self.rig()
        #expect(rig.exchange("0a 0300") == [])
        let request = try Self.read(&rig)
        #expect(rig.exchange("52 0300 77") == [])
        #expect(rig.events().count == 1, "a command gets through")
        try rig.layer.notify([1], of: 0x0009, on: GATTRig.connection, evenIfNotSubscribed: true, at: rig.now)
        #expect(rig.sent() == ["1b090001"], "a notification gets out")
        rig.expect("1d 2000 05", "1e", "an indication is confirmed")
        #expect(rig.exchange("0a 0500") == [], "a request waits")
        rig.layer.respond(to: request, with: [9], at: rig.now)
        #expect(rig.sent() == ["0b09", "0b01"], "and is answered in its turn")
    }

    @Test func answersToADeadBearerGoNowhere() throws {
        var rig = try Self.rig()
        #expect(rig.exchange("0a 0300") == [])
        let request = try Self.read(&rig)
        try rig.layer.start(.read(1), on: GATTRig.connection, at: rig.now)
        rig.advance(by: .seconds(30))
        #expect(rig.layer.respond(to: request, with: [1], at: rig.now) == false)
        #expect(rig.sent() == [])
    }

    @Test func answersToClosedConnectionsGoNowhere() throws {
        var rig = try Self.rig()
        #expect(rig.exchange("0a 0300") == [])
        let request = try Self.read(&rig)
        rig.layer.connectionClosed(GATTRig.connection)
        #expect(rig.layer.respond(to: request, with: [1], at: rig.now) == false)
        rig.layer.connectionOpened(GATTRig.connection, at: rig.now)
        #expect(rig.layer.respond(to: request, with: [1], at: rig.now) == false)
        #expect(rig.exchange("0a 0700") == [])
        let later = try Self.read(&rig)
        #expect(later != request, "not even to another request of a connection with the same handle")
        #expect(rig.layer.respond(to: request, with: [1], at: rig.now) == false)
        #expect(rig.layer.respond(to: later, with: [2], at: rig.now) == true)
        #expect(rig.sent() == ["0b02"])
    }
}
