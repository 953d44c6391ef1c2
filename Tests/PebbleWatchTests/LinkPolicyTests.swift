import BluetoothHCI
import PebbleProtocol
import Testing

@testable import BluetoothHost
@testable import PebbleWatch

/// The link policy alone, in virtual time: its actions, their times, and its events.
@Suite struct LinkPolicyTests {
    private static let everything = LinkPolicy.Abilities(maximumLength: .maximum, has2M: true)
    private static let bothWays2M = PHYPreferences(transmit: .le2M, receive: .le2M)

    /// A link and its policy; times count from the connection.
    private struct Link {
        var policy: LinkPolicy
        var now: Duration = .seconds(100)
        private(set) var did: [Done] = []

        struct Done: Equatable, CustomStringConvertible {
            let milliseconds: Int
            let action: LinkPolicy.Action
            var description: String { "\(milliseconds) ms: \(action)" }
        }

        init(
            interval: Double = 30,
            latency: UInt16 = 0,
            timeout: Double = 720,
            abilities: LinkPolicy.Abilities = LinkPolicyTests.everything,
            profile: LinkProfile = .pebble
        ) {
            let peer = LEAddress.random(DeviceAddress(0xD0_01_02_03_04_05))
            let connection = Connection(
                handle: 0x40,
                role: .peripheral,
                peer: peer,
                peerAddressOnAir: peer,
                ownAddress: peer,
                interval: .milliseconds(interval),
                latency: latency,
                supervisionTimeout: .milliseconds(timeout)
            )
            policy = LinkPolicy(connection, abilities: abilities, profile: profile, at: now)
        }

        /// Runs to a time after the connection, taking actions at the moment at which they are due.
        mutating func run(toMilliseconds end: Int) {
            let end = Duration.seconds(100) + .milliseconds(end)
            collect()
            while let deadline = policy.nextDeadline, deadline <= end {
                now = max(now, deadline)
                policy.advance(to: now)
                collect()
            }
            now = end
            policy.advance(to: now)
            collect()
        }

        mutating func collect() {
            while let action = policy.nextAction() {
                let elapsed = now - .seconds(100)
                did.append(Done(milliseconds: Int(elapsed / .milliseconds(1)), action: action))
            }
        }

        mutating func events() -> [LinkEvent] {
            var events: [LinkEvent] = []
            while let event = policy.nextEvent() { events.append(event) }
            return events
        }

        mutating func set(
            interval: Double,
            latency: UInt16,
            timeout: Double = 6000,
            subrating: LinkSubrating = .none
        ) {
            policy.parametersChanged(
                interval: .milliseconds(interval),
                latency: latency,
                supervisionTimeout: .milliseconds(timeout),
                subrating: subrating,
                at: now
            )
            collect()
        }

        /// The requests for parameters: when, and which.
        var requests: [Done] {
            did.filter { if case .requestParameters = $0.action { true } else { false } }
        }

        mutating func forget() { did = [] }
    }

    private static func parameters(_ shortest: Double, _ longest: Double, _ latency: UInt16) -> ConnectionParameters {
        ConnectionParameters(
            intervalMinimum: .milliseconds(shortest),
            intervalMaximum: .milliseconds(longest),
            latency: latency,
            supervisionTimeout: .milliseconds(6000)
        )
    }

    private static let slow = LinkPolicy.Action.requestParameters(parameters(30, 45, 3))
    private static let fast = LinkPolicy.Action.requestParameters(parameters(15, 15, 0))

    private static func at(_ milliseconds: Int, _ action: LinkPolicy.Action) -> Link.Done {
        Link.Done(milliseconds: milliseconds, action: action)
    }

    // MARK: Preparing

    @Test func featuresThenLengthThenMTUAnd2M() {
        var link = Link()
        #expect(link.did.isEmpty && !link.policy.isReadyForMTUExchange)
        link.run(toMilliseconds: 40)
        link.policy.remoteFeaturesRead([.dataPacketLengthExtension, .le2MPHY], at: link.now)
        link.collect()
        #expect(link.did == [Self.at(40, .setDataLength(.maximum))])
        #expect(!link.policy.isReadyForMTUExchange, "packets are still short")
        link.run(toMilliseconds: 100)
        link.policy.dataLengthChanged(transmit: .maximum, receive: .maximum, at: link.now)
        link.collect()
        #expect(link.policy.isReadyForMTUExchange)
        #expect(link.did.last == Self.at(100, .setPHY(Self.bothWays2M)) && link.did.count == 2)
        let radio = LinkPHYs(transmit: .le2M, receive: .le2M)
        link.policy.phyChanged(.success(radio), at: link.now)
        link.run(toMilliseconds: 900)
        #expect(link.did.count == 2)
        #expect(link.events() == [.dataLength(transmit: .maximum, receive: .maximum), .phys(radio)])
    }

    @Test func aPhoneWithoutEitherIsAskedForNeither() {
        var link = Link()
        link.policy.remoteFeaturesRead([.encryption], at: link.now)
        link.run(toMilliseconds: 900)
        #expect(link.did.isEmpty && link.policy.isReadyForMTUExchange)
    }

    @Test func aControllerWithoutEitherAsksForNeither() {
        var link = Link(abilities: LinkPolicy.Abilities())
        link.policy.remoteFeaturesRead([.dataPacketLengthExtension, .le2MPHY], at: link.now)
        link.run(toMilliseconds: 900)
        #expect(link.did.isEmpty && link.policy.isReadyForMTUExchange)
    }

    @Test func aPhoneThatDoesNotSayWhatItCanIsTried() {
        var link = Link()
        link.policy.remoteFeaturesRead(nil, at: link.now)
        link.collect()
        #expect(link.did == [Self.at(0, .setDataLength(.maximum))])
    }

    /// A missing answer does not hold up the MTU exchange: each step waits for one second at most.
    @Test func silenceHoldsUpNothing() {
        var link = Link(interval: 40, latency: 3, timeout: 6000)
        link.run(toMilliseconds: 10_000)
        #expect(
            link.did == [Self.at(1000, .setDataLength(.maximum)), Self.at(2000, .setPHY(Self.bothWays2M))]
        )
        #expect(link.policy.isReadyForMTUExchange)
        #expect(link.policy.nextDeadline == nil)
    }

    @Test func aPhoneThatWasFasterIsNotAskedAgain() {
        var link = Link()
        link.policy.dataLengthChanged(transmit: .maximum, receive: .maximum, at: link.now)
        link.policy.phyChanged(.success(LinkPHYs(transmit: .le2M, receive: .le2M)), at: link.now)
        link.policy.remoteFeaturesRead([.dataPacketLengthExtension, .le2MPHY], at: link.now)
        link.run(toMilliseconds: 900)
        #expect(link.did.isEmpty && link.policy.isReadyForMTUExchange)
    }

    @Test func aRadioThatStaysAt1MEndsThePreparation() {
        var link = Link(interval: 40, latency: 3, timeout: 6000)
        link.policy.remoteFeaturesRead([.le2MPHY], at: link.now)
        link.policy.phyChanged(.failure(.unsupportedRemoteFeature), at: link.now)
        #expect(link.events() == [.phyRefused(.unsupportedRemoteFeature)])
        #expect(link.policy.nextDeadline == nil)
    }

    // MARK: Pacing

    /// iOS begins with 30 ms, latency 0 and 720 ms. Asked one second later, then every five seconds, three times.
    @Test func threeAttemptsFromOneSecondOn() {
        var link = Link(abilities: LinkPolicy.Abilities())
        link.run(toMilliseconds: 60_000)
        #expect(link.did == [Self.at(1000, Self.slow), Self.at(6000, Self.slow), Self.at(11_000, Self.slow)])
        let wanted = Self.parameters(30, 45, 3)
        #expect(
            link.events() == [
                .requested(wanted, attempt: 1), .requested(wanted, attempt: 2), .requested(wanted, attempt: 3),
                .gaveUp(.slow, attempts: 3),
            ]
        )
        #expect(link.policy.nextDeadline == nil, "a policy that gave up has nothing to wake up for")
    }

    @Test func grantedIsNotAskedForAgain() {
        var link = Link(abilities: LinkPolicy.Abilities())
        link.run(toMilliseconds: 1200)
        link.set(interval: 30, latency: 3)
        link.run(toMilliseconds: 60_000)
        #expect(link.did == [Self.at(1000, Self.slow)])
    }

    /// A link with the wanted parameters is left alone, unless its supervision timeout is so short that links get lost.
    @Test(arguments: [(30.0, 3, 6000.0, true), (45, 3, 2000, true), (30, 3, 720, false), (28.75, 3, 6000, false)])
    func match(_ interval: Double, _ latency: UInt16, _ timeout: Double, _ isMatch: Bool) {
        var link = Link(interval: interval, latency: latency, timeout: timeout, abilities: LinkPolicy.Abilities())
        link.run(toMilliseconds: 1000)
        #expect(link.did.isEmpty == isMatch)
    }

    /// The consumers' table: fast at once, for exactly so long, then slow at once.
    @Test(arguments: [
        (SpeedConsumer.discovery, 30), (.pairing, 40), (.appMessage, 10), (.voice, 10), (.objectTransfer, 60),
        (.shortTransfer, 5), (.phone, 300),
    ])
    func eachConsumerHasItsTime(_ consumer: SpeedConsumer, _ seconds: Int) {
        var link = Link(interval: 45, latency: 3, timeout: 6000, abilities: LinkPolicy.Abilities())
        link.run(toMilliseconds: 5000)
        link.policy.need(consumer, at: link.now)
        link.collect()
        #expect(link.did == [Self.at(5000, Self.fast)])
        link.set(interval: 15, latency: 0)
        link.run(toMilliseconds: 5000 + seconds * 1000 - 1)
        #expect(link.did.count == 1)
        link.run(toMilliseconds: 5000 + seconds * 1000)
        #expect(link.did.last == Self.at(5000 + seconds * 1000, Self.slow))
    }

    @Test func speedIsNotAskedForInTheFirstSecond() {
        var link = Link(abilities: LinkPolicy.Abilities())
        link.policy.need(.discovery, at: link.now)
        link.run(toMilliseconds: 999)
        #expect(link.did.isEmpty)
        link.run(toMilliseconds: 1000)
        #expect(link.did == [Self.at(1000, Self.fast)])
    }

    @Test func whoHasFinishedIsFastForTwoMoreSeconds() {
        var link = Link(interval: 15, abilities: LinkPolicy.Abilities())
        link.policy.need(.objectTransfer, at: link.now)
        link.set(interval: 15, latency: 0)
        link.run(toMilliseconds: 20_000)
        link.policy.release(.objectTransfer, at: link.now)
        link.run(toMilliseconds: 26_999)
        #expect(link.did == [Self.at(22_000, Self.slow)])
    }

    /// A release never makes a need longer.
    @Test func releasingIsNeverAnExtension() {
        var link = Link(interval: 15, abilities: LinkPolicy.Abilities())
        link.policy.need(.shortTransfer, at: link.now)
        link.set(interval: 15, latency: 0)
        link.run(toMilliseconds: 4500)
        link.policy.release(.shortTransfer, at: link.now)
        link.run(toMilliseconds: 9999)
        #expect(link.did == [Self.at(5000, Self.slow)])
    }

    @Test func theFastestNeedWins() {
        var link = Link(interval: 40, latency: 3, timeout: 6000, abilities: LinkPolicy.Abilities())
        link.run(toMilliseconds: 2000)
        link.policy.need(.phone, .slow, at: link.now)
        #expect(link.did.isEmpty)
        link.policy.need(.shortTransfer, at: link.now)
        link.policy.need(.appMessage, at: link.now)
        link.collect()
        link.set(interval: 15, latency: 0)
        link.run(toMilliseconds: 40_000)
        #expect(
            link.did == [
                Self.at(2000, Self.fast), Self.at(12_000, Self.slow), Self.at(17_000, Self.slow),
                Self.at(22_000, Self.slow),
            ]
        )
        let said = link.events().filter { if case .responseTime = $0 { true } else { false } }
        #expect(said == [.responseTime(.fast, for: [.shortTransfer]), .responseTime(.slow, for: [.phone])])
    }

    /// Each response time has its own three attempts.
    @Test func anotherResponseTimeIsAskedForAfresh() {
        var link = Link(abilities: LinkPolicy.Abilities())
        link.run(toMilliseconds: 20_000)
        link.forget()
        link.policy.need(.objectTransfer, at: link.now)
        link.run(toMilliseconds: 79_999)
        #expect(link.did == [Self.at(20_000, Self.fast), Self.at(25_000, Self.fast), Self.at(30_000, Self.fast)])
        link.forget()
        link.run(toMilliseconds: 120_000)
        #expect(link.did == [Self.at(80_000, Self.slow), Self.at(85_000, Self.slow), Self.at(90_000, Self.slow)])
    }

    /// A refusal changes nothing about when the phone is asked next, and is told.
    @Test func refusalsAreTold() {
        var link = Link(abilities: LinkPolicy.Abilities())
        link.run(toMilliseconds: 1000)
        link.policy.parametersRefused(.rejectedByPeer)
        link.run(toMilliseconds: 6000)
        #expect(link.did == [Self.at(1000, Self.slow), Self.at(6000, Self.slow)])
        let wanted = Self.parameters(30, 45, 3)
        #expect(
            link.events() == [
                .requested(wanted, attempt: 1), .refused(.rejectedByPeer), .requested(wanted, attempt: 2),
            ]
        )
    }

    /// A phone that changes the parameters by itself is asked again, but not for ever.
    @Test func whatThePhoneSetsItselfStandsInTheEnd() {
        var link = Link(abilities: LinkPolicy.Abilities())
        for second in stride(from: 1, through: 601, by: 10) {
            link.run(toMilliseconds: second * 1000)
            link.set(interval: 30, latency: 3)
            link.run(toMilliseconds: (second + 8) * 1000)
            link.set(interval: 90, latency: 0)
        }
        #expect(link.did == [Self.at(1000, Self.slow), Self.at(9000, Self.slow), Self.at(19_000, Self.slow)])
    }

    /// A phone that subrates has chosen how much the link sleeps: it is asked for nothing while nobody needs speed. With continuation
    /// events the link is fast while data moves; without any, speed is asked for, and the phone's answer ends subrating.
    @Test func aPhoneThatSubratesIsLeftAloneWhileNobodyNeedsSpeed() {
        var link = Link(abilities: LinkPolicy.Abilities())
        link.set(interval: 15, latency: 0, subrating: LinkSubrating(factor: 10, continuationNumber: 2))
        link.run(toMilliseconds: 20_000)
        link.policy.need(.appMessage, at: link.now)
        link.run(toMilliseconds: 40_000)
        #expect(link.did.isEmpty)
        link.set(interval: 15, latency: 0, subrating: LinkSubrating(factor: 10, continuationNumber: 0))
        link.run(toMilliseconds: 50_000)
        #expect(link.did.isEmpty)
        link.policy.need(.appMessage, at: link.now)
        link.run(toMilliseconds: 51_000)
        #expect(link.did == [Self.at(50_000, Self.fast)])
        let said = link.events().compactMap { event in
            if case .parameters = event { "\(event)" } else { nil }
        }
        #expect(
            said == [
                "the phone set interval 15 ms, latency 0, supervision timeout 6.0 seconds, subrate factor 10, continuation number 2",
                "the phone set interval 15 ms, latency 0, supervision timeout 6.0 seconds, subrate factor 10, continuation number 0",
            ]
        )
    }

    @Test func aPhoneThatManagesIsAskedForNothing() {
        var link = Link(timeout: 2000, abilities: LinkPolicy.Abilities())
        link.policy.setManagedByPhone(true, at: link.now)
        link.policy.need(.objectTransfer, at: link.now)
        link.run(toMilliseconds: 50_000)
        #expect(link.did.isEmpty)
        link.policy.setManagedByPhone(false, at: link.now)
        link.collect()
        #expect(link.did == [Self.at(50_000, Self.fast)])
        #expect(link.events().first == .phoneManages(true))
    }

    @Test func whatThePhoneWantsToBeAskedFor() {
        var link = Link(interval: 40, latency: 3, timeout: 6000, abilities: LinkPolicy.Abilities())
        link.run(toMilliseconds: 5000)
        let slow = Self.parameters(90, 105, 4)
        let own = LinkProfile(name: "own", rules: .apple, slow: slow, middle: slow, fast: Self.parameters(30, 45, 0))
        link.policy.use(own, at: link.now)
        link.collect()
        #expect(link.did == [Self.at(5000, .requestParameters(slow))])
    }

    /// An app that says so cannot change the 720 ms that iOS begins with.
    @Test func aPhoneThatManagesIsAskedForALongerTimeoutAllTheSame() {
        var link = Link(timeout: 720, abilities: LinkPolicy.Abilities())
        link.policy.setManagedByPhone(true, at: link.now)
        link.run(toMilliseconds: 1500)
        #expect(link.did == [Self.at(1000, Self.slow)])
        link.set(interval: 60, latency: 0)
        link.run(toMilliseconds: 50_000)
        #expect(link.did == [Self.at(1000, Self.slow)], "the rest is up to the phone")
    }

    /// A request that a phone would refuse is not sent, and that is reported once.
    @Test func whatThePhoneWouldRefuseIsNotAskedFor() {
        let profile = LinkProfile(
            name: "of the original firmware",
            rules: .apple,
            slow: Self.parameters(168.75, 201.25, 0),
            middle: Self.parameters(168.75, 201.25, 0),
            fast: Self.parameters(11.25, 21.25, 0)
        )
        var link = Link(abilities: LinkPolicy.Abilities(), profile: profile)
        link.run(toMilliseconds: 5000)
        link.policy.need(.shortTransfer, at: link.now)
        link.run(toMilliseconds: 9000)
        #expect(link.did.isEmpty)
        let refusals = link.events().filter { if case .notRequested = $0 { true } else { false } }
        #expect(
            refusals == [
                .notRequested(Self.parameters(168.75, 201.25, 0), .intervalOffGrid(.milliseconds(15))),
                .notRequested(Self.parameters(11.25, 21.25, 0), .intervalTooShort(minimum: .milliseconds(15))),
            ]
        )
        #expect(link.policy.nextDeadline == .seconds(110), "only the need has an end to wait for")
    }

    /// Before its deadline, time changes nothing.
    @Test func timeBeforeTheDeadlineDoesNothing() {
        var link = Link(abilities: LinkPolicy.Abilities())
        link.policy.remoteFeaturesRead([], at: link.now)
        #expect(link.policy.nextDeadline == .seconds(101))
        link.policy.advance(to: .seconds(101) - .nanoseconds(1))
        #expect(link.policy.nextAction() == nil && link.policy.nextEvent() == nil)
    }
}
