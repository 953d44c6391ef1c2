import BluetoothHCI

/// What can be changed about a connection: its parameters, its packets' length, its PHYs.
extension LEHost {
    /// Changes the parameters of a connection: a central does, a peripheral asks, by the link layer if both sides can
    /// and by signaling if not. `parametersUpdated` or `parametersUpdateFailed` follows. While a change is under way,
    /// the last one wanted waits.
    public mutating func requestParameters(
        _ handle: ConnectionHandle,
        _ parameters: ConnectionParameters,
        at now: Duration
    ) {
        self.now = max(self.now, now)
        guard let index = link(handle) else { return }
        guard parameters.areValid else { return emit(.parametersUpdateFailed(handle, .invalid)) }
        links[index].wantedParameters = parameters
        continueUpdate(index)
    }

    /// Suggests how much one link layer packet of a connection may carry. `dataLengthUpdated` follows if it changes.
    public mutating func setDataLength(_ handle: ConnectionHandle, transmit: DataLength, at now: Duration) {
        self.now = max(self.now, now)
        guard link(handle) != nil, capabilities.supportsDataLengthExtension else { return }
        send(LESetDataLength(handle: handle, transmit: transmit), for: .other)
    }

    /// Asks for other PHYs on a connection. `phyUpdated` follows.
    public mutating func setPHY(
        _ handle: ConnectionHandle,
        _ preferences: PHYPreferences,
        options: PHYOptions = [],
        at now: Duration
    ) {
        self.now = max(self.now, now)
        guard link(handle) != nil else { return }
        guard capabilities.supportsPHYChange else {
            return emit(.phyUpdated(handle, .failure(.unsupportedFeatureOrParameterValue)))
        }
        send(LESetPHY(handle: handle, preferences: preferences, options: options), for: .setPHY(handle))
    }

    // MARK: Parameters that this side wants

    /// Begins the change that is wanted, if none is under way.
    private mutating func continueUpdate(_ index: Int) {
        guard links[index].update == .none, !links[index].isReadingRemoteFeatures,
            let wanted = links[index].wantedParameters
        else { return }
        links[index].wantedParameters = nil
        let features = links[index].connection.remoteFeatures ?? []
        let isPossibleByLinkLayer =
            links[index].connection.role == .central
            || (capabilities.supportsParameterRequest && features.contains(.connectionParametersRequest))
        if isPossibleByLinkLayer {
            updateByLinkLayer(index, wanted)
        } else {
            updateBySignaling(index, wanted)
        }
    }

    private mutating func updateByLinkLayer(_ index: Int, _ parameters: ConnectionParameters) {
        let handle = links[index].connection.handle
        links[index].update = .linkLayer(parameters)
        send(LEConnectionUpdate(handle: handle, parameters: parameters), for: .updateParameters(handle))
    }

    private mutating func updateBySignaling(_ index: Int, _ parameters: ConnectionParameters) {
        links[index].update = .asked
        links[index].signaling.requestUpdate(parameters, at: now)
    }

    /// Ends the change that is under way, and begins the next one that is wanted.
    private mutating func endUpdate(_ index: Int, _ failure: ParameterUpdateFailure?) {
        links[index].update = .none
        if let failure { emit(.parametersUpdateFailed(links[index].connection.handle, failure)) }
        continueUpdate(index)
    }

    /// The controller did not begin the change, or it did not happen.
    mutating func updateRefused(_ handle: ConnectionHandle, _ status: HCIStatus) {
        guard let index = link(handle), case .linkLayer(let parameters) = links[index].update else { return }
        if links[index].connection.role == .peripheral, status == .unsupportedRemoteFeature {
            // The central's link layer does not know the request after all.
            return updateBySignaling(index, parameters)
        }
        endUpdate(index, status == .unacceptableConnectionParameters ? .rejectedByPeer : .controller(status))
    }

    mutating func updateAnswered(_ index: Int, isAccepted: Bool) {
        guard links[index].update == .asked else { return }
        endUpdate(index, isAccepted ? nil : .rejectedByPeer)
    }

    mutating func updateNotAnswered(_ index: Int) {
        guard links[index].update == .asked else { return }
        endUpdate(index, .notAnswered)
    }

    // MARK: Parameters that the peer wants

    /// The peripheral asks by signaling.
    mutating func parametersRequested(_ index: Int, _ parameters: ConnectionParameters, identifier: UInt8) {
        let isAccepted = links[index].update == .none && configuration.acceptableParameters.accepts(parameters)
        links[index].signaling.respondToUpdate(identifier, isAccepted: isAccepted)
        guard isAccepted else { return }
        updateByLinkLayer(index, configuration.acceptableParameters.granted(parameters))
    }

    /// The peer asks by the link layer.
    mutating func parametersRequested(_ request: LERemoteConnectionParameterRequest) {
        let parameters = ConnectionParameters(
            intervalMinimum: request.intervalMinimum,
            intervalMaximum: request.intervalMaximum,
            latency: request.latency,
            supervisionTimeout: request.supervisionTimeout
        )
        guard link(request.handle) != nil, configuration.acceptableParameters.accepts(parameters) else {
            let reply = LERemoteConnectionParameterRequestNegativeReply(
                handle: request.handle,
                reason: .unacceptableConnectionParameters
            )
            return send(reply, for: .other)
        }
        let reply = LERemoteConnectionParameterRequestReply(
            handle: request.handle,
            parameters: configuration.acceptableParameters.granted(parameters)
        )
        send(reply, for: .other)
    }

    // MARK: What the controller says

    mutating func parametersChanged(_ event: LEConnectionUpdateComplete) {
        guard let index = link(event.handle) else { return }
        guard event.status == .success else { return updateRefused(event.handle, event.status) }
        links[index].connection.interval = event.interval
        links[index].connection.latency = event.latency
        links[index].connection.supervisionTimeout = event.supervisionTimeout
        emit(.parametersUpdated(event.handle))
        if case .linkLayer = links[index].update { endUpdate(index, nil) }
    }

    mutating func dataLengthChanged(_ event: LEDataLengthChange) {
        guard let index = link(event.handle) else { return }
        links[index].connection.transmitLength = event.transmit
        links[index].connection.receiveLength = event.receive
        emit(.dataLengthUpdated(event.handle))
    }

    mutating func phyChanged(_ event: LEPHYUpdateComplete) {
        guard let index = link(event.handle) else { return }
        if let phys = event.outcome.value { links[index].connection.phys = phys }
        emit(.phyUpdated(event.handle, event.outcome))
    }

    // MARK: The peer's features

    /// Asks what the peer's link layer can do, if this side may: a peripheral only if its controller can.
    mutating func readRemoteFeatures(_ index: Int) {
        let isAllowed =
            links[index].connection.role == .central
            || capabilities.features.contains(.peripheralInitiatedFeaturesExchange)
        let handle = links[index].connection.handle
        guard isAllowed, capabilities.commands.contains(LEReadRemoteFeatures.id) else {
            return emit(.remoteFeaturesRead(handle, nil))
        }
        links[index].isReadingRemoteFeatures = true
        send(LEReadRemoteFeatures(handle: handle), for: .readRemoteFeatures(handle))
    }

    mutating func remoteFeaturesRead(_ handle: ConnectionHandle, _ features: LEFeatures?) {
        guard let index = link(handle) else { return }
        links[index].connection.remoteFeatures = features ?? links[index].connection.remoteFeatures
        links[index].isReadingRemoteFeatures = false
        emit(.remoteFeaturesRead(handle, features))
        continueUpdate(index)
    }
}
