import AirSimulator
import BluetoothHost
import PebbleProtocol
import Testing

@testable import PebbleWatch

/// An app that never answers resets, on links where the watch remembers the phone's services and where it does not.
@Suite struct UnansweredResetTests {
    private typealias Rig = CompanionsRig

    /// A phone that was connected once, and comes back with a companion that is there and does not answer.
    private func returned(_ discovery: PhoneDiscovery, _ companions: [RigCompanion], mute: AttributeName) throws -> Rig
    {
        var rig = try Rig(companions, discovery: discovery)
        #expect(rig.companion(mute).openedCount == 1)
        try rig.comeBack { $0[mute].isMute = true }
        return rig
    }

    @Test(arguments: [PhoneDiscovery.remembering, .afresh])
    func itIsGivenUpInTheSameTime(discovery: PhoneDiscovery) throws {
        var rig = try returned(discovery, [RigCompanion("system", .system)], mute: "system")
        let time = rig.runUntilPhone(within: .seconds(100)) { $0.host.connection == nil }
        try #require(time != nil)
        let resets = rig.companion("system").unansweredResets
        #expect(resets.count == 4, "\(resets)")
        let elapsed = rig.now - (resets.first ?? .zero)
        #expect((.seconds(22)...(.seconds(24))).contains(elapsed), "\(elapsed)")
    }

    /// The next link does not rely on a remembered value that has led to no session.
    @Test func theNextLinkLooksAfresh() throws {
        var rig = try returned(.remembering, [RigCompanion("system", .system)], mute: "system")
        #expect(rig.remembered?.services.count == 1)
        rig.runUntilPhone(within: .seconds(100)) { $0.host.connection == nil }
        #expect(rig.remembered?.services.isEmpty == true)
        rig.run(for: .seconds(1))
        try rig.comeBack { $0["system"].isMute = false }
        rig.run(for: .seconds(5))
        rig.expectAlive("system", 1)
        #expect(rig.remembered?.services.count == 1)
    }

    /// It is given up alone where others have sessions, as often and as long.
    @Test(arguments: [PhoneDiscovery.remembering, .afresh])
    func theOthersGoOn(discovery: PhoneDiscovery) throws {
        let companions = [RigCompanion("system", .system), RigCompanion("one", Rig.first)]
        var rig = try returned(discovery, companions, mute: "one")
        rig.run(for: .seconds(60))
        #expect(rig.companion("one").unansweredResets.count == 4)
        #expect(rig.companion("one").transport == nil, "the watch has unsubscribed")
        rig.expectAlive("system", 1)
    }

    /// One that starts again in that time is opened then.
    @Test(arguments: [PhoneDiscovery.remembering, .afresh])
    func oneThatIsStartedAgainIsOpened(discovery: PhoneDiscovery) throws {
        var rig = try returned(discovery, [RigCompanion("system", .system)], mute: "system")
        rig.run(for: .seconds(15))
        try rig.onPhone { phone, _ in
            phone["system"].isMute = false
            try phone.replace("system")
        }
        rig.run(for: .seconds(3))
        rig.expectAlive("system", 1)
    }

    /// One that was started again at other handles while the phone was away.
    @Test func handlesThatAreOutOfDateCostNoReset() throws {
        let companions = [RigCompanion("old", .system), RigCompanion("new", .system)]
        var rig = try Rig(companions, hidden: [CompanionsPhone.appLaunch, "new"], discovery: .remembering)
        try rig.comeBack { phone in
            try phone.show("old", false)
            try phone.show("new", true)
        }
        rig.run(for: .seconds(8))
        #expect(rig.companion("new").openedCount == 1)
        rig.expectAlive("new", 1)
        #expect(rig.companion("old").unansweredResets.isEmpty)
    }
}

extension CompanionsRig {
    /// The phone disconnects, changes something, connects and encrypts.
    fileprivate mutating func comeBack(_ change: (inout CompanionsPhone) throws -> Void) throws {
        onPhone { phone, _ in phone.host.disconnect() }
        run(for: .seconds(1))
        try onPhone { phone, _ in try change(&phone) }
        onPhone { phone, _ in phone.host.connect(to: RigWatch.address) }
        run(for: .seconds(3))
        let connection = onPhone { phone, _ in phone.host.connection }
        try #require(connection != nil)
        try onPhone { phone, now in try phone.host.encrypt(at: now) }
        run(for: .milliseconds(100))
    }

    /// What the store has of the phone's services.
    fileprivate var remembered: PhoneServiceCache? {
        mutating get { onWatch { watch, _ in watch.memory.phones.first?.services } }
    }
}
