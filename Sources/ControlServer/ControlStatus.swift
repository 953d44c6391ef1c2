import BluetoothHCI
import BluetoothHost
import PebbleProtocol
import PebbleWatch

/// How the watch is doing, as programs are told.
public struct ControlStatus: Codable, Sendable, Equatable {
    /// A phone on a link.
    public struct Link: Codable, Sendable, Equatable {
        public let connection: Int
        public let phone: String
        public let isEncrypted: Bool
        public let isAuthenticated: Bool
        public let isBonded: Bool
        public let mtu: Int
        /// Which of the phone's own services the watch uses: `notifications`, `media`, `time`.
        public let services: [String]
    }

    /// A companion's session.
    public struct Session: Codable, Sendable, Equatable {
        public let session: UInt64
        public let kind: String
        public let transport: String
        public let app: String
    }

    /// A stream that phones can open.
    public struct Stream: Codable, Sendable, Equatable {
        public let stream: String
        public let psm: Int
    }

    /// A phone that is remembered.
    public struct Phone: Codable, Sendable, Equatable {
        public let phone: String
        public let isConnected: Bool
        public let isStored: Bool
        public let isAuthenticated: Bool
    }

    /// How the last link ended that did.
    public struct Disconnection: Codable, Sendable, Equatable {
        public let phone: String
        /// The controller's, in words of the Core Specification.
        public let reason: String
        /// Why the watch wanted it; nothing if it did not.
        public let cause: String?
        /// How long ago that was, and how long the link had lasted.
        public let secondsAgo: Double
        public let linkSeconds: Double
        /// What the watch did about it.
        public let remedy: String
        /// How long the phone was away; nothing while it is.
        public let absenceSeconds: Double?
    }

    /// A pairing that waits for a person.
    public struct Waiting: Codable, Sendable, Equatable {
        public let connection: Int
        public let phone: String
        /// `confirm`: may it pair? `compare`: does it show this number? `show`: this number is to be typed there.
        /// `type`: which number does it show?
        public let question: String
        public let number: String?
    }

    /// Who may pair.
    public struct Pairing: Codable, Sendable, Equatable {
        /// `open`, `auto`, `button` or `reject`.
        public let mode: String
        public let isBondable: Bool
        /// Whether a phone may pair now that has not proved who it is: at once, or if a person says yes.
        public let isOpen: Bool
        /// How long the window that somebody opened stays open.
        public let windowSeconds: Double?
        public let waiting: [Waiting]
        /// The phone that was refused last; none once one has paired, or pairing was opened.
        public let refused: Refused?
    }

    /// A phone that was refused.
    public struct Refused: Codable, Sendable, Equatable {
        public let phone: String
        /// `closed`, `key-lost`, `weaker` or `rejected`.
        public let reason: String
        public let secondsAgo: Double
        /// What happened, in words.
        public let text: String
        /// What to do if the phone is to be let in.
        public let advice: String
    }

    /// An advertisement that is on the air, or has its turns there.
    public struct Advertisement: Codable, Sendable, Equatable {
        /// `discovery`, `reconnection` or `beacon`.
        public let role: String
        public let intervalMilliseconds: Double
        public let address: String
        /// AD structures, in hexadecimal; and of the scan response.
        public let data: String
        public let scanResponse: String
        /// Why the watch advertises at this interval.
        public let reason: String
        /// For how long it has.
        public let sinceSeconds: Double
        /// How much longer on the air it does; nothing for ever.
        public let remainingSeconds: Double?
        /// The interval that follows.
        public let nextIntervalMilliseconds: Double?
        /// How long it is on the air before something else has its turn; nothing if it does not share.
        public let turnSeconds: Double?
        /// `on-air`, `starting`, `waiting` for its turn, or `refused` by the controller.
        public let state: String
        /// Why the controller refused it.
        public let refusal: String?
    }

    /// The battery.
    public struct Battery: Codable, Sendable, Equatable {
        public let percent: Int
        public let isCharging: Bool
    }

    /// The app that runs.
    public struct App: Codable, Sendable, Equatable {
        public let uuid: String
        public let name: String
    }

    /// What other sensors said last.
    public struct Sensors: Codable, Sendable, Equatable {
        public let taps: Int
        public let lastTap: String?
        public let compassDegrees: Double?
        public let acceleration: [Int]?
        public let is24Hour: Bool
        public let showsTimelinePeek: Bool
        public let contentSize: Int
        /// What apps are told of the phone, if somebody has said so.
        public let phoneConnection: Bool?
        public let heartRate: Int?
    }

    public let name: String
    public let address: String
    public let serialNumber: String
    public let firmware: String
    public let isReady: Bool
    /// What is on the air, in words.
    public let air: String
    public let advertisements: [Advertisement]
    public let links: [Link]
    /// Nothing before a link has ended.
    public let lastDisconnection: Disconnection?
    /// Nothing before a stranger's link has ended while a bonded phone was waited for.
    public let lastStranger: Disconnection?
    /// How many strangers were turned away as soon as they had connected.
    public let strangersTurnedAway: Int
    public let sessions: [Session]
    public let streams: [Stream]
    public let phones: [Phone]
    public let pairing: Pairing
    public let app: App
    public let battery: Battery
    public let sensors: Sensors
    public let heldButtons: [String]
    public let services: ControlServices
    /// Of the process; nothing if it is not known which that is.
    public internal(set) var pid: Int?
    /// Cairn's.
    public internal(set) var version: String?
    public internal(set) var controller: String?
    /// How long the process has run.
    public internal(set) var uptimeSeconds: Double?
    public internal(set) var ports: Ports?
    public internal(set) var paths: Paths?
    public internal(set) var events: Events?
}

extension ControlStatus {
    /// The same for programs.
    init(_ status: WatchStatus, at now: Duration) {
        name = status.identity.name
        address = status.identity.address.address.description
        serialNumber = status.identity.serialNumber
        firmware = status.identity.firmware.description
        isReady = status.isReady
        air = "\(status.onAir)"
        advertisements = status.onAir.entries.map { Advertisement($0, at: now) }
        links = status.links.map { link in
            Link(
                connection: Int(link.connection.rawValue),
                phone: link.phone.address.description,
                isEncrypted: link.security.isEncrypted,
                isAuthenticated: link.security.isAuthenticated,
                isBonded: link.security.isBonded,
                mtu: link.mtu,
                services: link.services.map(\.rawValue)
            )
        }
        lastDisconnection = status.lastDisconnection.map { Disconnection($0, at: now) }
        lastStranger = status.lastStranger.map { Disconnection($0, at: now) }
        strangersTurnedAway = status.strangersTurnedAway
        sessions = status.sessions.map { session in
            Session(
                session: session.id.number,
                kind: "\(session.kind)",
                transport: "\(session.transport)",
                app: "\(session.application)"
            )
        }
        streams = status.streams.sorted { $0.key.rawValue < $1.key.rawValue }.map { stream, psm in
            Stream(stream: stream.rawValue, psm: Int(psm.rawValue))
        }
        phones = status.phones.map { phone in
            Phone(
                phone: phone.identity.address.description,
                isConnected: phone.isConnected,
                isStored: phone.isStored,
                isAuthenticated: phone.isAuthenticated
            )
        }
        pairing = Pairing(status.pairing, at: now)
        app = App(uuid: "\(status.runningApp.uuid)", name: status.runningApp.name)
        battery = Battery(percent: Int(status.sensors.batteryPercent), isCharging: status.sensors.isCharging)
        sensors = Sensors(status.sensors)
        heldButtons = WatchButton.allCases.filter(status.heldButtons.contains).map(\.rawValue)
        services = ControlServices(status.services)
    }
}

extension ControlStatus.Advertisement {
    init(_ entry: OnAir.Entry, at now: Duration) {
        role = entry.role.rawValue
        intervalMilliseconds = entry.interval.duration / .milliseconds(1)
        address = entry.address.address.description
        data = entry.data.hexadecimal
        scanResponse = entry.scanResponse.hexadecimal
        reason = "\(entry.reason)"
        sinceSeconds = max(0, (now - entry.since).inSeconds)
        remainingSeconds = entry.remaining.map(\.inSeconds)
        nextIntervalMilliseconds = entry.next.map { $0.duration / .milliseconds(1) }
        turnSeconds = entry.turn.map(\.inSeconds)
        state =
            switch entry.state {
            case .onAir: "on-air"
            case .starting: "starting"
            case .waitingForTurn: "waiting"
            case .refused: "refused"
            }
        refusal = if case .refused(let status) = entry.state { "\(status)" } else { nil }
    }
}

extension ControlStatus.Disconnection {
    fileprivate init(_ disconnection: PebbleWatch.Disconnection, at now: Duration) {
        phone = disconnection.phone.address.description
        reason = "\(disconnection.reason)"
        cause = disconnection.cause.map { "\($0)" }
        secondsAgo = max(0, (now - disconnection.time).inSeconds)
        linkSeconds = disconnection.linkDuration.inSeconds
        remedy = "\(disconnection.remedy)"
        absenceSeconds = disconnection.absence?.inSeconds
    }
}

extension ControlStatus.Pairing {
    fileprivate init(_ pairing: WatchStatus.Pairing, at now: Duration) {
        mode = pairing.policy.mode.rawValue
        isBondable = pairing.isBondable
        isOpen = pairing.isOpen
        windowSeconds = pairing.windowEnd.map { max(0, ($0 - now).inSeconds) }
        waiting = pairing.waiting.map { waiting in
            ControlStatus.Waiting(
                connection: Int(waiting.connection.rawValue),
                phone: waiting.phone.address.description,
                question: waiting.question.name,
                number: waiting.question.number
            )
        }
        refused = pairing.refused.map { refused in
            ControlStatus.Refused(
                phone: refused.phone.address.description,
                reason: refused.reason.rawValue,
                secondsAgo: max(0, (now - refused.time).inSeconds),
                text: refused.description,
                advice: refused.advice
            )
        }
    }
}

extension ControlStatus.Sensors {
    fileprivate init(_ sensors: WatchSensors) {
        taps = sensors.tapCount
        lastTap = sensors.lastTap.map { "\($0.axis)\($0.direction < 0 ? "-" : "+")" }
        compassDegrees = sensors.heading.map { Double($0.angle) * 360 / 0x10000 }
        acceleration = sensors.acceleration.map { [Int($0.x), Int($0.y), Int($0.z)] }
        is24Hour = sensors.is24HourStyle
        showsTimelinePeek = sensors.showsTimelinePeek
        contentSize = Int(sensors.contentSize)
        phoneConnection = sensors.phoneConnectionOverride
        heartRate = sensors.heartRate.map { Int($0.beatsPerMinute) }
    }
}

extension PairingPrompt.Kind {
    /// The question by name.
    var name: String {
        switch self {
        case .confirmPairing: "confirm"
        case .numericComparison: "compare"
        case .displayPasskey: "show"
        case .requestPasskey: "type"
        }
    }

    /// What the watch's screen shows with it.
    var number: String? {
        switch self {
        case .confirmPairing, .requestPasskey: nil
        case .numericComparison(let value): value.digits
        case .displayPasskey(let passkey): passkey.digits
        }
    }
}

extension ControlStatus {
    /// As one line of JSON.
    public var json: String { String(decoding: JSONLine.bytes(self).dropLast(), as: UTF8.self) }
}
