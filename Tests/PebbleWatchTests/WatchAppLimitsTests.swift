import PebbleProtocol
import Testing

@testable import PebbleWatch

@Suite("Watchapps at their limits: what waits, what is lost, and what an app that asks for nothing is spared")
struct WatchAppLimitsTests {
    private static let installed = OutboxQueueTests.installed
    private static let package = OutboxQueueTests.package

    /// A watch that runs a script, and the phone that it talks to.
    private func rig(_ script: AppScript) -> (AppRig, SessionID) {
        var rig = AppRig(behaviors: [Self.installed: .scripted(script)], packages: [Self.package])
        let phone = rig.open()
        rig.launch(Self.installed)
        _ = rig.take(phone)
        _ = rig.takeEvents()
        return (rig, phone)
    }

    /// An action that sends a number.
    private static func saying(_ number: Int32, after delay: Duration = .zero) -> AppScript.Action {
        .init(tuples: [.init(key: 9, source: .value(.int32(number)))], delay: delay)
    }

    /// What the running app logged.
    private func logged(_ rig: inout AppRig) -> [String] {
        rig.takeEvents().compactMap { if case .appLogged(let record) = $0 { record.line.message } else { nil } }
    }

    /// What became of the running app's messages.
    private func results(_ rig: inout AppRig) -> [AppMessageResult] {
        rig.takeEvents().compactMap { if case .appMessageSent(_, _, let result) = $0 { result } else { nil } }
    }

    /// The value under a key of each push until there are no more; each is answered, by an ACK or by a NACK.
    private func values(
        of key: UInt32,
        _ rig: inout AppRig,
        on phone: SessionID,
        answer: (AppMessageTransactionID) -> AppMessage = { .acknowledgement($0) }
    ) -> [Int?] {
        var values: [Int?] = []
        while true {
            let pushes = rig.takeAppMessages(phone).compactMap { if case .push(let push) = $0 { push } else { nil } }
            guard !pushes.isEmpty else { return values }
            for push in pushes {
                values.append(push.dictionary.first(forKey: key)?.integer.map { Int($0) })
                rig.send(answer(push.transaction), on: phone)
            }
            rig.advance(by: .seconds(1))
        }
    }

    // MARK: Scripts

    @Test(
        "Of more messages than may wait, those that a script sends first reach the phone, and each other one is logged"
    )
    func tooManyMessages() {
        var (rig, phone) = rig(AppScript(onButton: [.select: (1...35).map { Self.saying($0) }]))
        rig.click(.select)
        // One is under way, 32 wait.
        let text = "too many messages wait for the phone; one is dropped"
        #expect(logged(&rig) == [text, text])
        #expect(values(of: 9, &rig, on: phone) == Array(1...33))
        rig.click(.up)
        #expect(rig.takeAppMessages(phone).isEmpty, "a button that the script does not know")
    }

    @Test("Of more messages than may wait for their time, those that a script has last are dropped and logged")
    func tooManyDelayedMessages() {
        let actions = (1...34).map { Self.saying($0, after: .milliseconds(Double($0))) }
        var (rig, phone) = rig(AppScript(onButton: [.select: actions]))
        rig.click(.select)
        let text = "too many actions wait for their time; one is dropped"
        #expect(logged(&rig) == [text, text])
        #expect(rig.takeAppMessages(phone).isEmpty, "no time has come")
        rig.advance(by: .seconds(1))
        #expect(values(of: 9, &rig, on: phone) == Array(1...32))
    }

    @Test("No more actions wait for their time than an app may have timers, even if they only draw")
    func tooManyDelayedDrawings() {
        let actions = (0..<33).map { x in
            AppScript.Action(
                drawings: [.line(from: PixelPoint(x: x, y: 0), to: PixelPoint(x: x, y: 0), .white)],
                delay: .seconds(1)
            )
        }
        let clear = AppScript.Action(drawings: [.clear(.black)])
        var (rig, _) = rig(AppScript(onLaunch: [clear], onButton: [.select: actions]))
        rig.click(.select)
        #expect(logged(&rig) == ["too many actions wait for their time; one is dropped"])
        rig.advance(by: .seconds(1))
        // A line from a pixel to itself is that pixel.
        let frame = rig.system.apps.frame
        var lit: [PixelPoint] = []
        for y in 0..<frame.display.height {
            for x in 0..<frame.display.width where frame[x, y] == .white { lit.append(PixelPoint(x: x, y: y)) }
        }
        #expect(lit == (0..<32).map { PixelPoint(x: $0, y: 0) })
    }

    @Test("A rule may want bytes: the same bytes meet it, and neither others nor a number or a text do")
    func conditionOfBytes() {
        let script = AppScript(rules: [.init(conditions: [.equals(1, .bytes([1, 2, 3]))], actions: [Self.saying(5)])])
        for (value, expected) in [
            (AppMessageValue.bytes([1, 2, 3]), [5]), (.bytes([1, 2]), []), (.bytes([1, 2, 4]), []), (.uint8(1), []),
            (.string("\u{1}\u{2}\u{3}"), []),
        ] as [(AppMessageValue, [Int?])] {
            var (rig, phone) = rig(script)
            rig.send(rig.push(1, [AppMessageTuple(key: 1, value: value)], to: Self.installed), on: phone)
            #expect(values(of: 9, &rig, on: phone) == expected, "\(value)")
        }
    }

    // MARK: The queue of an app that sleeps

    @Test(
        "Of what happens to an app that sleeps, 32 presses and releases wait, the rest is lost, and a message never is"
    )
    func fullQueue() throws {
        var probe = ProbeApp()
        probe.sleep = .seconds(10)
        var rig = AppRig(probe)
        let phone = rig.open()
        rig.send(rig.push(1, [AppMessageTuple(key: 1, value: .uint8(1))]), on: phone)
        let message = try AppMessageDictionary([AppMessageTuple(key: 2, value: .uint8(2))])
        for _ in 0..<20 { rig.click(.select) }
        rig.sendFromApp(message)
        #expect(try rig.system.apps.delivery == .queued, "the app has not been told")
        #expect(rig.calls.count == 1 && rig.take(phone).isEmpty, "it sleeps, and has not acknowledged")
        rig.advance(by: .seconds(10))
        let heard = (0..<32).map { $0.isMultiple(of: 2) ? ProbeApp.Call.pressed(.select) : .released(.select) }
        #expect(Array(rig.calls.dropFirst()) == heard)
        #expect(
            rig.takeAppMessages(phone) == [
                .acknowledgement(1),
                .push(AppMessagePush(transaction: 1, application: AppRig.app, dictionary: message)),
            ]
        )
        #expect(try rig.system.apps.delivery == .sent)
    }

    // MARK: Ends

    @Test("The app that runs when nothing else does cannot end itself: it goes on, and nobody is told otherwise")
    func defaultAppEndsItself() {
        var probe = ProbeApp()
        probe.exitKey = 7
        var rig = AppRig(probe)
        let phone = rig.open()
        rig.send(rig.push(1, [AppMessageTuple(key: 7, value: .uint8(0))]), on: phone)
        #expect(rig.take(phone) == [PebbleMessage(AppMessage.acknowledgement(1))], "no app stopped or started")
        #expect(rig.system.apps.runningUUID == AppRig.app)
        rig.send(rig.push(2, [AppMessageTuple(key: 8, value: .uint8(0))]), on: phone)
        #expect(rig.take(phone) == [PebbleMessage(AppMessage.acknowledgement(2))])
        #expect(rig.calls.count == 2)
    }

    @Test("The back button of the app that runs when nothing else does ends nothing, and is not for the app")
    func defaultAppsBackButton() {
        var rig = AppRig(ProbeApp())
        rig.click(.back)
        #expect(rig.calls.isEmpty && rig.system.apps.runningUUID == AppRig.app)
        rig.click(.up)
        #expect(rig.calls == [.pressed(.up), .released(.up)])
    }

    /// An app that logs a line for each number up to that of a message; the first is from a file without a name.
    private struct TalkativeApp: WatchApp {
        let uuid = AppRig.app
        let name = "Talkative"

        mutating func didLaunch(_ context: inout AppContext) { _ = context.open(inboxSize: 100, outboxSize: 0) }

        mutating func inboxReceived(_ message: AppMessageDictionary, _ context: inout AppContext) {
            for number in 1...100 {
                context.log(.info, "\(number)", file: number == 1 ? "" : "Talkative/Lines.swift", line: number * 1000)
            }
        }
    }

    @Test(
        "An app may log 64 lines in a call; each has the last part of its file's path, and a line number of two bytes"
    )
    func tooManyLines() {
        var rig = AppRig(defaultApp: TalkativeApp())
        let phone = rig.open()
        _ = rig.takeEvents()
        for id: AppMessageTransactionID in [1, 2] {
            rig.send(rig.push(id, [AppMessageTuple(key: 1, value: .uint8(1))]), on: phone)
            let lines = rig.takeEvents().compactMap { event -> LogLine? in
                if case .appLogged(let record) = event { record.line } else { nil }
            }
            #expect(lines.map(\.message) == (1...64).map { "\($0)" })
            #expect(lines.map(\.file) == [""] + Array(repeating: "Lines.swift", count: 63))
            #expect(lines.first?.line == 1000 && lines.last?.line == 64000)
        }
    }

    // MARK: What an app may leave out, and take back

    /// An app that does as little as it may: it sends when it starts, has ticks and a timer, and hears of nothing.
    private struct TaciturnApp: WatchApp {
        let uuid = AppRig.app
        let name = "Taciturn"

        mutating func didLaunch(_ context: inout AppContext) {
            _ = context.open(inboxSize: 100, outboxSize: 100)
            context.subscribeToTicks(.second)
            _ = context.registerTimer(after: .seconds(2))
            if let message = try? AppMessageDictionary([AppMessageTuple(key: 1, value: .uint8(1))]) {
                _ = context.send(message)
            }
        }
    }

    @Test("An app need not care for answers, ticks, timers and buttons: it runs on, and its pushes are acknowledged")
    func taciturn() throws {
        var rig = AppRig(defaultApp: ClockFace(), apps: [TaciturnApp()])
        let phone = rig.open()
        rig.launch(AppRig.app)
        let sent = try AppMessageDictionary([AppMessageTuple(key: 1, value: .uint8(1))])
        _ = rig.takeEvents()
        rig.send(AppMessage.acknowledgement(1), on: phone)
        rig.advance(by: .seconds(3))
        #expect(results(&rig) == [.ok])
        // Another of its messages is refused.
        rig.sendFromApp(sent)
        rig.send(AppMessage.negativeAcknowledgement(2), on: phone)
        #expect(results(&rig) == [.sendRejected])
        _ = rig.take(phone)
        rig.click(.select)
        rig.send(rig.push(3, [AppMessageTuple(key: 1, value: .uint8(1))]), on: phone)
        #expect(rig.takeAppMessages(phone) == [.acknowledgement(3)])
        #expect(rig.system.apps.runningUUID == AppRig.app)
    }

    /// An app with two timers; a message takes the first back.
    private struct TimingApp: WatchApp {
        let uuid = AppRig.app
        let name = "Timing"
        var timers: [AppTimer] = []
        var fired: [AppTimer] = []

        mutating func didLaunch(_ context: inout AppContext) {
            _ = context.open(inboxSize: 100, outboxSize: 100)
            timers = [2, 3].compactMap { context.registerTimer(after: .seconds($0)) }
        }

        mutating func inboxReceived(_ message: AppMessageDictionary, _ context: inout AppContext) {
            context.cancelTimer(timers[0])
        }

        mutating func timerFired(_ timer: AppTimer, _ context: inout AppContext) { fired.append(timer) }
    }

    @Test("A timer that was taken back does not fire, and the others do", arguments: [false, true])
    func cancelledTimer(cancels: Bool) throws {
        var rig = AppRig(defaultApp: TimingApp())
        let phone = rig.open()
        rig.advance(by: .seconds(1))
        if cancels { rig.send(rig.push(1, [AppMessageTuple(key: 1, value: .uint8(1))]), on: phone) }
        rig.advance(by: .seconds(3))
        let app = try #require(rig.system.apps.runningApp as? TimingApp)
        try #require(app.timers.count == 2)
        #expect(app.fired == (cancels ? [app.timers[1]] : app.timers))
    }

    // MARK: The apps that come with the watch

    @Test("Golf: a message that the phone refuses ends, and the next one follows; the back button asks for no hole")
    func golfRefused() {
        var rig = AppRig()
        let phone = rig.open()
        rig.launch(GolfApp.identifier)
        _ = rig.take(phone)
        for button in [WatchButton.up, .down, .select] { rig.click(button) }
        #expect(values(of: 5, &rig, on: phone) { .negativeAcknowledgement($0) } == [1, 2, 3])
        rig.click(.back)
        #expect(rig.system.apps.runningUUID == ClockFace.identifier && rig.takeAppMessages(phone).isEmpty)
    }

    @Test("Sports: what is no text is shown as a dash, and the units and the figure's name are the companion's")
    func sportsFigures() {
        var rig = AppRig()
        let phone = rig.open()
        rig.launch(SportsApp.identifier)
        let values = [
            AppMessageTuple(key: 0, value: .uint8(5)), AppMessageTuple(key: 1, value: .string("9.9")),
            AppMessageTuple(key: 3, value: .uint8(1)), AppMessageTuple(key: 5, value: .uint8(0)),
        ]
        rig.send(rig.push(1, values, to: SportsApp.identifier), on: phone)
        var expected = FrameBuffer(rig.system.apps.frame.display)
        SportsApp.drawRows([("TIME", "-"), ("KM", "9.9"), ("SPEED", "0:00")], on: &expected)
        #expect(rig.system.apps.frame == expected)
    }

    @Test("Sports: a press for which there is no room changes nothing, and the log says so")
    func sportsFull() {
        var rig = AppRig()
        let phone = rig.open()
        rig.launch(SportsApp.identifier)
        _ = rig.take(phone)
        _ = rig.takeEvents()
        for _ in 0..<35 { rig.click(.select) }
        let text = "too many messages wait for the phone; the button is ignored"
        #expect(logged(&rig) == [text, text])
        // One is under way and 32 wait: running, paused, and so on.
        let expected = (0..<33).map { Optional($0.isMultiple(of: 2) ? 1 : 2) }
        #expect(values(of: 4, &rig, on: phone) == expected)
        rig.click(.select)
        #expect(values(of: 4, &rig, on: phone) == [2], "the last one that the phone heard of was running")
    }
}
