import BluetoothHCI
import ByteCoding
import PebbleProtocol
import SeededRandomness
import Testing

@testable import PebbleWatch

/// The bridge to the emulated firmware, in virtual time.
@Suite struct EmulatorBridgeTests {
    private static let begin = PutBytesRequest.begin(
        PutBytesObject(size: 1000, kind: .file, target: .bank(0, fileName: "lang"))
    )

    // MARK: Sessions

    @Test func aSessionBeginsWithOneQuestionForThePhonesVersion() throws {
        var rig = try BridgeRig()
        _ = rig.takeTold()
        let id = rig.open()
        try rig.serve()
        #expect(rig.takeTold() == [.bluetoothConnection(isConnected: true)])
        // A firmware that was told to wait for its phone asks, too.
        try rig.say(PhoneVersionMessage.request)
        #expect(rig.heard(on: id) == [PebbleMessage(PhoneVersionMessage.request)])
        try rig.say(PhoneVersionMessage.request)
        #expect(rig.heard(on: id).count == 1, "what it asks later is its own business")
    }

    @Test func messagesGoBothWaysAsTheyAre() throws {
        var rig = try BridgeRig()
        let id = rig.open()
        try rig.serve()
        _ = (rig.heard(on: id), rig.takeMessages())
        let long = PebbleMessage(endpoint: .appMessage, payload: [UInt8](repeating: 0x5A, count: 8222))
        var bytes: [UInt8] = []
        try MessageFramer.append(long, to: &bytes)
        for byte in bytes { rig.system.receive([byte], on: id, at: .zero) }
        try rig.serve()
        #expect(rig.takeMessages() == [long])
        try rig.say(long)
        #expect(rig.heard(on: id) == [long])
    }

    @Test func nothingOfAMessageThatIsNotWholeReachesTheFirmware() throws {
        var rig = try BridgeRig()
        let id = rig.open()
        try rig.serve()
        _ = rig.takeMessages()
        rig.system.receive([0x20, 0x00, 0x00, 0x30, 1, 2, 3], on: id, at: .zero)
        rig.system.closeSession(id, reason: "the link is lost", at: .zero)
        try rig.serve()
        let between = rig.takeMessages()
        #expect(between.allSatisfy { $0.answerToMark != nil }, "and the question that stands between two sessions")
        let next = rig.open()
        try rig.serve()
        try rig.send(PingMessage.ping(cookie: 5, isIdle: false), on: next)
        try rig.serve()
        #expect(rig.takeMessages() == [PebbleMessage(PingMessage.ping(cookie: 5, isIdle: false))])
    }

    @Test func aPhoneWaitsForTheFirmware() throws {
        var rig = try BridgeRig(isReady: false)
        let id = rig.open()
        try rig.send(PingMessage.ping(cookie: 5, isIdle: false), on: id)
        try rig.serve()
        let early = rig.heard(on: id)
        #expect(rig.frames.isEmpty && early.isEmpty)
        try rig.boot()
        #expect(
            rig.heard(on: id) == [
                PebbleMessage(PhoneVersionMessage.request), PebbleMessage(PingMessage.pong(cookie: 5)),
            ]
        )
    }

    /// Its port would be deaf for good.
    @Test func aFirmwareThatMayBeStartingIsNotSpokenTo() throws {
        var rig = try BridgeRig(isReady: false)
        _ = rig.system.take(.connected, at: rig.now)
        let start = rig.now
        rig.system.withBridge(at: start) { $0.tell($0.buttons.press(.select, .short, at: start)) }
        try rig.wait(EmulatorBridge.startPatience - .milliseconds(1))
        #expect(rig.frames.isEmpty)
        try rig.wait(.milliseconds(1))
        #expect(rig.takeTold().first == .bluetoothConnection(isConnected: true))
        #expect(try rig.bridge.state == .ready)
    }

    @Test func theNextPhoneHearsNothingThatWasForTheLast() throws {
        var rig = try BridgeRig()
        let first = rig.open()
        try rig.serve()
        rig.answers = false
        rig.system.closeSession(first, reason: "the link is lost", at: rig.now)
        let second = rig.open()
        try rig.send(PingMessage.ping(cookie: 6, isIdle: false), on: second)
        try rig.serve()
        let fence = try #require(rig.messages.last)
        let answer = try #require(fence.answerToMark, "no question stands between the sessions: \(fence)")
        try rig.say(AppRunStateMessage.start(.system))
        #expect(rig.heard(on: second).isEmpty)
        try rig.say(answer)
        try rig.say(AppRunStateMessage.stop(.system))
        #expect(
            rig.heard(on: second) == [
                PebbleMessage(PhoneVersionMessage.request), PebbleMessage(AppRunStateMessage.stop(.system)),
            ]
        )
        _ = rig.takeMessages()
        try rig.serve()
        #expect(rig.takeMessages() == [PebbleMessage(PingMessage.ping(cookie: 6, isIdle: false))], "it has waited")
    }

    @Test(arguments: [true, false])
    func anUploadEndsWithItsPhone(isNamed: Bool) throws {
        var rig = try BridgeRig()
        let id = try rig.openForUploads()
        try rig.send(Self.begin, on: id)
        try rig.serve()
        let name = PutBytesToken(rawValue: 0x10F0_0001)
        // Its name comes while the phone is there, or when it has gone already.
        rig.answers = false
        if isNamed { try rig.say(PutBytesResponse.acknowledgement(name)) }
        _ = rig.takeMessages()
        rig.system.closeSession(id, reason: "the link is lost", at: rig.now)
        if !isNamed { try rig.say(PutBytesResponse.acknowledgement(name)) }
        try rig.serve()
        let aborts = rig.messages.filter { $0.endpoint == .putBytes }
        #expect(aborts == [PebbleMessage(PutBytesRequest.abort(name))])
        #expect(rig.messages.last?.answerToMark != nil, "what is answered to that is nobody's")
    }

    @Test func aFinishedUploadIsNotGivenUp() throws {
        var rig = try BridgeRig()
        let id = try rig.openForUploads()
        let name = PutBytesToken(rawValue: 7)
        try rig.send(Self.begin, on: id)
        try rig.say(PutBytesResponse.acknowledgement(name))
        try rig.send(PutBytesRequest.install(name), on: id)
        try rig.serve()
        _ = rig.takeMessages()
        rig.system.closeSession(id, reason: "the phone left", at: rig.now)
        try rig.serve()
        #expect(!rig.messages.contains { $0.endpoint == .putBytes })
    }

    // MARK: Uploads

    private static let name = PutBytesToken(rawValue: 7)
    private static let acknowledged = PebbleMessage(PutBytesResponse.acknowledgement(name))
    private static let refused = PebbleMessage(PutBytesResponse.negativeAcknowledgement(.none))

    private static func piece(_ count: Int, of upload: PutBytesToken = name) -> PutBytesRequest {
        .put(PutBytesPiece(token: upload, data: [UInt8](repeating: 5, count: count)[...]))
    }

    /// A session with an upload of 1000 bytes that the firmware has named.
    private func uploading(_ rig: inout BridgeRig) throws -> SessionID {
        let id = try rig.openForUploads()
        try rig.send(Self.begin, on: id)
        try rig.serve()
        try rig.say(Self.acknowledged)
        _ = rig.heard(on: id)
        _ = rig.takeMessages()
        return id
    }

    @Test func aPieceIsAcknowledgedBeforeTheFirmwareHasReadIt() throws {
        var rig = try BridgeRig()
        let id = try uploading(&rig)
        let pieces = [Self.piece(400), Self.piece(300), Self.piece(300)]
        let commit = PutBytesRequest.commit(Self.name, crc: 1)
        try rig.send(pieces[0], on: id)
        #expect(rig.heard(on: id) == [Self.acknowledged])
        // One ahead, and not two.
        try rig.send(pieces[1], on: id)
        try rig.serve()
        #expect(rig.heard(on: id).isEmpty)
        #expect(rig.takeMessages() == [PebbleMessage(pieces[0])], "the firmware has one piece at a time")
        try rig.say(Self.acknowledged)
        #expect(rig.heard(on: id) == [Self.acknowledged])
        try rig.serve()
        #expect(rig.takeMessages() == [PebbleMessage(pieces[1])])
        try rig.say(Self.acknowledged)
        #expect(rig.heard(on: id).isEmpty, "the phone knows")
        try rig.send(pieces[2], on: id)
        try rig.send(commit, on: id)
        #expect(rig.heard(on: id) == [Self.acknowledged])
        try rig.serve()
        try rig.say(Self.acknowledged)
        try rig.serve()
        #expect(rig.takeMessages() == [PebbleMessage(pieces[2]), PebbleMessage(commit)])
        #expect(rig.heard(on: id).isEmpty, "only the firmware answers a commit")
        try rig.say(Self.acknowledged)
        #expect(rig.heard(on: id) == [Self.acknowledged])
    }

    /// Each of these is left to the firmware.
    @Test(arguments: [
        Self.piece(400, of: PutBytesToken(rawValue: 8)), Self.piece(1001), .install(Self.name), .abort(Self.name),
        .commit(Self.name, crc: 1), .put(PutBytesPiece(token: Self.name, declaredLength: 5, data: [1, 2, 3, 4])),
        .put(PutBytesPiece(token: Self.name, declaredLength: 3, data: [1, 2, 3, 4])),
    ])
    func whatMayBeRefusedIsAnsweredByTheFirmware(request: PutBytesRequest) throws {
        var rig = try BridgeRig()
        let id = try uploading(&rig)
        try rig.send(request, on: id)
        try rig.serve()
        #expect(rig.takeMessages() == [PebbleMessage(request)])
        #expect(rig.heard(on: id).isEmpty)
        try rig.say(Self.refused)
        #expect(rig.heard(on: id) == [Self.refused])
        // What was refused is over: no piece of it is acknowledged.
        try rig.send(Self.piece(10), on: id)
        #expect(rig.heard(on: id).isEmpty)
    }

    /// The firmware gives up every upload when it takes note of a phone that has come or gone, and says which app runs after that.
    @Test(arguments: [true, false])
    func anUploadWaitsForTheFirmwareToTakeNote(saysWhatRuns: Bool) throws {
        var rig = try BridgeRig()
        let ping = PingMessage.ping(cookie: 1, isIdle: nil)
        let first = rig.open()
        try rig.serve()
        rig.system.closeSession(first, reason: "the phone left", at: rig.now)
        try rig.serve()
        let second = rig.open()
        try rig.send(ping, on: second)
        try rig.send(Self.begin, on: second)
        try rig.serve()
        #expect(rig.takeMessages().last == PebbleMessage(ping))
        // It was told of the first phone, that it has gone, and of the second.
        for _ in 0..<3 {
            try rig.serve()
            #expect(rig.takeMessages().isEmpty)
            if saysWhatRuns { try rig.say(AppRunStateMessage.start(.system)) }
        }
        if !saysWhatRuns { try rig.wait(EmulatorBridge.notePatience) }
        try rig.serve()
        #expect(rig.takeMessages().contains(PebbleMessage(Self.begin)))
    }

    @Test func aPieceOfAFinishedUploadIsAnsweredByTheFirmware() throws {
        var rig = try BridgeRig()
        let id = try uploading(&rig)
        try rig.send(PutBytesRequest.commit(Self.name, crc: 1), on: id)
        try rig.say(Self.acknowledged)
        _ = rig.heard(on: id)
        try rig.send(Self.piece(10), on: id)
        #expect(rig.heard(on: id).isEmpty)
    }

    @Test func aPieceThatIsRefusedAfterAllEndsTheUpload() throws {
        var rig = try BridgeRig()
        let id = try uploading(&rig)
        try rig.send(Self.piece(400), on: id)
        #expect(rig.heard(on: id) == [Self.acknowledged])
        try rig.serve()
        try rig.say(Self.refused)
        #expect(rig.heard(on: id).isEmpty)
        try rig.send(Self.piece(400), on: id)
        try rig.serve()
        #expect(rig.heard(on: id).isEmpty, "the firmware has given up the upload")
        try rig.say(Self.refused)
        #expect(rig.heard(on: id) == [Self.refused])
    }

    /// A piece that comes before what was sent first is answered has its answer behind that.
    @Test func answersStayInOrder() throws {
        var rig = try BridgeRig()
        let id = try uploading(&rig)
        try rig.send(Self.piece(400, of: PutBytesToken(rawValue: 8)), on: id)
        try rig.send(Self.piece(300), on: id)
        try rig.serve()
        #expect(rig.heard(on: id).isEmpty)
        #expect(rig.takeMessages().count == 2)
    }

    @Test func aPhoneThatLeavesBehindAPieceLeavesNoUpload() throws {
        var rig = try BridgeRig()
        let first = try uploading(&rig)
        try rig.send(Self.piece(400), on: first)
        try rig.send(Self.piece(300), on: first)
        try rig.serve()
        _ = rig.takeMessages()
        rig.system.closeSession(first, reason: "the link is lost", at: rig.now)
        try rig.say(Self.acknowledged)
        try rig.serve()
        let uploads = rig.takeMessages().filter { $0.endpoint == .putBytes }
        #expect(uploads == [PebbleMessage(PutBytesRequest.abort(Self.name))], "and not the piece that has waited")
        // The next phone's answers are its own.
        let second = try uploading(&rig)
        try rig.send(PutBytesRequest.abort(Self.name), on: second)
        try rig.serve()
        try rig.say(Self.acknowledged)
        #expect(rig.heard(on: second) == [Self.acknowledged])
    }

    @Test func aFirmwareInTheShadowAnswersForItself() {
        var relay = UploadRelay(runsAhead: false)
        for message in [PebbleMessage(Self.begin), PebbleMessage(Self.piece(400)), PebbleMessage(Self.piece(300))] {
            let hasRoom = relay.append(message)
            let passed = relay.next()
            #expect(hasRoom && passed?.message == message && passed?.acknowledgement == nil)
            let isForPhone = relay.answered(Self.acknowledged.payload)
            #expect(isForPhone)
        }
    }

    /// The firmware refuses a piece of another upload, and its own goes on.
    @Test func anUploadThatGoesOnAfterARefusalEndsWithItsPhone() throws {
        var rig = try BridgeRig()
        let id = try uploading(&rig)
        try rig.send(Self.piece(400, of: PutBytesToken(rawValue: 8)), on: id)
        try rig.say(Self.refused)
        try rig.serve()
        _ = rig.takeMessages()
        rig.system.closeSession(id, reason: "the phone left", at: rig.now)
        try rig.serve()
        #expect(rig.messages.contains(PebbleMessage(PutBytesRequest.abort(Self.name))))
    }

    @Test func aSecondCompanionIsTurnedAway() throws {
        var rig = try BridgeRig()
        let first = rig.open()
        let second = rig.open(over: .forwardPPoGATT)
        #expect(rig.system.sessions.isOpen(first) && !rig.system.sessions.isOpen(second))
        let tool = rig.open(over: .qemu)
        #expect(!rig.system.sessions.isOpen(tool), "a tool takes no phone's place")
        // The same phone's newest companion has the session, as on every watch.
        let newer = rig.open(over: .forwardPPoGATT, among: [first])
        #expect(!rig.system.sessions.isOpen(first) && rig.system.sessions.isOpen(newer))
    }

    @Test func aPhoneTakesTheSessionFromATool() throws {
        var rig = try BridgeRig()
        let tool = rig.open(over: .qemu)
        let phone = rig.open()
        #expect(!rig.system.sessions.isOpen(tool) && rig.system.sessions.isOpen(phone))
    }

    // MARK: Firmware that fails

    @Test func aHangIsNoticedByPing() throws {
        var rig = try BridgeRig()
        let id = rig.open()
        try rig.wait(EmulatorBridge.quiet + .seconds(5))
        #expect(rig.system.sessions.isOpen(id), "it was asked, and has answered")
        rig.answers = false
        try rig.wait(EmulatorBridge.quiet + EmulatorBridge.patience + .seconds(1))
        #expect(!rig.system.sessions.isOpen(id))
        let hasFallen = rig.system.takeFirmwareFall()
        #expect(hasFallen)
        #expect(rig.log.contains { $0.hasPrefix("the firmware does not answer: it is taken for one that has crashed") })
        // It is asked until it answers.
        rig.answers = true
        try rig.wait(EmulatorBridge.patience * 2)
        #expect(try rig.bridge.state == .ready)
    }

    /// It puts off every command to a database meanwhile.
    @Test func aFirmwareUpdateIsNoHang() throws {
        var rig = try BridgeRig()
        let id = rig.open()
        rig.answers = false
        for number in 1...5 {
            try rig.wait(EmulatorBridge.quiet + .seconds(1))
            let question = try #require(rig.takeMessages().last { $0.answerToMark != nil }, "number \(number)")
            let request = try BlobDBRequest(payload: question.payload)
            try rig.say(BlobDBResponse(token: request.token, status: .tryLater))
        }
        #expect(rig.system.sessions.isOpen(id))
    }

    @Test func aMessageThatStopsIsNoticed() throws {
        var rig = try BridgeRig()
        let id = rig.open()
        rig.sendBytes(framing: [0x00, 0x20, 0x00, 0x30, 1])
        try rig.wait(EmulatorInbox.patience + .seconds(1))
        #expect(!rig.system.sessions.isOpen(id))
        #expect(rig.log.contains { $0.hasPrefix("the firmware has stopped in the middle of a message") })
        #expect(try rig.bridge.state == .ready, "and goes on in step, since it answers")
    }

    @Test func aLostEmulatorTakesItsSessionAlong() throws {
        var rig = try BridgeRig()
        let id = try rig.openForUploads()
        try rig.send(Self.begin, on: id)
        _ = rig.system.take(.lost(reason: "it was closed"), at: rig.now)
        #expect(!rig.system.sessions.isOpen(id))
        let waiting = rig.system.take(.hasRoom, at: rig.now)
        #expect(waiting.isEmpty, "nothing of it is for the next one")
        let falls = [rig.system.takeFirmwareFall(), rig.system.takeFirmwareFall()]
        #expect(falls == [true, false])
    }

    @Test func aFirmwareThatTakesNothingIsBounded() throws {
        var rig = try BridgeRig()
        let id = try rig.openForUploads()
        let data = [UInt8](repeating: 1, count: 2000)
        let piece = PutBytesRequest.put(PutBytesPiece(token: .init(rawValue: 1), data: data[...]))
        for _ in 0..<200 { try rig.send(piece, on: id) }
        #expect(!rig.system.sessions.isOpen(id))
        let hasFallen = rig.system.takeFirmwareFall()
        #expect(hasFallen)
    }

    @Test func aFloodIsBoundedAndStaysInStep() throws {
        var rig = try BridgeRig()
        let id = rig.open()
        _ = rig.heard(on: id)
        let message = PebbleMessage(endpoint: .appLog, payload: [UInt8](repeating: 7, count: 1000))
        for _ in 0..<3000 { try rig.say(message) }
        try rig.serve()
        let heard = rig.heard(on: id)
        #expect(heard.allSatisfy { $0 == message })
        #expect((1000...1100).contains(heard.count), "1 MB waits, and a few in the session")
        #expect(rig.log.filter { $0.contains("more than the phone takes") }.count == 1)
        try rig.say(PingMessage.pong(cookie: 1))
        #expect(rig.heard(on: id) == [PebbleMessage(PingMessage.pong(cookie: 1))])
    }

    @Test(arguments: 1...20)
    func noBytesOfAnEmulatorTrap(seed: UInt64) throws {
        var chance = SplitMix64(seed: seed)
        var rig = try BridgeRig()
        for _ in 0..<200 {
            let id = rig.open()
            switch Int.random(in: 0..<5, using: &chance) {
            case 0: _ = rig.system.take(.bytes(chance.bytes(Int.random(in: 0...300, using: &chance))[...]), at: rig.now)
            case 1: rig.sendBytes(framing: chance.bytes(Int.random(in: 0...3000, using: &chance)))
            case 2: rig.system.receive(chance.bytes(Int.random(in: 0...300, using: &chance))[...], on: id, at: rig.now)
            case 3: rig.system.closeSession(id, reason: "seed \(seed)", at: rig.now)
            default: rig.now += .seconds(Int.random(in: 0...20, using: &chance))
            }
            rig.system.advance(to: rig.now)
            try rig.serve()
        }
    }

    // MARK: Who it is

    /// The recorded answer, as a companion has to see it.
    @Test func theAnswerToWhoItIsIsAWatchs() throws {
        var rig = try BridgeRig()
        let id = rig.open()
        _ = rig.heard(on: id)
        try rig.send(WatchVersionMessage.request, on: id)
        try rig.serve()
        let answer = try #require(rig.heard(on: id).first)
        let recorded = try FirmwareAnswers.watchVersion()
        #expect(answer.payload.count == recorded.count)
        guard case .response(let version) = try WatchVersionMessage(payload: answer.payload),
            case .response(let original) = try WatchVersionMessage(payload: recorded)
        else {
            Issue.record("no answer")
            return
        }
        #expect(version.running.versionTag == "v4.35.0" && version.running.timestamp == original.running.timestamp)
        #expect(version.capabilities == original.capabilities && version.locale == original.locale)
        #expect(original.recovery == nil && version.recovery?.flags == .recovery)
        #expect(version.running.hardwarePlatform == .obelixPVT, "the board under which an emery is sold")
        #expect(version.serialNumber == BridgeRig.identity.serialNumber)
        #expect(version.bluetoothAddress.rawValue == BridgeRig.identity.address.address.value)
    }

    @Test func boardsOfEmulatorsAreThoseThatAreSold() {
        let sold: [UInt8: HardwarePlatform] = [
            0xF2: .getafixDVT, 0xF5: .obelixPVT, 0xF8: .silk, 0xFB: .spalding, 0xFC: .snowyS3, 0xFE: .tintinV15,
        ]
        for (number, board) in sold { #expect(HardwarePlatform(rawValue: number).sold(as: .asterix) == board) }
        #expect(HardwarePlatform(rawValue: 0xF6).sold(as: .asterix) == .asterix, "the watch's own, of the same kind")
        #expect(HardwarePlatform.obelixPVT.sold(as: .asterix) == .obelixPVT)
        #expect(HardwarePlatform.unknown.sold(as: .silk) == .silk)
    }

    // MARK: The person and the phone's own services

    @Test func aPressLastsUntilTheFirmwareHasSeenIt() throws {
        var rig = try BridgeRig()
        _ = rig.takeTold()
        let start = rig.now
        rig.system.withBridge(at: start) { $0.tell($0.buttons.press(.select, .short, at: start)) }
        try rig.serve()
        #expect(rig.takeTold() == [.buttons(.select)])
        try rig.wait(EmulatorButtons.shortest - .milliseconds(1))
        #expect(rig.takeTold().isEmpty)
        try rig.wait(.milliseconds(1))
        #expect(rig.takeTold() == [.buttons([])])
    }

    /// The emulator looks at buttons now and then: two presses without a pause would be one.
    @Test func pressesOneAfterAnotherAreAllSeen() throws {
        var rig = try BridgeRig()
        _ = rig.takeTold()
        let start = rig.now
        rig.system.withBridge(at: start) { bridge in
            for press in [ButtonPress.short, .long, .short] { bridge.tell(bridge.buttons.press(.up, press, at: start)) }
            bridge.tell(bridge.buttons.press(.down, .short, at: start))
        }
        var changes: [(time: Duration, told: QEMUMessage)] = []
        for _ in 0..<200 {
            try rig.serve()
            for told in rig.takeTold() { changes.append((rig.now - start, told)) }
            try rig.wait(.milliseconds(10))
        }
        #expect(
            changes.map(\.told) == [
                .buttons(.up), .buttons([.up, .down]), .buttons([]), .buttons(.up), .buttons([]), .buttons(.up),
                .buttons([]),
            ]
        )
        // 0.1 s and 1 s, each with 60 ms behind it.
        let times: [Duration] = [0, 0, 100, 160, 1160, 1220, 1320].map { .milliseconds($0) }
        #expect(changes.map(\.time) == times)
    }

    @Test func aPressAfterAHoldIsSeen() throws {
        var rig = try BridgeRig()
        _ = rig.takeTold()
        let start = rig.now
        rig.system.withBridge(at: start) { $0.tell($0.buttons.hold([.up], at: start)) }
        try rig.wait(.seconds(1))
        let end = rig.now
        rig.system.withBridge(at: end) { bridge in
            bridge.tell(bridge.buttons.hold([], at: end))
            bridge.tell(bridge.buttons.press(.up, .short, at: end))
        }
        try rig.wait(EmulatorButtons.pause - .milliseconds(1))
        #expect(rig.takeTold() == [.buttons(.up), .buttons([])])
        try rig.wait(.seconds(1))
        #expect(rig.takeTold() == [.buttons(.up), .buttons([])])
    }

    @Test func pressesThatWaitAreBounded() throws {
        var rig = try BridgeRig()
        _ = rig.takeTold()
        let start = rig.now
        rig.system.withBridge(at: start) { bridge in
            for _ in 0..<1000 { bridge.tell(bridge.buttons.press(.up, .short, at: start)) }
        }
        try rig.wait(.seconds(60))
        #expect(rig.takeTold().filter { $0 == .buttons(.up) }.count == 1 + EmulatorButtons.waitingLimit)
    }

    @Test func buttonsThatAreHeldStayDown() throws {
        var rig = try BridgeRig()
        _ = rig.takeTold()
        let start = rig.now
        rig.system.withBridge(at: start) { $0.tell($0.buttons.hold([.up, .back], at: start)) }
        try rig.wait(.seconds(3))
        let end = rig.now
        rig.system.withBridge(at: end) { $0.tell($0.buttons.hold([.back], at: end)) }
        try rig.serve()
        #expect(rig.takeTold() == [.buttons([.up, .back]), .buttons(.back)])
    }

    /// A message of Ada's, as the iPhone tells of it.
    static func notification(_ uid: UInt32, category: ANCSCategory, app: String) -> ANCSNotification {
        ANCSNotification(
            uid: ANCSNotificationUID(rawValue: uid),
            isModified: false,
            flags: [],
            category: category,
            appIdentifier: app,
            appName: "App",
            title: "Ada",
            subtitle: "",
            message: "Hello",
            date: nil,
            positiveActionLabel: "Reply",
            negativeActionLabel: "Clear"
        )
    }

    private func tell(_ rig: inout BridgeRig, _ event: ANCSClient.Event) throws {
        _ = rig.system.withServices(at: rig.now) { $0.receive(event, from: 0x40, in: &$1) }
        try rig.serve()
    }

    @Test func anIPhonesNotificationIsARecordOfTheFirmwares() throws {
        var rig = try BridgeRig()
        let id = rig.open()
        try rig.serve()
        _ = (rig.heard(on: id), rig.takeMessages())
        try tell(&rig, .notified(Self.notification(7, category: .social, app: "com.example.chat")))
        let request = try BlobDBRequest(payload: try #require(rig.takeMessages().first).payload)
        guard case .insert(.notifications, let record, nil) = request.command else {
            Issue.record("no insert: \(request)")
            return
        }
        let item = try TimelineItem(record.value)
        #expect(!item.flags.contains(.fromANCS), "the emulator has no ANCS to act with")
        #expect(item.actions.map(\.kind) == [.generic, .dismiss])
        // The answer is not the phone's; any other is.
        try rig.say(BlobDBResponse(token: request.token, status: .success))
        try rig.say(BlobDBResponse(token: BlobDBToken(rawValue: 1), status: .success))
        #expect(rig.heard(on: id).count == 1)
        // What the person does with it on the firmware's screen is done on the phone.
        try rig.say(TimelineActionMessage.invoke(.init(item: item.id, actionID: 1, attributes: [])))
        #expect(rig.heard(on: id).isEmpty)
        let source = AppleNotificationService.Source(connection: 0x40, uid: ANCSNotificationUID(rawValue: 7))
        #expect(rig.system.nextPhoneRequest() == .act(.negative, on: source))
        try rig.serve()
        let answers = rig.takeMessages()
        #expect(answers.contains { $0.endpoint == .timelineAction })
        // One of the Pebble app's is the Pebble app's.
        try rig.say(TimelineActionMessage.invoke(.init(item: .system, actionID: 1, attributes: [])))
        #expect(rig.heard(on: id).count == 1)
    }

    @Test func anIPhonesCallIsACallOfTheFirmwares() throws {
        var rig = try BridgeRig()
        let id = rig.open()
        try rig.serve()
        _ = (rig.heard(on: id), rig.takeMessages())
        let call = Self.notification(9, category: .incomingCall, app: AppleNotificationService.phoneApp)
        try tell(&rig, .notified(call))
        let cookie = PhoneControlMessage.Call(rawValue: 9)
        let caller = PhoneControlMessage.Caller(number: "", name: "Ada")
        #expect(rig.takeMessages() == [PebbleMessage(PhoneControlMessage.incoming(cookie, caller))])
        try rig.say(PhoneControlMessage.answer(cookie))
        let source = AppleNotificationService.Source(connection: 0x40, uid: ANCSNotificationUID(rawValue: 9))
        #expect(rig.system.nextPhoneRequest() == .act(.positive, on: source))
        #expect(rig.heard(on: id).isEmpty)
        try tell(&rig, .removed(ANCSNotificationUID(rawValue: 9)))
        #expect(rig.takeMessages() == [PebbleMessage(PhoneControlMessage.end(cookie))])
    }

    @Test func anIPhonesPlayerIsTheFirmwares() throws {
        var rig = try BridgeRig()
        let id = rig.open()
        try rig.serve()
        _ = (rig.heard(on: id), rig.takeMessages())
        // Without a player of its own, what the firmware wants is for the Pebble app.
        try rig.say(MusicMessage.command(.next))
        #expect(rig.heard(on: id) == [PebbleMessage(MusicMessage.command(.next))])
        let song = AMSClient.Event.changed(.title("Song"))
        _ = rig.system.withServices(at: rig.now) { $0.receive(song, from: 0x40, in: &$1) }
        try rig.serve()
        let track = MusicMessage.Track(artist: "", album: "", title: "Song")
        #expect(rig.takeMessages() == [PebbleMessage(MusicMessage.nowPlaying(track))])
        try rig.say(MusicMessage.command(.next))
        #expect(rig.heard(on: id).isEmpty)
        #expect(rig.system.nextPhoneRequest() == .music(.nextTrack, on: 0x40))
        try rig.say(MusicMessage.command(.getAll))
        try rig.serve()
        #expect(rig.takeMessages() == [PebbleMessage(MusicMessage.nowPlaying(track))])
    }

    // MARK: Other watches

    @Test func whatIsNoEmulatorsWatchTakesNothingOfOne() throws {
        var rig = ServiceRig()
        let asked = rig.system.take(.connected, at: .zero)
        let next = rig.system.take(.bytes([1, 2, 3]), at: .zero)
        #expect(asked.isEmpty && next.isEmpty && !rig.system.hasBytesForFirmware)
        let answers = try rig.send(PingMessage.ping(cookie: 1, isIdle: nil))
        #expect(answers == [PebbleMessage(PingMessage.pong(cookie: 1))])
    }
}
