import BluetoothHCI

/// A connection that is being made.
struct Initiation: Sendable {
    let peer: LEAddress
    let parameters: ConnectionParameters
    /// Whether the controller was told; if not, it is as soon as it is ready.
    var isBegun = false
}

/// Connections: making, knowing and ending them.
extension LEHost {
    /// Connects to a peer as soon as it advertises. `connected` or `connectionFailed` follows; one peer at a time.
    /// Before the controller is ready, connecting waits for it; if the controller is restarted, it fails.
    public mutating func connect(to peer: LEAddress, _ parameters: ConnectionParameters, at now: Duration) {
        self.now = max(self.now, now)
        guard parameters.areValid else { return emit(.connectionFailed(peer, .invalidHCICommandParameters)) }
        guard initiation == nil else { return emit(.connectionFailed(peer, .commandDisallowed)) }
        guard !links.contains(where: { $0.connection.peer == peer }) else {
            return emit(.connectionFailed(peer, .connectionAlreadyExists))
        }
        initiation = Initiation(peer: peer, parameters: parameters)
        if isReady { beginConnecting() }
    }

    /// Tells the controller to connect, if that is wanted.
    mutating func beginConnecting() {
        guard let peer = initiation?.peer, let parameters = initiation?.parameters else { return }
        initiation?.isBegun = true
        useOwnAddress()
        guard capabilities.usesExtendedCommands else {
            let command = LECreateConnection(
                scanInterval: configuration.connectScanInterval,
                scanWindow: configuration.connectScanWindow,
                filterPolicy: .peerAddress,
                peer: peer,
                ownAddressType: ownAddress.ownAddressType,
                parameters: parameters
            )
            return send(command, for: .connect)
        }
        let command = LEExtendedCreateConnection(
            filterPolicy: .peerAddress,
            ownAddressType: ownAddress.ownAddressType,
            peer: peer,
            le1M: LEExtendedCreateConnection.Initiation(
                scanInterval: configuration.connectScanInterval,
                scanWindow: configuration.connectScanWindow,
                parameters: parameters
            )
        )
        send(command, for: .connect)
    }

    /// Gives up connecting. `connectionFailed` follows, or `connected` if the peer was faster.
    public mutating func cancelConnecting(at now: Duration) {
        self.now = max(self.now, now)
        guard let initiation else { return }
        guard initiation.isBegun else { return initiationFailed(.operationCancelledByHost) }
        send(LECreateConnectionCancel(), for: .cancelConnecting)
    }

    /// Ends a connection. `disconnected` follows.
    public mutating func disconnect(
        _ handle: ConnectionHandle,
        reason: HCIStatus = .remoteUserTerminatedConnection,
        at now: Duration
    ) {
        self.now = max(self.now, now)
        guard let index = link(handle), !links[index].isDisconnecting else { return }
        links[index].isDisconnecting = true
        send(Disconnect(handle: handle, reason: reason), for: .disconnect(handle))
    }

    /// Says whether the user, or a policy, has authorized the peer of a connection: attributes and channels may require
    /// that.
    public mutating func setAuthorized(_ isAuthorized: Bool, _ handle: ConnectionHandle) {
        guard let index = link(handle), links[index].connection.security.isAuthorized != isAuthorized else { return }
        links[index].connection.security.isAuthorized = isAuthorized
        gatt.securityChanged(handle, to: links[index].connection.security)
        emit(.securityChanged(handle, links[index].connection.security))
    }

    /// Reads how strongly a peer is received. `rssi` follows.
    public mutating func readRSSI(_ handle: ConnectionHandle, at now: Duration) {
        self.now = max(self.now, now)
        guard link(handle) != nil else { return }
        send(ReadRSSI(handle: handle), for: .readRSSI(handle))
    }

    // MARK: What the controller says

    mutating func connectionCompleted(_ outcome: HCIOutcome<LENewConnection>) {
        switch outcome {
        case .success(let new): connectionMade(new)
        case .failure(.advertisingTimeout): directedAdvertisingEnded(.advertisingTimeout)
        case .failure(let status) where initiation == nil: connectableAdvertisingEnded(status)
        case .failure(let status): initiationFailed(status)
        }
    }

    mutating func initiationFailed(_ status: HCIStatus) {
        guard let failed = initiation else { return }
        initiation = nil
        // This is how a controller says that connecting was cancelled (Core 5.4, Vol 4, Part E, 7.8.13).
        let reason = status == .unknownConnectionIdentifier ? .operationCancelledByHost : status
        emit(.connectionFailed(failed.peer, reason))
    }

    private mutating func connectionMade(_ new: LENewConnection) {
        if link(new.handle) != nil {
            report(.connectionMadeTwice(new.handle))
            close(new.handle, .unspecifiedError)
        }
        if new.role == .central { initiation = nil } else { endAdvertisingBesides(new.handle) }
        let address = new.role == .central ? ownAddress : advertisingConnected(new.handle)
        let hasOwnPrivate = new.localResolvableAddress != .zero
        let hasPeerPrivate = new.peerResolvableAddress != .zero
        let peerType = new.peer.type.withoutIdentity
        let connection = Connection(
            handle: new.handle,
            role: new.role,
            peer: LEAddress(type: peerType, address: new.peer.address),
            peerAddressOnAir: hasPeerPrivate
                ? .random(new.peerResolvableAddress) : LEAddress(type: peerType, address: new.peer.address),
            ownAddress: hasOwnPrivate ? .random(new.localResolvableAddress) : address ?? ownAddress,
            interval: new.interval,
            latency: new.latency,
            supervisionTimeout: new.supervisionTimeout
        )
        links.append(LELink(connection))
        if address != nil || hasOwnPrivate { announce(links.endIndex - 1) }
    }

    /// Tells the owner about a connection, and lets it be used.
    mutating func announce(_ index: Int) {
        guard !links[index].isAnnounced else { return }
        links[index].isAnnounced = true
        openSecurity(index)
        let connection = links[index].connection
        gatt.connectionOpened(connection.handle, security: connection.security, at: now)
        channels.connectionOpened(connection.handle)
        emit(.connected(connection))
        readRemoteFeatures(index)
    }

    mutating func disconnected(_ event: DisconnectionComplete) {
        guard event.status == .success else {
            return report(.disconnectionFailed(event.handle, event.status))
        }
        guard link(event.handle) != nil else {
            return report(.unknownConnectionEnded(event.handle))
        }
        close(event.handle, event.reason)
    }

    /// A connection is gone, and with it all that was on its way: its buffers are free again.
    mutating func close(_ handle: ConnectionHandle, _ reason: HCIStatus) {
        guard let index = link(handle) else { return }
        let link = links.remove(at: index)
        if nextLinkToServe > index { nextLinkToServe -= 1 }
        buffers.giveBack(link.outstandingPackets)
        guard link.isAnnounced else { return }
        channels.connectionClosed(handle)
        passOnChannelEvents()
        let state = gatt.connectionClosed(handle)
        security?.connectionClosed(handle)
        continueSecurity()
        if let state, link.connection.security.isBonded { emit(.clientStateToKeep(handle, state)) }
        emit(.disconnected(handle, reason))
    }

    mutating func disconnectRefused(
        _ handle: ConnectionHandle,
        _ command: CommandQueue.Answered,
        _ status: HCIStatus
    ) {
        // It may have ended by itself just then.
        guard let index = link(handle) else { return }
        links[index].isDisconnecting = false
        reportFailure(of: command, status)
    }

    mutating func rssiRead(_ handle: ConnectionHandle, _ answer: CommandComplete) {
        guard link(handle) != nil else { return }
        let outcome = try? answer.outcome(of: ReadRSSI.self)
        emit(.rssi(handle, dBm: outcome?.value?.rssiDBm))
    }
}
