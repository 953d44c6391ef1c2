import BluetoothHCI
import BluetoothHost
import PebbleProtocol

// How the phone comes by a connection, and what it does when it loses it.

extension CompanionPhone.Activity {
    /// When `advanceActivity(to:)` has something to do.
    func nextDeadline(of link: WatchLink?) -> Duration? {
        switch self {
        case .idle: nil
        case .scanning(let scanner): scanner.nextDeadline
        case .connecting(_, let givesUpAt): givesUpAt
        case .pausing(_, let until): until
        case .connected:
            [link?.transport?.nextDeadline, link?.session?.nextDeadline].compactMap { $0 }.min()
        }
    }
}

extension CompanionPhone {
    mutating func handle(_ event: LEHostEvent, at now: Duration) {
        switch event {
        case .ready:
            emit(.ready)
            if case .idle = activity, !isLeaving, configuration.searchesByItself { startScanning(at: now) }
        case .restarting(let reason):
            // All state of the controller is forgotten; `ready` starts again.
            activity = .idle
            emit(.controllerLost("\(reason); it is started again"))
        case .controllerLost:
            activity = .idle
            emit(.controllerLost("it is out of reach"))
        case .failed(let failure):
            emit(.failed("\(failure)"))
        case .advertisingReport(let report):
            heard(report, at: now)
        case .scanningFailed(let status):
            log(.error, .gap, "scanning could not be started: \(status)")
        case .connected(let connection):
            connected(connection, at: now)
        case .connectionFailed(let peer, let status):
            connectionFailed(peer, status, at: now)
        case .disconnected(let handle, let reason):
            disconnected(handle, reason, at: now)
        case .parametersUpdated(let handle):
            parametersUpdated(handle)
        case .securityChanged(let handle, let security) where handle == link?.handle:
            securityChanged(security, at: now)
        case .security(let event):
            self.handle(event, at: now)
        case .gatt(let event):
            self.handle(event, at: now)
        case .channel(let event):
            self.handle(event, at: now)
        case .notice(let notice):
            emit(.diagnostic(.notice(notice)))
        default:
            break
        }
    }

    mutating func startScanning(at now: Duration) {
        activity = .scanning(WatchScanner(selection))
        host.startScanning(
            ScanParameters(interval: configuration.scanInterval, window: configuration.scanWindow),
            at: now
        )
        emit(.scanning)
    }

    private mutating func heard(_ report: AdvertisingReport, at now: Duration) {
        guard let address = report.address else { return }
        let data = AdvertisingData(parsing: report.data)
        if var survey {
            let before = survey.sightings.count
            survey.receive(from: address, data, rssiDBm: report.rssiDBm, at: now)
            self.survey = survey
            if survey.sightings.count > before, let sighting = survey.sighting(of: address) {
                emit(.watchHeard(sighting))
            }
        }
        guard case .scanning(var scanner) = activity else { return }
        scanner.receive(from: address, data, rssiDBm: report.rssiDBm, at: now)
        activity = .scanning(scanner)
        connectToFound(scanner, at: now)
    }

    private mutating func connectToFound(_ scanner: WatchScanner, at now: Duration) {
        guard let found = scanner.found(at: now) else { return }
        host.stopScanning(at: now)
        emit(.watchFound(found))
        beginConnecting(to: found.address, at: now)
    }

    mutating func beginConnecting(to watch: LEAddress, at now: Duration) {
        activity = .connecting(watch, givesUpAt: now + Self.connectTimeout)
        host.connect(to: watch, configuration.connectionParameters, at: now)
        emit(.connecting(watch))
    }

    private mutating func connected(_ connection: Connection, at now: Duration) {
        link = WatchLink(connection, knowing: connection.security.isBonded ? knownWatch : nil)
        activity = .connected
        emit(.connected(connection.peer))
        guard !isLeaving else {
            // The user changed their mind while the controller was connecting.
            return host.disconnect(connection.handle, reason: .remoteUserTerminatedConnection, at: now)
        }
        secureKnownWatch(at: now)
    }

    private mutating func connectionFailed(_ peer: LEAddress, _ status: HCIStatus, at now: Duration) {
        emit(.connectionFailed(peer, status))
        comeBack(to: peer, at: now)
    }

    private mutating func disconnected(_ handle: ConnectionHandle, _ reason: HCIStatus, at now: Duration) {
        guard let lost = link, lost.handle == handle else { return }
        closeTransport(reason: "the connection is gone", at: now)
        link = nil
        emit(.disconnected(reason: reason))
        comeBack(to: lost.peer, at: now)
    }

    private mutating func comeBack(to watch: LEAddress, at now: Duration) {
        if let delay = configuration.reconnectDelay, !isLeaving {
            activity = .pausing(watch, until: now + delay)
        } else {
            activity = .idle
        }
    }

    private mutating func parametersUpdated(_ handle: ConnectionHandle) {
        guard handle == link?.handle, let connection = host.connection(handle) else { return }
        emit(
            .linkParametersChanged(
                connection.interval,
                latency: connection.latency,
                connection.supervisionTimeout
            )
        )
    }

    mutating func advanceActivity(to now: Duration) {
        switch activity {
        case .idle: break
        case .scanning(let scanner): connectToFound(scanner, at: now)
        case .connecting(let watch, let givesUpAt):
            guard givesUpAt <= now else { return }
            host.cancelConnecting(at: now)
            // The host reports the end of the attempt; should it not, the phone does not wait for it for ever.
            activity = .connecting(watch, givesUpAt: now + Self.connectTimeout)
        case .pausing(let watch, let until):
            guard until <= now else { return }
            beginConnecting(to: watch, at: now)
        case .connected:
            link?.transport?.advance(to: now)
            link?.session?.advance(to: now)
        }
    }
}
