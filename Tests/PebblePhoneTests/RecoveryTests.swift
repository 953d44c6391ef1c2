import AirSimulator
import BluetoothHCI
import BluetoothHost
import PebblePhone
import PebbleProtocol
import SeededRandomness
import Testing

@testable import PebbleWatch

/// Every fault between a watch and its phone, in any order, is noticed and reported with a reason, and afterwards the
/// session comes back by itself.
@Suite struct RecoveryTests {
    /// How long after the last fault the phone has a session again: a link that is lost is noticed after 6 s at most, a
    /// transport that hangs after 24 s, and the phone waits for up to a second before it comes back.
    static let patience: Duration = .seconds(60)

    /// What the watch reports of each fault, and within which time of its end the session is there again.
    private static let expectations: [(Fault, HCIStatus?, Duration)] = [
        (.outOfRange, .connectionTimeout, .seconds(4)),
        (.phoneRadioOff, .remoteUserTerminatedConnection, .seconds(4)),
        (.phoneReboot, .connectionTimeout, .seconds(4)),
        (.hardwareError, .hardwareFailure, .seconds(10)),
        (.controllerUnreachable, .hardwareFailure, .seconds(10)),
        (.watchDisconnects, .connectionTerminatedByLocalHost, .seconds(4)),
    ]

    private func connected(seed: UInt64 = 1, _ transport: PhoneTransport) throws -> FaultyAir {
        var air = try FaultyAir(seed: seed, transport: transport)
        let time = air.runToSession(within: .seconds(60))
        try #require(time != nil, "seed \(seed)")
        air.run(for: .seconds(30))
        return air
    }

    @Test(arguments: expectations, [PhoneTransport.forward, .reversed])
    func aFaultIsToldAndComesRight(
        expectation: (fault: Fault, reason: HCIStatus?, limit: Duration),
        transport: PhoneTransport
    ) throws {
        var air = try connected(transport)
        let start = air.now
        air.begin(expectation.fault)
        if !expectation.fault.isMomentary { air.run(for: .seconds(20)) }
        air.end(expectation.fault)
        let end = air.now
        // The old session, which may take a moment to end, does not count.
        air.run(for: expectation.fault.isMomentary ? .seconds(1) : .milliseconds(10))
        let back = air.runToSession(within: Self.patience)
        let time = try #require(back, "\(expectation.fault)")
        #expect(time <= expectation.limit, "\(expectation.fault): back after \(time)")
        air.run(for: .seconds(5))
        let ended = air.lastDisconnection
        let last = try #require(ended)
        #expect(last.reason == expectation.reason)
        #expect(last.time >= start)
        #expect(last.phone == .random(FaultyPhone.address))
        #expect(last.linkDuration >= .seconds(30))
        let absence = try #require(last.absence)
        #expect(last.time + absence >= end, "the phone was not back before the fault was over")
        let wasMeant = expectation.fault == .watchDisconnects
        #expect(last.cause == (wasMeant ? .command : nil))
        let told = air.onWatch { watch, _ in watch.recoveries }
        #expect(told.contains(.phoneIsBack(last.phone, after: absence)))
        switch expectation.fault {
        case .hardwareError: #expect(told.contains(.controllerRestarting(.hardwareError(code: 0x42))))
        case .controllerUnreachable: #expect(told.contains(.controllerLost))
        default: #expect(last.remedy == .advertises(.reconnection, every: .apple20))
        }
    }

    /// While the controller is gone, the watch says so, and has no link.
    @Test func withoutItsControllerTheWatchKnowsThatNobodyIsThere() throws {
        var air = try connected(.forward)
        air.begin(.controllerUnreachable)
        let status = air.onWatch { watch, _ in watch.host.status }
        #expect(!status.isReady && status.links.isEmpty && status.sessions.isEmpty)
        #expect(status.onAir.silence == .controllerNotReady)
        #expect(status.lastDisconnection?.remedy == .awaitsController)
    }

    /// A phone whose app hangs is reset, upon which this phone ends the link, as libpebble3 does; then it is disconnected
    /// twice, and then not reset until it sends a packet.
    @Test(arguments: [PhoneTransport.forward])
    func anAppThatHangsIsResetThenDisconnectedThenLeftInPeace(transport: PhoneTransport) throws {
        var air = try connected(transport)
        let dictionary = try AppMessageDictionary([AppMessageTuple(key: 1, value: .uint8(1))])
        air.begin(.phoneAppHangs)
        // The watch speaks first: it asks, and the phone does not acknowledge.
        air.onWatch { watch, now in watch.perform(.sendAppMessage(dictionary), at: now) }
        air.run(for: .seconds(300))
        let told = air.onWatch { watch, _ in watch.recoveries }
        let causes = told.compactMap { event -> Disconnection.Cause? in
            if case .linkEnded(let disconnection) = event { disconnection.cause } else { nil }
        }
        #expect(causes.count == 2, "\(told)")
        #expect(causes.allSatisfy { if case .transport = $0 { true } else { false } }, "\(causes)")
        #expect(told.contains { if case .transportStalled = $0 { true } else { false } }, "\(told)")
        let connections = air.onWatch { watch, _ in watch.connectionCount }
        #expect(connections == 4, "the fourth link stays")
        air.end(.phoneAppHangs)
        // The phone begins, as after a restart of its app.
        air.onPhone { phone, now in phone.setRadio(isOn: false, at: now) }
        air.run(for: .seconds(1))
        air.onPhone { phone, now in phone.setRadio(isOn: true, at: now) }
        let time = air.runToSession(within: Self.patience)
        #expect(time != nil)
    }

    /// A phone that connects and drops in a loop, for ten minutes: the watch takes a link a second at most after the first
    /// thirty, its log has a bounded number of lines, and once the phone is well it has its session.
    @Test(arguments: [AdvertisingProfile.pebble, .apple, .saver])
    func aPhoneInALoopDoesNotKeepTheWatchBusy(profile: AdvertisingProfile) throws {
        var air = try FaultyAir(seed: 5, transport: .forward, profile: profile)
        let first = air.runToSession(within: .seconds(60))
        try #require(first != nil)
        let before = air.onWatch { watch, _ in (watch.connectionCount, watch.eventCount) }
        air.begin(.phoneChurns)
        air.begin(.watchDisconnects)
        air.run(for: .seconds(600))
        let after = air.onWatch { watch, _ in (watch.connectionCount, watch.eventCount) }
        let connections = after.0 - before.0
        #expect(connections > 100, "each is taken: \(connections)")
        #expect(connections <= LinkChurn.limit + 600, "\(connections) links in ten minutes")
        #expect(after.1 - before.1 <= 25 * connections, "\(after.1 - before.1) events of \(connections) links")
        let told = air.onWatch { watch, _ in watch.recoveries }
        #expect(told.count { $0 == .churning(true) } == 1)
        air.end(.phoneChurns)
        let time = air.runToSession(within: Self.patience)
        #expect(time != nil)
        air.run(for: .seconds(120))
        let last = air.onWatch { watch, _ in watch.recoveries.last }
        #expect(last == .churning(false))
    }

    /// A controller that fails as soon as it is started, for an hour.
    @Test func aControllerInALoopIsStartedLaterAndLater() throws {
        var air = try connected(.forward)
        let failures = 3600
        for _ in 0..<failures {
            air.begin(.hardwareError)
            air.run(for: .seconds(1))
        }
        let told = air.onWatch { watch, _ in watch.recoveries }
        let restarts = told.count { $0 == .controllerRestarting(.hardwareError(code: 0x42)) }
        #expect((100...140).contains(restarts), "every 30 s at last: \(restarts)")
        let time = air.runToSession(within: Self.patience)
        #expect(time != nil)
    }

    /// Faults in any order, of any length, and several at once. After the last of them the phone has its session, the watch
    /// has one of everything, and nothing was ever there twice.
    @Test(arguments: 1...24 as ClosedRange<UInt64>)
    func anyScheduleOfFaultsComesRight(seed: UInt64) throws {
        var random = SplitMix64(seed: seed &* 0x9E37)
        let transport = seed.isMultiple(of: 2) ? PhoneTransport.forward : .reversed
        var air = try connected(seed: seed, transport)
        var schedule: [String] = []
        var lasting: Set<Fault> = []
        for _ in 0..<12 {
            let fault = try #require(Fault.allCases.randomElement(using: &random))
            let span = Duration.milliseconds(Int.random(in: 1...30_000, using: &random))
            schedule.append("\(air.now): \(fault), then \(span)")
            if lasting.contains(fault) {
                air.end(fault)
                lasting.remove(fault)
            } else {
                air.begin(fault)
                if !fault.isMomentary { lasting.insert(fault) }
            }
            air.run(for: span)
        }
        // In a fixed order: a set's is another in each process.
        for fault in Fault.allCases where lasting.contains(fault) { air.end(fault) }
        air.run(for: .milliseconds(10))
        let time = air.runToSession(within: Self.patience)
        #expect(time != nil, "seed \(seed): no session after \(Self.patience)\n\(schedule.joined(separator: "\n"))")
        air.run(for: .seconds(10))
        let status = air.onWatch { watch, _ in watch.host.status }
        #expect(status.links.count == 1 && status.sessions.count == 1 && status.phones.count == 1, "seed \(seed)")
        #expect(status.links.allSatisfy { $0.security.isEncrypted && $0.security.isBonded }, "seed \(seed)")
        let most = air.onWatch { watch, _ in (watch.mostLinks, watch.mostSessions) }
        #expect(most.0 == 1 && most.1 == 1, "seed \(seed): \(most)")
    }
}
