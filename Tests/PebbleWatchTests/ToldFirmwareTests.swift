import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import PebbleProtocol
import SeededRandomness
import Testing

@testable import PebbleWatch

@Suite("What a watch tells the firmware that is its brain or its shadow, and takes from it")
struct ToldFirmwareTests {
    private static let source = AppleNotificationService.Source(connection: 0x40, uid: ANCSNotificationUID(rawValue: 7))

    private func notification(category: ANCSCategory = .social, app: String = "com.example.chat") -> ANCSNotification {
        EmulatorBridgeTests.notification(Self.source.uid.rawValue, category: category, app: app)
    }

    /// A firmware with a phone that has heard all that was said so far.
    private func rigWithPhone() throws -> (BridgeRig, SessionID) {
        var rig = try BridgeRig()
        let id = rig.open()
        try rig.serve()
        _ = (rig.heard(on: id), rig.takeMessages())
        return (rig, id)
    }

    private func tell(_ rig: inout BridgeRig, _ event: ANCSClient.Event) throws {
        _ = rig.system.withServices(at: rig.now) { $0.receive(event, from: 0x40, in: &$1) }
        try rig.serve()
    }

    private func tell(_ rig: inout BridgeRig, _ event: AMSClient.Event) throws {
        _ = rig.system.withServices(at: rig.now) { $0.receive(event, from: 0x40, in: &$1) }
        try rig.serve()
    }

    // MARK: Notifications

    @Test("A notification that the iPhone takes back is deleted in the firmware")
    func notificationRemoved() throws {
        var (rig, _) = try rigWithPhone()
        try tell(&rig, .notified(notification()))
        let item = try #require(rig.system.services.store.databases.items(of: .notifications).first)
        _ = rig.takeMessages()
        try tell(&rig, .removed(Self.source.uid))
        let request = try BlobDBRequest(payload: try #require(rig.takeMessages().first).payload)
        #expect(request.command == .delete(.notifications, key: item.id.key[...]))
    }

    @Test(
        "An action that a notification of the iPhone's does not have is refused, and an answer is no action",
        arguments: [true, false]
    )
    func actions(isThroughANCS: Bool) throws {
        var (rig, id) = try rigWithPhone()
        try tell(&rig, .notified(notification()))
        let item = try #require(rig.system.services.store.databases.items(of: .notifications).first)
        _ = rig.takeMessages()
        let invocation = TimelineActionMessage.Invocation(item: item.id, actionID: 9, attributes: [])
        try rig.say(isThroughANCS ? TimelineActionMessage.invokeANCS(invocation) : .invoke(invocation))
        try rig.serve()
        // Command 11, the item, code 1 for a refusal, and no attributes.
        let refusal = PebbleMessage(endpoint: .timelineAction, payload: [0x11] + item.id.key + [0x01, 0x00])
        #expect(rig.takeMessages() == [refusal])
        let request = rig.system.nextPhoneRequest()
        #expect(request == nil && rig.heard(on: id).isEmpty)
        try rig.say(refusal)
        #expect(rig.heard(on: id) == [refusal], "that is for the phone's app")
    }

    // MARK: Calls

    @Test("A call of the iPhone's that the firmware refuses is refused on the iPhone")
    func hangUp() throws {
        var (rig, id) = try rigWithPhone()
        try tell(&rig, .notified(notification(category: .incomingCall, app: AppleNotificationService.phoneApp)))
        try rig.say(PebbleMessage(endpoint: .phoneControl, payload: [0x02, 0, 0, 0, 7]))
        let request = rig.system.nextPhoneRequest()
        #expect(request == .act(.negative, on: Self.source))
        #expect(rig.heard(on: id).isEmpty)
    }

    @Test(
        "What the firmware says of calls that the iPhone has not told of is for the phone's app",
        arguments: [[0x01, 0, 0, 0, 8], [0x02, 0, 0, 0, 8], [0x03]]
    )
    func otherCalls(payload: [UInt8]) throws {
        var (rig, id) = try rigWithPhone()
        try tell(&rig, .notified(notification(category: .incomingCall, app: AppleNotificationService.phoneApp)))
        let message = PebbleMessage(endpoint: .phoneControl, payload: payload)
        try rig.say(message)
        #expect(rig.heard(on: id) == [message])
        let request = rig.system.nextPhoneRequest()
        #expect(request == nil)
    }

    @Test("Each state of a call has its message", arguments: [0, 1, 2])
    func callStates(number: Int) throws {
        var (rig, _) = try rigWithPhone()
        let state = [PhoneControlService.Call.State.incoming, .outgoing, .active][number]
        let call = PhoneControlService.Call(id: .init(rawValue: 9), caller: nil, state: state)
        rig.system.tellFirmware(of: .service(.call(call)))
        try rig.serve()
        // Of a caller that is not known number and name are empty.
        let payload: [UInt8] = [[0x04, 0, 0, 0, 9, 0, 0], [0x05, 0, 0, 0, 9], [0x08, 0, 0, 0, 9]][number]
        #expect(rig.takeMessages() == [PebbleMessage(endpoint: .phoneControl, payload: payload)])
    }

    // MARK: Music

    @Test("The firmware hears how the iPhone's player plays, and how loud")
    func playback() throws {
        var (rig, _) = try rigWithPhone()
        let playback = AMSChange.Playback(state: .playing, ratePercent: 100, positionMilliseconds: 2000)
        try tell(&rig, .changed(.playback(playback)))
        try tell(&rig, .changed(.volume(60)))
        let playState: [UInt8] = [0x11, 1, 0xD0, 0x07, 0, 0, 100, 0, 0, 0, 0, 0]
        #expect(
            rig.takeMessages() == [
                PebbleMessage(endpoint: .music, payload: playState),
                PebbleMessage(endpoint: .music, payload: [0x12, 60]),
            ]
        )
        // Everything once more.
        try rig.say(MusicMessage.command(.getAll))
        try rig.serve()
        #expect(rig.takeMessages().map(\.payload) == [playState, [0x12, 60]])
    }

    // MARK: Sessions

    @Test("A companion of a single app is turned away, also while nobody has the session")
    func singleApp() throws {
        var rig = try BridgeRig()
        let id = rig.open(PPoGATTDestination(kind: .app, application: .system))
        #expect(!rig.system.sessions.isOpen(id))
        let bridge = try rig.bridge
        #expect(bridge.session == nil)
        try rig.serve()
        #expect(
            rig.log.contains(
                "a companion over reversed PPoGATT is told that the watch is busy: the firmware has one session, which is "
                    + "not for a single app"
            )
        )
    }

    @Test("Messages that wait for a firmware that does not come are bounded, and the first is dropped aloud")
    func heldMessages() throws {
        var rig = try BridgeRig(isReady: false)
        let id = rig.open()
        let message = PebbleMessage(endpoint: .appLog, payload: [UInt8](repeating: 7, count: 40_000))
        for _ in 0..<2 { try rig.send(message, on: id) }
        try rig.serve()
        #expect(rig.log == ["\(id): no firmware is ready for AppLog (0x07D6); the message is dropped"])
        #expect(rig.system.sessions.isOpen(id))
        try rig.boot()
        #expect(rig.takeMessages().filter { $0.endpoint == .appLog } == [message])
    }

    @Test("A firmware that reads nothing of what its phone says is taken for one that has crashed")
    func readsNothing() throws {
        var (rig, id) = try rigWithPhone()
        let message = PebbleMessage(endpoint: .appLog, payload: [UInt8](repeating: 7, count: 60_000))
        // There is room for 256 KiB.
        for _ in 0..<4 { try rig.send(message, on: id) }
        #expect(rig.system.sessions.isOpen(id))
        try rig.send(message, on: id)
        #expect(!rig.system.sessions.isOpen(id))
        try rig.serve()
        #expect(
            rig.log.contains(
                "the firmware does not read what phones say: it is taken for one that has crashed; phones are disconnected"
            )
        )
    }

    // MARK: Frames

    @Test("What the emulator says besides the stream is nothing to a phone")
    func otherFrames() throws {
        var (rig, id) = try rigWithPhone()
        var bytes: [UInt8] = []
        QEMUFrame.append(QEMUMessage.vibration(isOn: true).frame.data[...], as: .vibration, to: &bytes)
        _ = rig.system.take(.bytes(bytes[...]), at: rig.now)
        #expect(rig.heard(on: id).isEmpty && rig.log.allSatisfy { !$0.contains("in no frame") })
        try rig.say(PingMessage.pong(cookie: 1))
        #expect(rig.heard(on: id) == [PebbleMessage(PingMessage.pong(cookie: 1))])
    }

    @Test("Half a message of a firmware that may be starting is forgotten, and what comes then is understood")
    func halfMessage() throws {
        var rig = try BridgeRig(isReady: false)
        rig.answers = false
        _ = rig.system.take(.connected, at: rig.now)
        // 32 bytes are announced, and one comes.
        rig.sendBytes(framing: [0x00, 0x20, 0x00, 0x30, 1])
        try rig.wait(EmulatorInbox.patience)
        let question = try #require(rig.messages.last?.answerToMark, "it was asked after 8 s")
        rig.answers = true
        try rig.say(question)
        try rig.serve()
        #expect(try rig.bridge.state == .ready)
        let status = rig.system.firmwareStatus
        #expect(status?.hangCount == 0 && status?.isAnswering == true)
    }

    @Test("A message that is too long for the framing does not wait for the emulator")
    func tooLong() {
        var outbox = EmulatorOutbox()
        let isQueued = outbox.append(PebbleMessage(endpoint: .ping, payload: [UInt8](repeating: 0, count: 65536)))
        #expect(!isQueued && outbox.isEmpty && outbox.byteCount == 0)
        let fits = outbox.append(PebbleMessage(endpoint: .ping, payload: [UInt8](repeating: 0, count: 65535)))
        #expect(fits && outbox.byteCount == 65539)
    }

    // MARK: The person

    @Test("A button that is held is down for as long as a long press of it lasts at least")
    func pressWhileHeld() throws {
        var rig = try BridgeRig()
        _ = rig.takeTold()
        let start = rig.now
        rig.system.withBridge(at: start) { bridge in
            bridge.tell(bridge.buttons.hold([.up], at: start))
            bridge.tell(bridge.buttons.press(.up, .long, at: start))
        }
        rig.system.withBridge(at: start) { $0.tell($0.buttons.hold([], at: start)) }
        try rig.wait(.milliseconds(999))
        #expect(rig.takeTold() == [.buttons(.up)])
        try rig.wait(.milliseconds(1))
        #expect(rig.takeTold() == [.buttons([])])
        // A press of a button that is held for long adds to that.
        let later = rig.now
        rig.system.withBridge(at: later) { $0.tell($0.buttons.hold([.down], at: later)) }
        try rig.wait(.seconds(1))
        let end = rig.now
        rig.system.withBridge(at: end) { bridge in
            bridge.tell(bridge.buttons.hold([.down], at: end))
            bridge.tell(bridge.buttons.press(.down, .short, at: end))
            bridge.tell(bridge.buttons.hold([], at: end))
        }
        try rig.wait(.milliseconds(99))
        #expect(rig.takeTold() == [.buttons(.down)])
        try rig.wait(.milliseconds(1))
        #expect(rig.takeTold() == [.buttons([])])
    }

    @Test("A firmware in the shadow is told of buttons, too")
    func shadow() throws {
        var rig = try MirrorRig()
        let now = rig.now
        rig.system.withBridge(at: now) { $0.tell($0.buttons.press(.select, .short, at: now)) }
        var deframer = QEMUDeframer()
        deframer.receive(rig.system.take(.hasRoom, at: now)[...])
        let frame = deframer.nextFrame(at: now)
        #expect(frame == QEMUFrame(.button, data: [4]))
    }

    @Test("Each reading of a sensor is what the emulator's tools send")
    func readings() {
        let expected: [(reading: SensorReading, number: UInt16, data: [UInt8])] = [
            (.battery(percent: 80, isCharging: true), 5, [80, 1]),
            (.tap(.y, direction: -1), 2, [1, 0xFF]),
            (.compass(heading: 0x1234, .refining), 4, [0, 0, 0x12, 0x34, 1]),
            (.accelerometer([AccelerometerSample(x: 1, y: -1, z: 1000)]), 6, [1, 0, 1, 0xFF, 0xFF, 0x03, 0xE8]),
            (.phoneConnection(isConnected: false), 3, [0]),
            (.timeFormat(is24Hour: true), 9, [1]),
            (.timelinePeek(isShown: true), 10, [1]),
            (.contentSize(2), 11, [2]),
            (.health(.distanceMeters, value: 5000), 12, [4, 0, 0, 0x13, 0x88]),
            (.heartRate(beatsPerMinute: 61, quality: -1), 13, [61, 0xFF]),
        ]
        for (reading, number, data) in expected {
            #expect(QEMUMessage(reading).frame == QEMUFrame(QEMUProtocol(rawValue: number), data: data))
        }
    }

    // MARK: Who it is

    @Test("A firmware for an emulator's Duo is sold as the Duo's board")
    func duo() {
        #expect(HardwarePlatform(rawValue: 0xF6).sold(as: .obelixPVT) == .asterix)
    }

    @Test("A recovery firmware that the firmware knows of is the watch's, and its board's name only if it is in ASCII")
    func recovery() throws {
        guard
            case .response(var version) = try WatchVersionMessage(payload: FirmwareAnswers.watchVersion())
        else {
            Issue.record("the recorded answer is none")
            return
        }
        version.recovery = FirmwareMetadata(
            timestamp: 1,
            versionTag: "v3.9.1",
            shortGitHash: "abc",
            flags: .recovery,
            hardwarePlatform: .obelixPVT
        )
        version.board = "obélix"
        let before = BridgeRig.identity
        #expect(before.recoveryFirmware.description != "v3.9.1" && before.boardName != "obelix")
        let after = before.following(FirmwareIdentity(version: version, color: nil))
        #expect(after.recoveryFirmware.description == "v3.9.1")
        #expect(after.boardName == "obelix", "as the model of its platform has it")
        #expect(version.corrected(for: before).recovery?.versionTag == "v3.9.1")
    }

    @Test(
        "A firmware of a kind that nobody knows, or that does not say its version, is named so",
        arguments: [true, false]
    )
    func unknownKind(saysVersion: Bool) throws {
        var rig = try BridgeRig(isReady: false)
        rig.answers = false
        var version = try FirmwareAnswers.watchVersion()
        // The running firmware's board is byte 45 of its block, which begins at 1.
        version[46] = 0x63
        _ = rig.system.take(.connected, at: rig.now)
        try rig.say(PhoneVersionMessage.request)
        for _ in 0..<10 {
            try rig.serve()
            for message in rig.takeMessages() {
                if let answer = message.answerToMark { try rig.say(answer) }
                if message.endpoint == .watchVersion, saysVersion {
                    try rig.say(PebbleMessage(endpoint: .watchVersion, payload: version))
                }
                guard message.endpoint == .putBytes else { continue }
                try rig.say(PutBytesResponse.negativeAcknowledgement(.none))
            }
        }
        #expect(try rig.bridge.state == .ready)
        let line =
            saysVersion
            ? "the firmware answers: v4.35.0, of an unknown kind"
            : "the firmware answers, but does not say its version"
        #expect(rig.log.contains(line), "\(rig.log)")
        #expect(rig.system.firmwareStatus?.isAnswering == saysVersion)
    }

    @Test("What the firmware says of itself and is no answer reaches the phone as it is")
    func noAnswer() throws {
        var (rig, id) = try rigWithPhone()
        let message = PebbleMessage(endpoint: .watchVersion, payload: [0x07, 1])
        try rig.say(message)
        #expect(rig.heard(on: id) == [message])
    }

    // MARK: Brains

    @Test("A firmware is needed where it answers phones or is asked what they ask")
    func needsFirmware() {
        let brains: [WatchBrain] = [.builtIn, .emulator, .mirrored, .recorder]
        #expect(brains.map(\.needsFirmware) == [false, true, true, false])
    }

    @Test("A watch has a record of what its brain was asked if the brain is one that keeps it")
    func record() throws {
        for brain in [WatchBrain.builtIn, .recorder] {
            var configuration = WatchConfiguration(identity: BridgeRig.identity)
            configuration.brain = brain
            let watch = try Watch(
                configuration,
                cryptography: .swiftCrypto,
                randomness: RandomSource(state: 1, SplitMix64.draw)
            )
            #expect(watch.brainRecord?.count == (brain == .recorder ? 0 : nil))
        }
    }
}
