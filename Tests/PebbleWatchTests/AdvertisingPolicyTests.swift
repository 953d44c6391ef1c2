import BluetoothHCI
import PebbleWatch
import Testing

@Suite struct AdvertisingPolicyTests {
    private let fast = AdvertisingInterval(rawValue: 0x0020)
    private let slow = AdvertisingInterval(rawValue: 1635)

    @Test func discoveryIsFastForFiveMinutesThenSlowForEver() {
        var policy = AdvertisingPolicy(profile: .pebble)
        #expect(policy.onAir == nil)
        policy.start(.discovery, at: .seconds(7))
        #expect(policy.onAir == .init(job: .discovery, interval: fast))
        #expect(policy.nextDeadline == .seconds(307))
        policy.advance(to: .seconds(307) - .microseconds(1))
        #expect(policy.onAir?.interval == fast)
        policy.advance(to: .seconds(307))
        #expect(policy.onAir?.interval == slow)
        #expect(policy.nextDeadline == nil)
        policy.advance(to: .seconds(1_000_000))
        #expect(policy.onAir?.interval == slow)
    }

    @Test func startingAgainStartsTheFastTermAgain() {
        var policy = AdvertisingPolicy(profile: .pebble)
        policy.start(.discovery, at: .zero)
        policy.advance(to: .seconds(400))
        policy.start(.discovery, at: .seconds(400))
        #expect(policy.onAir?.interval == fast)
        #expect(policy.nextDeadline == .seconds(700))
    }

    @Test func nothingIsOnTheAirWhileConnectedAndTermsStandStill() {
        var policy = AdvertisingPolicy(profile: .pebble)
        policy.start(.discovery, at: .zero)
        policy.connected(at: .seconds(100))
        #expect(policy.onAir == nil)
        #expect(policy.nextDeadline == nil)
        policy.disconnected(at: .seconds(5000))
        #expect(policy.onAir?.interval == fast)
        #expect(policy.nextDeadline == .seconds(5200), "the 200 s that were left of the fast term")
    }

    @Test func twoJobsTakeTurnsOfOneSecond() {
        var policy = AdvertisingPolicy(profile: .pebble)
        policy.start(.reconnection, at: .zero)
        policy.start(.discovery, at: .zero)
        var seen: [AdvertisingPolicy.Job?] = []
        for second in 0..<4 {
            policy.advance(to: .seconds(second))
            seen.append(policy.onAir?.job)
        }
        #expect(seen == [.discovery, .reconnection, .discovery, .reconnection])
        policy.stop(.discovery, at: .seconds(4))
        #expect(policy.onAir?.job == .reconnection)
        #expect(policy.nextDeadline == .seconds(32), "reconnection has been on the air for two seconds of its thirty")
    }

    @Test func churnSkipsTheFastTerm() {
        var policy = AdvertisingPolicy(profile: .pebble)
        for attempt in 0..<3 {
            policy.start(.reconnection, at: .seconds(attempt))
            #expect(policy.onAir?.interval == fast)
            policy.stop(.reconnection, at: .seconds(attempt))
        }
        policy.start(.reconnection, at: .seconds(3))
        #expect(policy.onAir?.interval == slow, "the fourth start within a minute")
        policy.stop(.reconnection, at: .seconds(3))
        policy.start(.reconnection, at: .seconds(100))
        #expect(policy.onAir?.interval == fast, "the churn is over")
    }
}
