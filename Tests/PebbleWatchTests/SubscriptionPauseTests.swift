import AirSimulator
import BluetoothHCI
import BluetoothHost
import PebbleProtocol
import Testing

@testable import PebbleWatch

/// The time that a phone gets after it has subscribed to the watch's own PPoGATT service, in virtual time.
@Suite struct SubscriptionPauseTests {
    private static let data = AttributeHandle(rawValue: 0xE002)
    private static let configurationHandle = AttributeHandle(rawValue: 0xE003)

    private func paired(_ personality: Personality = .silk, pause: Duration? = nil) throws -> RigPair {
        let identity = WatchIdentity(address: RigWatch.address, personality: personality)
        var configuration = WatchConfiguration(identity: identity, personality: personality)
        if let pause { configuration.subscriptionPause = pause }
        let watch = try RigWatch(configuration, seed: 1)
        var rig = try RigPair(connecting: watch, RigPhone(address: 0x11, seed: 2), seed: 3)
        try rig.pair()
        rig.onPhone { phone, _ in phone.received = [] }
        return rig
    }

    private func subscribe(_ rig: inout RigPair, _ subscription: Subscription = .notifications) throws {
        try rig.onPhone { phone, now in
            let procedure = GATTProcedure.subscribe(clientConfiguration: Self.configurationHandle, subscription)
            try phone.perform(procedure, at: now)
        }
    }

    /// How long after the watch has heard of the subscription its first Reset Request is handed on.
    private func pause(in rig: inout RigPair) throws -> Duration {
        let heard = rig.runUntilWatch(within: .seconds(1)) { watch in
            guard let connection = watch.host.links.keys.first else { return false }
            return !watch.host.core.host.gatt.subscription(to: Self.data, on: connection).isEmpty
        }
        try #require(heard != nil)
        let start = rig.now
        let sent = rig.runUntilWatch(within: .seconds(5)) { $0.resetRequestCount == 1 }
        try #require(sent != nil)
        return rig.now - start
    }

    @Test(arguments: [nil, .milliseconds(400), .seconds(2)] as [Duration?])
    func theFirstPacketComesWhenThePauseEnds(configured: Duration?) throws {
        var rig = try paired(pause: configured)
        try subscribe(&rig)
        #expect(try pause(in: &rig) == configured ?? .milliseconds(250))
        rig.run(for: .seconds(1))
        #expect(rig.onPhone { phone, _ in phone.received.map(\.handle) } == [Self.data])
    }

    @Test func withoutAPauseItComesAtOnce() throws {
        var rig = try paired(pause: .zero)
        try subscribe(&rig)
        #expect(try pause(in: &rig) == .zero)
    }

    /// Each subscription that is written gets its own pause, and a session that was there is closed without a packet.
    @Test func subscribingAgainBeginsAgain() throws {
        var rig = try paired()
        try subscribe(&rig)
        _ = try pause(in: &rig)
        rig.run(for: .milliseconds(100))
        rig.onPhone { phone, _ in phone.received = [] }
        try subscribe(&rig)
        let isPaused = rig.runUntilWatch(within: .seconds(1)) { watch in
            watch.host.links.values.contains { $0.transports.pause != nil }
        }
        try #require(isPaused != nil)
        let start = rig.now
        rig.run(for: .milliseconds(249))
        #expect(rig.onPhone { phone, _ in phone.received.isEmpty })
        rig.runUntilWatch(within: .seconds(1)) { $0.resetRequestCount == 1 }
        #expect(rig.now - start == .milliseconds(250))
    }

    @Test func unsubscribingInThePauseLeavesNothingToSend() throws {
        var rig = try paired()
        try subscribe(&rig)
        rig.run(for: .milliseconds(100))
        try subscribe(&rig, [])
        rig.run(for: .seconds(10))
        #expect(rig.onPhone { phone, _ in phone.received.isEmpty })
        #expect(rig.onWatch { watch, _ in watch.host.links.values.allSatisfy { $0.transports.pause == nil } })
    }

    /// Other packets of the watch do not wait, and the phone's requests are answered.
    @Test func theRestGoesOn() throws {
        var rig = try paired()
        try subscribe(&rig)
        rig.run(for: .milliseconds(60))
        try rig.onPhone { phone, now in
            phone.responses = []
            try phone.perform(.read(AttributeHandle(rawValue: 0x0019)), at: now)
        }
        rig.run(for: .milliseconds(120))
        #expect(rig.onPhone { phone, _ in phone.responses.count } == 1)
        #expect(rig.onPhone { phone, _ in phone.received.isEmpty })
    }

    /// On V2 the phone begins, so that no packet comes by itself, and an answer does not wait.
    @Test func wherePhonesBeginThereIsNoPause() throws {
        var rig = try paired(.universal)
        let configuration = AttributeHandle(rawValue: 0x002C)
        try rig.onPhone { phone, now in
            try phone.perform(.subscribe(clientConfiguration: configuration, .notifications), at: now)
        }
        rig.run(for: .milliseconds(100))
        #expect(rig.onPhone { phone, _ in phone.received.isEmpty })
        try rig.onPhone { phone, now in
            let connection = try #require(phone.connection)
            let packet: [UInt8] = [0x02, 0x01]
            let handle = AttributeHandle(rawValue: 0x002E)
            try phone.host.gatt.writeWithoutResponse(packet[...], to: handle, on: connection, at: now)
        }
        rig.run(for: .milliseconds(120))
        #expect(rig.onPhone { phone, _ in phone.received.count } == 1)
    }

    /// A phone that never answers resets over the watch's own service is given up in the time that Pebble 2 takes, which asks
    /// nine times.
    @Test func aPhoneThatNeverAnswersIsGivenUpInTime() throws {
        var rig = try paired()
        try subscribe(&rig)
        _ = try pause(in: &rig)
        let start = rig.now
        let time = rig.runUntilPhone(within: .seconds(60)) { $0.connection == nil }
        try #require(time != nil)
        #expect((.seconds(52)...(.seconds(54))).contains(rig.now - start), "\(rig.now - start)")
        #expect(rig.onPhone { phone, _ in phone.received.filter { $0.value.first == 0x02 }.count } == 9)
    }

    // MARK: The pause itself

    @Test func aSlowLinkHasALongerOne() {
        func end(_ spacing: Duration) -> Duration {
            SubscriptionPause(SubscriptionPause.usual, eventSpacing: spacing, at: .seconds(1)).end - .seconds(1)
        }
        #expect(end(.milliseconds(45)) == .milliseconds(250))
        #expect(end(.milliseconds(100)) == .milliseconds(400))
        #expect(end(.seconds(2)) == SubscriptionPause.limit)
    }

    @Test func itLastsAsLongAsThePhoneMayWaitForItsResponse() {
        var pause = SubscriptionPause(.milliseconds(250), eventSpacing: .milliseconds(15), at: .zero)
        let isOverBefore = pause.isOver(at: .milliseconds(249), hasUnsentData: false)
        let isOverUnanswered = pause.isOver(at: .milliseconds(250), hasUnsentData: true)
        #expect(!isOverBefore && !isOverUnanswered)
        #expect(pause.end == .milliseconds(500))
        var copy = pause
        let isOverAnswered = copy.isOver(at: .milliseconds(500), hasUnsentData: false)
        #expect(isOverAnswered)
        var rounds = 0
        while !pause.isOver(at: pause.end, hasUnsentData: true) { rounds += 1 }
        #expect(pause.end == SubscriptionPause.limit, "a link that is always busy gets its session all the same")
        #expect(rounds < 10)
    }
}

extension RigWatch {
    /// How many Reset Requests the present transport over the watch's own service has sent.
    fileprivate var resetRequestCount: UInt64 {
        host.links.values.first { _ in true }?.transports[.reversed]?.link.statistics.sentResetRequests ?? 0
    }
}
