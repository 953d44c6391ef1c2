import Foundation
import PebbleProtocol
import SeededRandomness
import Testing

@testable import PebbleWatch

@Suite("Watchapps: time, screen, buttons, and the apps that come with the watch")
struct WatchAppTests {
    // MARK: Time

    @Test("Dates are those of the Gregorian calendar")
    func dates() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
        var random = SplitMix64(seed: 1)
        var moments: [Int64] = [0, -1, 86399, 951_782_400, 951_868_799, 1_709_164_800, 4_294_967_295]
        for _ in 0..<2000 { moments.append(Int64.random(in: -86400...4_294_967_295 + 86400, using: &random)) }
        for moment in moments {
            let date = Date(timeIntervalSince1970: TimeInterval(moment))
            let parts = calendar.dateComponents([.year, .month, .day, .weekday, .hour, .minute, .second], from: date)
            let time = WatchTime(secondsSince1970: moment)
            let expected = [
                parts.year, parts.month, parts.day, parts.weekday.map { $0 - 1 }, parts.hour, parts.minute,
                parts.second,
            ]
            let actual = [time.year, time.month, time.day, time.weekday, time.hour, time.minute, time.second]
            #expect(actual == expected, "\(moment)")
        }
    }

    @Test("Ticks come when a subscribed unit of time changes, in the phone's time zone, and when the clock is set")
    func ticks() {
        var probe = ProbeApp()
        probe.tickUnits = [.minute, .hour]
        var rig = AppRig(probe)
        // 1,700,000,000 is 22:13:20.
        rig.advance(by: .seconds(39))
        #expect(rig.calls.isEmpty)
        rig.advance(by: .seconds(1))
        #expect(rig.calls == [.ticked(WatchTime(secondsSince1970: 1_700_000_040), .minute)])
        rig.advance(by: .seconds(47 * 60))
        #expect(rig.calls.count == 48)
        #expect(rig.calls.last == .ticked(WatchTime(secondsSince1970: 1_700_002_860), .minute))
        let phone = rig.open()
        rig.send(TimeMessage.setUTC(.init(seconds: 1_700_000_000, offsetMinutes: 150, zoneName: "X")), on: phone)
        // 0:43:20 there.
        #expect(rig.calls.last == .ticked(WatchTime(secondsSince1970: 1_700_009_000), [.minute, .hour]))
        rig.advance(by: .seconds(40))
        #expect(rig.calls.last == .ticked(WatchTime(secondsSince1970: 1_700_009_040), .minute))
    }

    // MARK: Screen

    @Test("The watchface shows the local time, and follows it")
    func watchface() {
        var rig = AppRig(clock: 1_735_734_840)
        #expect(Self.largeText(rig.system.apps.frame, scale: 4) == Self.expected("12:34"))
        let before = rig.system.apps.frame
        rig.advance(by: .seconds(59))
        #expect(rig.system.apps.frame == before)
        rig.advance(by: .seconds(1))
        #expect(Self.largeText(rig.system.apps.frame, scale: 4) == Self.expected("12:35"))
        let phone = rig.open()
        rig.send(TimeMessage.setUTC(.init(seconds: 1_735_734_840, offsetMinutes: -60, zoneName: "X")), on: phone)
        #expect(Self.largeText(rig.system.apps.frame, scale: 4) == Self.expected("11:34"))
    }

    @Test("The watchface follows a clock that is set to the same minute of another hour, and of another day")
    func watchfaceOfTheSameMinute() {
        var rig = AppRig(clock: 1_735_734_840)
        let phone = rig.open()
        rig.send(TimeMessage.setUTC(.init(seconds: 1_735_734_840, offsetMinutes: -60, zoneName: "X")), on: phone)
        #expect(Self.largeText(rig.system.apps.frame, scale: 4) == Self.expected("11:34"))
        let before = rig.system.apps.frame
        rig.send(TimeMessage.setUTC(.init(seconds: 1_735_821_240, offsetMinutes: -60, zoneName: "X")), on: phone)
        #expect(rig.system.apps.frame != before)
    }

    @Test(
        "On every screen the face is drawn where it can be seen, in the colours that there are",
        arguments: [
            (HardwarePlatform.tintinV15, 144, 168), (.snowyS3, 144, 168), (.spalding, 180, 180), (.robert, 200, 228),
            (.silk, 144, 168), (.asterix, 144, 168), (.getafixDVT, 260, 260),
        ]
    )
    func displays(hardware: HardwarePlatform, width: Int, height: Int) {
        let rig = AppRig(hardware: hardware, clock: 1_735_734_840)
        let frame = rig.system.apps.frame
        #expect(frame.display.width == width)
        #expect(frame.display.height == height)
        #expect(frame.pixels.count == (frame.display.hasColor ? width * height : width * height / 8))
        var lit = 0
        for y in 0..<height {
            for x in 0..<width where frame[x, y] == .white || frame[x, y] == .lightGray {
                lit += 1
                let (dx, dy) = (2 * x + 1 - width, 2 * y + 1 - height)
                #expect(!frame.display.isRound || dx * dx + dy * dy <= width * width, "(\(x), \(y)) cannot be seen")
            }
        }
        #expect(lit > 1000)
        #expect(frame[0, 0] == (frame.display.hasColor ? .oxfordBlue : .black))
    }

    /// The rows of the time in cells of `scale` pixels.
    private static func largeText(_ frame: FrameBuffer, scale: Int) -> [String] {
        let rows = (0..<frame.display.height).filter { y in
            (0..<frame.display.width).contains { frame[$0, y] == .white }
        }
        guard let top = rows.first else { return [] }
        let left = (frame.display.width - 29 * scale) / 2
        return (0..<7).map { row in
            String(
                (0..<29).map { column in
                    frame[left + column * scale + 1, top + row * scale + 1] == .white ? "#" : "."
                }
            )
        }
    }

    /// The same, drawn by hand.
    private static func expected(_ text: String) -> [String] {
        let shapes: [Character: [String]] = [
            "1": ["..#..", ".##..", "..#..", "..#..", "..#..", "..#..", ".###."],
            "2": [".###.", "#...#", "....#", "..##.", ".#...", "#....", "#####"],
            "3": ["####.", "....#", "....#", ".###.", "....#", "....#", "####."],
            "4": ["...#.", "..##.", ".#.#.", "#..#.", "#####", "...#.", "...#."],
            "5": ["#####", "#....", "####.", "....#", "....#", "#...#", ".###."],
            ":": [".....", "..#..", "..#..", ".....", "..#..", "..#..", "....."],
        ]
        return (0..<7).map { row in text.map { shapes[$0]?[row] ?? "" }.joined(separator: ".") }
    }

    // MARK: Buttons and launching

    @Test("Buttons reach apps, not watchfaces; the back button ends an app")
    func buttons() {
        var face = ProbeApp()
        face.flags = .watchFace
        var app = ProbeApp()
        app.uuid = PebbleUUID(upperHalf: 5, lowerHalf: 6)
        var rig = AppRig(defaultApp: face, apps: [app])
        let phone = rig.open()
        rig.click(.select)
        rig.click(.back)
        #expect(rig.calls.isEmpty)
        #expect(rig.take(phone).isEmpty)
        rig.launch(app.uuid)
        rig.click(.up)
        #expect(rig.calls == [.pressed(.up), .released(.up)])
        _ = rig.take(phone)
        rig.click(.back)
        #expect(
            rig.take(phone)
                == [
                    PebbleMessage(AppRunStateMessage.stop(app.uuid)),
                    PebbleMessage(AppRunStateMessage.start(face.uuid)),
                ]
        )
    }

    @Test("An app that ends itself is acknowledged first, and the watchface comes back")
    func exit() {
        var app = ProbeApp()
        app.exitKey = 7
        var rig = AppRig(apps: [app])
        let phone = rig.open()
        rig.launch(app.uuid)
        _ = rig.take(phone)
        rig.send(rig.push(3, [AppMessageTuple(key: 7, value: .uint8(0))]), on: phone)
        #expect(
            rig.take(phone)
                == [
                    PebbleMessage(AppMessage.acknowledgement(3)), PebbleMessage(AppRunStateMessage.stop(app.uuid)),
                    PebbleMessage(AppRunStateMessage.start(ClockFace.identifier)),
                ]
        )
        #expect(rig.system.apps.runningUUID == ClockFace.identifier)
    }

    @Test("A phone starts and stops apps; a request is ignored if the app does not exist, or is in that state already")
    func runState() {
        var rig = AppRig()
        let phone = rig.open(.system)
        let companion = rig.open(.app, application: EchoApp.identifier)
        rig.send(AppRunStateMessage.start(EchoApp.identifier), on: phone)
        let changes = [
            PebbleMessage(AppRunStateMessage.stop(ClockFace.identifier)),
            PebbleMessage(AppRunStateMessage.start(EchoApp.identifier)),
        ]
        #expect(rig.take(phone) == changes)
        rig.send(AppRunStateMessage.start(EchoApp.identifier), on: phone)
        rig.send(AppRunStateMessage.start(PebbleUUID(upperHalf: 8, lowerHalf: 8)), on: phone)
        rig.send(AppRunStateMessage.stop(ClockFace.identifier), on: phone)
        #expect(rig.take(phone).isEmpty)
        // A companion may ask, and stop; the Pebble app hears of it.
        rig.send(AppRunStateMessage.request, on: companion)
        #expect(rig.take(companion) == [PebbleMessage(AppRunStateMessage.start(EchoApp.identifier))])
        rig.send(AppRunStateMessage.stop(EchoApp.identifier), on: companion)
        #expect(rig.take(companion).isEmpty)
        #expect(rig.take(phone).count == 2)
    }

    @Test("A phone that knows only the old launcher gets and sends the old launcher's messages")
    func launcher() throws {
        var rig = AppRig()
        let phone = rig.open(.system, capabilities: [])
        rig.send(LauncherMessage(.run, application: EchoApp.identifier, transaction: 9), on: phone)
        let answers = try rig.take(phone).map { message in
            #expect(message.endpoint == .launcher)
            return try LauncherMessage(payload: message.payload)
        }
        #expect(answers.map(\.message).first == .acknowledgement(9))
        #expect(answers.flatMap(\.commands) == [.kill, .run])
        rig.send(LauncherMessage(.fetchState, application: EchoApp.identifier, transaction: 10), on: phone)
        let state = try rig.take(phone).map { try LauncherMessage(payload: $0.payload) }
        #expect(state.first?.commands == [.run])
        #expect(state.last?.message == .acknowledgement(10))
        rig.send(LauncherMessage(.run, application: PebbleUUID(upperHalf: 8, lowerHalf: 8), transaction: 11), on: phone)
        #expect(
            try rig.take(phone).map { try LauncherMessage(payload: $0.payload).message } == [
                .acknowledgement(11)
            ],
            "an app that does not exist is acknowledged too"
        )
    }

    // MARK: The apps

    @Test("Sports: the select button starts and pauses, and the state changes when the companion has acknowledged it")
    func sports() throws {
        var rig = AppRig()
        let phone = rig.open()
        rig.launch(SportsApp.identifier)
        _ = rig.take(phone)
        for (number, state) in [(1, SportsApp.ActivityState.running), (2, .paused), (3, .running)] {
            rig.click(.select)
            let expected = try AppMessageDictionary([AppMessageTuple(key: 4, value: .uint8(state.rawValue))])
            let id = AppMessageTransactionID(rawValue: UInt8(number))
            #expect(
                rig.takeAppMessages(phone)
                    == [
                        .push(
                            AppMessagePush(transaction: id, application: SportsApp.identifier, dictionary: expected)
                        )
                    ]
            )
            rig.send(AppMessage.acknowledgement(id), on: phone)
        }
        let before = rig.system.apps.frame
        let values = [AppMessageTuple(key: 0, value: .string("01:23")), AppMessageTuple(key: 1, value: .string("9.9"))]
        rig.send(rig.push(1, values, to: SportsApp.identifier), on: phone)
        #expect(rig.takeAppMessages(phone) == [.acknowledgement(1)])
        #expect(rig.system.apps.frame != before)
    }

    @Test("Golf: the buttons ask for the previous hole, the next one, and this one")
    func golf() throws {
        var rig = AppRig()
        let phone = rig.open()
        rig.launch(GolfApp.identifier)
        _ = rig.take(phone)
        for (number, button) in [WatchButton.up, .down, .select].enumerated() {
            rig.click(button)
            let id = AppMessageTransactionID(rawValue: UInt8(number + 1))
            let sent = rig.takeAppMessages(phone)
            guard case .push(let push) = sent.first else {
                Issue.record("\(button) sends nothing")
                continue
            }
            #expect(Array(push.dictionary) == [AppMessageTuple(key: 5, value: .uint8(UInt8(number + 1)))])
            rig.send(AppMessage.acknowledgement(id), on: phone)
        }
    }

    @Test("An installed app behaves as configured, under its own UUID; by default it acknowledges every message")
    func behaviors() throws {
        let uuids = (1...3).map { PebbleUUID(upperHalf: 77, lowerHalf: UInt64($0)) }
        let packages = uuids.map {
            AppPackage(
                metadata: AppMetadata(
                    uuid: $0,
                    flags: .allowsJavaScript,
                    majorVersion: 1,
                    minorVersion: 0,
                    sdk: .current,
                    name: "Installed"
                ),
                binary: []
            )
        }
        let script = AppScript(rules: [
            .init(
                conditions: [.equals(1, .uint8(5))],
                actions: [.init(tuples: [.init(key: 2, source: .received(1))], delay: .milliseconds(500))]
            )
        ])
        var rig = AppRig(behaviors: [uuids[0]: .echo, uuids[1]: .scripted(script)], packages: packages)
        let phone = rig.open()
        let five = [AppMessageTuple(key: 1, value: .int32(5))]
        for (index, uuid) in uuids.enumerated() {
            rig.launch(uuid)
            _ = rig.take(phone)
            rig.send(rig.push(1, five, to: uuid), on: phone)
            var messages = rig.takeAppMessages(phone)
            #expect(messages.last == .acknowledgement(1), "after what the app sent at once")
            rig.advance(by: .milliseconds(499))
            #expect(rig.takeAppMessages(phone).isEmpty)
            rig.advance(by: .milliseconds(1))
            messages += rig.takeAppMessages(phone)
            let sent = messages.compactMap { message -> AppMessageDictionary? in
                if case .push(let push) = message, push.application == uuid { push.dictionary } else { nil }
            }
            let expected: [[AppMessageTuple]] = [[five], [[AppMessageTuple(key: 2, value: .int32(5))]], []][index]
            #expect(sent.map { Array($0) } == expected)
        }
    }

    @Test("Another app under the UUID of one that came with the watch, or under none, is not installed")
    func reservedUUIDs() {
        for uuid in [EchoApp.identifier, .system, .invalid] {
            let metadata = AppMetadata(
                uuid: uuid,
                flags: [],
                majorVersion: 1,
                minorVersion: 0,
                sdk: .current,
                name: "Impostor"
            )
            var rig = AppRig(packages: [AppPackage(metadata: metadata, binary: [])])
            rig.launch(uuid)
            let name = rig.system.apps.runningApp.name
            #expect(name == (uuid == EchoApp.identifier ? "Echo" : "Clock"))
        }
    }
}
