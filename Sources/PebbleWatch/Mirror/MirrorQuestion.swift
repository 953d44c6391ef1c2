import ByteCoding
import PebbleProtocol

/// What has to be known of a phone's message to tell its answers from other messages, and to compare them.
struct MirrorQuestion: Sendable {
    let kept: MirroredMessage
    /// What its answers repeat; nil if they repeat nothing.
    let key: [UInt8]?
    /// The command, for endpoints where more than the endpoint decides; nil for an empty payload.
    let command: UInt8?
    /// The record that a change of a database is about.
    let record: Record?
    /// The app that an AppMessage is for.
    let app: PebbleUUID?
    /// Whether it asks, in the words of old companions, which app runs.
    let asksForLauncherState: Bool

    /// A record of a database.
    struct Record: Sendable, Hashable {
        let database: UInt8
        /// None for all of the database.
        let key: [UInt8]
    }

    init(_ message: PebbleMessage) {
        kept = MirroredMessage(message)
        let payload = message.payload
        command = payload.first
        key = Self.key(in: payload, of: message.endpoint)
        record = message.endpoint == .blobDB ? Self.record(in: payload) : nil
        app =
            if message.endpoint == .appMessage, case .push(let push)? = try? AppMessage(payload: payload) {
                push.application
            } else {
                nil
            }
        asksForLauncherState =
            message.endpoint == .launcher
            && (try? LauncherMessage(payload: payload))?.commands.contains(.fetchState) == true
    }

    var endpoint: Endpoint { kept.endpoint }

    private static func key(in payload: [UInt8], of endpoint: Endpoint) -> [UInt8]? {
        switch endpoint {
        case .ping: payload.part(1, 4)
        case .blobDB, .blobDB2: payload.part(1, 2)
        case .appMessage, .launcher, .getBytes: payload.part(1, 1)
        case .logDump: payload.part(2, 4)
        case .remoteInput: payload.part(0, 1)
        default: nil
        }
    }

    private static func record(in payload: [UInt8]) -> Record? {
        switch (try? BlobDBRequest(payload: payload))?.command {
        case .insert(let database, let record, _): Record(database: database.rawValue, key: Array(record.key))
        case .delete(let database, let key): Record(database: database.rawValue, key: Array(key))
        case .clear(let database): Record(database: database.rawValue, key: [])
        case .unsupported, .malformed, nil: nil
        }
    }
}

/// How well a message fits as an answer.
enum MirrorFit: Int, Sendable {
    /// By its endpoint.
    case endpoint
    /// By what it repeats, too.
    case exact
}

extension MirrorQuestion {
    /// How well a message of a watch's fits as an answer; nil if it is none.
    ///
    /// What watches say of their own accord is no answer, though it may come at the same time: each has its own apps, and its own
    /// things to tell a phone.
    func fit(of answer: PebbleMessage) -> MirrorFit? {
        if answer.endpoint == .meta {
            let meta = try? MetaMessage(payload: answer.payload)
            return meta == .unhandled(endpoint) || meta == .disallowed(endpoint) ? .exact : nil
        }
        guard answer.endpoint == endpoint, !isOwnAccord(answer) else { return nil }
        guard let key, let repeated = Self.repeated(in: answer) else { return .endpoint }
        return key == repeated ? .exact : .endpoint
    }

    private static func repeated(in answer: PebbleMessage) -> [UInt8]? {
        let payload = answer.payload
        switch answer.endpoint {
        case .ping: return payload.part(1, 4)
        case .blobDB: return payload.part(0, 2)
        case .blobDB2: return payload.first == syncDone ? nil : payload.part(1, 2)
        case .appMessage, .launcher, .getBytes: return payload.part(1, 1)
        case .logDump: return payload.part(1, 4)
        case .remoteInput: return payload.part(0, 1)
        default: return nil
        }
    }

    private func isOwnAccord(_ answer: PebbleMessage) -> Bool {
        let first = answer.payload.first ?? 0
        switch answer.endpoint {
        // Requests of the watch's own, its apps' lines, and what it tells of its apps.
        case .phoneVersion, .music, .phoneControl, .timelineAction, .voiceControl, .audioStream, .appFetch, .appLog:
            return true
        // Which app runs, and when, follows from what is installed.
        case .appRunState: return command != Self.whatRuns || first != Self.runs
        case .appMessage: return !AppMessage.isAnswer(first)
        case .launcher: return !AppMessage.isAnswer(first) && !asksForLauncherState
        // Records of apps.
        case .dataLogging: return first != Self.sendEnableState
        // The watch writes back what it has changed. How much that is, is its own.
        case .blobDB2:
            return first == Self.syncDone
                ? asksForSettings || command != Self.startSync : first & Self.answerFlag == 0
        // How much there is depends on the watch; whether there is anything is said besides.
        case .getBytes: return first == Self.bytes
        case .logDump: return first == Self.logLine
        default: return false
        }
    }

    /// Whether it asks for the settings that have changed.
    var asksForSettings: Bool {
        endpoint == .blobDB2 && command == Self.startSync
            && kept.bytes.part(3, 1) == [BlobDBDatabase.settings.rawValue]
    }

    /// AppRunState: which app runs?
    static let whatRuns: UInt8 = 0x03
    /// AppRunState: this app runs.
    private static let runs: UInt8 = 0x01
    /// BlobDB2: everything that had changed has been told. It has a number of the watch's own.
    static let syncDone: UInt8 = 0x0A
    /// BlobDB2: the phone asks for what has changed in a database.
    static let startSync: UInt8 = 0x07
    /// BlobDB2, in commands that answer.
    static let answerFlag: UInt8 = 0x80
    /// DataLogging: whether the watch sends records.
    static let sendEnableState: UInt8 = 0x0A
    /// GetBytes: a piece of what was asked for.
    private static let bytes: UInt8 = 0x02
    /// LogDump: one of the lines.
    private static let logLine: UInt8 = 0x80
}

extension [UInt8] {
    /// A number of bytes from a place on; nil if there are fewer.
    func part(_ start: Int, _ length: Int) -> [UInt8]? {
        count >= start + length ? Array(self[start..<(start + length)]) : nil
    }
}
