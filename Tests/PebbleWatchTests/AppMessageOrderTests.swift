import PebbleProtocol
import Testing

@testable import PebbleWatch

/// The order in which a phone gets an app's messages and answers: as on the watch, where the acknowledgement of a push is
/// sent when the app's callback has returned.
@Suite struct AppMessageOrderTests {
    /// Sends a dictionary in its received callback, and then may sleep, or end.
    private struct TalkativeApp: WatchApp {
        let uuid = AppRig.app
        let name = "Talkative"
        let flags: AppFlags = .allowsJavaScript
        var sleep = Duration.zero
        var ends = false

        mutating func didLaunch(_ context: inout AppContext) { _ = context.open(inboxSize: 500, outboxSize: 500) }

        mutating func inboxReceived(_ message: AppMessageDictionary, _ context: inout AppContext) {
            _ = context.send(message)
            context.sleep(for: sleep)
            if ends { context.exit() }
        }

        mutating func draw(on frame: inout FrameBuffer) {}
    }

    private static let tuple = AppMessageTuple(key: 1, value: .uint8(7))

    private func sent(_ rig: AppRig, _ transaction: AppMessageTransactionID) -> AppMessage {
        rig.push(transaction, [Self.tuple])
    }

    @Test func theAcknowledgementComesAfterWhatTheCallbackSent() {
        var rig = AppRig(defaultApp: TalkativeApp())
        let phone = rig.open()
        rig.send(rig.push(9, [Self.tuple]), on: phone)
        #expect(rig.takeAppMessages(phone) == [sent(rig, 1), .acknowledgement(9)])
        // While its message is on the way it cannot send another: only the acknowledgement comes.
        rig.send(rig.push(10, [Self.tuple]), on: phone)
        rig.advance(by: .seconds(1))
        #expect(rig.takeAppMessages(phone) == [.acknowledgement(10)])
    }

    /// So does a refusal of what follows, of a message for another app.
    @Test func aRefusalComesAfterItToo() {
        var rig = AppRig(defaultApp: TalkativeApp())
        let phone = rig.open()
        let other = PebbleUUID(upperHalf: 8, lowerHalf: 8)
        rig.send(rig.push(9, [Self.tuple]), rig.push(3, [Self.tuple], to: other), on: phone)
        #expect(
            rig.takeAppMessages(phone) == [sent(rig, 1), .acknowledgement(9), .negativeAcknowledgement(3)]
        )
    }

    @Test func anAppThatSleepsInItsCallbackHasSentBeforeItSleeps() {
        var rig = AppRig(defaultApp: TalkativeApp(sleep: .seconds(2)))
        let phone = rig.open()
        rig.send(rig.push(9, [Self.tuple]), on: phone)
        #expect(rig.takeAppMessages(phone) == [sent(rig, 1)])
        rig.advance(by: .seconds(2))
        #expect(rig.takeAppMessages(phone) == [.acknowledgement(9)])
    }

    /// A message that an app had under way ends with it, without an answer.
    @Test func anAppThatEndsInItsCallbackIsStillAcknowledged() {
        var rig = AppRig(apps: [TalkativeApp(ends: true)])
        let phone = rig.open()
        rig.launch(AppRig.app)
        _ = rig.take(phone)
        rig.send(rig.push(9, [Self.tuple]), on: phone)
        #expect(rig.takeAppMessages(phone) == [.acknowledgement(9)])
        #expect(rig.system.apps.runningUUID == ClockFace.identifier)
    }

    @Test func theEchoAnswersItsPhone() {
        var rig = AppRig(defaultApp: EchoApp())
        let phone = rig.open()
        let push = rig.push(4, [AppMessageTuple(key: 3, value: .string("x"))], to: EchoApp.identifier)
        rig.send(push, on: phone)
        let messages = rig.takeAppMessages(phone)
        #expect(messages.last == .acknowledgement(4))
        #expect(messages.count == 2)
    }
}
