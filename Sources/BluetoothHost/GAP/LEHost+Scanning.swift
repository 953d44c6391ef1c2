import BluetoothHCI

/// Where scanning stands.
enum Scanning: Hashable, Sendable {
    case off
    /// It is to begin as soon as the controller is ready.
    case wanted(ScanParameters)
    /// The controller is being told.
    case starting(ScanParameters, CommandQueue.Sequence)
    case on(ScanParameters)

    /// The controller has been reset.
    mutating func controllerLost() {
        switch self {
        case .off, .wanted: break
        case .starting(let parameters, _), .on(let parameters): self = .wanted(parameters)
        }
    }
}

/// Scanning: listening for advertisements.
extension LEHost {
    /// Listens for advertisements, in the new way if it does already. `scanningStarted` or `scanningFailed` follows;
    /// before the controller is ready, it waits for it.
    public mutating func startScanning(_ parameters: ScanParameters, at now: Duration) {
        self.now = max(self.now, now)
        guard parameters.areValid else { return emit(.scanningFailed(.invalidHCICommandParameters)) }
        if isReady {
            beginScanning(parameters)
        } else {
            scanning = .wanted(parameters)
        }
    }

    /// Stops listening for advertisements.
    ///
    /// If scanning is on, or the controller is being told to begin, the controller is told to stop. `scanningEnded` follows
    /// when it answers, even if it refuses. No event follows in these cases: scanning is off; the controller is not ready yet;
    /// it is lost or restarted before it answers; the queue of commands is full.
    public mutating func stopScanning(at now: Duration) {
        self.now = max(self.now, now)
        switch scanning {
        case .off: return
        case .wanted: scanning = .off
        case .starting(_, let sequence):
            commands.cancel(sequence)
            scanning = .off
            enableScanning(false, filtersDuplicates: false, for: .disableScanning)
        case .on:
            scanning = .off
            enableScanning(false, filtersDuplicates: false, for: .disableScanning)
        }
    }

    mutating func beginScanning(_ parameters: ScanParameters) {
        let sequence = commands.makeSequence()
        switch scanning {
        case .off, .wanted: break
        case .starting(_, let earlier):
            commands.cancel(earlier)
            enableScanning(false, filtersDuplicates: false, for: .other, in: sequence)
        case .on: enableScanning(false, filtersDuplicates: false, for: .other, in: sequence)
        }
        reports.removeAll()
        useOwnAddress(in: sequence)
        if capabilities.usesExtendedCommands {
            let scan = LESetExtendedScanParameters.Scan(
                type: parameters.type,
                interval: parameters.interval,
                window: parameters.window
            )
            let command = LESetExtendedScanParameters(
                ownAddressType: ownAddress.ownAddressType,
                filterPolicy: parameters.filterPolicy,
                le1M: scan
            )
            send(command, for: .prepareScanning, in: sequence)
        } else {
            let command = LESetScanParameters(
                type: parameters.type,
                interval: parameters.interval,
                window: parameters.window,
                ownAddressType: ownAddress.ownAddressType,
                filterPolicy: parameters.filterPolicy
            )
            send(command, for: .prepareScanning, in: sequence)
        }
        enableScanning(true, filtersDuplicates: parameters.filtersDuplicates, for: .enableScanning, in: sequence)
        scanning = .starting(parameters, sequence)
    }

    private mutating func enableScanning(
        _ isEnabled: Bool,
        filtersDuplicates: Bool,
        for purpose: CommandPurpose,
        in sequence: CommandQueue.Sequence? = nil
    ) {
        if capabilities.usesExtendedCommands {
            let command = LESetExtendedScanEnable(
                isEnabled: isEnabled,
                duplicateFilter: filtersDuplicates ? .on : .off,
                duration: EnableDuration(rawValue: 0),
                period: ScanPeriod(rawValue: 0)
            )
            send(command, for: purpose, in: sequence)
        } else {
            let command = LESetScanEnable(isEnabled: isEnabled, filtersDuplicates: filtersDuplicates)
            send(command, for: purpose, in: sequence)
        }
    }

    mutating func scanningBegan(_ command: CommandQueue.Answered) {
        guard case .starting(let parameters, let sequence) = scanning, sequence == command.sequence else { return }
        scanning = .on(parameters)
        emit(.scanningStarted)
    }

    mutating func scanningFailed(_ command: CommandQueue.Answered, _ status: HCIStatus) {
        reportFailure(of: command, status)
        guard case .starting(_, let sequence) = scanning, sequence == command.sequence else { return }
        commands.cancel(sequence)
        scanning = .off
        emit(.scanningFailed(status))
    }

    mutating func scanningDisabled(_ status: HCIStatus) {
        if status != .success, status != .commandDisallowed {
            report(.scanningNotStopped(status))
        }
        emit(.scanningEnded)
    }

    /// The controller ended it.
    mutating func scanningEnded() {
        guard case .on = scanning else { return }
        scanning = .off
        emit(.scanningEnded)
    }
}
