import BluetoothHost
import Testing

@testable import PebbleWatch

/// More than may wait before an iPhone that does not answer: what a person wanted to be done stays, and what is too much is told.
@Suite struct ANCSLimitsTests {
    private static let handles = ANCSClient.Handles(
        notificationSource: NotifyingValue(value: handle(0x20), configuration: handle(0x21)),
        dataSource: NotifyingValue(value: handle(0x23), configuration: handle(0x24)),
        controlPoint: handle(0x26)
    )

    private static func uid(_ number: UInt32) -> ANCSNotificationUID { ANCSNotificationUID(rawValue: number) }

    /// A value of the Notification Source: a social notification is added.
    private static func added(_ uid: UInt8) -> [UInt8] { [0, 0x10, 4, 1, uid, 0, 0, 0] }

    /// Perform Notification Action: negative.
    private static func dismissal(_ uid: UInt8) -> GATTProcedure { .write(handle(0x26), [0x02, uid, 0, 0, 0, 1]) }

    /// A client that has subscribed, long ago enough to believe everything, and a phone that answers nothing any more.
    private func subscribed() -> PhoneServiceRig<ANCSClient> {
        var rig = PhoneServiceRig(ANCSClient())
        rig.client.serviceFound(Self.handles, at: rig.now)
        rig.run()
        rig.wait(.seconds(11))
        _ = rig.takeAsked()
        _ = rig.takeEvents()
        rig.answer = { _ in nil }
        return rig
    }

    @Test func seventeenActionsAreTakenAndTheNextIsRefusedAtOnce() {
        var rig = subscribed()
        for number: UInt32 in 1...18 {
            rig.client.perform(.negative, of: Self.uid(number))
            rig.run()
        }
        // One is under way, 16 wait.
        #expect(rig.takeEvents() == [.notPerformed(Self.uid(18), .negative, .tooMany(Self.uid(18)))])
        rig.client.perform(.negative, of: Self.uid(5))
        #expect(rig.takeEvents().isEmpty, "it waits already")
        rig.answer = { _ in .success(.written) }
        rig.finish(.success(.written))
        #expect(rig.takeAsked() == (1...17).map(Self.dismissal))
        #expect(rig.takeEvents() == (1...17).map { .performed(Self.uid($0), .negative) })
    }

    @Test func aNotificationMakesNoRoomForItselfAmongActions() {
        var rig = subscribed()
        for number: UInt32 in 1...17 {
            rig.client.perform(.negative, of: Self.uid(number))
            rig.run()
        }
        rig.notify(handle(0x20), Self.added(99))
        #expect(rig.takeEvents() == [.problem(.tooMany(Self.uid(99)))])
        rig.answer = { _ in .success(.written) }
        rig.finish(.success(.written))
        #expect(rig.takeAsked() == (1...17).map(Self.dismissal), "nothing is asked about it")
    }

    /// What a phone tells of a notification need not be all: what is missing is empty, and a date that is none is no date.
    @Test func whatThePhoneLeavesOutIsEmpty() throws {
        let event = try ANCSSourceEvent(Self.added(7)[...])
        let bare = ANCSNotification(event, [:], appName: "")
        #expect(bare.uid == Self.uid(7) && bare.category == .social && !bare.isModified)
        #expect(bare.appIdentifier.isEmpty && bare.title.isEmpty && bare.subtitle.isEmpty && bare.message.isEmpty)
        #expect(bare.appName == nil && bare.date == nil)
        #expect(bare.positiveActionLabel == nil, "it has no such action")
        #expect(bare.negativeActionLabel == "", "it has this one, and no name for it")
        let dated = ANCSNotification(event, [.title: [0x41, 0x64, 0x61], .date: [0x32, 0x30]], appName: "Chat")
        #expect(dated.title == "Ada" && dated.appName == "Chat" && dated.date == nil)
    }

    @Test func anActionTakesThePlaceOfTheOldestNotification() {
        var rig = subscribed()
        rig.client.perform(.negative, of: Self.uid(1))
        rig.run()
        for number: UInt8 in 2...17 { rig.notify(handle(0x20), Self.added(number)) }
        #expect(rig.takeEvents().isEmpty)
        rig.client.perform(.negative, of: Self.uid(50))
        #expect(rig.takeEvents() == [.problem(.tooMany(Self.uid(2)))])
    }
}
