import BluetoothHCI
import ByteCoding

/// What the controller says, and which part it is for.
extension LEHost {
    mutating func receive(_ event: HCIEvent) {
        switch event {
        case .commandComplete(let complete): answered(complete)
        case .commandStatus(let status):
            // For the sender of the command, this is an answer without parameters.
            answered(
                CommandComplete(
                    commandCredits: status.commandCredits,
                    opcode: status.opcode,
                    returnParameters: [status.status.rawValue]
                )
            )
        case .hardwareError(let error):
            if starter.hardwareFailed(code: error.code, &core) { restart(.hardwareError(code: error.code)) }
        case .unknown(let code, let parameters):
            guard unknownEvents.isFirst(code) else { return core.counters.unknownEvents += 1 }
            core.report(.unknownEvent(code, parameters))
        case .unknownLE(let code, let parameters):
            guard unknownEvents.isFirst(code) else { return core.counters.unknownEvents += 1 }
            core.report(.unknownLEEvent(code, parameters))
        case .numberOfCompletedPackets, .disconnectionComplete, .encryptionChange, .encryptionChangeV2,
            .encryptionKeyRefreshComplete, .dataBufferOverflow, .leConnectionComplete, .leEnhancedConnectionComplete,
            .leAdvertisingReport, .leDirectedAdvertisingReport, .leExtendedAdvertisingReport, .leScanTimeout,
            .leAdvertisingSetTerminated, .leConnectionUpdateComplete, .leReadRemoteFeaturesComplete,
            .leLongTermKeyRequest, .leRemoteConnectionParameterRequest, .leDataLengthChange, .lePHYUpdateComplete,
            .leChannelSelectionAlgorithm, .leScanRequestReceived, .leSubrateChange,
            .readRemoteVersionInformationComplete:
            guard isReady else { return core.report(.eventBeforeStart) }
            receiveWhenReady(event)
        }
    }

    private mutating func receiveWhenReady(_ event: HCIEvent) {
        switch event {
        case .numberOfCompletedPackets(let completed): connectionManager.packetsCompleted(completed.packets, &core)
        case .disconnectionComplete(let disconnection): connectionManager.disconnected(disconnection, &core)
        case .encryptionChange(let change):
            connectionManager.encryptionChanged(change.handle, change.status, isEncrypted: change.isEncrypted, &core)
        case .encryptionChangeV2(let change):
            connectionManager.encryptionChanged(change.handle, change.status, isEncrypted: change.isEncrypted, &core)
        case .encryptionKeyRefreshComplete(let refresh):
            connectionManager.encryptionChanged(refresh.handle, refresh.status, isEncrypted: true, &core)
        case .dataBufferOverflow(let overflow):
            core.report(.dataBufferOverflow(linkType: overflow.linkType))
        case .leConnectionComplete(let complete): connectionCompleted(complete.outcome)
        case .leEnhancedConnectionComplete(let complete): connectionCompleted(complete.outcome)
        case .leAdvertisingReport(let event):
            for report in event.reports { core.emit(.advertisingReport(AdvertisingReport(report))) }
        case .leDirectedAdvertisingReport(let event):
            for report in event.reports { core.emit(.advertisingReport(AdvertisingReport(report))) }
        case .leExtendedAdvertisingReport(let event):
            scanner.receive(event, &core)
        case .leScanTimeout: scanner.ended(&core)
        case .leAdvertisingSetTerminated(let termination):
            let address = advertising.terminated(termination, &core)
            if let handle = termination.connection { connectionManager.madeWith(address, handle, &core) }
        case .leConnectionUpdateComplete(let update): connectionManager.parametersChanged(update, &core)
        case .leReadRemoteFeaturesComplete(let complete):
            let features = complete.status == .success ? complete.features : nil
            connectionManager.remoteFeaturesRead(complete.handle, features, &core)
        case .leLongTermKeyRequest(let request): connectionManager.longTermKeyRequested(request, &core)
        case .leRemoteConnectionParameterRequest(let request): connectionManager.parametersRequested(request, &core)
        case .leDataLengthChange(let change): connectionManager.dataLengthChanged(change, &core)
        case .lePHYUpdateComplete(let update): connectionManager.phyChanged(update, &core)
        case .leSubrateChange(let change): connectionManager.subrateChanged(change, &core)
        case .leChannelSelectionAlgorithm, .leScanRequestReceived, .readRemoteVersionInformationComplete: break
        case .commandComplete, .commandStatus, .hardwareError, .unknown, .unknownLE: break
        }
    }

    private mutating func answered(_ answer: CommandComplete) {
        guard let command = core.commands.receiveAnswer(to: answer.opcode, credits: answer.commandCredits) else {
            if answer.opcode == Reset.opcode, isReady { return restart(.unexpectedReset) }
            if answer.opcode != .none { core.report(.unexpectedAnswer(answer.opcode)) }
            return
        }
        guard let status = answer.status else {
            core.counters.malformedPackets += 1
            return core.report(.answerWithoutStatus(answer.opcode))
        }
        switch command.purpose {
        case .startUp:
            if starter.receive(answer, &core) { controllerReady() }
        case .prepareAdvertising(let id):
            if status != .success { advertising.failed(id, command, status, &core) }
        case .enableAdvertising(let id):
            status == .success ? advertising.began(id, command, &core) : advertising.failed(id, command, status, &core)
        case .disableAdvertising(let id): advertising.disabled(id, status, &core)
        case .clearAdvertising: break
        case .removeAdvertising(let id): advertising.removed(id, status)
        case .prepareScanning:
            if status != .success { scanner.failed(command, status, &core) }
        case .enableScanning:
            status == .success ? scanner.began(command, &core) : scanner.failed(command, status, &core)
        case .disableScanning: scanner.disabled(status, &core)
        case .connect:
            if status != .success { initiator.failed(status, &core) }
        case .cancelConnecting:
            // If the connection was made just then, there is nothing to cancel.
            if status != .success, status != .commandDisallowed { core.reportFailure(of: command, status) }
        case .disconnect(let handle):
            if status != .success { connectionManager.disconnectRefused(handle, command, status, &core) }
        case .updateParameters(let handle):
            if status != .success { connectionManager.updateRefused(handle, status, &core) }
        case .enableEncryption(let handle):
            if status != .success { connectionManager.encryptionChanged(handle, status, isEncrypted: false, &core) }
        case .readRemoteFeatures(let handle):
            if status != .success { connectionManager.remoteFeaturesRead(handle, nil, &core) }
        case .setPHY(let handle):
            if status != .success, connectionManager.link(handle) != nil {
                core.emit(.phyUpdated(handle, .failure(status)))
            }
        case .readRSSI(let handle): connectionManager.rssiRead(handle, answer, &core)
        case .other:
            if status != .success { core.reportFailure(of: command, status) }
        }
    }

    private mutating func connectionCompleted(_ outcome: HCIOutcome<LENewConnection>) {
        switch outcome {
        case .success(let new): connectionMade(new)
        case .failure(.advertisingTimeout): advertising.directedEnded(.advertisingTimeout, &core)
        case .failure(let status) where initiator.isConnecting: initiator.failed(status, &core)
        case .failure(let status): advertising.connectableEnded(status, &core)
        }
    }

    private mutating func connectionMade(_ new: LENewConnection) {
        if connectionManager.link(new.handle) != nil {
            core.report(.connectionMadeTwice(new.handle))
            connectionManager.close(new.handle, .unspecifiedError, &core)
        }
        if new.role == .central {
            initiator.connected()
            connectionManager.made(new, with: core.ownAddress, &core)
        } else {
            advertising.endBesides(new.handle, &core)
            let ownAddress = advertising.connected(new.handle, &core)
            connectionManager.made(new, with: ownAddress, &core)
        }
    }
}
