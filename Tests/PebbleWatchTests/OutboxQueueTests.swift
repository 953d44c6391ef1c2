import PebbleProtocol
import Testing

@testable import PebbleWatch

@Suite("Apps that send while their outbox is busy: no acknowledged message is lost")
struct OutboxQueueTests {
    static let installed = PebbleUUID(upperHalf: 77, lowerHalf: 1)

    /// An app that has been installed, without a program.
    static let package = AppPackage(
        metadata: AppMetadata(
            uuid: installed,
            flags: .allowsJavaScript,
            majorVersion: 1,
            minorVersion: 0,
            sdk: .current,
            name: "Installed"
        ),
        binary: []
    )

    /// Answers every message with its first value, and says something when select is pressed.
    private static func script(after delay: Duration = .zero) -> AppScript {
        AppScript(
            rules: [
                .init(conditions: [], actions: [.init(tuples: [.init(key: 9, source: .received(1))], delay: delay)])
            ],
            onButton: [.select: [.init(tuples: [.init(key: 9, source: .value(.int32(1)))])]]
        )
    }

    private static func rig(_ behavior: AppBehavior = .echo) -> AppRig {
        AppRig(behaviors: [installed: behavior], packages: [package])
    }

    private func number(_ number: Int32, key: UInt32 = 1) throws -> AppMessageDictionary {
        try AppMessageDictionary([AppMessageTuple(key: key, value: .int32(number))])
    }

    /// What the watch pushes until it has no more to say, each acknowledged.
    private func pushes(_ rig: inout AppRig, on phone: SessionID, after first: [AppMessage]) -> [AppMessageDictionary] {
        var dictionaries: [AppMessageDictionary] = []
        var messages = first
        repeat {
            let pushes = messages.compactMap { if case .push(let push) = $0 { push } else { nil } }
            guard !pushes.isEmpty else { return dictionaries }
            for push in pushes {
                dictionaries.append(push.dictionary)
                rig.send(AppMessage.acknowledgement(push.transaction), on: phone)
            }
            rig.advance(by: .seconds(1))
            messages = rig.takeAppMessages(phone)
        } while true
    }

    @Test(
        "A message that somebody else has the app send makes its own wait, and no more",
        arguments: [EchoApp.identifier, installed, SportsApp.identifier, GolfApp.identifier]
    )
    func outboxTakenByAnother(app: PebbleUUID) throws {
        var rig = Self.rig(.scripted(Self.script()))
        let phone = rig.open()
        rig.launch(app)
        _ = rig.take(phone)
        let foreign = try number(77, key: 5)
        rig.sendFromApp(foreign)
        let own: AppMessageDictionary
        if app == EchoApp.identifier || app == Self.installed {
            rig.send(rig.push(1, Array(try number(3)), to: app), on: phone)
            own = try number(3, key: app == EchoApp.identifier ? 1 : 9)
        } else {
            rig.click(.select)
            own = try AppMessageDictionary([
                app == SportsApp.identifier
                    ? AppMessageTuple(key: 4, value: .uint8(SportsApp.ActivityState.running.rawValue))
                    : AppMessageTuple(key: 5, value: .uint8(GolfApp.Command.select.rawValue))
            ])
        }
        rig.advance(by: .seconds(1))
        let said = rig.takeAppMessages(phone)
        #expect(said.contains(.negativeAcknowledgement(1)) == false)
        #expect(pushes(&rig, on: phone, after: said) == [foreign, own])
    }

    @Test(
        "Of a burst, as many as can be sent back are acknowledged, the rest are refused, and each acknowledged one comes"
    )
    func burst() throws {
        for (app, behavior, key) in [
            (EchoApp.identifier, AppBehavior.echo, UInt32(1)), (Self.installed, .echo, 1),
            (Self.installed, .scripted(Self.script()), 9),
            (Self.installed, .scripted(Self.script(after: .seconds(2))), 9),
        ] {
            var rig = Self.rig(behavior)
            let phone = rig.open()
            rig.launch(app)
            _ = rig.take(phone)
            var said: [AppMessage] = []
            for id in UInt8(1)...50 {
                rig.send(rig.push(.init(rawValue: id), Array(try number(Int32(id))), to: app), on: phone)
                said += rig.takeAppMessages(phone)
            }
            let taken = said.compactMap { if case .acknowledgement(let id) = $0 { id.rawValue } else { nil } }
            let refused = said.compactMap { if case .negativeAcknowledgement(let id) = $0 { id.rawValue } else { nil } }
            #expect((taken + refused).sorted() == Array(1...50))
            #expect(taken.count == 32 || taken.count == 33)
            rig.advance(by: .seconds(2))
            said += rig.takeAppMessages(phone)
            let events = rig.takeEvents().filter { if case .appMessageReceived = $0 { true } else { false } }
            #expect(events.count == taken.count, "what was refused was not received")
            #expect(
                pushes(&rig, on: phone, after: said) == (try taken.map { try number(Int32($0), key: key) }),
                "\(behavior)"
            )
            // There is room again.
            rig.send(rig.push(60, Array(try number(60)), to: app), on: phone)
            #expect(rig.takeAppMessages(phone).contains(.acknowledgement(60)))
        }
    }

    @Test("Button presses that come faster than the phone's answers all reach it, in order")
    func buttons() throws {
        var rig = AppRig()
        let phone = rig.open()
        rig.launch(SportsApp.identifier)
        _ = rig.take(phone)
        for _ in 0..<5 { rig.click(.select) }
        let said = rig.takeAppMessages(phone)
        let states = pushes(&rig, on: phone, after: said).map { $0.first(forKey: 4)?.integer }
        #expect(states == [1, 2, 1, 2, 1])
    }
}
