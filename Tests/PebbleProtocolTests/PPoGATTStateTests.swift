import PebbleProtocol
import Testing

/// One test for each row of the watch's state table, and the sequences that follow from it.
@Suite("PPoGATT states")
struct PPoGATTStateTests {
    @Test("ReadingMeta, meta ok: subscribe")
    func metaRead() {
        var watch = LinkHarness.watch(.forward)
        watch.step { $0.start(at: $1) }
        #expect(watch.link.state == .readingMeta)
        #expect(watch.takeEvents() == [.metaReadRequested])
        watch.step { $0.receiveMeta(LinkHarness.androidMeta[...], at: $1) }
        #expect(watch.link.state == .subscribing)
        #expect(watch.takeEvents() == [.subscriptionRequested])
        #expect(watch.link.destination == LinkHarness.hybrid)
        #expect(watch.takeSent() == [])
        #expect(watch.link.nextDeadline == nil)
    }

    @Test("ReadingMeta, a meta value that is refused: the link ends, without another read")
    func metaRejected() {
        var watch = LinkHarness.watch(.forward)
        watch.step { $0.start(at: $1) }
        watch.step { $0.receiveMeta([0, 1], at: $1) }
        #expect(watch.takeEvents() == [.metaReadRequested, .failed(.metaRejected(.tooShort(2)))])
        #expect(watch.link.state == .ended)
        #expect(watch.link.nextDeadline == nil)
    }

    @Test("AwaitingMetaRetry: after 500 ms the meta is read again, three times in all")
    func metaRetries() {
        var watch = LinkHarness.watch(.forward)
        watch.step { $0.start(at: $1) }
        for _ in 1...2 {
            #expect(watch.takeEvents() == [.metaReadRequested])
            watch.step { $0.metaReadFailed(at: $1) }
            #expect(watch.link.state == .awaitingMetaRetry)
            #expect(watch.link.nextDeadline == watch.now + .milliseconds(500))
            watch.run(for: .milliseconds(499))
            #expect(watch.takeEvents() == [])
            watch.run(for: .milliseconds(1))
            #expect(watch.link.state == .readingMeta)
        }
        #expect(watch.takeEvents() == [.metaReadRequested])
        watch.step { $0.metaReadFailed(at: $1) }
        #expect(watch.takeEvents() == [.failed(.metaUnreadable)])
        #expect(watch.link.state == .ended)
    }

    @Test("The original firmware reads the meta once")
    func originalFirmwareDoesNotRetry() {
        var watch = LinkHarness.watch(.forward, rules: .originalFirmware)
        watch.step { $0.start(at: $1) }
        watch.step { $0.metaReadFailed(at: $1) }
        #expect(watch.takeEvents() == [.metaReadRequested, .failed(.metaUnreadable)])
    }

    @Test("SubscribingData, CCCD response: Reset Request with version and serial number")
    func subscribed() {
        var watch = LinkHarness.subscribedWatch()
        #expect(watch.link.state == .awaitingResetComplete(.local))
        #expect(watch.takeSent() == [watchResetRequest])
        #expect(watch.link.nextDeadline != nil)
    }

    @Test("SubscribingData, ATT error: the link ends")
    func subscriptionRefused() {
        var watch = LinkHarness.watch(.forward)
        watch.step { $0.start(at: $1) }
        watch.step { $0.receiveMeta(LinkHarness.androidMeta[...], at: $1) }
        watch.step { link, _ in link.subscriptionRefused() }
        #expect(watch.takeEvents().last == .failed(.subscriptionRefused))
        #expect(watch.link.state == .ended)
        watch.step { $0.subscribed(at: $1) }
        #expect(watch.takeSent() == [])
    }

    @Test("SubscribingData, the write could not be started: counts as a failed reading")
    func subscriptionNotStarted() {
        var watch = LinkHarness.watch(.forward)
        watch.step { $0.start(at: $1) }
        watch.step { $0.receiveMeta(LinkHarness.androidMeta[...], at: $1) }
        watch.step { $0.metaReadFailed(at: $1) }
        #expect(watch.link.state == .awaitingMetaRetry)
    }

    @Test("A failed reading that comes late changes nothing")
    func metaFailsLate() {
        var watch = LinkHarness.openWatch()
        watch.step { $0.metaReadFailed(at: $1) }
        #expect(watch.takeEvents() == [])
        #expect(watch.link.state == .open)
    }

    @Test("SubscribingData: Data, Ack and Reset Complete are ignored, a Reset Request is honoured")
    func packetsBeforeSubscription() {
        var watch = LinkHarness.watch(.forward)
        watch.step { $0.start(at: $1) }
        watch.receive("02")
        #expect(watch.takeSent() == [], "there is neither version nor destination before the meta value")
        watch.step { $0.receiveMeta(LinkHarness.androidMeta[...], at: $1) }
        watch.receive("0001", "01", "031919")
        #expect(watch.link.state == .subscribing)
        #expect(watch.takeSent() == [])
        #expect(watch.link.statistics.ignoredPackets == 4)
        watch.receive("0201")
        #expect(watch.takeSent() == ["031104"])
        #expect(watch.link.state == .awaitingResetComplete(.remote))
        watch.step { $0.subscribed(at: $1) }
        #expect(watch.takeSent() == [], "the reset that is under way goes on")
        watch.receive("031919")
        #expect(watch.link.state == .open)
    }

    @Test("AwaitResetRequest (reversed V2): the watch waits for ever, then answers with Reset Complete")
    func awaitResetRequest() {
        var watch = LinkHarness.watch(.reversedV2)
        watch.step { $0.start(at: $1) }
        #expect(watch.link.state == .awaitingResetRequest)
        #expect(watch.link.nextDeadline == nil)
        watch.receive("0001", "01", "031919", "04")
        #expect(watch.link.state == .awaitingResetRequest)
        watch.receive("0201")
        #expect(watch.takeSent() == ["031104"])
        #expect(watch.link.state == .awaitingResetComplete(.remote))
        #expect(watch.link.nextDeadline != nil)
    }

    @Test("AwaitRC(self), Reset Complete: opens, and sends its own Reset Complete")
    func selfInitiatedCompletes() {
        var watch = LinkHarness.subscribedWatch()
        _ = watch.takeSent()
        _ = watch.takeEvents()
        watch.receive("031919")
        #expect(watch.takeSent() == ["031104"])
        #expect(watch.takeEvents() == [.opened(agreedSession)])
        #expect(watch.link.nextDeadline == nil)
    }

    @Test("AwaitRC(self), Reset Request: ignored")
    func selfInitiatedIgnoresRequest() {
        var watch = LinkHarness.subscribedWatch()
        _ = watch.takeSent()
        let deadline = watch.link.nextDeadline
        watch.run(for: .seconds(3))
        watch.receive("0201")
        #expect(watch.takeSent() == [])
        #expect(watch.link.state == .awaitingResetComplete(.local))
        #expect(watch.link.nextDeadline == deadline)
    }

    @Test("AwaitRC(self), time-out: resets again")
    func selfInitiatedTimesOut() {
        var watch = LinkHarness.subscribedWatch()
        _ = watch.takeSent()
        watch.run(for: .seconds(6))
        #expect(watch.takeSent() == [watchResetRequest])
        #expect(watch.link.state == .awaitingResetComplete(.local))
    }

    @Test("AwaitRC(remote), Reset Complete: opens, without another Reset Complete")
    func remoteInitiatedCompletes() {
        var watch = LinkHarness.watch(.reversedV2)
        watch.step { $0.start(at: $1) }
        watch.receive("0201")
        #expect(watch.takeSent() == ["031104"])
        watch.receive("031919")
        #expect(watch.takeSent() == [])
        var session = agreedSession
        session.destination = .reversedV2
        #expect(watch.takeEvents() == [.opened(session)])
    }

    @Test("AwaitRC(remote), Reset Request: ignored")
    func remoteInitiatedIgnoresRequest() {
        var watch = LinkHarness.watch(.reversedV2)
        watch.step { $0.start(at: $1) }
        watch.receive("0201", "0201")
        #expect(watch.takeSent() == ["031104"])
        #expect(watch.link.state == .awaitingResetComplete(.remote))
    }

    @Test("AwaitRC(remote), time-out: the watch starts its own reset")
    func remoteInitiatedTimesOut() {
        var watch = LinkHarness.watch(.reversedV2)
        watch.step { $0.start(at: $1) }
        watch.receive("0201")
        _ = watch.takeSent()
        watch.run(for: .seconds(6))
        #expect(watch.takeSent() == [watchResetRequest])
        #expect(watch.link.state == .awaitingResetComplete(.local))
    }

    @Test("Open, Reset Request: closes, counts from 0 again, answers with Reset Complete")
    func resetWhileOpen() {
        var watch = LinkHarness.openWatch()
        watch.receive("00aa")
        watch.send([1, 2, 3])
        #expect(watch.takeEvents() == [.received([0xAA])])
        #expect(watch.takeSent() == ["00010203"])
        watch.receive("0201")
        #expect(watch.takeSent() == ["031104"])
        #expect(watch.takeEvents() == [.closed(.remoteReset)])
        #expect(watch.link.state == .awaitingResetComplete(.remote))
        #expect(watch.link.writableByteCount == 0)
        #expect(watch.send([9]) == 0)
        watch.receive("031919")
        // The stream is empty, both ways, and numbers begin at 0.
        watch.receive("00bb")
        watch.send([4])
        #expect(watch.takeSent() == ["0004"])
        #expect(watch.takeEvents() == [.opened(agreedSession), .received([0xBB])])
    }

    @Test("Open, Reset Complete: ignored")
    func resetCompleteWhileOpen() {
        var watch = LinkHarness.openWatch()
        watch.receive("030101")
        #expect(watch.link.state == .open)
        #expect(watch.takeEvents() == [] && watch.takeSent() == [])
        #expect(watch.link.statistics.ignoredPackets == 1)
    }

    @Test("Open, local reset: closes and sends Reset Request")
    func localReset() {
        var watch = LinkHarness.openWatch()
        watch.step { $0.reset(at: $1) }
        #expect(watch.takeEvents() == [.closed(.localReset)])
        #expect(watch.takeSent() == [watchResetRequest])
        #expect(watch.link.state == .awaitingResetComplete(.local))
    }

    @Test("AwaitRC, local or remote: each further Reset Request is ignored, and counted once")
    func resetRequestWhileResetting() {
        let local = LinkHarness.subscribedWatch()
        var remote = LinkHarness.openWatch()
        remote.receive("0201")
        for var watch in [local, remote] {
            _ = watch.takeSent()
            _ = watch.takeEvents()
            let state = watch.link.state
            watch.receive("0201", "0201")
            #expect(watch.link.state == state)
            #expect(watch.takeSent() == [] && watch.takeEvents() == [])
            #expect(watch.link.statistics.ignoredPackets == 2)
        }
    }

    @Test("Any AwaitRC: Data and Ack are ignored")
    func dataWhileResetting() {
        var local = LinkHarness.subscribedWatch()
        var remote = LinkHarness.watch(.reversedV2)
        remote.step { $0.start(at: $1) }
        remote.receive("0201")
        for var watch in [local, remote] {
            _ = watch.takeSent()
            _ = watch.takeEvents()
            let state = watch.link.state
            watch.receive("00aa", "81", "01")
            #expect(watch.link.state == state)
            #expect(watch.takeSent() == [] && watch.takeEvents() == [])
            #expect(watch.link.statistics.ignoredPackets == 3)
        }
        _ = local.takeSent()
    }

    @Test("Stalled: silent without any time-out, until the phone resets", arguments: ["031919", "0201"])
    func stalled(packet: String) {
        var watch = LinkHarness.subscribedWatch()
        watch.link.disconnectHistory = PPoGATTDisconnectHistory(count: 2)
        watch.run(for: .seconds(60))
        #expect(watch.link.state == .stalled)
        #expect(watch.takeEvents().last == .stalled)
        #expect(watch.link.nextDeadline == nil)
        #expect(watch.takeSent().count == 4)
        watch.receive("00aa", "01")
        #expect(watch.takeSent() == [])
        watch.receive(packet)
        #expect(watch.takeSent() == ["031104"])
        if packet == "0201" {
            #expect(watch.link.state == .awaitingResetComplete(.remote))
            watch.receive("031919")
        }
        #expect(watch.link.state == .open)
        #expect(watch.link.disconnectHistory.count == 0)
    }

    @Test("A Reset Request in a session that was not yet acknowledged drops the pending Ack")
    func pendingAcknowledgementIsDropped() {
        var watch = LinkHarness.openWatch()
        watch.receive("00aa")
        watch.receive("02")
        #expect(watch.link.nextDeadline == .seconds(1006), "only the reset is waited for")
        watch.receive("031919")
        watch.run(for: .seconds(1))
        #expect(watch.takeSent() == ["031104"])
    }

    @Test("Forward: the watch begins; sequence of the table, both ends")
    func forwardSequence() {
        var watch = LinkHarness.subscribedWatch()
        var phone = LinkHarness(.phone(.forward), attMTU: 256)
        phone.step { $0.start(at: $1) }
        #expect(phone.link.state == .awaitingResetRequest)
        let request = watch.takeSent()
        #expect(request == [watchResetRequest])
        phone.receive(request[0])
        let answer = phone.takeSent()
        #expect(answer == ["031919"])
        watch.receive(answer[0])
        let complete = watch.takeSent()
        #expect(complete == ["031104"])
        phone.receive(complete[0])
        #expect(phone.takeSent() == [])
        #expect(watch.link.state == .open && phone.link.state == .open)
        guard case .opened(let session)? = phone.takeEvents().last else {
            Issue.record("the phone opened no session")
            return
        }
        #expect(session.transmitWindow == 17)
        #expect(session.receiveWindow == 4)
    }

    @Test("Reversed V1: the watch begins, without meta value")
    func reversedV1Sequence() {
        var watch = LinkHarness.watch(.reversedV1)
        watch.step { $0.start(at: $1) }
        #expect(watch.takeSent() == [watchResetRequest])
        watch.receive("031919")
        #expect(watch.takeSent() == ["031104"])
        #expect(watch.link.destination == .reversedV1)
        var phone = LinkHarness(.phone(.reversedV1), attMTU: 256)
        phone.step { $0.start(at: $1) }
        phone.receive(watchResetRequest)
        #expect(phone.takeSent() == ["031919"])
    }

    @Test("Reversed V2: the phone begins; sequence of the table, both ends")
    func reversedV2Sequence() {
        var watch = LinkHarness.watch(.reversedV2)
        var phone = LinkHarness(.phone(.reversedV2), attMTU: 256)
        watch.step { $0.start(at: $1) }
        phone.step { $0.start(at: $1) }
        let request = phone.takeSent()
        #expect(request == ["0201"])
        watch.receive(request[0])
        let answer = watch.takeSent()
        #expect(answer == ["031104"])
        phone.receive(answer[0])
        let complete = phone.takeSent()
        #expect(complete == ["031919"])
        watch.receive(complete[0])
        #expect(watch.takeSent() == [])
        #expect(watch.link.state == .open && phone.link.state == .open)
    }

    @Test("A phone answers a watch's Reset Request even after its own, and again if it is repeated")
    func phoneAnswersRequests() {
        var phone = LinkHarness(.phone(.reversedV2), attMTU: 256)
        phone.step { $0.start(at: $1) }
        #expect(phone.takeSent() == ["0201"])
        phone.receive(watchResetRequest)
        #expect(phone.takeSent() == ["031919"])
        phone.receive(watchResetRequest)
        #expect(phone.takeSent() == ["031919"])
        phone.receive("031104")
        #expect(phone.link.state == .open)
    }

    @Test("A phone gives up a watch whose Reset Request has no version, or one that does not exist")
    func phoneNeedsVersion() {
        for request in ["02", "0202"] {
            var phone = LinkHarness(.phone(.forward), attMTU: 256)
            phone.step { $0.start(at: $1) }
            phone.receive(request)
            #expect(phone.takeEvents() == [.disconnectRequested(.protocolViolation)])
            #expect(phone.link.state == .ended)
        }
    }

    @Test("To a phone, a reset within a session is an error", arguments: [watchResetRequest, "031104"])
    func phoneDisconnectsOnReset(packet: String) {
        var phone = LinkHarness(.phone(.forward), attMTU: 256)
        phone.step { $0.start(at: $1) }
        phone.receive(watchResetRequest, "031104")
        #expect(phone.link.state == .open)
        _ = phone.takeEvents()
        phone.receive(packet)
        let reason: PPoGATTCloseReason = packet == "031104" ? .protocolViolation : .remoteReset
        #expect(phone.takeEvents() == [.closed(reason), .disconnectRequested(reason)])
    }

    @Test("A phone waits 12 s for the watch, asks once itself, and waits 12 s more")
    func phoneTimesOut() {
        var phone = LinkHarness(.phone(.forward), attMTU: 256)
        phone.step { $0.start(at: $1) }
        phone.run(for: .milliseconds(11_999))
        #expect(phone.takeSent() == [])
        phone.run(for: .milliseconds(1))
        #expect(phone.takeSent() == ["0201"])
        phone.run(for: .seconds(12))
        #expect(phone.takeEvents() == [.disconnectRequested(.resetTimeout)])
    }

    @Test("A phone follows the watch down to version 0")
    func phoneVersion0() {
        var phone = LinkHarness(.phone(.forward), attMTU: 256)
        phone.step { $0.start(at: $1) }
        phone.receive("0200324451303133354233343234")
        #expect(phone.takeSent() == ["03"])
        phone.receive("03")
        #expect(
            phone.takeEvents() == [
                .opened(
                    PPoGATTSession(
                        version: .v0,
                        transmitWindow: 4,
                        receiveWindow: 4,
                        destination: PPoGATTDestination(kind: .system, application: .invalid)
                    )
                )
            ]
        )
    }

    @Test("A link that was stopped neither takes nor sends packets")
    func stopped() {
        var watch = LinkHarness.openWatch()
        watch.send([1])
        _ = watch.takeSent()
        watch.step { link, _ in link.stop() }
        #expect(watch.takeEvents() == [.closed(.stopped)])
        watch.receive("02", "031919", "00aa")
        watch.step { $0.start(at: $1) }
        watch.step { $0.reset(at: $1) }
        watch.run(for: .seconds(60))
        #expect(watch.takeSent() == [] && watch.takeEvents() == [])
        #expect(watch.link.nextDeadline == nil)
    }
}
