import BluetoothHCI

// Own addresses, the filter accept list and the resolving list.

extension LESetRandomAddress: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        let controller = air.controllers[slot]
        // Source: Core 5.4, Vol 4, Part E, 7.8.4.
        let legacyAdvertises = controller.commandFamily == .legacy && controller.advertisers.contains { $0.isEnabled }
        guard !legacyAdvertises, !controller.listens else { return .failure(.commandDisallowed) }
        air.noteUse(of: address, slot)
        air.controllers[slot].randomAddress = address
        return .done
    }
}

// MARK: - Filter accept list

extension LEReadFilterAcceptListSize: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        .success(ReturnParameters(size: UInt8(clamping: air.controllers[slot].configuration.filterAcceptListSize)))
    }
}

extension LEClearFilterAcceptList: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        guard !air.controllers[slot].usesAcceptList else { return .failure(.commandDisallowed) }
        air.controllers[slot].acceptList.removeAll()
        return .done
    }
}

extension LEAddDeviceToFilterAcceptList: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        guard device.type == .public || device.type == .random else { return .failure(.invalidHCICommandParameters) }
        guard !air.controllers[slot].usesAcceptList else { return .failure(.commandDisallowed) }
        guard !air.controllers[slot].acceptList.contains(device) else { return .done }
        guard air.controllers[slot].acceptList.count < air.controllers[slot].configuration.filterAcceptListSize else {
            return .failure(.memoryCapacityExceeded)
        }
        air.controllers[slot].acceptList.append(device)
        return .done
    }
}

extension LERemoveDeviceFromFilterAcceptList: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        guard !air.controllers[slot].usesAcceptList else { return .failure(.commandDisallowed) }
        air.controllers[slot].acceptList.removeAll { $0 == device }
        return .done
    }
}

extension SimulatedController {
    /// Whether something under way goes by the filter accept list, which may not be changed then.
    var usesAcceptList: Bool {
        let advertises = advertisers.contains { $0.isEnabled && $0.parameters.filterPolicy != .anyone }
        let policy = scanner.filterPolicy
        let scans = scanner.isEnabled && (policy == .acceptListOnly || policy == .acceptListAndUnresolvedDirected)
        return advertises || scans || initiator?.filterPolicy == .acceptList
    }

    /// Whether something under way may use private addresses; the resolving list may not be changed then.
    var usesResolvingList: Bool {
        resolvingList.isEnabled && (listens || advertisers.contains { $0.isEnabled })
    }
}

// MARK: - Resolving list

extension LEAddDeviceToResolvingList: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        guard peer.type == .public || peer.type == .random else { return .failure(.invalidHCICommandParameters) }
        guard !air.controllers[slot].usesResolvingList else { return .failure(.commandDisallowed) }
        guard !air.controllers[slot].resolvingList.contains(peer) else {
            return .failure(.invalidHCICommandParameters)
        }
        let count = air.controllers[slot].resolvingList.entries.count
        guard count < air.controllers[slot].configuration.resolvingListSize else {
            return .failure(.memoryCapacityExceeded)
        }
        air.controllers[slot].resolvingList.add(peer, peerIRK: peerIRK, localIRK: localIRK)
        return .done
    }
}

extension LERemoveDeviceFromResolvingList: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        guard !air.controllers[slot].usesResolvingList else { return .failure(.commandDisallowed) }
        guard air.controllers[slot].resolvingList.contains(peer) else {
            return .failure(.unknownConnectionIdentifier)
        }
        air.controllers[slot].resolvingList.remove(peer)
        return .done
    }
}

extension LEClearResolvingList: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        guard !air.controllers[slot].usesResolvingList else { return .failure(.commandDisallowed) }
        air.controllers[slot].resolvingList.removeAll()
        return .done
    }
}

extension LEReadResolvingListSize: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        .success(ReturnParameters(size: UInt8(clamping: air.controllers[slot].configuration.resolvingListSize)))
    }
}

extension LEReadPeerResolvableAddress: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        guard let address = air.controllers[slot].resolvingList.peerAddress(of: peer) else {
            return .failure(.unknownConnectionIdentifier)
        }
        return .success(ReturnParameters(address: address))
    }
}

extension LEReadLocalResolvableAddress: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        let now = air.now
        guard let address = air.controllers[slot].makeResolvableAddress(towards: peer, at: now) else {
            return .failure(.unknownConnectionIdentifier)
        }
        return .success(ReturnParameters(address: address))
    }
}

extension LESetAddressResolutionEnable: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        let isBusy = air.controllers[slot].listens || air.controllers[slot].advertisers.contains { $0.isEnabled }
        guard !isBusy else { return .failure(.commandDisallowed) }
        air.controllers[slot].resolvingList.isEnabled = isEnabled
        return .done
    }
}

extension LESetResolvablePrivateAddressTimeout: ImmediateCommand {
    /// Source: Core 5.4, Vol 4, Part E, 7.8.45.
    private static let validSeconds: ClosedRange<UInt16> = 0x0001...0x0E10

    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        guard Self.validSeconds.contains(timeoutSeconds) else { return .failure(.invalidHCICommandParameters) }
        air.controllers[slot].resolvingList.timeout = Microseconds(Int64(timeoutSeconds) * 1_000_000)
        return .done
    }
}

extension LESetPrivacyMode: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        guard !air.controllers[slot].usesResolvingList else { return .failure(.commandDisallowed) }
        guard air.controllers[slot].resolvingList.contains(peer) else {
            return .failure(.unknownConnectionIdentifier)
        }
        air.controllers[slot].resolvingList.setMode(mode, of: peer)
        return .done
    }
}
