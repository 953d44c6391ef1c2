import Foundation

/// The JSON Schema of everything that goes over the control socket: `Docs/control.schema.json`.
package enum ControlSchemaDocument {
    /// The document, with its last line's end.
    package static var text: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
        guard let data = try? encoder.encode(schema) else { return "" }
        return String(decoding: data, as: UTF8.self) + "\n"
    }

    /// The schema of a line, whichever way it goes.
    package static var schema: ControlSchema {
        var definitions: [String: SchemaValue] = ["failure": .schema(failure)]
        for command in ControlCommands.all { add(command, to: &definitions) }
        var events: [String] = []
        for name in ControlEventName.allCases {
            for (variant, fields) in name.declaration.all {
                let definition = (["event", name.rawValue] + (variant.map { [$0] } ?? [])).joined(separator: ".")
                events.append(definition)
                definitions[definition] = .schema(event(name, variant, fields))
            }
        }
        let names = ControlCommands.all.map { $0.name }
        definitions["request"] = .schema(.oneOf(names.map { "request." + $0 }))
        // Answers to different commands may have the same fields.
        definitions["answer"] = .schema(.anyOf(names.map { "answer." + $0 } + ["failure"]))
        definitions["event"] = .schema(.oneOf(events))
        definitions["packet.hci"] = .schema(packet(ControlPacket.self, "An HCI packet, after `packets`."))
        definitions["packet.lost"] = .schema(
            packet(ControlLostPackets.self, "Packets were lost, because the program did not read them in time.")
        )
        definitions["packet"] = .schema(.oneOf(["packet.hci", "packet.lost"]))
        return ControlSchema.anyOf(["request", "answer", "event", "packet"]).adding([
            "$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Control of a Cairn watch",
            "description": .text(
                "Each line of the control socket is one JSON object: requests to the watch, answers, events and packets from it. "
                    + "A request may have fields that its command does not have: they are passed over."
            ), "$defs": .object(definitions),
        ])
    }

    private static func add<Command: ControlCommand>(
        _ command: Command.Type,
        to definitions: inout [String: SchemaValue]
    ) {
        let request = ControlSchema.object(
            Command.fields,
            constants: ["command": .text(Command.name)],
            isRequest: true
        )
        definitions["request." + Command.name] = .schema(request.adding(["description": .text(Command.wholeHelp)]))
        let head = Command.isNumbered ? [ControlField.sequenceOfAnswer] : []
        let answer = ControlSchema.object(head + Command.Answer.fields, constants: ["ok": .flag(true)])
        definitions["answer." + Command.name] = .schema(answer)
    }

    private static var failure: ControlSchema {
        ControlSchema.object(
            [
                ControlField(
                    name: "error",
                    schema: ControlFailure.schema,
                    presence: .required,
                    help: "why it was not done"
                )
            ],
            constants: ["ok": .flag(false)]
        )
    }

    private static func packet<Fields: ControlObject>(_ fields: Fields.Type, _ help: String) -> ControlSchema {
        ControlSchema.object([
            ControlField(name: "packet", schema: .object(fields.fields), presence: .required, help: help)
        ]).adding(["description": .text(help)])
    }

    private static func event(
        _ name: ControlEventName,
        _ variant: String?,
        _ fields: any ControlObject.Type
    ) -> ControlSchema {
        var constants: [String: ControlValue] = ["event": .text(name.rawValue)]
        constants["name"] = variant.map { .text($0) }
        // What was lost concerns one program, and has no number.
        let head = name == .lost ? ControlField.headOfEvent : ControlField.headOfEvent + [.sequenceOfEvent]
        return ControlSchema.object(head + fields.fields, constants: constants)
            .adding(["description": .text(name.declaration.help)])
    }
}

extension ControlCommand {
    /// What it does, and more about it.
    static var wholeHelp: String { discussion.isEmpty ? help : help + " " + discussion }
}

extension ControlEventDeclaration {
    /// Its variants, or itself.
    var all: [(variant: String?, fields: any ControlObject.Type)] {
        switch fields {
        case .fields(let type): [(nil, type)]
        case .variants(let variants): variants.map { ($0.name, $0.fields) }
        }
    }
}

extension ControlField {
    fileprivate static let sequenceOfAnswer = ControlField(
        name: "sequence",
        schema: ControlFormat<UInt64, UInt64>.serial.schema,
        presence: .required,
        help: "the number of the last event before the command was carried out: what comes of it has higher numbers"
    )
    fileprivate static let sequenceOfEvent = ControlField(
        name: "sequence",
        schema: ControlFormat<UInt64, UInt64>.serial.schema,
        presence: .required,
        help: "counts the events since the watch was started, from 1 on"
    )
    fileprivate static let headOfEvent = [
        ControlField(
            name: "at",
            schema: ControlFormat<Double, Double>.amount.in(.seconds).schema,
            presence: .required,
            help: "when: since the watch was started"
        ),
        ControlField(
            name: "text",
            schema: ControlFormat<String, String>.text.schema,
            presence: .required,
            help: "the same in words"
        ),
    ]
}
