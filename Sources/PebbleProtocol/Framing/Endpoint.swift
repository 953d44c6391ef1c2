import ByteCoding

/// The number in a Pebble Protocol header that says which service a message is for.
///
/// Any 16-bit value can arrive, so this is not a closed enumeration; `definition` is nil for a number that no
/// watch knows.
public struct Endpoint: RawRepresentable, Hashable, Sendable {
    /// The number on the wire.
    public let rawValue: UInt16

    /// Any number, known or not.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    private init(_ rawValue: UInt16) { self.rawValue = rawValue }

    /// Routing errors, watch to phone only.
    package static let meta = Endpoint(0x0000)
    /// Get and set the clock.
    package static let time = Endpoint(0x000B)
    /// The watch's firmware, hardware and capabilities.
    package static let watchVersion = Endpoint(0x0010)
    /// The phone's operating system and capabilities.
    package static let phoneVersion = Endpoint(0x0011)
    /// Firmware update control.
    package static let systemMessage = Endpoint(0x0012)
    /// Media control.
    package static let music = Endpoint(0x0020)
    /// Calls.
    package static let phoneControl = Endpoint(0x0021)
    /// Dictionaries between a watchapp and its companion.
    package static let appMessage = Endpoint(0x0030)
    /// Run state before firmware 3.0, in AppMessage's format.
    package static let launcher = Endpoint(0x0031)
    /// Title and icon of the Sports and Golf apps.
    package static let appCustomize = Endpoint(0x0032)
    /// Makes the watch discoverable.
    package static let bleControl = Endpoint(0x0033)
    /// Starts and stops apps and tells which one runs.
    package static let appRunState = Endpoint(0x0034)
    /// Album art and notification images.
    package static let imaging = Endpoint(0x0035)
    /// Asks the watch to hand over its health data.
    package static let healthSync = Endpoint(0x038F)
    /// Logs of firmware 1.x; nothing handles it any more.
    package static let legacyLogs = Endpoint(0x07D0)
    /// Liveness.
    package static let ping = Endpoint(0x07D1)
    /// Stored system logs.
    package static let logDump = Endpoint(0x07D2)
    /// Reboot and its variants.
    package static let reset = Endpoint(0x07D3)
    /// Apps of firmware 1.x; nothing handles it any more.
    package static let legacyApp = Endpoint(0x07D4)
    /// Live logs of watchapps.
    package static let appLog = Endpoint(0x07D6)
    /// Notifications of firmware 1.x; nothing handles it any more.
    package static let legacyNotification = Endpoint(0x0BB8)
    /// Notifications of firmware 2.x; nothing handles it any more.
    package static let extensibleNotification = Endpoint(0x0BC2)
    /// Resources; nothing handles it any more.
    package static let resource = Endpoint(0x0FA0)
    /// The system registry; nothing handles it any more.
    package static let systemRegistry = Endpoint(0x1388)
    /// Values written in the factory, such as the watch's colour.
    package static let factoryRegistry = Endpoint(0x1389)
    /// App management of firmware 2.x; nothing handles it any more.
    package static let appManager = Endpoint(0x1770)
    /// The watch asks for an app's binary.
    package static let appFetch = Endpoint(0x1771)
    /// Spooled records.
    package static let dataLogging = Endpoint(0x1A7A)
    /// RunKeeper; nothing handles it any more.
    package static let runKeeper = Endpoint(0x1B58)
    /// The frame buffer.
    package static let screenshot = Endpoint(0x1F40)
    /// Named in one client's list only; nothing handles it.
    package static let fileInstallManager = Endpoint(0x1FF5)
    /// Core dumps, files and flash.
    package static let getBytes = Endpoint(0x2328)
    /// Voice frames.
    package static let audioStream = Endpoint(0x2710)
    /// Dictation sessions.
    package static let voiceControl = Endpoint(0x2AF8)
    /// What the user did with a notification or a pin.
    package static let timelineAction = Endpoint(0x2CB0)
    /// The launcher's order.
    package static let appOrder = Endpoint(0xABCD)
    /// The phone writes the watch's databases.
    package static let blobDB = Endpoint(0xB1DB)
    /// The watch writes back its databases.
    package static let blobDB2 = Endpoint(0xB2DB)
    /// Uploads of objects.
    package static let putBytes = Endpoint(0xBEEF)
    /// Hints on when to poll.
    package static let pollRemote = Endpoint(0xCAFE)
    /// The Moddable debugger.
    package static let xsbug = Endpoint(0xCAFF)
    /// Buttons and swipes from afar.
    package static let remoteInput = Endpoint(0xF00D)
}

extension Endpoint {
    /// Which sessions may use an endpoint.
    package enum Access: Sendable {
        /// Sessions of third-party phone apps too.
        case any
        /// The Pebble app's session only.
        case system
        /// None: no firmware handles it any more.
        case obsolete
    }

    /// What is known of an endpoint.
    package struct Definition: Sendable {
        fileprivate let endpoint: Endpoint
        /// Its name in the protocol's own words.
        package let name: String
        /// The endpoint's description, as UTF-8.
        fileprivate let text: [UInt8]
        /// Which sessions may use it.
        package let access: Access
        /// Whether recovery firmware has it too.
        package let isInRecoveryFirmware: Bool
    }

    /// What is known of this endpoint; nil if no watch ever knew it.
    package var definition: Definition? {
        // Each message is looked up several times: this is cheaper than a hash.
        var (low, high) = (0, Self.definitions.count)
        while low < high {
            let middle = (low + high) / 2
            if Self.definitions[middle].endpoint.rawValue < rawValue { low = middle + 1 } else { high = middle }
        }
        guard low < Self.definitions.count, Self.definitions[low].endpoint == self else { return nil }
        return Self.definitions[low]
    }

    /// What a watch does with the header of a message.
    package enum Admission: Equatable, Sendable {
        /// It takes the payload.
        case allowed
        /// It answers ``MetaMessage/unhandled(_:)`` and skips the payload.
        case unhandled
        /// It answers ``MetaMessage/disallowed(_:)`` and skips the payload.
        case disallowed
    }

    /// What a watch does with the header of a message that arrived on a session.
    package func admission(on session: SessionKind, inRecoveryFirmware: Bool) -> Admission {
        guard let definition, definition.access != .obsolete,
            definition.isInRecoveryFirmware || !inRecoveryFirmware
        else { return .unhandled }
        switch (definition.access, session) {
        case (.any, _), (_, .system), (_, .hybrid): return .allowed
        case (_, .app): return .disallowed
        }
    }

    /// In the order of their numbers.
    private static let definitions: [Definition] = {
        func row(_ endpoint: Endpoint, _ name: String, _ access: Access, recovery: Bool) -> Definition {
            let text = Array("\(name) (\(endpoint.number))".utf8)
            return Definition(
                endpoint: endpoint,
                name: name,
                text: text,
                access: access,
                isInRecoveryFirmware: recovery
            )
        }
        let rows = [
            row(.meta, "Meta", .any, recovery: true),
            row(.time, "Time", .system, recovery: false),
            row(.watchVersion, "WatchVersion", .any, recovery: true),
            row(.phoneVersion, "PhoneVersion", .any, recovery: true),
            row(.systemMessage, "SystemMessage", .system, recovery: true),
            row(.music, "Music", .system, recovery: false),
            row(.phoneControl, "PhoneControl", .system, recovery: false),
            row(.appMessage, "AppMessage", .any, recovery: false),
            row(.launcher, "Launcher", .any, recovery: false),
            row(.appCustomize, "AppCustomize", .any, recovery: false),
            row(.bleControl, "BLEControl", .system, recovery: false),
            row(.appRunState, "AppRunState", .any, recovery: false),
            row(.imaging, "Imaging", .system, recovery: false),
            row(.healthSync, "HealthSync", .system, recovery: false),
            row(.legacyLogs, "Logs", .obsolete, recovery: false),
            row(.ping, "Ping", .any, recovery: false),
            row(.logDump, "LogDump", .system, recovery: true),
            row(.reset, "Reset", .system, recovery: true),
            row(.legacyApp, "App", .obsolete, recovery: false),
            row(.appLog, "AppLog", .system, recovery: false),
            row(.legacyNotification, "Notification", .obsolete, recovery: false),
            row(.extensibleNotification, "ExtensibleNotification", .obsolete, recovery: false),
            row(.resource, "Resource", .obsolete, recovery: false),
            row(.systemRegistry, "SystemRegistry", .obsolete, recovery: false),
            row(.factoryRegistry, "FactoryRegistry", .system, recovery: true),
            row(.appManager, "AppManager", .obsolete, recovery: false),
            row(.appFetch, "AppFetch", .system, recovery: false),
            row(.dataLogging, "DataLogging", .system, recovery: false),
            row(.runKeeper, "RunKeeper", .obsolete, recovery: false),
            row(.screenshot, "Screenshot", .system, recovery: false),
            row(.fileInstallManager, "FileInstallManager", .obsolete, recovery: false),
            row(.getBytes, "GetBytes", .system, recovery: true),
            row(.audioStream, "AudioStream", .system, recovery: false),
            row(.voiceControl, "VoiceControl", .system, recovery: false),
            row(.timelineAction, "TimelineAction", .system, recovery: false),
            row(.appOrder, "AppOrder", .system, recovery: false),
            row(.blobDB, "BlobDB", .system, recovery: false),
            row(.blobDB2, "BlobDB2", .system, recovery: false),
            row(.putBytes, "PutBytes", .system, recovery: true),
            row(.pollRemote, "PollRemote", .any, recovery: false),
            row(.xsbug, "Xsbug", .any, recovery: false),
            row(.remoteInput, "RemoteInput", .system, recovery: true),
        ]
        return rows.sorted { $0.endpoint.rawValue < $1.endpoint.rawValue }
    }()
}

extension Endpoint: CustomStringConvertible {
    /// `AppMessage (0x0030)`, or only the number.
    public var description: String {
        var text: [UInt8] = []
        appendText(to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the description as UTF-8, for those who have a buffer for it.
    package func appendText(to text: inout [UInt8]) {
        if let definition { text += definition.text } else { text.append(text: number) }
    }

    private var number: String {
        let digits = String(rawValue, radix: 16, uppercase: true)
        return "0x" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}
