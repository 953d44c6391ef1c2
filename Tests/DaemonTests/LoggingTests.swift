import BluetoothHCI
import BluetoothHost
import Glibc
import Logging
import PebbleWatch
import SystemTestSupport
import Testing

@testable import Daemon

@Suite struct LoggingTests {
    @Test func readsLevels() throws {
        #expect(try LogLevels(parsing: "debug")[.hci] == .debug)
        let mixed = try LogLevels(parsing: "warning,hci=trace,session=debug")
        #expect(
            Layer.allCases.map { mixed[$0] }
                == Layer.allCases.map { layer in
                    switch layer {
                    case .hci: .trace
                    case .session: .debug
                    default: .warning
                    }
                }
        )
        #expect(try LogLevels(parsing: "att=error", over: LogLevels(.notice))[.gatt] == .notice)
    }

    @Test(arguments: [
        ("", "“” is no log level; the levels are trace, debug, info, notice, warning, error, critical"),
        ("debug,", "“” is no log level"),
        ("hci", "“hci” is no log level"),
        ("hci=", "“” is no log level"),
        ("hci=loud", "“loud” is no log level"),
        ("phone=debug", "“phone” is no layer; the layers are daemon, transport, air, hci,"),
    ])
    func saysWhatIsNoLevel(text: String, beginning: String) throws {
        let error = try #require(throws: LogLevels.ParsingError.self) { try LogLevels(parsing: text) }
        #expect(error.description.hasPrefix(beginning), "\(error)")
    }

    @Test func levelsAreWrittenAsTheyAreRead() throws {
        for text in ["info", "warning,hci=trace,session=debug", "error,daemon=error"] {
            #expect(try LogLevels(parsing: text).description == text)
        }
        #expect(
            try LogLevels(parsing: "session=debug,hci=trace,notice").description == "notice,hci=trace,session=debug"
        )
    }

    /// What a member of the loop was given long ago logs at other levels as well.
    @Test func levelsChangeWhereverALoggerIs() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        let reader = RawSocket(ends[0])
        do {
            let writer = RawSocket(ends[1])
            let descriptor = writer.descriptor
            let loggers = Loggers(LogLevels(.error)) {
                ConsoleLogHandler(label: $0, descriptor: descriptor, isJournal: true)
            }
            let handedOut = loggers[.smp]
            handedOut.debug("a")
            loggers.set(try LogLevels(parsing: "error,smp=debug"))
            handedOut.debug("b")
            loggers[.gatt].debug("c")
            loggers.set(LogLevels(.error))
            handedOut.debug("d")
        }
        let text = String(decoding: try reader.readWhatIsThere(), as: UTF8.self)
        #expect(text == "<7>smp       b\n")
    }

    @Test func layersLogAtTheirOwnLevels() throws {
        let recorder = LogRecorder()
        let loggers = Loggers(try LogLevels(parsing: "error,smp=debug")) { _ in LevelledRecorder(recorder) }
        loggers.log(StoryLine(.smp, .debug, "a"))
        loggers.log(StoryLine(.gatt, .warning, "b"))
        loggers.log(StoryLine(.gatt, .error, "c"))
        #expect(recorder.lines == ["debug: a", "error: c"])
    }

    /// Each layer is logged under a name that `--log-level` takes.
    @Test func aDiagnosticIsLoggedUnderItsLayer() throws {
        for layer in Layer.allCases {
            let labels = LogRecorder()
            let loggers = Loggers(try LogLevels(parsing: "critical,\(layer.rawValue)=warning")) { label in
                labels.append(label)
                return LevelledRecorder(labels)
            }
            #expect(labels.lines.contains(layer.rawValue), "there is no label \(layer.rawValue)")
            loggers.log(StoryLine(Diagnostic(severity: .warning, layer: layer, message: "heard")))
            #expect(labels.lines.last == "warning: heard")
            #expect(StoryLine(Diagnostic(severity: .debug, layer: layer, message: "")).layer.rawValue == layer.rawValue)
        }
    }

    /// Layer, connection and session are metadata, for logs that keep such; the text is the same.
    @Test func whatALineIsAboutIsMetadata() throws {
        let recorder = LogRecorder()
        let loggers = Loggers(LogLevels(.debug)) { _ in MetadataRecorder(recorder) }
        loggers.log(StoryLine(.notice(HostNotice(.packetOfUnknownConnection(0x0041)))))
        loggers.log(WatchEvent.disconnected(0x0040, reason: .connectionTimeout).storyLine)
        loggers.log(StoryLine(Diagnostic(severity: .warning, layer: .gap, message: "heard")))
        #expect(
            recorder.lines == [
                "dropped a packet of connection 0x0041, which does not exist [connection: 0x0041, layer: l2cap]",
                "disconnected, 0x0040: \(HCIStatus.connectionTimeout) [connection: 0x0040, layer: gap]",
                "heard [layer: gap]",
            ]
        )
    }

    /// On the console the text has it already.
    @Test func aLineShowsOnceWhatItIsAbout() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        let reader = RawSocket(ends[0])
        do {
            let writer = RawSocket(ends[1])
            let descriptor = writer.descriptor
            let loggers = Loggers(LogLevels(.info)) {
                ConsoleLogHandler(label: $0, descriptor: descriptor, isJournal: true)
            }
            loggers.log(StoryLine(.notice(HostNotice(.packetOfUnknownConnection(0x0041)))))
        }
        let text = String(decoding: try reader.readWhatIsThere(), as: UTF8.self)
        #expect(text == "<4>l2cap     dropped a packet of connection 0x0041, which does not exist\n")
    }

    /// What comes from outside cannot forge a line or drive the terminal.
    @Test func aLineStaysALine() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        let reader = RawSocket(ends[0])
        do {
            let writer = RawSocket(ends[1])
            var logger = Logger(label: "gap") { ConsoleLogHandler(label: $0, descriptor: writer.descriptor) }
            logger.logLevel = .info
            logger.debug("not shown")
            logger.info("name \u{1B}[2J\r\n00:00:00.000 error forged \u{202E}☕", metadata: ["key": "a\nb"])
        }
        let line = String(decoding: try reader.readWhatIsThere(), as: UTF8.self)
        #expect(
            line.hasSuffix(" info     gap       name \\u{1B}[2J\\r\\n00:00:00.000 error forged \\u{202E}☕ key=a\\nb\n")
        )
        #expect(line.filter { $0 == "\n" }.count == 1)
        let time = try #require(line.split(separator: " ").first)
        #expect(time.count == 12 && time.split(separator: ":").count == 3, "\(time)")
    }

    /// systemd.exec(5), sd-daemon(3): the journal has the time already, and reads the priority.
    @Test func theJournalGetsPrioritiesAndNoTimes() throws {
        var ends: [Int32] = [-1, -1]
        try #require(pipe(&ends) == 0)
        let reader = RawSocket(ends[0])
        do {
            let writer = RawSocket(ends[1])
            var logger = Logger(label: "gap") {
                ConsoleLogHandler(label: $0, descriptor: writer.descriptor, isJournal: true)
            }
            logger.logLevel = .trace
            for level in Logger.Level.allCases { logger.log(level: level, "a \(level)") }
        }
        let text = String(decoding: try reader.readWhatIsThere(), as: UTF8.self)
        #expect(
            text == """
                <7>gap       a trace
                <7>gap       a debug
                <6>gap       a info
                <5>gap       a notice
                <4>gap       a warning
                <3>gap       a error
                <2>gap       a critical

                """
        )
    }
}

/// A recorder that does not share its level: each logger has its own.
private struct LevelledRecorder: LogHandler {
    private let recorder: LogRecorder
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]

    init(_ recorder: LogRecorder) { self.recorder = recorder }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { recorder.log(event: event) }
}

/// Records text and metadata.
private struct MetadataRecorder: LogHandler {
    private let recorder: LogRecorder
    var logLevel = Logger.Level.info
    var metadata: Logger.Metadata = [:]

    init(_ recorder: LogRecorder) { self.recorder = recorder }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }
        recorder.append("\(event.message) [\(all.map { "\($0): \($1)" }.joined(separator: ", "))]")
    }
}
