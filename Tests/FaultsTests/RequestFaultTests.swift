import BluetoothHCI
import Testing

@testable import Faults

/// What becomes of the Attribute Protocol at a line of faults, octet by octet.
@Suite struct RequestFaultTests {
    private static func phone(_ payload: [UInt8]) -> [UInt8] { LineRig.fromPhone(0x0004, payload) }
    private static func watch(_ payload: [UInt8]) -> [UInt8] { LineRig.toPhone(0x0004, payload) }

    @Test(
        "What is no request is no occasion for a fault of requests",
        arguments: [
            // Nothing at all, an opcode that nobody has, Write Command, Read Response, a notification, and an indication.
            [], [0x3F, 0x03, 0x00], [0x52, 0x03, 0x00, 0x01], [0x0B, 0x01], [0x1B, 0x03, 0x00, 0x01],
            [0x1D, 0x03, 0x00, 0x01],
            // A confirmation that nobody has anticipated.
            [0x1E],
        ] as [[UInt8]]
    )
    func noRequest(_ payload: [UInt8]) throws {
        var rig = LineRig()
        try rig.add("att.error")
        rig.controller(Self.phone(payload))
        #expect(rig.hostHears() == [Self.phone(payload)])
        #expect(rig.controllerHears().isEmpty && rig.firings.isEmpty)
    }

    @Test("A request without its handle is refused for the handle 0")
    func requestWithoutHandle() throws {
        var rig = LineRig()
        try rig.add("att.error error=0x04")
        rig.controller(Self.phone([0x0A]))
        #expect(rig.controllerHears() == [Self.watch([0x01, 0x0A, 0x00, 0x00, 0x04])], "Invalid PDU")
        #expect(rig.hostHears().isEmpty)
        #expect(rig.firings.map(\.effect) == ["request 10 for handle 0 is answered with the error 4"])
    }

    @Test("A fault of one handle leaves the requests for others, and those that name none")
    func requestForAHandle() throws {
        var rig = LineRig()
        try rig.add("att.error handle=0x0203 error=0x80")
        let others = [Self.phone([0x0A, 0x03, 0x03]), Self.phone([0x02, 0x03, 0x02]), Self.phone([0x18, 0x01])]
        for packet in others { rig.controller(packet) }
        #expect(rig.hostHears() == others)
        rig.controller(Self.phone([0x0A, 0x03, 0x02]))
        #expect(rig.controllerHears() == [Self.watch([0x01, 0x0A, 0x03, 0x02, 0x80])])
        #expect(rig.hostHears().isEmpty)
    }

    @Test("The exchange of MTUs is refused in the words of a server that does not know it")
    func exchangeOfMTUs() throws {
        var rig = LineRig()
        try rig.add("att.mtu-refused")
        rig.controller(Self.phone([0x02, 0x05, 0x02]))
        #expect(rig.controllerHears() == [Self.watch([0x01, 0x02, 0x00, 0x00, 0x06])])
        #expect(rig.hostHears().isEmpty)
    }

    @Test("An answer that is given twice takes one packet of the host's")
    func twice() throws {
        var rig = LineRig()
        try rig.add("att.twice count=1")
        rig.controller(Self.phone([0x0A, 0x03, 0x00]))
        _ = rig.hostHears()
        rig.host(Self.watch([0x0B, 0x63]))
        #expect(rig.controllerHears() == [Self.watch([0x0B, 0x63]), Self.watch([0x0B, 0x63])])
        rig.controller([0x04, 0x13, 0x05, 0x01, 0x40, 0x00, 0x02, 0x00])
        #expect(rig.hostHears() == [LineRig.oneCompleted])
    }

    @Test("An answer that never comes is that of the request, and not what the watch says in between")
    func never() throws {
        var rig = LineRig()
        try rig.add("att.never count=1")
        rig.controller(Self.phone([0x0A, 0x03, 0x00]))
        _ = rig.hostHears()
        // A notification, Exchange MTU Request, and an opcode that nobody has.
        let others = [Self.watch([0x1B, 0x05, 0x00, 0x01]), Self.watch([0x02, 0x05, 0x02]), Self.watch([0x3F])]
        for packet in others { rig.host(packet) }
        rig.host(Self.watch([0x0B, 0x63]))
        #expect(rig.controllerHears() == others)
        #expect(rig.hostHears() == [LineRig.oneCompleted], "the packet that went nowhere")
        #expect(rig.firings.map(\.effect) == ["a request is not answered"])
    }

    // MARK: Indications

    @Test("A confirmation that was anticipated is not heard again, and the next one is")
    func anticipatedConfirmation() throws {
        var rig = LineRig()
        try rig.add("att.confirmation-not-awaited count=1")
        rig.host(Self.watch([0x1D, 0x05, 0x00, 0x07]))
        #expect(rig.controllerHears() == [Self.watch([0x1D, 0x05, 0x00, 0x07])])
        #expect(rig.hostHears() == [Self.phone([0x1E])])
        #expect(!rig.line.isIdle, "the phone's own confirmation is to come")
        rig.controller(Self.phone([0x1E]))
        #expect(rig.hostHears().isEmpty)
        rig.controller(LineRig.oneCompleted)
        #expect(rig.line.isIdle)
        rig.controller(Self.phone([0x1E]))
        #expect(rig.hostHears() == [LineRig.oneCompleted, Self.phone([0x1E])])
    }

    @Test("Service Changed is told by its size")
    func serviceChanged() throws {
        var rig = LineRig()
        try rig.add("gatt.service-changed-lost")
        rig.host(Self.watch([0x1D, 0x05, 0x00, 0x07]))
        #expect(rig.controllerHears() == [Self.watch([0x1D, 0x05, 0x00, 0x07])])
        rig.host(Self.watch([0x1D, 0x05, 0x00, 0x01, 0x00, 0xFF, 0xFF]))
        #expect(rig.controllerHears().isEmpty)
        #expect(rig.hostHears() == [Self.phone([0x1E]), LineRig.oneCompleted])
    }

    // MARK: The Database Hash

    /// Read By Type Request: the Database Hash, among all handles.
    private static let hashRequest = phone([0x08, 0x01, 0x00, 0xFF, 0xFF, 0x2A, 0x2B])

    @Test("The Database Hash differs in its last octet")
    func wrongHash() throws {
        var rig = LineRig()
        try rig.add("gatt.wrong-hash")
        // The Device Name is not meant.
        rig.controller(Self.phone([0x08, 0x01, 0x00, 0xFF, 0xFF, 0x00, 0x2A]))
        rig.host(Self.watch([0x09, 0x04, 0x03, 0x00, 0x48, 0x69]))
        #expect(rig.controllerHears() == [Self.watch([0x09, 0x04, 0x03, 0x00, 0x48, 0x69])])
        rig.controller(Self.hashRequest)
        rig.host(Self.watch([0x09, 0x06, 0x07, 0x00, 0x10, 0x20, 0x30, 0x40]))
        #expect(rig.controllerHears() == [Self.watch([0x09, 0x06, 0x07, 0x00, 0x10, 0x20, 0x30, 0x41])])
        #expect(rig.firings.map(\.effect) == ["the Database Hash is another one"])
    }

    @Test("A watch without a Database Hash says so all the same")
    func noHash() throws {
        var rig = LineRig()
        try rig.add("gatt.wrong-hash")
        rig.controller(Self.hashRequest)
        // Attribute Not Found.
        rig.host(Self.watch([0x01, 0x08, 0x01, 0x00, 0x0A]))
        #expect(rig.controllerHears() == [Self.watch([0x01, 0x08, 0x01, 0x00, 0x0A])])
        #expect(rig.firings.isEmpty)
    }
}
