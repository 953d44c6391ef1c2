import FoundationEssentials

/// The JSON Schema of everything that goes over the control socket: `Docs/control.schema.json`.
package enum ControlSchemaDocument {
    /// The document, with its last line's end.
    package static var text: String { text(of: .watch) }

    /// The document of a vocabulary, with its last line's end.
    package static func text(of vocabulary: ControlVocabulary) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes, .prettyPrinted]
        guard let data = try? encoder.encode(schema(of: vocabulary)) else { return "" }
        return String(decoding: data, as: UTF8.self) + "\n"
    }

    /// The schema of a line, whichever way it goes.
    package static func schema(of vocabulary: ControlVocabulary) -> ControlSchema {
        var definitions: [String: SchemaValue] = ["failure": .schema(failure(vocabulary.failures))]
        for command in vocabulary.commands { add(command, to: &definitions) }
        var events: [String] = []
        for event in vocabulary.events {
            for (variant, fields) in event.declaration.all {
                let definition = (["event", event.name] + (variant.map { [$0] } ?? [])).joined(separator: ".")
                events.append(definition)
                definitions[definition] = .schema(schema(of: event, variant, fields, vocabulary.speaker))
            }
        }
        let names = vocabulary.commands.map { $0.name }
        definitions["request"] = .schema(.oneOf(names.map { "request." + $0 }))
        // Answers to different commands may have the same fields.
        definitions["answer"] = .schema(.anyOf(names.map { "answer." + $0 } + ["failure"]))
        definitions["event"] = .schema(.oneOf(events))
        var lines = ["request", "answer", "event"]
        if !vocabulary.packets.isEmpty {
            lines.append("packet")
            for packet in vocabulary.packets { definitions["packet." + packet.name] = .schema(schema(of: packet)) }
            definitions["packet"] = .schema(.oneOf(vocabulary.packets.map { "packet." + $0.name }))
        }
        return ControlSchema.anyOf(lines).adding([
            "$schema": "https://json-schema.org/draft/2020-12/schema", "title": .text(vocabulary.title),
            "description": .text(vocabulary.description), "$defs": .object(definitions),
        ])
    }

    private static func add<Command: NamedCommand>(
        _ command: Command.Type,
        to definitions: inout [String: SchemaValue]
    ) {
        var request = ControlSchema.object(
            Command.fields,
            constants: ["command": .text(Command.name)],
            isRequest: true
        )
        request = request.adding(["description": .text(Command.wholeHelp)])
        if Command.onlyReads { request = request.adding(["x-only-reads": .flag(true)]) }
        definitions["request." + Command.name] = .schema(request)
        let head = Command.isNumbered ? [ControlField.sequenceOfAnswer] : []
        let answer = ControlSchema.object(head + Command.Answer.fields, constants: ["ok": .flag(true)])
        definitions["answer." + Command.name] = .schema(answer)
    }

    private static func failure(_ codes: [String]) -> ControlSchema {
        ControlSchema.object(
            [
                ControlField(
                    name: "error",
                    schema: ControlFailure.schema(codes),
                    presence: .required,
                    help: "why it was not done"
                )
            ],
            constants: ["ok": .flag(false)]
        )
    }

    private static func schema(of packet: ControlVocabulary.Packet) -> ControlSchema {
        ControlSchema.object([
            ControlField(
                name: "packet",
                schema: .object(packet.fields.fields),
                presence: .required,
                help: packet.help
            )
        ]).adding(["description": .text(packet.help)])
    }

    private static func schema(
        of event: ControlVocabulary.Event,
        _ variant: String?,
        _ fields: any ControlObject.Type,
        _ speaker: String
    ) -> ControlSchema {
        var constants: [String: ControlValue] = ["event": .text(event.name)]
        constants["name"] = variant.map { .text($0) }
        // What was lost concerns one program, and has no number.
        let head = ControlField.headOfEvent(of: speaker) + (event.isLoss ? [] : [.sequenceOfEvent(of: speaker)])
        return ControlSchema.object(head + fields.fields, constants: constants)
            .adding(["description": .text(event.declaration.help)])
    }
}

extension ControlVocabulary {
    /// The watch's.
    package static let watch = ControlVocabulary(
        title: "Control of a Cairn watch",
        description:
            "Each line of the control socket is one JSON object: requests to the watch, answers, events and packets from it. "
            + "A request may have fields that its command does not have: they are passed over.",
        preface: [
            "# Control: the reference", "",
            "Made by `cairn control reference` from the declarations in `Sources/Control`; do not edit it.",
            "[control.md](control.md) says how to use it, and [control.schema.json](control.schema.json) says the same to",
            "programs. A field in brackets may be left out.",
        ],
        speaker: ControlEventName.speaker,
        commands: ControlCommands.all,
        events: ControlEventName.allCases.map {
            Event(name: $0.rawValue, declaration: $0.declaration, isLoss: $0 == .lost)
        },
        packets: [
            Packet(
                name: "hci",
                words: "an HCI packet",
                help: "An HCI packet, after `packets`.",
                fields: ControlPacket.self
            ),
            Packet(
                name: "lost",
                words: "packets that were lost",
                help: "Packets were lost, because the program did not read them in time.",
                fields: ControlLostPackets.self
            ),
        ],
        failures: ControlFailureCode.allCases.map(\.rawValue)
    )
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
    fileprivate static func sequenceOfEvent(of speaker: String) -> ControlField {
        ControlField(
            name: "sequence",
            schema: ControlFormat<UInt64, UInt64>.serial.schema,
            presence: .required,
            help: "counts the events since \(speaker) was started, from 1 on"
        )
    }
    fileprivate static func headOfEvent(of speaker: String) -> [ControlField] {
        [
            ControlField(
                name: "at",
                schema: ControlFormat<Double, Double>.amount.in(.seconds).schema,
                presence: .required,
                help: "when: since \(speaker) was started"
            ),
            ControlField(
                name: "text",
                schema: ControlFormat<String, String>.text.schema,
                presence: .required,
                help: "the same in words"
            ),
        ]
    }
}
