import BluetoothHCI
import BluetoothHost
import ByteCoding
import Control
import HCIRuntime
import Logging
import PebbleProtocol
import PebbleWatch

/// An event in words: where it belongs, how much it matters, and what happened.
public struct StoryLine: Sendable {
    /// The layer that logs it.
    public var layer: Layer
    /// How much it matters.
    public var level: Logger.Level
    /// The connection that it is about, if there is one.
    public var connection: ConnectionHandle?
    /// The session that it is about, if there is one.
    public var session: SessionID?
    /// The line for a log that more people may read, if there is something in it that is not for them.
    public var discretion = Discretion.none

    /// The part of a line that is not for every reader of the log.
    public enum Discretion: Sendable {
        case none
        /// What people say and do: messages, titles, callers. The line without it; a user who asks for details has it all.
        case contents(String)
        /// The same in a line whose words are made when it is logged, as are those without it.
        case contentsOfFrequent
        /// What is shown on the watch for one person's eyes. The line without it; where it can be seen elsewhere, the log never
        /// has it.
        case secret(String)
    }

    /// A line of a watch's or a phone's story.
    public init(_ layer: Layer, _ level: Logger.Level, _ text: String, _ discretion: Discretion = .none) {
        self.discretion = discretion
        self.layer = layer
        self.level = level
        words = .text(text)
    }

    /// A line about an event of which there are many.
    init(_ event: FrequentEvent) {
        layer = .session
        level = event.level
        if case .message(let session, _, _, _) = event { self.session = session }
        discretion = .contentsOfFrequent
        words = .frequent(event)
    }

    /// A line that a machine wrote for the log.
    public init(_ diagnostic: Diagnostic) {
        layer = diagnostic.layer
        connection = diagnostic.connection
        words = .diagnostic(diagnostic)
        level =
            switch diagnostic.severity {
            case .debug: .debug
            case .info: .info
            case .warning: .warning
            case .error: .error
            }
    }

    /// What happened, in one line. What is said often, and what a machine wrote, gets its words here, so that a line that nobody
    /// reads has none.
    public var text: String {
        switch words {
        case .text(let text): text
        case .frequent(let event): event.text
        case .diagnostic(let diagnostic): diagnostic.message
        }
    }

    /// Appends the text as UTF-8, for those who have a buffer for it.
    func appendText(to text: inout [UInt8]) {
        if case .frequent(let event) = words { return event.appendText(to: &text) }
        text.append(contentsOf: self.text.utf8)
    }

    /// The words of an event of which there are many, without what people say and do.
    var discreetText: String { if case .frequent(let event) = words { event.discreetText } else { text } }

    /// What `LogThrottle` makes of those, where it is known without making them.
    var beginningOfDiscreetText: String? {
        if case .frequent(let event) = words { event.beginningOfDiscreetText } else { nil }
    }

    private enum Words {
        case text(String)
        case frequent(FrequentEvent)
        case diagnostic(Diagnostic)
    }

    private let words: Words
}

extension WatchEvent {
    /// The event in words.
    public var storyLine: StoryLine {
        var line = lineOfText
        line.connection = connection
        line.session = session
        return line
    }

    /// Whether it is one that only matters to the reader of the log.
    var isForLogOnly: Bool {
        if case .diagnostic = self { true } else { false }
    }

    /// The connection that it is about, if there is one.
    private var connection: ConnectionHandle? {
        switch self {
        case .connected(let handle, _), .disconnected(let handle, _), .paired(let handle, _),
            .keyReplaced(let handle, _), .pairingRefused(let handle, _), .pairingFailed(let handle, _),
            .securityChanged(let handle, _), .link(let handle, _), .phoneService(let handle, _),
            .streamOpened(let handle, _), .streamClosed(let handle, _, _),
            .recovery(.transportGivenUp(let handle, _)), .recovery(.transportStalled(let handle)):
            handle
        case .pairingPrompt(let prompt): prompt.id.connection
        case .diagnostic(let diagnostic): diagnostic.connection
        case .fault(let firing): firing.connection
        case .started, .failed, .advertising, .recovery, .pairable, .forgotten, .streamPublished, .sessionOpened,
            .sessionMoved, .sessionClosed, .message, .appLaunched, .appMessageReceived, .appMessageSent, .appLogged,
            .clockSet, .service, .restarting, .buttonPressed, .sensed, .mirrorDiffers:
            nil
        }
    }

    /// The session that it is about, if there is one.
    private var session: SessionID? {
        switch self {
        case .sessionOpened(let session, _, _), .sessionMoved(let session, _), .sessionClosed(let session, _),
            .message(let session, _, _):
            session
        case .mirrorDiffers(let difference): difference.session
        case .started, .failed, .advertising, .connected, .disconnected, .recovery, .pairable, .pairingPrompt,
            .paired, .keyReplaced, .pairingRefused, .pairingFailed, .forgotten, .securityChanged, .link,
            .phoneService, .streamPublished, .streamOpened, .streamClosed, .appLaunched, .appMessageReceived,
            .appMessageSent, .appLogged, .clockSet, .service, .restarting, .buttonPressed, .sensed, .fault,
            .diagnostic:
            nil
        }
    }

    /// The line without connection and session.
    private var lineOfText: StoryLine {
        switch self {
        case .started(let capabilities):
            let version = capabilities.version.map { "\($0.hciVersion)" } ?? "of an unknown version"
            return StoryLine(
                .watch,
                .info,
                "the controller is ready: HCI \(version), \(capabilities.aclPacketCount) buffers of "
                    + "\(capabilities.aclDataLength) bytes, \(capabilities.advertisingSetCount) advertising sets"
            )
        case .failed(let failure):
            return StoryLine(.watch, .error, "\(failure)")
        case .advertising(let onAir):
            let text = onAir.silence == nil ? "advertises for \(onAir)" : "advertises \(onAir)"
            return StoryLine(.watch, .info, text)
        case .connected(let handle, let peer):
            return StoryLine(.gap, .info, "connected to \(peer), \(handle)")
        case .disconnected(let handle, let reason):
            return StoryLine(.gap, .info, "disconnected, \(handle): \(reason)")
        case .recovery(let event):
            return StoryLine(event.layer, event.level, "\(event)")
        case .pairable(let isPairable):
            return StoryLine(.smp, .info, isPairable ? "a new phone may pair" : "no new phone may pair any more")
        case .pairingPrompt(let prompt):
            let text = "pairing waits for a person: \(prompt.kind.question)"
            guard case .displayPasskey = prompt.kind else { return StoryLine(.smp, .notice, text) }
            let discreet = "pairing waits for a person: type on the phone what cairn status shows"
            return StoryLine(.smp, .notice, text, .secret(discreet))
        case .paired(let handle, let summary):
            let method = summary.usesSecureConnections ? "LE Secure Connections" : "LE legacy pairing"
            let bond = summary.bondedIdentity.map { ", bonded to \($0)" } ?? ", not bonded"
            let isUnseen = summary.model == .numericComparison && !summary.isAuthenticated
            let model = "\(summary.model)\(isUnseen ? " that no person compared" : "")"
            return StoryLine(.smp, .info, "paired, \(handle): \(method), \(model)\(bond)")
        case .keyReplaced(let handle, let phone):
            return StoryLine(.smp, .notice, "the phone \(phone) has another key from now on, \(handle)")
        case .pairingRefused(let handle, let refused):
            return StoryLine(.smp, .warning, "not paired, \(handle): \(refused); \(refused.advice)")
        case .pairingFailed(let handle, let failure):
            return StoryLine(.smp, .warning, "not paired, \(handle): \(failure)")
        case .forgotten(let identity):
            return StoryLine(.smp, .notice, "the phone \(identity) is forgotten")
        case .securityChanged(let handle, let security):
            let state = security.isEncrypted ? "encrypted with a key of \(security.keySize) bytes" : "not encrypted"
            return StoryLine(.smp, .info, "the link is \(state), \(handle)")
        case .link(let handle, let event):
            return StoryLine(.gap, event.isRoutine ? .debug : .info, "link: \(event), \(handle)")
        case .phoneService(let handle, .began(let kind)):
            return StoryLine(.gatt, .info, "the phone's \(kind.name): used from now on, \(handle)")
        case .phoneService(let handle, .ended(let kind)):
            return StoryLine(.gatt, .info, "the phone's \(kind.name): not used any more, \(handle)")
        case .phoneService(let handle, .problem(let problem)):
            return StoryLine(.gatt, .info, "\(problem), \(handle)")
        case .streamPublished(let stream, let spsm?):
            return StoryLine(.watch, .info, "\(stream) can be opened, PSM \(spsm)")
        case .streamPublished(let stream, nil):
            return StoryLine(.watch, .info, "\(stream) is withdrawn")
        case .streamOpened(let handle, let stream):
            return StoryLine(.session, .info, "\(stream) is open, \(handle)")
        case .streamClosed(let handle, let stream, let closure):
            return StoryLine(.session, .info, "\(stream) is closed, \(handle): \(closure)")
        case .sessionOpened(let session, let kind, let transport):
            return StoryLine(.session, .info, "\(session) open: \(kind), over \(transport)")
        case .sessionMoved(let session, let transport):
            return StoryLine(.session, .info, "\(session) goes on over \(transport)")
        case .sessionClosed(let session, let reason):
            return StoryLine(.session, .info, "\(session) closed: \(reason)")
        case .message(let session, let direction, let message):
            return StoryLine(.message(session, direction, message.endpoint, byteCount: message.payload.count))
        case .appMessageReceived(let app, let dictionary):
            return StoryLine(.appMessageReceived(app, dictionary))
        case .appMessageSent(let app, let dictionary, let result):
            return StoryLine(.appMessageSent(app, dictionary, result))
        case .appLaunched(_, let name):
            return StoryLine(.watch, .info, "runs \(name)")
        case .appLogged(let record):
            let line = record.line
            let text = "app \(record.application.short), \(line.file):\(line.line): \(line.message)"
            return StoryLine(.watch, line.level.loggerLevel, text)
        case .clockSet(let clock):
            let text = "the phone set the clock"
            return StoryLine(.session, .info, text + (clock.zone.map { ", zone \($0.name)" } ?? ""), .contents(text))
        case .service(let event):
            return event.storyLine
        case .restarting(let cause):
            return StoryLine(.watch, .notice, "restarts: \(cause.reason)")
        case .buttonPressed(let button, let press):
            return StoryLine(.watch, .info, "\(button.rawValue) pressed\(press == .long ? " long" : "")")
        case .sensed(let reading):
            return StoryLine(.watch, .debug, "sensed \(reading)")
        case .fault(let firing):
            return StoryLine(.watch, .notice, "fault \(firing.id.rawValue), \(firing.name): \(firing.effect)")
        case .mirrorDiffers(let difference):
            let text = "the firmware answers \(difference.question.endpoint) otherwise: \(difference.kind.words)"
            return StoryLine(.session, .warning, "\(text): \(difference.words)", .contents(text))
        case .diagnostic(let diagnostic):
            return StoryLine(diagnostic)
        }
    }
}

extension MirrorDifference.Kind {
    /// In what the answers differ, in words.
    public var words: String {
        switch self {
        case .answer: "another answer"
        case .missing: "an answer is missing"
        case .extra: "an answer too many"
        case .order: "another order"
        case .late: "an answer is late"
        }
    }
}

extension MirrorDifference {
    /// Everything that was said, as bytes.
    fileprivate var words: String {
        "to \(question.words) the watch says \(Self.words(watch)), the firmware \(Self.words(firmware))"
            + (delay.map { ", \(($0 / .milliseconds(1)).rounded() / 1000) s later" } ?? "")
    }

    private static func words(_ messages: [MirroredMessage]) -> String {
        messages.isEmpty
            ? "nothing" : messages.map { "\($0.endpoint.rawValue.digits):\($0.words)" }.joined(separator: " ")
    }
}

extension MirroredMessage {
    /// How many bytes stand in a line of the log.
    private static let shownByteCount = 24

    fileprivate var words: String {
        bytes.prefix(Self.shownByteCount).hexadecimal + (length > Self.shownByteCount ? "… (\(length) bytes)" : "")
    }
}

extension UInt16 {
    /// Four hexadecimal digits.
    fileprivate var digits: String {
        [UInt8(truncatingIfNeeded: self >> 8), UInt8(truncatingIfNeeded: self)].hexadecimal
    }
}

extension PhoneServiceKind {
    /// What the service is for.
    fileprivate var name: String {
        switch self {
        case .notifications: "notifications (ANCS)"
        case .media: "player (AMS)"
        case .time: "clock"
        }
    }
}

extension RecoveryEvent {
    fileprivate var layer: Layer {
        switch self {
        case .linkEnded, .phoneIsBack, .churning, .strangersTurnedAway, .strangersGone: .gap
        case .controllerRestarting, .controllerLost: .hci
        case .transportGivenUp, .transportStalled: .ppogatt
        }
    }

    fileprivate var level: Logger.Level {
        switch self {
        case .linkEnded, .phoneIsBack, .churning(false), .strangersGone: .info
        case .controllerRestarting, .controllerLost, .transportGivenUp, .churning(true), .strangersTurnedAway:
            .warning
        case .transportStalled: .error
        }
    }
}

extension LogLevel {
    /// The level of an app's line in the watch's own log.
    fileprivate var loggerLevel: Logger.Level {
        switch rawValue {
        case ...LogLevel.error.rawValue: .error
        case ...LogLevel.warning.rawValue: .warning
        case ...LogLevel.info.rawValue: .info
        default: .debug
        }
    }
}

extension PairingPrompt.Kind {
    /// What the person is asked. A passkey has to be seen by the person at the watch, and is worth nothing afterwards.
    var question: String {
        switch self {
        case .confirmPairing: "may the phone pair?"
        case .numericComparison(let number): "does the phone show \(number)?"
        case .displayPasskey(let passkey): "type \(passkey.digits) on the phone"
        case .requestPasskey: "which number does the phone show?"
        }
    }
}

extension Loggers {
    /// Logs an event of which there are many.
    func log(_ event: FrequentEvent) {
        guard lowestLevel.level <= event.level else { return }
        log(StoryLine(event))
    }

    /// Logs a line under its layer, without the part that is not for every reader of the log.
    public func log(_ line: StoryLine) {
        // Words cost more than all else about a line.
        guard lowestLevel.level <= line.level else { return }
        let logger = self[line.layer]
        guard logger.logLevel <= line.level else { return }
        if let edge, logger.logLevel > .debug, let beginning = line.beginningOfDiscreetText,
            edge.leavesOut(beginning, label: line.layer.rawValue, level: line.level)
        {
            // It is one of a flood, and has been counted: it needs no words.
            return
        }
        let text =
            switch line.discretion {
            case .none: line.text
            case .contents(let discreet): logger.logLevel <= .debug ? line.text : discreet
            case .contentsOfFrequent: logger.logLevel <= .debug ? line.text : line.discreetText
            case .secret(let discreet): isOnlyDisplay ? line.text : discreet
            }
        logger.log(level: line.level, "\(text)", metadata: line.metadata)
    }
}

extension FrequentEvent {
    /// How much it matters to who reads the log.
    fileprivate var level: Logger.Level {
        switch self {
        case .message: .debug
        case .appMessageReceived, .appMessageSent: .info
        }
    }

    /// What `LogThrottle` makes of its discreet words; nil for one that is logged only with details, of which nothing is left out,
    /// and for one of an app whose first digits make a word.
    fileprivate var beginningOfDiscreetText: String? {
        switch self {
        case .message: nil
        case .appMessageReceived(let app, _): app.shortIsNumber ? "AppMessage to app #" : nil
        case .appMessageSent(let app, _, _): app.shortIsNumber ? "AppMessage from app #" : nil
        }
    }
}

extension StoryLine {
    /// What the line has beside its words; the layer is the logger's.
    var metadata: Logger.Metadata {
        var metadata: Logger.Metadata = [:]
        if let connection { metadata[LogKey.connection.rawValue] = "\(connection)" }
        if let session { metadata[LogKey.session.rawValue] = "\(session.number)" }
        return metadata
    }
}
