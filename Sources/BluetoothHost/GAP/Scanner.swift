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

/// Scanning: listening for advertisements, and putting together those that come in parts.
struct Scanner: Sendable {
    private var scanning = Scanning.off
    private var reports = ExtendedReportAssembler()

    mutating func start(_ parameters: ScanParameters, _ core: inout HostCore) {
        guard parameters.areValid else { return core.emit(.scanningFailed(.invalidHCICommandParameters)) }
        if core.isReady {
            begin(parameters, &core)
        } else {
            scanning = .wanted(parameters)
        }
    }

    mutating func stop(_ core: inout HostCore) {
        switch scanning {
        case .off: return
        case .wanted: scanning = .off
        case .starting(_, let sequence):
            core.commands.cancel(sequence)
            scanning = .off
            enable(false, filtersDuplicates: false, for: .disableScanning, &core)
        case .on:
            scanning = .off
            enable(false, filtersDuplicates: false, for: .disableScanning, &core)
        }
    }

    /// The controller is ready: scanning begins if it is wanted.
    mutating func controllerReady(_ core: inout HostCore) {
        if case .wanted(let parameters) = scanning { begin(parameters, &core) }
    }

    /// The controller is reset: what was on waits for it.
    mutating func controllerLost() {
        scanning.controllerLost()
        reports.removeAll()
    }

    private mutating func begin(_ parameters: ScanParameters, _ core: inout HostCore) {
        let sequence = core.commands.makeSequence()
        switch scanning {
        case .off, .wanted: break
        case .starting(_, let earlier):
            core.commands.cancel(earlier)
            enable(false, filtersDuplicates: false, for: .other, in: sequence, &core)
        case .on: enable(false, filtersDuplicates: false, for: .other, in: sequence, &core)
        }
        reports.removeAll()
        core.useOwnAddress(in: sequence)
        if core.capabilities.usesExtendedCommands {
            let scan = LESetExtendedScanParameters.Scan(
                type: parameters.type,
                interval: parameters.interval,
                window: parameters.window
            )
            let command = LESetExtendedScanParameters(
                ownAddressType: core.ownAddress.ownAddressType,
                filterPolicy: parameters.filterPolicy,
                le1M: scan
            )
            core.send(command, for: .prepareScanning, in: sequence)
        } else {
            let command = LESetScanParameters(
                type: parameters.type,
                interval: parameters.interval,
                window: parameters.window,
                ownAddressType: core.ownAddress.ownAddressType,
                filterPolicy: parameters.filterPolicy
            )
            core.send(command, for: .prepareScanning, in: sequence)
        }
        enable(true, filtersDuplicates: parameters.filtersDuplicates, for: .enableScanning, in: sequence, &core)
        scanning = .starting(parameters, sequence)
    }

    private mutating func enable(
        _ isEnabled: Bool,
        filtersDuplicates: Bool,
        for purpose: CommandPurpose,
        in sequence: CommandQueue.Sequence? = nil,
        _ core: inout HostCore
    ) {
        if core.capabilities.usesExtendedCommands {
            let command = LESetExtendedScanEnable(
                isEnabled: isEnabled,
                duplicateFilter: filtersDuplicates ? .on : .off,
                duration: EnableDuration(rawValue: 0),
                period: ScanPeriod(rawValue: 0)
            )
            core.send(command, for: purpose, in: sequence)
        } else {
            let command = LESetScanEnable(isEnabled: isEnabled, filtersDuplicates: filtersDuplicates)
            core.send(command, for: purpose, in: sequence)
        }
    }

    mutating func began(_ command: CommandQueue.Answered, _ core: inout HostCore) {
        guard case .starting(let parameters, let sequence) = scanning, sequence == command.sequence else { return }
        scanning = .on(parameters)
        core.emit(.scanningStarted)
    }

    mutating func failed(_ command: CommandQueue.Answered, _ status: HCIStatus, _ core: inout HostCore) {
        core.reportFailure(of: command, status)
        guard case .starting(_, let sequence) = scanning, sequence == command.sequence else { return }
        core.commands.cancel(sequence)
        scanning = .off
        core.emit(.scanningFailed(status))
    }

    mutating func disabled(_ status: HCIStatus, _ core: inout HostCore) {
        if status != .success, status != .commandDisallowed {
            core.report(.scanningNotStopped(status))
        }
        core.emit(.scanningEnded)
    }

    /// The controller ended it.
    mutating func ended(_ core: inout HostCore) {
        guard case .on = scanning else { return }
        scanning = .off
        core.emit(.scanningEnded)
    }

    /// Takes reports of extended advertising.
    mutating func receive(_ event: LEExtendedAdvertisingReport, _ core: inout HostCore) {
        for report in event.reports {
            if let whole = reports.receive(report) { core.emit(.advertisingReport(whole)) }
        }
    }
}
