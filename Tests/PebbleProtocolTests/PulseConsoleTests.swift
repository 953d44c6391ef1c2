import Testing

@testable import PebbleProtocol

/// The console's conversation with a firmware, packet by packet.
@Suite struct PulseConsoleTests {
    /// A console, and the firmware's side of its port, which the test speaks.
    private struct Rig {
        var console = PulseConsole()
        var now: Duration = .zero
        private var deframer = PulseDeframer()

        /// - Parameter hasSpoken: whether the firmware has said something.
        init(hasSpoken: Bool = true) {
            console.connected(at: now)
            if hasSpoken { console.receive(Array("Boot\r\n".utf8)[...], at: now) }
        }

        /// What the console has sent since.
        mutating func sent() -> [PulseFrame] {
            deframer.receive(console.nextBytes()[...])
            var frames: [PulseFrame] = []
            while let frame = deframer.nextFrame() { frames.append(frame) }
            return frames
        }

        mutating func say(_ number: PulseProtocol, _ packet: [UInt8]) {
            console.receive(PulseFrame(number, packet).bytes[...], at: now)
        }

        mutating func wait(_ time: Duration) {
            now += time
            console.advance(to: now)
        }

        mutating func events() -> [PulseConsole.Event] {
            var events: [PulseConsole.Event] = []
            while let event = console.nextEvent() { events.append(event) }
            return events
        }

        /// Agrees on a link or a transport, as a firmware does that has started.
        mutating func agree(on number: PulseProtocol) throws {
            let request = try #require(sent().last { $0.protocolID == number })
            #expect(request.information.prefix(1) == [1] && request.information.dropFirst(2) == [0, 4])
            say(number, [2, request.information[1], 0, 4])
            say(number, [1, 0x77, 0, 4])
        }

        static func open() throws -> Rig {
            var rig = Rig()
            try rig.agree(on: .linkControl)
            try rig.agree(on: .trainControl)
            #expect(rig.sent() == [PulseFrame(.trainControl, [2, 0x77, 0, 4])])
            #expect(rig.events() == [.opened])
            return rig
        }
    }

    private func datagram(_ number: UInt8, _ acknowledged: UInt8, port: UInt16, _ text: [UInt8]) -> [UInt8] {
        [number << 1, acknowledged << 1 | 1, UInt8(port >> 8), UInt8(port & 0xFF), 0, UInt8(text.count + 6)] + text
    }

    private func answer(_ kind: UInt8, _ text: String = "") -> [UInt8] {
        [kind] + [UInt8](repeating: 0, count: 8) + Array(text.utf8)
    }

    @Test func commandsAreGivenOneAfterTheOther() throws {
        var rig = try Rig.open()
        rig.console.run(["bt airplane mode enter", "bt airplane mode exit"], at: rig.now)
        let first = Array("bt airplane mode enter".utf8)
        #expect(rig.sent() == [PulseFrame(.trainCommand, datagram(0, 0, port: 0x3E20, first))])
        rig.say(.trainResponse, [1, 1 << 1 | 1])
        rig.say(.trainCommand, datagram(0, 1, port: 0x3E20, answer(102, "Entered\u{1B}[m")))
        #expect(rig.sent() == [PulseFrame(.trainResponse, [1, 1 << 1 | 1])])
        #expect(rig.events() == [.output("Entered[m")])
        rig.say(.trainCommand, datagram(1, 1, port: 0x3E20, answer(101)))
        let second = Array("bt airplane mode exit".utf8)
        #expect(Set(rig.sent().map(\.information)) == [datagram(1, 2, port: 0x3E20, second), [1, 2 << 1 | 1]])
        rig.say(.trainResponse, [1, 2 << 1 | 1])
        rig.say(.trainCommand, datagram(2, 2, port: 0x3E20, answer(101)))
        #expect(rig.events() == [.finished(isDone: true)])
        rig.wait(.seconds(60))
        #expect(rig.events().isEmpty)
    }

    @Test func aDatagramIsSentAgainUntilItIsAcknowledged() throws {
        var rig = try Rig.open()
        rig.console.run(["reset"], at: rig.now)
        let first = rig.sent()
        for _ in 0..<3 {
            rig.wait(PulseTransport.retransmissionInterval)
            #expect(rig.sent() == first)
        }
        rig.say(.trainResponse, [1, 1 << 1])
        rig.wait(PulseTransport.retransmissionInterval)
        #expect(rig.sent().isEmpty)
        // The answer comes twice, when its acknowledgement was lost, and counts once.
        rig.say(.trainCommand, datagram(0, 1, port: 0x3E20, answer(102, "once")))
        rig.say(.trainCommand, datagram(0, 1, port: 0x3E20, answer(102, "once")))
        #expect(rig.events() == [.output("once")])
        #expect(rig.sent().count == 2)
    }

    @Test func aFirmwareThatAcknowledgesNothingLosesTheTransport() throws {
        var rig = try Rig.open()
        rig.console.run(["reset"], at: rig.now)
        for _ in 0..<PulseTransport.attempts { rig.wait(PulseTransport.retransmissionInterval) }
        #expect(rig.events() == [.finished(isDone: false), .closed(hasRestarted: false)])
        try rig.agree(on: .trainControl)
        #expect(rig.events() == [.opened])
    }

    @Test func aCommandWithoutAnEndIsGivenUp() throws {
        var rig = try Rig.open()
        rig.console.run(["bt airplane mode enter", "bt airplane mode exit"], at: rig.now)
        rig.say(.trainResponse, [1, 1 << 1 | 1])
        rig.wait(PulseConsole.patience)
        #expect(rig.events() == [.finished(isDone: false)])
        #expect(rig.console.isOpen)
    }

    @Test func newCommandsEndTheOldOnes() throws {
        var rig = try Rig.open()
        rig.console.run(["reset"], at: rig.now)
        rig.console.run(["bt airplane mode enter"], at: rig.now)
        #expect(rig.events() == [.finished(isDone: false)])
    }

    /// What is below says once more that it is there: a link that is open stays so.
    @Test func aLayerThatIsUpTwiceIsUpOnce() {
        var control = PulseControlProtocol(.linkControl)
        control.lowerLayerUp(at: .zero)
        #expect(control.nextDeadline == .milliseconds(500))
        #expect(control.takeOutgoing().count == 1)
        control.lowerLayerUp(at: .milliseconds(1))
        #expect(control.takeOutgoing().isEmpty)
    }

    @Test func withoutALinkNoCommandIsGiven() {
        var rig = Rig()
        rig.console.run(["reset"], at: rig.now)
        #expect(rig.events() == [.finished(isDone: false)])
    }

    /// It says Terminate-Ack before anything else.
    @Test func aFirmwareThatStartsAgainIsNoticed() throws {
        var rig = try Rig.open()
        rig.say(.linkControl, [6, 255, 0, 4])
        #expect(rig.events() == [.closed(hasRestarted: true)])
        try rig.agree(on: .linkControl)
        try rig.agree(on: .trainControl)
        #expect(rig.events() == [.opened])
        // One that takes its leave has not started.
        rig.say(.linkControl, [5, 1, 0, 4])
        #expect(rig.events() == [.closed(hasRestarted: false)])
        #expect(rig.sent().contains(PulseFrame(.linkControl, [6, 1, 0, 4])))
    }

    @Test func theFirmwareSpeaksFirst() throws {
        var rig = Rig(hasSpoken: false)
        rig.wait(PulseConsole.startPatience - .milliseconds(1))
        #expect(rig.sent().isEmpty)
        rig.wait(.milliseconds(1))
        #expect(rig.sent().count == 1, "one that says nothing is asked in the end")
        rig = Rig(hasSpoken: false)
        #expect(rig.sent().isEmpty)
        // It says Terminate-Ack when it starts.
        rig.say(.linkControl, [6, 255, 0, 4])
        try rig.agree(on: .linkControl)
        try rig.agree(on: .trainControl)
        #expect(rig.events() == [.opened])
    }

    @Test func aFirmwareThatStartsLaterIsAskedAgain() throws {
        var rig = Rig()
        for _ in 0..<100 {
            #expect(rig.sent().map { $0.information.first } == [1])
            rig.wait(PulseControlProtocol.restartInterval)
        }
        try rig.agree(on: .linkControl)
        try rig.agree(on: .trainControl)
        #expect(rig.events() == [.opened])
    }

    @Test func optionsAndProtocolsThatAreNotKnownAreRejected() throws {
        var rig = Rig()
        _ = rig.sent()
        rig.say(.linkControl, [1, 9, 0, 8, 1, 4, 5, 0xDC])
        #expect(rig.sent() == [PulseFrame(.linkControl, [4, 9, 0, 8, 1, 4, 5, 0xDC])])
        rig.wait(PulseControlProtocol.restartInterval)
        try rig.agree(on: .linkControl)
        _ = rig.sent()
        rig.say(PulseProtocol(rawValue: 0xBA29), [1, 1, 0, 4])
        #expect(rig.sent().last?.information.first == 8)
        rig.say(.linkControl, [9, 3, 0, 6, 0xAB, 0xCD])
        #expect(rig.sent() == [PulseFrame(.linkControl, [10, 3, 0, 6, 0xAB, 0xCD])])
        rig.say(.linkControl, [99, 3, 0, 4])
        #expect(rig.sent().last?.information.first == 7)
    }

    /// Two rejections have numbers of their own.
    @Test func rejectionsAreNumbered() {
        var rig = Rig()
        _ = rig.sent()
        rig.say(.linkControl, [99, 3, 0, 4])
        rig.say(.linkControl, [98, 3, 0, 4])
        #expect(rig.sent().map { $0.information.prefix(2) } == [[7, 1], [7, 2]])
    }

    /// A firmware whose first request was fine asks again for what is not: nothing is agreed until a request is fine.
    @Test func anAgreementIsTakenBack() throws {
        var rig = Rig()
        let request = try #require(rig.sent().last)
        rig.say(.linkControl, [1, 9, 0, 4])
        rig.say(.linkControl, [1, 10, 0, 8, 1, 4, 5, 0xDC])
        #expect(rig.sent().map { $0.information.first } == [2, 4])
        rig.say(.linkControl, [2, request.information[1], 0, 4])
        #expect(!rig.sent().contains { $0.protocolID == .trainControl })
        rig.say(.linkControl, [1, 11, 0, 4])
        #expect(rig.sent().contains { $0.protocolID == .trainControl })
    }

    /// What is longer than a frame may be, and what is one too many for the queue, is not sent.
    @Test func commandsThatDoNotFitAreNotSent() throws {
        var rig = try Rig.open()
        rig.console.run([String(repeating: "x", count: PulseTransport.longest + 1)], at: rig.now)
        #expect(rig.sent().isEmpty)
        var transport = PulseTransport()
        let datagram = PulseTransport.Datagram(port: PulseTransport.promptPort, information: [1])
        for _ in 0..<20 { transport.send(datagram, at: .zero) }
        var sent = 0
        for number in 1...20 {
            sent += transport.takeOutgoing().count
            transport.receive(response: [1, UInt8(number) << 1], at: .zero)
        }
        #expect(sent == 16)
    }

    /// An acknowledgement that comes as a command is no datagram, whatever follows it.
    @Test func anAcknowledgementIsNoDatagram() throws {
        var rig = try Rig.open()
        rig.console.run(["reset"], at: rig.now)
        _ = rig.sent()
        rig.say(.trainCommand, [1, 1 << 1 | 1, 0x3E, 0x20, 0, 15] + answer(102))
        #expect(rig.events().isEmpty)
        #expect(rig.sent() == [PulseFrame(.trainResponse, [1, 1])])
        rig.wait(PulseTransport.retransmissionInterval)
        #expect(rig.sent().isEmpty, "the datagram was acknowledged")
    }

    /// An answer is final only to what asks for one.
    @Test func aDatagramThatDoesNotPollIsAcknowledgedAllTheSame() throws {
        var rig = try Rig.open()
        var packet = datagram(0, 0, port: 0x3E20, answer(102, "hi"))
        packet[1] &= ~1
        rig.say(.trainCommand, packet)
        #expect(rig.sent() == [PulseFrame(.trainResponse, [1, 1 << 1])])
    }

    @Test func aPortThatIsNotOpenIsSaidToBeClosed() throws {
        var rig = try Rig.open()
        rig.say(.trainCommand, datagram(0, 0, port: 0x1234, [1]))
        #expect(rig.sent().contains(PulseFrame(.trainCommand, datagram(0, 1, port: 1, [129, 0x12, 0x34]))))
    }

    // MARK: The log

    private func pushed(_ line: [UInt8], length: Int? = nil) -> [UInt8] {
        let length = length ?? line.count + 4
        return [0, 3, UInt8(length >> 8), UInt8(length & 0xFF)] + line
    }

    private func line(_ source: String, level: String, _ text: String) -> [UInt8] {
        let name = Array(source.utf8)
        return [1] + name + [UInt8](repeating: 0, count: 16 - name.count) + Array(level.utf8) + Array("K".utf8)
            + [UInt8](repeating: 0, count: 8) + [0x2C, 0x01] + Array(text.utf8)
    }

    @Test func theLogNeedsNoLink() throws {
        var rig = Rig()
        rig.say(.push, pushed(line("comm/session.c", level: "W", "half a\r\nmessage")))
        guard case .log(let log)? = rig.events().first else {
            Issue.record("no line of the log")
            return
        }
        #expect(log.source == "comm/session.c" && log.line == 300 && log.level == .warning && log.task == "K")
        #expect(log.text == "half amessage")
    }

    @Test func linesThatAreCutAreNoLines() {
        var rig = Rig()
        let whole = line("a.c", level: "I", "text")
        rig.say(.push, pushed(whole, length: 400))
        rig.say(.push, pushed(whole, length: 0))
        rig.say(.push, pushed(Array(whole.prefix(20))))
        rig.say(.push, [0])
        #expect(rig.events().isEmpty)
    }
}
