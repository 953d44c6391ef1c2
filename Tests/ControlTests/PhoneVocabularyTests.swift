import BluetoothHCI
import BluetoothHost
import Foundation
import PebblePhone
import PebbleProtocol
import Testing

@testable import Control

/// What a phone takes and says: what is declared is what is written, read and described.
@Suite struct PhoneVocabularyTests {
    private static let docs = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Docs", directoryHint: .isDirectory)

    @Test func theCheckedInSchemaIsCurrent() throws {
        let text = try String(contentsOf: Self.docs.appending(path: "phone.schema.json"), encoding: .utf8)
        #expect(text == ControlSchemaDocument.text(of: .phone), "cairn phone schema > Docs/phone.schema.json")
    }

    @Test func theCheckedInReferenceIsCurrent() throws {
        let text = try String(contentsOf: Self.docs.appending(path: "phone-reference.md"), encoding: .utf8)
        #expect(text == ControlReference.text(of: .phone), "cairn phone reference > Docs/phone-reference.md")
    }

    /// A command with the initial values of its fields is written and read back.
    @Test func eachCommandIsReadAsItIsWritten() throws {
        func check<Command: PhoneControlCommand>(_ type: Command.Type) throws {
            let command = type.blank
            #expect(try JSONDecoder().decode(type, from: Data(command.line)) == command)
        }
        for type in PhoneControlCommands.all { try check(type) }
        #expect(PhoneControlCommands.byName.count == PhoneControlCommands.all.count)
    }

    /// No field is declared twice, and none takes the place of what every line has.
    @Test func fieldsHaveNamesOfTheirOwn() {
        func check(_ what: String, _ type: any ControlObject.Type, beside reserved: [String]) {
            let names = type.fields.map(\.name) + reserved
            #expect(Set(names).count == names.count, "\(what): \(names)")
        }
        func answer<Command: PhoneControlCommand>(to command: Command.Type) -> any ControlObject.Type {
            Command.Answer.self
        }
        for command in PhoneControlCommands.all {
            check(command.name, command, beside: ["command"])
            check(command.name, answer(to: command), beside: ["ok", "error", "sequence"])
        }
        for name in PhoneControlEventName.allCases {
            for (_, fields) in name.declaration.all {
                check("\(name)", fields, beside: ["event", "at", "text", "sequence"])
            }
        }
    }

    @Test(
        arguments: [
            (#"{"command":"dance"}"#, "“dance” is no command; there are status, events, scan"),
            (#"{"command":"launch"}"#, "“app” is missing"),
            (#"{"command":"launch","app":"echo"}"#, "“app” is a UUID"),
            (#"{"command":"scan","seconds":0}"#, "“seconds” is a number from 1 to 3600"),
            (#"{"command":"scan","seconds":"5"}"#, "“seconds” has the wrong type"),
            (#"{"command":"pair","confirm":"perhaps"}"#, "“perhaps” is no answer; there are yes, no, ask"),
            (#"{"command":"forget","watch":"home"}"#, "“home” is no address"),
            (#"{"command":"push","entries":[{"key":1,"type":"uint8","number":256}]}"#, "the entry 1 is none"),
            (#"{"command":"upload","path":"lang","name":"lang"}"#, "“path” is a whole path"),
            (#"{"command":"upload","path":"/lang","name":""}"#, "“name” has 1 to 64 bytes"),
            (#"{"command":"install","path":""}"#, "“path” is a whole path"),
            (#"[1]"#, "a request is a JSON object"),
            ("nonsense", "this is no JSON"),
        ]
    )
    func aBadRequestIsRefusedInWords(line: String, complaint: String) {
        var conversation = PhoneConversation()
        conversation.receive(Array((line + "\n").utf8)[...])
        guard case .failure(let invalid)? = conversation.nextRequest() else {
            Issue.record("\(line) is a request")
            return
        }
        #expect(invalid.description.hasPrefix(complaint), "\(invalid.description)")
        #expect(conversation.nextRequest() == nil)
    }

    @Test func aTargetIsAnAddressANameOrTheFirst() throws {
        func target(_ watch: String?) throws -> WatchTarget? {
            let command = PhoneControlCommands.Connect { $0.watch = watch }
            guard case .perform(.connect(let target, within: .seconds(30))) = command.request() else { return nil }
            return target
        }
        #expect(try target(nil) == .known)
        #expect(try target("first") == .selected(.any))
        #expect(try target("C0:11:22:33:44:55") == .selected(.address(DeviceAddress(0xC011_2233_4455))))
        #expect(try target("Pebble 4455") == .selected(.name("Pebble 4455")))
    }

    /// What a program reads is what was said, in the type that the event's declaration has.
    @Test func eachEventHasTheFieldsOfItsDeclaration() throws {
        let watch = LEAddress.random(DeviceAddress(0xC011_2233_4455))
        let app = PebbleUUID(upperHalf: 1, lowerHalf: 2)
        let events: [PhoneEvent] = [
            .ready, .failed("why"), .controllerLost("why"), .scanning, .connecting(watch), .connected(watch),
            .connectionFailed(watch, .connectionTimeout), .disconnected(reason: .connectionTimeout), .dropped(watch),
            .linkParametersChanged(.milliseconds(30), latency: 4, .milliseconds(5000)), .mtuAgreed(517),
            .batteryLevel(80), .pairingWanted, .pairingQuestion(.confirmPairing), .pairingFailed("why"),
            .securityChanged(LinkSecurity(isEncrypted: true, keySize: 16)), .transportClosed(reason: "why"),
            .message(.fromWatch, PebbleMessage(AppRunStateMessage.start(app))), .watchColor(nil), .runningApp(app),
            .timeSet(TimeMessage.UTCTime(seconds: 1, offsetMinutes: 60, zoneName: "UTC+1")), .negotiated,
            .negotiationFailed(.colorUnknown), .pong(cookie: 1, after: .milliseconds(30)), .pingTimedOut(cookie: 1),
            .appMessageReceived(AppMessagePush(transaction: 1, application: app, dictionary: .empty)),
            .appMessageEnded(1, .timedOut, after: .seconds(10)),
        ]
        var history = PhoneEventHistory()
        for event in events {
            let told = try #require(event.control)
            let declared = try #require(told.name.declaration.type(variant: nil))
            #expect(type(of: told.fields) == declared, "\(told.name)")
            let unnumbered = try #require(PhoneControlEvent(event, text: "\(event)", at: .seconds(2)))
            let line = history.record(unnumbered).line
            let read = try #require(ControlEventLine(parsing: line))
            #expect(read.event == told.name.rawValue && read.sequence == history.last && read.at == 2)
        }
        #expect(history.countsByName["ready"] == 1 && Int(history.last) == events.count)
    }

    @Test func anAnswerIsReadBackByItsCommand() throws {
        let answer = ControlAnswer(
            .delivered(PebbleUUID(upperHalf: 1, lowerHalf: 2), after: .milliseconds(12)),
            after: 7
        )
        let read = try #require(ControlAnswer(parsing: answer.line))
        let reply = try ControlReply<PhoneControlCommands.Push.Answer>(read)
        #expect(reply.sequence == 7 && reply.content.milliseconds == 12)
        #expect(
            PhoneControlCommands.Push.words(for: reply.content)
                == "Acknowledged by 00000000-0000-0001-0000-000000000002 after 12 ms."
        )
        let refusal = ControlAnswer(PhoneCommandError.timedOut("no such message came", after: .seconds(3)))
        #expect(refusal.error?.code == "timed-out" && refusal.error?.message == "no such message came in 3.0 seconds")
    }
}
