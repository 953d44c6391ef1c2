import BluetoothHost
import ByteCoding
import Testing

@testable import PebbleWatch

/// The notification client before a phone that is scripted to the byte, in virtual time.
@Suite struct ANCSClientTests {
    private static let handles = ANCSClient.Handles(
        notificationSource: NotifyingValue(value: handle(0x20), configuration: handle(0x21)),
        dataSource: NotifyingValue(value: handle(0x23), configuration: handle(0x24)),
        controlPoint: handle(0x26)
    )
    private static let source = handle(0x20)
    private static let data = handle(0x23)
    private static let control = handle(0x26)

    private static func subscribe(_ number: UInt16, _ subscription: Subscription = .notifications) -> GATTProcedure {
        .subscribe(clientConfiguration: handle(number), subscription)
    }

    private static func write(_ bytes: [UInt8]) -> GATTProcedure { .write(control, bytes[...]) }

    /// What is asked about a notification (the golden request, with this number).
    private static func fetch(_ uid: UInt8) -> GATTProcedure {
        write([0x00, uid, 0, 0, 0, 6, 7, 0, 1, 128, 0, 2, 40, 0, 3, 200, 0, 5])
    }

    private static func appName(_ app: String) -> GATTProcedure { write([0x01] + Array(app.utf8) + [0, 0]) }

    /// A value of the Notification Source.
    private static func event(_ kind: UInt8, _ uid: UInt8, flags: UInt8 = 0x10, category: UInt8 = 4) -> [UInt8] {
        [kind, flags, category, 1, uid, 0, 0, 0]
    }

    private static func attributes(_ uid: UInt8, app: String = "com.example.chat", title: String = "Ada") -> [UInt8] {
        [0x00, uid, 0, 0, 0] + .ancs(6, "") + .ancs(7, "Clear") + .ancs(0, app) + .ancs(1, title) + .ancs(2, "")
            + .ancs(3, "Hello") + .ancs(5, "20250101T120000")
    }

    /// A phone that answers everything, in parts of 20 bytes.
    private static func phone(app: String = "com.example.chat") -> (GATTProcedure) -> [(AttributeHandle, [UInt8])] {
        { procedure in
            guard case .write(control, let value) = procedure, let command = value.first else { return [] }
            let bytes = Array(value)
            let answer: [UInt8]
            switch command {
            case 0 where bytes.count > 5: answer = attributes(bytes[1], app: app)
            case 1: answer = [0x01] + Array(app.utf8) + [0] + .ancs(0, "Chat")
            default: return []
            }
            return answer.parts(of: 20).map { (data, $0) }
        }
    }

    /// A client that has subscribed, long ago enough to believe everything.
    private func subscribed(believesRemovals: Bool = true) -> PhoneServiceRig<ANCSClient> {
        var rig = PhoneServiceRig(ANCSClient())
        rig.client.believesRemovals = believesRemovals
        rig.client.serviceFound(Self.handles, at: rig.now)
        rig.run()
        rig.wait(.seconds(11))
        _ = rig.takeAsked()
        _ = rig.takeEvents()
        return rig
    }

    private func shown(_ events: [ANCSClient.Event]) -> [ANCSNotification] {
        events.compactMap { if case .notified(let notification) = $0 { notification } else { nil } }
    }

    private func problems(_ events: [ANCSClient.Event]) -> [ANCSProblem] {
        events.compactMap { if case .problem(let problem) = $0 { problem } else { nil } }
    }

    // MARK: Subscribing

    @Test func subscribesToTheDataSourceFirst() {
        var rig = PhoneServiceRig(ANCSClient())
        rig.run()
        #expect(rig.takeAsked().isEmpty, "nothing is asked of a phone without the service")
        rig.client.serviceFound(Self.handles, at: rig.now)
        rig.run()
        #expect(rig.takeAsked() == [Self.subscribe(0x24), Self.subscribe(0x21)])
        #expect(rig.takeEvents() == [.subscribed])
        #expect(rig.client.isAvailable)
        rig.client.serviceFound(Self.handles, at: rig.now)
        rig.run()
        #expect(rig.takeAsked().isEmpty, "the same handles change nothing")
    }

    @Test func aRefusedSubscriptionIsTriedOnceMoreAfterFiveSeconds() {
        var rig = PhoneServiceRig(ANCSClient())
        rig.answer = { _ in .refused(.insufficientAuthentication) }
        rig.client.serviceFound(Self.handles, at: rig.now)
        rig.run()
        rig.wait(.seconds(60))
        #expect(rig.times == [.zero, .seconds(5)])
        #expect(rig.takeAsked() == [Self.subscribe(0x24), Self.subscribe(0x24)])
        let events = rig.takeEvents()
        #expect(events == [.problem(.notSubscribed(PhoneServiceRig<ANCSClient>.refusal(.insufficientAuthentication)))])
        #expect(rig.client.nextDeadline == nil)
        // Found again, it is tried again.
        rig.answer = { _ in .success(.written) }
        rig.client.serviceFound(Self.handles, at: rig.now)
        rig.run()
        #expect(rig.takeEvents() == [.subscribed])
    }

    // MARK: Notifications

    @Test func aNotificationInParts() throws {
        var rig = subscribed()
        rig.notifications = Self.phone()
        rig.notify(Self.source, Self.event(0, 0x97, flags: 0x1A))
        #expect(rig.takeAsked() == [Self.fetch(0x97), Self.appName("com.example.chat")])
        let shown = shown(rig.takeEvents())
        let notification = try #require(shown.first)
        #expect(shown.count == 1)
        #expect(notification.uid.rawValue == 0x97)
        #expect(!notification.isModified)
        #expect(notification.flags == [.important, .positiveAction, .negativeAction])
        #expect(notification.category == .social)
        #expect(notification.appIdentifier == "com.example.chat")
        #expect(notification.appName == "Chat")
        #expect(notification.title == "Ada")
        #expect(notification.message == "Hello")
        #expect(notification.date?.localSeconds == 1_735_732_800)
        #expect(notification.positiveActionLabel == "")
        #expect(notification.negativeActionLabel == "Clear")
    }

    @Test func anAppIsAskedForItsNameOnce() {
        var rig = subscribed()
        rig.notifications = Self.phone()
        for uid: UInt8 in 1...3 { rig.notify(Self.source, Self.event(0, uid)) }
        let names = rig.takeAsked().filter { $0 == Self.appName("com.example.chat") }
        #expect(names.count == 1)
        #expect(shown(rig.takeEvents()).map(\.appName) == ["Chat", "Chat", "Chat"])
    }

    @Test func namesAreForgottenBeyondTheLimit() {
        var rig = subscribed()
        for number in 0...ANCSAppNames.limit {
            rig.notifications = Self.phone(app: "app\(number)")
            rig.notify(Self.source, Self.event(0, 1))
        }
        _ = rig.takeAsked()
        rig.notifications = Self.phone(app: "app1")
        rig.notify(Self.source, Self.event(0, 1))
        #expect(rig.takeAsked() == [Self.fetch(1)], "app1 is known still")
        rig.notifications = Self.phone(app: "app0")
        rig.notify(Self.source, Self.event(0, 1))
        #expect(rig.takeAsked() == [Self.fetch(1), Self.appName("app0")], "app0 is not")
    }

    @Test func whatWasThereBeforeIsIgnoredForTenSeconds() {
        var rig = PhoneServiceRig(ANCSClient())
        rig.notifications = Self.phone()
        rig.client.serviceFound(Self.handles, at: rig.now)
        rig.run()
        rig.notify(Self.source, Self.event(0, 1, flags: 0x04))
        rig.wait(.milliseconds(9_999))
        rig.notify(Self.source, Self.event(0, 2, flags: 0x04))
        rig.notify(Self.source, Self.event(0, 3, flags: 0x00))
        #expect(shown(rig.takeEvents()).map(\.uid.rawValue) == [3])
        rig.wait(.milliseconds(1))
        rig.notify(Self.source, Self.event(0, 4, flags: 0x04))
        #expect(shown(rig.takeEvents()).map(\.uid.rawValue) == [4])
    }

    @Test func aChangeWhileItIsReadIsReadAgain() {
        var rig = subscribed()
        rig.answer = { _ in nil }
        rig.notify(Self.source, Self.event(0, 1))
        rig.notify(Self.source, Self.event(0, 1))
        rig.notify(Self.source, Self.event(1, 1))
        rig.notify(Self.source, Self.event(1, 1))
        rig.answer = { _ in .success(.written) }
        rig.notifications = Self.phone()
        rig.finish(.success(.written))
        rig.notify(Self.data, Self.attributes(1))
        #expect(rig.takeAsked() == [Self.fetch(1), Self.appName("com.example.chat"), Self.fetch(1)])
        #expect(shown(rig.takeEvents()).map(\.isModified) == [false, true])
    }

    @Test func removals() {
        var rig = subscribed()
        rig.answer = { _ in nil }
        rig.notify(Self.source, Self.event(0, 1))
        rig.notify(Self.source, Self.event(0, 2))
        rig.notify(Self.source, Self.event(2, 1))
        rig.notify(Self.source, Self.event(2, 2))
        rig.notify(Self.source, Self.event(2, 3))
        rig.answer = { _ in .success(.written) }
        rig.finish(.success(.written))
        rig.notify(Self.data, Self.attributes(1))
        #expect(rig.takeAsked() == [Self.fetch(1)], "a removed notification is not asked about")
        let events = rig.takeEvents()
        #expect(shown(events).isEmpty)
        let removed = (1...3).map { ANCSClient.Event.removed(ANCSNotificationUID(rawValue: $0)) }
        #expect(events == removed)
    }

    @Test func anOldPhonesRemovalsAreNotBelievedButOfCalls() {
        var rig = subscribed(believesRemovals: false)
        rig.notify(Self.source, Self.event(2, 1))
        #expect(rig.takeEvents().isEmpty)
        rig.notify(Self.source, Self.event(2, 2, category: 1))
        #expect(rig.takeEvents() == [.removed(ANCSNotificationUID(rawValue: 2))])
    }

    // MARK: Failures

    @Test func anOperationIsGivenUpAfterTenSecondsAndTheNextOneGoesOn() {
        var rig = subscribed()
        rig.notify(Self.source, Self.event(0, 1))
        rig.notify(Self.source, Self.event(0, 2))
        #expect(rig.takeAsked() == [Self.fetch(1)], "one at a time")
        rig.wait(.milliseconds(9_999))
        #expect(rig.takeEvents().isEmpty)
        rig.wait(.milliseconds(1))
        #expect(problems(rig.takeEvents()) == [.timedOut(ANCSNotificationUID(rawValue: 1))])
        #expect(rig.takeAsked() == [Self.fetch(2)])
        // The first one's answer is late, and no answer to the second.
        rig.notify(Self.data, Self.attributes(1))
        let expected = ByteDecodingError("data_source.notification_uid", .invalidValue(1))
        #expect(problems(rig.takeEvents()) == [.malformedResponse(ANCSNotificationUID(rawValue: 2), expected)])
    }

    @Test func aWriteThatIsNotAnsweredHoldsBackTheNextUntilItIs() {
        var rig = subscribed()
        rig.answer = { _ in nil }
        rig.notify(Self.source, Self.event(0, 1))
        rig.notify(Self.source, Self.event(0, 2))
        rig.wait(.seconds(10))
        #expect(problems(rig.takeEvents()) == [.timedOut(ANCSNotificationUID(rawValue: 1))])
        #expect(rig.takeAsked() == [Self.fetch(1)])
        rig.answer = { _ in .success(.written) }
        rig.finish(.success(.written))
        #expect(rig.takeAsked() == [Self.fetch(2)])
    }

    @Test func partsKeepAnOperationAlive() {
        var rig = subscribed()
        rig.notify(Self.source, Self.event(0, 1))
        for part in Self.attributes(1).parts(of: 20) {
            rig.wait(.seconds(9))
            rig.notify(Self.data, part)
        }
        #expect(rig.takeAsked() == [Self.fetch(1), Self.appName("com.example.chat")])
        rig.notify(Self.data, [])
        rig.wait(.seconds(10))
        let events = rig.takeEvents()
        #expect(problems(events) == [.timedOut(ANCSNotificationUID(rawValue: 1))])
        #expect(shown(events).map(\.appName) == [nil], "it is shown without its app's name")
    }

    @Test func aRefusedWriteIsTriedOnceMoreAfterFiveSeconds() {
        var rig = subscribed()
        rig.answer = { _ in .refused(.unlikelyError) }
        let start = rig.now
        rig.notify(Self.source, Self.event(0, 1))
        rig.notify(Self.source, Self.event(0, 2))
        rig.wait(.milliseconds(4_999))
        #expect(rig.takeAsked() == [Self.fetch(1)])
        rig.wait(.milliseconds(1))
        #expect(rig.times == [start + .seconds(5), start + .seconds(5)])
        #expect(rig.takeAsked() == [Self.fetch(1), Self.fetch(2)], "then it is given up, and the next has its turn")
        let problem = problems(rig.takeEvents()).first?.description
        #expect(problem?.contains("notification 1 could not be read") == true, "\(problem ?? "")")
        rig.answer = { _ in .success(.written) }
        rig.notifications = Self.phone()
        rig.wait(.seconds(5))
        #expect(shown(rig.takeEvents()).map(\.uid.rawValue) == [2])
    }

    @Test func whatTheServiceItselfRefusesIsNotTriedAgain() {
        var rig = subscribed()
        rig.answer = { _ in .refused(ATTError(rawValue: 0xA2)) }
        rig.notify(Self.source, Self.event(0, 1))
        rig.wait(.seconds(30))
        #expect(rig.takeAsked() == [Self.fetch(1)])
        #expect(problems(rig.takeEvents()) == [.noSuchNotification(ANCSNotificationUID(rawValue: 1))])
    }

    @Test func aNotificationWhoseAppHasNoNameIsShown() {
        var rig = subscribed()
        rig.notifications = Self.phone()
        rig.answer = { procedure in
            if case .write(_, let value) = procedure, value.first == 1 { return .refused(ATTError(rawValue: 0xA2)) }
            return .success(.written)
        }
        rig.notify(Self.source, Self.event(0, 1))
        #expect(shown(rig.takeEvents()).map(\.appName) == [nil])
    }

    @Test func aNameThatIsTooLongToAskForIsNotWaitedFor() {
        var rig = subscribed()
        rig.notifications = Self.phone()
        rig.answer = { procedure in
            if case .write(_, let value) = procedure, value.first == 1 { return .failure(.valueExceedsMTU) }
            return .success(.written)
        }
        rig.notify(Self.source, Self.event(0, 1))
        #expect(shown(rig.takeEvents()).map(\.appName) == [nil])
    }

    @Test func garbageCostsOneNotification() {
        var rig = subscribed()
        rig.notify(Self.source, [1, 2, 3])
        rig.notify(Self.source, Self.event(9, 1))
        rig.notify(Self.source, Self.event(0, 1))
        rig.notify(Self.source, Self.event(0, 2))
        rig.notify(Self.data, [0x00, 1, 0, 0, 0, 77])
        #expect(problems(rig.takeEvents()).count == 3)
        rig.notifications = Self.phone()
        rig.notify(Self.data, Self.attributes(2))
        #expect(shown(rig.takeEvents()).map(\.uid.rawValue) == [2])
    }

    @Test func aNotificationOfNoAppIsNotShown() {
        var rig = subscribed()
        rig.notify(Self.source, Self.event(0, 1))
        rig.notify(Self.data, Self.attributes(1, app: ""))
        #expect(rig.takeEvents() == [.problem(.noApp(ANCSNotificationUID(rawValue: 1)))])
    }

    @Test func theOldestMakesWayWhenTooManyWait() {
        var rig = subscribed()
        // One is being read; of those that wait, one is an action.
        rig.notify(Self.source, Self.event(0, 0))
        rig.client.perform(.negative, of: ANCSNotificationUID(rawValue: 99))
        for uid: UInt8 in 1...15 { rig.notify(Self.source, Self.event(0, uid)) }
        #expect(rig.takeEvents().isEmpty)
        rig.notify(Self.source, Self.event(0, 16))
        rig.notify(Self.source, Self.event(0, 17))
        let dropped: [UInt32] = [1, 2]
        #expect(problems(rig.takeEvents()) == dropped.map { .tooMany(ANCSNotificationUID(rawValue: $0)) })
        rig.notifications = Self.phone()
        _ = rig.takeAsked()
        rig.notify(Self.data, Self.attributes(0))
        let events = rig.takeEvents()
        #expect(events.contains(.performed(ANCSNotificationUID(rawValue: 99), .negative)))
        #expect(shown(events).map(\.uid.rawValue) == [0] + Array(3...17))
    }

    // MARK: Actions

    @Test func actions() {
        var rig = subscribed()
        let uid = ANCSNotificationUID(rawValue: 0x97)
        rig.client.perform(.positive, of: uid)
        rig.run()
        #expect(rig.takeAsked() == [Self.write([0x02, 0x97, 0, 0, 0, 0])])
        #expect(rig.takeEvents() == [.performed(uid, .positive)])
        rig.answer = { _ in .refused(ATTError(rawValue: 0xA3)) }
        rig.client.perform(.negative, of: uid)
        rig.run()
        #expect(rig.takeAsked() == [Self.write([0x02, 0x97, 0, 0, 0, 1])])
        let problem = ANCSProblem.notPerformed(uid, .negative, PhoneServiceRig<ANCSClient>.refusal(.ancsActionFailed))
        #expect(rig.takeEvents() == [.notPerformed(uid, .negative, problem)])
        rig.answer = { _ in nil }
        rig.client.perform(.negative, of: uid)
        rig.run()
        rig.wait(.seconds(10))
        #expect(rig.takeEvents() == [.notPerformed(uid, .negative, .timedOut(uid))])
    }

    @Test func actionsWithoutTheServiceAreRefusedAtOnce() {
        var rig = PhoneServiceRig(ANCSClient())
        let uid = ANCSNotificationUID(rawValue: 1)
        rig.client.perform(.positive, of: uid)
        #expect(rig.takeEvents() == [.notPerformed(uid, .positive, .notAvailable)])
    }

    // MARK: Vanishing

    @Test func theServiceVanishesInTheMiddle() {
        var rig = subscribed()
        let uid = ANCSNotificationUID(rawValue: 7)
        rig.answer = { _ in nil }
        rig.notify(Self.source, Self.event(0, 1))
        rig.client.perform(.negative, of: uid)
        rig.client.serviceGone(at: rig.now)
        #expect(rig.takeEvents() == [.notPerformed(uid, .negative, .notAvailable), .unsubscribed])
        #expect(rig.client.nextDeadline == nil)
        #expect(rig.client.receive(Self.event(0, 2)[...], of: Self.source, at: rig.now) == false)
        // It comes back elsewhere while the old write is still under way.
        let elsewhere = ANCSClient.Handles(
            notificationSource: NotifyingValue(value: handle(0x40), configuration: handle(0x41)),
            dataSource: NotifyingValue(value: handle(0x43), configuration: handle(0x44)),
            controlPoint: handle(0x46)
        )
        rig.client.serviceFound(elsewhere, at: rig.now)
        _ = rig.takeAsked()
        rig.run()
        #expect(rig.takeAsked().isEmpty, "one procedure at a time")
        rig.answer = { _ in .success(.written) }
        rig.finish(.refused(.invalidHandle))
        #expect(rig.takeAsked() == [Self.subscribe(0x44), Self.subscribe(0x41)])
        #expect(rig.takeEvents() == [.subscribed])
    }

    // MARK: Liveness

    private static let probe = write([0x00, 0xFF, 0xFF, 0xFF, 0xFF])
    private static let again = [
        subscribe(0x24, []), subscribe(0x24), subscribe(0x21, []), subscribe(0x21),
    ]

    @Test func aLivingServiceIsAskedEveryQuarterOfAnHour() {
        var rig = PhoneServiceRig(ANCSClient())
        rig.client.serviceFound(Self.handles, at: rig.now)
        rig.run()
        _ = rig.takeAsked()
        rig.answer = { $0 == Self.probe ? .refused(ATTError(rawValue: 0xA2)) : .success(.written) }
        rig.wait(.seconds(15 * 60 - 1))
        #expect(rig.asked.isEmpty)
        rig.wait(.seconds(1))
        #expect(rig.asked == [Self.probe])
        rig.wait(.seconds(30 * 60))
        #expect(rig.takeAsked() == [Self.probe, Self.probe, Self.probe])
        #expect(rig.takeEvents() == [.subscribed])
    }

    @Test func aServiceThatDoesNotAnswerIsSubscribedToAnew() {
        var rig = subscribed()
        rig.answer = { _ in nil }
        rig.wait(.seconds(15 * 60 - 11))
        #expect(rig.takeAsked() == [Self.probe])
        rig.wait(.milliseconds(4_999))
        #expect(rig.takeEvents().isEmpty)
        rig.wait(.milliseconds(1))
        #expect(problems(rig.takeEvents()) == [.silent])
        rig.answer = { _ in .success(.written) }
        rig.finish(.success(.written))
        #expect(rig.takeAsked() == Self.again)
        #expect(rig.client.isAvailable)
        rig.notifications = Self.phone()
        rig.notify(Self.source, Self.event(0, 1, flags: 0))
        #expect(shown(rig.takeEvents()).count == 1)
    }

    @Test func aServiceThatRefusesOtherwiseIsSubscribedToAnew() {
        var rig = subscribed()
        rig.answer = { $0 == Self.probe ? .refused(.unlikelyError) : .success(.written) }
        rig.wait(.seconds(15 * 60))
        #expect(rig.takeAsked() == [Self.probe] + Self.again)
    }

    @Test func sixHoursOfSilenceAreSubscribedToAnew() {
        var rig = subscribed()
        rig.answer = { $0 == Self.probe ? .refused(ATTError(rawValue: 0xA2)) : .success(.written) }
        rig.notifications = Self.phone()
        rig.wait(.seconds(3600))
        rig.notify(Self.source, Self.event(2, 1))
        _ = rig.takeAsked()
        rig.wait(.seconds(6 * 3600 - 60))
        #expect(rig.takeAsked().allSatisfy { $0 == Self.probe })
        rig.wait(.seconds(16 * 60))
        #expect(rig.takeAsked() == [Self.probe] + Self.again)
    }

    @Test func theProbeWaitsForWhatIsUnderWay() {
        var rig = subscribed()
        rig.wait(.seconds(15 * 60 - 12))
        rig.notify(Self.source, Self.event(0, 1))
        rig.wait(.seconds(2))
        #expect(rig.takeAsked() == [Self.fetch(1)])
        rig.notifications = Self.phone()
        rig.answer = { $0 == Self.probe ? .refused(ATTError(rawValue: 0xA2)) : .success(.written) }
        rig.notify(Self.data, Self.attributes(1))
        #expect(rig.takeAsked() == [Self.appName("com.example.chat"), Self.probe])
    }
}
