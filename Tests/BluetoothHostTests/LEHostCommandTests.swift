import BluetoothHCI
import BluetoothHost
import ByteCoding
import Testing

@Suite("LE host: command credits")
struct LEHostCommandTests {
    static let handles: [String] = ["4000", "4100", "4200", "4300"]

    /// A host with four connections, so that there is something to send commands about.
    func makeRig() throws -> HostRig {
        var rig = try HostRig.ready()
        for handle in Self.handles { rig.connect(handle) }
        return rig
    }

    func readAll(_ rig: inout HostRig) {
        for handle: ConnectionHandle in [0x40, 0x41, 0x42, 0x43] { rig.host.readRSSI(handle, at: rig.now) }
    }

    @Test("With one credit, one command is unanswered at a time")
    func one() throws {
        var rig = try makeRig()
        readAll(&rig)
        for handle in Self.handles {
            #expect(rig.sent() == ["01051402" + handle])
            #expect(rig.sent().isEmpty)
            rig.give(HostRig.commandComplete("0514", "00" + handle + "c4"))
        }
        #expect(rig.sent().isEmpty)
        #expect(rig.events().descriptions.count == 4)
    }

    @Test("With several credits, as many go out at once; the unanswered ones count")
    func several() throws {
        var rig = try makeRig()
        rig.give(HostRig.event("0e", "03 0000"))
        readAll(&rig)
        #expect(rig.sent() == Self.handles.prefix(3).map { "01051402" + $0 })
        // Two are still unanswered, and the controller takes three in all.
        rig.give(HostRig.commandComplete("0514", "00 4000 c4", credits: "03"))
        #expect(rig.sent() == ["010514024300"])
        rig.give(HostRig.commandComplete("0514", "00 4100 c4", credits: "01"))
        #expect(rig.sent().isEmpty)
    }

    @Test("Without credits nothing goes out until an event brings some, and a controller that sends none is reset")
    func none() throws {
        var rig = try makeRig()
        rig.host.readRSSI(0x40, at: rig.now)
        _ = rig.sent()
        rig.give(HostRig.commandComplete("0514", "00 4000 c4", credits: "00"))
        rig.host.readRSSI(0x41, at: rig.now)
        #expect(rig.sent().isEmpty)
        rig.advance(by: .seconds(1))
        rig.give(HostRig.commandStatus("00", "0000"))
        #expect(rig.sent() == ["010514024100"])
        rig.give(HostRig.commandComplete("0514", "00 4100 c4", credits: "00"))
        rig.host.readRSSI(0x42, at: rig.now)
        #expect(rig.sent().isEmpty)
        #expect(rig.host.nextDeadline == rig.now + .seconds(2))
        rig.advance(by: .seconds(2))
        #expect(rig.sent() == [compact("01 030c 00")])
    }

    @Test("A timeout names the oldest command without an answer")
    func timeout() throws {
        var rig = try makeRig()
        rig.host.readRSSI(0x40, at: rig.now)
        _ = rig.sent()
        rig.advance(by: .milliseconds(1900))
        rig.give(HostRig.commandComplete("0514", "00 4000 c4"))
        rig.host.readRSSI(0x41, at: rig.now)
        _ = rig.sent()
        rig.advance(by: .milliseconds(1900))
        #expect(rig.host.isReady)
        _ = rig.events()
        rig.advance(by: .milliseconds(100))
        #expect(!rig.host.isReady)
        let isNamed = rig.events().contains {
            if case .restarting(.commandTimeout(ReadRSSI.opcode)) = $0 { true } else { false }
        }
        #expect(isNamed)
    }

    @Test("No more than 128 commands wait; more are refused with an error in the log")
    func limit() throws {
        var rig = try makeRig()
        _ = rig.events()
        for _ in 0..<130 { rig.host.readRSSI(0x40, at: rig.now) }
        #expect(rig.events().diagnostics.count == 2)
        #expect(rig.answerCommands().count == 128)
    }

    @Test("An answer without a status is dropped, with a warning")
    func noStatus() throws {
        var rig = try makeRig()
        rig.host.readRSSI(0x40, at: rig.now)
        _ = rig.sent()
        rig.give(HostRig.commandComplete("0514", ""))
        #expect(rig.host.counters.malformedPackets == 1)
        #expect(rig.events().diagnostics == ["the answer to ReadRSSI has no status"])
    }

    @Test("The first event of each unknown kind is reported, the others are counted")
    func unknownEvents() throws {
        var rig = try makeRig()
        _ = rig.events()
        for packet in ["04ff0401000000", "04ff0402000000", "043e02aa01", "043e02ab01", "043e02aa02", "04fe00"] {
            rig.give(packet)
        }
        let lines = rig.events().compactMap { event in
            if case .notice(let notice) = event { notice.description } else { nil }
        }
        #expect(
            lines == [
                "event 0xff is not known, and not told of again: 01000000",
                "LE event 0xaa is not known, and not told of again: 01",
                "LE event 0xab is not known, and not told of again: 01",
                "event 0xfe is not known, and not told of again: ",
            ]
        )
        #expect(rig.host.counters.unknownEvents == 2)
    }
}
