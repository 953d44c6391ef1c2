import PebbleWatch

/// Why a request was not carried out.
package struct ControlFailure: Codable, Sendable, Equatable {
    /// For programs: a name that does not change.
    package let code: String
    /// For people.
    package let message: String

    /// A failure of any vocabulary.
    init(named code: String, _ message: String) {
        self.code = code
        self.message = message
    }

    init(_ code: ControlFailureCode, _ message: String) {
        self.code = code.rawValue
        self.message = message
    }

    /// The code; nil for one that only a newer watch knows.
    package var kind: ControlFailureCode? { ControlFailureCode(rawValue: code) }

    /// - Parameter codes: what `code` can be.
    static func schema(_ codes: [String]) -> ControlSchema {
        [
            "type": "object",
            "properties": .object([
                "code": .object([
                    "enum": .list(codes.map { .text($0) }),
                    "description": "for programs: a name that does not change",
                ]), "message": .object(["type": "string", "description": "for people"]),
            ]), "required": .list(["code", "message"]),
            "additionalProperties": .flag(false),
        ]
    }
}

/// What failures are called.
package enum ControlFailureCode: String, CaseIterable, Sendable {
    // The request, the connection, the watch's memory.
    case badRequest = "bad-request"
    case busy
    case unknownSequence = "unknown-sequence"
    case notPermitted = "not-permitted"
    case nothingIsKept = "nothing-is-kept"
    case noBackup = "no-backup"
    case backupFailed = "backup-failed"
    case timedOut = "timed-out"
    // Packages, pictures, captures and the log.
    case noPackage = "no-package"
    case badPackage = "bad-package"
    case packageTooLarge = "package-too-large"
    case notStored = "not-stored"
    case screenshotFailed = "screenshot-failed"
    case captureRuns = "capture-runs"
    case noCapture = "no-capture"
    case captureFailed = "capture-failed"
    case recordingFailed = "recording-failed"
    case badLogLevel = "bad-log-level"
    // What the watch says to a command.
    case appIsBuiltIn = "app-is-built-in"
    case noRoomForApp = "no-room-for-app"
    case installsAlready = "installs-already"
    case unknownApp = "unknown-app"
    case runsAlready = "runs-already"
    case nothingToStop = "nothing-to-stop"
    case notBondable = "not-bondable"
    case databaseIsFixed = "database-is-fixed"
    case pairingIsRefused = "pairing-is-refused"
    case badWindow = "bad-window"
    case nothingWaits = "nothing-waits"
    case passkeyIsAsked = "passkey-is-asked"
    case passkeyIsShown = "passkey-is-shown"
    case noPasskeyIsAsked = "no-passkey-is-asked"
    case noSecrets = "no-secrets"
    case unknownPhone = "unknown-phone"
    case noPhones = "no-phones"
    case notConnected = "not-connected"
    case impossibleReading = "impossible-reading"
    case noCall = "no-call"
    case noSuchAction = "no-such-action"
    case noSuchSetting = "no-such-setting"
    case noRoomForData = "no-room-for-data"
    case notSent = "not-sent"
    // Faults.
    case faultNotTaken = "fault-not-taken"
    case faultsNotAllowed = "faults-not-allowed"
    case unknownFault = "unknown-fault"

    init(_ error: WatchCommandError) {
        self =
            switch error {
            case .unknownApp: .unknownApp
            case .appIsBuiltIn: .appIsBuiltIn
            case .noRoomForApp: .noRoomForApp
            case .installsAlready: .installsAlready
            case .runsAlready: .runsAlready
            case .nothingToStop: .nothingToStop
            case .notBondable: .notBondable
            case .databaseIsFixed: .databaseIsFixed
            case .pairingIsRefused: .pairingIsRefused
            case .badWindow: .badWindow
            case .nothingWaits: .nothingWaits
            case .passkeyIsAsked: .passkeyIsAsked
            case .passkeyIsShown: .passkeyIsShown
            case .noPasskeyIsAsked: .noPasskeyIsAsked
            case .noSecrets: .noSecrets
            case .unknownPhone: .unknownPhone
            case .noPhones: .noPhones
            case .notConnected: .notConnected
            case .impossibleReading: .impossibleReading
            case .noCall: .noCall
            case .noSuchAction: .noSuchAction
            case .noSuchSetting: .noSuchSetting
            case .noRoomForData: .noRoomForData
            case .appMessageNotSent: .notSent
            case .fault(.notAllowed): .faultsNotAllowed
            case .fault(.unknownNumber): .unknownFault
            case .fault: .faultNotTaken
            }
    }
}
