import BluetoothHost
import ByteCoding
import Testing

@testable import PebbleWatch

/// The Current Time Service to the byte, and its client before a scripted phone, in virtual time.
@Suite struct CurrentTimeTests {
    private static let time = handle(0x52)
    private static let configuration = handle(0x53)
    private static let zone = handle(0x55)
    private static let handles = CurrentTimeClient.Handles(
        currentTime: time,
        configuration: configuration,
        localTimeInformation: zone
    )
    private static let subscription = GATTProcedure.subscribe(clientConfiguration: configuration, .notifications)

    /// Saturday, 1 March 2025, 12:34:56.5 on the wall.
    private static func value(reason: UInt8 = 0) -> [UInt8] { [0xE9, 0x07, 3, 1, 12, 34, 56, 6, 128, reason] }
    private static let seconds: UInt32 = 1_740_832_496

    @Test func aTime() throws {
        let time = try CurrentTime(Self.value(reason: 0x06)[...])
        #expect(time.localSeconds == Self.seconds)
        #expect(time.fraction == .milliseconds(500))
        #expect(time.reason == [.externalReference, .changeOfTimeZone])
    }

    @Test func impossibleTimes() {
        let changes: [(Int, UInt8)] = [
            (2, 0), (2, 13), (3, 0), (3, 32), (4, 24), (5, 60), (6, 60), (7, 8), (0, 0), (1, 0x27),
        ]
        for (index, byte) in changes {
            var value = Self.value()
            value[index] = byte
            // 0x0700 is the year 1792.
            #expect(throws: ByteDecodingError.self, "byte \(index) is \(byte)") { try CurrentTime(value[...]) }
        }
        for length in [0, 1, 9, 11] {
            let value = [UInt8](Self.value() + [0]).prefix(length)
            #expect(throws: ByteDecodingError.self) { try CurrentTime(value) }
        }
        #expect(throws: Never.self) { try CurrentTime([0xE8, 0x07, 2, 29, 0, 0, 0, 0, 0, 0]) }
        #expect(throws: ByteDecodingError.self) { try CurrentTime([0xE9, 0x07, 2, 29, 0, 0, 0, 0, 0, 0]) }
    }

    @Test func zones() throws {
        func minutes(_ zone: Int8, _ daylightSaving: UInt8) throws -> Int? {
            try LocalTimeInformation([UInt8(bitPattern: zone), daylightSaving]).offsetMinutes
        }
        #expect(try minutes(4, 0) == 60)
        #expect(try minutes(4, 4) == 120)
        #expect(try minutes(-14, 4) == -150)
        #expect(try minutes(22, 0) == 330)
        #expect(try minutes(56, 0) == 840)
        #expect(try minutes(-48, 0) == -720)
        #expect(try minutes(-128, 0) == nil)
        #expect(try minutes(4, 255) == nil)
        #expect(throws: ByteDecodingError.self) { try minutes(57, 0) }
        #expect(throws: ByteDecodingError.self) { try minutes(-49, 0) }
        #expect(throws: ByteDecodingError.self) { try minutes(0, 1) }
        #expect(throws: ByteDecodingError.self) { try LocalTimeInformation([0]) }
        #expect(throws: ByteDecodingError.self) { try LocalTimeInformation([0, 0, 0]) }
    }

    private func rig(reason: UInt8 = 0) -> PhoneServiceRig<CurrentTimeClient> {
        var rig = PhoneServiceRig(CurrentTimeClient())
        rig.answer = { procedure in
            switch procedure {
            case .read(Self.zone): .success(.value([4, 0]))
            case .read(Self.time): .success(.value(Self.value()[...]))
            default: .success(.written)
            }
        }
        rig.now = .seconds(100)
        return rig
    }

    @Test func readsTheZoneThenTheTimeThenSubscribes() {
        var rig = rig()
        rig.client.serviceFound(Self.handles, at: rig.now)
        rig.run()
        #expect(rig.takeAsked() == [.read(Self.zone), .read(Self.time), Self.subscription])
        // Half of the second has passed already.
        let moment = Duration.milliseconds(99_500)
        #expect(rig.takeEvents() == [.time(localSeconds: Self.seconds, at: moment, offsetMinutes: 60)])
    }

    @Test func aPhoneThatHasOnlyTheTime() {
        var rig = rig()
        let handles = CurrentTimeClient.Handles(currentTime: Self.time, configuration: nil, localTimeInformation: nil)
        rig.client.serviceFound(handles, at: rig.now)
        rig.run()
        #expect(rig.takeAsked() == [.read(Self.time)])
        let moment = Duration.milliseconds(99_500)
        #expect(rig.takeEvents() == [.time(localSeconds: Self.seconds, at: moment, offsetMinutes: nil)])
    }

    @Test func notifications() {
        var rig = rig()
        rig.client.serviceFound(Self.handles, at: rig.now)
        rig.run()
        _ = (rig.takeAsked(), rig.takeEvents())
        rig.notify(Self.time, Self.value(reason: 0x01))
        #expect(rig.takeAsked().isEmpty)
        #expect(rig.takeEvents().count == 1)
        // In another zone, the zone is asked for first.
        rig.notify(Self.time, Self.value(reason: 0x04))
        #expect(rig.takeAsked() == [.read(Self.zone), .read(Self.time)])
        #expect(rig.takeEvents().count == 1)
        rig.notify(Self.time, [1, 2])
        let problem = ByteDecodingError("current_time.month", .truncated(needed: 1, available: 0))
        #expect(rig.takeEvents() == [.problem(.malformed(problem))])
    }

    @Test func refusals() {
        var rig = rig()
        rig.answer = { _ in .refused(.insufficientAuthentication) }
        rig.client.serviceFound(Self.handles, at: rig.now)
        rig.run()
        rig.wait(.seconds(60))
        #expect(rig.takeAsked().count == 6, "each twice")
        #expect(rig.takeEvents().count == 3)
        #expect(rig.client.nextDeadline == nil)
    }

    @Test func aPhoneThatDoesNotAnswer() {
        var rig = rig()
        rig.answer = { _ in nil }
        rig.client.serviceFound(Self.handles, at: rig.now)
        rig.run()
        rig.wait(.seconds(10))
        #expect(rig.takeEvents() == [.problem(.timedOut)])
        rig.client.serviceGone(at: rig.now)
        #expect(rig.client.nextDeadline == nil)
    }

    @Test func namesOfZones() {
        let names: [(Int, String)] = [
            (0, "UTC+0"), (60, "UTC+1"), (330, "UTC+5:30"), (-210, "UTC-3:30"), (545, "UTC+9:05"),
        ]
        for (minutes, name) in names { #expect(WatchClock.Zone(offsetMinutes: minutes).name == name) }
    }
}
