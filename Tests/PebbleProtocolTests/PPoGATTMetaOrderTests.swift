import PebbleProtocol
import Testing

/// What comes before its time, or behind it, when a watch finds out whose session it will be.
@Suite("PPoGATT calls out of their order")
struct PPoGATTMetaOrderTests {
    @Test("A link that goes already is not set going by a remembered meta value", arguments: [false, true])
    func startedTwice(isConfirmed: Bool) {
        var watch = LinkHarness.watch(.forward)
        watch.step { $0.start(at: $1) }
        #expect(watch.takeEvents() == [.metaReadRequested])
        watch.step { $0.start(at: $1, rememberedMeta: LinkHarness.androidMeta, isConfirmed: isConfirmed) }
        #expect(watch.takeEvents() == [])
        #expect(watch.link.state == .readingMeta)
        watch.step { $0.receiveMeta(LinkHarness.androidMeta[...], at: $1) }
        #expect(watch.takeEvents() == [.subscriptionRequested])
    }

    @Test("A subscription that is refused when it was not asked for changes nothing")
    func refusedTwice() {
        var idle = LinkHarness.watch(.forward)
        idle.step { link, _ in link.subscriptionRefused() }
        #expect(idle.takeEvents() == [] && idle.link.state == .idle)
        var watch = LinkHarness.subscribedWatch()
        _ = watch.takeEvents()
        watch.step { link, _ in link.subscriptionRefused() }
        #expect(watch.takeEvents() == [])
        #expect(watch.link.state == .awaitingResetComplete(.local))
        watch.receive("031919")
        #expect(watch.takeEvents() == [.opened(agreedSession)])
    }
}
