import BluetoothHCI

// Advertising with the commands that every controller has: one set.

extension Air {
    /// The one set that legacy commands are about.
    private static let legacyHandle: AdvertisingHandle = 0

    fileprivate mutating func legacySet(_ slot: Int) -> AdvertiserPlace {
        if let place = place(of: Self.legacyHandle, slot) { return place }
        return makeAdvertiser(Self.legacyHandle, slot)
    }

    mutating func makeAdvertiser(_ handle: AdvertisingHandle, _ slot: Int) -> AdvertiserPlace {
        let actor = makeActor(.advertiser(controller: slot, handle))
        controllers[slot].advertisers.append(Advertiser(handle: handle, actor: actor))
        return AdvertiserPlace(slot: slot, index: controllers[slot].advertisers.count - 1)
    }
}

extension LESetAdvertisingParameters: ImmediateCommand {
    static var family: SimulatedController.CommandFamily? { .legacy }

    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        let place = air.legacySet(slot)
        guard !air[place].isEnabled else { return .failure(.commandDisallowed) }
        guard AdvertisingInterval.legacyRange.contains(intervalMinimum.rawValue),
            AdvertisingInterval.legacyRange.contains(intervalMaximum.rawValue), intervalMinimum <= intervalMaximum,
            !channels.isEmpty, AdvertisingChannels.all.isSuperset(of: channels)
        else { return .failure(.invalidHCICommandParameters) }
        let properties: AdvertisingEventProperties
        switch type {
        case .connectableScannable: properties = [.legacy, .connectable, .scannable]
        case .scannable: properties = [.legacy, .scannable]
        case .nonConnectable: properties = .legacy
        case .directedHighDutyCycle, .directedLowDutyCycle: return .failure(.unsupportedFeatureOrParameterValue)
        }
        air[place].parameters = Advertiser.Parameters(
            properties: properties,
            interval: intervalMinimum,
            channels: channels,
            ownAddressType: ownAddressType,
            peer: peer,
            filterPolicy: filterPolicy
        )
        return .done
    }
}

extension LESetAdvertisingData: ImmediateCommand {
    static var family: SimulatedController.CommandFamily? { .legacy }

    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        let place = air.legacySet(slot)
        air[place].data = data.bytes
        return .done
    }
}

extension LESetScanResponseData: ImmediateCommand {
    static var family: SimulatedController.CommandFamily? { .legacy }

    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        let place = air.legacySet(slot)
        air[place].scanResponse = data.bytes
        return .done
    }
}

extension LESetAdvertisingEnable: ImmediateCommand {
    static var family: SimulatedController.CommandFamily? { .legacy }

    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        let place = air.legacySet(slot)
        guard isEnabled else {
            air.stopAdvertising(place)
            return .done
        }
        guard !air[place].isEnabled else { return .done }
        guard air.hasAddress(air[place].parameters.ownAddressType, slot) else {
            return .failure(.invalidHCICommandParameters)
        }
        guard air.hasRoomForConnection(of: place) else { return .failure(.connectionLimitExceeded) }
        air.startAdvertising(place, duration: nil, maximumEvents: nil)
        return .done
    }
}

extension LEReadAdvertisingPhysicalChannelTxPower: ImmediateCommand {
    static var family: SimulatedController.CommandFamily? { .legacy }

    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        .success(ReturnParameters(powerDBm: 0))
    }
}

extension Air {
    /// Whether a set may advertise as far as the number of connections goes.
    func hasRoomForConnection(of place: AdvertiserPlace) -> Bool {
        let controller = controllers[place.slot]
        return !self[place].parameters.isConnectable
            || controller.connections.count < controller.configuration.connectionLimit
    }
}
