import BluetoothHCI

// What a host does with a connection that it has.

extension Disconnect: LongCommand {
    /// Source: Core 5.4, Vol 4, Part E, 7.1.6.
    private static let reasons: Set<HCIStatus> = [
        .authenticationFailure, .remoteUserTerminatedConnection, .remoteDeviceLowResources, .remoteDevicePowerOff,
        .unsupportedRemoteFeature, .pairingWithUnitKeyNotSupported, .unacceptableConnectionParameters,
    ]

    func begin(in air: inout Air, by slot: Int) -> HCIStatus {
        guard Self.reasons.contains(reason) else { return .invalidHCICommandParameters }
        return air.withLink(of: handle, slot) { $0.terminate(by: $1, reason: reason, at: $2) }
            ?? .unknownConnectionIdentifier
    }
}

extension ReadRemoteVersionInformation: LongCommand {
    func begin(in air: inout Air, by slot: Int) -> HCIStatus {
        air.withLink(of: handle, slot) { $0.begin(.version, by: $1, at: $2) } ?? .unknownConnectionIdentifier
    }
}

extension LEReadRemoteFeatures: LongCommand {
    func begin(in air: inout Air, by slot: Int) -> HCIStatus {
        guard let role = air.controllers[slot].connection(handle)?.role else { return .unknownConnectionIdentifier }
        let features = air.controllers[slot].configuration.features
        if role == .peripheral, !features.contains(.peripheralInitiatedFeaturesExchange) {
            return .unsupportedRemoteFeature
        }
        return air.withLink(of: handle, slot) { $0.begin(.features, by: $1, at: $2) } ?? .unknownConnectionIdentifier
    }
}

extension ReadRSSI: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        guard let connection = air.controllers[slot].connection(handle) else {
            return .failure(.unknownConnectionIdentifier)
        }
        let other = air.links[connection.link].ends[connection.role.peer]
        let rssi = other.map { air.signalStrength(slot, $0) }
        return .success(ReturnParameters(handle: handle, rssiDBm: rssi))
    }
}

extension ReadTransmitPowerLevel: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        guard air.controllers[slot].connection(handle) != nil else { return .failure(.unknownConnectionIdentifier) }
        let power = type == .maximum ? air.controllers[slot].configuration.transmitPower.upperBound : 0
        return .success(ReturnParameters(handle: handle, powerDBm: power))
    }
}

// MARK: - Timing

extension ConnectionParameters {
    /// Whether the limits of a connection event's length, which are only a hint, are at least in order.
    var haveValidEventLengths: Bool { eventLengthMinimum <= eventLengthMaximum }
}

extension LEConnectionUpdate: LongCommand {
    func begin(in air: inout Air, by slot: Int) -> HCIStatus {
        guard let role = air.controllers[slot].connection(handle)?.role else { return .unknownConnectionIdentifier }
        guard parameters.areValid, parameters.haveValidEventLengths else { return .invalidHCICommandParameters }
        let features = air.controllers[slot].configuration.features
        if role == .peripheral, !features.contains(.connectionParametersRequest) { return .commandDisallowed }
        return air.withLink(of: handle, slot) { $0.begin(.parameters(parameters), by: $1, at: $2) }
            ?? .unknownConnectionIdentifier
    }
}

extension LERemoteConnectionParameterRequestReply: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        guard parameters.areValid, parameters.haveValidEventLengths else {
            return .failure(.invalidHCICommandParameters)
        }
        let status = air.withLink(of: handle, slot) {
            $0.answerParameterRequest(.success(parameters), by: $1, at: $2)
        }
        return .of(status ?? .unknownConnectionIdentifier, ReturnParameters(handle: handle))
    }
}

extension LERemoteConnectionParameterRequestNegativeReply: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        guard reason != .success else { return .failure(.invalidHCICommandParameters) }
        let status = air.withLink(of: handle, slot) { $0.answerParameterRequest(.failure(reason), by: $1, at: $2) }
        return .of(status ?? .unknownConnectionIdentifier, ReturnParameters(handle: handle))
    }
}

extension HCIOutcome {
    /// A value if the status is success.
    static func of(_ status: HCIStatus, _ value: Value) -> Self {
        status == .success ? .success(value) : .failure(status)
    }
}

// MARK: - Subrating

extension LESetHostFeature: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        guard air.controllers[slot].connections.isEmpty else { return .failure(.commandDisallowed) }
        let feature = LEFeatures(rawValue: bit < 64 ? 1 << UInt64(bit) : 0)
        guard feature == .connectionSubratingHostSupport,
            air.controllers[slot].configuration.features.contains(.connectionSubrating)
        else { return .failure(.unsupportedFeatureOrParameterValue) }
        if isSupported {
            air.controllers[slot].hostFeatures.insert(feature)
        } else {
            air.controllers[slot].hostFeatures.remove(feature)
        }
        return .done
    }
}

extension LESetDefaultSubrate: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        guard acceptable.areValid else { return .failure(.invalidHCICommandParameters) }
        air.controllers[slot].defaultSubrating = acceptable
        return .done
    }
}

extension LESubrateRequest: LongCommand {
    func begin(in air: inout Air, by slot: Int) -> HCIStatus {
        guard wanted.areValid else { return .invalidHCICommandParameters }
        return air.withLink(of: handle, slot) { link, role, now in
            guard link.subrated(wanted).isHeardInTime else { return .invalidHCICommandParameters }
            // The peripheral's host has to take it: the central knows from the features that the peer has told.
            if role == .central, link.sides.central.remoteFeatures?.contains(.connectionSubratingHostSupport) != true {
                return .unsupportedRemoteFeature
            }
            return link.begin(.subrating(wanted), by: role, at: now)
        } ?? .unknownConnectionIdentifier
    }
}

// MARK: - Channels

extension LESetHostChannelClassification: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        guard channels.isValid else { return .failure(.invalidHCICommandParameters) }
        air.controllers[slot].goodChannels = channels
        for connection in air.controllers[slot].connections {
            air.links[connection.link].machine.classify(channels, by: connection.role, at: air.now)
        }
        return .done
    }
}

extension LEReadChannelMap: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        let channels = air.withLink(of: handle, slot) { link, _, _ in link.hopping.channels }
        guard let channels else { return .failure(.unknownConnectionIdentifier) }
        return .success(ReturnParameters(handle: handle, channels: channels))
    }
}

// MARK: - Data length

extension DataLength {
    /// Whether the Core allows it: 27 to 251 octets, 328 to 17040 microseconds.
    var isValid: Bool {
        (Self.minimum.octets...Self.maximum.octets).contains(octets)
            && (Self.minimum.timeMicroseconds...Self.maximum.timeMicroseconds).contains(timeMicroseconds)
    }

    /// No more than another one.
    func limited(to other: DataLength) -> DataLength {
        DataLength(
            octets: min(octets, other.octets),
            timeMicroseconds: min(timeMicroseconds, other.timeMicroseconds)
        )
    }
}

extension LESetDataLength: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        guard transmit.isValid else { return .failure(.invalidHCICommandParameters) }
        let length = transmit.limited(to: air.controllers[slot].configuration.maximumDataLength)
        let status = air.withLink(of: handle, slot) { $0.setDataLength(length, by: $1, at: $2) }
        return .of(status ?? .unknownConnectionIdentifier, ReturnParameters(handle: handle))
    }
}

extension LEReadSuggestedDefaultDataLength: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        .success(ReturnParameters(transmit: air.controllers[slot].suggestedDataLength))
    }
}

extension LEWriteSuggestedDefaultDataLength: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        guard transmit.isValid else { return .failure(.invalidHCICommandParameters) }
        air.controllers[slot].suggestedDataLength = transmit
        return .done
    }
}

extension LEReadMaximumDataLength: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        let maximum = air.controllers[slot].configuration.maximumDataLength
        return .success(ReturnParameters(transmit: maximum, receive: maximum))
    }
}

// MARK: - PHY

extension PHYPreferences {
    /// The PHYs wanted, of those that a controller has; nil if one is wanted that it does not have, or none is.
    func pair(among supported: PHYSet) -> PHYPair? {
        let pair = PHYPair(transmit: transmit ?? supported, receive: receive ?? supported)
        let areKnown = supported.isSuperset(of: pair.transmit) && supported.isSuperset(of: pair.receive)
        return areKnown && !pair.transmit.isEmpty && !pair.receive.isEmpty ? pair : nil
    }
}

extension LEReadPHY: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        let phys = air.withLink(of: handle, slot) { link, role, _ in
            (link.phys[role], link.phys[role.peer])
        }
        guard let phys else { return .failure(.unknownConnectionIdentifier) }
        return .success(ReturnParameters(handle: handle, transmit: phys.0, receive: phys.1))
    }
}

extension LESetDefaultPHY: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        guard let pair = preferences.pair(among: air.controllers[slot].configuration.phys) else {
            return .failure(.unsupportedFeatureOrParameterValue)
        }
        air.controllers[slot].defaultPHYs = pair
        return .done
    }
}

extension LESetPHY: LongCommand {
    func begin(in air: inout Air, by slot: Int) -> HCIStatus {
        guard air.controllers[slot].connection(handle) != nil else { return .unknownConnectionIdentifier }
        guard let pair = preferences.pair(among: air.controllers[slot].configuration.phys) else {
            return .unsupportedFeatureOrParameterValue
        }
        return air.withLink(of: handle, slot) { $0.begin(.phy(pair), by: $1, at: $2) } ?? .unknownConnectionIdentifier
    }
}

// MARK: - Encryption

extension LEEnableEncryption: LongCommand {
    func begin(in air: inout Air, by slot: Int) -> HCIStatus {
        guard let role = air.controllers[slot].connection(handle)?.role else { return .unknownConnectionIdentifier }
        guard role == .central else { return .commandDisallowed }
        let procedure = LinkProcedure.encryption(
            random: randomNumber,
            diversifier: encryptedDiversifier,
            key: longTermKey
        )
        return air.withLink(of: handle, slot) { $0.begin(procedure, by: $1, at: $2) } ?? .unknownConnectionIdentifier
    }
}

extension LELongTermKeyRequestReply: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        let status = air.answerKeyRequest(longTermKey, handle, slot)
        return .of(status, ReturnParameters(handle: handle))
    }
}

extension LELongTermKeyRequestNegativeReply: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        let status = air.answerKeyRequest(nil, handle, slot)
        return .of(status, ReturnParameters(handle: handle))
    }
}

extension Air {
    mutating func answerKeyRequest(_ key: UInt128?, _ handle: ConnectionHandle, _ slot: Int) -> HCIStatus {
        guard controllers[slot].connection(handle)?.role != .central else { return .commandDisallowed }
        return withLink(of: handle, slot) { link, _, now in link.answerKeyRequest(key, at: now) }
            ?? .unknownConnectionIdentifier
    }
}
