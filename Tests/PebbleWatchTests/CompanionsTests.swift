import AirSimulator
import BluetoothHost
import PebbleProtocol
import Testing

@testable import PebbleWatch

/// Several companions on one phone, on the air and in virtual time: which sessions there are, which of two stays, what a
/// failure costs, and how the watch calls back companions that are gone.
@Suite struct CompanionsTests {
    private typealias Rig = CompanionsRig
    private static let first = CompanionsRig.first
    private static let second = CompanionsRig.second
    private static let message = dictionary(ofLength: 20)

    // MARK: Which sessions there are

    @Test func eachServiceHasASessionOfItsKind() throws {
        var rig = try Rig([
            RigCompanion("system", .system), RigCompanion("one", Self.first), RigCompanion("two", Self.second),
        ])
        #expect(rig.kinds().filter { $0 == .system }.count == 1)
        #expect(rig.kinds().filter { $0 == .app }.count == 2)
        for (index, name) in (["system", "one", "two"] as [AttributeName]).enumerated() {
            rig.expectAlive(name, UInt32(index))
        }
    }

    @Test func aServiceThatComesLaterIsOpenedAndOneThatGoesIsClosed() throws {
        var rig = try Rig(
            [RigCompanion("system", .system), RigCompanion("one", Self.first)],
            hidden: ["app launch", "one"]
        )
        #expect(rig.kinds() == [.system])
        try rig.show("one")
        #expect(rig.kinds() == [.system, .app])
        try rig.show("one", false)
        #expect(rig.kinds() == [.system])
        #expect(rig.companion("system").openedCount == 1)
    }

    // MARK: The last one wins

    /// Two services with one UUID: two Pebble apps on one phone, or a companion that was installed twice.
    @Test(arguments: [PebbleUUID.system, first])
    func theNewestServiceOfAnApplicationWins(application: PebbleUUID) throws {
        var rig = try Rig(
            [RigCompanion("old", application), RigCompanion("other", Self.second), RigCompanion("new", application)],
            hidden: ["app launch", "new"]
        )
        #expect(rig.companion("old").isOpen)
        try rig.show("new")
        #expect(rig.companion("new").isOpen)
        // The old one is told by losing its subscription, and the third has nothing to do with it.
        #expect(rig.companion("old").transport == nil)
        #expect(rig.companion("other").openedCount == 1)
        #expect(rig.companion("other").endedCount == 0)
        #expect(rig.kinds().count == 2)
        rig.expectAlive("new", 1)
        rig.expectAlive("other", 2)
    }

    /// Of a system and a hybrid session there is one: the one that came last.
    @Test(arguments: [true, false])
    func systemAndHybridExcludeEachOther(hybridComesLast: Bool) throws {
        let system = RigCompanion("system", .system)
        let hybrid = RigCompanion("hybrid", .system, isHybrid: true)
        let last: AttributeName = hybridComesLast ? "hybrid" : "system"
        var rig = try Rig([system, hybrid], hidden: ["app launch", last])
        #expect(rig.kinds() == [hybridComesLast ? .system : .hybrid])
        try rig.show(last)
        #expect(rig.kinds() == [hybridComesLast ? .hybrid : .system])
        #expect(rig.companion(last).isOpen)
    }

    // MARK: Failures

    /// A companion that crashed acknowledges nothing. Its transport is given up, alone, and no other companion notices.
    @Test func aCompanionThatHasCrashedIsGivenUpAlone() throws {
        var rig = try Rig([RigCompanion("system", .system), RigCompanion("one", Self.first)])
        rig.onPhone { phone, _ in phone["one"].isMute = true }
        try rig.sendFromApp(Self.message)
        var cookie: UInt32 = 0
        for _ in 0..<60 {
            cookie += 1
            rig.expectAlive("system", cookie)
        }
        #expect(rig.kinds() == [.system])
        #expect(rig.companion("system").openedCount == 1)
        #expect(rig.companion("one").transport == nil, "the watch has unsubscribed")
        #expect(rig.onPhone { phone, _ in phone.host.connectionCount } == 1)
        // When it is started again it is heard.
        rig.onPhone { phone, _ in phone["one"].isMute = false }
        try rig.show("one", false)
        try rig.show("one")
        #expect(rig.companion("one").isOpen)
    }

    /// Where there is no other companion, the link is given up, as a real watch does.
    @Test func theOnlyCompanionThatHasCrashedCostsTheLink() throws {
        var rig = try Rig([RigCompanion("system", .system)])
        rig.onPhone { phone, _ in phone["system"].isMute = true }
        rig.onPhone { phone, _ in phone.send(PingMessage.ping(cookie: 1, isIdle: nil), from: "system") }
        rig.run(for: .seconds(60))
        #expect(rig.onPhone { phone, _ in phone.host.connection } == nil)
    }

    // MARK: Which companion may use which endpoint

    @Test func aCompanionHasItsOwnEndpointsAndItsOwnAppOnly() throws {
        var rig = try Rig([
            RigCompanion("system", .system), RigCompanion("one", Self.first), RigCompanion("two", Self.second),
        ])
        func refusals(_ name: AttributeName) throws -> Int {
            rig.run(for: .seconds(1))
            return rig.onPhone { phone, _ in phone[name].take(.meta).count }
        }
        // The clock is the Pebble app's.
        let system = PebbleMessage(endpoint: .time, payload: [0])
        rig.onPhone { phone, _ in phone.send(system, from: "one") }
        #expect(try refusals("one") == 1)
        rig.onPhone { phone, _ in phone.send(system, from: "system") }
        #expect(try refusals("system") == 0)
        // AppMessage for the running app from its own companion, and from the other one.
        let push = AppMessagePush(transaction: 7, application: Self.first, dictionary: Self.message)
        for (name, answer) in [("two", AppMessage.negativeAcknowledgement(7)), ("one", .acknowledgement(7))] {
            let name = AttributeName(name)
            rig.onPhone { phone, _ in phone.send(AppMessage.push(push), from: name) }
            rig.run(for: .seconds(1))
            let answers = rig.onPhone { phone, _ in phone[name].take(.appMessage) }
            #expect(try answers.map { try AppMessage(payload: $0.payload) } == [answer])
        }
        // And only it is asked.
        try rig.sendFromApp(Self.message)
        rig.run(for: .seconds(1))
        #expect(rig.pushes(to: "one") == [Self.message])
        #expect(rig.pushes(to: "two").isEmpty)
        #expect(rig.pushes(to: "system").isEmpty)
        // What another acknowledges does not count.
        rig.onPhone { phone, _ in phone.send(AppMessage.acknowledgement(1), from: "two") }
        rig.run(for: .seconds(1))
        #expect(rig.results().isEmpty)
        rig.onPhone { phone, _ in phone.send(AppMessage.acknowledgement(1), from: "one") }
        rig.run(for: .seconds(1))
        #expect(rig.results() == [.ok])
    }

    /// Without a companion of its own an app's messages go to the hybrid session; to a system session only JavaScript's.
    @Test(arguments: [(AppFlags(), true, true), (AppFlags(), false, false), (AppFlags.allowsJavaScript, false, true)])
    func messagesFallBack(flags: AppFlags, isHybrid: Bool, arrives: Bool) throws {
        var rig = try Rig(
            [RigCompanion("phone", .system, isHybrid: isHybrid), RigCompanion("one", Self.first)],
            flags: flags
        )
        let goesToItsOwn = !flags.contains(.allowsJavaScript)
        try rig.sendFromApp(Self.message)
        rig.run(for: .seconds(1))
        #expect(rig.pushes(to: "one").count == (goesToItsOwn ? 1 : 0))
        let answering: AttributeName = goesToItsOwn ? "one" : "phone"
        rig.onPhone { phone, _ in phone.send(AppMessage.acknowledgement(1), from: answering) }
        rig.run(for: .seconds(1))
        #expect(rig.results() == [.ok])
        _ = rig.pushes(to: "phone")
        try rig.show("one", false)
        try rig.sendFromApp(Self.message)
        rig.run(for: .seconds(1))
        #expect(rig.pushes(to: "phone").count == (arrives ? 1 : 0))
    }

    // MARK: Waking

    @Test func thePebbleAppIsWokenWhenItIsFoundWithoutASession() throws {
        var rig = try Rig([RigCompanion("one", Self.first)], hidden: [])
        #expect(rig.wakings() == 1)
        #expect(rig.kinds() == [.app])
    }

    @Test func thePebbleAppIsWokenWheneverItsSessionEnds() throws {
        var rig = try Rig([RigCompanion("system", .system), RigCompanion("one", Self.first)], hidden: [])
        let before = rig.wakings()
        try rig.show("one", false)
        #expect(rig.wakings() == before, "only the Pebble app's session counts")
        try rig.show("system", false)
        #expect(rig.wakings() == before + 1)
        try rig.show("system")
        try rig.show("system", false)
        #expect(rig.wakings() == before + 2)
        // The service is gone, and with it the handle.
        try rig.show(CompanionsPhone.appLaunch, false)
        try rig.show("system")
        try rig.show("system", false)
        #expect(rig.wakings() == before + 2)
    }

    /// Pebble 2 takes a phone that unsubscribes from Connectivity for one whose app has ended; the watches of 2025 do not.
    @Test(arguments: [("silk", 1), ("universal", 1), ("core", 0), ("snowy", 0)])
    func unsubscribingFromConnectivityWakes(name: String, count: Int) throws {
        let personality = try #require(Personality.all.first { $0.name == name })
        var rig = try Rig([RigCompanion("system", .system)], hidden: [], personality: personality)
        let before = rig.wakings()
        let value = rig.onWatch { watch, _ in
            watch.host.core.host.gatt.database.handle(of: AttributeName("3/connectivity"))
        }
        let handle = try #require(value?.next)
        for subscription: Subscription in [.notifications, []] {
            try rig.onPhone { phone, now in
                try phone.host.perform(.subscribe(clientConfiguration: handle, subscription), at: now)
            }
            rig.run(for: .seconds(1))
        }
        #expect(rig.wakings() == before + count)
    }

    // MARK: Messages that wait

    /// A companion that was killed comes back within the time that a message has.
    @Test func aMessageWaitsForACompanionThatComesBack() throws {
        var rig = try Rig([RigCompanion("system", .system), RigCompanion("one", Self.first)], hidden: [])
        try rig.show("one", false)
        let before = rig.wakings()
        try rig.sendFromApp(Self.message)
        rig.run(for: .seconds(4))
        #expect(rig.wakings() == before + 1, "once for each message")
        #expect(rig.results().isEmpty)
        try rig.show("one")
        #expect(rig.pushes(to: "one") == [Self.message])
        #expect(rig.pushes(to: "system").isEmpty)
        rig.onPhone { phone, _ in phone.send(AppMessage.acknowledgement(1), from: "one") }
        rig.run(for: .seconds(1))
        #expect(rig.results() == [.ok])
    }

    @Test func aMessageForNobodyFailsAfterItsTime() throws {
        var rig = try Rig([RigCompanion("system", .system), RigCompanion("one", Self.first)], hidden: [])
        try rig.show("one", false)
        try rig.sendFromApp(Self.message)
        rig.run(for: .milliseconds(9_900))
        #expect(rig.results().isEmpty)
        rig.run(for: .milliseconds(200))
        #expect(rig.results() == [.notConnected])
        // One that comes too late hears nothing of it.
        try rig.show("one")
        #expect(rig.pushes(to: "one").isEmpty)
    }

    /// A companion that was never there cannot be brought back: the app hears so at once.
    @Test func aMessageForSomebodyWhoNeverWasDoesNotWait() throws {
        var rig = try Rig([RigCompanion("system", .system)])
        #expect(throws: WatchCommandError.appMessageNotSent(.notConnected)) { try rig.sendFromApp(Self.message) }
        rig.run(for: .milliseconds(200))
        #expect(rig.results() == [.notConnected])
    }

    @Test func aMessageDoesNotWaitForAPhoneThatIsGone() throws {
        var rig = try Rig([RigCompanion("system", .system), RigCompanion("one", Self.first)], hidden: [])
        try rig.show("one", false)
        try rig.sendFromApp(Self.message)
        rig.run(for: .seconds(1))
        #expect(rig.results().isEmpty)
        try rig.onWatch { watch, now in try watch.host.perform(.disconnect, at: now) }
        rig.run(for: .seconds(1))
        #expect(rig.results() == [.notConnected])
    }

    /// Companions that crash: their service is still there, and what they are sent gets lost until iOS starts them again.
    @Test func aMessageThatWasLostWithItsSessionIsSentAgain() throws {
        var rig = try Rig([RigCompanion("system", .system), RigCompanion("one", Self.first)])
        rig.onPhone { phone, _ in phone["one"].isMute = true }
        try rig.sendFromApp(Self.message)
        rig.run(for: .seconds(2))
        #expect(rig.pushes(to: "one").isEmpty)
        rig.onPhone { phone, _ in phone["one"].isMute = false }
        try rig.show("one", false, for: .seconds(1))
        try rig.show("one", for: .seconds(3))
        #expect(rig.pushes(to: "one") == [Self.message])
        rig.onPhone { phone, _ in phone.send(AppMessage.acknowledgement(1), from: "one") }
        rig.run(for: .seconds(1))
        #expect(rig.results() == [.ok])
    }

    /// A message that has arrived is not sent again, even if its answer is lost.
    @Test func aMessageThatHasArrivedIsNotSentAgain() throws {
        var rig = try Rig([RigCompanion("system", .system), RigCompanion("one", Self.first)])
        try rig.sendFromApp(Self.message)
        rig.run(for: .seconds(2))
        #expect(rig.pushes(to: "one") == [Self.message])
        try rig.show("one", false, for: .seconds(1))
        try rig.show("one", for: .seconds(3))
        #expect(rig.pushes(to: "one").isEmpty)
        rig.run(for: .seconds(5))
        #expect(rig.results() == [.sendTimeout])
    }

    // MARK: Developers' tools

    /// A tool takes the place of the phone's session; when it leaves, the phone has its place again, and noticed no change.
    @Test func aToolGivesThePhoneItsPlaceBack() throws {
        var rig = try Rig([RigCompanion("phone", .system, isHybrid: true)])
        let tool = rig.onWatch { watch, now in watch.host.openDeveloperConnection(.serial, at: now) }
        try rig.sendFromApp(Self.message)
        rig.run(for: .seconds(1))
        #expect(rig.pushes(to: "phone").isEmpty, "the tool is the one that counts")
        rig.onWatch { watch, now in
            #expect(!watch.host.nextBytes(for: tool, at: now).isEmpty)
            watch.host.closeDeveloperConnection(tool, reason: "the test", at: now)
        }
        rig.run(for: .seconds(12))
        _ = rig.results()
        _ = rig.pushes(to: "phone")
        try rig.sendFromApp(Self.message)
        rig.run(for: .seconds(1))
        #expect(rig.pushes(to: "phone") == [Self.message])
        #expect(rig.companion("phone").openedCount == 1)
        rig.expectAlive("phone", 9)
    }
}
