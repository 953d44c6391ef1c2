import BluetoothHCI
import ByteCoding
import Testing

/// Values that hosts of this project only read, and orders that they only use.
@Suite("Values of the other side, and orders")
struct OtherSideTests {
    @Test("The channel map that a controller returns: handle, then 37 channels in five octets")
    func channelMap() throws {
        let value = LEReadChannelMap.ReturnParameters(
            handle: 0x0040,
            channels: DataChannelMap(rawValue: 0x3F_FFFF_FE00)
        )
        var bytes: [UInt8] = []
        value.encode(to: &bytes)
        #expect(bytes == [0x40, 0x00, 0x00, 0xFE, 0xFF, 0xFF, 0x1F], "the bits above channel 36 are reserved")
        #expect(bytes.count == LEReadChannelMap.ReturnParameters.size)
        let event: [UInt8] = [0x04, 0x0E, 0x0B, 0x01, 0x15, 0x20, 0x00, 0x40, 0x00, 0x00, 0xFE, 0xFF, 0xFF, 0x1F]
        let complete = CommandComplete(commandCredits: 1, to: LEReadChannelMap.self, .success(value))
        #expect(HCIEvent.commandComplete(complete).packet == event)
        guard case .commandComplete(let read) = try HCIEvent(body: event.dropFirst()) else {
            Issue.record("no Command Complete")
            return
        }
        #expect(try read.outcome(of: LEReadChannelMap.self) == .success(value))
        #expect(value.channels.channels.first == 9 && value.channels.count == 28)
    }

    @Test("A command packet is its opcode and its parameters, whatever they say")
    func commandPacket() throws {
        let bytes: [UInt8] = [0x06, 0x04, 0x03, 0x40, 0x00, 0x13]
        let packet = HCICommandPacket(opcode: HCIOpcode(rawValue: 0x0406), parameters: [0x40, 0x00, 0x13])
        #expect(try HCICommandPacket(body: bytes[...]) == packet)
        #expect(packet.opcode == Disconnect.opcode)
        #expect(try Disconnect(parameters: packet.parameters).reason.rawValue == 0x13)
    }

    @Test("Versions and advertising handles are in the order of their numbers")
    func orders() throws {
        #expect(CoreVersion.v4_0 < .v4_1 && CoreVersion.v5_4 < .v6_0)
        #expect([CoreVersion.v5_2, .v4_2, .v5_0].sorted().map(\.rawValue) == [8, 9, 11])
        let handles: [AdvertisingHandle] = [0xEF, 0, 2, 1]
        #expect(handles.sorted().map(\.rawValue) == [0, 1, 2, 0xEF])
        #expect(handles.max()?.rawValue == AdvertisingHandle.maximum)
    }

    @Test("A list of completed packets knows its length before it is read")
    func completedPackets() throws {
        let list = CompletedPacketsList([.init(handle: 0x0040, count: 2), .init(handle: 0x0EFF, count: 0x0102)])
        #expect(list.underestimatedCount == 2)
        #expect(list.map(\.count) == [2, 0x0102] && list.map(\.handle.rawValue) == [0x0040, 0x0EFF])
        #expect(CompletedPacketsList([]).underestimatedCount == 0)
        // What fits an event: a length of 255 octets, one of them the number of entries.
        let many = CompletedPacketsList((0..<70 as Range<UInt16>).map { .init(handle: 0x0040, count: $0) })
        #expect(many.underestimatedCount == 63 && many.map(\.count).last == 62)
    }
}
