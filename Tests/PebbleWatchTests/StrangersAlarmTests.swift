import BluetoothHCI
import Testing

@testable import PebbleWatch

/// When the watch says that strangers are turned away, and that they have gone.
@Suite struct StrangersAlarmTests {
    private static func handle(_ number: UInt16) throws -> ConnectionHandle {
        try #require(ConnectionHandle(rawValue: number))
    }

    /// A watch that waits for its phone, while this many strangers are connected.
    private static func tenure(strangers: ClosedRange<UInt16>, at now: Duration) throws -> LinkTenure {
        var tenure = LinkTenure()
        tenure.controllerReady(canWaitBeside: true)
        tenure.rules = .owned
        for number in strangers {
            let address = LEAddress.random(DeviceAddress(staticRandomFrom: UInt64(number)))
            _ = tenure.connected(try handle(number), address, isKnown: false, at: now)
        }
        return tenure
    }

    private static func advance(_ tenure: inout LinkTenure, to now: Duration) -> [RecoveryEvent] {
        tenure.advance(to: now) { _ in LinkTenure.Conduct(lastProgress: nil, isPairing: false) }
        var events: [RecoveryEvent] = []
        while let event = tenure.nextEvent() { events.append(event) }
        return events
    }

    @Test func theyHaveGoneTenSecondsAfterTheLastOfThem() throws {
        // Two may stay; the third, the fourth and the fifth are turned away.
        var tenure = try Self.tenure(strangers: 1...5, at: .seconds(1))
        #expect(Self.advance(&tenure, to: .seconds(1)) == [.strangersTurnedAway], "said once")
        for number: UInt16 in 3...5 { tenure.disconnected(try Self.handle(number), at: .seconds(2)) }
        tenure.disconnected(try Self.handle(1), at: .seconds(3))
        #expect(Self.advance(&tenure, to: .seconds(15)).isEmpty, "one is still here")
        #expect(tenure.isAlarmed(at: .seconds(15)))
        tenure.disconnected(try Self.handle(2), at: .seconds(20))
        #expect(Self.advance(&tenure, to: .milliseconds(29_999)).isEmpty)
        #expect(tenure.nextDeadline == .seconds(30))
        #expect(Self.advance(&tenure, to: .seconds(30)) == [.strangersGone(turnedAway: 3)])
        #expect(tenure.isIdle && tenure.turnedAwayCount == 3)
        // The next time is counted by itself.
        for number: UInt16 in 11...13 {
            let address = LEAddress.random(DeviceAddress(staticRandomFrom: UInt64(number)))
            _ = tenure.connected(try Self.handle(number), address, isKnown: false, at: .seconds(1000))
        }
        for number: UInt16 in 11...13 { tenure.disconnected(try Self.handle(number), at: .seconds(1001)) }
        #expect(
            Self.advance(&tenure, to: .seconds(1011)) == [.strangersTurnedAway, .strangersGone(turnedAway: 1)]
        )
    }

    /// A link that came to a watch where plain links may stay is measured by the rules that hold now.
    @Test func whoCameWithoutALimitHasTheLimitOfNewRules() throws {
        var tenure = LinkTenure()
        tenure.controllerReady(canWaitBeside: true)
        tenure.rules = .unlimited
        let address = LEAddress.random(DeviceAddress(staticRandomFrom: 1))
        _ = tenure.connected(try Self.handle(1), address, isKnown: false, at: .zero)
        _ = Self.advance(&tenure, to: .seconds(5))
        #expect(tenure.nextDeadline == nil && tenure.nextEnd() == nil)
        tenure.rules = .owned
        _ = Self.advance(&tenure, to: .seconds(10))
        #expect(tenure.nextDeadline == .seconds(30), "since it came")
        #expect(tenure.nextEnd() == nil)
        _ = Self.advance(&tenure, to: .seconds(30))
        let next = tenure.nextEnd()
        let end = try #require(next)
        #expect(end.handle == (try Self.handle(1)) && end.end == .notEncrypted(after: .seconds(30)))
    }

    @Test func nobodyWhoWasTurnedAwayIsNobodyWhoHasGone() throws {
        var tenure = try Self.tenure(strangers: 1...2, at: .seconds(1))
        for number: UInt16 in 1...2 { tenure.disconnected(try Self.handle(number), at: .seconds(2)) }
        #expect(Self.advance(&tenure, to: .seconds(12)).isEmpty)
        #expect(tenure.isIdle)
    }
}
