import PebbleProtocol
import SeededRandomness
import Testing

/// A watch's link against models of the companions that people use, with all their quirks.
@Suite("PPoGATT against models of real phones")
struct PPoGATTPhoneModelTests {
    /// Runs a watch and a phone in steps of 10 ms. `isLost` says which of the phone's packets the watch's radio drops.
    private func run<Phone: PhoneModel>(
        _ watch: inout PPoGATTLink,
        _ phone: inout Phone,
        watchStream: [UInt8],
        for duration: Duration,
        isLost: ([UInt8]) -> Bool = { _ in false }
    ) -> (received: [UInt8], events: [PPoGATTEvent]) {
        var now = Duration.seconds(1)
        let end = now + duration
        var unsent = watchStream[...]
        var received: [UInt8] = []
        var events: [PPoGATTEvent] = []
        watch.start(at: now)
        watch.receiveMeta(LinkHarness.androidMeta[...], at: now)
        watch.subscribed(at: now)
        while now < end {
            unsent = unsent.dropFirst(watch.send(unsent))
            var packet: [UInt8] = []
            for _ in 0..<6 where watch.nextPacket(into: &packet, at: now) { phone.receive(packet, at: now) }
            for packet in phone.packets(at: now) where !isLost(packet) {
                watch.receive(packet[...], at: now)
                while let event = watch.nextEvent() {
                    switch event {
                    case .received(let bytes): received += bytes
                    case .spaceAvailable: break
                    default: events.append(event)
                    }
                }
            }
            now += .milliseconds(10)
            watch.advance(to: now)
        }
        while let event = watch.nextEvent() { events.append(event) }
        return (received, events)
    }

    private func watchLink() -> PPoGATTLink {
        PPoGATTLink(.watch(.forward, serialNumber: "2DQ0135B3424"), attMTU: 256)
    }

    private static let opening: [PPoGATTEvent] = [.metaReadRequested, .subscriptionRequested, .opened(agreedSession)]

    @Test("libpebble3: both streams arrive, no packet is repeated, no exception")
    func libPebble3() {
        var watch = watchLink()
        var phone = LibPebble3Model(stream: ExpectedAppMessages.filling(30_000), attMTU: 256)
        let result = run(
            &watch,
            &phone,
            watchStream: ExpectedAppMessages.filling(20_000, from: 7),
            for: .seconds(60)
        )
        #expect(phone.exception == nil)
        #expect(phone.repeatedAcknowledgements == 0)
        #expect(phone.hasSentEverything)
        #expect(result.events == Self.opening)
        let hasArrived =
            phone.received == ExpectedAppMessages.filling(20_000, from: 7)
            && result.received == ExpectedAppMessages.filling(30_000)
        #expect(hasArrived)
        // Acks are held back: many fewer than packets.
        #expect(watch.statistics.sentAcknowledgements < 119 / 2)
    }

    @Test("libpebble3: what the watch's radio drops is sent again after 10 s; the watch repeats no Ack on the way")
    func libPebble3WithDrops() {
        for seed in 0..<200 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            var watch = watchLink()
            var phone = LibPebble3Model(stream: ExpectedAppMessages.filling(6000), attMTU: 256)
            var dropped = 0
            let result = run(
                &watch,
                &phone,
                watchStream: ExpectedAppMessages.filling(500),
                for: .seconds(120)
            ) { packet in
                // Only data are lost here: the buffer that overflows is the one that they fill.
                guard packet[0] & 7 == 0, dropped < 2, random.chance(1, in: 12) else { return false }
                dropped += 1
                return true
            }
            #expect(phone.exception == nil, "seed \(seed)")
            #expect(phone.repeatedAcknowledgements == 0, "seed \(seed)")
            #expect(result.events == Self.opening, "seed \(seed)")
            let hasArrived =
                result.received == ExpectedAppMessages.filling(6000)
                && phone.received == ExpectedAppMessages.filling(500)
            #expect(hasArrived, "seed \(seed)")
        }
    }

    @Test("Gadgetbridge: more packets than any window are taken at once, and late Acks cause no retransmission")
    func gadgetbridge() {
        for milliseconds in [0, 50, 1000, 3900] {
            var watch = watchLink()
            var phone = GadgetbridgeModel(
                stream: ExpectedAppMessages.filling(30_000),
                acknowledgementDelay: .milliseconds(milliseconds)
            )
            let result = run(
                &watch,
                &phone,
                watchStream: ExpectedAppMessages.filling(3000, from: 7),
                for: .seconds(60)
            )
            #expect(phone.hasSentEverything)
            #expect(phone.resetRequests == 1)
            #expect(result.events == Self.opening)
            #expect(watch.statistics.retransmittedPackets == 0)
            let hasArrived =
                phone.received == ExpectedAppMessages.filling(3000, from: 7)
                && result.received == ExpectedAppMessages.filling(30_000)
            #expect(hasArrived, "Acks after \(milliseconds) ms")
        }
    }

    @Test("Gadgetbridge: its numbers continue after its reset within a session, and the watch gives the link up")
    func gadgetbridgeLosesCount() {
        var watch = LinkHarness.openWatch()
        watch.receive("00aa", "08bb")
        watch.receive("0201", "031919")
        // Its sequence numbers continue, so that the watch takes its data for packets that come too early, for ever.
        watch.receive("10cc", "18dd")
        watch.run(for: .seconds(1))
        #expect(watch.link.statistics.outOfOrderPackets == 2)
        watch.send([1])
        watch.run(for: .seconds(60))
        #expect(watch.takeEvents().last == .disconnectRequested(.resetTimeout))
    }
}
