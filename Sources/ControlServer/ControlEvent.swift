import BluetoothHCI
import BluetoothHost
import ByteCoding
import Foundation
import PebbleProtocol
import PebbleWatch

/// Something that happened on the watch, as programs are told: one JSON object on one line, whose `event` says what.
public struct ControlEvent: Encodable, Sendable {
    /// What happened.
    public let event: String
    /// When: seconds since the watch was started.
    public let at: Double
    /// The same in words.
    public let text: String
    public var connection: Int?
    public var phone: String?
    public var reason: String?
    public var question: String?
    public var number: String?
    public var isOpen: Bool?
    public var isEncrypted: Bool?
    public var isAuthenticated: Bool?
    public var isBonded: Bool?
    public var button: String?
    public var isLong: Bool?
    public var session: UInt64?
    public var kind: String?
    public var transport: String?
    public var stream: String?
    /// Of a stream; none when it is withdrawn.
    public var psm: Int?
    public var fromPhone: Bool?
    public var endpoint: Int?
    public var length: Int?
    public var app: String?
    public var name: String?
    public var entries: [ControlEntry]?
    public var result: String?

    private init(_ event: String, _ text: String, at now: Duration) {
        self.event = event
        self.text = text
        at = now.inSeconds
    }

    /// That events were lost, because the program did not read them.
    static func lost(_ count: Int, at now: Duration) -> ControlEvent {
        ControlEvent("lost", "\(count) events were lost: they were not read in time", at: now)
    }

    /// The event for programs; nil for what only matters to whoever looks for a fault.
    /// - Parameter text: the event in words.
    public init?(_ event: WatchEvent, text: String, at now: Duration) {
        switch event {
        case .started: self.init("started", text, at: now)
        case .failed: self.init("failed", text, at: now)
        case .advertising: self.init("advertising", text, at: now)
        case .connected(let connection, let phone):
            self.init("connected", text, at: now)
            self.connection = Int(connection.rawValue)
            self.phone = phone.address.description
        case .disconnected(let connection, let reason):
            self.init("disconnected", text, at: now)
            self.connection = Int(connection.rawValue)
            self.reason = "\(reason)"
        case .recovery(let event):
            self.init(event.name, text, at: now)
            phone = event.phone?.address.description
            reason = event.reason
            connection = event.connection.map { Int($0.rawValue) }
        case .pairable(let isOpen):
            self.init("pairable", text, at: now)
            self.isOpen = isOpen
        case .pairingPrompt(let prompt):
            self.init("pairing-waits", text, at: now)
            connection = Int(prompt.id.connection.rawValue)
            question = prompt.kind.name
            number = prompt.kind.number
        case .paired(let connection, let summary):
            self.init("paired", text, at: now)
            self.connection = Int(connection.rawValue)
            phone = summary.bondedIdentity?.address.description
            isAuthenticated = summary.isAuthenticated
        case .pairingFailed(let connection, let failure):
            self.init("pairing-failed", text, at: now)
            self.connection = Int(connection.rawValue)
            reason = "\(failure)"
        case .forgotten(let phone):
            self.init("forgotten", text, at: now)
            self.phone = phone.address.description
        case .securityChanged(let connection, let security):
            self.init("security", text, at: now)
            self.connection = Int(connection.rawValue)
            isEncrypted = security.isEncrypted
            isAuthenticated = security.isAuthenticated
            isBonded = security.isBonded
        case .buttonPressed(let button, let press):
            self.init("button", text, at: now)
            self.button = button.rawValue
            isLong = press == .long
        case .sensed: self.init("sensed", text, at: now)
        case .sessionOpened(let session, let kind, let transport):
            self.init("session-opened", text, at: now)
            self.session = session.number
            self.kind = "\(kind)"
            self.transport = "\(transport)"
        case .sessionMoved(let session, let transport):
            self.init("session-moved", text, at: now)
            self.session = session.number
            self.transport = "\(transport)"
        case .sessionClosed(let session, let reason):
            self.init("session-closed", text, at: now)
            self.session = session.number
            self.reason = reason
        case .message(let session, let direction, let message):
            self.init("message", text, at: now)
            self.session = session.number
            fromPhone = direction == .fromPhone
            endpoint = Int(message.endpoint.rawValue)
            length = message.payload.count
        case .appLaunched(let app, let name):
            self.init("app-launched", text, at: now)
            self.app = "\(app)"
            self.name = name
        case .appMessageReceived(let app, let dictionary):
            self.init("app-message-received", text, at: now)
            self.app = "\(app)"
            entries = dictionary.map(ControlEntry.init)
        case .appMessageSent(let app, let dictionary, let result):
            self.init("app-message-sent", text, at: now)
            self.app = "\(app)"
            entries = dictionary.map(ControlEntry.init)
            self.result = "\(result)"
        case .appLogged: self.init("app-logged", text, at: now)
        case .clockSet: self.init("clock-set", text, at: now)
        case .link(let connection, _):
            self.init("link", text, at: now)
            self.connection = Int(connection.rawValue)
        case .phoneService(let connection, let event):
            self.init("phone-service", text, at: now)
            self.connection = Int(connection.rawValue)
            switch event {
            case .began(let service):
                name = service.rawValue
                result = "began"
            case .ended(let service):
                name = service.rawValue
                result = "ended"
            case .problem(let problem):
                name = problem.service.rawValue
                result = "problem"
                reason = problem.description
            }
        case .streamPublished(let stream, let psm):
            self.init("stream-published", text, at: now)
            self.stream = stream.rawValue
            self.psm = psm.map { Int($0.rawValue) }
        case .streamOpened(let connection, let stream):
            self.init("stream-opened", text, at: now)
            self.connection = Int(connection.rawValue)
            self.stream = stream.rawValue
        case .streamClosed(let connection, let stream, let closure):
            self.init("stream-closed", text, at: now)
            self.connection = Int(connection.rawValue)
            self.stream = stream.rawValue
            reason = "\(closure)"
        case .service: self.init("service", text, at: now)
        case .restarting: self.init("restarting", text, at: now)
        case .diagnostic: return nil
        }
    }

    /// The event as a line.
    public var line: [UInt8] { JSONLine.bytes(self) }
}

extension RecoveryEvent {
    /// What programs call it.
    fileprivate var name: String {
        switch self {
        case .linkEnded: "link-ended"
        case .phoneIsBack: "phone-back"
        case .controllerRestarting: "controller-restarting"
        case .controllerLost: "controller-lost"
        case .transportGivenUp: "transport-given-up"
        case .transportStalled: "transport-stalled"
        case .churning(true): "churning"
        case .churning(false): "churned"
        }
    }

    fileprivate var phone: LEAddress? {
        switch self {
        case .linkEnded(let disconnection): disconnection.phone
        case .phoneIsBack(let phone, _): phone
        default: nil
        }
    }

    fileprivate var reason: String? {
        switch self {
        case .linkEnded(let disconnection): "\(disconnection.reason)"
        case .controllerRestarting(let reason): "\(reason)"
        case .transportGivenUp(_, let reason): "\(reason)"
        default: nil
        }
    }

    fileprivate var connection: ConnectionHandle? {
        switch self {
        case .transportGivenUp(let connection, _), .transportStalled(let connection): connection
        default: nil
        }
    }
}

/// What every event's line has: when, and what in words.
public struct ControlEventLine: Decodable, Sendable {
    public let event: String
    public let at: Double
    public let text: String

    /// Reads a line; nil if it is no event.
    public init?(parsing line: some Sequence<UInt8>) {
        guard let event = try? JSONDecoder().decode(Self.self, from: Data(line)) else { return nil }
        self = event
    }
}
