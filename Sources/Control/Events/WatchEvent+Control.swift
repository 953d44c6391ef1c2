import BluetoothHCI
import BluetoothHost
import PebbleProtocol
import PebbleWatch

extension WatchEvent {
    /// Whether programs know the event by this name.
    package func isCalled(_ name: ControlEventName) -> Bool { control(at: .zero)?.name == name }

    /// What programs get of the event; nil for what only matters to a person who looks for a fault.
    func control(at now: Duration) -> ControlEventFields? {
        switch self {
        case .started(let capabilities): .init(.started, ControlEvents.Started(capabilities))
        case .failed(let failure): .init(.failed, ControlEvents.Failed(failure))
        case .advertising(let onAir): .init(.advertising, ControlEvents.Advertising(onAir, at: now))
        case .connected(let connection, let phone):
            .init(.connected, ControlEvents.PhoneOnLink(connection: Int(connection.rawValue), phone: .init(phone)))
        case .disconnected(let connection, let reason):
            .init(.disconnected, ControlEvents.OnLink(connection, ControlEvents.Reason(reason)))
        case .recovery(let event): event.control
        case .pairable(let isOpen): .init(.pairable, ControlEvents.Pairable(isOpen: isOpen))
        case .pairingPrompt(let prompt): .init(.pairingWaits, ControlEvents.PairingWaits(prompt))
        case .paired(let connection, let summary): .init(.paired, ControlEvents.Paired(connection, summary))
        case .keyReplaced(let connection, let phone):
            .init(.keyReplaced, ControlEvents.PhoneOnLink(connection: Int(connection.rawValue), phone: .init(phone)))
        case .pairingRefused(let connection, let refused):
            .init(.pairingRefused, ControlEvents.PairingRefused(connection, refused))
        case .pairingFailed(let connection, let failure):
            .init(
                .pairingFailed,
                ControlEvents.ReasonOnLink(connection: Int(connection.rawValue), reason: "\(failure)")
            )
        case .forgotten(let phone): .init(.forgotten, ControlEvents.Phone(phone))
        case .securityChanged(let connection, let security):
            .init(.security, ControlEvents.Security(connection, security))
        case .link(let connection, let event): event.control(of: connection)
        case .phoneService(let connection, let event):
            .init(.phoneService, ControlEvents.PhoneService(connection, event))
        case .streamPublished(let stream, let psm?):
            .init(
                .streamPublished,
                ControlEvents.StreamPublished(stream: .init(stream: stream), psm: Int(psm.rawValue))
            )
        case .streamPublished(let stream, nil): .init(.streamWithdrawn, ControlEvents.Stream(stream: stream))
        case .streamOpened(let connection, let stream):
            .init(.streamOpened, ControlEvents.OnLink(connection, ControlEvents.Stream(stream: stream)))
        case .streamClosed(let connection, let stream, let closure):
            .init(
                .streamClosed,
                ControlEvents.StreamClosed(
                    connection: Int(connection.rawValue),
                    stream: .init(stream: stream),
                    reason: "\(closure)"
                )
            )
        case .sessionOpened(let session, let kind, let transport):
            .init(
                .sessionOpened,
                ControlEvents.SessionOpened(session: session.number, kind: "\(kind)", transport: "\(transport)")
            )
        case .sessionMoved(let session, let transport):
            .init(
                .sessionMoved,
                ControlEvents.SessionMoved(session: session.number, transport: "\(transport)")
            )
        case .sessionClosed(let session, let reason):
            .init(.sessionClosed, ControlEvents.SessionClosed(session: session.number, reason: reason))
        case .message, .appMessageReceived, .appMessageSent: frequent?.fields
        case .appLaunched(let app, let name):
            .init(.appLaunched, ControlEvents.AppLaunched(app: "\(app)", name: name))
        case .appLogged(let record): .init(.appLogged, ControlEvents.AppLogged(record))
        case .clockSet(let clock):
            .init(.clockSet, ControlEvents.ClockSet(clock, at: now))
        case .service(let event): event.control
        case .restarting(let cause): .init(.restarting, ControlEvents.Restarting(cause: cause.controlName))
        case .buttonPressed(let button, let press):
            .init(.button, ControlEvents.Button(button: button, isLong: press == .long))
        case .sensed(let reading): reading.control
        case .fault(let firing): .init(.fault, ControlEvents.Fault(firing))
        case .mirrorDiffers(let difference): .init(.mirrorDiffers, ControlEvents.MirrorDiffers(difference))
        case .diagnostic: nil
        }
    }
}

extension ControlEvents.PairingWaits {
    fileprivate init(_ prompt: PairingPrompt) {
        self.init(
            connection: Int(prompt.id.connection.rawValue),
            question: prompt.kind.name,
            number: prompt.kind.number
        )
    }
}

extension ControlEvents.Paired {
    fileprivate init(_ connection: ConnectionHandle, _ summary: PairingSummary) {
        let model: (name: String, displayedBy: PairingRole?) =
            switch summary.model {
            case .justWorks: ("just-works", nil)
            case .numericComparison: ("numeric-comparison", nil)
            case .passkeyEntry(let displayedBy): ("passkey-entry", displayedBy)
            case .outOfBand: ("out-of-band", nil)
            }
        self.init(
            connection: Int(connection.rawValue),
            model: model.name,
            displayedBy: model.displayedBy.map { "\($0)" },
            usesSecureConnections: summary.usesSecureConnections,
            isAuthenticated: summary.isAuthenticated,
            isBonded: summary.bondedIdentity != nil,
            keySize: Int(summary.keySize.octets),
            phone: summary.bondedIdentity.map { "\($0.address)" },
            addressType: summary.bondedIdentity.map { "\($0.type)" }
        )
    }
}

extension ControlEvents.PairingRefused {
    fileprivate init(_ connection: ConnectionHandle, _ refused: RefusedPairing) {
        self.init(
            connection: Int(connection.rawValue),
            phone: .init(refused.phone),
            reason: refused.reason.rawValue,
            advice: refused.advice
        )
    }
}

extension ControlEvents.ClockSet {
    init(_ clock: WatchClock, at now: Duration) {
        self.init(
            seconds: Int(clock.seconds(at: now)),
            zone: clock.zone?.name,
            offsetMinutes: clock.zone.map { Int($0.offsetMinutes) }
        )
    }
}

extension ControlEvents.Security {
    init(_ connection: ConnectionHandle, _ security: LinkSecurity) {
        self.init(
            connection: Int(connection.rawValue),
            isEncrypted: security.isEncrypted,
            isAuthenticated: security.isAuthenticated,
            isBonded: security.isBonded,
            keySize: Int(security.keySize)
        )
    }
}

extension ControlEvents.PhoneService {
    fileprivate init(_ connection: ConnectionHandle, _ event: PhoneServiceEvent) {
        let connection = Int(connection.rawValue)
        switch event {
        case .began(let service):
            self.init(connection: connection, name: service.rawValue, result: "began")
        case .ended(let service):
            self.init(connection: connection, name: service.rawValue, result: "ended")
        case .problem(let problem):
            self.init(
                connection: connection,
                name: problem.service.rawValue,
                result: "problem",
                reason: problem.description
            )
        }
    }
}

extension ControlEvents.AppMessageReceived {
    init(_ app: PebbleUUID, _ dictionary: AppMessageDictionary) {
        self.init(app: "\(app)", entries: dictionary.map { ControlEntry($0) })
    }
}

extension ControlEvents.AppLogged {
    fileprivate init(_ record: AppLogRecord) {
        self.init(
            app: "\(record.application)",
            level: record.line.level.controlName,
            file: record.line.file,
            line: Int(record.line.line),
            message: record.line.message
        )
    }
}

extension LogLevel {
    /// The SDK's name for the level, or for the next that is more important.
    fileprivate var controlName: String {
        switch rawValue {
        case ..<LogLevel.error.rawValue: "always"
        case ..<LogLevel.warning.rawValue: "error"
        case ..<LogLevel.info.rawValue: "warning"
        case ..<LogLevel.debug.rawValue: "info"
        case ..<LogLevel.verbose.rawValue: "debug"
        default: "verbose"
        }
    }
}

extension RestartCause {
    var controlName: String {
        switch self {
        case .reboot: "reboot"
        case .coreDump: "core-dump"
        case .factoryReset: "factory-reset"
        case .recovery: "recovery"
        case .firmwareUpdate: "firmware-update"
        }
    }
}
