import BluetoothHCI

/// Connection parameters: what this side wants, and what the peer asks for by signaling.
extension LELink {
    // MARK: What this side wants

    /// Changes the parameters as soon as no other change is under way.
    mutating func requestParameters(
        _ parameters: ConnectionParameters,
        _ core: inout HostCore,
        _ channels: inout ChannelManager
    ) {
        guard parameters.areValid else { return core.emit(.parametersUpdateFailed(handle, .invalid)) }
        wantedParameters = parameters
        continueUpdate(&core, &channels)
    }

    /// Begins the change that is wanted, if none is under way.
    mutating func continueUpdate(_ core: inout HostCore, _ channels: inout ChannelManager) {
        guard update == .none, !isReadingRemoteFeatures, let wanted = wantedParameters else { return }
        wantedParameters = nil
        let features = connection.remoteFeatures ?? []
        let isPossibleByLinkLayer =
            connection.role == .central
            || (core.capabilities.supportsParameterRequest && features.contains(.connectionParametersRequest))
        if isPossibleByLinkLayer {
            updateByLinkLayer(wanted, &core)
        } else {
            updateBySignaling(wanted, &core, &channels)
        }
    }

    private mutating func updateByLinkLayer(_ parameters: ConnectionParameters, _ core: inout HostCore) {
        update = .linkLayer(parameters)
        core.send(LEConnectionUpdate(handle: handle, parameters: parameters), for: .updateParameters(handle))
    }

    private mutating func updateBySignaling(
        _ parameters: ConnectionParameters,
        _ core: inout HostCore,
        _ channels: inout ChannelManager
    ) {
        update = .asked
        channels.requestUpdate(parameters, on: handle, at: core.now)
    }

    /// Ends the change that is under way, and begins the next one that is wanted.
    private mutating func endUpdate(
        _ failure: ParameterUpdateFailure?,
        _ core: inout HostCore,
        _ channels: inout ChannelManager
    ) {
        update = .none
        if let failure { core.emit(.parametersUpdateFailed(handle, failure)) }
        continueUpdate(&core, &channels)
    }

    /// The controller changed the parameters.
    mutating func parametersChanged(
        _ event: LEConnectionUpdateComplete,
        _ core: inout HostCore,
        _ channels: inout ChannelManager
    ) {
        guard event.status == .success else { return updateRefused(event.status, &core, &channels) }
        connection.interval = event.interval
        connection.latency = event.latency
        connection.supervisionTimeout = event.supervisionTimeout
        // Other parameters end subrating (Core 5.4, Vol 6, Part B, 5.1.1).
        connection.subrating = .none
        core.emit(.parametersUpdated(handle))
        if case .linkLayer = update { endUpdate(nil, &core, &channels) }
    }

    /// The controller did not begin the change, or it did not happen.
    mutating func updateRefused(
        _ status: HCIStatus,
        _ core: inout HostCore,
        _ channels: inout ChannelManager
    ) {
        guard case .linkLayer(let parameters) = update else { return }
        if connection.role == .peripheral, status == .unsupportedRemoteFeature {
            // The central's link layer does not know the request after all.
            return updateBySignaling(parameters, &core, &channels)
        }
        let isRejected = status == .unacceptableConnectionParameters
        endUpdate(isRejected ? .rejectedByPeer : .controller(status), &core, &channels)
    }

    mutating func updateAnswered(isAccepted: Bool, _ core: inout HostCore, _ channels: inout ChannelManager) {
        guard update == .asked else { return }
        endUpdate(isAccepted ? nil : .rejectedByPeer, &core, &channels)
    }

    mutating func updateNotAnswered(_ core: inout HostCore, _ channels: inout ChannelManager) {
        guard update == .asked else { return }
        endUpdate(.notAnswered, &core, &channels)
    }

    // MARK: What the peer wants

    /// The peripheral asks by signaling.
    mutating func parametersRequested(
        _ parameters: ConnectionParameters,
        identifier: UInt8,
        _ core: inout HostCore,
        _ channels: inout ChannelManager
    ) {
        let isAccepted = update == .none && core.configuration.acceptableParameters.accepts(parameters)
        channels.respondToUpdate(identifier, isAccepted: isAccepted, on: handle)
        guard isAccepted else { return }
        updateByLinkLayer(core.configuration.acceptableParameters.granted(parameters), &core)
    }
}
