import FoundationEssentials
import NIOCore

/// What watches can be told and what they say, as control's own schema has it (`Docs/control.schema.json`).
///
/// The schema comes as a file beside the program, so that the program links nothing of the watch: every command that the schema
/// has is a route.
public struct Vocabulary: Sendable {
    /// A command of control.
    struct Command: Sendable {
        let name: String
        /// What it does.
        let help: String
        /// Whether a client that may only look may send it.
        let onlyReads: Bool
        /// The schema of its fields, without `command`.
        let fields: JSON
    }

    /// The schema as it is given to clients.
    let document: ByteBuffer
    /// Its definitions.
    let definitions: [String: JSON]
    /// By name.
    let commands: [String: Command]
    /// What events are called.
    let events: [String]

    /// The vocabulary of this version, from the file that was installed with the program.
    /// - Throws: `WebError` if it is not there.
    public init() throws(WebError) { try self.init(schema: Resources.file("Vocabulary/control.schema.json")) }

    /// The vocabulary that a schema describes.
    /// - Throws: `WebError` if it is none of control.
    init(schema bytes: ByteBuffer) throws(WebError) {
        guard let schema = try? JSON(parsing: Data(bytes.readableBytesView)),
            let definitions = schema["$defs"]?.members,
            definitions["failure"] != nil, definitions["event"] != nil
        else {
            throw WebError(.installation, "the schema of control is none", advice: "install cairn-web again")
        }
        document = bytes
        self.definitions = definitions
        var commands: [String: Command] = [:]
        for (key, definition) in definitions {
            guard let name = key.suffix(after: "request.") else { continue }
            commands[name] = Command(name: name, definition)
        }
        self.commands = commands
        let names = definitions.values.compactMap { $0["properties"]?["event"]?["const"]?.text }
        events = Set(names).sorted()
    }
}

extension Vocabulary.Command {
    fileprivate init(name: String, _ definition: JSON) {
        self.name = name
        help = definition["description"]?.text ?? ""
        onlyReads = definition["x-only-reads"] == .flag(true)
        var members = definition.members
        var properties = definition["properties"]?.members ?? [:]
        properties["command"] = nil
        members["properties"] = .object(properties)
        let required = (definition["required"]?.elements ?? []).filter { $0 != .text("command") }
        members["required"] = required.isEmpty ? nil : .list(required)
        fields = .object(members)
    }

    /// Whether a request without a body can be right.
    var needsFields: Bool { fields["required"] != nil }
}

extension String {
    /// The rest of the text behind a beginning; nil if it begins otherwise.
    func suffix(after beginning: String) -> String? {
        hasPrefix(beginning) ? String(dropFirst(beginning.count)) : nil
    }
}
