import PebbleProtocol
import Testing

/// One test for each row of the table of timers and counters.
@Suite("PPoGATT timers and counters")
struct PPoGATTTimerTests {
    @Test("A time-out armed by traffic ends at the third tick: 4 to 6 s later")
    func armedByTraffic() {
        let tick = Duration.seconds(1000)
        let cases: [(offset: Duration, expected: Duration)] = [
            (.zero, .seconds(6)), (.nanoseconds(1), .seconds(6) - .nanoseconds(1)), (.seconds(1), .seconds(5)),
            (.milliseconds(1999), .milliseconds(4001)), (.seconds(2), .seconds(6)),
        ]
        for (offset, expected) in cases {
            var link = PPoGATTLink(.watch(.reversedV1, serialNumber: ""), attMTU: 256)
            link.start(at: tick + offset)
            #expect(link.nextDeadline == tick + offset + expected)
        }
    }

    @Test("A time-out armed by the timer itself lasts 6 s, and is exact")
    func armedByTimer() throws {
        var watch = LinkHarness.subscribedWatch()
        let first = try #require(watch.link.nextDeadline)
        #expect(first - watch.now == .milliseconds(5500))
        watch.run(for: first - watch.now)
        #expect(watch.link.nextDeadline == first + .seconds(6))
    }

    @Test("The same grid holds for data")
    func dataTimeout() {
        var watch = LinkHarness.openWatch()
        watch.run(for: .milliseconds(1200))
        watch.send([1])
        #expect(watch.link.nextDeadline == .seconds(1006))
        // The second packet does not put it off.
        watch.run(for: .seconds(1))
        watch.send([2])
        #expect(watch.link.nextDeadline == .seconds(1006))
    }

    @Test("A time-out counts from when the packet was taken, not from when it could have been")
    func timeoutCountsFromSending() {
        var link = LinkHarness.openWatch().link
        _ = link.send([1])
        #expect(link.nextDeadline == nil)
        var packet: [UInt8] = []
        #expect(link.nextPacket(into: &packet, at: .seconds(1100)))
        #expect(link.nextDeadline == .seconds(1106))
    }

    @Test("The first data time-out sends again, the second resets")
    func dataTimeoutLimit() {
        var watch = LinkHarness.openWatch()
        watch.send([1])
        #expect(watch.takeSent() == ["0001"])
        watch.run(for: .seconds(6))
        #expect(watch.takeSent() == ["0001"])
        #expect(watch.takeEvents() == [])
        watch.run(for: .seconds(6))
        #expect(watch.takeSent() == [watchResetRequest])
        #expect(watch.takeEvents() == [.closed(.acknowledgementTimeout)])
        #expect(watch.link.statistics.acknowledgementTimeouts == 2)
        #expect(watch.link.statistics.retransmittedPackets == 1)
    }

    @Test("Time-outs count only in a row")
    func progressForgetsTimeouts() {
        var watch = LinkHarness.openWatch()
        for number in 0..<5 {
            watch.send([UInt8(number)])
            watch.run(for: .seconds(6))
            #expect(watch.takeSent().count == 2)
            watch.receive(["01", "09", "11", "19", "21"][number])
        }
        #expect(watch.takeEvents() == [])
    }

    @Test("At most four Reset Requests; the fifth start disconnects, 22 to 24 s after the first")
    func resetLimit() {
        var watch = LinkHarness.subscribedWatch()
        _ = watch.takeEvents()
        let start = watch.now
        watch.run(for: .milliseconds(23_499))
        #expect(watch.takeSent() == [String](repeating: watchResetRequest, count: 4))
        #expect(watch.takeEvents() == [])
        watch.run(for: .milliseconds(1))
        #expect(watch.takeEvents() == [.disconnectRequested(.resetTimeout)])
        #expect(watch.now - start == .milliseconds(23_500))
        #expect(watch.link.state == .ended)
        #expect(watch.link.disconnectHistory.count == 1)
        watch.receive("031919")
        #expect(watch.link.state == .ended)
    }

    @Test("The original firmware asks nine times")
    func originalResetLimit() {
        var watch = LinkHarness.subscribedWatch(rules: .originalFirmware)
        _ = watch.takeEvents()
        watch.run(for: .seconds(100))
        #expect(watch.takeSent().count == 9)
        #expect(watch.takeEvents() == [.disconnectRequested(.resetTimeout)])
    }

    @Test("A reset that comes from an open session counts as the first")
    func resetLimitFromOpenSession() {
        var watch = LinkHarness.openWatch()
        watch.receive("81")
        watch.run(for: .seconds(60))
        #expect(watch.takeSent() == [String](repeating: watchResetRequest, count: 4))
        #expect(watch.takeEvents() == [.closed(.acknowledgementOutOfRange), .disconnectRequested(.resetTimeout)])
    }

    @Test("Reset Complete forgets the Reset Requests")
    func resetCompleteForgetsRequests() {
        var watch = LinkHarness.subscribedWatch()
        for _ in 0..<3 {
            watch.run(for: .seconds(18))
            #expect(watch.takeSent().count == 4)
            watch.receive("031919")
            #expect(watch.link.state == .open)
            #expect(watch.takeSent() == ["031104"])
            watch.step { $0.reset(at: $1) }
        }
    }

    @Test("After two disconnections in a row the third attempt stalls; the history is passed from link to link")
    func disconnectBudget() {
        var history = PPoGATTDisconnectHistory()
        for expected in [
            PPoGATTEvent.disconnectRequested(.resetTimeout), .disconnectRequested(.resetTimeout), .stalled,
        ] {
            var watch = LinkHarness.subscribedWatch()
            watch.link.disconnectHistory = history
            watch.run(for: .seconds(60))
            #expect(watch.takeEvents().last == expected)
            history = watch.link.disconnectHistory
        }
        #expect(history.count == 2)
        // A link that the other side lost makes it forget; so does a completed reset (see "Stalled").
        history.linkLostByOtherSide()
        #expect(history.count == 0)
        #expect(
            PPoGATTLink(.watch(.forward, serialNumber: ""), attMTU: 23, disconnectHistory: history).disconnectHistory
                == history
        )
    }

    @Test("A stalled link stays stalled after a call of its owner, and after a reset of the phone without an answer")
    func stalledAgain() {
        var watch = LinkHarness.subscribedWatch()
        watch.link.disconnectHistory = PPoGATTDisconnectHistory(count: 2)
        watch.run(for: .seconds(60))
        _ = watch.takeEvents()
        _ = watch.takeSent()
        watch.step { $0.reset(at: $1) }
        #expect(watch.takeSent() == [] && watch.takeEvents() == [])
        watch.receive("0201")
        #expect(watch.takeSent() == ["031104"])
        watch.run(for: .seconds(60))
        #expect(watch.takeEvents() == [.stalled])
        #expect(watch.takeSent() == [])
    }

    @Test("A held-back Ack leaves 200 ms after the first packet that it is for")
    func delayedAcknowledgement() {
        var watch = LinkHarness.openWatch()
        let start = watch.now
        watch.receive("00aa")
        watch.run(for: .milliseconds(150))
        watch.receive("08bb")
        #expect(watch.link.nextDeadline == start + .milliseconds(200))
        watch.run(for: .milliseconds(49))
        #expect(watch.takeSent() == [])
        watch.run(for: .milliseconds(1))
        #expect(watch.takeSent() == ["09"])
        #expect(watch.link.nextDeadline == nil)
        // The next packet starts the next delay.
        watch.receive("10cc")
        #expect(watch.link.nextDeadline == start + .milliseconds(400))
    }

    @Test("An Ack leaves at once when half the window is filled: 8 of 17, 6 of 13, 2 of 4, 1 of 3")
    func coalescing() {
        for (resetComplete, threshold) in [("031919", 8), ("03190d", 6), ("0319", 2), ("031903", 1), ("031901", 1)] {
            var watch = LinkHarness.openWatch(resetComplete: resetComplete)
            for number in 0..<(threshold * 3) {
                watch.step { $0.receive([UInt8(number % 32) << 3, 0xAA], at: $1) }
                let isDue = (number + 1) % threshold == 0
                #expect(watch.takeSent().count == (isDue ? 1 : 0), "\(resetComplete), packet \(number)")
            }
        }
    }

    @Test("Each packet that is sent while an Ack is held back brings the Ack nearer; data may precede it")
    func acknowledgementAmongData() {
        var watch = LinkHarness.openWatch()
        watch.receive("00aa", "08aa", "10aa")
        #expect(watch.takeSent() == [])
        // The count is 3; asking to send makes it 4, and each of four packets one more.
        watch.send([UInt8](repeating: 1, count: 252 * 6))
        #expect(watch.takeSent().map { $0.prefix(2) } == ["00", "08", "10", "18", "11"])
    }

    @Test("An Ack that makes room for data brings the held-back Ack nearer too")
    func acknowledgementAfterAcknowledgement() {
        var watch = LinkHarness.openWatch()
        watch.receive("00aa", "08aa", "10aa")
        // Asking to send and the packet itself make it 5, the phone's Ack 6, two more packets 8.
        watch.send([1])
        watch.receive("01", "18aa")
        #expect(watch.takeSent() == ["0001"])
        watch.receive("20aa")
        #expect(watch.takeSent() == ["21"])
    }

    @Test("Version 0 acknowledges each packet at once")
    func version0Acknowledges() {
        var watch = LinkHarness.openWatch(meta: hex("0000 00000000000000000000000000000000"), resetComplete: "03")
        watch.receive("00aa", "08bb")
        #expect(watch.takeSent() == ["01", "09"])
        #expect(watch.link.nextDeadline == nil)
    }

    @Test("A process that was suspended through several time-outs counts one")
    func lateAdvance() {
        var watch = LinkHarness.openWatch()
        watch.send([1])
        _ = watch.takeSent()
        watch.now += .seconds(100)
        watch.step { $0.advance(to: $1) }
        #expect(watch.takeSent() == ["0001"])
        #expect(watch.takeEvents() == [])
        #expect(watch.link.nextDeadline == .seconds(1106))
    }

    @Test("Advancing to before the deadline does nothing")
    func earlyAdvance() throws {
        var watch = LinkHarness.subscribedWatch()
        _ = watch.takeSent()
        let deadline = try #require(watch.link.nextDeadline)
        watch.step { link, _ in link.advance(to: deadline - .nanoseconds(1)) }
        #expect(watch.takeSent() == [])
        #expect(watch.link.nextDeadline == deadline)
    }
}

extension PPoGATTDisconnectHistory {
    /// A history of so many disconnections, made the way a watch makes it.
    init(count: Int) {
        self.init()
        for _ in 0..<count {
            var watch = LinkHarness.subscribedWatch()
            watch.link.disconnectHistory = self
            watch.run(for: .seconds(60))
            self = watch.link.disconnectHistory
        }
    }
}
