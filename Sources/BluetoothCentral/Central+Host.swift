import BluetoothHCI
import BluetoothHost
import DequeModule

/// What the host does, and what follows from it.
extension Central {
    mutating func settle(at now: Duration) {
        while true {
            beginConnecting(at: now)
            adjustScanning(at: now)
            guard let event = host.nextEvent() else { return }
            handle(event, at: now)
        }
    }

    /// One connection is made at a time.
    private mutating func beginConnecting(at now: Duration) {
        guard initiation == nil else { return }
        for request in requests {
            guard case .connect(let peer) = request.work else { continue }
            initiation = (peer, request.id)
            return host.connect(to: peer, configuration.connection, at: now)
        }
    }

    /// Scanning pauses while a connection is being made: not every controller can do both.
    private mutating func adjustScanning(at now: Duration) {
        let isWanted = initiation == nil && requests.contains { $0.work.needsScanning }
        guard isWanted != isScanning else { return }
        isScanning = isWanted
        if isWanted {
            results.removeAll()
            host.startScanning(configuration.scanning, at: now)
        } else {
            host.stopScanning(at: now)
        }
    }

    private mutating func handle(_ event: LEHostEvent, at now: Duration) {
        switch event {
        case .ready(let capabilities): events.append(.ready(capabilities))
        case .failed(let failure):
            self.failure = failure
            endAll(.failure(.controllerFailed(failure))) { _ in true }
            initiation?.request = nil
            host.cancelConnecting(at: now)
            events.append(.failed(failure))
        case .scanningFailed(let status):
            isScanning = false
            endAll(.failure(.scanningFailed(status))) { $0.needsScanning }
        case .advertisingReport(let report): heard(report)
        case .connected(let connection): connected(connection, at: now)
        case .connectionFailed(_, let status): connectionFailed(status)
        case .disconnected(let connection, let reason): disconnected(connection, reason)
        case .security(let event): handle(event, at: now)
        case .securityChanged(let connection, let security):
            guard security.isEncrypted else { return }
            endAll(.success(.secured(security))) { $0.isSecuring(connection) }
        case .gatt(let event): handle(event, at: now)
        case .notice(let notice): events.append(.notice(notice))
        // Nothing listens for channels here, so that no peer can open one.
        case .channel, .restarting, .controllerLost, .advertisingStarted, .advertisingFailed, .advertisingEnded,
            .advertisingNotStopped, .scanningStarted, .scanningEnded, .clientStateToKeep, .remoteFeaturesRead,
            .parametersUpdated, .parametersUpdateFailed, .phyUpdated, .dataLengthUpdated, .rssi:
            break
        }
    }

    private mutating func heard(_ report: AdvertisingReport) {
        guard isScanning, let result = results.receive(report) else { return }
        for request in requests {
            guard case .find(let isWanted) = request.work, isWanted(result) else { continue }
            end(request.id, .success(.found(result)))
        }
    }

    // MARK: Connections

    private mutating func connected(_ connection: Connection, at now: Duration) {
        let request = initiation?.request
        initiation = nil
        lastNumber += 1
        links[connection.handle] = Link(id: RemotePeripheral.ID(number: lastNumber))
        guard let index = requests.firstIndex(where: { $0.id == request }) else {
            // It was given up, and the peripheral was faster.
            return host.disconnect(connection.handle, at: now)
        }
        requests[index].work = .explore(connection.handle)
        explore(connection.handle, at: now)
    }

    private mutating func connectionFailed(_ status: HCIStatus) {
        let request = initiation?.request
        initiation = nil
        if let request { end(request, .failure(.connectionFailed(status))) }
    }

    private mutating func disconnected(_ connection: ConnectionHandle, _ reason: HCIStatus) {
        guard let link = links.removeValue(forKey: connection) else { return }
        for request in requests where request.work.connection == connection {
            if case .disconnect = request.work {
                end(request.id, .success(.disconnected))
            } else {
                end(request.id, .failure(.disconnected(reason)))
            }
        }
        if link.isReported { events.append(.disconnected(link.id, reason)) }
    }

    // MARK: Discovery and procedures

    private mutating func explore(_ connection: ConnectionHandle, at now: Duration) {
        guard let procedure = links[connection]?.exploration.nextProcedure() else { return explored(connection) }
        do throws(GATTError) {
            links[connection]?.step = try host.gatt.start(procedure, on: connection, at: now)
        } catch {
            notExplored(connection, .notStarted(error), at: now)
        }
    }

    private mutating func explored(_ connection: ConnectionHandle) {
        guard let link = links[connection], let peer = host.connection(connection)?.peer else { return }
        links[connection]?.isReported = true
        let peripheral = RemotePeripheral(id: link.id, address: peer, services: link.exploration.services)
        endAll(.success(.connected(peripheral))) { $0.isExploring(connection) }
    }

    private mutating func notExplored(_ connection: ConnectionHandle, _ error: CentralError, at now: Duration) {
        host.disconnect(connection, at: now)
        endAll(.failure(error)) { $0.isExploring(connection) }
    }

    private mutating func handle(_ event: GATTEvent, at now: Duration) {
        switch event {
        case .procedureEnded(let ended):
            // The reason is known when the host says that the connection is gone.
            if case .failure(.disconnected) = ended.result, host.connection(ended.connection) == nil { return }
            if links[ended.connection]?.step == ended.id {
                links[ended.connection]?.step = nil
                do throws(GATTProcedureError) {
                    try links[ended.connection]?.exploration.finish(ended.result)
                    explore(ended.connection, at: now)
                } catch {
                    notExplored(ended.connection, .procedure(error), at: now)
                }
            } else {
                endAll(Self.response(ended.result)) { $0.isWaiting(for: ended.id) }
            }
        case .valueReceived(let value):
            guard let link = links[value.connection] else { return }
            events.append(.valueReceived(link.id, RemoteValue(handle: value.handle, bytes: Array(value.value))))
        // The database is empty but for what the host puts there, so that no owner is asked.
        case .readRequested, .writeRequested, .mtuChanged, .transactionTimedOut, .roomToSend, .pduIgnored,
            .requestNotAnswered, .written, .subscriptionChanged, .indicationConfirmed, .valueNotSent, .requestRefused,
            .enhancedBearerOpened, .enhancedBearerClosed:
            break
        }
    }

    private static func response(
        _ result: Result<GATTResponse, GATTProcedureError>
    ) -> Result<CentralResponse, CentralError> {
        switch result {
        case .success(.value(let value)): .success(.value(Array(value)))
        // What else reading and writing give: that it was written.
        case .success: .success(.written)
        case .failure(let error): .failure(.procedure(error))
        }
    }

    // MARK: Security

    /// Encrypts with the bond's key, or pairs.
    mutating func encrypt(_ connection: ConnectionHandle, at now: Duration) throws(CentralError) {
        guard host.security != nil else { throw .doesNotPair }
        do throws(SecurityRefusal) {
            do throws(SecurityRefusal) {
                try host.security?.encrypt(connection, at: now)
            } catch .noKey {
                try host.security?.pair(connection, at: now)
            }
        } catch {
            throw .pairingNotStarted(error)
        }
    }

    private mutating func handle(_ event: SecurityEvent, at now: Duration) {
        switch event {
        case .prompt(let prompt): events.append(.prompt(prompt))
        case .securityRequested(let connection, _):
            // A key that is good enough for what is asked would have been used already (Core 5.4, Vol 3, Part H, 2.4.6).
            do throws(SecurityRefusal) {
                try host.security?.pair(connection, at: now)
            } catch {
                host.security?.rejectSecurityRequest(connection, at: now)
            }
        case .pairingFailed(let connection, let failure):
            // The end of the connection follows, and says why.
            if failure == .disconnected, host.connection(connection) == nil { return }
            endAll(.failure(.pairingFailed(failure))) { $0.isSecuring(connection) }
        case .bonded(_, let bond):
            events.append(.bonded(bond))
            if !configuration.storesBonds { host.security?.bondStored(bond.identity) }
        case .encryptionFailed(let connection, let status):
            endAll(.failure(.encryptionFailed(status))) { $0.isSecuring(connection) }
        case .pairingCompleted, .securityChanged: break
        }
    }
}
