import PebbleWatch

// The watch's packets and its log.

extension ControlCommands {
    /// `capture-start`
    package struct CaptureStart: ControlCommand {
        package var path = "/"

        package static let name = "capture-start"
        package static let help = "Write a btsnoop capture of the HCI packets from now on."
        package static let discussion =
            "Only for the user who started the watch, and root: what passes between host and controller includes keys. A file "
            + "that is there is replaced; a named pipe is written to while something reads it. A capture that the watch was "
            + "started with goes on beside it."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("path", &path, .wholePath, "the file, with its whole path")
        }

        package func request() -> ControlRequest { .startCapture(path: path) }
    }

    /// `capture-stop`
    package struct CaptureStop: ControlCommand {
        package static let name = "capture-stop"
        package static let help = "End the capture that `capture-start` began."
        package static let discussion = "Only for the user who started the watch, and root."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) {}
        package func request() -> ControlRequest { .stopCapture }
    }

    /// `packets`
    package struct Packets: ControlCommand {
        package typealias Answer = ControlAnswers.PacketStream

        package static let name = "packets"
        package static let help = "Give every HCI packet from now on, a line for each."
        package static let discussion =
            "Only for the user who started the watch, and root: the packets are those of a btsnoop capture, with the keys that the "
            + "host gives the controller; nothing else of the watch's is among them. A program that does not read loses packets, "
            + "and is told how many."
        package static let isNumbered = false

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) {}
        package func request() -> ControlRequest { .packets }
    }

    /// `recorder-save`
    package struct RecorderSave: ControlCommand {
        package typealias Answer = ControlAnswers.SavedRecording

        package var path = "/"

        package static let name = "recorder-save"
        package static let help = "Save what the flight recorder has of the watch."
        package static let discussion =
            "Only for the user who started the watch, and root: keys are among it. `cairn replay` runs the watch again from it. A file "
            + "that is there is replaced."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("path", &path, .wholePath, "the file, with its whole path")
        }

        package func request() -> ControlRequest { .saveRecording(path: path) }
    }

    /// `log-level`
    package struct SetLogLevel: ControlCommand {
        package typealias Answer = ControlAnswers.LogLevels

        package var levels = ""

        package static let name = "log-level"
        package static let help = "Change what is logged from now on."
        package static let discussion =
            "As in --log-level: a level for all layers, such as info, or for some, such as info,att=debug. A layer with a level "
            + "of its own keeps it until it is named again."
        package static let subcommandGroup: ControlSubcommandGroup? = .watch

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("levels", &levels, .text, "the levels")
        }

        package func request() -> ControlRequest { .setLogLevels(levels) }

        package static func words(for answer: Answer) -> String? { answer.levels }
    }
}

extension ControlFormat where Value == String, Wire == String {
    /// The path of a file that means the same in every working directory.
    static var wholePath: Self {
        Self(
            ["type": "string", "pattern": "^/[^\\u0000]*$"],
            read: { path, name in
                guard path.hasPrefix("/"), !path.utf8.contains(0) else {
                    throw ControlRequest.Invalid(description: "“\(name)” is a whole path: it begins with /")
                }
                return path
            },
            write: { .text($0) }
        )
    }
}
