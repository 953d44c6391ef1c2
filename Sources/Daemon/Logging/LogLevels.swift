import BluetoothHost
import Glibc
import HCIRuntime
import Logging
import Synchronization

/// What is logged: a level for every layer, read from text such as `info`, `warning,hci=trace` or `att=debug,gatt=debug`.
public struct LogLevels: Hashable, Sendable, CustomStringConvertible {
    /// The level of every layer that has none of its own.
    public var standard: Logger.Level
    /// Levels of single layers.
    public var perLayer: [Layer: Logger.Level] = [:]

    /// One level for all.
    public init(_ standard: Logger.Level = .info) { self.standard = standard }

    /// The lowest level of any layer.
    var lowest: Logger.Level { perLayer.values.reduce(standard, min) }

    /// The level of a layer.
    public subscript(layer: Layer) -> Logger.Level { perLayer[layer] ?? standard }

    /// What is wrong with the text, and what to write instead.
    public struct ParsingError: Error, Equatable, Sendable, CustomStringConvertible {
        public let description: String
    }

    /// The text that these levels are read from: that of all layers, then of those with their own, in the order of the layers.
    public var description: String {
        let own = Layer.allCases.compactMap { layer in perLayer[layer].map { "\(layer.rawValue)=\($0.rawValue)" } }
        return ([standard.rawValue] + own).joined(separator: ",")
    }

    /// Reads levels from text; layers that it does not mention keep the level they have in `levels`.
    public init(parsing text: String, over levels: LogLevels = LogLevels()) throws(ParsingError) {
        self = levels
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let last = sides.last, let level = Logger.Level(rawValue: String(last)) else {
                let levels = Logger.Level.allCases.map(\.rawValue).joined(separator: ", ")
                throw .init(description: "“\(sides.last ?? "")” is no log level; the levels are \(levels)")
            }
            guard sides.count == 2, let name = sides.first else {
                standard = level
                continue
            }
            guard let layer = Layer(rawValue: String(name)) else {
                let layers = Layer.allCases.map(\.rawValue).joined(separator: ", ")
                throw .init(description: "“\(name)” is no layer; the layers are \(layers)")
            }
            perLayer[layer] = level
        }
    }
}

/// The level at which a layer is logged: one for all copies of its logger, so that it can change while the watch runs.
final class LayerLevel: Sendable {
    /// Its place among all levels.
    private let place: Atomic<Int>

    init(_ level: Logger.Level) { place = Atomic(Self.place(of: level)) }

    var level: Logger.Level {
        // This is asked with every packet: a table of the levels would cost more.
        get {
            switch place.load(ordering: .relaxed) {
            case 0: .trace
            case 1: .debug
            case 2: .info
            case 3: .notice
            case 4: .warning
            case 5: .error
            default: .critical
            }
        }
        set { place.store(Self.place(of: newValue), ordering: .relaxed) }
    }

    private static func place(of level: Logger.Level) -> Int {
        switch level {
        case .trace: 0
        case .debug: 1
        case .info: 2
        case .notice: 3
        case .warning: 4
        case .error: 5
        case .critical: 6
        }
    }
}

/// The loggers of all layers.
public struct Loggers: Sendable {
    private let loggers: [Layer: Logger]
    private let make: @Sendable (Layer) -> Logger

    /// Keeps floods out; add `LogCounts` to the loop, which says what was left out.
    let edge: LogEdge?
    /// What is below it is logged by none of them: asking for a logger costs more. One for all copies.
    let lowestLevel: LayerLevel
    /// Whether the log is the only place where a person can see what the watch shows, such as a passkey.
    var isOnlyDisplay = false

    /// Makes a logger for each layer, whose lines go to standard error.
    /// - Parameter clock: the loop's.
    public init(_ levels: LogLevels, clock: MonotonicClock = MonotonicClock()) {
        let isJournal = Journal.readsStandardError
        let edge = LogEdge(clock: clock) { label, level, text in
            ConsoleLogHandler.write(text, label, level, isJournal, to: STDERR_FILENO)
        }
        self.init(levels, edge: edge) { ConsoleLogHandler(label: $0, edge: edge) }
    }

    /// Makes a logger for each layer, with handlers of the caller's.
    init(_ levels: LogLevels, edge: LogEdge? = nil, makeHandler: @escaping @Sendable (String) -> any LogHandler) {
        self.edge = edge
        lowestLevel = LayerLevel(levels.lowest)
        make = { layer in
            var logger = Logger(label: layer.rawValue, factory: makeHandler)
            logger.logLevel = levels[layer]
            logger[metadataKey: LogKey.layer.rawValue] = "\(layer.rawValue)"
            return logger
        }
        loggers = Dictionary(Layer.allCases.map { [make] in ($0, make($0)) }) { first, _ in first }
    }

    /// Logs at other levels from now on, wherever a logger has been handed to. That takes handlers whose copies have one level,
    /// as the console's are.
    func set(_ levels: LogLevels) {
        lowestLevel.level = levels.lowest
        for (layer, logger) in loggers {
            var copy = logger
            copy.logLevel = levels[layer]
        }
    }

    /// The logger of a layer.
    public subscript(layer: Layer) -> Logger { loggers[layer] ?? make(layer) }
}
