import BluetoothHost
import PebbleProtocol

/// What the watch itself logs: a generation of lines for each boot.
public struct SystemLog: Sendable, Equatable {
    /// Lines of one boot; beyond it the oldest are lost.
    static let lineLimit = 256
    /// Boots whose lines are kept, with the present one.
    static let generationLimit = 8

    /// The present boot's lines first, then those of the boot before it, and so on.
    public var generations: [[LogLine]] { [present] + earlier }

    /// An empty log costs no memory.
    private var present: [LogLine] = []
    private var earlier: [[LogLine]] = []

    /// No lines.
    public init() {}

    mutating func append(_ line: LogLine) {
        if present.count >= Self.lineLimit { present.removeFirst() }
        present.append(line)
    }

    /// The watch boots again.
    mutating func beginGeneration() {
        earlier.insert(present, at: 0)
        present = []
        if earlier.count >= Self.generationLimit { earlier.removeLast() }
    }
}

extension LogLine {
    /// The line that the watch logs of an event; nil if it logs none. Of most it logs none, and what the clock shows is not worked out.
    init?(_ event: WatchEvent, seconds: @autoclosure () -> UInt32) {
        switch event {
        case .diagnostic(let diagnostic):
            guard let level = diagnostic.severity.logLevel else { return nil }
            self.init(
                timestamp: seconds(),
                level: level,
                line: 0,
                file: diagnostic.layer.rawValue,
                message: diagnostic.message
            )
        case .sessionOpened(let session, let kind, let transport):
            let text = "\(session) open: \(kind), over \(transport)"
            self.init(timestamp: seconds(), level: .info, line: 0, file: "session", message: text)
        case .appLaunched(_, let name):
            self.init(timestamp: seconds(), level: .info, line: 0, file: "apps", message: "runs \(name)")
        case .clockSet:
            self.init(timestamp: seconds(), level: .info, line: 0, file: "clock", message: "the clock was set")
        case .started, .failed, .advertising, .connected, .disconnected, .recovery, .pairable, .pairingPrompt, .paired,
            .keyReplaced, .pairingRefused, .pairingFailed, .forgotten, .securityChanged, .link, .phoneService,
            .streamPublished, .streamOpened, .streamClosed, .sessionMoved, .sessionClosed, .message,
            .appMessageReceived, .appMessageSent, .appLogged, .service, .restarting, .buttonPressed, .sensed,
            .fault, .mirrorDiffers:
            return nil
        }
    }
}

extension Diagnostic.Severity {
    /// Nil for what is not worth a place in the watch's own log.
    fileprivate var logLevel: LogLevel? {
        switch self {
        case .debug: nil
        case .info: .info
        case .warning: .warning
        case .error: .error
        }
    }
}
