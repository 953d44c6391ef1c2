import ByteCoding
import PebbleProtocol
import Testing

/// A link whose packets and events are drained after every step, for tests that play the other side by hand.
struct LinkHarness {
    var link: PPoGATTLink
    var now: Duration
    /// Everything sent since it was last taken, in hexadecimal.
    private var sent: [String] = []
    private var events: [PPoGATTEvent] = []

    /// Half a second after a tick of the two-second timer, unless said otherwise.
    init(_ configuration: PPoGATTConfiguration, attMTU: Int = 256, at now: Duration = .milliseconds(1_000_500)) {
        link = PPoGATTLink(configuration, attMTU: attMTU)
        self.now = now
    }

    static let androidMeta = hex("0001 00000000000000000000000000000000 01")
    static let hybrid = PPoGATTDestination(kind: .hybrid, application: .system)

    static func watch(_ carrier: PPoGATTConfiguration.Carrier, rules: PPoGATTRules = .pebbleOS) -> LinkHarness {
        LinkHarness(.watch(carrier, serialNumber: PPoGATTVectorTests.serial, rules: rules))
    }

    /// A watch, forward, that has sent its first Reset Request.
    static func subscribedWatch(
        meta: [UInt8] = androidMeta,
        attMTU: Int = 256,
        rules: PPoGATTRules = .pebbleOS
    ) -> LinkHarness {
        var harness = LinkHarness(
            .watch(.forward, serialNumber: PPoGATTVectorTests.serial, rules: rules),
            attMTU: attMTU
        )
        harness.step { $0.start(at: $1) }
        harness.step { $0.receiveMeta(meta[...], at: $1) }
        harness.step { $0.subscribed(at: $1) }
        return harness
    }

    /// A watch, forward, with an open session, of whose opening nothing is left to take.
    static func openWatch(
        meta: [UInt8] = androidMeta,
        attMTU: Int = 256,
        resetComplete: String = "031919",
        rules: PPoGATTRules = .pebbleOS
    ) -> LinkHarness {
        var harness = subscribedWatch(meta: meta, attMTU: attMTU, rules: rules)
        harness.receive(resetComplete)
        #expect(harness.link.state == .open)
        _ = harness.takeSent()
        _ = harness.takeEvents()
        return harness
    }

    /// Makes a call to the link, then drains it.
    mutating func step(_ body: (inout PPoGATTLink, Duration) -> Void) {
        body(&link, now)
        drain()
    }

    mutating func receive(_ packets: String...) {
        for packet in packets { step { $0.receive(hex(packet)[...], at: $1) } }
    }

    @discardableResult
    mutating func send(_ bytes: [UInt8]) -> Int {
        var accepted = 0
        step { link, _ in accepted = link.send(bytes[...]) }
        return accepted
    }

    /// Lets time pass, deadline by deadline.
    mutating func run(for duration: Duration) {
        let end = now + duration
        while let deadline = link.nextDeadline, deadline <= end {
            #expect(deadline > now || link.state == .open, "a deadline in the past")
            now = max(now, deadline)
            step { $0.advance(to: $1) }
        }
        now = end
        step { $0.advance(to: $1) }
    }

    private mutating func drain() {
        var packet: [UInt8] = []
        while link.nextPacket(into: &packet, at: now) { sent.append(packet.hexadecimal) }
        while let event = link.nextEvent() { events.append(event) }
    }

    mutating func takeSent() -> [String] {
        defer { sent = [] }
        return sent
    }

    mutating func takeEvents() -> [PPoGATTEvent] {
        defer { events = [] }
        return events
    }
}

/// The windows that follow from a phone's Reset Complete of 25 and 25 and PebbleOS's offer.
let agreedSession = PPoGATTSession(
    version: .v1,
    transmitWindow: 4,
    receiveWindow: 17,
    destination: LinkHarness.hybrid
)

let watchResetRequest = "0201324451303133354233343234"
