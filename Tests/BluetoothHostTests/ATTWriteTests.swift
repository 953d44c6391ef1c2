import BluetoothHost
import ByteCoding
import Testing

/// The server's side of writing values, on raw PDUs: Core 5.4, Vol 3, Part F, 3.4.5.
@Suite struct ATTWriteTests {
    private static func written(_ events: [GATTEvent]) -> [String] {
        events.compactMap { event in
            guard case .written(let write) = event else { return nil }
            return "\(write.handle) \(write.value.hexadecimal)"
        }
    }

    // MARK: Write Request

    @Test func writeStoresAndReports() throws {
        var rig = try ByteTable.rig()
        rig.expect("12 0500 aabbcc", "13")
        #expect(Self.written(rig.events()) == ["0x0005 aabbcc"])
        rig.expect("0a 0500", "0b aabbcc", "the value has grown")
        rig.expect("12 0500", "13", "no bytes are a value")
        rig.expect("0a 0500", "0b")
        rig.expect("12 0500 01020304", "13", "the longest value")
        #expect(rig.layer.database.value(of: 0x0005) == [1, 2, 3, 4])
    }

    @Test func writeOfAFixedLengthLeavesTheRest() throws {
        let database = try GATTDatabase {
            Service(.uuid16(0x1800)) {
                Characteristic(.uuid16(0x2AAA), [.read, .write], value: .fixedLength([1, 2, 3, 4]))
            }
        }
        var rig = GATTRig(database)
        rig.expect("12 0300 aabb", "13")
        rig.expect("0a 0300", "0b aabb0304")
        rig.expect("12 0300 0102030405", "01 12 0300 0d")
    }

    @Test func writeErrors() throws {
        var rig = try ByteTable.rig()
        rig.expect("12 0000 00", "01 12 0000 01")
        rig.expect("12 1500 00", "01 12 1500 01")
        rig.expect("12 0300 00", "01 12 0300 03", "Write Not Permitted")
        rig.expect("12 0100 00", "01 12 0100 03", "declarations cannot be written")
        rig.expect("12 0500 0102030405", "01 12 0500 0d", "Invalid Attribute Value Length")
        rig.expect("12 0300 0102030405", "01 12 0300 03", "permission comes before length")
        rig.expect("12", "01 12 0000 04")
        rig.expect("12 05", "01 12 0000 04")
        rig.expect("0a 0500", "0b 0102", "nothing was written")
        #expect(Self.written(rig.events()).isEmpty)
    }

    @Test func writeOfMoreThan512BytesIsTooLong() throws {
        var rig = try ByteTable.rig(mtu: 517)
        rig.receive([0x12, 0x12, 0x00] + Array(repeating: 0x5A, count: 513))
        #expect(rig.sent() == ["011212000d"])
        rig.receive([0x12, 0x12, 0x00] + Array(repeating: 0x5A, count: 512))
        #expect(rig.sent() == ["13"])
        #expect(rig.layer.database.value(of: 0x0012)?.count == 512)
    }

    // MARK: Write Command

    @Test func writeCommandStoresAndReportsWithoutAnswer() throws {
        var rig = try ByteTable.rig()
        #expect(rig.exchange("52 0500 0a0b") == [])
        #expect(Self.written(rig.events()) == ["0x0005 0a0b"])
        rig.expect("0a 0500", "0b 0a0b")
    }

    @Test func writeCommandsThatFailAreIgnored() throws {
        var rig = try ByteTable.rig()
        func refused(_ handle: AttributeHandle, _ error: ATTError) -> IgnoredPDU {
            .refusedCommand(ATTErrorResponse(requestOpcode: 0x52, handle: handle, error: error))
        }
        rig.expectIgnored("52 0000 00", refused(0x0000, .invalidHandle))
        rig.expectIgnored("52 1500 00", refused(0x0015, .invalidHandle))
        rig.expectIgnored("52 0300 00", refused(0x0003, .writeNotPermitted))
        rig.expectIgnored("52 0500 0102030405", refused(0x0005, .invalidAttributeValueLength))
        rig.expectIgnored(
            "52 05",
            .malformed(opcode: 0x52, ByteDecodingError("attribute_handle", .truncated(needed: 2, available: 1)))
        )
        rig.expect("0a 0500", "0b 0102", "nothing was written")
    }

    @Test func signedWritesAreIgnored() throws {
        var rig = try ByteTable.rig()
        rig.expectIgnored("d2 0500 0a0b 000000000000000000000000", .unsupportedCommand(opcode: 0xD2))
        rig.expect("0a 0500", "0b 0102")
    }

    // MARK: Client Characteristic Configuration

    @Test func configurationIsKeptPerConnection() throws {
        var rig = try ByteTable.rig()
        rig.layer.connectionOpened(0x0041, at: rig.now)
        rig.expect("12 0d00 0100", "13")
        rig.expect("0a 0d00", "0b 0100")
        #expect(rig.layer.subscription(to: 0x000C, on: GATTRig.connection) == .notifications)
        #expect(rig.layer.subscription(to: 0x000C, on: 0x0041) == [])
        #expect(rig.layer.subscribers(of: 0x000C) == [GATTRig.connection])
        guard case .subscriptionChanged(let change) = rig.events().first else {
            Issue.record("no event")
            return
        }
        #expect(change.handle == 0x000C)
        #expect(change.previous == [])
        #expect(change.current == .notifications)
        #expect(change.cause == .written)
        rig.expect("12 0d00 0000", "13")
        #expect(rig.layer.subscribers(of: 0x000C) == [])
    }

    @Test func configurationErrors() throws {
        var rig = try ByteTable.rig()
        rig.expect("12 0d00 0200", "01 12 0d00 fd", "indications of what only notifies")
        rig.expect("12 0900 0100", "01 12 0900 fd", "notifications of what only indicates")
        rig.expect("12 0d00 0300", "01 12 0d00 fd")
        rig.expect("12 0d00 01", "01 12 0d00 0d")
        rig.expect("12 0d00", "01 12 0d00 0d")
        rig.expect("12 0d00 010000", "01 12 0d00 0d")
        rig.expect("0a 0d00", "0b 0000")
        rig.expect("12 0d00 01f0", "13", "reserved bits are ignored")
        rig.expect("0a 0d00", "0b 0100")
    }

    @Test func configurationCanBeWrittenByCommand() throws {
        var rig = try ByteTable.rig()
        #expect(rig.exchange("52 0d00 0100") == [])
        rig.expect("0a 0d00", "0b 0100")
        #expect(rig.events().count == 1)
    }

    @Test func configurationIsForgottenWithTheConnection() throws {
        var rig = try ByteTable.rig()
        rig.expect("12 0d00 0100", "13")
        rig.layer.connectionClosed(GATTRig.connection)
        rig.layer.connectionOpened(GATTRig.connection, at: rig.now)
        rig.expect("0a 0d00", "0b 0000")
    }
}
