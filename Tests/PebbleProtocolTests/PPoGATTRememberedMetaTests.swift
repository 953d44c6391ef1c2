import PebbleProtocol
import Testing

/// A watch that begins with the meta value of an earlier connection.
@Suite("PPoGATT with a remembered meta value")
struct PPoGATTRememberedMetaTests {
    private func watch(isConfirmed: Bool) -> LinkHarness {
        var watch = LinkHarness.watch(.forward)
        watch.step { $0.start(at: $1, rememberedMeta: LinkHarness.androidMeta, isConfirmed: isConfirmed) }
        return watch
    }

    @Test("Confirmed: the subscription at once, and nothing is read")
    func confirmed() {
        var watch = watch(isConfirmed: true)
        #expect(watch.takeEvents() == [.subscriptionRequested])
        watch.step { $0.subscribed(at: $1) }
        watch.receive("031919")
        #expect(watch.takeEvents() == [.opened(agreedSession)])
        #expect(watch.takeSent() == [watchResetRequest, "031104"])
    }

    @Test("Not confirmed, read in time: as if it had been read before")
    func readInTime() {
        var watch = watch(isConfirmed: false)
        #expect(watch.takeEvents() == [.subscriptionRequested, .metaReadRequested])
        watch.step { $0.subscribed(at: $1) }
        watch.step { $0.receiveMeta(LinkHarness.androidMeta[...], at: $1) }
        watch.receive("031919")
        #expect(watch.takeEvents() == [.opened(agreedSession)])
        #expect(watch.takeSent() == [watchResetRequest, "031104"])
    }

    @Test("Not confirmed, read after the Reset Complete: no session before it")
    func readLate() {
        var watch = watch(isConfirmed: false)
        watch.step { $0.subscribed(at: $1) }
        watch.receive("031919")
        #expect(watch.takeSent() == [watchResetRequest])
        #expect(watch.link.state == .awaitingResetComplete(.local))
        _ = watch.takeEvents()
        watch.step { $0.receiveMeta(LinkHarness.androidMeta[...], at: $1) }
        #expect(watch.takeEvents() == [.opened(agreedSession)])
        #expect(watch.takeSent() == ["031104"])
    }

    @Test("Another value: the link ends, and no session was open", arguments: [false, true])
    func changed(isEarly: Bool) {
        var watch = watch(isConfirmed: false)
        let other = hex("0001 0000000000000000000000000000000F 00")
        watch.step { $0.subscribed(at: $1) }
        if !isEarly { watch.receive("031919") }
        _ = watch.takeEvents()
        watch.step { $0.receiveMeta(other[...], at: $1) }
        #expect(watch.takeEvents() == [.failed(.metaChanged)])
        #expect(watch.link.state == .ended)
        watch.receive("031919")
        #expect(watch.takeEvents() == [])
    }

    @Test("It cannot be read: the link ends")
    func unreadable() {
        var watch = watch(isConfirmed: false)
        watch.step { $0.subscribed(at: $1) }
        _ = watch.takeEvents()
        watch.step { $0.metaReadFailed(at: $1) }
        #expect(watch.takeEvents() == [.failed(.metaUnreadable)])
        #expect(watch.link.state == .ended)
    }

    @Test("A pending Reset Complete is dropped by a reset")
    func resetMeanwhile() {
        var watch = watch(isConfirmed: false)
        watch.step { $0.subscribed(at: $1) }
        watch.receive("031919")
        watch.step { $0.reset(at: $1) }
        _ = watch.takeEvents()
        watch.step { $0.receiveMeta(LinkHarness.androidMeta[...], at: $1) }
        #expect(watch.takeEvents() == [])
        #expect(watch.link.state == .awaitingResetComplete(.local))
    }

    @Test("Windows for tiny packets shrink when packets grow")
    func windows() {
        var watch = LinkHarness.openWatch(attMTU: 23)
        watch.send([UInt8](repeating: 7, count: 19 * 6))
        #expect(watch.takeSent().count == 6, "as many as the phone takes, up to 25")
        watch.receive("29")
        watch.step { link, _ in link.attMTU = 185 }
        watch.send([UInt8](repeating: 7, count: 181 * 6))
        #expect(watch.takeSent().count == 4)
    }
}
