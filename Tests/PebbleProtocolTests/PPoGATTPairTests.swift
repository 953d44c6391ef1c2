import PebbleProtocol
import SeededRandomness
import Testing

/// With any loss on the air, every byte arrives once and in order, or a link reports the end of the session.
@Suite("PPoGATT between two links, over seeded air")
struct PPoGATTPairTests {
    static let carriers: [PPoGATTConfiguration.Carrier] = [.forward, .reversedV1, .reversedV2]

    @Test("Air without loss: all bytes arrive, no packet is sent twice, and neither side resets")
    func cleanAir() {
        for seed in 0..<400 as Range<UInt64> {
            var pair = PairSimulation(seed: seed, conditions: AirConditions())
            pair.run()
            pair.expectEverythingDelivered()
            #expect(pair.watch.link.statistics.retransmittedPackets == 0, "seed \(seed)")
            #expect(pair.phone.link.statistics.retransmittedPackets == 0, "seed \(seed)")
            #expect(pair.watch.link.statistics.openedSessions == 1, "seed \(seed)")
        }
    }

    @Test("Duplicated data and acknowledgements change nothing")
    func duplicates() {
        for seed in 0..<400 as Range<UInt64> {
            var pair = PairSimulation(seed: seed, conditions: AirConditions(duplicationPercent: 30))
            pair.run()
            pair.expectEverythingDelivered()
        }
    }

    @Test("Lost packets: all bytes in order, once, or the session is reported as over")
    func loss() {
        var recovered = 0
        var lost = 0
        for seed in 0..<1500 as Range<UInt64> {
            let percent = [1, 2, 5, 10, 30][Int(seed % 5)]
            var pair = PairSimulation(seed: seed, conditions: AirConditions(lossPercent: percent))
            pair.run()
            pair.expectDeliveredOrReported()
            if pair.watch.link.statistics.retransmittedPackets > 0
                || pair.phone.link.statistics.retransmittedPackets > 0,
                !pair.isBroken
            {
                recovered += 1
            }
            if pair.isBroken { lost += 1 }
        }
        // Without both, the test would prove nothing.
        #expect(recovered > 100 && lost > 100, "\(recovered) recovered, \(lost) lost")
    }

    @Test("All faults at once: loss, duplicates, late packets, changes of the MTU, resets that the owner wants")
    func everything() {
        var sessions: UInt64 = 0
        for seed in 0..<1500 as Range<UInt64> {
            var random = SplitMix64(seed: seed ^ 0xA5A5)
            var conditions = AirConditions(
                lossPercent: Int.random(in: 0...8, using: &random),
                duplicationPercent: Int.random(in: 0...8, using: &random),
                duplicatesResets: true,
                jitterMilliseconds: Int.random(in: 0...20, using: &random)
            )
            conditions.changesMTU = true
            conditions.resetsAtRandom = random.chance(1, in: 2)
            conditions.phoneRepairsSessions = random.chance(1, in: 2)
            var pair = PairSimulation(seed: seed, conditions: conditions)
            pair.run()
            pair.expectDeliveredOrReported()
            sessions += pair.watch.link.statistics.openedSessions
        }
        #expect(sessions > 2000, "\(sessions) sessions")
    }
}

/// What happens to packets on their way, and to the links.
struct AirConditions: Sendable {
    var lossPercent = 0
    var duplicationPercent = 0
    var duplicatesResets = false
    /// Packets may come later by up to this, and so overtake each other. Less than a handshake takes: nothing in the
    /// protocol could tell a packet of the session before.
    var jitterMilliseconds = 0
    var changesMTU = false
    var resetsAtRandom = false
    /// The phone resets a broken session, as a watch does, instead of giving up the link.
    var phoneRepairsSessions = false
}

/// A watch's and a phone's link, an application on each that writes bytes which say where they come from, and air.
struct PairSimulation {
    enum Side: Int {
        case watch, phone

        var other: Side { self == .watch ? .phone : .watch }
    }

    /// What one application knows of one session.
    struct Session {
        /// How many bytes the link took.
        var sentCount = 0
        var receivedCount = 0
        /// The other side's sessions from whose beginning the received bytes may come; nil before the first byte.
        var possibleSources: [Int]?
    }

    struct Application {
        var link: PPoGATTLink
        var sessions: [Session] = []
        var isOver = false
        /// Whether the link reported a session's end, or its own.
        var hasReportedEnd = false
        /// How many bytes a session is to carry.
        let streamLength: Int

        /// Whether it will do something without waiting for a time-out.
        var isBusy: Bool {
            guard let session = sessions.last, link.state == .open else { return false }
            return session.sentCount < streamLength && link.writableByteCount > 0
        }

        /// Whether its last session has sent everything and knows that it has arrived.
        var isSettled: Bool {
            link.state == .open && sessions.last?.sentCount == streamLength
                && link.writableByteCount == link.configuration.sendBufferCapacity
        }
    }

    private struct Delivery {
        let time: Duration
        let packet: [UInt8]
        let to: Side
    }

    /// The watch's, the phone's.
    private var applications: [Application]
    private let seed: UInt64
    private let conditions: AirConditions
    private var random: SplitMix64
    private var now: Duration
    /// Ordered by time, and among equal times by when they were sent.
    private var deliveries: [Delivery] = []
    private var isCorrupted = false

    /// Each lost packet may cost 10 s, and some seeds lose a third of them.
    private static let longestDuration = Duration.seconds(4 * 3600)
    /// Links without anything to send must stay as they are.
    private static let quietDuration = Duration.seconds(60)
    private static let connectionInterval = Duration.milliseconds(30)

    init(seed: UInt64, conditions: AirConditions) {
        self.seed = seed
        self.conditions = conditions
        random = SplitMix64(seed: seed)
        let carrier = PPoGATTPairTests.carriers[Int.random(in: 0..<3, using: &random)]
        let mtu = [23, 26, 27, 48, 158, 256][Int.random(in: 0..<6, using: &random)]
        now = .milliseconds(Int.random(in: 0..<10_000, using: &random))
        var phoneConfiguration = PPoGATTConfiguration.phone(carrier)
        if conditions.phoneRepairsSessions {
            phoneConfiguration.rules.brokenSession = .reset
            phoneConfiguration.rules.resetRequestLimit = 4
        }
        func application(_ configuration: PPoGATTConfiguration, length: Int) -> Application {
            Application(link: PPoGATTLink(configuration, attMTU: mtu), streamLength: length)
        }
        applications = [
            application(
                .watch(carrier, serialNumber: "2DQ0135B3424"),
                length: Int.random(in: 0...2000, using: &random)
            ),
            application(phoneConfiguration, length: Int.random(in: 0...2000, using: &random)),
        ]
    }

    // Not `_read`: what is borrowed with it is used after the borrow by code that Swift 6.3.1 does not optimize.
    var watch: Application {
        get { applications[0] }
        _modify { yield &applications[0] }
    }

    var phone: Application {
        get { applications[1] }
        _modify { yield &applications[1] }
    }

    /// Whether either side reported that a session is over.
    var isBroken: Bool { watch.hasReportedEnd || phone.hasReportedEnd }

    mutating func run() {
        var end = now + Self.longestDuration
        var isSettled = false
        phone.link.start(at: now)
        watch.link.start(at: now)
        if watch.link.state == .readingMeta {
            watch.link.receiveMeta(LinkHarness.androidMeta[...], at: now)
            watch.link.subscribed(at: now)
        }
        drainEvents()
        while now < end, !watch.isOver, !phone.isOver, !isCorrupted {
            connectionEvent()
            var next = now + Self.connectionInterval
            if !isBusy {
                // Nothing moves until a time-out.
                next = max(next, nextDeadline ?? end)
            }
            deliver(until: min(next, end))
            if !isSettled, applications.allSatisfy(\.isSettled) {
                isSettled = true
                end = now + Self.quietDuration
            }
        }
    }

    private var isBusy: Bool {
        !deliveries.isEmpty
            || [watch, phone].contains { side in
                guard let session = side.sessions.last, side.link.state == .open else {
                    return side.link.state != .stalled
                }
                return session.sentCount < side.streamLength && side.link.writableByteCount > 0
            }
    }

    private var nextDeadline: Duration? { Self.earlier(watch.link.nextDeadline, phone.link.nextDeadline) }

    private static func earlier(_ first: Duration?, _ second: Duration?) -> Duration? {
        guard let first, let second else { return first ?? second }
        return min(first, second)
    }

    private mutating func connectionEvent() {
        if conditions.changesMTU, random.chance(1, in: 200) {
            let mtu = Int.random(in: 23...300, using: &random)
            watch.link.attMTU = max(watch.link.attMTU, mtu)
            phone.link.attMTU = watch.link.attMTU
        }
        if conditions.resetsAtRandom, random.chance(1, in: 500) { watch.link.reset(at: now) }
        write(.watch)
        write(.phone)
        pull(.watch, count: Int.random(in: 1...6, using: &random))
        pull(.phone, count: Int.random(in: 1...6, using: &random))
        drainEvents()
    }

    private mutating func write(_ side: Side) {
        let index = side.rawValue
        let session = applications[index].sessions.count - 1
        guard applications[index].link.state == .open, session >= 0 else { return }
        let start = applications[index].sessions[session].sentCount
        let length = min(applications[index].streamLength - start, Int.random(in: 0...600, using: &random))
        guard length > 0 else { return }
        let bytes = (start..<(start + length)).map { Self.byte(seed, side, session: session, offset: $0) }
        applications[index].sessions[session].sentCount += applications[index].link.send(bytes[...])
    }

    private mutating func pull(_ side: Side, count: Int) {
        var packet: [UInt8] = []
        for _ in 0..<count where applications[side.rawValue].link.nextPacket(into: &packet, at: now) {
            let isReset = packet[0] & 7 >= 2
            if random.chance(conditions.lossPercent, in: 100) { continue }
            let canBeDuplicated = !isReset || conditions.duplicatesResets
            let copies = canBeDuplicated && random.chance(conditions.duplicationPercent, in: 100) ? 2 : 1
            for _ in 0..<copies {
                let jitter = Duration.milliseconds(Int.random(in: 0...conditions.jitterMilliseconds, using: &random))
                let delivery = Delivery(time: now + .milliseconds(10) + jitter, packet: packet, to: side.other)
                let position = deliveries.firstIndex { $0.time > delivery.time } ?? deliveries.endIndex
                deliveries.insert(delivery, at: position)
            }
        }
    }

    private mutating func deliver(until end: Duration) {
        while true {
            guard let next = Self.earlier(deliveries.first?.time, nextDeadline), next <= end else { break }
            now = max(now, next)
            if let first = deliveries.first, first.time <= now {
                deliveries.removeFirst()
                applications[first.to.rawValue].link.receive(first.packet[...], at: now)
            }
            watch.link.advance(to: now)
            phone.link.advance(to: now)
            drainEvents()
        }
        now = end
    }

    private mutating func drainEvents() {
        drainEvents(.watch)
        drainEvents(.phone)
    }

    private mutating func drainEvents(_ side: Side) {
        let others = applications[side.other.rawValue].sessions
        while let event = applications[side.rawValue].link.nextEvent() {
            switch event {
            case .opened:
                applications[side.rawValue].sessions.append(Session())
            case .received(let bytes):
                if !Self.accept(bytes, seed, side, &applications[side.rawValue].sessions, from: others) {
                    isCorrupted = true
                    Issue.record("seed \(seed): the \(side) received bytes that were not sent, twice, or out of order")
                }
            case .closed, .failed:
                applications[side.rawValue].hasReportedEnd = true
            case .disconnectRequested, .stalled:
                applications[side.rawValue].hasReportedEnd = true
                applications[side.rawValue].isOver = true
            case .metaReadRequested, .subscriptionRequested, .spaceAvailable: break
            }
        }
    }

    /// Checks that the bytes continue the stream of one of the other side's sessions, from its beginning on.
    private static func accept(
        _ bytes: ArraySlice<UInt8>,
        _ seed: UInt64,
        _ side: Side,
        _ sessions: inout [Session],
        from others: [Session]
    ) -> Bool {
        guard let index = sessions.indices.last else { return false }
        let start = sessions[index].receivedCount
        let sources = (sessions[index].possibleSources ?? Array(others.indices)).filter { source in
            start + bytes.count <= others[source].sentCount
                && bytes.enumerated().allSatisfy {
                    $1 == byte(seed, side.other, session: source, offset: start + $0)
                }
        }
        sessions[index].possibleSources = sources
        sessions[index].receivedCount += bytes.count
        return !sources.isEmpty
    }

    /// The byte that an application writes at a place in a session's stream.
    private static func byte(_ seed: UInt64, _ side: Side, session: Int, offset: Int) -> UInt8 {
        var mixed = seed &* 0x9E37_79B9 &+ UInt64(side.rawValue) &* 0x85EB_CA6B &+ UInt64(session) &* 0xC2B2_AE35
        mixed = (mixed ^ UInt64(offset)) &* 0xFF51_AFD7_ED55_8CCD
        return UInt8(truncatingIfNeeded: mixed >> 40)
    }

    func expectEverythingDelivered() {
        #expect(!isBroken, "seed \(seed)")
        expectDeliveredOrReported()
    }

    func expectDeliveredOrReported() {
        guard !isCorrupted, !isBroken else { return }
        for (own, other) in [(watch, phone), (phone, watch)] {
            #expect(own.link.state == .open, "seed \(seed)")
            #expect(own.sessions.count == 1, "seed \(seed)")
            #expect(own.sessions.last?.sentCount == own.streamLength, "seed \(seed)")
            #expect(other.sessions.last?.receivedCount == own.streamLength, "seed \(seed)")
            #expect(own.link.statistics.acknowledgedBytes == UInt64(own.streamLength), "seed \(seed)")
        }
    }
}
