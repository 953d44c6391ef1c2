import BluetoothHCI

// Scanning and connecting.

extension Air {
    /// Whether a controller has the random address that an own address type needs.
    func hasAddress(_ type: OwnAddressType, _ slot: Int) -> Bool {
        type == .public || type == .resolvableOrPublic || controllers[slot].randomAddress != nil
    }
}

/// Whether a scan window and its interval are what the Core allows: each in its range, and the window no longer.
private func areValid(_ interval: ScanInterval, window: ScanInterval, legacy: Bool) -> Bool {
    let range = legacy ? 0x0004...0x4000 : ScanInterval.validRange
    return range.contains(interval.rawValue) && range.contains(window.rawValue) && window <= interval
}

// MARK: - Scanning

extension LESetScanParameters: ImmediateCommand {
    static var family: SimulatedController.CommandFamily? { .legacy }

    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        guard !air.controllers[slot].scanner.isEnabled else { return .failure(.commandDisallowed) }
        guard areValid(interval, window: window, legacy: true) else { return .failure(.invalidHCICommandParameters) }
        air.controllers[slot].scanner.le1M = .init(type: type, interval: interval, window: window)
        air.controllers[slot].scanner.leCoded = nil
        air.controllers[slot].scanner.ownAddressType = ownAddressType
        air.controllers[slot].scanner.filterPolicy = filterPolicy
        return .done
    }
}

extension LESetScanEnable: ImmediateCommand {
    static var family: SimulatedController.CommandFamily? { .legacy }

    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        let enable = LESetExtendedScanEnable(
            isEnabled: isEnabled,
            duplicateFilter: filtersDuplicates ? .on : .off,
            duration: EnableDuration(rawValue: 0),
            period: ScanPeriod(rawValue: 0)
        )
        return air.enableScanning(enable, isExtended: false, slot)
    }
}

extension LESetExtendedScanParameters: ImmediateCommand {
    static var family: SimulatedController.CommandFamily? { .extended }

    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        guard !air.controllers[slot].scanner.isEnabled else { return .failure(.commandDisallowed) }
        let scans = [le1M, leCoded].compactMap { $0 }
        guard !scans.isEmpty, scans.allSatisfy({ areValid($0.interval, window: $0.window, legacy: false) }) else {
            return .failure(.invalidHCICommandParameters)
        }
        if leCoded != nil, !air.controllers[slot].configuration.phys.contains(.leCoded) {
            return .failure(.unsupportedFeatureOrParameterValue)
        }
        air.controllers[slot].scanner.le1M = le1M
        air.controllers[slot].scanner.leCoded = leCoded
        air.controllers[slot].scanner.ownAddressType = ownAddressType
        air.controllers[slot].scanner.filterPolicy = filterPolicy
        return .done
    }
}

extension LESetExtendedScanEnable: ImmediateCommand {
    static var family: SimulatedController.CommandFamily? { .extended }

    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        air.enableScanning(self, isExtended: true, slot)
    }
}

extension Air {
    fileprivate mutating func enableScanning(
        _ command: LESetExtendedScanEnable,
        isExtended: Bool,
        _ slot: Int
    ) -> HCIOutcome<NoParameters> {
        guard command.isEnabled else {
            stopScanning(slot)
            controllers[slot].scanner.restart = nil
            return .done
        }
        let duration = Microseconds(command.duration.duration)
        let period = Microseconds(command.period.duration)
        let hasPeriod = period > .zero && duration > .zero
        guard hasAddress(controllers[slot].scanner.ownAddressType, slot),
            !hasPeriod || period > duration,
            command.duplicateFilter != .onEachPeriod || hasPeriod
        else { return .failure(.invalidHCICommandParameters) }
        // Enabling again starts the scan again, with the filter given now.
        stopScanning(slot)
        controllers[slot].scanner.isExtended = isExtended
        controllers[slot].scanner.filtersDuplicates = command.duplicateFilter != .off
        controllers[slot].scanner.renewsFilterEachPeriod = command.duplicateFilter == .onEachPeriod
        controllers[slot].scanner.duration = duration > .zero ? duration : nil
        controllers[slot].scanner.period = hasPeriod ? period : nil
        controllers[slot].scanner.forgetReports()
        controllers[slot].scanner.resetBackoff()
        startScanning(slot)
        return .done
    }
}

// MARK: - Connecting

extension LECreateConnection: LongCommand {
    static var family: SimulatedController.CommandFamily? { .legacy }

    func begin(in air: inout Air, by slot: Int) -> HCIStatus {
        guard areValid(scanInterval, window: scanWindow, legacy: true) else { return .invalidHCICommandParameters }
        let schedule = ListeningSchedule(
            start: air.now,
            scanInterval,
            window: scanWindow,
            air.controllers[slot].randomChannel()
        )
        return air.initiate(
            Initiator(
                filterPolicy: filterPolicy,
                peer: peer,
                ownAddressType: ownAddressType,
                parameters: [.le1M: parameters],
                schedules: [.le1M: schedule],
                isExtended: false
            ),
            slot
        )
    }
}

extension LEExtendedCreateConnection: LongCommand {
    static var family: SimulatedController.CommandFamily? { .extended }

    func begin(in air: inout Air, by slot: Int) -> HCIStatus {
        var parameters: [PHY: ConnectionParameters] = [:]
        var schedules: [PHY: ListeningSchedule] = [:]
        var start = air.now
        let supported = air.controllers[slot].configuration.phys
        for (phy, bit, wanted) in [(PHY.le1M, PHYSet.le1M, le1M), (.le2M, .le2M, le2M), (.leCoded, .leCoded, leCoded)] {
            guard let wanted else { continue }
            guard supported.contains(bit) else { return .unsupportedFeatureOrParameterValue }
            parameters[phy] = wanted.parameters
            // There is no advertising on primary channels on LE 2M: its scan parameters mean nothing.
            guard phy != .le2M else { continue }
            guard areValid(wanted.scanInterval, window: wanted.scanWindow, legacy: false) else {
                return .invalidHCICommandParameters
            }
            let channel = air.controllers[slot].randomChannel()
            schedules[phy] = ListeningSchedule(
                start: start,
                wanted.scanInterval,
                window: wanted.scanWindow,
                channel
            )
            start += Microseconds(wanted.scanWindow.duration)
        }
        guard !schedules.isEmpty else { return .invalidHCICommandParameters }
        return air.initiate(
            Initiator(
                filterPolicy: filterPolicy,
                peer: peer,
                ownAddressType: ownAddressType,
                parameters: parameters,
                schedules: schedules,
                isExtended: true
            ),
            slot
        )
    }
}

extension LECreateConnectionCancel: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        guard air.controllers[slot].initiator != nil else { return .failure(.commandDisallowed) }
        air.stopInitiating(slot)
        air.controllers[slot].hasCancelledInitiator = true
        return .done
    }
}

extension Air {
    fileprivate mutating func initiate(_ initiator: Initiator, _ slot: Int) -> HCIStatus {
        guard controllers[slot].initiator == nil else { return .commandDisallowed }
        guard initiator.parameters.values.allSatisfy({ $0.areValid && $0.haveValidEventLengths }),
            hasAddress(initiator.ownAddressType, slot)
        else { return .invalidHCICommandParameters }
        guard controllers[slot].connections.count < controllers[slot].configuration.connectionLimit else {
            return .connectionLimitExceeded
        }
        if initiator.filterPolicy == .peerAddress {
            let isConnected = controllers[slot].connections.contains { connection in
                connection.peer.address == initiator.peer.address
                    && connection.peer.type.withoutIdentity == initiator.peer.type.withoutIdentity
            }
            guard !isConnected else { return .connectionAlreadyExists }
        }
        startInitiating(slot, initiator)
        return .success
    }
}
