import BluetoothHCI

/// What can be changed about a connection: its parameters, its packets' length, its PHYs.
extension ConnectionManager {
    // MARK: What the owner wants

    mutating func requestParameters(
        _ handle: ConnectionHandle,
        _ parameters: ConnectionParameters,
        _ core: inout HostCore
    ) {
        guard let index = link(handle), links[index].isAnnounced else { return }
        links[index].requestParameters(parameters, &core, &channels)
    }

    func setDataLength(_ handle: ConnectionHandle, transmit: DataLength, _ core: inout HostCore) {
        guard link(handle) != nil, core.capabilities.supportsDataLengthExtension else { return }
        core.send(LESetDataLength(handle: handle, transmit: transmit), for: .other)
    }

    func setPHY(
        _ handle: ConnectionHandle,
        _ preferences: PHYPreferences,
        _ options: PHYOptions,
        _ core: inout HostCore
    ) {
        guard link(handle) != nil else { return }
        guard core.capabilities.supportsPHYChange else {
            return core.emit(.phyUpdated(handle, .failure(.unsupportedFeatureOrParameterValue)))
        }
        core.send(LESetPHY(handle: handle, preferences: preferences, options: options), for: .setPHY(handle))
    }

    func readRSSI(_ handle: ConnectionHandle, _ core: inout HostCore) {
        guard link(handle) != nil else { return }
        core.send(ReadRSSI(handle: handle), for: .readRSSI(handle))
    }

    // MARK: What the controller says

    /// The peer asks by the link layer.
    func parametersRequested(_ request: LERemoteConnectionParameterRequest, _ core: inout HostCore) {
        let parameters = ConnectionParameters(
            intervalMinimum: request.intervalMinimum,
            intervalMaximum: request.intervalMaximum,
            latency: request.latency,
            supervisionTimeout: request.supervisionTimeout
        )
        guard link(request.handle) != nil, core.configuration.acceptableParameters.accepts(parameters) else {
            let reply = LERemoteConnectionParameterRequestNegativeReply(
                handle: request.handle,
                reason: .unacceptableConnectionParameters
            )
            return core.send(reply, for: .other)
        }
        let reply = LERemoteConnectionParameterRequestReply(
            handle: request.handle,
            parameters: core.configuration.acceptableParameters.granted(parameters)
        )
        core.send(reply, for: .other)
    }

    mutating func parametersChanged(_ event: LEConnectionUpdateComplete, _ core: inout HostCore) {
        guard let index = link(event.handle) else { return }
        links[index].parametersChanged(event, &core, &channels)
    }

    mutating func updateRefused(_ handle: ConnectionHandle, _ status: HCIStatus, _ core: inout HostCore) {
        guard let index = link(handle) else { return }
        links[index].updateRefused(status, &core, &channels)
    }

    mutating func dataLengthChanged(_ event: LEDataLengthChange, _ core: inout HostCore) {
        guard let index = link(event.handle) else { return }
        links[index].connection.transmitLength = event.transmit
        links[index].connection.receiveLength = event.receive
        channels.connectionChanged(links[index].connection)
        core.emit(.dataLengthUpdated(event.handle))
    }

    mutating func phyChanged(_ event: LEPHYUpdateComplete, _ core: inout HostCore) {
        guard let index = link(event.handle) else { return }
        if let phys = event.outcome.value { links[index].connection.phys = phys }
        core.emit(.phyUpdated(event.handle, event.outcome))
    }

    mutating func subrateChanged(_ event: LESubrateChange, _ core: inout HostCore) {
        guard let index = link(event.handle), event.status == .success else { return }
        links[index].connection.subrating = LinkSubrating(
            factor: event.factor,
            continuationNumber: event.continuationNumber
        )
        links[index].connection.latency = event.latency
        links[index].connection.supervisionTimeout = event.supervisionTimeout
        core.emit(.parametersUpdated(event.handle))
    }

    // MARK: The peer's features

    /// Asks what the peer's link layer can do, if this side may: a peripheral only if its controller can.
    mutating func readRemoteFeatures(_ index: Int, _ core: inout HostCore) {
        let isAllowed =
            links[index].connection.role == .central
            || core.capabilities.features.contains(.peripheralInitiatedFeaturesExchange)
        let handle = links[index].connection.handle
        guard isAllowed, core.capabilities.commands.contains(LEReadRemoteFeatures.id) else {
            return core.emit(.remoteFeaturesRead(handle, nil))
        }
        links[index].isReadingRemoteFeatures = true
        core.send(LEReadRemoteFeatures(handle: handle), for: .readRemoteFeatures(handle))
    }

    mutating func remoteFeaturesRead(_ handle: ConnectionHandle, _ features: LEFeatures?, _ core: inout HostCore) {
        guard let index = link(handle) else { return }
        links[index].connection.remoteFeatures = features ?? links[index].connection.remoteFeatures
        links[index].isReadingRemoteFeatures = false
        core.emit(.remoteFeaturesRead(handle, features))
        links[index].continueUpdate(&core, &channels)
    }
}
