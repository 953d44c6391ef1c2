import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import Faults
import PebbleProtocol
import SeededRandomness
import Testing

@testable import PebbleWatch

extension ServiceRig {
    /// Adds a fault of messages.
    fileprivate mutating func add(_ text: String) throws {
        try system.add(Fault(parsing: text), as: FaultID(rawValue: 1), at: now)
    }

    /// How often the faults have fired.
    fileprivate mutating func firings() -> Int {
        var count = 0
        while system.faults?.faults.nextFiring() != nil { count += 1 }
        return count
    }
}

extension AppRig {
    /// Adds a fault of messages.
    fileprivate mutating func add(_ text: String) throws {
        try system.add(Fault(parsing: text), as: FaultID(rawValue: 1), at: now)
    }
}

@Suite("Faults between the sessions and the services, and of the watch itself")
struct MessageFaultLineTests {
    private static let pong = PebbleMessage(PingMessage.pong(cookie: 7))

    // MARK: Late messages

    @Test("An answer that is late comes when it is due")
    func lateAnswer() throws {
        var rig = ServiceRig()
        try rig.add("message.late endpoint=0x07D1 direction=to-phone delay=2s")
        #expect(try rig.send(PingMessage.ping(cookie: 7, isIdle: nil)) == [])
        #expect(rig.wait(.milliseconds(1999)) == [])
        #expect(rig.wait(.milliseconds(1)) == [Self.pong])
    }

    @Test("A question that is late is answered when it is due")
    func lateQuestion() throws {
        var rig = ServiceRig()
        try rig.add("message.late endpoint=0x07D1 direction=from-phone delay=2s")
        #expect(try rig.send(PingMessage.ping(cookie: 7, isIdle: nil)) == [])
        #expect(rig.wait(.seconds(2)) == [Self.pong])
    }

    @Test("What is late of a session that is over does not come", arguments: ["to-phone", "from-phone"])
    func lateAndGone(direction: String) throws {
        var rig = ServiceRig()
        try rig.add("message.late endpoint=0x07D1 direction=\(direction) delay=2s")
        try rig.send(PingMessage.ping(cookie: 7, isIdle: nil))
        #expect(rig.system.faults?.nextDeadline == .seconds(2))
        rig.reopen()
        #expect(rig.system.faults?.nextDeadline == nil)
        #expect(rig.wait(.seconds(3)) == [])
    }

    // MARK: Messages that cannot be read

    @Test(
        "A message that cannot be read is no occasion for its service's faults",
        arguments: [
            (0x07D1, [0x07], "ping.unanswered"), (0xBEEF, [0x09], "putbytes.wrong-crc"),
            (0xB1DB, [0x05], "blobdb.busy"),
            (0x30, [0x09, 1], "appmessage.busy"),
        ] as [(UInt16, [UInt8], String)]
    )
    func malformed(endpoint: UInt16, payload: [UInt8], fault: String) throws {
        var rig = ServiceRig()
        try rig.add("\(fault) count=1")
        var bytes: [UInt8] = []
        try MessageFramer.append(PebbleMessage(endpoint: Endpoint(rawValue: endpoint), payload: payload), to: &bytes)
        rig.send(bytes)
        #expect(rig.firings() == 0)
        #expect(rig.system.faults?.faults.running.map(\.firings) == [0])
    }

    @Test("An answer of the firmware's to who it is that cannot be read is changed by no fault")
    func malformedVersion() throws {
        var rig = try BridgeRig()
        let id = rig.open()
        try rig.serve()
        _ = rig.heard(on: id)
        try rig.system.add(Fault(parsing: "version.old version=1"), as: FaultID(rawValue: 1), at: rig.now)
        let message = PebbleMessage(endpoint: .watchVersion, payload: [0x07])
        try rig.say(message)
        #expect(rig.heard(on: id) == [message])
    }

    // MARK: Uploads and databases

    @Test("Of an upload only the beginning, pieces and the commit are occasions")
    func uploads() throws {
        var rig = ServiceRig()
        try rig.add("putbytes.wrong-crc")
        let object = PutBytesObject(size: 4, kind: .file, target: .bank(0, fileName: "lang"))
        let said = try rig.send(PutBytesRequest.begin(object)).decoded(PutBytesResponse.self)
        guard case .acknowledgement(let token)? = said.first else {
            Issue.record("it is refused: \(said)")
            return
        }
        #expect(
            try rig.send(PutBytesRequest.abort(token)) == [PebbleMessage(PutBytesResponse.acknowledgement(token))]
        )
        #expect(rig.firings() == 0)
    }

    @Test("A piece is refused when as many bytes have passed, and pieces before are not", arguments: [3, 4])
    func pieces(limit: Int) throws {
        var rig = ServiceRig()
        try rig.add("putbytes.nack bytes=\(limit)")
        let object = PutBytesObject(size: 4, kind: .file, target: .bank(0, fileName: "lang"))
        let said = try rig.send(PutBytesRequest.begin(object)).decoded(PutBytesResponse.self)
        let token = try #require(said.first?.token)
        let answer = try rig.send(PutBytesRequest.put(PutBytesPiece(token: token, data: [1, 2, 3, 4])))
        let expected = limit == 3 ? PutBytesResponse.negativeAcknowledgement(token) : .acknowledgement(token)
        #expect(answer == [PebbleMessage(expected)])
    }

    @Test("A full database is full for records, and can be cleared", arguments: ["blobdb.full", "blobdb.stale"])
    func databases(fault: String) throws {
        var rig = ServiceRig()
        try rig.add(fault)
        let record = BlobDBRecord(key: [1], value: [2])
        let insert = BlobDBRequest.Command.insert(.test, record, timestamp: nil)
        let status: BlobDBStatus = fault == "blobdb.full" ? .databaseFull : .dataStale
        let refusal = BlobDBResponse(token: BlobDBToken(rawValue: 1), status: status)
        #expect(try rig.send(BlobDBRequest(token: refusal.token, command: insert)) == [PebbleMessage(refusal)])
        let clear = BlobDBRequest(token: BlobDBToken(rawValue: 2), command: .clear(.pins))
        let success = PebbleMessage(BlobDBResponse(token: clear.token, status: .success))
        #expect(try rig.send(clear) == [success])
        #expect(rig.firings() == 1)
    }

    // MARK: AppMessages of the watch's

    @Test("An AppMessage of the app's that is lost is one that the phone does not answer")
    func lostPush() throws {
        var rig = AppRig(ProbeApp())
        let session = rig.open()
        try rig.add("message.lost endpoint=0x30 direction=to-phone count=1")
        let message = dictionary(ofLength: 20)
        rig.sendFromApp(message)
        #expect(rig.takeAppMessages(session) == [])
        #expect(rig.calls == [], "its sender has done its part")
        rig.advance(by: .seconds(60))
        #expect(rig.calls == [.failed(message, .sendTimeout)])
    }

    @Test("An AppMessage of the app's that comes twice is one for the app")
    func doubledPush() throws {
        var rig = AppRig(ProbeApp())
        let session = rig.open()
        try rig.add("message.doubled endpoint=0x30 direction=to-phone count=1")
        let message = dictionary(ofLength: 20)
        rig.sendFromApp(message)
        let pushes = rig.takeAppMessages(session)
        #expect(pushes.count == 2 && pushes.first == pushes.last)
        guard case .push(let push)? = pushes.first else {
            Issue.record("no push: \(pushes)")
            return
        }
        rig.send(AppMessage.acknowledgement(push.transaction), on: session)
        rig.send(AppMessage.acknowledgement(push.transaction), on: session)
        #expect(rig.calls == [.sent(message)])
    }

    @Test("An AppMessage of the app's that a fault leaves alone goes to the phone as it is")
    func otherPush() throws {
        var rig = AppRig(ProbeApp())
        let session = rig.open()
        try rig.add("message.lost endpoint=0x07D1")
        rig.sendFromApp(dictionary(ofLength: 20))
        #expect(rig.takeAppMessages(session).count == 1)
    }

    @Test("An app that ends when it has sent something has nobody to wait for it while no companion is there")
    func endedSender() {
        for closes in [false, true] {
            var rig = AppRig(defaultApp: HastyApp(closes: closes))
            rig.companionsCanCome = true
            rig.click(.select)
            #expect(rig.system.isWaitingForCompanion == !closes)
        }
    }

    @Test("An app whose session has no room for its AppMessage is told that no phone is connected")
    func fullSession() throws {
        var rig = AppRig(ProbeApp())
        let session = rig.open()
        var bytes: [UInt8] = []
        try MessageFramer.append(PingMessage.ping(cookie: 7, isIdle: nil), to: &bytes)
        // The phone takes none of the answers.
        while rig.system.outboundByteCount(of: session) < Session.outboundLimit - 100 {
            let before = rig.system.outboundByteCount(of: session)
            rig.system.receive(bytes[...], on: session, at: rig.now)
            try #require(rig.system.outboundByteCount(of: session) > before)
        }
        let message = dictionary(ofLength: 200)
        _ = rig.system.withApps(at: rig.now) { apps, _ in apps.send(message) }
        // It is held up for a while first.
        rig.advance(by: .seconds(1))
        #expect(rig.takeAppMessages(session) == [])
        #expect(rig.calls == [.failed(message, .notConnected)])
    }

    // MARK: Faults of the watch

    private func watch(_ change: (inout WatchConfiguration) -> Void = { _ in }) throws -> Watch {
        var configuration = WatchConfiguration(identity: BridgeRig.identity)
        change(&configuration)
        var watch = try Watch(
            configuration,
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: 1, SplitMix64.draw)
        )
        watch.start(at: .zero)
        return watch
    }

    private func problem(of text: String, in watch: inout Watch) -> String? {
        do throws(WatchCommandError) {
            guard let fault = try? Fault(parsing: text) else { return "no fault" }
            _ = try watch.perform(.addFault(fault, FaultID(rawValue: 1)), at: .zero)
            return nil
        } catch {
            return "\(error)"
        }
    }

    @Test(
        "Faults of the radio and of the controller are not the watch's",
        arguments: ["radio.loss", "link.lost"]
    )
    func others(text: String) throws {
        var watch = try watch()
        let name = text.prefix { $0 != " " }
        #expect(problem(of: text, in: &watch) == "\(name) is not the watch's: its controller has it")
        #expect(watch.runningFaults.isEmpty && !watch.hasFaults)
    }

    @Test("A watch that keeps no keys has no bond to forget, and a database that never changes")
    func unbondable() throws {
        var watch = try watch { $0.pairing.isBondable = false }
        #expect(
            problem(of: "bond.forgotten", in: &watch)
                == "bond.forgotten needs a watch that keeps keys: start it without --no-bonding"
        )
        #expect(
            problem(of: "gatt.database-changed", in: &watch)
                == "gatt.database-changed needs a watch that keeps keys and has a battery service, which comes or goes"
        )
    }

    @Test("A fault that is not there cannot be cleared, and clearing all of none is no error")
    func unknownNumber() throws {
        var watch = try watch()
        do {
            _ = try watch.perform(.clearFaults(FaultID(rawValue: 7)), at: .zero)
            Issue.record("it was cleared")
        } catch {
            #expect("\(error)" == "there is no fault with the number 7: “cairn fault list” has them")
        }
        _ = try watch.perform(.clearFaults(), at: .zero)
        #expect(watch.runningFaults.isEmpty)
    }

    @Test("Faults of all parts are listed by their numbers, and each is cleared by its own")
    func listed() throws {
        var watch = try watch()
        let texts = ["watch.button-stuck button=up", "ppogatt.data-lost", "ping.unanswered"]
        for (index, text) in texts.enumerated() {
            let id = FaultID(rawValue: texts.count - index)
            _ = try watch.perform(.addFault(try Fault(parsing: text), id), at: .zero)
        }
        #expect(
            watch.runningFaults.map(\.fault.name) == ["ping.unanswered", "ppogatt.data-lost", "watch.button-stuck"]
        )
        for number in [2, 1, 3] { _ = try watch.perform(.clearFaults(FaultID(rawValue: number)), at: .zero) }
        #expect(watch.runningFaults.isEmpty)
    }

    @Test("A fault that is over has nothing to do any more, and is gone when what it kept back has come")
    func over() throws {
        var rig = ServiceRig()
        try rig.add("message.late endpoint=0x07D1 direction=to-phone delay=2s for=1s")
        try rig.send(PingMessage.ping(cookie: 7, isIdle: nil))
        #expect(rig.wait(.milliseconds(1500)) == [])
        #expect(rig.system.faults?.faults.running.isEmpty == true && rig.system.faults?.isIdle == false)
        #expect(try rig.send(PingMessage.ping(cookie: 7, isIdle: nil)) == [Self.pong])
        #expect(rig.wait(.milliseconds(500)) == [Self.pong])
    }

    @Test("A restart that waits for an AppMessage comes when one waits for its answer, and not before")
    func restart() throws {
        var rig = try CompanionsRig([RigCompanion("one", CompanionsRig.first)])
        try rig.onWatch { watch, now in
            let fault = try Fault(parsing: "watch.reboot during=outbox")
            _ = try watch.host.perform(.addFault(fault, FaultID(rawValue: 1)), at: now)
        }
        func restarts() -> Int {
            rig.onWatch { watch, _ in
                watch.events.count { if case .restarting(.reboot) = $0 { true } else { false } }
            }
        }
        rig.run(for: .seconds(10))
        #expect(restarts() == 0)
        try rig.sendFromApp(dictionary(ofLength: 20))
        rig.run(for: .seconds(2))
        #expect(restarts() == 1)
    }
}

/// An app that sends something when a button is pressed, and may have no more use for the answer.
private struct HastyApp: WatchApp {
    let uuid = AppRig.app
    let name = "Hasty"
    let closes: Bool

    mutating func didLaunch(_ context: inout AppContext) { _ = context.open(inboxSize: 124, outboxSize: 636) }

    mutating func buttonPressed(_ button: WatchButton, _ context: inout AppContext) {
        _ = context.send(dictionary(ofLength: 20))
        if closes { context.close() }
    }
}
