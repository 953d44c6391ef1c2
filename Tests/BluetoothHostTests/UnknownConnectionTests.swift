import BluetoothHCI
import ByteCoding
import Testing

@testable import BluetoothHost

/// What the host says of connections and channels that are not there, and of what nobody has decided yet.
@Suite("LE host: unknown connections and open questions") struct UnknownConnectionTests {
    private static let nobody: ConnectionHandle = 0x0123

    @Test("A connection that is not there has no request, no bearer, no PDU and no data")
    func unknownConnection() throws {
        var layer = GATTLayer(database: GATTDatabase())
        let channel = Channel.ID(connection: Self.nobody, number: 1)
        var buffer: [UInt8] = [7]
        #expect(!layer.hasRequestUnderWay(on: Self.nobody))
        #expect(!layer.hasBearer(on: channel))
        let hasPDU = layer.nextPDU(on: channel, into: &buffer, at: .zero)
        #expect(!hasPDU && buffer == [7])
        var rig = try ChannelRig()
        let count = rig.rig.host.channels.read(10, from: channel, into: &buffer, at: rig.rig.now)
        #expect(count == 0 && buffer == [7])
    }

    @Test("A frame on a channel that nobody opened counts as one, and a damaged one too")
    func unknownChannels() throws {
        var rig = try ChannelRig()
        let before = rig.rig.host.counters.unknownChannelFrames
        _ = rig.frame("4000", "0100 07")
        #expect(rig.rig.host.counters.unknownChannelFrames == before + 1)
        // A frame of 65,535 octets of which four come.
        rig.rig.give("02 4020 0800 ffff 4000 01020304".filter { $0 != " " })
        #expect(rig.rig.host.counters.unknownChannelFrames == before + 2)
    }

    @Test("Of a channel that is being closed, frames that are still on their way do not count as unknown")
    func closingChannel() throws {
        var rig = try ChannelRig()
        let id = try rig.open()
        rig.rig.host.channels.close(id, at: rig.rig.now)
        #expect(rig.sent() == [compact("0500 06 01 0400 5000 4000")])
        let before = rig.rig.host.counters.unknownChannelFrames
        rig.rig.give("02 4020 0800 ffff 4000 01020304".filter { $0 != " " })
        #expect(rig.rig.host.counters.unknownChannelFrames == before)
    }

    @Test("An attribute PDU of any length is refused by its opcode, and what is kept of it is its length")
    func longPDU() throws {
        var rig = try HostRig.ready()
        rig.connect()
        // A notification of 65,535 octets, of which the beginning comes.
        rig.give("02 4020 0700 ffff 0400 1b1000".filter { $0 != " " })
        let ignored = rig.events().compactMap { event -> IgnoredPDU? in
            if case .gatt(.pduIgnored(_, let ignored)) = event { ignored } else { nil }
        }
        #expect(ignored == [.tooLong(opcode: 0x1B, length: L2CAPFrame.maximumPayload)])
    }

    @Test("Each connection is asked for what it has to send, whatever its handle")
    func handles() throws {
        for handle in ["0000", "3f00", "4000", "7f00", "ff0e"] {
            var rig = try HostRig.ready()
            rig.connect(handle)
            let read = HostRig.frame(handle, channel: "0400", "0a0300")
            rig.give(read)
            #expect(rig.sent().contains { $0.hasSuffix("0b436169726e") }, "\(handle)")
        }
    }

    @Test("Of two connections whose handles are 64 apart, each is asked although the other has nothing to say")
    func handlesApart() throws {
        var rig = try HostRig.ready()
        rig.connect("4000")
        rig.connect("8000")
        _ = rig.sent()
        for handle in ["8000", "8000", "4000", "4000", "8000", "4000"] {
            rig.give(HostRig.frame(handle, channel: "0400", "0a0300"))
            #expect(rig.sent().contains { $0.hasPrefix("02" + handle) && $0.hasSuffix("0b436169726e") }, "\(handle)")
            rig.give(HostRig.completed(handle, "0100"))
            #expect(rig.sent() == [])
        }
    }

    @Test("A client that has not subscribed is not notified, unless that is asked for")
    func unsubscribed() throws {
        var rig = try ByteTable.rig()
        #expect(throws: GATTError.notSubscribed(0x000C)) {
            try rig.layer.notify([1], of: 0x000C, on: GATTRig.connection, at: rig.now)
        }
        #expect(rig.sent() == [])
        try rig.layer.notify([1], of: 0x000C, on: GATTRig.connection, evenIfNotSubscribed: true, at: rig.now)
        #expect(rig.sent() == ["1b0c0001"])
        #expect(GATTClientState().isChangeAware)
    }

    @Test("Of two subscriptions that the owner is asked for, one is accepted and the other taken back")
    func twoQuestions() throws {
        let database = try GATTDatabase {
            Service(.uuid16(0x180F)) {
                Characteristic(.uuid16(0x2AAA), .notify, ownerAnswersSubscriptions: true)
                Characteristic(.uuid16(0x2AAB), .notify, ownerAnswersSubscriptions: true)
            }
        }
        // 0003 with 0004, 0006 with 0007. A Write Command needs no answer, so the second question is open beside it.
        var rig = GATTRig(database)
        #expect(rig.exchange("52 0400 0100") == [])
        #expect(rig.exchange("12 0700 0100") == [])
        let changes = rig.events().compactMap { event -> SubscriptionChange? in
            if case .subscriptionChanged(let change) = event { change } else { nil }
        }
        #expect(changes.map(\.handle) == [0x0003, 0x0006])
        rig.layer.respond(to: try #require(changes.first), at: rig.now)
        rig.layer.refuse(try #require(changes.last), with: .insufficientAuthorization, at: rig.now)
        #expect(rig.sent() == ["0112070008"])
        rig.expect("0a 0400", "0b 0100")
        rig.expect("0a 0700", "0b 0000")
    }

    @Test(
        "A controller is not asked by a command that it does not understand",
        arguments: [
            LEReadMaximumDataLength.id, LEWriteSuggestedDefaultDataLength.id, LEReadMaximumAdvertisingDataLength.id,
            LEReadNumberOfSupportedAdvertisingSets.id, LEReadFilterAcceptListSize.id, LEReadResolvingListSize.id,
            LEReadSupportedStates.id,
        ]
    )
    func unknownCommands(command: HCICommandID) throws {
        let bit = try #require(command.supportedBit)
        var octets = [UInt8](repeating: 0xFF, count: 64)
        var opcode: [UInt8] = []
        opcode.appendLittleEndian(command.opcode.rawValue)
        let prefix = "01" + opcode.hexadecimal
        for isKnown in [true, false] {
            if !isKnown { octets[bit.octet] &= ~(1 << bit.bit) }
            var script = ControllerScript.rich
            script.answers["0210"] = "00" + octets.hexadecimal
            var rig = try HostRig(script)
            rig.host.start(at: rig.now)
            #expect(rig.answerCommands().contains { $0.hasPrefix(prefix) } == isKnown, "\(command)")
            #expect(rig.host.isReady)
        }
    }
}
