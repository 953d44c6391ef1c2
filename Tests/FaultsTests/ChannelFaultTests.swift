import BluetoothHCI
import Testing

@testable import Faults

/// What becomes of L2CAP's signaling and of channels at a line of faults, octet by octet.
@Suite struct ChannelFaultTests {
    private static func phone(_ payload: [UInt8]) -> [UInt8] { LineRig.fromPhone(0x0005, payload) }
    private static func watch(_ payload: [UInt8]) -> [UInt8] { LineRig.toPhone(0x0005, payload) }

    // MARK: Channels that are opened

    /// LE Credit Based Connection Request to the SPSM 0x0080: the asker's end, an MTU and an MPS of 64, 2 credits.
    private static func ask(_ identifier: UInt8, _ end: UInt8) -> [UInt8] {
        [0x14, identifier, 0x0A, 0x00, 0x80, 0x00, end, 0x00, 0x40, 0x00, 0x40, 0x00, 0x02, 0x00]
    }

    /// LE Credit Based Connection Response: the answerer's end, an MTU and an MPS of 64, 2 credits, success.
    private static func answer(_ identifier: UInt8, _ end: UInt8) -> [UInt8] {
        [0x15, identifier, 0x0A, 0x00, end, 0x00, 0x40, 0x00, 0x40, 0x00, 0x02, 0x00, 0x00, 0x00]
    }

    /// With a channel that the phone has asked for: its end is 0x41, and the watch's 0x50.
    private static func opened(_ fault: String) throws -> LineRig {
        var rig = LineRig()
        try rig.add(fault)
        rig.controller(phone(ask(1, 0x41)))
        rig.host(watch(answer(1, 0x50)))
        #expect(rig.hostHears() == [phone(ask(1, 0x41))])
        #expect(rig.controllerHears() == [watch(answer(1, 0x50))])
        return rig
    }

    /// Disconnection Request: the receiver's end, and the sender's.
    private static func disconnect(_ identifier: UInt8, _ receiver: UInt8, _ sender: UInt8) -> [UInt8] {
        [0x06, identifier, 0x04, 0x00, receiver, 0x00, sender, 0x00]
    }

    /// Disconnection Response, with the ends as the request had them.
    private static func disconnected(_ identifier: UInt8, _ receiver: UInt8, _ sender: UInt8) -> [UInt8] {
        [0x07, identifier, 0x04, 0x00, receiver, 0x00, sender, 0x00]
    }

    @Test("Both sides are told that the other closes the channel, and neither answer is heard")
    func dropped() throws {
        var rig = try Self.opened("l2cap.channel-dropped bytes=4 count=1")
        let data = LineRig.fromPhone(0x0050, [0x02, 0x00, 0xAA, 0xBB])
        rig.controller(data)
        #expect(rig.hostHears() == [data], "four octets may pass")
        rig.host(LineRig.toPhone(0x0041, [0x01, 0x00, 0xCC]))
        #expect(rig.hostHears() == [Self.phone(Self.disconnect(0xE0, 0x50, 0x41)), LineRig.oneCompleted])
        #expect(rig.controllerHears() == [Self.watch(Self.disconnect(0xE0, 0x41, 0x50))])
        #expect(rig.firings.map(\.effect) == ["the channel 0x0050 is closed"])
        rig.controller([0x04, 0x13, 0x05, 0x01, 0x40, 0x00, 0x02, 0x00])
        #expect(rig.hostHears() == [LineRig.oneCompleted], "of two packets one is the host's")
        #expect(!rig.line.isIdle, "two answers are to come")
        rig.host(Self.watch(Self.disconnected(0xE0, 0x50, 0x41)))
        #expect(rig.hostHears() == [LineRig.oneCompleted])
        rig.controller(Self.phone(Self.disconnected(0xE0, 0x41, 0x50)))
        #expect(rig.controllerHears().isEmpty && rig.hostHears().isEmpty)
        #expect(rig.line.isIdle)
        // The line has taken one answer of each side. A second one is passed on.
        rig.host(Self.watch(Self.disconnected(0xE0, 0x50, 0x41)))
        rig.controller(Self.phone(Self.disconnected(0xE0, 0x41, 0x50)))
        #expect(rig.controllerHears() == [Self.watch(Self.disconnected(0xE0, 0x50, 0x41))])
        #expect(rig.hostHears() == [Self.phone(Self.disconnected(0xE0, 0x41, 0x50))])
    }

    @Test("A channel that the watch has asked for is closed by its ends too")
    func droppedOfTheWatch() throws {
        var rig = LineRig()
        try rig.add("l2cap.channel-dropped")
        rig.host(Self.watch(Self.ask(1, 0x51)))
        // The phone's own request with the same identifier is another one.
        rig.controller(Self.phone(Self.ask(1, 0x62)))
        rig.controller(Self.phone(Self.answer(1, 0x61)))
        _ = rig.hostHears()
        _ = rig.controllerHears()
        rig.controller(LineRig.fromPhone(0x0051, [0x01, 0x00, 0xCC]))
        #expect(rig.hostHears() == [Self.phone(Self.disconnect(0xE0, 0x51, 0x61))])
        #expect(rig.controllerHears() == [Self.watch(Self.disconnect(0xE0, 0x61, 0x51))])
    }

    @Test("Of channels that are opened together, each is closed alone, and one that was refused is none")
    func droppedOfSeveral() throws {
        var rig = LineRig()
        try rig.add("l2cap.channel-dropped")
        // Credit Based Connection Request for three ends of the phone's; the second is refused.
        rig.controller(
            Self.phone([
                0x17, 0x01, 0x0E, 0x00, 0x80, 0x00, 0x40, 0x00, 0x40, 0x00, 0x02, 0x00, 0x41, 0x00, 0x42, 0x00, 0x43,
                0x00,
            ])
        )
        rig.host(
            Self.watch([
                0x18, 0x01, 0x0E, 0x00, 0x40, 0x00, 0x40, 0x00, 0x02, 0x00, 0x04, 0x00, 0x50, 0x00, 0x00, 0x00, 0x51,
                0x00,
            ])
        )
        _ = rig.hostHears()
        _ = rig.controllerHears()
        let foreign = LineRig.toPhone(0x0042, [0x01, 0x00, 0xCC])
        rig.host(foreign)
        #expect(rig.controllerHears() == [foreign])
        rig.host(LineRig.toPhone(0x0043, [0x01, 0x00, 0xCC]))
        #expect(rig.controllerHears() == [Self.watch(Self.disconnect(0xE0, 0x43, 0x51))])
        rig.controller(LineRig.fromPhone(0x0050, [0x01, 0x00, 0xCC]))
        #expect(
            rig.controllerHears() == [Self.watch(Self.disconnect(0xE1, 0x41, 0x50))],
            "each has an identifier of its own"
        )
    }

    @Test("A channel that a side has closed is none for faults any more", arguments: [false, true])
    func closedBefore(_ isWatchs: Bool) throws {
        var rig = try Self.opened("l2cap.channel-dropped")
        if isWatchs {
            rig.host(Self.watch(Self.disconnect(0x02, 0x41, 0x50)))
            rig.controller(Self.phone(Self.disconnected(0x02, 0x41, 0x50)))
            #expect(rig.controllerHears() == [Self.watch(Self.disconnect(0x02, 0x41, 0x50))])
            #expect(rig.hostHears() == [Self.phone(Self.disconnected(0x02, 0x41, 0x50))])
        } else {
            rig.controller(Self.phone(Self.disconnect(0x02, 0x50, 0x41)))
            rig.host(Self.watch(Self.disconnected(0x02, 0x50, 0x41)))
            #expect(rig.hostHears() == [Self.phone(Self.disconnect(0x02, 0x50, 0x41))])
            #expect(rig.controllerHears() == [Self.watch(Self.disconnected(0x02, 0x50, 0x41))])
        }
        rig.controller(LineRig.fromPhone(0x0050, [0x01, 0x00, 0xCC]))
        #expect(rig.hostHears() == [LineRig.fromPhone(0x0050, [0x01, 0x00, 0xCC])])
        #expect(rig.firings.isEmpty)
    }

    @Test("A Disconnection Request without its ends closes nothing")
    func closedWithoutEnds() throws {
        var rig = try Self.opened("l2cap.channel-dropped")
        rig.controller(Self.phone([0x06, 0x02, 0x00, 0x00]))
        #expect(rig.hostHears() == [Self.phone([0x06, 0x02, 0x00, 0x00])])
        rig.controller(LineRig.fromPhone(0x0050, [0x01, 0x00, 0xCC]))
        #expect(rig.hostHears() == [Self.phone(Self.disconnect(0xE0, 0x50, 0x41))])
    }

    @Test("The identifiers of closed channels begin again when all 32 wait for answers")
    func identifiers() throws {
        var rig = LineRig()
        try rig.add("l2cap.channel-dropped")
        var identifiers: [UInt8] = []
        for number in 0..<33 as Range<UInt8> {
            rig.controller(Self.phone(Self.ask(number + 1, 0x41)))
            rig.host(Self.watch(Self.answer(number + 1, 0x50)))
            _ = rig.hostHears()
            rig.controller(LineRig.fromPhone(0x0050, [0x01, 0x00, 0xCC]))
            identifiers += rig.hostHears().map { $0[10] }
            _ = rig.controllerHears()
            rig.controller([0x04, 0x13, 0x05, 0x01, 0x40, 0x00, 0x02, 0x00])
            _ = rig.hostHears()
        }
        #expect(identifiers == (0xE0...0xFF) + [0xE0])
    }

    @Test("Of requests without answers the line remembers sixteen")
    func unansweredRequests() throws {
        var rig = LineRig()
        try rig.add("l2cap.channel-dropped")
        for number in 1...17 as ClosedRange<UInt8> { rig.controller(Self.phone(Self.ask(number, 0x40 + number))) }
        rig.host(Self.watch(Self.answer(1, 0x50)))
        rig.host(Self.watch(Self.answer(2, 0x51)))
        _ = rig.hostHears()
        rig.controller(LineRig.fromPhone(0x0050, [0x01, 0x00, 0xCC]))
        #expect(rig.hostHears() == [LineRig.fromPhone(0x0050, [0x01, 0x00, 0xCC])], "the first is forgotten")
        rig.controller(LineRig.fromPhone(0x0051, [0x01, 0x00, 0xCC]))
        #expect(rig.hostHears() == [Self.phone(Self.disconnect(0xE0, 0x51, 0x42))])
    }

    // MARK: What is refused, withheld and made small

    @Test("A channel is refused with the result, and the watch hears nothing of it")
    func refused() throws {
        var rig = LineRig()
        try rig.add("l2cap.psm-refused psm=0x80 result=4")
        rig.controller(Self.phone(Self.ask(7, 0x41)))
        let refusal: [UInt8] = [0x15, 0x07, 0x0A, 0x00, 0, 0, 0, 0, 0, 0, 0, 0, 0x04, 0x00]
        #expect(rig.controllerHears() == [Self.watch(refusal)])
        #expect(rig.hostHears().isEmpty)
        #expect(rig.firings.map(\.effect) == ["a channel to the PSM 128 is refused with the result 4"])
        // Another PSM, and the watch's own request.
        var other = Self.ask(8, 0x41)
        other[4] = 0x81
        rig.controller(Self.phone(other))
        rig.host(Self.watch(Self.ask(1, 0x51)))
        #expect(rig.hostHears() == [Self.phone(other)])
        #expect(rig.controllerHears() == [Self.watch(Self.ask(1, 0x51))])
    }

    @Test("Channels that are asked for together are refused together")
    func severalRefused() throws {
        var rig = LineRig()
        try rig.add("l2cap.psm-refused")
        rig.controller(
            Self.phone([
                0x17, 0x09, 0x0C, 0x00, 0x80, 0x00, 0x40, 0x00, 0x40, 0x00, 0x02, 0x00, 0x41, 0x00, 0x42, 0x00,
            ])
        )
        // Behind the length: MTU, MPS, credits, the result, which is SPSM not supported, and a 0 for each end.
        let refusal: [UInt8] = [0x18, 0x09, 0x0C, 0x00, 0, 0, 0, 0, 0, 0, 0x02, 0x00, 0, 0, 0, 0]
        #expect(rig.controllerHears() == [Self.watch(refusal)])
        #expect(rig.hostHears().isEmpty)
    }

    @Test("A request without its PSM is one for the PSM 0")
    func requestWithoutPSM() throws {
        var rig = LineRig()
        try rig.add("l2cap.psm-refused")
        rig.controller(Self.phone([0x14, 0x09, 0x00, 0x00]))
        let refusal: [UInt8] = [0x15, 0x09, 0x0A, 0x00, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x00]
        #expect(rig.controllerHears() == [Self.watch(refusal)])
        #expect(rig.firings.map(\.effect) == ["a channel to the PSM 0 is refused with the result 2"])
    }

    @Test("Credits are withheld for the watch's end of one channel, and the phone's are not touched")
    func credits() throws {
        var rig = LineRig()
        try rig.add("l2cap.credits-withheld channel=0x50")
        let phones = Self.phone([0x16, 0x01, 0x04, 0x00, 0x50, 0x00, 0x03, 0x00])
        let others = Self.watch([0x16, 0x01, 0x04, 0x00, 0x51, 0x00, 0x03, 0x00])
        rig.controller(phones)
        rig.host(others)
        #expect(rig.hostHears() == [phones])
        #expect(rig.controllerHears() == [others])
        rig.host(Self.watch([0x16, 0x02, 0x04, 0x00, 0x50, 0x00, 0x03, 0x00]))
        #expect(rig.controllerHears().isEmpty)
        #expect(rig.hostHears() == [LineRig.oneCompleted])
        #expect(rig.firings.map(\.effect) == ["3 credits for the channel 80 are withheld"])
    }

    @Test("Credits that do not say for what are none for the channel 0")
    func creditsWithoutChannel() throws {
        var rig = LineRig()
        try rig.add("l2cap.credits-withheld")
        rig.host(Self.watch([0x16, 0x02, 0x00, 0x00]))
        #expect(rig.controllerHears().isEmpty)
        #expect(rig.firings.map(\.effect) == ["0 credits for the channel 0 are withheld"])
    }

    @Test(
        "The watch tells a tiny MPS wherever it tells one",
        arguments: [
            (ask(1, 0x51), 10), (answer(1, 0x51), 8),
            // The requests and responses for several channels.
            ([0x17, 0x01, 0x0A, 0x00, 0x80, 0x00, 0x40, 0x00, 0x40, 0x00, 0x02, 0x00, 0x51, 0x00], 8),
            ([0x18, 0x01, 0x0A, 0x00, 0x40, 0x00, 0x40, 0x00, 0x02, 0x00, 0x00, 0x00, 0x51, 0x00], 6),
        ] as [([UInt8], Int)]
    )
    func tinyMPS(_ payload: [UInt8], _ place: Int) throws {
        var rig = LineRig()
        try rig.add("l2cap.tiny-mps mps=30")
        rig.controller(Self.phone(payload))
        #expect(rig.hostHears() == [Self.phone(payload)], "the phone's own MPS is its own")
        var small = payload
        #expect(small[place] == 0x40)
        small[place] = 0x1E
        rig.host(Self.watch(payload))
        #expect(rig.controllerHears() == [Self.watch(small)])
        #expect(rig.firings.map(\.effect) == ["the phone is told an MPS of 30"])
    }

    @Test("A request that ends before its MPS stays as it is")
    func requestWithoutMPS() throws {
        var rig = LineRig()
        try rig.add("l2cap.tiny-mps")
        let short = Self.watch([0x14, 0x01, 0x06, 0x00, 0x80, 0x00, 0x51, 0x00, 0x40, 0x00])
        rig.host(short)
        #expect(rig.controllerHears() == [short])
    }

    // MARK: Parameters, and everything else

    @Test("The watch's request for other parameters is refused in the phone's name")
    func parameters() throws {
        var rig = LineRig()
        try rig.add("l2cap.parameters-refused direction=to-phone count=1")
        let request: [UInt8] = [0x12, 0x05, 0x08, 0x00, 0x18, 0x00, 0x28, 0x00, 0x04, 0x00, 0xF4, 0x01]
        // The phone is a central, which asks for nothing: it is not understood.
        rig.controller(Self.phone(request))
        #expect(rig.hostHears() == [Self.phone(request)])
        rig.host(Self.watch(request))
        #expect(rig.hostHears() == [Self.phone([0x13, 0x05, 0x02, 0x00, 0x01, 0x00]), LineRig.oneCompleted])
        #expect(rig.controllerHears().isEmpty)
        #expect(rig.firings.map(\.effect) == ["the watch's request for other parameters is refused"])
        rig.host(Self.watch(request))
        #expect(rig.controllerHears() == [Self.watch(request)])
    }

    @Test(
        "What no fault is about goes on as it is, both ways",
        arguments: [
            // Nothing at all, a code without its identifier, Command Reject, and an Echo Request, which LE has not.
            [], [0x14], [0x01, 0x03, 0x02, 0x00, 0x00, 0x00], [0x08, 0x03, 0x00, 0x00],
            // Credit Based Reconfigure Request and Response.
            [0x19, 0x03, 0x06, 0x00, 0x40, 0x00, 0x40, 0x00, 0x41, 0x00], [0x1A, 0x03, 0x02, 0x00, 0x00, 0x00],
        ] as [[UInt8]]
    )
    func others(_ payload: [UInt8]) throws {
        var rig = LineRig()
        for fault in ["psm-refused", "tiny-mps", "credits-withheld", "parameters-refused", "channel-dropped"] {
            try rig.add("l2cap.\(fault)")
        }
        rig.controller(Self.phone(payload))
        rig.host(Self.watch(payload))
        #expect(rig.hostHears() == [Self.phone(payload)])
        #expect(rig.controllerHears() == [Self.watch(payload)])
        #expect(rig.firings.isEmpty)
    }
}
