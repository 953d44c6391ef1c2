import BluetoothHCI

// Advertising with several sets.

extension LESetExtendedAdvertisingParameters: ImmediateCommand {
    static var family: SimulatedController.CommandFamily? { .extended }

    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        let known = air.place(of: set, slot)
        if let known, air[known].isEnabled { return .failure(.commandDisallowed) }
        if let status = problem(with: air.controllers[slot].configuration) { return .failure(status) }
        if let known, air[known].data.count > capacity || air[known].scanResponse.count > capacity {
            return .failure(.invalidHCICommandParameters)
        }
        guard known != nil || air.controllers[slot].advertisers.count < air.advertisingSetLimit(slot) else {
            return .failure(.memoryCapacityExceeded)
        }
        let place = known ?? air.makeAdvertiser(set, slot)
        let range = air.controllers[slot].configuration.transmitPower
        let power = min(max(powerDBm ?? range.upperBound, range.lowerBound), range.upperBound)
        air[place].parameters = Advertiser.Parameters(
            properties: properties,
            interval: intervalMinimum,
            channels: channels,
            ownAddressType: ownAddressType,
            peer: peer,
            filterPolicy: filterPolicy,
            primaryPHY: primaryPHY,
            secondaryPHY: secondaryPHY,
            sid: sid,
            powerDBm: power,
            notifiesScanRequests: notifiesScanRequests
        )
        return .success(ReturnParameters(selectedPowerDBm: power))
    }

    /// How much data the set may have, by what has been asked for.
    private var capacity: Int { properties.contains(.legacy) ? AdvertisingBytes.capacity : .max }

    /// Why these parameters are refused; nil if they are not.
    ///
    /// Source: Core 5.4, Vol 4, Part E, 7.8.53.
    private func problem(with configuration: ControllerConfiguration) -> HCIStatus? {
        guard intervalMinimum.isValid, intervalMaximum.isValid, intervalMinimum <= intervalMaximum else {
            return .invalidHCICommandParameters
        }
        guard !channels.isEmpty, AdvertisingChannels.all.isSuperset(of: channels), sid <= 0x0F else {
            return .invalidHCICommandParameters
        }
        if !properties.isDisjoint(with: [.directed, .highDutyCycleDirected]) {
            return .unsupportedFeatureOrParameterValue
        }
        if properties.contains(.legacy) {
            let kinds: [AdvertisingEventProperties] = [
                [.legacy, .connectable, .scannable], [.legacy, .scannable], .legacy,
            ]
            guard kinds.contains(properties), primaryPHY == .le1M else { return .invalidHCICommandParameters }
        } else {
            let isAnonymous = properties.contains(.anonymous)
            let takesRequests = !properties.isDisjoint(with: [.connectable, .scannable])
            guard !properties.isSuperset(of: [.connectable, .scannable]), !(isAnonymous && takesRequests) else {
                return .invalidHCICommandParameters
            }
        }
        guard primaryPHY != .le2M else { return .invalidHCICommandParameters }
        let supported = configuration.phys
        for phy in [primaryPHY, secondaryPHY] {
            let bit: PHYSet = phy == .le1M ? .le1M : phy == .le2M ? .le2M : .leCoded
            guard supported.contains(bit) else { return .unsupportedFeatureOrParameterValue }
        }
        return nil
    }
}

extension LESetAdvertisingSetRandomAddress: ImmediateCommand {
    static var family: SimulatedController.CommandFamily? { .extended }

    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        guard let place = air.place(of: set, slot) else { return .failure(.unknownAdvertisingIdentifier) }
        guard !(air[place].isEnabled && air[place].parameters.isConnectable) else {
            return .failure(.commandDisallowed)
        }
        air.noteUse(of: address, slot)
        air[place].randomAddress = address
        return .done
    }
}

// MARK: - Data

extension LESetExtendedAdvertisingData: ImmediateCommand {
    static var family: SimulatedController.CommandFamily? { .extended }

    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        guard let place = air.place(of: set, slot) else { return .failure(.unknownAdvertisingIdentifier) }
        // A scannable set that is not legacy has a scan response only.
        let parameters = air[place].parameters
        guard parameters.isLegacy || !parameters.isScannable || data.bytes.isEmpty else {
            return .failure(.invalidHCICommandParameters)
        }
        if operation == .unchanged {
            guard air[place].isEnabled, !parameters.isLegacy, !air[place].data.isEmpty, data.bytes.isEmpty else {
                return .failure(.invalidHCICommandParameters)
            }
            air.renewDataIdentifier(place)
            return .done
        }
        let assembly = air.assemble(data.bytes, operation, onto: air[place].partialData, place)
        switch assembly {
        case .failure(let status): return .failure(status)
        case .success(.partial(let data)): air[place].partialData = data
        case .success(.whole(let data)):
            air[place].partialData = nil
            air[place].data = data
            air.renewDataIdentifier(place)
        }
        return .done
    }
}

extension LESetExtendedScanResponseData: ImmediateCommand {
    static var family: SimulatedController.CommandFamily? { .extended }

    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        guard let place = air.place(of: set, slot) else { return .failure(.unknownAdvertisingIdentifier) }
        guard operation != .unchanged, air[place].parameters.isScannable || data.bytes.isEmpty else {
            return .failure(.invalidHCICommandParameters)
        }
        let assembly = air.assemble(data.bytes, operation, onto: air[place].partialScanResponse, place)
        switch assembly {
        case .failure(let status): return .failure(status)
        case .success(.partial(let data)): air[place].partialScanResponse = data
        case .success(.whole(let data)):
            air[place].partialScanResponse = nil
            air[place].scanResponse = data
            air.renewDataIdentifier(place)
        }
        return .done
    }
}

/// Data of a set, of which some or all fragments have come.
private enum AssembledData: Hashable, Sendable {
    case partial([UInt8])
    case whole([UInt8])
}

extension Air {
    /// Adds a fragment to those that came before.
    fileprivate func assemble(
        _ fragment: [UInt8],
        _ operation: FragmentOperation,
        onto before: [UInt8]?,
        _ place: AdvertiserPlace
    ) -> HCIOutcome<AssembledData> {
        let configuration = controllers[place.slot].configuration
        let isLegacy = self[place].parameters.isLegacy
        let limit = isLegacy ? AdvertisingBytes.capacity : configuration.maximumAdvertisingDataLength
        if operation != .complete {
            // Fragments may not be empty, nor come while the set is on the air, nor be needed by legacy packets.
            guard !isLegacy, !fragment.isEmpty else { return .failure(.invalidHCICommandParameters) }
            guard !self[place].isEnabled else { return .failure(.commandDisallowed) }
        }
        switch operation {
        case .complete:
            guard fragment.count <= limit else { return .failure(.invalidHCICommandParameters) }
            return .success(.whole(fragment))
        case .first:
            guard fragment.count <= limit else { return .failure(.memoryCapacityExceeded) }
            return .success(.partial(fragment))
        case .intermediate, .last:
            guard let before else { return .failure(.invalidHCICommandParameters) }
            guard before.count + fragment.count <= limit else { return .failure(.memoryCapacityExceeded) }
            let data = before + fragment
            return .success(operation == .last ? .whole(data) : .partial(data))
        case .unchanged: return .failure(.invalidHCICommandParameters)
        }
    }

    /// Lets scanners that filter duplicates know that the data is not the same.
    fileprivate mutating func renewDataIdentifier(_ place: AdvertiserPlace) {
        let new = UInt16(controllers[place.slot].random.next(below: 1 << 12))
        self[place].dataIdentifier = new == self[place].dataIdentifier ? new ^ 1 : new
    }

    func advertisingSetLimit(_ slot: Int) -> Int { controllers[slot].configuration.advertisingSetCount }
}

// MARK: - Sets

extension LESetExtendedAdvertisingEnable: ImmediateCommand {
    static var family: SimulatedController.CommandFamily? { .extended }

    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        guard !sets.isEmpty else {
            // Without sets, all of them are turned off; turning on nothing is an error.
            guard !isEnabled else { return .failure(.invalidHCICommandParameters) }
            for set in air.controllers[slot].advertisers { turn(set.handle, false, in: &air, slot) }
            return .done
        }
        guard Set(sets.map(\.set)).count == sets.count else { return .failure(.invalidHCICommandParameters) }
        for entry in sets {
            guard let place = air.place(of: entry.set, slot) else { return .failure(.unknownAdvertisingIdentifier) }
            if isEnabled, let status = problem(with: place, in: air) { return .failure(status) }
        }
        for entry in sets { turn(entry.set, isEnabled, entry, in: &air, slot) }
        return .done
    }

    private func problem(with place: Air.AdvertiserPlace, in air: Air) -> HCIStatus? {
        let set = air[place]
        if set.partialData != nil || set.partialScanResponse != nil { return .commandDisallowed }
        if set.parameters.ownAddressType == .random || set.parameters.ownAddressType == .resolvableOrRandom,
            set.randomAddress == nil
        {
            return .invalidHCICommandParameters
        }
        let needsResponse = set.parameters.isScannable && !set.parameters.isLegacy
        if needsResponse, set.scanResponse.isEmpty { return .commandDisallowed }
        return air.hasRoomForConnection(of: place) ? nil : .connectionLimitExceeded
    }

    private func turn(
        _ handle: AdvertisingHandle,
        _ isOn: Bool,
        _ entry: Entry? = nil,
        in air: inout Air,
        _ slot: Int
    ) {
        guard let place = air.place(of: handle, slot) else { return }
        // Turning on a set that is on starts its duration and its count again.
        air.stopAdvertising(place)
        guard isOn, let entry else { return }
        air.startAdvertising(
            place,
            duration: entry.duration.rawValue == 0 ? nil : Microseconds(entry.duration.duration),
            maximumEvents: entry.maximumEvents == 0 ? nil : Int(entry.maximumEvents)
        )
    }
}

extension LERemoveAdvertisingSet: ImmediateCommand {
    static var family: SimulatedController.CommandFamily? { .extended }

    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        guard let place = air.place(of: set, slot) else { return .failure(.unknownAdvertisingIdentifier) }
        guard !air[place].isEnabled else { return .failure(.commandDisallowed) }
        air.removeAdvertiser(place)
        return .done
    }
}

extension LEClearAdvertisingSets: ImmediateCommand {
    static var family: SimulatedController.CommandFamily? { .extended }

    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        guard !air.controllers[slot].advertisers.contains(where: \.isEnabled) else {
            return .failure(.commandDisallowed)
        }
        while let set = air.controllers[slot].advertisers.last, let place = air.place(of: set.handle, slot) {
            air.removeAdvertiser(place)
        }
        return .done
    }
}

extension Air {
    fileprivate mutating func removeAdvertiser(_ place: AdvertiserPlace) {
        removeActor(self[place].actor)
        controllers[place.slot].advertisers.remove(at: place.index)
    }
}

extension LEReadMaximumAdvertisingDataLength: ImmediateCommand {
    static var family: SimulatedController.CommandFamily? { .extended }

    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        let length = air.controllers[slot].configuration.maximumAdvertisingDataLength
        return .success(ReturnParameters(length: UInt16(clamping: length)))
    }
}

extension LEReadNumberOfSupportedAdvertisingSets: ImmediateCommand {
    static var family: SimulatedController.CommandFamily? { .extended }

    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        .success(ReturnParameters(count: UInt8(clamping: air.advertisingSetLimit(slot))))
    }
}
