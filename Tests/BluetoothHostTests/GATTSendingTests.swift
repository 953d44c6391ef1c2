import BluetoothHCI
import BluetoothHost
import ByteCoding
import Testing

/// Notifications and indications: Core 5.4, Vol 3, Part F, 3.4.7.
@Suite struct GATTSendingTests {
    /// 0003 notify with 0004; 0006 indicate with 0007; 0009 both with 000a; 000c neither.
    private static func rig(mtu: Int? = nil, queueLimit: Int = 32, subscribed: Bool = true) throws -> GATTRig {
        let database = try GATTDatabase {
            Service(.uuid16(0x1800)) {
                Characteristic(.uuid16(0x2AAA), .notify)
                Characteristic(.uuid16(0x2AAB), .indicate)
                Characteristic(.uuid16(0x2AAC), [.notify, .indicate])
                Characteristic(.uuid16(0x2AAD), .read)
            }
        }
        var rig = GATTRig(database, mtu: mtu, configuration: .init(queueLimit: queueLimit))
        if subscribed {
            for configuration in ["0400 0100", "0700 0200", "0a00 0300"] { rig.expect("12 \(configuration)", "13") }
        }
        _ = rig.events()
        return rig
    }

    // MARK: Notifications

    @Test func notificationsCarryHandleAndValue() throws {
        var rig = try Self.rig()
        try rig.layer.notify([1, 2, 3], of: 0x0003, on: GATTRig.connection, at: rig.now)
        try rig.layer.notify([], of: 0x0009, on: GATTRig.connection, at: rig.now)
        #expect(rig.sent() == ["1b0300010203", "1b0900"])
    }

    @Test func notificationsAreCutOffAtTheMTU() throws {
        var rig = try Self.rig(mtu: 50)
        try rig.layer.notify(Array(repeating: 0xAA, count: 48)[...], of: 0x0003, on: GATTRig.connection, at: rig.now)
        #expect(rig.sent() == ["1b0300" + String(repeating: "aa", count: 47)])
    }

    @Test func notificationsNeedASubscription() throws {
        var rig = try Self.rig(subscribed: false)
        #expect(throws: GATTError.notSubscribed(0x0003)) {
            try rig.layer.notify([1], of: 0x0003, on: GATTRig.connection, at: rig.now)
        }
        try rig.layer.notify([1], of: 0x0003, on: GATTRig.connection, evenIfNotSubscribed: true, at: rig.now)
        #expect(rig.sent() == ["1b030001"])
        #expect(throws: GATTError.notSubscribed(0x000C)) {
            try rig.layer.notify([1], of: 0x000C, on: GATTRig.connection, evenIfNotSubscribed: true, at: rig.now)
        }
        #expect(throws: GATTError.unknownAttribute(0x0099)) {
            try rig.layer.notify([1], of: 0x0099, on: GATTRig.connection, at: rig.now)
        }
        rig.expect("12 0700 0200", "13")
        #expect(throws: GATTError.notSubscribed(0x0006)) {
            try rig.layer.notify([1], of: 0x0006, on: GATTRig.connection, at: rig.now)
        }
    }

    @Test func notificationsAreBoundedAndSayWhenThereIsRoom() throws {
        var rig = try Self.rig(queueLimit: 4)
        for value in 0..<4 { try rig.layer.notify([UInt8(value)], of: 0x0003, on: GATTRig.connection, at: rig.now) }
        #expect(throws: GATTError.queueFull) {
            try rig.layer.notify([4], of: 0x0003, on: GATTRig.connection, at: rig.now)
        }
        #expect(throws: GATTError.queueFull) {
            try rig.layer.writeWithoutResponse([4], to: 0x0003, on: GATTRig.connection, at: rig.now)
        }
        var buffer: [UInt8] = []
        #expect(rig.layer.nextPDU(for: GATTRig.connection, into: &buffer) == true)
        #expect(rig.events().isEmpty, "not before half of the room is free")
        #expect(rig.layer.nextPDU(for: GATTRig.connection, into: &buffer) == true)
        let events = rig.events()
        #expect(events.count == 1)
        guard case .roomToSend(GATTRig.connection) = events.first else {
            Issue.record("\(events)")
            return
        }
        try rig.layer.notify([4], of: 0x0003, on: GATTRig.connection, at: rig.now)
        #expect(rig.sent() == ["1b030002", "1b030003", "1b030004"])
        #expect(rig.events().isEmpty, "said once")
    }

    @Test func responsesPassAFullQueue() throws {
        var rig = try Self.rig(queueLimit: 1)
        try rig.layer.notify([1], of: 0x0003, on: GATTRig.connection, at: rig.now)
        rig.receive("0a 0c00")
        #expect(rig.sent() == ["1b030001", "0b"], "in the order in which they were queued")
    }

    // MARK: Several values in one notification

    /// 0003 client supported features; 0006 and 0009, whose notifications the client has subscribed to.
    static func twoNotified() throws -> GATTRig {
        let database = try GATTDatabase {
            Service(.genericAttribute) {
                Characteristic(.clientSupportedFeatures, [.read, .write], value: .clientSupportedFeatures)
            }
            Service(.uuid16(0x180F)) {
                Characteristic(.uuid16(0x2AAA), .notify)
                Characteristic(.uuid16(0x2AAB), .notify)
            }
        }
        var rig = GATTRig(database)
        rig.expect("12 0700 0100", "13")
        rig.expect("12 0a00 0100", "13")
        return rig
    }

    @Test func multipleNotificationsAreForClientsThatTakeThem() throws {
        var rig = try Self.twoNotified()
        let values = [HandleValue(0x0006, [1, 2]), HandleValue(0x0009, [3])]
        #expect(throws: GATTError.multipleNotificationsNotSupported) {
            try rig.layer.notify(values, on: GATTRig.connection, at: rig.now)
        }
        rig.expect("12 0300 04", "13")
        try rig.layer.notify(values, on: GATTRig.connection, at: rig.now)
        #expect(rig.sent() == ["23 0600 0200 0102 0900 0100 03".filter { $0 != " " }])
        #expect(throws: GATTError.invalidValueLength(0x0009, 13)) {
            let long = HandleValue(0x0009, Array(repeating: 0, count: 13)[...])
            try rig.layer.notify([HandleValue(0x0006, [1, 2]), long], on: GATTRig.connection, at: rig.now)
        }
        #expect(throws: GATTError.multipleNotificationsNotSupported) {
            try rig.layer.notify([values[0]], on: GATTRig.connection, at: rig.now)
        }
    }

    // MARK: Indications

    @Test func indicationsGoOneAtATime() throws {
        var rig = try Self.rig()
        for value: UInt8 in 1...3 { try rig.layer.indicate([value], of: 0x0006, on: GATTRig.connection, at: rig.now) }
        #expect(rig.sent() == ["1d060001"])
        #expect(rig.exchange("1e") == ["1d060002"])
        #expect(rig.exchange("1e") == ["1d060003"])
        #expect(rig.exchange("1e") == [])
        let confirmed = rig.events().compactMap { event -> AttributeHandle? in
            if case .indicationConfirmed(_, let handle) = event { handle } else { nil }
        }
        #expect(confirmed == [0x0006, 0x0006, 0x0006])
        rig.expectIgnored("1e", .unexpectedConfirmation)
    }

    @Test func confirmationsHaveNothingBehindTheOpcode() throws {
        var rig = try Self.rig()
        try rig.layer.indicate([1], of: 0x0006, on: GATTRig.connection, at: rig.now)
        #expect(rig.sent() == ["1d060001"])
        rig.expectIgnored("1e00", .malformed(opcode: 0x1E, ByteDecodingError("pdu", .trailingBytes(1))))
        #expect(rig.exchange("1e") == [])
        #expect(rig.events().count == 1)
    }

    @Test func indicationsAreBounded() throws {
        var rig = try Self.rig()
        for _ in 0..<17 { try rig.layer.indicate([1], of: 0x0006, on: GATTRig.connection, at: rig.now) }
        #expect(throws: GATTError.queueFull) {
            try rig.layer.indicate([1], of: 0x0006, on: GATTRig.connection, at: rig.now)
        }
        #expect(throws: GATTError.notSubscribed(0x0003)) {
            try rig.layer.indicate([1], of: 0x0003, on: GATTRig.connection, at: rig.now)
        }
    }

    @Test func indicationsAreCutOffAtTheMTU() throws {
        var rig = try Self.rig()
        try rig.layer.indicate(Array(repeating: 0xAA, count: 30)[...], of: 0x0009, on: GATTRig.connection, at: rig.now)
        #expect(rig.sent() == ["1d0900" + String(repeating: "aa", count: 20)])
    }

    @Test func anUnconfirmedIndicationEndsTheBearerAfter30Seconds() throws {
        var rig = try Self.rig()
        #expect(rig.layer.nextDeadline == nil)
        rig.advance(by: .seconds(100))
        try rig.layer.indicate([1], of: 0x0006, on: GATTRig.connection, at: rig.now)
        try rig.layer.indicate([2], of: 0x0006, on: GATTRig.connection, at: rig.now)
        #expect(rig.sent() == ["1d060001"])
        #expect(rig.layer.nextDeadline == .seconds(130))
        rig.advance(by: .milliseconds(29_999))
        #expect(rig.events().isEmpty)
        rig.advance(by: .milliseconds(1))
        let events = rig.events()
        #expect(events.count == 1)
        guard case .transactionTimedOut(GATTRig.connection) = events.first else {
            Issue.record("\(events)")
            return
        }
        #expect(rig.exchange("0a 0c00") == [], "no PDU is taken any more")
        #expect(rig.exchange("1e") == [])
        #expect(throws: GATTError.notConnected(GATTRig.connection)) {
            try rig.layer.notify([1], of: 0x0003, on: GATTRig.connection, at: rig.now)
        }
        #expect(rig.layer.nextDeadline == nil)
        #expect(rig.events().isEmpty)
    }

    @Test func the30SecondsBeginWhenTheIndicationLeaves() throws {
        var rig = try Self.rig()
        try rig.layer.indicate([1], of: 0x0006, on: GATTRig.connection, at: rig.now)
        rig.advance(by: .seconds(20))
        #expect(rig.sent() == ["1d060001"])
        #expect(rig.layer.nextDeadline == .seconds(50))
        rig.advance(by: .seconds(20))
        #expect(rig.exchange("1e") == [])
        #expect(rig.layer.nextDeadline == nil)
    }
}
