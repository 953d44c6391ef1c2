import BluetoothHCI
import Testing

@testable import Faults

/// What becomes of the data of links at a line of faults, and of what it keeps back when a link or the controller goes.
@Suite struct LinkDataFaultTests {
    /// A Read Request of the phone's for the handle 3, and the watch's answer.
    private static let request = LineRig.fromPhone(0x0004, [0x0A, 0x03, 0x00])
    private static let response = LineRig.toPhone(0x0004, [0x0B, 0x63])
    private static let disconnection: [UInt8] = [0x04, 0x05, 0x04, 0x00, 0x40, 0x00, 0x13]

    // MARK: Fragments

    @Test("A PDU of the phone's that comes in parts reaches the host as a whole")
    func partsOfThePhone() throws {
        var rig = LineRig()
        try rig.add("att.never")
        // Seven octets of payload: the first packet does not even have the whole header.
        rig.controller(LineRig.acl(0x20, [0x07, 0x00, 0x04]))
        rig.controller(LineRig.acl(0x10, [0x00, 0x12, 0x05, 0x00]))
        #expect(rig.hostHears().isEmpty)
        rig.controller(LineRig.acl(0x10, [0x01, 0x02, 0x03, 0x04]))
        #expect(rig.hostHears() == [LineRig.fromPhone(0x0004, [0x12, 0x05, 0x00, 0x01, 0x02, 0x03, 0x04])])
    }

    @Test("The rest of a PDU whose beginning came before the line goes on as it is")
    func restOfAPDU() throws {
        var rig = LineRig(packetCount: 1)
        try rig.add("att.never")
        let rest = LineRig.acl(0x10, [0xAA, 0xBB])
        rig.controller(rest)
        #expect(rig.hostHears() == [rest])
        rig.host(rest)
        rig.host(rest)
        #expect(rig.controllerHears() == [rest], "the controller has room for one")
        rig.controller(LineRig.oneCompleted)
        #expect(rig.controllerHears() == [rest])
        rig.controller(LineRig.oneCompleted)
        #expect(rig.hostHears() == [LineRig.oneCompleted, LineRig.oneCompleted])
    }

    @Test(
        "Data of a connection that the line does not know, or that is cut off, goes on as it is",
        arguments: [false, true]
    )
    func foreignData(_ isHosts: Bool) throws {
        var rig = LineRig()
        try rig.add("link.mute")
        let packets: [[UInt8]] = [
            [0x02, 0x41, 0x20, 0x07, 0x00, 0x03, 0x00, 0x04, 0x00, 0x0A, 0x03, 0x00],
            // A length of 9 with two octets behind it.
            [0x02, 0x40, 0x20, 0x09, 0x00, 0x03, 0x00],
        ]
        for packet in packets { if isHosts { rig.host(packet) } else { rig.controller(packet) } }
        #expect(rig.controllerHears() == (isHosts ? packets : []))
        #expect(rig.hostHears() == (isHosts ? [] : packets))
    }

    // MARK: Mute links

    @Test("What the phone says on a mute link waits, and comes in its order")
    func muteFromThePhone() throws {
        var rig = LineRig()
        try rig.add("link.mute direction=from-phone for=2s")
        rig.controller(Self.request)
        rig.controller(LineRig.fromPhone(0x0004, [0x52, 0x03, 0x00, 0x01]))
        rig.host(Self.response)
        #expect(rig.hostHears().isEmpty)
        #expect(rig.controllerHears() == [Self.response], "the other way is open")
        rig.advance(to: .milliseconds(1999))
        #expect(rig.hostHears().isEmpty)
        #expect(rig.line.nextDeadline == .seconds(2))
        rig.advance(to: .seconds(2))
        #expect(rig.hostHears() == [Self.request, LineRig.fromPhone(0x0004, [0x52, 0x03, 0x00, 0x01])])
    }

    @Test("What was held on a link that is gone is gone with it")
    func heldDataOfALostLink() throws {
        var rig = LineRig()
        try rig.add("link.mute")
        rig.controller(Self.request)
        rig.host(Self.response)
        rig.controller(Self.disconnection)
        #expect(rig.hostHears() == [Self.disconnection])
        rig.clear()
        rig.advance(to: .seconds(1))
        #expect(rig.hostHears().isEmpty && rig.controllerHears().isEmpty)
        #expect(rig.line.isIdle)
    }

    @Test("What waits for room goes with its link, and a late event of another thing comes all the same")
    func waitingDataOfALostLink() throws {
        var rig = LineRig(packetCount: 1)
        try rig.add("controller.event-late event=0x10 delay=1s")
        rig.host(Self.response)
        rig.host(LineRig.toPhone(0x0004, [0x1B, 0x05, 0x00, 0x01]))
        #expect(rig.controllerHears() == [Self.response])
        let error: [UInt8] = [0x04, 0x10, 0x01, 0x42]
        rig.controller(error)
        rig.controller(Self.disconnection)
        #expect(rig.hostHears() == [Self.disconnection])
        rig.advance(to: .seconds(1))
        #expect(rig.controllerHears().isEmpty)
        #expect(rig.hostHears() == [error])
        #expect(rig.firings.map(\.effect) == ["the event 16 is 1s late"])
    }

    @Test("A disconnection that failed leaves what is held")
    func failedDisconnection() throws {
        var rig = LineRig()
        try rig.add("link.mute")
        rig.controller(Self.request)
        // Controller Busy.
        let failed: [UInt8] = [0x04, 0x05, 0x04, 0x3A, 0x40, 0x00, 0x00]
        rig.controller(failed)
        rig.clear()
        #expect(rig.hostHears() == [failed, Self.request])
    }

    @Test("What a phone has said before the end of its link is not heard behind it")
    func heldBehindTheEnd() throws {
        var rig = LineRig()
        try rig.add("controller.event-late event=0x05 delay=5s")
        try rig.add("link.mute direction=from-phone for=5s")
        // Disconnection Complete: the remote user ended the link.
        let end: [UInt8] = [0x04, 0x05, 0x04, 0x00, 0x40, 0x00, 0x13]
        rig.controller(end)
        rig.controller(LineRig.fromPhone(0x0004, [0x0A, 0x03, 0x00]))
        #expect(rig.hostHears().isEmpty)
        rig.advance(to: .seconds(5))
        #expect(rig.hostHears() == [end])
    }

    @Test("An answer that is late behind the end of its link is not sent")
    func answerBehindTheEnd() throws {
        var rig = LineRig()
        try rig.add("controller.event-late event=0x05 delay=5s")
        try rig.add("att.late delay=5s")
        rig.controller(Self.request)
        rig.controller(Self.disconnection)
        rig.host(Self.response)
        #expect(rig.hostHears() == [Self.request])
        rig.advance(to: .seconds(5))
        #expect(rig.hostHears() == [Self.disconnection])
        #expect(rig.controllerHears().isEmpty)
    }

    // MARK: The controller

    @Test("A controller that hangs has everything of both sides when it comes back, in its order")
    func hang() throws {
        var rig = LineRig()
        try rig.add("controller.hang for=1s")
        let random: [UInt8] = [0x01, 0x18, 0x20, 0x00]
        let answer: [UInt8] = [0x04, 0x0E, 0x0C, 0x01, 0x18, 0x20, 0x00, 1, 2, 3, 4, 5, 6, 7, 8]
        rig.host(random)
        rig.controller(answer)
        rig.host(Self.response)
        rig.controller(Self.request)
        #expect(rig.hostHears().isEmpty && rig.controllerHears().isEmpty)
        rig.advance(to: .seconds(1))
        #expect(rig.hostHears() == [answer, Self.request])
        #expect(rig.controllerHears() == [Self.response, random], "data do not wait for commands")
    }

    @Test("A Reset takes the late answers with it")
    func resetOfTheHost() throws {
        var rig = LineRig()
        try rig.add("att.late delay=5s")
        rig.controller(Self.request)
        rig.host(Self.response)
        rig.host([0x01, 0x03, 0x0C, 0x00])
        #expect(rig.controllerHears() == [[0x01, 0x03, 0x0C, 0x00]])
        rig.advance(to: .seconds(10))
        #expect(rig.controllerHears().isEmpty)
    }

    @Test("What a controller that hangs was given comes behind the reset that it makes")
    func resetOfAHungController() throws {
        var rig = LineRig()
        try rig.add("controller.hang for=2s")
        try rig.add("controller.reset after=1s")
        rig.host([0x01, 0x18, 0x20, 0x00])
        rig.advance(to: .seconds(1))
        #expect(rig.hostHears() == [[0x04, 0x10, 0x01, 0x00]], "Hardware Error")
        #expect(rig.controllerHears() == [[0x01, 0x03, 0x0C, 0x00]])
        rig.controller([0x04, 0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00], at: .seconds(1))
        rig.advance(to: .seconds(2))
        #expect(rig.controllerHears() == [[0x01, 0x18, 0x20, 0x00]])
        #expect(rig.hostHears().isEmpty, "the host has not asked for the reset")
    }

    @Test("Nothing that was said to a controller that is gone is said to the next one")
    func controllerLost() throws {
        var rig = LineRig()
        try rig.add("link.dropped")
        #expect(rig.controllerHears() == [[0x01, 0x06, 0x04, 0x03, 0x40, 0x00, 0x13]])
        try rig.add("controller.hang")
        rig.host(Self.response)
        rig.controller(Self.request)
        rig.line.controllerLost()
        rig.clear()
        #expect(rig.controllerHears().isEmpty && rig.hostHears().isEmpty)
        #expect(rig.line.isIdle, "nobody waits for the answer to Disconnect")
        rig.host([0x01, 0x03, 0x0C, 0x00])
        #expect(rig.controllerHears() == [[0x01, 0x03, 0x0C, 0x00]])
    }

    @Test("A controller without buffers tells what it has completed when it has some again")
    func buffersWithheld() throws {
        var rig = LineRig()
        try rig.add("controller.no-buffers for=1s")
        rig.host(Self.response)
        rig.host(Self.response)
        rig.controller(LineRig.oneCompleted)
        rig.controller(LineRig.oneCompleted)
        #expect(rig.hostHears().isEmpty)
        rig.advance(to: .seconds(1))
        #expect(rig.hostHears() == [[0x04, 0x13, 0x05, 0x01, 0x40, 0x00, 0x02, 0x00]])
    }
}
