import BluetoothHCI
import BluetoothHost
import PebbleProtocol
import SeededRandomness
import Testing

@testable import PebbleWatch

/// The watch's own services, and a firmware in their shadow that answers as it is told.
struct MirrorRig {
    var system: WatchSystem
    var now: Duration = .zero
    /// What the firmware is asked, without marks of the mirror's own and what the bridge asks at the beginning.
    private(set) var asked: [PebbleMessage] = []
    private(set) var differences: [MirrorDifference] = []
    /// Whether the firmware answers marks at once.
    var goesOn = true
    private var marks: [PebbleMessage] = []
    private var deframer = QEMUDeframer()
    private var stream = MessageDeframer()
    let id: SessionID

    init() throws {
        system = WatchSystem(
            identity: BridgeRig.identity,
            clock: WatchClock(seconds: ServiceRig.startTime, at: .zero),
            apps: AppManager(WatchConfiguration(identity: BridgeRig.identity)),
            memory: ServiceMemory(),
            brain: .mirrored,
            randomness: RandomSource(state: 1, SplitMix64.draw)
        )
        system.start(at: .zero)
        _ = system.take(.connected, at: now)
        id = system.openSession(.reversedV2, over: .reversedPPoGATT, among: [], at: now)
        // It has just started.
        try say(PebbleMessage(PhoneVersionMessage.request))
        try say(PebbleMessage(AppRunStateMessage.start(.system)))
        try serve()
        // It takes note that no phone was there, and of this one.
        for _ in 0..<Self.noteCount {
            try say(PebbleMessage(AppRunStateMessage.start(.system)))
            try serve()
        }
        asked = []
    }

    private static let noteCount: UInt64 = 2

    /// What was counted since the firmware has taken note of the phone.
    var tally: MirrorTally {
        var tally = system.mirror.part?.wholeTally ?? MirrorTally()
        tally.unasked -= Self.noteCount
        return tally
    }

    /// Lets the firmware have what waits for it; it answers marks, and the bridge's own questions. The store does what it is asked.
    mutating func serve() throws {
        while let change = system.nextChange() { system.changeFinished(for: change.owner, failure: nil, at: now) }
        while true {
            let bytes = system.take(.hasRoom, at: now)
            guard !bytes.isEmpty else { break }
            deframer.receive(bytes[...])
            while let frame = deframer.nextFrame(at: now) {
                if frame.protocolID == .accelerometer { send(QEMUMessage.accelerometerSpace(256).frame) }
                guard frame.protocolID == .spp else { continue }
                var rest = frame.data[...]
                while case .message(let message)? = stream.next(from: &rest) { try take(message) }
            }
        }
        while let event = system.nextEvent() {
            if case .mirrorDiffers(let difference) = event { differences.append(difference) }
        }
    }

    private mutating func take(_ message: PebbleMessage) throws {
        guard let answer = message.answerToMark else {
            asked.append(message)
            return
        }
        if goesOn { try say(answer) } else { marks.append(answer) }
    }

    /// The firmware goes on to what it was asked next.
    mutating func goOn() throws {
        let waiting = marks
        marks = []
        for answer in waiting { try say(answer) }
        try serve()
    }

    /// What the firmware was asked since this was last asked.
    mutating func takeAsked() -> [PebbleMessage] {
        defer { asked = [] }
        return asked
    }

    mutating func say(_ message: PebbleMessage) throws {
        var bytes: [UInt8] = []
        try MessageFramer.append(message, to: &bytes)
        send(QEMUFrame(.spp, data: bytes))
    }

    private mutating func send(_ frame: QEMUFrame) {
        var framed: [UInt8] = []
        QEMUFrame.append(frame.data[...], as: frame.protocolID, to: &framed)
        _ = system.take(.bytes(framed[...]), at: now)
    }

    /// A phone's message; the firmware has been asked when this returns, and has not answered.
    mutating func send(_ message: PebbleMessage) throws {
        var bytes: [UInt8] = []
        try MessageFramer.append(message, to: &bytes)
        system.receive(bytes[...], on: id, at: now)
        try serve()
        while !system.takeOutbound(of: id, atMost: 1000, at: now).isEmpty {}
    }

    mutating func wait(_ duration: Duration) throws {
        let end = now + duration
        var turns = 0
        while let deadline = system.nextDeadline, deadline <= end {
            turns = deadline > now ? 0 : turns + 1
            try #require(turns < 1000, "a deadline that has passed stays")
            now = max(now, deadline)
            system.advance(to: now)
            try serve()
        }
        now = end
        system.advance(to: now)
        try serve()
    }
}

@Suite("The comparison of the watch with the firmware in its shadow")
struct MirrorTests {
    fileprivate static let clear = PebbleMessage(endpoint: .blobDB, payload: [0x05, 0x10, 0x0E, 0x0D])
    /// There is no such database, which is answered at once.
    fileprivate static let cleared = PebbleMessage(endpoint: .blobDB, payload: [0x10, 0x0E, 0x04])
    private static let time = PebbleMessage(endpoint: .time, payload: [0x00])

    @Test func whatIsTheSameInMeaningIsNoDifference() throws {
        var rig = try MirrorRig()
        rig.goesOn = false
        try rig.send(Self.time)
        // Another clock.
        try rig.say(PebbleMessage(endpoint: .time, payload: [0x01, 1, 2, 3, 4]))
        try rig.goOn()
        #expect(rig.tally.same == 1 && rig.differences.isEmpty)
    }

    @Test func anotherAnswerIsReportedOnce() throws {
        var rig = try MirrorRig()
        rig.goesOn = false
        try rig.send(Self.clear)
        try rig.say(PebbleMessage(endpoint: .blobDB, payload: [0x10, 0x0E, 0x05]))
        try rig.goOn()
        #expect(rig.differences.isEmpty, "what comes at once may be the rest of it")
        try rig.wait(.seconds(30))
        #expect(rig.differences.map(\.kind) == [.answer])
        #expect(rig.differences.first?.watch.map(\.bytes) == [Self.cleared.payload])
        #expect(rig.tally.compared == 1)
    }

    @Test func anAnswerThatComesAtLastIsLate() throws {
        var rig = try MirrorRig()
        try rig.send(Self.clear)
        try rig.wait(.seconds(2))
        #expect(rig.differences.isEmpty)
        try rig.say(Self.cleared)
        try rig.serve()
        #expect(rig.differences.map(\.kind) == [.late])
        #expect(rig.differences.first?.delay == .seconds(2))
        try rig.wait(.seconds(30))
        #expect(rig.differences.count == 1)
    }

    @Test func anAnswerThatDoesNotComeIsMissing() throws {
        var rig = try MirrorRig()
        try rig.send(Self.clear)
        try rig.wait(.seconds(4))
        #expect(rig.differences.isEmpty)
        try rig.wait(.seconds(2))
        #expect(rig.differences.map(\.kind) == [.missing])
        // It is known to have been missing.
        try rig.say(Self.cleared)
        try rig.wait(.seconds(30))
        #expect(rig.differences.count == 1)
    }

    @Test func aSlowFirmwareIsNoDifference() throws {
        var rig = try MirrorRig()
        rig.goesOn = false
        try rig.send(Self.clear)
        try rig.wait(.seconds(8))
        try rig.say(Self.cleared)
        try rig.goOn()
        #expect(rig.tally.same == 1 && rig.differences.isEmpty)
    }

    @Test func theFirmwareIsAskedOneThingAfterTheOther() throws {
        var rig = try MirrorRig()
        rig.goesOn = false
        try rig.send(Self.time)
        try rig.send(Self.clear)
        #expect(rig.asked == [Self.time])
        try rig.say(PebbleMessage(endpoint: .time, payload: [0x01, 1, 2, 3, 4]))
        try rig.goOn()
        #expect(rig.asked == [Self.time, Self.clear])
    }

    @Test func aResetIsNotAsked() throws {
        var rig = try MirrorRig()
        try rig.send(PebbleMessage(endpoint: .reset, payload: [0x00]))
        try rig.send(PebbleMessage(endpoint: .reset, payload: [0xFE]))
        #expect(rig.asked.isEmpty)
        #expect(rig.tally.withheld == [.reset: 2])
    }

    @Test func whatWaitsIsBounded() throws {
        var rig = try MirrorRig()
        rig.goesOn = false
        let long = PebbleMessage(endpoint: .ping, payload: [UInt8](repeating: 0, count: 60_000))
        for _ in 0..<10 { try rig.send(long) }
        #expect(rig.tally.lost >= 4)
        #expect(rig.tally.waiting <= 6)
    }

    @Test func aFirmwareThatIsGoneOwesNothing() throws {
        var rig = try MirrorRig()
        rig.goesOn = false
        try rig.send(Self.clear)
        _ = rig.system.take(.lost(reason: "it ended"), at: rig.now)
        try rig.wait(.seconds(60))
        #expect(rig.differences.isEmpty)
        #expect(rig.tally.lost == 1)
        #expect(rig.system.sessions.isOpen(rig.id), "the phone notices nothing")
    }

    /// What the phone can do decides what the firmware answers.
    @Test func aFirmwareThatStartsAgainIsToldWhatThePhoneIs() throws {
        var rig = try MirrorRig()
        let phone = PebbleMessage(
            PhoneVersionMessage.response(
                PhoneVersion(
                    platform: PhonePlatform(.android),
                    appVersion: .init(major: 4, minor: 4, bugfix: 2),
                    capabilities: .weatherApp
                )
            )
        )
        try rig.send(phone)
        // Neither is an answer.
        let other = [PebbleMessage(PhoneVersionMessage.request), PebbleMessage(endpoint: .phoneVersion, payload: [7])]
        for message in other { try rig.send(message) }
        #expect(rig.takeAsked().contains(phone))
        _ = rig.system.take(.lost(reason: "it ended"), at: rig.now)
        _ = rig.system.take(.connected, at: rig.now)
        try rig.say(PebbleMessage(PhoneVersionMessage.request))
        try rig.say(PebbleMessage(AppRunStateMessage.start(.system)))
        try rig.serve()
        // It does not say that it has taken note that no phone was there, and of this one.
        try rig.wait(EmulatorBridge.notePatience + EmulatorBridge.notePatience)
        #expect(rig.takeAsked().contains(phone))
    }
}

@Suite("A brain that keeps what it is asked")
struct BrainRecorderTests {
    @Test func itIsAskedWholeMessagesAndAnswersNothing() throws {
        var system = WatchSystem(
            identity: BridgeRig.identity,
            clock: WatchClock(seconds: ServiceRig.startTime, at: .zero),
            apps: AppManager(WatchConfiguration(identity: BridgeRig.identity)),
            memory: ServiceMemory(),
            brain: .recorder,
            randomness: RandomSource(state: 1, SplitMix64.draw)
        )
        system.start(at: .zero)
        let id = system.openSession(.reversedV2, over: .reversedPPoGATT, among: [], at: .zero)
        let message = PebbleMessage(endpoint: .init(rawValue: 0x7777), payload: [1, 2, 3])
        var bytes: [UInt8] = []
        try MessageFramer.append(message, to: &bytes)
        for byte in bytes { system.receive([byte], on: id, at: .zero) }
        let answer = system.takeOutbound(of: id, atMost: 1000, at: .zero)
        #expect(answer.isEmpty)
        system.closeSession(id, reason: "it left", at: .zero)
        let kind = PPoGATTDestination.reversedV2.kind
        #expect(
            system.recorder?.requests == [
                .sessionOpened(id, kind, .reversedPPoGATT), .message(id, message), .sessionClosed(id),
            ]
        )
    }

    @Test func itIsBounded() {
        var recorder = BrainRecorder()
        let id = SessionID(number: 1)
        let message = PebbleMessage(endpoint: .ping, payload: [UInt8](repeating: 0, count: 60_000))
        for _ in 0..<20 { recorder.note(.message(id, message)) }
        #expect(recorder.count == 20)
        #expect(recorder.requests.count == BrainRecorder.byteLimit / 60_000)
        for _ in 0..<10_000 { recorder.note(.sessionClosed(id)) }
        #expect(recorder.requests.count == BrainRecorder.requestLimit)
    }

    // MARK: The phone's own services

    @Test func theFirmwareIsToldWhatAnIPhonesOwnServicesBring() throws {
        var rig = try MirrorRig()
        let now = rig.now
        let notification = ANCSNotification(
            uid: ANCSNotificationUID(rawValue: 7),
            isModified: false,
            flags: [],
            category: .social,
            appIdentifier: "com.example.chat",
            appName: "Chat",
            title: "Ada",
            subtitle: "",
            message: "Hello",
            date: nil,
            positiveActionLabel: nil,
            negativeActionLabel: "Clear"
        )
        // In its turn: after what the phone said before.
        rig.goesOn = false
        try rig.send(MirrorTests.clear)
        rig.system.hearPhone(at: now) { $0.receive(.notified(notification), from: 0x40, in: &$1) }
        rig.system.hearPhone(at: now) { $0.receive(.changed(.title("Song")), from: 0x40, in: &$1) }
        try rig.serve()
        #expect(rig.asked == [MirrorTests.clear])
        try rig.say(MirrorTests.cleared)
        rig.goesOn = true
        try rig.goOn()
        try #require(rig.asked.count == 3)
        let request = try BlobDBRequest(payload: rig.asked[1].payload)
        guard case .insert(.notifications, let record, nil) = request.command else {
            Issue.record("no insert: \(request)")
            return
        }
        let item = try TimelineItem(record.value)
        #expect(!item.flags.contains(.fromANCS) && item.actions.map(\.kind) == [.dismiss])
        let track = MusicMessage.Track(artist: "", album: "", title: "Song")
        #expect(rig.asked[2] == PebbleMessage(MusicMessage.nowPlaying(track)))
        // Its answer is compared with nothing.
        try rig.say(PebbleMessage(BlobDBResponse(token: request.token, status: .databaseFull)))
        try rig.wait(.seconds(30))
        #expect(rig.differences.isEmpty && rig.tally.compared == 1 && rig.tally.unasked == 0)
    }

    @Test func theFirmwareIsNotToldTwiceWhatThePhonesAppBrings() throws {
        var rig = try MirrorRig()
        let item = TimelineItem(
            id: PebbleUUID(upperHalf: 1, lowerHalf: 2),
            parent: .system,
            timestamp: ServiceRig.startTime,
            durationMinutes: 0,
            kind: .notification,
            flags: [],
            layout: .notification,
            attributes: [TimelineAttribute(.title, "Ada")],
            actions: []
        )
        var value: [UInt8] = []
        item.encode(to: &value)
        let record = BlobDBRecord(key: item.id.key[...], value: value[...])
        let insert = BlobDBRequest(
            token: BlobDBToken(rawValue: 9),
            command: .insert(.notifications, record, timestamp: nil)
        )
        try rig.send(PebbleMessage(insert))
        #expect(rig.asked == [PebbleMessage(insert)])
        // The bridge asks for what the watch's own services bring only when what the phone asked is answered.
        try rig.say(PebbleMessage(BlobDBResponse(token: insert.token, status: .success)))
        try rig.wait(.seconds(30))
        #expect(rig.asked == [PebbleMessage(insert)])
        #expect(rig.tally.compared == 1)
    }
}
