import BluetoothHCI
import Testing

@testable import Faults

/// What becomes of commands and events at a line of faults, octet by octet.
@Suite struct CommandFaultTests {
    // MARK: What is not understood

    @Test("What is neither a command nor data goes on to the controller as it is")
    func unknownOfTheHost() throws {
        var rig = LineRig()
        try rig.add("controller.command-refused")
        let packets: [[UInt8]] = [
            // Synchronous and isochronous data, no packet type of anybody's, and a command whose length is missing.
            [0x03, 0x40, 0x00, 0x01, 0xAA], [0x05, 0x40, 0x00, 0x01, 0x00, 0xAA], [0x77, 0x01], [0x01, 0x03, 0x0C],
        ]
        for packet in packets { rig.host(packet) }
        #expect(rig.controllerHears() == packets)
        #expect(rig.hostHears().isEmpty && rig.firings.isEmpty)
    }

    @Test("What is neither an event nor data goes on to the host as it is")
    func unknownOfTheController() throws {
        var rig = LineRig()
        try rig.add("controller.event-lost")
        let packets: [[UInt8]] = [
            // Synchronous data, a packet type that nobody has, and a Disconnection Complete that is too short.
            [0x03, 0x40, 0x00, 0x01, 0xAA], [0x77, 0x01], [0x04, 0x05, 0x02, 0x00, 0x40],
        ]
        for packet in packets { rig.controller(packet) }
        #expect(rig.hostHears() == packets)
        #expect(rig.controllerHears().isEmpty && rig.firings.isEmpty)
    }

    @Test("An event without parameters has no subevent that a fault could be about")
    func eventWithoutParameters() throws {
        var rig = LineRig()
        try rig.add("controller.event-lost event=0xFE")
        rig.controller([0x04, 0xFE, 0x00])
        #expect(rig.hostHears().isEmpty)
        #expect(rig.firings.map(\.effect) == ["the event 254 is lost"])
        // Another event has nothing to do with it.
        rig.controller([0x04, 0xFD, 0x00])
        #expect(rig.hostHears() == [[0x04, 0xFD, 0x00]])
    }

    // MARK: Commands and their answers

    @Test("A refused command is answered with the status, and the controller never hears it")
    func refusedCommand() throws {
        var rig = LineRig()
        try rig.add("controller.command-refused opcode=0x2013 status=0x3A count=1")
        // LE Read Buffer Size is not what the fault is about.
        rig.host([0x01, 0x02, 0x20, 0x00])
        #expect(rig.controllerHears() == [[0x01, 0x02, 0x20, 0x00]])
        rig.host(Self.connectionUpdate)
        #expect(rig.hostHears() == [[0x04, 0x0F, 0x04, 0x3A, 0x01, 0x13, 0x20]], "Controller Busy")
        #expect(rig.controllerHears().isEmpty)
        rig.host(Self.connectionUpdate)
        #expect(rig.controllerHears() == [Self.connectionUpdate])
    }

    @Test("An answer to a command that was sent before the line came goes on")
    func answerToAnOlderCommand() throws {
        var rig = LineRig()
        try rig.add("controller.event-lost event=0x0F")
        let complete: [UInt8] = [0x04, 0x0E, 0x04, 0x01, 0x05, 0x20, 0x00]
        rig.controller(complete)
        #expect(rig.hostHears() == [complete])
        // The fault has the other kind of answer.
        rig.controller([0x04, 0x0F, 0x04, 0x00, 0x01, 0x06, 0x04])
        #expect(rig.hostHears().isEmpty)
        #expect(rig.firings.map(\.effect) == ["the event 15 is lost"])
    }

    @Test("A host that hears no answer still has the controller for its next command")
    func lostAnswer() throws {
        var rig = LineRig()
        try rig.add("controller.event-lost event=0x0E count=1")
        rig.host([0x01, 0x05, 0x20, 0x06, 1, 2, 3, 4, 5, 0xC6])
        rig.controller([0x04, 0x0E, 0x04, 0x01, 0x05, 0x20, 0x00])
        #expect(rig.hostHears().isEmpty)
        // What the line has to say itself waits only for commands that are still under way.
        try rig.add("link.dropped reason=0x15")
        #expect(rig.controllerHears().last == [0x01, 0x06, 0x04, 0x03, 0x40, 0x00, 0x15])
    }

    @Test("A command of the line's waits until the host's are answered, and the host's wait for its answer")
    func turns() throws {
        var rig = LineRig()
        let random: [UInt8] = [0x01, 0x18, 0x20, 0x00]
        rig.host(random)
        try rig.add("link.dropped")
        #expect(rig.controllerHears() == [random], "LE Rand is not answered yet")
        rig.controller([0x04, 0x0E, 0x0C, 0x01, 0x18, 0x20, 0x00, 1, 2, 3, 4, 5, 6, 7, 8])
        #expect(rig.controllerHears() == [[0x01, 0x06, 0x04, 0x03, 0x40, 0x00, 0x13]])
        #expect(rig.hostHears().count == 1)
        rig.host(random)
        #expect(rig.controllerHears().isEmpty)
        rig.controller([0x04, 0x0F, 0x04, 0x00, 0x01, 0x06, 0x04])
        #expect(rig.hostHears().isEmpty, "the host has not asked for Disconnect")
        #expect(rig.controllerHears() == [random])
    }

    // MARK: Advertising sets

    @Test("A controller that advertises without sets loses its advertising")
    func legacyAdvertisingLost() throws {
        var rig = LineRig()
        rig.host([0x01, 0x0A, 0x20, 0x01, 0x01])
        rig.controller([0x04, 0x0E, 0x04, 0x01, 0x0A, 0x20, 0x00])
        #expect(rig.controllerHears() == [[0x01, 0x0A, 0x20, 0x01, 0x01]])
        try rig.add("controller.sets-lost")
        #expect(rig.controllerHears() == [[0x01, 0x0A, 0x20, 0x01, 0x00]], "LE Set Advertising Enable: off")
        #expect(rig.firings.map(\.effect) == ["the controller has no advertising sets any more"])
    }

    @Test("A controller that advertises in sets loses all of them")
    func setsLost() throws {
        var rig = LineRig()
        // First without sets, then with one: the last counts.
        rig.host([0x01, 0x0A, 0x20, 0x01, 0x00])
        rig.controller([0x04, 0x0E, 0x04, 0x01, 0x0A, 0x20, 0x00])
        rig.host([0x01, 0x39, 0x20, 0x06, 0x01, 0x01, 0x00, 0x00, 0x00, 0x00])
        rig.controller([0x04, 0x0E, 0x04, 0x01, 0x39, 0x20, 0x00])
        _ = rig.controllerHears()
        _ = rig.hostHears()
        try rig.add("controller.sets-lost")
        rig.controller([0x04, 0x0E, 0x04, 0x01, 0x39, 0x20, 0x00])
        rig.controller([0x04, 0x0E, 0x04, 0x01, 0x3D, 0x20, 0x00])
        // LE Set Extended Advertising Enable for none, which is for all; LE Clear Advertising Sets.
        #expect(rig.controllerHears() == [[0x01, 0x39, 0x20, 0x02, 0x00, 0x00], [0x01, 0x3D, 0x20, 0x00]])
        #expect(rig.hostHears().isEmpty)
    }

    // MARK: Buffers

    @Test(
        "The controller gets as many packets as it says that it has room for",
        arguments: [
            // LE Read Buffer Size: 27 octets, 2 packets.
            [0x04, 0x0E, 0x07, 0x01, 0x02, 0x20, 0x00, 0x1B, 0x00, 0x02],
            // Its second version: the same, and no room for isochronous data.
            [0x04, 0x0E, 0x0A, 0x01, 0x60, 0x20, 0x00, 0x1B, 0x00, 0x02, 0x00, 0x00, 0x00],
            // Read Buffer Size: 27 octets, no synchronous data, 2 packets.
            [0x04, 0x0E, 0x0B, 0x01, 0x05, 0x10, 0x00, 0x1B, 0x00, 0x00, 0x02, 0x00, 0x00, 0x00],
        ] as [[UInt8]]
    )
    func buffers(_ answer: [UInt8]) throws {
        var rig = LineRig(packetCount: 8)
        try rig.add("att.never")
        rig.host([0x01, answer[4], answer[5], 0x00])
        rig.controller(answer)
        #expect(rig.hostHears() == [answer])
        _ = rig.controllerHears()
        let notifications = (1...3).map { LineRig.toPhone(0x0004, [0x1B, 0x05, 0x00, UInt8($0)]) }
        for packet in notifications { rig.host(packet) }
        #expect(rig.controllerHears() == Array(notifications[..<2]))
        rig.controller(LineRig.oneCompleted)
        #expect(rig.controllerHears() == [notifications[2]])
        #expect(rig.hostHears() == [LineRig.oneCompleted])
    }

    @Test(
        "An answer that tells of no buffers changes nothing: LE shares those of BR/EDR then",
        arguments: [
            [0x04, 0x0E, 0x07, 0x01, 0x02, 0x20, 0x00, 0x00, 0x00, 0x00],
            // The command failed.
            [0x04, 0x0E, 0x04, 0x01, 0x02, 0x20, 0x01],
            // The answer is cut off.
            [0x04, 0x0E, 0x06, 0x01, 0x02, 0x20, 0x00, 0x1B, 0x00],
        ] as [[UInt8]]
    )
    func noBuffers(_ answer: [UInt8]) throws {
        var rig = LineRig(packetCount: 2)
        try rig.add("att.never")
        rig.controller(answer)
        #expect(rig.hostHears() == [answer])
        let packet = LineRig.toPhone(0x0004, [0x1B, 0x05, 0x00, 0x07])
        for _ in 1...3 { rig.host(packet) }
        #expect(rig.controllerHears() == [packet, packet])
    }

    @Test("A report of completed packets that is lost leaves room in the controller, and the host without it")
    func lostCompletedPackets() throws {
        var rig = LineRig(packetCount: 1)
        try rig.add("controller.event-lost event=0x13 count=1")
        let packet = LineRig.toPhone(0x0004, [0x1B, 0x05, 0x00, 0x07])
        rig.host(packet)
        rig.host(packet)
        #expect(rig.controllerHears() == [packet])
        // Two connections: the second is not the line's.
        rig.controller([0x04, 0x13, 0x09, 0x02, 0x40, 0x00, 0x01, 0x00, 0x41, 0x00, 0x01, 0x00])
        #expect(rig.controllerHears() == [packet])
        #expect(rig.hostHears().isEmpty)
        rig.controller(LineRig.oneCompleted)
        #expect(rig.hostHears() == [LineRig.oneCompleted], "only the second packet, since the first is lost for good")
    }

    @Test("Completed packets of a connection that the line does not know are the host's own")
    func foreignCompletedPackets() throws {
        var rig = LineRig()
        try rig.add("att.never")
        rig.host(LineRig.toPhone(0x0004, [0x1B, 0x05, 0x00, 0x07]))
        rig.controller([0x04, 0x13, 0x09, 0x02, 0x41, 0x00, 0x03, 0x00, 0x40, 0x00, 0x01, 0x00])
        #expect(rig.hostHears() == [[0x04, 0x13, 0x05, 0x01, 0x41, 0x00, 0x03, 0x00], LineRig.oneCompleted])
    }

    // MARK: Connections

    private static let connectionUpdate: [UInt8] = [
        0x01, 0x13, 0x20, 0x0E, 0x40, 0x00, 0x18, 0x00, 0x28, 0x00, 0x04, 0x00, 0xF4, 0x01, 0x00, 0x00, 0x00, 0x00,
    ]

    /// LE Connection Complete: the phone C0:DE:00:00:00:01 has connected, as central; 30 ms, no latency, 2 s.
    private static func connectionComplete(_ status: UInt8) -> [UInt8] {
        [0x04, 0x3E, 0x13, 0x01, status, 0x40, 0x00, 0x01, 0x01] + [0x01, 0x00, 0x00, 0x00, 0xDE, 0xC0]
            + [0x18, 0x00, 0x00, 0x00, 0xC8, 0x00, 0x00]
    }

    @Test("A link that begins is one for faults")
    func newLink() throws {
        var rig = LineRig(isConnected: false)
        try rig.add("link.dropped reason=0x15 phone=C0:DE:00:00:00:01")
        #expect(rig.controllerHears().isEmpty)
        rig.controller(Self.connectionComplete(0x00))
        #expect(rig.hostHears() == [Self.connectionComplete(0x00)])
        #expect(rig.controllerHears() == [[0x01, 0x06, 0x04, 0x03, 0x40, 0x00, 0x15]])
        #expect(rig.firings.map(\.connection) == [LineRig.handle])
    }

    @Test("A link that failed to begin is none")
    func failedLink() throws {
        var rig = LineRig(isConnected: false)
        try rig.add("link.dropped reason=0x15")
        // Connection Failed to be Established.
        rig.controller(Self.connectionComplete(0x3E))
        #expect(rig.hostHears() == [Self.connectionComplete(0x3E)])
        #expect(rig.controllerHears().isEmpty && rig.firings.isEmpty)
    }

    @Test("A link is dropped once for each time that it may")
    func severalLinks() throws {
        var rig = LineRig()
        try rig.add("link.dropped reason=0x15 phone=C0:DE:00:00:00:02")
        try rig.add("link.dropped packets=1")
        #expect(rig.firings.isEmpty, "the first is for another phone, and the second waits for a packet")
        rig.controller(LineRig.fromPhone(0x0004, [0x0A, 0x03, 0x00]))
        #expect(rig.controllerHears() == [[0x01, 0x06, 0x04, 0x03, 0x40, 0x00, 0x13]])
        #expect(rig.firings.map(\.id.rawValue) == [2])
    }

    // MARK: Links that are lost in the middle of something

    private static let keyRequest: [UInt8] =
        [0x04, 0x3E, 0x0D, 0x05, 0x40, 0x00, 1, 2, 3, 4, 5, 6, 7, 8, 0x34, 0x12]
    private static let parameterRequest: [UInt8] =
        [0x04, 0x3E, 0x0B, 0x06, 0x40, 0x00, 0x0C, 0x00, 0x18, 0x00, 0x00, 0x00, 0xC8, 0x00]

    @Test("A link is lost when the phone begins to encrypt, and not before")
    func lostDuringEncryption() throws {
        var rig = LineRig()
        try rig.add("link.lost during=encryption length=3s")
        rig.controller(LineRig.fromPhone(0x0004, [0x0A, 0x03, 0x00]))
        rig.controller(Self.parameterRequest)
        #expect(rig.actions.isEmpty)
        rig.controller(Self.keyRequest)
        #expect(rig.actions == [.silence(0x0040, for: .seconds(3))])
        #expect(rig.hostHears().last == Self.keyRequest, "the host is asked all the same")
        #expect(rig.firings.map(\.effect) == ["neither side hears the other for 3s"])
    }

    @Test("Packets are counted from the moment when it begins")
    func lostAfterEncryptionBegan() throws {
        var rig = LineRig()
        try rig.add("link.lost during=encryption packets=2")
        let packet = LineRig.fromPhone(0x0004, [0x0A, 0x03, 0x00])
        for _ in 1...5 { rig.controller(packet) }
        rig.controller(Self.keyRequest)
        rig.controller(packet)
        #expect(rig.actions.isEmpty)
        rig.controller(packet)
        #expect(rig.actions == [.silence(0x0040, for: .seconds(10))])
    }

    @Test(
        "A link is lost when either side asks for other parameters",
        arguments: [
            // By the link layer's procedure: the phone, the watch; by the signaling channel: the watch.
            (true, parameterRequest), (false, connectionUpdate),
            (false, LineRig.toPhone(0x0005, [0x12, 0x01, 0x08, 0x00, 0x18, 0x00, 0x28, 0x00, 0x04, 0x00, 0xF4, 0x01])),
        ]
    )
    func lostDuringParameterUpdate(_ isControllers: Bool, _ packet: [UInt8]) throws {
        var rig = LineRig()
        try rig.add("link.lost during=parameter-update")
        rig.controller(Self.keyRequest)
        #expect(rig.actions.isEmpty)
        if isControllers { rig.controller(packet) } else { rig.host(packet) }
        #expect(rig.actions == [.silence(0x0040, for: .seconds(10))])
    }

    @Test("What another connection asks for loses no link of the line's")
    func lostOfAnotherConnection() throws {
        var rig = LineRig()
        try rig.add("link.lost during=encryption")
        var request = Self.keyRequest
        request[4] = 0x41
        rig.controller(request)
        #expect(rig.actions.isEmpty && rig.firings.isEmpty)
        #expect(rig.hostHears() == [request])
    }

    // MARK: Parameters

    @Test("The phone's request for other parameters is refused, and the host takes its answer for the one that it gave")
    func phonesParametersRefused() throws {
        var rig = LineRig()
        try rig.add("l2cap.parameters-refused direction=from-phone")
        rig.controller(Self.parameterRequest)
        #expect(rig.hostHears() == [Self.parameterRequest])
        rig.host([0x01, 0x20, 0x20, 0x0E, 0x40, 0x00, 0x0C, 0x00, 0x18, 0x00, 0x00, 0x00, 0xC8, 0x00, 0, 0, 0, 0])
        // The negative reply: Unacceptable Connection Parameters.
        #expect(rig.controllerHears() == [[0x01, 0x21, 0x20, 0x03, 0x40, 0x00, 0x3B]])
        rig.controller([0x04, 0x0E, 0x06, 0x01, 0x21, 0x20, 0x00, 0x40, 0x00])
        #expect(rig.hostHears() == [[0x04, 0x0E, 0x06, 0x01, 0x20, 0x20, 0x00, 0x40, 0x00]])
        #expect(rig.firings.map(\.effect) == ["the phone's request for other parameters is refused"])
    }

    @Test("A controller that only says that it has begun a changed command is understood too")
    func statusOfAChangedCommand() throws {
        var rig = LineRig()
        try rig.add("l2cap.parameters-refused direction=from-phone")
        rig.host([0x01, 0x20, 0x20, 0x0E, 0x40, 0x00, 0x0C, 0x00, 0x18, 0x00, 0x00, 0x00, 0xC8, 0x00, 0, 0, 0, 0])
        // Unknown Command.
        rig.controller([0x04, 0x0F, 0x04, 0x01, 0x01, 0x21, 0x20])
        #expect(rig.hostHears() == [[0x04, 0x0F, 0x04, 0x01, 0x01, 0x20, 0x20]])
    }

    @Test(
        "The phone's parameters are taken if the fault is not about them",
        arguments: [
            // The fault is about the watch's requests.
            [0x01, 0x20, 0x20, 0x0E, 0x40, 0x00, 0x0C, 0x00, 0x18, 0x00, 0x00, 0x00, 0xC8, 0x00, 0, 0, 0, 0],
            // A connection that the line does not know.
            [0x01, 0x20, 0x20, 0x0E, 0x41, 0x00, 0x0C, 0x00, 0x18, 0x00, 0x00, 0x00, 0xC8, 0x00, 0, 0, 0, 0],
            // A reply without most of it.
            [0x01, 0x20, 0x20, 0x02, 0x40, 0x00],
        ] as [[UInt8]]
    )
    func phonesParametersTaken(_ reply: [UInt8]) throws {
        var rig = LineRig()
        try rig.add("l2cap.parameters-refused direction=\(reply[4] == 0x40 && reply[3] != 2 ? "to-phone" : "both")")
        rig.host(reply)
        #expect(rig.controllerHears() == [reply])
        #expect(rig.firings.isEmpty)
    }

    @Test("The watch's request for other parameters is answered as if the phone had refused it")
    func watchsParametersRefused() throws {
        var rig = LineRig()
        try rig.add("l2cap.parameters-refused direction=to-phone count=1")
        rig.host(Self.connectionUpdate)
        #expect(
            rig.hostHears() == [
                [0x04, 0x0F, 0x04, 0x00, 0x01, 0x13, 0x20],
                // LE Connection Update Complete: Unacceptable Connection Parameters.
                [0x04, 0x3E, 0x0A, 0x03, 0x3B, 0x40, 0x00, 0x28, 0x00, 0x04, 0x00, 0xF4, 0x01],
            ]
        )
        #expect(rig.controllerHears().isEmpty)
        rig.host(Self.connectionUpdate)
        #expect(rig.controllerHears() == [Self.connectionUpdate])
    }

    @Test(
        "An update of a connection that the line does not know, or without most of it, is the controller's",
        arguments: [
            [
                0x01, 0x13, 0x20, 0x0E, 0x41, 0x00, 0x18, 0x00, 0x28, 0x00, 0x04, 0x00, 0xF4, 0x01, 0x00, 0x00, 0x00,
                0x00,
            ],
            [0x01, 0x13, 0x20, 0x02, 0x40, 0x00],
        ] as [[UInt8]]
    )
    func foreignUpdate(_ command: [UInt8]) throws {
        var rig = LineRig()
        try rig.add("l2cap.parameters-refused")
        rig.host(command)
        #expect(rig.controllerHears() == [command])
        #expect(rig.hostHears().isEmpty && rig.firings.isEmpty)
    }
}
