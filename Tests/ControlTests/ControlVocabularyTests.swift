import Foundation
import PebbleWatch
import Testing

@testable import Control

/// What is declared is what is written, read and described.
@Suite struct ControlVocabularyTests {
    private static let docs = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Docs", directoryHint: .isDirectory)

    @Test func theCheckedInSchemaIsCurrent() throws {
        let text = try String(contentsOf: Self.docs.appending(path: "control.schema.json"), encoding: .utf8)
        #expect(text == ControlSchemaDocument.text, "cairn control schema > Docs/control.schema.json")
    }

    @Test func theCheckedInReferenceIsCurrent() throws {
        let text = try String(contentsOf: Self.docs.appending(path: "control-reference.md"), encoding: .utf8)
        #expect(text == ControlReference.text, "cairn control reference > Docs/control-reference.md")
    }

    /// A command with the initial values of its fields is written and read back.
    @Test func eachCommandIsReadAsItIsWritten() throws {
        func check<Command: ControlCommand>(_ type: Command.Type) throws {
            let command = type.blank
            #expect(try JSONDecoder().decode(type, from: Data(command.line)) == command)
            guard let request = try? command.request() else { return }
            #expect(try ControlRequest(parsing: command.line) == request)
        }
        for type in ControlCommands.all { try check(type) }
        #expect(ControlCommands.byName.count == ControlCommands.all.count)
    }

    /// `cairn` makes a subcommand of a declaration only for what one word can say.
    @Test func aDerivedSubcommandHasOneFieldAtMost() {
        for type in ControlCommands.all where type.subcommandGroup != nil {
            #expect(type.fields.count <= 1 && type.fields.allSatisfy { $0.presence == .required }, "\(type.name)")
        }
    }

    /// No field is declared twice, and none takes the place of what every line has.
    @Test func fieldsHaveNamesOfTheirOwn() {
        func check(_ what: String, _ type: any ControlObject.Type, beside reserved: [String]) {
            let names = type.fields.map(\.name) + reserved
            #expect(Set(names).count == names.count, "\(what): \(names)")
        }
        for command in ControlCommands.all {
            check(command.name, command, beside: ["command"])
            check(command.name, answer(to: command), beside: ["ok", "error", "sequence"])
        }
        for name in ControlEventName.allCases {
            for (variant, fields) in name.declaration.all {
                let reserved = ["event", "at", "text", "sequence"] + (variant == nil ? [] : ["name"])
                check("\(name) \(variant ?? "")", fields, beside: reserved)
            }
        }
    }

    private func answer<Command: ControlCommand>(to command: Command.Type) -> any ControlObject.Type {
        Command.Answer.self
    }

    @Test func aTypedWordIsReadAsItsFieldIs() throws {
        #expect(try ControlCommands.Publish(words: ["stream": "pebble"]).stream == .pebble)
        #expect(try ControlCommands.Compass(words: ["degrees": "90.5", "calibrated": "false"]).degrees == 90.5)
        #expect(throws: ControlRequest.Invalid(description: "“percent” is a number from 0 to 255")) {
            try ControlCommands.Battery(words: ["percent": "256"])
        }
        #expect(throws: ControlRequest.Invalid(description: "“percent” is missing")) {
            try ControlCommands.Battery(words: [:])
        }
    }

    /// A line of a newer watch is read as far as its fields are known.
    @Test func aNewerWatchIsUnderstoodAsFarAsPossible() throws {
        let event = try #require(
            ControlEventLine(parsing: #"{"event":"dance","at":1,"text":"it dances","x":null}"#.utf8)
        )
        #expect(event.event == "dance" && event.fields == nil)
        let refusal = try #require(
            ControlAnswer(parsing: #"{"ok":false,"error":{"code":"too-tired","message":"no"}}"#.utf8)
        )
        #expect(refusal.error?.code == "too-tired" && refusal.error?.kind == nil)
    }
}
