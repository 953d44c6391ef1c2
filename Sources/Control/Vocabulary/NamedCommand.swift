/// What a command has in every vocabulary, the watch's and the phone's: its name, its fields, and what it is answered with.
package protocol NamedCommand: ControlObject {
    /// What the answer has when it was carried out.
    associatedtype Answer: ControlObject = ControlAnswers.Done

    /// Its `command` on the wire, and the name of its subcommand.
    static var name: String { get }

    /// What it does, in one sentence.
    static var help: String { get }

    /// More about it, for `cairn help` and the reference; empty for nothing more.
    static var discussion: String { get }

    /// Whether its answer has the number of the last event before it.
    static var isNumbered: Bool { get }

    /// Whether it changes nothing, and its answer holds no secret: a program that may only look may send it.
    static var onlyReads: Bool { get }

    /// What its subcommand prints; nil for nothing.
    static func words(for answer: Answer) -> String?
}

extension NamedCommand {
    package static var discussion: String { "" }
    package static var isNumbered: Bool { true }
    package static var onlyReads: Bool { false }
    package static func words(for answer: Answer) -> String? { nil }

    /// What it does, and more about it.
    static var wholeHelp: String { discussion.isEmpty ? help : help + " " + discussion }

    /// The request as a line.
    package var line: [UInt8] {
        JSONLine.bytes(values.merging(["command": .text(Self.name)]) { $1 })
    }
}

/// What events are called in a vocabulary.
package protocol ControlEventNaming: RawRepresentable<String>, CaseIterable, Hashable, Sendable {
    /// What programs are told whose events were lost.
    static var lost: Self { get }

    /// Whose events they are, in a sentence: `the watch`.
    static var speaker: String { get }
}

/// Everything that one kind of program takes and says at its socket: what schema and reference are made of.
package struct ControlVocabulary {
    /// One name of an event, and its declaration.
    struct Event {
        let name: String
        let declaration: ControlEventDeclaration
        /// Whether it concerns one program, and has no number.
        let isLoss: Bool
    }

    /// A kind of line that has the one field `packet`.
    struct Packet {
        let name: String
        /// What the reference calls it.
        let words: String
        let help: String
        /// What is in `packet`.
        let fields: any ControlObject.Type
    }

    /// The title of its schema.
    let title: String
    /// What its schema describes.
    let description: String
    /// The lines above the tables of its reference.
    let preface: [String]
    /// Whose vocabulary it is, in a sentence: `the watch`.
    let speaker: String
    let commands: [any NamedCommand.Type]
    let events: [Event]
    /// None where no program is given packets.
    let packets: [Packet]
    /// What `code` of an error can be.
    let failures: [String]
}
