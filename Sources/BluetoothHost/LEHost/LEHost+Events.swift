import BluetoothHCI
import ByteCoding

/// Commands to the controller, and what it says.
extension LEHost {
    /// Queues a command.
    mutating func send(
        _ command: some HCICommand,
        for purpose: CommandPurpose,
        in sequence: CommandQueue.Sequence? = nil
    ) {
        send(OutgoingCommand(command), for: purpose, in: sequence)
    }

    /// Queues a command.
    mutating func send(
        _ command: OutgoingCommand,
        for purpose: CommandPurpose,
        in sequence: CommandQueue.Sequence? = nil
    ) {
        guard !commands.append(command, for: purpose, in: sequence) else { return }
        report(.commandNotSent(command.opcode))
    }

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
        case .hardwareError(let error): hardwareFailed(code: error.code)
        case .unknown(let code, let parameters):
            guard unknownEvents.isFirst(code) else { return counters.unknownEvents += 1 }
            report(.unknownEvent(code, parameters))
        case .unknownLE(let code, let parameters):
            guard unknownEvents.isFirst(code) else { return counters.unknownEvents += 1 }
            report(.unknownLEEvent(code, parameters))
        case .numberOfCompletedPackets, .disconnectionComplete, .encryptionChange, .encryptionChangeV2,
            .encryptionKeyRefreshComplete, .dataBufferOverflow, .leConnectionComplete, .leEnhancedConnectionComplete,
            .leAdvertisingReport, .leDirectedAdvertisingReport, .leExtendedAdvertisingReport, .leScanTimeout,
            .leAdvertisingSetTerminated, .leConnectionUpdateComplete, .leReadRemoteFeaturesComplete,
            .leLongTermKeyRequest, .leRemoteConnectionParameterRequest, .leDataLengthChange, .lePHYUpdateComplete,
            .leChannelSelectionAlgorithm, .leScanRequestReceived, .readRemoteVersionInformationComplete:
            guard isReady else { return report(.eventBeforeStart) }
            receiveWhenReady(event)
        }
    }

    private mutating func receiveWhenReady(_ event: HCIEvent) {
        switch event {
        case .numberOfCompletedPackets(let completed): packetsCompleted(completed.packets)
        case .disconnectionComplete(let disconnection): disconnected(disconnection)
        case .encryptionChange(let change):
            encryptionChanged(change.handle, change.status, isEncrypted: change.isEncrypted)
        case .encryptionChangeV2(let change):
            encryptionChanged(change.handle, change.status, isEncrypted: change.isEncrypted)
        case .encryptionKeyRefreshComplete(let refresh):
            encryptionChanged(refresh.handle, refresh.status, isEncrypted: true)
        case .dataBufferOverflow(let overflow):
            report(.dataBufferOverflow(linkType: overflow.linkType))
        case .leConnectionComplete(let complete): connectionCompleted(complete.outcome)
        case .leEnhancedConnectionComplete(let complete): connectionCompleted(complete.outcome)
        case .leAdvertisingReport(let event):
            for report in event.reports { emit(.advertisingReport(AdvertisingReport(report))) }
        case .leDirectedAdvertisingReport(let event):
            for report in event.reports { emit(.advertisingReport(AdvertisingReport(report))) }
        case .leExtendedAdvertisingReport(let event):
            for report in event.reports {
                if let whole = reports.receive(report) { emit(.advertisingReport(whole)) }
            }
        case .leScanTimeout: scanningEnded()
        case .leAdvertisingSetTerminated(let termination): advertisingTerminated(termination)
        case .leConnectionUpdateComplete(let update): parametersChanged(update)
        case .leReadRemoteFeaturesComplete(let complete):
            remoteFeaturesRead(complete.handle, complete.status == .success ? complete.features : nil)
        case .leLongTermKeyRequest(let request): longTermKeyRequested(request)
        case .leRemoteConnectionParameterRequest(let request): parametersRequested(request)
        case .leDataLengthChange(let change): dataLengthChanged(change)
        case .lePHYUpdateComplete(let update): phyChanged(update)
        case .leChannelSelectionAlgorithm, .leScanRequestReceived, .readRemoteVersionInformationComplete: break
        case .commandComplete, .commandStatus, .hardwareError, .unknown, .unknownLE: break
        }
    }

    private mutating func answered(_ answer: CommandComplete) {
        guard let command = commands.receiveAnswer(to: answer.opcode, credits: answer.commandCredits) else {
            if answer.opcode == Reset.opcode, isReady { return restart(.unexpectedReset) }
            if answer.opcode != .none { report(.unexpectedAnswer(answer.opcode)) }
            return
        }
        guard let status = answer.status else {
            counters.malformedPackets += 1
            return report(.answerWithoutStatus(answer.opcode))
        }
        switch command.purpose {
        case .startUp: startUpAnswered(answer)
        case .prepareAdvertising(let id):
            if status != .success { advertisingFailed(id, command, status) }
        case .enableAdvertising(let id):
            status == .success ? advertisingBegan(id, command) : advertisingFailed(id, command, status)
        case .disableAdvertising(let id): advertisingDisabled(id, status)
        case .clearAdvertising: break
        case .removeAdvertising(let id): advertisingRemoved(id, status)
        case .prepareScanning:
            if status != .success { scanningFailed(command, status) }
        case .enableScanning:
            status == .success ? scanningBegan(command) : scanningFailed(command, status)
        case .disableScanning: scanningDisabled(status)
        case .connect:
            if status != .success { initiationFailed(status) }
        case .cancelConnecting:
            // If the connection was made just then, there is nothing to cancel.
            if status != .success, status != .commandDisallowed { reportFailure(of: command, status) }
        case .disconnect(let handle):
            if status != .success { disconnectRefused(handle, command, status) }
        case .updateParameters(let handle):
            if status != .success { updateRefused(handle, status) }
        case .enableEncryption(let handle):
            if status != .success { encryptionChanged(handle, status, isEncrypted: false) }
        case .readRemoteFeatures(let handle):
            if status != .success { remoteFeaturesRead(handle, nil) }
        case .setPHY(let handle):
            if status != .success, link(handle) != nil { emit(.phyUpdated(handle, .failure(status))) }
        case .readRSSI(let handle): rssiRead(handle, answer)
        case .other:
            if status != .success { reportFailure(of: command, status) }
        }
    }

    mutating func reportFailure(of command: CommandQueue.Answered, _ status: HCIStatus) {
        report(.commandFailed(command.opcode, status))
    }
}
