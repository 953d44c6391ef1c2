/// The process that runs a watch, for programs that have started it or look for it.
package struct ControlProgram: Sendable {
    /// Its process identifier.
    package var pid: Int
    /// Cairn's version.
    package var version: String
    /// Where its controller is, as `--controller` has it.
    package var controller: String
    package var ports = ControlStatus.Ports()
    package var paths = ControlStatus.Paths()

    package init(pid: Int, version: String, controller: String) {
        self.pid = pid
        self.version = version
        self.controller = controller
    }
}

extension ControlStatus {
    /// Ports of 127.0.0.1 on which the process listens; nothing for those that it does not have.
    package struct Ports: ControlObject {
        package var air: Int?
        package var qemu: Int?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.optional("air", &air, .count, "the virtual radio's, for other hosts' controllers")
            try fields.optional("qemu", &qemu, .count, "the emulator's, for the SDK's tools")
        }
    }

    /// Files of the process, with their whole paths; nothing for those that it does not have.
    package struct Paths: ControlObject {
        package var state: String?
        package var control: String?
        package var capture: String?
        package var serial: String?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.optional("state", &state, .text, "the state directory")
            try fields.optional("control", &control, .text, "the socket where it takes commands")
            try fields.optional("capture", &capture, .text, "the capture")
            try fields.optional("serial", &serial, .text, "the serial port for the SDK's tools")
        }
    }

    /// What has happened so far.
    package struct Events: ControlObject {
        package var last: UInt64 = 0
        package var counts: [String: Int] = [:]

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("last", &last, .serial, "the number of the last event; 0 before the first")
            try fields.required(
                "counts",
                &counts,
                .dictionary(of: .count),
                "how often each event has happened that has, by its name"
            )
        }
    }

    /// Adds what is known of the process and of its history.
    mutating func add(_ program: ControlProgram, _ history: EventHistory, at now: Duration) {
        pid = program.pid
        version = program.version
        controller = program.controller
        uptimeSeconds = now.inSeconds
        ports = program.ports
        paths = program.paths
        events = Events(last: history.last, counts: history.events.countsByName)
    }
}
