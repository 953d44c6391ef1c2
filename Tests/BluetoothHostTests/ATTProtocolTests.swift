import BluetoothHCI
import BluetoothHost
import ByteCoding
import Testing

/// What holds for every PDU: MTU, opcodes, order (Core 5.4, Vol 3, Part F, 3.2.8, 3.3 and 3.4.2).
@Suite struct ATTProtocolTests {
    // MARK: Exchange MTU

    @Test(arguments: [
        (request: 517, own: 517, agreed: 517),
        (request: 185, own: 517, agreed: 185),
        (request: 517, own: 256, agreed: 256),
        (request: 23, own: 517, agreed: 23),
        (request: 24, own: 517, agreed: 24),
        (request: 22, own: 517, agreed: 23),
        (request: 0, own: 517, agreed: 23),
        (request: 65535, own: 517, agreed: 517),
        (request: 517, own: 9, agreed: 23),
        (request: 517, own: 9999, agreed: 517),
    ])
    func serverAgreesOnTheSmallerMTU(request: Int, own: Int, agreed: Int) throws {
        var rig = GATTRig(try ByteTable.database(), configuration: .init(maximumMTU: own))
        let offered = min(max(own, 23), 517)
        rig.receive([0x02, UInt8(request & 0xFF), UInt8(request >> 8)])
        #expect(rig.sent() == [([0x03, UInt8(offered & 0xFF), UInt8(offered >> 8)] as [UInt8]).hexadecimal])
        #expect(rig.layer.mtu(of: GATTRig.connection) == agreed)
        let changes = rig.events().compactMap { if case .mtuChanged(_, let mtu) = $0 { mtu } else { nil } }
        #expect(changes == (agreed == 23 ? [] : [agreed]))
    }

    @Test func mtuIsInForceBehindTheResponse() throws {
        var rig = try ByteTable.rig()
        _ = rig.exchange("12 0d00 0100")
        let value = Array(repeating: UInt8(0xEE), count: 60)
        try rig.layer.notify(value[...], of: 0x000C, on: GATTRig.connection, at: rig.now)
        rig.receive("02 4000")
        try rig.layer.notify(value[...], of: 0x000C, on: GATTRig.connection, at: rig.now)
        let cut = value.prefix(20).hexadecimal
        #expect(rig.sent() == ["1b0c00\(cut)", "030502", "1b0c00\(value.hexadecimal)"])
    }

    @Test func aRepeatedExchangeIsAnsweredConsistently() throws {
        var rig = try ByteTable.rig()
        rig.expect("02 6400", "03 0502")
        rig.expect("02 c800", "03 0502")
        #expect(rig.layer.mtu(of: GATTRig.connection) == 200, "what the client must believe after the response")
    }

    @Test func exchangeMTUErrors() throws {
        var rig = try ByteTable.rig()
        rig.expect("02", "01 02 0000 04")
        rig.expect("02 17", "01 02 0000 04")
        rig.expect("02 1700 00", "01 02 0000 04")
        #expect(rig.layer.mtu(of: GATTRig.connection) == 23)
    }

    @Test func requestsLongerThanTheMTUAreInvalid() throws {
        var rig = try ByteTable.rig()
        let value = Array(repeating: UInt8(0), count: 21)
        rig.receive([0x12, 0x12, 0x00] + value)
        #expect(rig.sent() == ["0112000004"])
        rig.receive([0x12, 0x12, 0x00] + value.dropLast())
        #expect(rig.sent() == ["13"], "one byte less fills the MTU")
        rig.receive([0x52, 0x12, 0x00] + value)
        #expect(rig.sent() == [])
        #expect(rig.layer.database.value(of: 0x0012)?.count == 20, "a command that is too long is ignored")
    }

    // MARK: Opcodes

    @Test func unknownRequestsAreNotSupported() throws {
        var rig = try ByteTable.rig()
        for opcode: UInt8 in [0x00, 0x14, 0x15, 0x1A, 0x1C, 0x1F, 0x22, 0x24, 0x3F, 0x80, 0x8A, 0xBF] {
            rig.receive([opcode, 0x01, 0x02])
            #expect(rig.sent() == ["01\([opcode].hexadecimal)000006"])
        }
    }

    @Test func unknownCommandsAreIgnored() throws {
        var rig = try ByteTable.rig()
        for opcode: UInt8 in [0x40, 0x4A, 0x53, 0x7F, 0xC0, 0xFF] {
            rig.expectIgnored([opcode, 0x01].hexadecimal, .unsupportedCommand(opcode: opcode))
        }
    }

    @Test func responsesToNothingAreIgnored() throws {
        var rig = try ByteTable.rig()
        let responses: [UInt8] = [0x01, 0x03, 0x05, 0x07, 0x09, 0x0B, 0x0D, 0x0F, 0x11, 0x13, 0x17, 0x19, 0x21]
        for opcode in responses {
            rig.expectIgnored([opcode].hexadecimal, .unexpectedResponse(opcode: opcode))
        }
        rig.expectIgnored("1e", .unexpectedConfirmation)
        rig.expectIgnored("", .empty)
    }

    // MARK: One request at a time

    @Test func hastyRequestsWaitAndTooManyAreDropped() throws {
        var rig = try ByteTable.rig()
        for _ in 0..<6 { rig.receive("0a 0300") }
        let dropped = rig.events().compactMap { if case .pduIgnored(_, let ignored) = $0 { ignored } else { nil } }
        #expect(dropped == [.requestOutOfTurn(opcode: 0x0A)], "one under way, four waiting")
        var buffer: [UInt8] = []
        #expect(rig.layer.nextPDU(for: GATTRig.connection, into: &buffer) == true)
        rig.receive("0a 0c00")
        #expect(
            rig.sent() == ["0b436169726e", "0b436169726e", "0b436169726e", "0b436169726e", "0b64"],
            "every response that was due, in order"
        )
    }

    @Test func commandsPassAWaitingRequest() throws {
        var rig = try ByteTable.rig()
        rig.receive("0a 0500")
        rig.receive("0a 0500")
        rig.receive("52 0500 ff")
        #expect(rig.sent() == ["0b0102", "0bff"], "the second read is served behind the command")
    }

    // MARK: Connections

    @Test func connectionsAreApart() throws {
        var rig = try ByteTable.rig()
        rig.layer.connectionOpened(0x0041, at: rig.now)
        rig.receive("02 6400")
        #expect(rig.layer.mtu(of: 0x0041) == 23)
        var buffer: [UInt8] = [1, 2, 3]
        #expect(rig.layer.nextPDU(for: 0x0041, into: &buffer) == false)
        #expect(buffer == [1, 2, 3], "nothing waits: the buffer is untouched")
        #expect(rig.layer.nextPDU(for: 0x0042, into: &buffer) == false)
        rig.layer.receive([0x0A, 0x03, 0x00], on: 0x0042, at: rig.now)
        #expect(rig.sent() == ["030502"])
        #expect(rig.layer.mtu(of: 0x0042) == nil)
        #expect(rig.layer.connectionClosed(0x0042) == nil)
        #expect(throws: GATTError.notConnected(0x0042)) {
            try rig.layer.notify([1], of: 0x000C, on: 0x0042, at: rig.now)
        }
    }

    @Test func buffersAreUsedAgain() throws {
        var rig = try ByteTable.rig()
        var buffer: [UInt8] = []
        buffer.reserveCapacity(1000)
        rig.receive("0a 0300")
        #expect(rig.layer.nextPDU(for: GATTRig.connection, into: &buffer) == true)
        #expect(buffer == hex("0b 436169726e"))
        for _ in 0..<4 {
            rig.receive("0a 0300")
            #expect(rig.layer.nextPDU(for: GATTRig.connection, into: &buffer) == true)
            if buffer.capacity >= 1000 { return }
        }
        Issue.record("the buffer that was swapped in did not come back")
    }
}
