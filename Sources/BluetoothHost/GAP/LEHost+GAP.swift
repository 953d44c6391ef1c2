import BluetoothHCI

/// The Generic Access Profile: what the owner wants on the air, and of connections.
extension LEHost {
    // MARK: Advertising and scanning

    /// Puts a set on the air, in place of the one with the same identifier if there is one.
    ///
    /// If only the data differ from what is on the air, advertising goes on without a gap. A controller without
    /// extended advertising has one set at a time. `advertisingStarted` or `advertisingFailed` follows; before the
    /// controller is ready, the set waits for it.
    public mutating func startAdvertising(_ set: AdvertisingSet, at now: Duration) {
        core.tell(now)
        advertising.start(set, &core)
    }

    /// Takes a set off the air. `advertisingEnded` follows if it was there, or on its way there.
    public mutating func stopAdvertising(_ id: AdvertisingSetID, at now: Duration) {
        core.tell(now)
        advertising.stop(id, &core)
    }

    /// Listens for advertisements, in the new way if it does already. `scanningStarted` or `scanningFailed` follows;
    /// before the controller is ready, it waits for it.
    public mutating func startScanning(_ parameters: ScanParameters, at now: Duration) {
        core.tell(now)
        scanner.start(parameters, &core)
    }

    /// Stops listening for advertisements.
    ///
    /// If scanning is on, or the controller is being told to begin, the controller is told to stop. `scanningEnded` follows
    /// when it answers, even if it refuses. No event follows in these cases: scanning is off; the controller is not ready yet;
    /// it is lost or restarted before it answers; the queue of commands is full.
    public mutating func stopScanning(at now: Duration) {
        core.tell(now)
        scanner.stop(&core)
    }

    // MARK: Connections

    /// The connections there are, oldest first.
    public var connections: [Connection] {
        connectionManager.links.lazy.filter { $0.isAnnounced }.map { $0.connection }
    }

    /// A connection; nil if there is none of that handle.
    public func connection(_ handle: ConnectionHandle) -> Connection? {
        connectionManager.link(handle).map { connectionManager.links[$0].connection }
    }

    /// What has gone over a connection; nil if there is none of that handle.
    package func traffic(on handle: ConnectionHandle) -> LinkTraffic? {
        connectionManager.link(handle).map { connectionManager.links[$0].traffic }
    }

    /// Whether a peer may still wait for something that was queued for it: an answer is not complete, or the controller
    /// still has packets that the peer has not acknowledged.
    public func hasUnsentData(_ handle: ConnectionHandle) -> Bool {
        guard let index = connectionManager.link(handle) else { return false }
        let link = connectionManager.links[index]
        return link.outstandingPackets > 0 || link.outbound.isActive || gatt.hasRequestUnderWay(on: handle)
    }

    /// Connects to a peer as soon as it advertises. `connected` or `connectionFailed` follows; one peer at a time.
    /// Before the controller is ready, connecting waits for it; if the controller is restarted, it fails.
    public mutating func connect(to peer: LEAddress, _ parameters: ConnectionParameters, at now: Duration) {
        core.tell(now)
        let isConnected = connectionManager.links.contains { $0.connection.peer == peer }
        initiator.connect(to: peer, parameters, isConnected: isConnected, &core)
    }

    /// Gives up connecting. `connectionFailed` follows, or `connected` if the peer was faster.
    public mutating func cancelConnecting(at now: Duration) {
        core.tell(now)
        initiator.cancel(&core)
    }

    /// Ends a connection. `disconnected` follows.
    public mutating func disconnect(
        _ handle: ConnectionHandle,
        reason: HCIStatus = .remoteUserTerminatedConnection,
        at now: Duration
    ) {
        core.tell(now)
        connectionManager.disconnect(handle, reason, &core)
    }

    /// Says whether the user, or a policy, has authorized the peer of a connection: attributes and channels may require
    /// that.
    public mutating func setAuthorized(_ isAuthorized: Bool, _ handle: ConnectionHandle) {
        connectionManager.setAuthorized(isAuthorized, handle, &core)
    }

    /// Reads how strongly a peer is received. `rssi` follows.
    public mutating func readRSSI(_ handle: ConnectionHandle, at now: Duration) {
        core.tell(now)
        connectionManager.readRSSI(handle, &core)
    }

    /// Changes the parameters of a connection: a central does, a peripheral asks, by the link layer if both sides can
    /// and by signaling if not. `parametersUpdated` or `parametersUpdateFailed` follows. While a change is under way,
    /// the last one wanted waits.
    public mutating func requestParameters(
        _ handle: ConnectionHandle,
        _ parameters: ConnectionParameters,
        at now: Duration
    ) {
        core.tell(now)
        connectionManager.requestParameters(handle, parameters, &core)
    }

    /// Suggests how much one link layer packet of a connection may carry. `dataLengthUpdated` follows if it changes.
    public mutating func setDataLength(_ handle: ConnectionHandle, transmit: DataLength, at now: Duration) {
        core.tell(now)
        connectionManager.setDataLength(handle, transmit: transmit, &core)
    }

    /// Asks for other PHYs on a connection. `phyUpdated` follows.
    public mutating func setPHY(
        _ handle: ConnectionHandle,
        _ preferences: PHYPreferences,
        options: PHYOptions = [],
        at now: Duration
    ) {
        core.tell(now)
        connectionManager.setPHY(handle, preferences, options, &core)
    }
}
