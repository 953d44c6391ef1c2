import BluetoothHCI
import ByteCoding
import PebbleProtocol
import Testing

@testable import PebbleWatch

/// A phone's own notifications, player and clock in the watch's models, next to those of the Pebble app.
@Suite struct AppleServiceTests {
    private static let iPhone: ConnectionHandle = 0x40
    private static let other: ConnectionHandle = 0x41

    private func notification(
        _ uid: UInt32,
        isModified: Bool = false,
        category: ANCSCategory = .social,
        app: String = "com.example.chat",
        title: String = "Ada",
        message: String = "Hello",
        positive: String? = nil,
        negative: String? = "Clear"
    ) -> ANCSNotification {
        ANCSNotification(
            uid: ANCSNotificationUID(rawValue: uid),
            isModified: isModified,
            flags: [],
            category: category,
            appIdentifier: app,
            appName: "Chat",
            title: title,
            subtitle: "",
            message: message,
            date: ANCSDate(localSeconds: ServiceRig.startTime + 60),
            positiveActionLabel: positive,
            negativeActionLabel: negative
        )
    }

    private func items(_ rig: ServiceRig) -> [TimelineItem] {
        rig.system.services.store.databases.items(of: .notifications)
    }

    private func shownItems(_ rig: ServiceRig) -> [TimelineItem] {
        items(rig).filter { !$0.status.contains(.dismissed) }
    }

    // MARK: Notifications

    @Test func aNotificationIsAnItemLikeAnyOther() throws {
        var rig = ServiceRig()
        rig.phone(.notified(notification(7, positive: "Reply")))
        let item = try #require(items(rig).first)
        #expect(item.kind == .notification)
        #expect(item.flags == .fromANCS)
        #expect(item.layout == .notification)
        #expect(item.timestamp == ServiceRig.startTime + 60)
        let texts = [TimelineAttribute.ID.title, .body, .appName, .iOSAppIdentifier].map { id in
            item.attributes.first { $0.id == id }?.text
        }
        #expect(texts == ["Ada", "Hello", "Chat", "com.example.chat"])
        #expect(item.actions.map(\.id) == [0, 1])
        #expect(item.actions.map(\.kind) == [.ancsPositive, .ancsNegative])
        #expect(item.actions.map { $0.attributes.last?.text } == ["Reply", "Clear"])
        #expect(rig.takeServiceEvents() == [.notificationShown(item)])
        #expect(rig.changes.count == 1, "it is stored")
        // A UUID of RFC 4122's random kind.
        #expect(item.id.upperHalf >> 12 & 0xF == 4)
        #expect(item.id.lowerHalf >> 62 == 2)
    }

    @Test func aLocalDateIsTurnedIntoTheClocksTime() throws {
        var rig = ServiceRig()
        try rig.send(TimeMessage.setUTC(.init(seconds: 1_800_000_000, offsetMinutes: 60, zoneName: "Europe/Paris")))
        rig.phone(.notified(notification(1)))
        #expect(items(rig).first?.timestamp == ServiceRig.startTime + 60 - 3600)
    }

    @Test func aChangedNotificationStaysTheSameItem() throws {
        var rig = ServiceRig()
        rig.phone(.notified(notification(7)))
        rig.phone(.notified(notification(8, title: "Bob")))
        let id = try #require(items(rig).first?.id)
        rig.phone(.notified(notification(7, isModified: true, message: "Hello, world")))
        #expect(items(rig).count == 2)
        let changed = items(rig).first { $0.id == id }
        #expect(changed?.attributes.first { $0.id == .body }?.text == "Hello, world")
    }

    @Test func aRemovedNotificationIsNotShownAnyMore() throws {
        var rig = ServiceRig()
        rig.phone(.notified(notification(7)))
        let id = try #require(items(rig).first?.id)
        _ = rig.takeServiceEvents()
        rig.phone(.removed(ANCSNotificationUID(rawValue: 8)))
        rig.phone(.removed(ANCSNotificationUID(rawValue: 7)), on: Self.other)
        #expect(shownItems(rig).count == 1, "another phone's numbers are its own")
        rig.phone(.removed(ANCSNotificationUID(rawValue: 7)))
        #expect(shownItems(rig).isEmpty)
        #expect(rig.takeServiceEvents() == [.notificationRemoved(id)])
    }

    @Test func actionsGoToThePhoneThatShowsIt() throws {
        var rig = ServiceRig()
        rig.phone(.notified(notification(7, positive: "Reply")))
        let item = try #require(items(rig).first)
        _ = rig.takeServiceEvents()
        #expect(rig.act(on: item.id, 1) == true)
        let source = AppleNotificationService.Source(connection: Self.iPhone, uid: ANCSNotificationUID(rawValue: 7))
        #expect(rig.takePhoneRequests() == [.act(.negative, on: source)])
        #expect(rig.drain().isEmpty, "the Pebble app has nothing to do with it")
        #expect(rig.takeServiceEvents() == [.actionSent(item.id, action: 1)])
        rig.phone(.performed(source.uid, .negative))
        #expect(
            rig.takeServiceEvents() == [
                .actionAnswered(item.id, action: 1, .acknowledgement, text: nil), .notificationRemoved(item.id),
            ]
        )
        // The phone also reports that it is gone, which changes nothing.
        rig.phone(.removed(source.uid))
        #expect(rig.takeServiceEvents().isEmpty)
        #expect(rig.act(on: item.id, 2) == false, "there is no such action")
    }

    @Test func anActionThatFailsSaysWhy() throws {
        var rig = ServiceRig()
        rig.phone(.notified(notification(7)))
        let item = try #require(items(rig).first)
        _ = rig.takeServiceEvents()
        let uid = ANCSNotificationUID(rawValue: 7)
        rig.phone(.notPerformed(uid, .negative, .timedOut(uid)))
        guard
            case .actionAnswered(item.id, action: 1, .negativeAcknowledgement, let text)? = rig.takeServiceEvents()
                .first
        else {
            Issue.record("it is not said")
            return
        }
        #expect(text == "the phone did not answer about notification 7 in time")
        #expect(shownItems(rig).count == 1)
    }

    @Test func itemsOutliveThePhoneButNotItsNumbers() throws {
        var rig = ServiceRig()
        rig.phone(.notified(notification(7)))
        let item = try #require(items(rig).first)
        rig.phone(.unsubscribed)
        #expect(shownItems(rig).count == 1)
        _ = rig.takeServiceEvents()
        _ = rig.act(on: item.id, 1)
        #expect(rig.takePhoneRequests().isEmpty)
        #expect(rig.takeServiceEvents() == [.actionNotSent(item.id, action: 1)])
        // On the next link the phone tells of it under another number.
        rig.phone(.notified(notification(9)))
        #expect(items(rig).count == 1)
        #expect(rig.takeServiceEvents().isEmpty)
        _ = rig.act(on: item.id, 1)
        let source = AppleNotificationService.Source(connection: Self.iPhone, uid: ANCSNotificationUID(rawValue: 9))
        #expect(rig.takePhoneRequests() == [.act(.negative, on: source)])
    }

    @Test func twoThatSayTheSameAreTwo() {
        var rig = ServiceRig()
        rig.phone(.notified(notification(7)))
        rig.phone(.notified(notification(8)))
        #expect(shownItems(rig).count == 2)
    }

    @Test func whatWasDismissedWhileThePhoneWasAwayIsDismissedThereToo() throws {
        var rig = ServiceRig()
        rig.phone(.notified(notification(7)))
        rig.phone(.performed(ANCSNotificationUID(rawValue: 7), .negative))
        rig.phone(.unsubscribed)
        rig.phone(.notified(notification(9)))
        #expect(shownItems(rig).isEmpty)
        let source = AppleNotificationService.Source(connection: Self.iPhone, uid: ANCSNotificationUID(rawValue: 9))
        #expect(rig.takePhoneRequests() == [.act(.negative, on: source)])
    }

    @Test func theOldestMakeWay() throws {
        var rig = ServiceRig()
        for uid in 0..<200 as Range<UInt32> { rig.phone(.notified(notification(uid, title: "\(uid)"))) }
        #expect(items(rig).count == 128)
        #expect(items(rig).first?.attributes.first?.text == "72")
        var memory = ServiceMemory()
        for change in rig.changes { memory.apply(change) }
        #expect(memory.records.count == 128, "in the store too")
        #expect(rig.system.services.appleNotifications.source(of: try #require(items(rig).last?.id)) != nil)
    }

    // MARK: Calls

    private func call(_ uid: UInt32) -> ANCSNotification {
        notification(
            uid,
            category: .incomingCall,
            app: AppleNotificationService.phoneApp,
            title: "Mum",
            positive: "Answer",
            negative: "Decline"
        )
    }

    @Test func aCallOfThePhonesOwnIsACall() throws {
        var rig = ServiceRig()
        rig.phone(.notified(call(5)))
        #expect(items(rig).isEmpty)
        let call = try #require(rig.system.services.phoneControl.calls.first)
        #expect(call.state == .incoming)
        #expect(call.caller == PhoneControlMessage.Caller(number: "", name: "Mum"))
        #expect(rig.takeServiceEvents() == [.call(call)])
        let source = AppleNotificationService.Source(connection: Self.iPhone, uid: ANCSNotificationUID(rawValue: 5))
        #expect(rig.answerCall(true) == true)
        #expect(rig.takePhoneRequests() == [.act(.positive, on: source)])
        #expect(rig.answerCall(false) == true)
        #expect(rig.takePhoneRequests() == [.act(.negative, on: source)])
        rig.phone(.removed(source.uid))
        #expect(rig.system.services.phoneControl.calls.isEmpty)
        #expect(rig.takeServiceEvents() == [.callEnded(call)])
    }

    @Test func aCallInAnotherAppIsANotification() {
        var rig = ServiceRig()
        rig.phone(.notified(notification(5, category: .incomingCall, app: "com.apple.facetime")))
        #expect(rig.system.services.phoneControl.calls.isEmpty)
        #expect(items(rig).count == 1)
    }

    @Test func callsOfTheAppAndOfThePhoneAreTwo() throws {
        var rig = ServiceRig()
        let id = PhoneControlMessage.Call(rawValue: 5)
        try rig.send(PhoneControlMessage.incoming(id, .init(number: "1", name: "Dad")))
        rig.phone(.notified(call(5)))
        #expect(rig.system.services.phoneControl.calls.count == 2, "although they have one number")
        try rig.send(PhoneControlMessage.end(id))
        #expect(rig.system.services.phoneControl.calls.map(\.caller?.name) == ["Mum"])
        rig.closeSession()
        #expect(rig.system.services.phoneControl.calls.count == 1, "the phone goes on without the app")
        rig.phone(.unsubscribed)
        #expect(rig.system.services.phoneControl.calls.isEmpty)
    }

    @Test func aMissedCallIsOneUnlessItWasRefused() {
        let missed = notification(6, category: .missedCall, app: AppleNotificationService.phoneApp, title: "Mum")
        var rig = ServiceRig()
        rig.phone(.notified(missed))
        #expect(rig.system.services.phoneControl.missed.map(\.name) == ["Mum"])
        #expect(items(rig).count == 1)

        rig = ServiceRig()
        rig.phone(.notified(call(5)))
        _ = rig.answerCall(false)
        rig.phone(.removed(ANCSNotificationUID(rawValue: 5)))
        rig.wait(.seconds(6))
        rig.phone(.notified(missed))
        #expect(rig.system.services.phoneControl.missed.isEmpty)
        #expect(items(rig).isEmpty)
        rig.wait(.seconds(1))
        rig.phone(.notified(missed))
        #expect(rig.system.services.phoneControl.missed.count == 1)
    }

    // MARK: Music

    @Test func aPhonesPlayer() throws {
        var rig = ServiceRig()
        rig.player(.registered)
        for change: AMSChange in [
            .artist("Ada"), .album("Notes"), .title("G"), .duration(milliseconds: 90_000), .queueCount(12),
            .queueIndex(3),
            .playback(.init(state: .playing, ratePercent: 100, positionMilliseconds: 1000)), .shuffle(.on),
            .repetition(.all), .volume(60),
        ] { rig.player(.changed(change)) }
        let music = rig.system.services.music
        #expect(music.track?.title == "G")
        #expect(music.track?.details == .init(lengthMilliseconds: 90_000, trackCount: 12, trackIndex: 3))
        #expect(music.playState?.shuffle == .on)
        #expect(music.playState?.repetition == .all)
        #expect(music.volume == 60)
        #expect(music.position(at: rig.now + .seconds(2)) == 3000)
        let named = rig.takeServiceEvents().filter { if case .nowPlaying = $0 { true } else { false } }
        #expect(named.count == 3, "artist, album, title")
        #expect(rig.press(.next) == true)
        #expect(rig.takePhoneRequests() == [.music(.nextTrack, on: Self.iPhone)])
        #expect(rig.drain().isEmpty)
        rig.player(.unregistered)
        #expect(rig.system.services.music == MusicService())
    }

    @Test func theFirstWhoSpeaksIsShown() throws {
        var rig = ServiceRig()
        try rig.send(MusicMessage.nowPlaying(.init(artist: "App", album: "", title: "")))
        #expect(rig.system.services.music.isTaken(from: Self.iPhone))
        rig.player(.registered)
        rig.player(.changed(.artist("Phone")))
        #expect(rig.system.services.music.track?.artist == "App")
        rig.closeSession()
        #expect(!rig.system.services.music.isTaken(from: Self.iPhone))
        rig.player(.changed(.artist("Phone")))
        rig.reopen()
        try rig.send(MusicMessage.nowPlaying(.init(artist: "App", album: "", title: "")))
        #expect(rig.system.services.music.track?.artist == "Phone")
        #expect(rig.system.services.music.isTaken(from: Self.other))
        rig.player(.unregistered, on: Self.other)
        #expect(rig.system.services.music.track?.artist == "Phone")
    }

    @Test func longTextsAreCut() {
        var rig = ServiceRig()
        rig.player(.changed(.title(String(repeating: "ü", count: 100))))
        #expect(rig.system.services.music.track?.title.utf8.count == 64)
    }

    // MARK: Time

    @Test func aPhonesClockSetsTheWatchs() throws {
        var rig = ServiceRig()
        rig.wait(.seconds(10))
        rig.clock(localSeconds: 1_800_003_600, at: rig.now - .milliseconds(500), offsetMinutes: 60)
        #expect(rig.system.clock.zone == WatchClock.Zone(offsetMinutes: 60, name: "UTC+1"))
        #expect(rig.system.clock.seconds(at: rig.now) == 1_800_000_000)
        #expect(rig.system.clock.seconds(at: rig.now + .milliseconds(500)) == 1_800_000_001)
        #expect(rig.clockSettings == 1)
        // Without a zone the one that is known stays, and the app's name of it.
        try rig.send(TimeMessage.setUTC(.init(seconds: 1_800_000_000, offsetMinutes: 60, zoneName: "Europe/Paris")))
        rig.clock(localSeconds: 1_800_007_200, at: rig.now, offsetMinutes: nil)
        #expect(rig.system.clock.zone?.name == "Europe/Paris")
        #expect(rig.system.clock.seconds(at: rig.now) == 1_800_003_600)
        rig.clock(localSeconds: 1_800_007_200, at: rig.now, offsetMinutes: 60)
        #expect(rig.system.clock.zone?.name == "Europe/Paris")
        rig.clock(localSeconds: 1_800_007_200, at: rig.now, offsetMinutes: 120)
        #expect(rig.system.clock.zone?.name == "UTC+2")
    }

    @Test func withoutAnyZoneTheClockShowsLocalTime() {
        var rig = ServiceRig()
        rig.clock(localSeconds: 1_800_000_000, at: rig.now, offsetMinutes: nil)
        #expect(rig.system.clock.zone == nil)
        #expect(rig.system.clock.seconds(at: rig.now) == 1_800_000_000)
        rig.clock(localSeconds: 30, at: rig.now, offsetMinutes: 60)
        #expect(rig.system.clock.seconds(at: rig.now) == 0, "before 1970 there is nothing")
    }
}

extension ServiceRig {
    private static let iPhone: ConnectionHandle = 0x40

    fileprivate mutating func phone(_ event: ANCSClient.Event, on connection: ConnectionHandle = iPhone) {
        _ = system.withServices(at: now) { $0.receive(event, from: connection, in: &$1) }
        _ = drain()
    }

    fileprivate mutating func player(_ event: AMSClient.Event, on connection: ConnectionHandle = iPhone) {
        _ = system.withServices(at: now) { $0.receive(event, from: connection, in: &$1) }
    }

    fileprivate mutating func clock(localSeconds: UInt32, at moment: Duration, offsetMinutes: Int?) {
        let event = CurrentTimeClient.Event.time(localSeconds: localSeconds, at: moment, offsetMinutes: offsetMinutes)
        _ = system.withServices(at: now) { $0.receive(event, in: &$1) }
        _ = drain()
    }

    fileprivate var clockSettings: Int { events.filter { if case .clockSet = $0 { true } else { false } }.count }

    fileprivate mutating func act(on item: PebbleUUID, _ action: UInt8) -> Bool? {
        system.withServices(at: now) { $0.perform(action, of: item, text: nil, in: &$1) }
    }

    fileprivate mutating func answerCall(_ isAccepted: Bool) -> Bool? {
        system.withServices(at: now) { $0.answerCall(isAccepted, in: &$1) }
    }

    fileprivate mutating func press(_ key: MusicMessage.Command) -> Bool? {
        system.withServices(at: now) { $0.send(key, in: &$1) }
    }

    fileprivate mutating func takePhoneRequests() -> [PhoneRequest] {
        var requests: [PhoneRequest] = []
        while let request = system.nextPhoneRequest() { requests.append(request) }
        return requests
    }
}
