import BluetoothHCI
import BluetoothHost
import ByteCoding
import Testing

/// Values that wait to leave while the client unsubscribes, its link changes, or their service goes: they do not leave, and
/// the owner is told (Core 5.4, Vol 3, Part G, 3.3.3.3; Vol 3, Part C, 10.3.1.1).
@Suite struct GATTUnsentTests {
    /// 0003 Service Changed with 0004, 0006 Client Supported Features; 0009 notify and indicate with 000a, over encrypted
    /// links; 000c the same with 000d, over any link; service "optional" 000e: 0010 notify and indicate with 0011.
    private static func rig(features: String? = nil) throws -> GATTRig {
        let both: CharacteristicProperties = [.notify, .indicate]
        let database = try GATTDatabase {
            Service(.genericAttribute) {
                Characteristic(.serviceChanged, .indicate)
                Characteristic(.clientSupportedFeatures, [.read, .write], value: .clientSupportedFeatures)
            }
            Service(.uuid16(0x180F)) {
                Characteristic(.uuid16(0x2AAA), both, permissions: .init(subscribe: .encrypted))
                Characteristic(.uuid16(0x2AAB), both)
            }
            Service(.uuid16(0x180D), name: "optional") { Characteristic(.uuid16(0x2AAC), both) }
        }
        var rig = GATTRig(database, security: encrypted)
        for configuration in ["0400 0200", "0a00 0300", "0d00 0300", "1100 0300"] {
            rig.expect("12 \(configuration)", "13")
        }
        if let features { rig.expect("12 0600 \(features)", "13") }
        _ = rig.events()
        return rig
    }

    private static let encrypted = LinkSecurity(isEncrypted: true, keySize: 16)

    /// What keeps a value of 0009 or 0010 from leaving, and what the owner is told.
    enum Change: CaseIterable {
        case unsubscribed, unencrypted, hidden

        var handle: AttributeHandle { self == .hidden ? 0x0010 : 0x0009 }

        var reason: GATTError {
            switch self {
            case .unsubscribed: .notSubscribed(0x0009)
            case .unencrypted: .insufficientSecurity(0x0009, .insufficientAuthentication)
            case .hidden: .unknownAttribute(0x0010)
            }
        }

        func happen(to rig: inout GATTRig) throws {
            switch self {
            case .unsubscribed: rig.receive("12 0a00 0000")
            case .unencrypted: rig.layer.securityChanged(GATTRig.connection, to: .none)
            case .hidden: _ = try rig.layer.setPublished(false, service: "optional")
            }
        }
    }

    private static func unsent(_ rig: inout GATTRig) -> [UnsentValue] {
        rig.events().compactMap { if case .valueNotSent(let unsent) = $0 { unsent } else { nil } }
    }

    @Test(arguments: Change.allCases)
    func notificationsThatWaitAreCheckedWhenTheyLeave(_ change: Change) throws {
        var rig = try Self.rig()
        try rig.layer.notify([1], of: 0x000C, on: GATTRig.connection, at: rig.now)
        try rig.layer.notify([2], of: change.handle, on: GATTRig.connection, at: rig.now)
        try rig.layer.notify([3], of: 0x000C, on: GATTRig.connection, at: rig.now)
        try change.happen(to: &rig)
        let answer = change == .unsubscribed ? ["13"] : []
        #expect(rig.sent() == ["1b0c0001", "1b0c0003"] + answer)
        let unsent = Self.unsent(&rig)
        #expect(unsent.map(\.reason) == [change.reason])
        #expect(unsent.first?.handle == change.handle)
        #expect(unsent.first?.value == [2])
        #expect(unsent.first?.isIndication == false)
    }

    @Test(arguments: Change.allCases)
    func indicationsThatWaitAreCheckedWhenTheyLeave(_ change: Change) throws {
        var rig = try Self.rig()
        let indications: [(UInt8, AttributeHandle)] = [
            (1, 0x000C), (2, change.handle), (3, 0x000C), (4, change.handle),
        ]
        for (value, handle) in indications {
            try rig.layer.indicate([value], of: handle, on: GATTRig.connection, at: rig.now)
        }
        #expect(rig.sent() == ["1d0c0001"])
        try change.happen(to: &rig)
        _ = rig.sent()
        #expect(rig.exchange("1e") == ["1d0c0003"])
        #expect(rig.exchange("1e") == [])
        let unsent = Self.unsent(&rig)
        #expect(unsent.map(\.reason) == [change.reason, change.reason])
        #expect(unsent.map(\.value) == [[2], [4]])
        #expect(unsent.map(\.isIndication) == [true, true])
        #expect(rig.layer.nextDeadline == nil, "no confirmation is waited for")
        try rig.layer.indicate([5], of: 0x000C, on: GATTRig.connection, at: rig.now)
        #expect(rig.sent() == ["1d0c0005"])
    }

    @Test(arguments: Change.allCases)
    func anIndicationThatIsNextIsCheckedToo(_ change: Change) throws {
        var rig = try Self.rig()
        try rig.layer.indicate([1], of: change.handle, on: GATTRig.connection, at: rig.now)
        try rig.layer.indicate([2], of: 0x000C, on: GATTRig.connection, at: rig.now)
        try change.happen(to: &rig)
        #expect(rig.sent().first == "1d0c0002" || rig.exchange("1e").isEmpty)
        #expect(Self.unsent(&rig).map(\.reason) == [change.reason])
    }

    @Test(arguments: Change.allCases)
    func ofSeveralValuesTheOthersLeave(_ change: Change) throws {
        var rig = try Self.rig(features: "04")
        let value = HandleValue(change.handle, [2, 2])
        try rig.layer.notify(
            [HandleValue(0x000C, [1]), value, HandleValue(0x000C, [3])],
            on: GATTRig.connection,
            at: rig.now
        )
        try rig.layer.notify([value, HandleValue(0x000C, [4])], on: GATTRig.connection, at: rig.now)
        try rig.layer.notify([value, value], on: GATTRig.connection, at: rig.now)
        try change.happen(to: &rig)
        let answer = change == .unsubscribed ? ["13"] : []
        #expect(rig.sent() == ["230c000100010c00010003", "1b0c0004"] + answer, "one alone is an ordinary notification")
        let unsent = Self.unsent(&rig)
        #expect(unsent.map(\.reason) == Array(repeating: change.reason, count: 4))
        #expect(unsent.allSatisfy { $0.value == [2, 2] })
    }

    @Test func whatIsSentEvenIfNotSubscribedStaysSo() throws {
        var rig = try Self.rig()
        rig.expect("12 0a00 0000", "13")
        _ = rig.events()
        try rig.layer.notify([1], of: 0x0009, on: GATTRig.connection, evenIfNotSubscribed: true, at: rig.now)
        try rig.layer.notify([2], of: 0x0009, on: GATTRig.connection, evenIfNotSubscribed: true, at: rig.now)
        var buffer: [UInt8] = []
        #expect(rig.layer.nextPDU(for: GATTRig.connection, into: &buffer) == true)
        #expect(buffer == [0x1B, 9, 0, 1])
        rig.layer.securityChanged(GATTRig.connection, to: .none)
        #expect(rig.sent() == [], "but not over a link that is not encrypted")
        #expect(Self.unsent(&rig).count == 1)
    }

    @Test func aClientThatIsOutOfSyncHearsOfTheChangeAndOfNothingElse() throws {
        var rig = try Self.rig(features: "01")
        try rig.layer.indicate([1], of: 0x000C, on: GATTRig.connection, at: rig.now)
        try rig.layer.indicate([2], of: 0x0003, on: GATTRig.connection, at: rig.now)
        try rig.layer.notify([3], of: 0x000C, on: GATTRig.connection, at: rig.now)
        _ = try rig.layer.setPublished(false, service: "optional")
        #expect(rig.sent() == ["1d030002"])
        #expect(Self.unsent(&rig).map(\.reason) == [.clientOutOfSync(0x000C), .clientOutOfSync(0x000C)])
    }

    @Test func serviceChangedNeedsItsSubscriptionWhenItLeaves() throws {
        var rig = try Self.rig()
        try rig.layer.indicate([1], of: 0x000C, on: GATTRig.connection, at: rig.now)
        try rig.layer.indicate([1, 0, 255, 255], of: 0x0003, on: GATTRig.connection, at: rig.now)
        #expect(rig.sent() == ["1d0c0001"])
        rig.expect("12 0400 0000", "13")
        #expect(rig.exchange("1e") == [])
        #expect(Self.unsent(&rig).map(\.reason) == [.notSubscribed(0x0003)])
    }

    @Test func whatDoesNotLeaveMakesRoom() throws {
        var rig = try Self.rig()
        for value: UInt8 in 0..<32 { try rig.layer.notify([value], of: 0x0009, on: GATTRig.connection, at: rig.now) }
        #expect(throws: GATTError.queueFull) {
            try rig.layer.notify([4], of: 0x000C, on: GATTRig.connection, at: rig.now)
        }
        rig.layer.securityChanged(GATTRig.connection, to: .none)
        #expect(rig.sent() == [])
        let events = rig.events()
        #expect(events.count == 33)
        #expect(events.contains { if case .roomToSend = $0 { true } else { false } })
    }
}
