import PebbleProtocol
import Testing

/// One test for each row of the tables of packets, windows and data rules.
@Suite("PPoGATT data")
struct PPoGATTDataTests {
    @Test("In-order Data is delivered and acknowledged; several pieces and empty ones")
    func inOrder() {
        var watch = LinkHarness.openWatch()
        watch.receive("00aabb", "08", "10cc")
        #expect(watch.takeEvents() == [.received([0xAA, 0xBB]), .received([0xCC])])
        watch.run(for: .milliseconds(200))
        #expect(watch.takeSent() == ["11"])
        #expect(watch.link.statistics.receivedBytes == 3)
    }

    @Test("Out-of-order and duplicate Data is dropped without an answer")
    func outOfOrder() {
        var watch = LinkHarness.openWatch()
        watch.receive("08bb")
        watch.receive("00aa")
        watch.run(for: .milliseconds(200))
        #expect(watch.takeSent() == ["01"])
        watch.receive("00aa", "10cc", "f8dd")
        watch.run(for: .seconds(2))
        #expect(watch.takeSent() == [])
        #expect(watch.takeEvents() == [.received([0xAA])])
        #expect(watch.link.statistics.outOfOrderPackets == 2)
        #expect(watch.link.statistics.duplicatePackets == 2)
    }

    @Test("A phone repeats its last Ack instead, once it has one")
    func phoneRepeatsAcknowledgement() {
        var phone = LinkHarness(.phone(.forward), attMTU: 256)
        phone.step { $0.start(at: $1) }
        phone.receive(watchResetRequest, "031104")
        _ = phone.takeSent()
        phone.receive("08bb")
        #expect(phone.takeSent() == [])
        phone.receive("00aa", "00aa", "10cc")
        #expect(phone.takeSent() == ["01", "01", "01"])
    }

    @Test("An Ack slides the window, and is cumulative")
    func cumulativeAcknowledgement() {
        var watch = LinkHarness.openWatch(attMTU: 23)
        // MTU 23 would allow 31 packets; the phone takes 25.
        watch.send([UInt8](0..<57))
        #expect(watch.takeSent().count == 3)
        watch.receive("09")
        #expect(watch.link.statistics.acknowledgedBytes == 38)
        #expect(watch.link.nextDeadline != nil)
        watch.receive("11")
        #expect(watch.link.statistics.acknowledgedBytes == 57)
        #expect(watch.link.nextDeadline == nil)
    }

    @Test("An Ack with more packets outstanding restarts the time-out")
    func acknowledgementRearms() {
        var watch = LinkHarness.openWatch()
        watch.send([UInt8](repeating: 0, count: 300))
        #expect(watch.link.nextDeadline == .seconds(1006))
        watch.run(for: .seconds(3))
        watch.receive("01")
        #expect(watch.link.nextDeadline == .seconds(1008))
    }

    @Test("A repeated Ack is ignored: no packet is sent again before the time-out")
    func duplicateAcknowledgement() {
        var watch = LinkHarness.openWatch()
        watch.receive("f9")
        watch.send([1])
        watch.receive("f9")
        #expect(watch.takeSent() == ["0001"])
        watch.receive("01", "01")
        #expect(watch.takeSent() == [] && watch.takeEvents() == [])
        #expect(watch.link.statistics.duplicateAcknowledgements == 3)
    }

    @Test("An Ack of a packet that was never sent makes the watch reset", arguments: ["81", "01", "09", "f1"])
    func acknowledgementOutOfRange(packet: String) {
        var watch = LinkHarness.openWatch()
        watch.receive(packet)
        #expect(watch.takeEvents() == [.closed(.acknowledgementOutOfRange)])
        #expect(watch.takeSent() == [watchResetRequest])
        #expect(watch.link.statistics.unknownAcknowledgements == 1)
    }

    @Test("A rule to disconnect instead of resetting within a session")
    func disconnectInsteadOfReset() {
        var rules = PPoGATTRules.pebbleOS
        rules.brokenSession = .disconnect
        var watch = LinkHarness.openWatch(rules: rules)
        watch.receive("81")
        #expect(
            watch.takeEvents() == [
                .closed(.acknowledgementOutOfRange), .disconnectRequested(.acknowledgementOutOfRange),
            ]
        )
        #expect(watch.takeSent() == [])
        #expect(watch.link.disconnectHistory.count == 1)
    }

    @Test("A phone ignores an Ack of a packet that was never sent")
    func phoneIgnoresUnknownAcknowledgement() {
        var phone = LinkHarness(.phone(.reversedV2), attMTU: 256)
        phone.step { $0.start(at: $1) }
        phone.receive("031104", "81")
        #expect(phone.link.state == .open)
        #expect(phone.link.statistics.unknownAcknowledgements == 1)
    }

    @Test("Go-back-N: the same sequence numbers and the same payloads, even if each packet could hold more")
    func sameFragmentation() {
        var watch = LinkHarness.openWatch(attMTU: 27)
        watch.send([1])
        watch.send([2, 3])
        watch.send([UInt8](repeating: 9, count: 30))
        let first = watch.takeSent()
        #expect(
            first == [
                "0001", "080203", "10" + String(repeating: "09", count: 23), "18" + String(repeating: "09", count: 7),
            ]
        )
        watch.step { link, _ in link.attMTU = 256 }
        watch.send([7])
        watch.run(for: .seconds(6))
        #expect(watch.takeSent() == first)
        watch.receive("19")
        #expect(watch.takeSent() == ["2007"])
    }

    @Test("Go-back-N starts at the oldest packet that is not acknowledged")
    func rollBackFromOldest() {
        var watch = LinkHarness.openWatch()
        for byte in 1...4 as ClosedRange<UInt8> { watch.send([byte]) }
        watch.receive("09")
        _ = watch.takeSent()
        watch.run(for: .seconds(6))
        #expect(watch.takeSent() == ["1003", "1804"])
    }

    @Test("An Ack that a roll-back overtook is accepted; what it acknowledges is not sent again")
    func lateAcknowledgement() throws {
        var link = LinkHarness.openWatch().link
        var packet: [UInt8] = []
        func next() -> String {
            link.nextPacket(into: &packet, at: .seconds(1010)) ? packet.hexadecimal : "nothing"
        }
        for byte in 1...4 as ClosedRange<UInt8> {
            _ = link.send([byte])
            _ = next()
        }
        link.advance(to: try #require(link.nextDeadline))
        #expect(next() == "0001")
        // Of 0, 1 and 2, of which only 0 was sent again.
        link.receive([0x11], at: .seconds(1010))
        #expect(link.state == .open)
        #expect(next() == "1804")
        // Of 3, before it is taken.
        link.receive([0x19], at: .seconds(1010))
        #expect(next() == "nothing")
        #expect(link.statistics.retransmittedPackets == 2)
        #expect(link.statistics.acknowledgedBytes == 4)
        _ = link.send([5])
        #expect(next() == "2005")
    }

    @Test("A reset goes first, then an Ack that is due, then data")
    func priority() {
        var link = LinkHarness.openWatch().link
        var packet: [UInt8] = []
        var sent: [String] = []
        _ = link.send([1])
        for number in 0..<8 as Range<UInt8> { link.receive([number << 3, 0xAA], at: .seconds(1000)) }
        while link.nextPacket(into: &packet, at: .seconds(1000)) { sent.append(packet.hexadecimal) }
        #expect(sent == ["39", "0001"])
        link.receive([0x02, 0x01], at: .seconds(1000))
        link.receive([0x03, 25, 25], at: .seconds(1000))
        _ = link.send([2])
        sent = []
        while link.nextPacket(into: &packet, at: .seconds(1000)) { sent.append(packet.hexadecimal) }
        #expect(sent == ["031104", "0002"])
    }

    @Test("Four packets are on their way at most; tiny MTUs may have 31, as far as the phone takes them")
    func transmitWindow() {
        for (mtu, resetComplete, window) in [
            (256, "031919", 4), (27, "031919", 4), (26, "031919", 25), (23, "031f1f", 31), (23, "03ffff", 31),
            (256, "030219", 2), (256, "03", 4), (256, "0319", 4), (256, "030019", 1),
        ] {
            var watch = LinkHarness.openWatch(attMTU: mtu, resetComplete: resetComplete)
            watch.send([UInt8](repeating: 0, count: 253 * 40))
            #expect(watch.takeSent().count == window, "MTU \(mtu), \(resetComplete)")
        }
    }

    @Test("The offer follows from the largest MTU that the watch ever agrees to, and from the one in force")
    func offeredWindows() {
        for (maximumMTU, mtu, expected) in [
            (256, 256, "031104"), (256, 23, "03111f"), (256, 26, "03111f"), (256, 27, "031104"), (339, 339, "030d04"),
            (158, 158, "031d04"), (23, 23, "031f1f"), (4600, 256, "030004"),
        ] {
            var watch = LinkHarness(
                .watch(.reversedV2, serialNumber: "", maximumATTMTU: maximumMTU),
                attMTU: mtu
            )
            watch.step { $0.start(at: $1) }
            watch.receive("0201")
            #expect(watch.takeSent() == [expected])
        }
    }

    @Test("The window in force is the smaller of both; a Reset Complete without windows means 4 and 4")
    func agreedWindows() {
        for (resetComplete, transmit, receive) in [
            ("031919", 4, 17), ("031314", 4, 17), ("030203", 2, 3), ("03", 4, 4), ("0319", 4, 4), ("03191900", 4, 17),
        ] {
            var watch = LinkHarness.subscribedWatch()
            _ = watch.takeEvents()
            watch.receive(resetComplete)
            var session = agreedSession
            session.transmitWindow = transmit
            session.receiveWindow = receive
            #expect(watch.takeEvents() == [.opened(session)])
        }
    }

    @Test("Version 0: Reset Complete without windows, four packets each way")
    func version0() {
        var watch = LinkHarness.subscribedWatch(meta: hex("0000 00000000000000000000000000000000"))
        #expect(watch.takeSent() == ["0200324451303133354233343234"])
        _ = watch.takeEvents()
        watch.receive("031919")
        #expect(watch.takeSent() == ["03"])
        #expect(
            watch.takeEvents() == [
                .opened(
                    PPoGATTSession(
                        version: .v0,
                        transmitWindow: 4,
                        receiveWindow: 4,
                        destination: PPoGATTDestination(kind: .system, application: .system)
                    )
                )
            ]
        )
    }

    @Test("A payload is the MTU less four bytes, looked up for every packet", arguments: [23, 27, 158, 256, 515])
    func payloadLength(mtu: Int) {
        var watch = LinkHarness.openWatch(attMTU: 100)
        watch.step { link, _ in link.attMTU = mtu }
        watch.send([UInt8](repeating: 0, count: 600))
        #expect(watch.takeSent().first?.count == (mtu - 3) * 2)
    }

    @Test("A packet is never longer than an attribute's value can be", arguments: [515, 516, 517, 1024])
    func longestPacket(mtu: Int) {
        var watch = LinkHarness.openWatch(attMTU: 100)
        watch.step { link, _ in link.attMTU = mtu }
        watch.send([UInt8](repeating: 0, count: 600))
        #expect(watch.takeSent().first?.count == 512 * 2)
    }

    @Test("A packet cut for a larger MTU waits, and its time-outs run")
    func smallerMTU() {
        var watch = LinkHarness.openWatch()
        watch.send([UInt8](repeating: 0, count: 200))
        #expect(watch.takeSent().count == 1)
        watch.step { link, _ in link.attMTU = 10 }
        #expect(watch.link.attMTU == 23)
        watch.run(for: .seconds(6))
        #expect(watch.takeSent() == [])
        watch.run(for: .seconds(6))
        #expect(watch.takeSent() == [watchResetRequest])
    }

    @Test("Sequence numbers wrap, both ways")
    func wrap() {
        var watch = LinkHarness.openWatch()
        for number in 0..<100 {
            let header = UInt8(number % 32) << 3
            watch.send([UInt8(number)])
            watch.step { $0.receive([header | 1], at: $1) }
            watch.step { $0.receive([header, UInt8(number)], at: $1) }
            watch.run(for: .milliseconds(200))
            #expect(watch.takeSent() == [[header, UInt8(number)].hexadecimal, [header | 1].hexadecimal])
        }
        #expect(watch.takeEvents().count == 100)
    }

    @Test("Empty packets and types that do not exist are ignored, the session goes on")
    func invalidPackets() {
        var watch = LinkHarness.openWatch()
        watch.receive("", "04", "05ff", "fe", "07")
        #expect(watch.link.statistics.invalidPackets == 5)
        watch.receive("00aa")
        #expect(watch.takeEvents() == [.received([0xAA])])
    }

    @Test("More than the advertised window is taken without dropping")
    func windowIsNotEnforced() {
        var watch = LinkHarness.openWatch(resetComplete: "031904")
        for number in 0..<60 as Range<UInt8> { watch.step { $0.receive([number << 3, number], at: $1) } }
        #expect(watch.takeEvents().count == 60)
    }

    @Test("Data that the owner does not drain is dropped beyond a bound, and never acknowledged")
    func undrainedEvents() {
        var link = LinkHarness.openWatch().link
        for number in 0..<200 { link.receive([UInt8(number % 32) << 3, 0xAA], at: .seconds(1000)) }
        #expect(link.statistics.overflowedPackets == 136)
        var events = 0
        while link.nextEvent() != nil { events += 1 }
        #expect(events == 64)
        // Packet 63 was the last in order, so the next is number 0 again.
        link.receive([0x00, 0xBB], at: .seconds(1000))
        #expect(link.nextEvent() == .received([0xBB]))
        var packet: [UInt8] = []
        #expect(link.nextPacket(into: &packet, at: .seconds(1000)))
        #expect(packet == [0x01])
    }

    @Test("Sending is bounded, and space is announced once when there is enough of it")
    func backPressure() {
        var configuration = PPoGATTConfiguration.watch(.reversedV2, serialNumber: "")
        configuration.sendBufferCapacity = 1000
        var watch = LinkHarness(configuration)
        #expect(watch.link.writableByteCount == 0)
        #expect(watch.send([1]) == 0)
        watch.step { $0.start(at: $1) }
        watch.receive("0201", "031919")
        _ = watch.takeEvents()
        #expect(watch.link.writableByteCount == 1000)
        #expect(watch.send([UInt8](repeating: 1, count: 700)) == 700)
        #expect(watch.send([UInt8](repeating: 2, count: 700)) == 300)
        #expect(watch.link.writableByteCount == 0)
        #expect(watch.send([3]) == 0)
        watch.receive("01")
        #expect(watch.link.writableByteCount == 252)
        #expect(watch.takeEvents() == [])
        watch.receive("09")
        #expect(watch.takeEvents() == [.spaceAvailable])
        watch.receive("11")
        #expect(watch.takeEvents() == [])
        #expect(watch.send([UInt8](repeating: 3, count: 100)) == 100)
    }

    @Test("Each acknowledgement counts once")
    func acknowledgementsAreCounted() {
        var watch = LinkHarness.openWatch()
        watch.receive("00AA")
        watch.run(for: .seconds(1))
        #expect(watch.takeSent() == ["01"])
        #expect(watch.link.statistics.sentAcknowledgements == 1)
    }

    @Test("Space is announced when half of the buffer is free")
    func spaceForHalf() {
        var configuration = PPoGATTConfiguration.watch(.reversedV2, serialNumber: "")
        configuration.sendBufferCapacity = 1000
        var watch = LinkHarness(configuration, attMTU: 64)
        watch.step { $0.start(at: $1) }
        watch.receive("0201", "031919")
        #expect(watch.send([UInt8](repeating: 1, count: 1001)) == 1000)
        _ = watch.takeEvents()
        var announced: [Int] = []
        for number in UInt8(0)..<17 {
            watch.step { $0.receive([number << 3 | 1], at: $1) }
            if watch.takeEvents().contains(.spaceAvailable) { announced.append(watch.link.writableByteCount) }
        }
        #expect(announced == [540], "nine packets of 60 bytes")
    }

    @Test("Through a small buffer, a long stream leaves unchanged, drained or always full", arguments: [0, 3])
    func longStream(lateAcknowledgements: Int) {
        var configuration = PPoGATTConfiguration.watch(.reversedV2, serialNumber: "")
        configuration.sendBufferCapacity = 1000
        var link = PPoGATTLink(configuration, attMTU: 100)
        link.start(at: .zero)
        link.receive([2, 1], at: .zero)
        link.receive([3, 25, 25], at: .zero)
        let stream = (0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) }
        var rest = stream[...]
        var received: [UInt8] = []
        var acknowledgements: [UInt8] = []
        var packet: [UInt8] = []
        while received.count < stream.count {
            rest = rest.dropFirst(link.send(rest))
            if link.nextPacket(into: &packet, at: .zero), packet[0] & 7 == 0 {
                received += packet.dropFirst()
                acknowledgements.append(packet[0] | 1)
            }
            // Held back, they leave the stream never empty.
            if acknowledgements.count > lateAcknowledgements {
                link.receive([acknowledgements.removeFirst()], at: .zero)
            }
            while link.nextEvent() != nil {}
        }
        let isUnchanged = received == stream
        #expect(isUnchanged)
        #expect(link.statistics.retransmittedPackets == 0)
    }
}
