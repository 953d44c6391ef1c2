import Glibc
import HCIRuntime
import Logging

/// Writes one line an event to standard error: local time, level, layer, message, metadata. The journal has a time and a
/// level of its own for each line.
struct ConsoleLogHandler: LogHandler {
    /// How long a line may be, in characters: what a phone sends may be longer.
    private static let longestText = 1000
    /// What a line shows without metadata: the layer is its label, and its words name connection and session.
    private static let shownKeys = Set(LogKey.allCases.map(\.rawValue))

    private let label: String
    private let descriptor: Int32
    private let isJournal: Bool
    private let edge: LogEdge?

    private let layerLevel = LayerLevel(.info)

    /// One for all copies.
    var logLevel: Logger.Level {
        get { layerLevel.level }
        nonmutating set { layerLevel.level = newValue }
    }
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?

    /// - Parameter edge: leaves out what is too much; nil leaves out nothing.
    init(
        label: String,
        descriptor: Int32 = STDERR_FILENO,
        isJournal: Bool = Journal.readsStandardError,
        edge: LogEdge? = nil
    ) {
        self.isJournal = isJournal
        self.label = label
        self.descriptor = descriptor
        self.edge = edge
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        var text = event.message.description
        let all = metadata.merging(metadataProvider?.get() ?? [:]) { $1 }.merging(event.metadata ?? [:]) { $1 }
        for (key, value) in all.sorted(by: { $0.key < $1.key }) where !Self.shownKeys.contains(key) {
            text += " \(key)=\(value)"
        }
        guard let edge else { return Self.write(text, label, event.level, isJournal, to: descriptor) }
        edge.log(text, label: label, level: event.level, threshold: logLevel)
    }

    /// Writes a line.
    static func write(_ text: String, _ label: String, _ level: Logger.Level, _ isJournal: Bool, to descriptor: Int32) {
        var line = isJournal ? Journal.prefix(level) : "\(timeOfDay()) \(padded(level.rawValue, to: 8)) "
        line += padded(label, to: 9) + " "
        line += text.count > longestText ? text.prefix(longestText) + "…" : text
        // One call a line: lines of several processes on one terminal stay whole.
        line = line.printable + "\n"
        line.withUTF8 { _ = Glibc.write(descriptor, $0.baseAddress, $0.count) }
    }

    private static func padded(_ text: String, to width: Int) -> String {
        text + String(repeating: " ", count: max(0, width - text.utf8.count))
    }

    private static func timeOfDay() -> String {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        var parts = tm()
        localtime_r(&now.tv_sec, &parts)
        func digits(_ value: Int, _ count: Int) -> String {
            let text = String(value)
            return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
        }
        let time = [parts.tm_hour, parts.tm_min, parts.tm_sec].map { digits(Int($0), 2) }.joined(separator: ":")
        return "\(time).\(digits(now.tv_nsec / 1_000_000, 3))"
    }
}

extension String {
    /// The text with its control characters escaped: what comes from outside, such as a phone's name, must not be able
    /// to forge lines or drive the terminal.
    public var printable: String {
        var text = ""
        for scalar in unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .lineSeparator, .paragraphSeparator, .format: text += scalar.escaped(asASCII: true)
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
