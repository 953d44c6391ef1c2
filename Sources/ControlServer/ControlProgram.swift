/// The process that runs a watch, for programs that have started it or look for it.
public struct ControlProgram: Sendable {
    /// Its process identifier.
    public var pid: Int
    /// Cairn's version.
    public var version: String
    /// Where its controller is, as `--controller` has it.
    public var controller: String
    public var ports = ControlStatus.Ports()
    public var paths = ControlStatus.Paths()

    public init(pid: Int, version: String, controller: String) {
        self.pid = pid
        self.version = version
        self.controller = controller
    }
}

extension ControlStatus {
    /// Ports of 127.0.0.1 on which the process listens; nothing for those that it does not have.
    public struct Ports: Codable, Sendable, Equatable {
        /// Of the virtual radio, for other hosts' controllers.
        public var air: Int?
        /// The emulator's, for the SDK's tools.
        public var qemu: Int?

        public init() {}
    }

    /// Files of the process, with their whole paths; nothing for those that it does not have.
    public struct Paths: Codable, Sendable, Equatable {
        /// The state directory.
        public var state: String?
        /// The socket where it takes commands.
        public var control: String?
        /// The capture.
        public var capture: String?
        /// The serial port for the SDK's tools.
        public var serial: String?

        public init() {}
    }

    /// What has happened so far.
    public struct Events: Codable, Sendable, Equatable {
        /// The number of the last event; 0 before the first.
        public let last: UInt64
        /// How often each event has happened that has, by its name.
        public let counts: [String: Int]
    }

    /// Adds what is known of the process and of its history.
    mutating func add(_ program: ControlProgram, _ history: EventHistory, at now: Duration) {
        pid = program.pid
        version = program.version
        controller = program.controller
        uptimeSeconds = now.inSeconds
        ports = program.ports
        paths = program.paths
        events = Events(last: history.last, counts: history.countsByName)
    }
}
