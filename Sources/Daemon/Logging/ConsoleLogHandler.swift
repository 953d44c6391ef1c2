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
        let parts = [metadata, metadataProvider?.get() ?? [:], event.metadata ?? [:]]
        // Most lines have nothing beside their words.
        if parts.contains(where: { $0.keys.contains { !Self.shownKeys.contains($0) } }) {
            let all = parts.reduce(into: Logger.Metadata()) { all, part in all.merge(part) { $1 } }
            for (key, value) in all.sorted(by: { $0.key < $1.key }) where !Self.shownKeys.contains(key) {
                text += " \(key)=\(value)"
            }
        }
        guard let edge else { return Self.write(text, label, event.level, isJournal, to: descriptor) }
        edge.log(text, label: label, level: event.level, threshold: logLevel)
    }

    /// Writes a line.
    static func write(_ text: String, _ label: String, _ level: Logger.Level, _ isJournal: Bool, to descriptor: Int32) {
        var line = ""
        line.reserveCapacity(40 + min(text.utf8.count, 2 * longestText))
        line += isJournal ? Journal.prefix(level) : "\(timeOfDay()) \(padded(level.rawValue, to: 8)) "
        line += padded(label, to: 9) + " "
        // No text has more characters than bytes, and those are counted already.
        let isLong = text.utf8.count > longestText && text.count > longestText
        line += isLong ? text.prefix(longestText) + "…" : text
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
        // No more than fifteen characters: such a text is no block on the heap.
        var time = ""
        func add(_ value: Int, _ count: Int, before separator: String) {
            let text = String(value)
            for _ in text.utf8.count..<max(count, text.utf8.count) { time += "0" }
            time += text
            time += separator
        }
        add(Int(parts.tm_hour), 2, before: ":")
        add(Int(parts.tm_min), 2, before: ":")
        add(Int(parts.tm_sec), 2, before: ".")
        add(now.tv_nsec / 1_000_000, 3, before: "")
        return time
    }
}

extension String {
    /// The text with its control characters escaped: what comes from outside, such as a phone's name, must not be able
    /// to forge lines or drive the terminal.
    public var printable: String {
        if utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return self }
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
