import BluetoothHCI
import BluetoothHost
import PebbleProtocol

// What the host reports, and which part of the phone it is for.

extension CompanionPhone {
    mutating func handle(_ event: LEHostEvent, at now: Duration) {
        switch event {
        case .ready:
            core.emit(.ready)
            connector.controllerStarted(&core, at: now)
        case .restarting(let reason):
            connector.controllerStopped()
            core.emit(.controllerLost("\(reason); it is started again"))
        case .controllerLost:
            connector.controllerStopped()
            core.emit(.controllerLost("it is out of reach"))
        case .failed(let failure):
            core.emit(.failed("\(failure)"))
        case .advertisingReport(let report):
            connector.receive(report, &core, at: now)
        case .scanningFailed(let status):
            core.log(.error, .gap, "scanning could not be started: \(status)")
        case .connected(let connection):
            connected(connection, at: now)
        case .connectionFailed(let peer, let status):
            core.emit(.connectionFailed(peer, status))
            connector.comeBack(to: peer, core, at: now)
        case .disconnected(let handle, let reason):
            disconnected(handle, reason, at: now)
        case .parametersUpdated(let handle):
            parametersUpdated(handle)
        case .securityChanged(let handle, let security) where handle == link?.handle:
            link?.securityChanged(security, &core, at: now)
        case .security(let event):
            self.handle(event, at: now)
        case .gatt(.pduIgnored(let connection, let pdu)):
            core.log(.warning, .att, "\(connection): \(pdu)")
        case .gatt(.requestRefused(let connection, let error)):
            core.log(.debug, .att, "\(connection): \(error)")
        case .gatt(let event):
            link?.receive(event, &core, at: now)
        case .channel(let event):
            link?.receive(event, &core, at: now)
        case .notice(let notice):
            core.emit(.diagnostic(.notice(notice)))
        default:
            break
        }
    }

    private mutating func connected(_ connection: Connection, at now: Duration) {
        link = WatchLink(connection, knowing: connection.security.isBonded ? core.knownWatch : nil)
        connector.connected()
        core.emit(.connected(connection.peer))
        guard !connector.isLeaving else {
            // The user changed their mind while the controller was connecting.
            return core.host.disconnect(connection.handle, reason: .remoteUserTerminatedConnection, at: now)
        }
        link?.encryptIfBonded(&core, at: now)
    }

    private mutating func disconnected(_ handle: ConnectionHandle, _ reason: HCIStatus, at now: Duration) {
        guard let lost = link?.peer, link?.handle == handle else { return }
        link?.closeTransport(reason: "the connection is gone", &core, at: now)
        link = nil
        core.emit(.disconnected(reason: reason))
        connector.comeBack(to: lost, core, at: now)
    }

    private mutating func parametersUpdated(_ handle: ConnectionHandle) {
        guard handle == link?.handle, let connection = core.host.connection(handle) else { return }
        core.emit(
            .linkParametersChanged(
                connection.interval,
                latency: connection.latency,
                connection.supervisionTimeout
            )
        )
    }

    private mutating func handle(_ event: SecurityEvent, at now: Duration) {
        switch event {
        case .prompt(let prompt) where core.configuration.pairing == .whenTold:
            if case .requestPasskey = prompt.kind {
                _ = core.host.security?.answer(prompt.id, with: .reject, at: now)
            } else {
                link?.pairing.question = prompt
            }
            core.emit(.pairingQuestion(prompt.kind))
        case .prompt(let prompt):
            core.emit(.pairingPrompt(prompt.kind))
            answer(prompt, at: now)
        case .bonded(_, let bond):
            if core.configuration.pairing == .whenTold {
                core.emit(.bonded(bond))
            } else {
                // It is kept for as long as the phone runs.
                core.host.security?.bondStored(bond.identity)
            }
        default:
            link?.receive(event, &core, at: now)
        }
    }

    /// The user says yes to each question.
    private mutating func answer(_ prompt: PairingPrompt, at now: Duration) {
        switch prompt.kind {
        case .confirmPairing, .numericComparison: _ = core.host.security?.answer(prompt.id, with: .accept, at: now)
        case .requestPasskey: _ = core.host.security?.answer(prompt.id, with: .reject, at: now)
        case .displayPasskey: break
        }
    }
}
