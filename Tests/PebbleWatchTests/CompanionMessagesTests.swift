import AirSimulator
import BluetoothHost
import PebbleProtocol
import Testing

@testable import PebbleWatch

/// Which companion gets a watchapp's messages, while apps start and stop and companions come and go: no companion gets those of
/// another, no message comes twice, and no message of an earlier companion holds up later ones.
@Suite struct CompanionMessagesTests {
    private typealias Rig = CompanionsRig
    private static let first = CompanionsRig.first
    private static let second = CompanionsRig.second
    private static let message = dictionary(ofLength: 20)
    private static let other = dictionary(ofLength: 30)

    // MARK: To whom a message goes

    /// A companion that serves every app has the messages of those without a companion, even if it came last.
    @Test func anAppsOwnCompanionComesBeforeWhoeverServesAll() throws {
        var rig = try Rig(
            [RigCompanion("one", Self.first), RigCompanion("hybrid", .system, isHybrid: true)],
            hidden: ["app launch", "hybrid"]
        )
        try rig.show("hybrid")
        try rig.sendFromApp(Self.message)
        rig.run(for: .seconds(1))
        #expect(rig.pushes(to: "one") == [Self.message])
        #expect(rig.pushes(to: "hybrid").isEmpty)
    }

    @Test func aMessageGoesToNoOtherAppsCompanion() throws {
        var rig = try Rig([RigCompanion("one", Self.first), RigCompanion("two", Self.second)])
        try rig.show("one", false)
        try rig.sendFromApp(Self.message)
        rig.run(for: .seconds(2))
        #expect(rig.pushes(to: "two").isEmpty)
        #expect(rig.results().isEmpty, "it waits for its own")
    }

    /// That another app's companion was there once brings no companion back.
    @Test func aMessageDoesNotWaitForAnotherAppsCompanion() throws {
        var rig = try Rig([RigCompanion("system", .system), RigCompanion("two", Self.second)])
        try rig.show("two", false)
        #expect(throws: WatchCommandError.appMessageNotSent(.notConnected)) { try rig.sendFromApp(Self.message) }
        rig.run(for: .milliseconds(200))
        #expect(rig.results() == [.notConnected])
    }

    @Test func onlyTheAnswerToThisMessageCounts() throws {
        var rig = try Rig([RigCompanion("one", Self.first)])
        try rig.sendFromApp(Self.message)
        rig.run(for: .seconds(1))
        rig.acknowledge(2, from: "one")
        #expect(rig.results().isEmpty)
        rig.acknowledge(1, from: "one")
        #expect(rig.results() == [.ok])
        // It had its answer: another one is no answer to the next message.
        try rig.sendFromApp(Self.message)
        rig.run(for: .seconds(1))
        rig.acknowledge(1, from: "one")
        #expect(rig.results().isEmpty)
        rig.acknowledge(2, from: "one")
        #expect(rig.results() == [.ok])
    }

    // MARK: Apps that start and stop

    @Test func thePebbleAppHearsWhichAppRunsAndCompanionsDoNot() throws {
        var rig = try Rig([
            RigCompanion("system", .system), RigCompanion("one", Self.first), RigCompanion("two", Self.second),
        ])
        func launcherMessages(_ name: AttributeName) throws -> [LauncherMessage.Command] {
            try rig.onPhone { phone, _ in
                try phone[name].take(.launcher).flatMap { try LauncherMessage(payload: $0.payload).commands }
            }
        }
        try rig.launch(Self.second)
        rig.run(for: .seconds(1))
        #expect(try launcherMessages("system") == [.kill, .run])
        #expect(try launcherMessages("one").isEmpty)
        #expect(try launcherMessages("two").isEmpty)
    }

    @Test func onlyTheAppThatRunsCanBeStopped() throws {
        var rig = try Rig([RigCompanion("system", .system)])
        try rig.launch(Self.second)
        for (application, runsOn) in [(PebbleUUID(upperHalf: 7, lowerHalf: 7), Self.second), (Self.second, Self.first)]
        {
            rig.onPhone { phone, _ in phone.send(AppRunStateMessage.stop(application), from: "system") }
            rig.run(for: .seconds(1))
            #expect(rig.runningApp() == runsOn)
        }
    }

    /// What the app before had under way is over for the watch, and does not touch what this one has under way.
    @Test func anAppHasNothingToDoWithTheMessagesOfTheOneBefore() throws {
        var rig = try Rig([RigCompanion("one", Self.first), RigCompanion("two", Self.second)])
        rig.onPhone { phone, _ in phone["one"].isMute = true }
        try rig.sendFromApp(Self.message)
        rig.run(for: .seconds(1))
        try rig.launch(Self.second)
        try rig.sendFromApp(Self.other)
        rig.run(for: .seconds(1))
        #expect(rig.pushes(to: "two") == [Self.other])
        // With its session the first app's message is lost, for good.
        try rig.show("one", false, for: .seconds(2))
        #expect(rig.pushes(to: "two").isEmpty)
        #expect(rig.results().isEmpty)
        rig.acknowledge(from: "two")
        #expect(rig.results() == [.ok])
        rig.onPhone { phone, _ in phone["one"].isMute = false }
        try rig.show("one")
        #expect(rig.pushes(to: "one").isEmpty)
    }

    /// The message waits for its companion, not for its app: that has ended.
    @Test func aMessageThatWaitsEndsWithItsApp() throws {
        var rig = try Rig([RigCompanion("one", Self.first)])
        try rig.show("one", false)
        try rig.sendFromApp(Self.message)
        rig.run(for: .seconds(1))
        try rig.launch(Self.second)
        try rig.show("one")
        #expect(rig.pushes(to: "one").isEmpty)
        rig.run(for: .seconds(10))
        #expect(rig.results().isEmpty, "no phone app is there to be told")
    }

    // MARK: Companions that come and go

    /// A companion that dies in the middle of a message leaves nothing in the app's inbox.
    @Test func halfAMessageDoesNotStandInTheWayOfTheNext() throws {
        var rig = try Rig([RigCompanion("one", Self.first)])
        let push = AppMessagePush(transaction: 7, application: Self.first, dictionary: Self.message)
        let message = PebbleMessage(AppMessage.push(push))
        rig.onPhone { phone, _ in phone.send(message, part: 12, from: "one") }
        rig.run(for: .seconds(1))
        try rig.show("one", false)
        try rig.show("one")
        rig.onPhone { phone, _ in phone.send(message, from: "one") }
        rig.run(for: .seconds(1))
        let answers = rig.onPhone { phone, _ in phone["one"].take(.appMessage) }
        #expect(try answers.map { try AppMessage(payload: $0.payload) } == [.acknowledgement(7)])
    }

    /// It may have arrived: that the phone is gone does not end it, only its time.
    @Test func aMessageThatMayHaveArrivedKeepsItsTimeWhenThePhoneGoes() throws {
        var rig = try Rig([RigCompanion("system", .system), RigCompanion("one", Self.first)])
        rig.onPhone { phone, _ in phone["one"].isMute = true }
        try rig.sendFromApp(Self.message)
        rig.run(for: .seconds(2))
        try rig.show("one", false, for: .seconds(1))
        try rig.onWatch { watch, now in try watch.host.perform(.disconnect, at: now) }
        rig.run(for: .milliseconds(6_900))
        #expect(rig.results().isEmpty)
        rig.run(for: .milliseconds(200))
        #expect(rig.results() == [.sendTimeout])
    }

    /// A companion that was given up is heard again as soon as its service is another one.
    @Test func aCompanionThatWasGivenUpIsHeardWhenItsServiceIsReplaced() throws {
        var rig = try Rig([RigCompanion("system", .system), RigCompanion("one", Self.first)])
        rig.onPhone { phone, _ in phone["one"].isMute = true }
        try rig.sendFromApp(Self.message)
        rig.run(for: .seconds(60))
        #expect(rig.kinds() == [.system])
        try rig.onPhone { phone, _ in
            phone["one"].isMute = false
            try phone.replace("one")
        }
        rig.run(for: .seconds(4))
        rig.expectAlive("one", 1)
        #expect(rig.companion("system").openedCount == 1)
    }

    /// The watch remembers each companion once, and the last ones only.
    @Test func companionsThatLeftAreRememberedWithALimit() throws {
        let limit = PhoneServiceFinder.serviceLimit
        let names = (0...limit).map { AttributeName("companion \($0)") }
        let companions = names.enumerated().map { RigCompanion($1, PebbleUUID(upperHalf: 9, lowerHalf: UInt64($0))) }
        var rig = try Rig(companions, hidden: Set(names + ["app launch"]))
        func departed() throws -> [PebbleUUID] {
            rig.onWatch { watch, _ in watch.host.links.values.flatMap { $0.companions.departed.map(\.application) } }
        }
        for name in [names[0]] + names {
            try rig.show(name, for: .seconds(2))
            #expect(rig.companion(name).isOpen)
            try rig.show(name, false, for: .seconds(1))
            if name == names[0] { #expect(try departed() == [PebbleUUID(upperHalf: 9, lowerHalf: 0)]) }
        }
        #expect(try departed() == (1...limit).map { PebbleUUID(upperHalf: 9, lowerHalf: UInt64($0)) })
    }
}
