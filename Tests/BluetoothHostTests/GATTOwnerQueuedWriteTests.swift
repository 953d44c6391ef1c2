import BluetoothHCI
import BluetoothHost
import ByteCoding
import Testing

/// Prepared writes of values that only the owner keeps: each value reaches it as one write request, in order, and the
/// Execute Write Response waits for its answers (Core 5.4, Vol 3, Part F, 3.4.6.3).
@Suite struct GATTOwnerQueuedWriteTests {
    /// 0003 asked, at most 40 bytes; 0006 stored 01; 0009 asked; 000c notify with 000d, asked about subscriptions. All allow
    /// reliable writes, and so have their extended properties behind them; 0010 asked does not.
    private static func rig(mtu: Int? = nil) throws -> GATTRig {
        let writable: CharacteristicProperties = [.read, .write, .reliableWrite]
        let database = try GATTDatabase {
            Service(.uuid16(0x1800)) {
                Characteristic(.uuid16(0x2AAA), writable, value: .askOwner(maximumLength: 40))
                Characteristic(.uuid16(0x2AAA), writable, value: [0x01])
                Characteristic(.uuid16(0x2AAB), writable, value: .askOwner)
                Characteristic(.uuid16(0x2AAC), [.notify, .reliableWrite], ownerAnswersSubscriptions: true)
                Characteristic(.uuid16(0x2AAD), [.read, .write], value: .askOwner)
            }
        }
        return GATTRig(database, mtu: mtu)
    }

    private static func requests(_ rig: inout GATTRig) -> [WriteRequest] {
        rig.events().compactMap { if case .writeRequested(let request) = $0 { request } else { nil } }
    }

    private static func change(_ rig: inout GATTRig) throws -> SubscriptionChange {
        let changes = rig.events().compactMap { event -> SubscriptionChange? in
            if case .subscriptionChanged(let change) = event { change } else { nil }
        }
        return try #require(changes.first)
    }

    private static func prepare(_ rig: inout GATTRig, _ parts: [String]) {
        for part in parts { rig.expect("16 \(part)", "17 \(part)") }
    }

    @Test func oneByteReachesTheOwnerAndIsAnswered() throws {
        var rig = try Self.rig()
        Self.prepare(&rig, ["1000 0000 00"])
        #expect(rig.exchange("18 01") == [])
        let request = try #require(Self.requests(&rig).first)
        #expect(request.handle == 0x0010)
        #expect(request.value == [0])
        #expect(rig.layer.respond(to: request, at: rig.now) == true)
        #expect(rig.sent() == ["19"])
        #expect(rig.layer.respond(to: request, at: rig.now) == false, "answered once")
        rig.expect("02 1700", "03 0502", "the bearer lives")
    }

    @Test func partsAreOneValue() throws {
        var rig = try Self.rig(mtu: 517)
        let value = (0..<512).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        for offset in stride(from: 0, to: 512, by: 18) {
            let part = value[offset..<min(offset + 18, 512)].hexadecimal
            Self.prepare(&rig, ["1000 \([UInt8(offset & 0xFF), UInt8(offset >> 8)].hexadecimal) \(part)"])
        }
        // A part may be written over.
        Self.prepare(&rig, ["1000 0100 eeee"])
        #expect(rig.exchange("18 01") == [])
        let requests = Self.requests(&rig)
        #expect(requests.count == 1)
        #expect(requests.first.map { Array($0.value) } == value[..<1] + [0xEE, 0xEE] + value[3...])
    }

    @Test func valuesComeInTheClientsOrderEachWhenTheLastIsAccepted() throws {
        var rig = try Self.rig()
        Self.prepare(&rig, ["0900 0000 b0", "0600 0000 55", "0300 0000 a0a1", "0900 0100 b1", "0300 0200 a2"])
        #expect(rig.exchange("18 01") == [])
        let first = Self.requests(&rig)
        #expect(first.map { "\($0.handle) \($0.value.hexadecimal)" } == ["0x0009 b0b1"])
        #expect(rig.layer.database.value(of: 0x0006) == [0x01], "nothing is stored before the owner has agreed")
        rig.layer.respond(to: try #require(first.first), at: rig.now)
        #expect(rig.sent() == [])
        let second = Self.requests(&rig)
        #expect(second.map { "\($0.handle) \($0.value.hexadecimal)" } == ["0x0003 a0a1a2"])
        rig.layer.respond(to: try #require(second.first), at: rig.now)
        #expect(rig.sent() == ["19"])
        #expect(rig.layer.database.value(of: 0x0006) == [0x55])
    }

    @Test func aRefusalNamesItsValueAndEndsTheRest() throws {
        var rig = try Self.rig()
        Self.prepare(&rig, ["0600 0000 55", "0300 0000 a0", "0900 0000 b0"])
        #expect(rig.exchange("18 01") == [])
        let request = try #require(Self.requests(&rig).first)
        rig.layer.refuse(request, with: .outOfRange, at: rig.now)
        #expect(rig.sent() == ["01180300ff"])
        #expect(Self.requests(&rig).isEmpty, "the others are not asked for")
        #expect(rig.layer.database.value(of: 0x0006) == [0x01])
        rig.expect("18 01", "19", "the queue is empty")
    }

    @Test func aValueWithoutItsBeginningIsRefused() throws {
        var rig = try Self.rig()
        Self.prepare(&rig, ["1000 0500 b0"])
        rig.expect("18 01", "01 18 1000 07", "Invalid Offset: what is in front is not known")
        #expect(Self.requests(&rig).isEmpty)
    }

    @Test func cancelledWritesDoNotReachTheOwner() throws {
        var rig = try Self.rig()
        Self.prepare(&rig, ["1000 0000 b0"])
        rig.expect("18 00", "19")
        rig.expect("18 01", "19")
        #expect(Self.requests(&rig).isEmpty)
    }

    @Test func configurationsReachTheOwnerToo() throws {
        var rig = try Self.rig()
        Self.prepare(&rig, ["0d00 0000 01", "0d00 0100 00"])
        #expect(rig.exchange("18 01") == [])
        let change = try Self.change(&rig)
        #expect(change.cause == .requested)
        #expect(change.current == .notifications)
        try rig.layer.notify([7], of: 0x000C, on: GATTRig.connection, at: rig.now)
        rig.layer.respond(to: change, at: rig.now)
        #expect(rig.sent() == ["1b0c0007", "19"])
        rig.expect("0a 0d00", "0b 0100")

        Self.prepare(&rig, ["0d00 0000 0000"])
        #expect(rig.exchange("18 01") == [])
        rig.layer.refuse(try Self.change(&rig), with: .insufficientResources, at: rig.now)
        #expect(rig.sent() == ["01180d0011"])
        rig.expect("0a 0d00", "0b 0100", "as it was")
    }

    @Test func configurationsAndValuesAreAskedForInOrder() throws {
        var rig = try Self.rig()
        Self.prepare(&rig, ["0d00 0000 0100", "0300 0000 a0"])
        #expect(rig.exchange("18 01") == [])
        rig.layer.respond(to: try Self.change(&rig), at: rig.now)
        let request = try #require(Self.requests(&rig).first)
        rig.layer.refuse(request, with: .writeRequestRejected, at: rig.now)
        #expect(rig.sent() == ["01180300fc"])
        rig.expect("0a 0d00", "0b 0100", "what the owner accepted is in force")
    }

    // MARK: Reliable writes

    @Test func severalValuesNeedReliableWrite() throws {
        var rig = try Self.rig()
        Self.prepare(&rig, ["0600 0000 55", "1000 0000 b0"])
        rig.expect("18 01", "01 18 1000 06", "Request Not Supported, at the one that has not the property")
        #expect(Self.requests(&rig).isEmpty)
        #expect(rig.layer.database.value(of: 0x0006) == [0x01])
        Self.prepare(&rig, ["1000 0000 b0", "1000 0100 b1"])
        #expect(rig.exchange("18 01") == [], "a long write does not need it")
        #expect(Self.requests(&rig).count == 1)
    }
}
