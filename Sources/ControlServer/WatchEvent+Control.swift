import BluetoothHCI
import BluetoothHost
import ByteCoding
import PebbleProtocol
import PebbleWatch

extension WatchEvent {
    /// What programs call the event, and what they are told of it; nil for what only matters to a person who looks for a fault.
    func control(at now: Duration) -> (ControlEventName, ControlFields)? {
        switch self {
        case .started(let capabilities): (.started, capabilities.controlFields)
        case .failed(let failure): (.failed, failure.controlFields)
        case .advertising(let onAir): (.advertising, onAir.controlFields(at: now))
        case .connected(let connection, let phone):
            (.connected, ["connection": .of(connection)].adding(phone))
        case .disconnected(let connection, let reason):
            (.disconnected, ["connection": .of(connection)].adding(reason))
        case .recovery(let event): (event.controlName, event.controlFields)
        case .pairable(let isOpen): (.pairable, ["isOpen": .flag(isOpen)])
        case .pairingPrompt(let prompt):
            (
                .pairingWaits,
                [
                    "connection": .of(prompt.id.connection), "question": .text(prompt.kind.name),
                    "number": prompt.kind.number.map { .text($0) },
                ]
            )
        case .paired(let connection, let summary):
            (.paired, ["connection": .of(connection)].merging(summary.controlFields) { $1 })
        case .keyReplaced(let connection, let phone):
            (.keyReplaced, ["connection": .of(connection)].adding(phone))
        case .pairingRefused(let connection, let refused):
            (
                .pairingRefused,
                [
                    "connection": .of(connection), "reason": .text(refused.reason.rawValue),
                    "advice": .text(refused.advice),
                ].adding(refused.phone)
            )
        case .pairingFailed(let connection, let failure):
            (.pairingFailed, ["connection": .of(connection), "reason": .text("\(failure)")])
        case .forgotten(let phone): (.forgotten, [:].adding(phone))
        case .securityChanged(let connection, let security):
            (
                .security,
                [
                    "connection": .of(connection), "isEncrypted": .flag(security.isEncrypted),
                    "isAuthenticated": .flag(security.isAuthenticated), "isBonded": .flag(security.isBonded),
                    "keySize": .integer(security.keySize),
                ]
            )
        case .link(let connection, let event):
            (.link, ["connection": .of(connection)].merging(event.controlFields) { $1 })
        case .phoneService(let connection, let event):
            (.phoneService, ["connection": .of(connection)].merging(event.controlFields) { $1 })
        case .streamPublished(let stream, let psm?):
            (.streamPublished, ["stream": .text(stream.rawValue), "psm": .integer(psm.rawValue)])
        case .streamPublished(let stream, nil): (.streamWithdrawn, ["stream": .text(stream.rawValue)])
        case .streamOpened(let connection, let stream):
            (.streamOpened, ["connection": .of(connection), "stream": .text(stream.rawValue)])
        case .streamClosed(let connection, let stream, let closure):
            (
                .streamClosed,
                [
                    "connection": .of(connection), "stream": .text(stream.rawValue), "reason": .text("\(closure)"),
                ]
            )
        case .sessionOpened(let session, let kind, let transport):
            (
                .sessionOpened,
                [
                    "session": .integer(session.number), "kind": .text("\(kind)"), "transport": .text("\(transport)"),
                ]
            )
        case .sessionMoved(let session, let transport):
            (.sessionMoved, ["session": .integer(session.number), "transport": .text("\(transport)")])
        case .sessionClosed(let session, let reason):
            (.sessionClosed, ["session": .integer(session.number), "reason": .text(reason)])
        case .message(let session, let direction, let message):
            (
                .message,
                [
                    "session": .integer(session.number), "fromPhone": .flag(direction == .fromPhone),
                    "endpoint": .integer(message.endpoint.rawValue), "name": .text("\(message.endpoint)"),
                    "length": .integer(message.payload.count),
                ]
            )
        case .appLaunched(let app, let name): (.appLaunched, ["app": .text("\(app)"), "name": .text(name)])
        case .appMessageReceived(let app, let dictionary):
            (.appMessageReceived, ["app": .text("\(app)"), "entries": .of(dictionary)])
        case .appMessageSent(let app, let dictionary, let result):
            (
                .appMessageSent,
                ["app": .text("\(app)"), "entries": .of(dictionary), "result": .text("\(result)")]
            )
        case .appLogged(let record): (.appLogged, record.controlFields)
        case .clockSet(let clock):
            (
                .clockSet,
                [
                    "seconds": .integer(clock.seconds(at: now)), "zone": clock.zone.map { .text($0.name) },
                    "offsetMinutes": clock.zone.map { .integer($0.offsetMinutes) },
                ]
            )
        case .service(let event): (.service, event.controlFields)
        case .restarting(let cause): (.restarting, ["cause": .text(cause.controlName)])
        case .buttonPressed(let button, let press):
            (.button, ["button": .text(button.rawValue), "isLong": .flag(press == .long)])
        case .sensed(let reading): (.sensed, reading.controlFields)
        case .diagnostic: nil
        }
    }
}

extension ControlFields {
    /// An address, and of which type it is.
    func adding(_ phone: LEAddress?) -> ControlFields {
        guard let phone else { return self }
        return merging(["phone": .text("\(phone.address)"), "addressType": .text("\(phone.type)")]) { $1 }
    }

    /// Why, in words, and the controller's code.
    func adding(_ reason: HCIStatus) -> ControlFields {
        merging(["reason": .text("\(reason)"), "status": .integer(reason.rawValue)]) { $1 }
    }
}

extension ControlValue {
    static func of(_ connection: ConnectionHandle) -> ControlValue { .integer(connection.rawValue) }

    static func of(_ dictionary: AppMessageDictionary) -> ControlValue {
        .list(dictionary.map { .of(ControlEntry($0)) })
    }

    private static func of(_ entry: ControlEntry) -> ControlValue {
        var fields: [String: ControlValue] = ["key": .integer(entry.key), "type": .text(entry.type)]
        fields["number"] = entry.number.map { .integer($0) }
        fields["string"] = entry.string.map { .text($0) }
        fields["bytes"] = entry.bytes.map { .text($0) }
        return .object(fields)
    }
}

extension PairingSummary {
    fileprivate var controlFields: ControlFields {
        let model: (name: String, displayedBy: PairingRole?) =
            switch self.model {
            case .justWorks: ("just-works", nil)
            case .numericComparison: ("numeric-comparison", nil)
            case .passkeyEntry(let displayedBy): ("passkey-entry", displayedBy)
            case .outOfBand: ("out-of-band", nil)
            }
        let fields: ControlFields = [
            "isAuthenticated": .flag(isAuthenticated), "isBonded": .flag(bondedIdentity != nil),
            "usesSecureConnections": .flag(usesSecureConnections), "model": .text(model.name),
            "displayedBy": model.displayedBy.map { .text("\($0)") }, "keySize": .integer(keySize.octets),
        ]
        return fields.adding(bondedIdentity)
    }
}

extension PhoneServiceEvent {
    fileprivate var controlFields: ControlFields {
        switch self {
        case .began(let service): ["name": .text(service.rawValue), "result": .text("began")]
        case .ended(let service): ["name": .text(service.rawValue), "result": .text("ended")]
        case .problem(let problem):
            [
                "name": .text(problem.service.rawValue), "result": .text("problem"),
                "reason": .text(problem.description),
            ]
        }
    }
}

extension AppLogRecord {
    fileprivate var controlFields: ControlFields {
        [
            "app": .text("\(application)"), "level": .text(line.level.controlName), "file": .text(line.file),
            "line": .integer(line.line), "message": .text(line.message),
        ]
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
