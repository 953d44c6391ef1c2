import ByteCoding
import PebbleProtocol
import Testing

@testable import PebbleWatch

@Suite("AppMessage, between a watchapp and its companion")
struct AppMessageTests {
    private func push(
        _ transaction: AppMessageTransactionID,
        _ dictionary: AppMessageDictionary,
        to app: PebbleUUID = AppRig.app
    ) -> AppMessage {
        .push(AppMessagePush(transaction: transaction, application: app, dictionary: dictionary))
    }

    // MARK: Receiving

    @Test("A push is given to the app, then acknowledged with its own transaction id")
    func received() {
        var rig = AppRig(ProbeApp())
        let phone = rig.open()
        let message = dictionary(ofLength: 40)
        rig.send(push(200, message), on: phone)
        #expect(rig.takeAppMessages(phone) == [.acknowledgement(200)])
        #expect(rig.calls == [.received(message)])
        // The watch does not remember transaction ids: a repeated push is delivered twice.
        rig.send(push(200, message), on: phone)
        #expect(rig.takeAppMessages(phone) == [.acknowledgement(200)])
        #expect(rig.calls == [.received(message), .received(message)])
    }

    @Test("A push for another app is refused, and the running app hears nothing")
    func wrongApp() {
        var rig = AppRig(ProbeApp())
        let phone = rig.open()
        rig.send(push(1, .empty, to: PebbleUUID(upperHalf: 9, lowerHalf: 9)), on: phone)
        #expect(rig.takeAppMessages(phone) == [.negativeAcknowledgement(1)])
        #expect(rig.calls.isEmpty)
    }

    @Test("Without an open inbox everything is refused", arguments: [AppRig.app, ClockFace.identifier])
    func noInbox(target: PebbleUUID) {
        var probe = ProbeApp()
        probe.inboxSize = 0
        var rig = target == AppRig.app ? AppRig(probe) : AppRig()
        let phone = rig.open()
        rig.send(push(7, .empty, to: target), on: phone)
        #expect(rig.takeAppMessages(phone) == [.negativeAcknowledgement(7)])
        #expect(rig.calls.isEmpty)
    }

    @Test("A push that is too short is not answered if there is an inbox, and refused if there is none")
    func shortPush() {
        var rig = AppRig(ProbeApp())
        let phone = rig.open()
        let short: [UInt8] = [0, 2, 0, 0x30, 1, 5]
        rig.sendRaw(short, on: phone)
        #expect(rig.takeAppMessages(phone).isEmpty)
        var closed = AppRig()
        let other = closed.open()
        closed.sendRaw(short, on: other)
        #expect(closed.takeAppMessages(other) == [.negativeAcknowledgement(5)])
        // The answer needs two bytes, and there is only one.
        closed.sendRaw([0, 1, 0, 0x30, 1], on: other)
        #expect(closed.takeAppMessages(other).isEmpty)
    }

    @Test("One push of the opened size and one answer fit; a byte more does not")
    func bufferArithmetic() {
        // 124 + 18 + 2 × 12 + 2 + 2 × 8 = 184 bytes, of which a push takes 38 more than its dictionary, an answer 22.
        #expect(AppMessageInbox.overhead == 60)
        var probe = ProbeApp()
        probe.sleep = .seconds(1)
        var rig = AppRig(probe)
        let phone = rig.open()
        rig.sendFromApp(dictionary(ofLength: 20))
        #expect(rig.takeAppMessages(phone).count == 1)
        // The first makes it sleep; its 39 bytes stay taken until it wakes.
        rig.send(push(0, .empty), push(1, dictionary(ofLength: 145 - 38)), push(2, .empty), on: phone)
        #expect(rig.takeAppMessages(phone) == [.negativeAcknowledgement(2)])
        rig.advance(by: .seconds(1))
        #expect(rig.takeAppMessages(phone) == [.acknowledgement(0)])
        rig.advance(by: .seconds(1))
        #expect(rig.takeAppMessages(phone) == [.acknowledgement(1)])
        #expect(rig.calls == [.received(.empty), .received(dictionary(ofLength: 107)), .dropped(.busy)])
    }

    @Test("The largest push and the answer to the app's own message fit at once, and no other message does")
    func answerHasItsPlace() {
        for isAnswerFirst in [true, false] {
            var rig = AppRig(ProbeApp())
            let phone = rig.open()
            let message = dictionary(ofLength: 30)
            rig.sendFromApp(message)
            _ = rig.take(phone)
            let largest = dictionary(ofLength: 124)
            if isAnswerFirst {
                rig.send(AppMessage.acknowledgement(1), push(1, largest), push(2, .empty), on: phone)
                #expect(rig.calls == [.sent(message), .received(largest), .dropped(.busy)])
            } else {
                rig.send(push(1, largest), AppMessage.acknowledgement(1), push(2, .empty), on: phone)
                #expect(rig.calls == [.received(largest), .sent(message), .dropped(.busy)])
            }
            #expect(rig.takeAppMessages(phone) == [.negativeAcknowledgement(2), .acknowledgement(1)])
        }
    }

    @Test("A push of 8200 bytes is the largest; one that is larger than the inbox is refused, and the app hears of it")
    func tooLarge() {
        let largest = push(1, dictionary(ofLength: 8200))
        let tooLarge = push(2, dictionary(ofLength: 8201))
        var probe = ProbeApp()
        probe.inboxSize = .max
        var rig = AppRig(probe)
        let phone = rig.open()
        rig.send(largest, on: phone)
        rig.send(tooLarge, on: phone)
        #expect(rig.takeAppMessages(phone) == [.acknowledgement(1), .negativeAcknowledgement(2)])
        #expect(rig.calls == [.received(dictionary(ofLength: 8200)), .dropped(.busy)])
        // An inbox of another size takes 22 bytes more than was asked for while it is empty: the place of an answer.
        var smaller = AppRig(ProbeApp())
        let other = smaller.open()
        smaller.send(push(1, dictionary(ofLength: 146)), on: other)
        smaller.send(push(2, dictionary(ofLength: 147)), on: other)
        #expect(smaller.takeAppMessages(other) == [.acknowledgement(1), .negativeAcknowledgement(2)])
    }

    @Test("While one phone's push is on its way, another's is refused")
    func twoWriters() {
        var rig = AppRig(ProbeApp())
        let first = rig.open()
        let second = rig.open(.app, application: AppRig.app)
        var stream: [UInt8] = []
        try? MessageFramer.append(push(1, dictionary(ofLength: 40)), to: &stream)
        rig.sendRaw(Array(stream.prefix(10)), on: first)
        rig.send(push(2, .empty), on: second)
        #expect(rig.takeAppMessages(second) == [.negativeAcknowledgement(2)])
        // Nothing can be reported before the first has ended.
        #expect(rig.calls.isEmpty)
        rig.sendRaw(Array(stream.dropFirst(10)), on: first)
        #expect(rig.takeAppMessages(first) == [.acknowledgement(1)])
        #expect(rig.calls == [.received(dictionary(ofLength: 40)), .dropped(.busy)])
    }

    @Test("A session that ends in the middle of a push leaves nothing behind")
    func lostInTheMiddle() {
        var rig = AppRig(ProbeApp())
        let first = rig.open()
        var stream: [UInt8] = []
        try? MessageFramer.append(push(1, dictionary(ofLength: 124)), to: &stream)
        rig.sendRaw(Array(stream.dropLast()), on: first)
        rig.close(first)
        let second = rig.open()
        rig.send(push(2, dictionary(ofLength: 124)), on: second)
        #expect(rig.takeAppMessages(second) == [.acknowledgement(2)])
        #expect(rig.calls == [.received(dictionary(ofLength: 124))])
    }

    // MARK: Sending

    @Test("Transaction ids are the watch's own: 1, 2, … 255, 0, 1")
    func transactionIDs() {
        var rig = AppRig(ProbeApp())
        let phone = rig.open()
        for number in 1...258 {
            rig.sendFromApp(.empty)
            let expected = AppMessageTransactionID(rawValue: UInt8(number % 256))
            #expect(rig.takeAppMessages(phone) == [push(expected, .empty)])
            rig.send(AppMessage.acknowledgement(expected), on: phone)
        }
        #expect(rig.calls.count == 258)
    }

    @Test("An acknowledgement, a refusal, ten seconds without an answer, and answers to no message")
    func outcomes() {
        var rig = AppRig(ProbeApp())
        let phone = rig.open()
        let message = dictionary(ofLength: 10)
        rig.sendFromApp(message)
        rig.send(AppMessage.acknowledgement(2), AppMessage.negativeAcknowledgement(0), on: phone)
        #expect(rig.calls.isEmpty)
        rig.send(AppMessage.acknowledgement(1), AppMessage.negativeAcknowledgement(1), on: phone)
        #expect(rig.calls == [.sent(message)])
        rig.sendFromApp(message)
        rig.send(AppMessage.negativeAcknowledgement(2), on: phone)
        #expect(rig.calls.last == .failed(message, .sendRejected))
        rig.sendFromApp(message)
        rig.advance(by: .milliseconds(9999))
        #expect(rig.calls.count == 2)
        rig.advance(by: .milliseconds(1))
        #expect(rig.calls.last == .failed(message, .sendTimeout))
        rig.send(AppMessage.acknowledgement(3), on: phone)
        #expect(rig.calls.count == 3)
    }

    @Test("With inbox size zero no answer ever reaches the app")
    func noInboxNoAnswer() {
        var probe = ProbeApp()
        probe.inboxSize = 0
        var rig = AppRig(probe)
        let phone = rig.open()
        rig.sendFromApp(.empty)
        rig.send(AppMessage.acknowledgement(1), on: phone)
        rig.advance(by: .seconds(10))
        #expect(rig.calls == [.failed(.empty, .sendTimeout)])
    }

    @Test("No phone connected: the send succeeds, and fails after a time that grows with each send")
    func notConnected() {
        var rig = AppRig(ProbeApp())
        for milliseconds in [1, 2, 4, 8, 16, 32, 64, 100, 100] {
            let count = rig.calls.count
            rig.sendFromApp(.empty)
            rig.advance(by: .milliseconds(milliseconds) - .microseconds(1))
            #expect(rig.calls.count == count)
            rig.advance(by: .microseconds(1))
            #expect(rig.calls.count == count + 1)
            #expect(rig.calls.last == .failed(.empty, .notConnected))
        }
        // Once a phone has taken a message, it starts again.
        let phone = rig.open()
        rig.sendFromApp(.empty)
        rig.send(AppMessage.acknowledgement(10), on: phone)
        #expect(rig.calls.last == .sent(.empty))
        rig.close(phone)
        let count = rig.calls.count
        rig.sendFromApp(.empty)
        rig.advance(by: .milliseconds(1))
        #expect(rig.calls.count == count + 1)
    }

    @Test(
        "A link that is lost before the bytes were taken fails at once, one that is lost afterwards after ten seconds"
    )
    func lostLink() {
        var rig = AppRig(ProbeApp())
        let phone = rig.open()
        rig.sendFromApp(.empty)
        rig.close(phone)
        rig.advance(by: .seconds(9))
        #expect(rig.calls.isEmpty)
        rig.advance(by: .seconds(1))
        #expect(rig.calls == [.failed(.empty, .sendTimeout)])

        let next = rig.open()
        _ = rig.system.withApps(at: rig.now) { apps, _ in apps.send(.empty) }
        rig.close(next)
        rig.advance(by: .milliseconds(1))
        #expect(rig.calls.last == .failed(.empty, .notConnected))
    }

    @Test("Every result of app_message_outbox_begin and app_message_outbox_send")
    func outboxResults() throws {
        var context = AppContext(state: AppState(), environment: .test())
        #expect(throws: AppMessageResult.invalidState) { try context.outboxBegin() }
        #expect(context.outboxSend(AppMessageDictionaryWriter()) == .invalidState)
        #expect(context.open(inboxSize: -1, outboxSize: 1) == .invalidArguments)
        #expect(context.open(inboxSize: 0, outboxSize: 0) == .ok)
        #expect(context.open(inboxSize: 10, outboxSize: 20) == .ok)
        #expect(context.open(inboxSize: 10, outboxSize: 20) == .invalidState)
        #expect(context.outboxSend(AppMessageDictionaryWriter()) == .invalidState)
        var writer = try context.outboxBegin()
        #expect(throws: AppMessageResult.invalidState) { try context.outboxBegin() }
        #expect(throws: AppMessageDictionaryError.notEnoughStorage(needed: 20, available: 19)) {
            try writer.writeData([UInt8](repeating: 0, count: 13), forKey: 1)
        }
        #expect(AppMessageDictionaryError.notEnoughStorage(needed: 20, available: 19).result == .notEnoughStorage)
        var other = AppMessageDictionaryWriter()
        try other.writeData([UInt8](repeating: 0, count: 13), forKey: 1)
        #expect(context.outboxSend(other) == .bufferOverflow)
        // It stays begun.
        try writer.writeData([UInt8](repeating: 0, count: 12), forKey: 1)
        #expect(context.outboxSend(writer) == .ok)
        #expect(context.slept == .zero)
        #expect(throws: AppMessageResult.busy) { try context.outboxBegin() }
        #expect(throws: AppMessageResult.busy) { try context.outboxBegin() }
        #expect(context.outboxSend(writer) == .busy)
        #expect(context.slept == .milliseconds(3))
        context.close()
        #expect(throws: AppMessageResult.invalidState) { try context.outboxBegin() }
        // Transaction ids start again.
        #expect(context.open(inboxSize: 0, outboxSize: 20) == .ok)
        #expect(context.send(.empty) == .ok)
        #expect(context.state.outgoing.map(\.transactionID) == [1, 1])
    }

    @Test("The results' numbers are the SDK's")
    func numbers() {
        #expect(
            AppMessageResult.allCases.map(\.rawValue)
                == [0, 2, 4, 8, 16, 32, 64, 128, 512, 1024, 2048, 4096, 8192, 16384, 32768]
        )
    }

    // MARK: Sizes

    @Test(
        "How large the boxes can be depends on the phone, the SDK and JavaScript",
        arguments: [
            (true, UInt8(0x3F), true, 8200, 8200), (true, 0x3F, false, 8200, 8200), (true, 0x3E, true, 2026, 654),
            (false, 0x6A, true, 2026, 654), (false, 0x6A, false, 126, 654),
        ]
    )
    func sizes(hasLargeMessages: Bool, minor: UInt8, allowsJavaScript: Bool, inbox: Int, outbox: Int) {
        var probe = ProbeApp()
        probe.sdk = SDKVersion(major: 5, minor: minor)
        probe.flags = allowsJavaScript ? .allowsJavaScript : []
        probe.inboxSize = .max
        probe.outboxSize = .max
        var rig = AppRig(apps: [probe])
        let phone = rig.open(.hybrid, capabilities: hasLargeMessages ? [.appRunState, .appMessage8K] : .appRunState)
        rig.launch(probe.uuid)
        _ = rig.take(phone)
        let largest = inbox
        rig.send(push(1, dictionary(ofLength: largest)), on: phone)
        rig.send(push(2, dictionary(ofLength: largest + 1)), on: phone)
        #expect(rig.takeAppMessages(phone) == [.acknowledgement(1), .negativeAcknowledgement(2)])
        rig.sendFromApp(dictionary(ofLength: outbox + 1))
        #expect(rig.takeAppMessages(phone).isEmpty)
        rig.sendFromApp(dictionary(ofLength: outbox))
        #expect(rig.takeAppMessages(phone).count == 1)
        // The phone goes: an app that starts now still counts on what it could do.
        rig.close(phone)
        rig.launch(ClockFace.identifier)
        rig.launch(probe.uuid)
        let after = rig.open(.hybrid, capabilities: nil)
        rig.send(push(3, dictionary(ofLength: largest)), push(4, dictionary(ofLength: largest + 1)), on: after)
        #expect(rig.takeAppMessages(after).contains(.negativeAcknowledgement(4)))
        #expect(rig.calls.first == .received(dictionary(ofLength: largest)))
    }

    // MARK: Sessions and apps

    @Test("Receiver of an app's messages: the Pebble app for JavaScript, else its companion or one that serves all")
    func sessions() {
        func target(_ flags: AppFlags, _ kinds: [(SessionKind, PebbleUUID)]) -> Int? {
            var probe = ProbeApp()
            probe.flags = flags
            var rig = AppRig(probe)
            let sessions = kinds.map { rig.open($0.0, application: $0.1) }
            rig.sendFromApp(.empty)
            return sessions.firstIndex { !rig.takeAppMessages($0).isEmpty }
        }
        let own = (SessionKind.app, AppRig.app)
        let foreign = (SessionKind.app, PebbleUUID(upperHalf: 3, lowerHalf: 4))
        let unknown = (SessionKind.app, PebbleUUID.invalid)
        let system = (SessionKind.system, PebbleUUID.invalid)
        let hybrid = (SessionKind.hybrid, PebbleUUID.invalid)
        #expect(target(.allowsJavaScript, [own, system]) == 1)
        #expect(target(.allowsJavaScript, [own]) == nil)
        #expect(target([], [own, system]) == 0)
        #expect(target([], [system]) == nil)
        #expect(target([], [system, foreign]) == nil)
        #expect(target([], [foreign, unknown]) == 1)
        #expect(target([], [own, hybrid]) == 0)
        #expect(target([], [foreign, hybrid]) == 1)
    }

    @Test("Another app: pending messages end without an answer, and transaction ids start again at 1")
    func appSwitch() {
        var rig = AppRig(ProbeApp())
        let phone = rig.open()
        rig.sendFromApp(.empty)
        rig.launch(EchoApp.identifier)
        _ = rig.take(phone)
        rig.launch(AppRig.app)
        rig.advance(by: .seconds(11))
        #expect(rig.calls.isEmpty)
        _ = rig.take(phone)
        rig.sendFromApp(.empty)
        #expect(rig.takeAppMessages(phone) == [push(1, .empty)])
    }
}

extension AppEnvironment {
    static func test(
        now: Duration = .zero,
        inboxSizeMaximum: Int = 8200,
        outboxSizeMaximum: Int = 8200
    ) -> AppEnvironment {
        AppEnvironment(
            now: now,
            clock: WatchClock(seconds: 1_700_000_000, at: now),
            display: Display(of: .flint),
            isConnected: true,
            inboxSizeMaximum: inboxSizeMaximum,
            outboxSizeMaximum: outboxSizeMaximum
        )
    }
}
