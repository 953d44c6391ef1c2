import Logging

/// What is logged: a level for every layer, read from text such as `info`, `warning,hci=trace` or `att=debug,gatt=debug`.
public struct LogLevels: Hashable, Sendable {
    /// The level of every layer that has none of its own.
    public var standard: Logger.Level
    /// Levels of single layers.
    public var perLayer: [LogLayer: Logger.Level] = [:]

    /// One level for all.
    public init(_ standard: Logger.Level = .info) { self.standard = standard }

    /// The level of a layer.
    public subscript(layer: LogLayer) -> Logger.Level { perLayer[layer] ?? standard }

    /// What is wrong with the text, and what to write instead.
    public struct ParsingError: Error, Equatable, Sendable, CustomStringConvertible {
        public let description: String
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
            guard let layer = LogLayer(rawValue: String(name)) else {
                let layers = LogLayer.allCases.map(\.rawValue).joined(separator: ", ")
                throw .init(description: "“\(name)” is no layer; the layers are \(layers)")
            }
            perLayer[layer] = level
        }
    }
}

/// The loggers of all layers.
public struct Loggers: Sendable {
    private let loggers: [LogLayer: Logger]
    private let other: Logger

    /// Makes a logger for each layer, whose lines go to standard error.
    public init(_ levels: LogLevels) { self.init(levels) { ConsoleLogHandler(label: $0) } }

    /// Makes a logger for each layer, with handlers of the caller's.
    init(_ levels: LogLevels, makeHandler: (String) -> any LogHandler) {
        func logger(_ label: String, _ level: Logger.Level) -> Logger {
            var logger = Logger(label: label, factory: makeHandler)
            logger.logLevel = level
            return logger
        }
        loggers = Dictionary(
            uniqueKeysWithValues: LogLayer.allCases.map { ($0, logger($0.rawValue, levels[$0])) }
        )
        other = logger("cairn", levels.standard)
    }

    /// The logger of a layer.
    public subscript(layer: LogLayer) -> Logger { loggers[layer] ?? other }

    /// The logger of a layer by the name that machines know it by.
    public subscript(named name: String) -> Logger { LogLayer(rawValue: name).map { self[$0] } ?? other }
}
