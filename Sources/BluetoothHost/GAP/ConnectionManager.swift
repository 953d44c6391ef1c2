import BluetoothHCI

/// The connections, and the layers on top of them that are not in `HostCore`: L2CAP's channels and the Security Manager. It brings
/// packets to the layers and takes theirs to the controller, and lets each layer know what another one changed about a
/// connection.
struct ConnectionManager: Sendable {
    var links = ConnectionTable<LELink>()
    /// The credit-based channels and the signaling channel of all connections.
    var channels: ChannelManager
    /// Pairing, bonds and encryption on all connections; nil if this host does not pair.
    var security: SecurityManager?
    /// What the controller has room for.
    var transmission = ACLTransmission()
    /// The connections that may have something to send: all others have been asked since anything was changed at them.
    var mayHaveOutput: StirredConnections = []

    init(channels: ChannelManager, security: SecurityManager?) {
        self.channels = channels
        self.security = security
    }

    /// Where a connection is in `links`.
    func link(_ handle: ConnectionHandle) -> Int? { links.index(of: handle) }

    /// When a layer has something to do.
    var nextDeadline: Duration? {
        var deadline = channels.nextDeadline
        deadline.lower(to: security?.nextDeadline)
        return deadline
    }

    /// Lets time pass.
    mutating func advance(_ core: inout HostCore) {
        security?.advance(to: core.now)
        continueSecurity(&core)
        for handle in channels.advance(to: core.now) {
            if let index = link(handle) { links[index].updateNotAnswered(&core, &channels) }
        }
        passOnChannelEvents(&core)
    }

    /// The controller is started: these are its buffers.
    mutating func controllerReady(_ capabilities: ControllerCapabilities) {
        transmission = ACLTransmission(
            ACLBuffers(dataLength: capabilities.aclDataLength, total: capabilities.aclPacketCount)
        )
    }

    /// The controller is gone, or reset: all connections are gone.
    mutating func controllerLost(_ reason: HCIStatus, _ core: inout HostCore) {
        while let last = links.last { close(last.connection.handle, reason, &core) }
        transmission = ACLTransmission()
    }

    // MARK: What the owner wants

    mutating func disconnect(_ handle: ConnectionHandle, _ reason: HCIStatus, _ core: inout HostCore) {
        guard let index = link(handle), !links[index].isDisconnecting else { return }
        links[index].isDisconnecting = true
        core.send(Disconnect(handle: handle, reason: reason), for: .disconnect(handle))
    }

    mutating func setAuthorized(_ isAuthorized: Bool, _ handle: ConnectionHandle, _ core: inout HostCore) {
        guard let index = link(handle), links[index].connection.security.isAuthorized != isAuthorized else { return }
        var level = links[index].connection.security
        level.isAuthorized = isAuthorized
        setSecurity(level, index, &core)
    }

    /// Tells the layers how secure a connection is now, and then the owner.
    mutating func setSecurity(_ level: LinkSecurity, _ index: Int, _ core: inout HostCore) {
        links[index].connection.security = level
        channels.connectionChanged(links[index].connection)
        core.gatt.securityChanged(links[index].handle, to: level)
        core.emit(.securityChanged(links[index].handle, level))
    }

    // MARK: What the controller says

    /// A connection is made.
    /// - Parameter ownAddress: the address that it was made with; nil if the controller has yet to say it.
    mutating func made(_ new: LENewConnection, with ownAddress: LEAddress?, _ core: inout HostCore) {
        let hasOwnPrivate = new.localResolvableAddress != .zero
        let hasPeerPrivate = new.peerResolvableAddress != .zero
        let peerType = new.peer.type.withoutIdentity
        let connection = Connection(
            handle: new.handle,
            role: new.role,
            peer: LEAddress(type: peerType, address: new.peer.address),
            peerAddressOnAir: hasPeerPrivate
                ? .random(new.peerResolvableAddress) : LEAddress(type: peerType, address: new.peer.address),
            ownAddress: hasOwnPrivate ? .random(new.localResolvableAddress) : ownAddress ?? core.ownAddress,
            interval: new.interval,
            latency: new.latency,
            supervisionTimeout: new.supervisionTimeout
        )
        links.append(LELink(connection))
        if ownAddress != nil || hasOwnPrivate { announce(links.endIndex - 1, &core) }
    }

    /// The controller says which address a connection was made with.
    mutating func madeWith(_ ownAddress: LEAddress, _ handle: ConnectionHandle, _ core: inout HostCore) {
        guard let index = link(handle), !links[index].isAnnounced else { return }
        links[index].connection.ownAddress = ownAddress
        announce(index, &core)
    }

    /// Tells the owner about a connection, and lets it be used.
    mutating func announce(_ index: Int, _ core: inout HostCore) {
        guard !links[index].isAnnounced else { return }
        links[index].isAnnounced = true
        openSecurity(index)
        let connection = links[index].connection
        core.gatt.connectionOpened(connection.handle, security: connection.security, at: core.now)
        channels.connectionOpened(connection)
        core.emit(.connected(connection))
        readRemoteFeatures(index, &core)
    }

    mutating func disconnected(_ event: DisconnectionComplete, _ core: inout HostCore) {
        guard event.status == .success else {
            return core.report(.disconnectionFailed(event.handle, event.status))
        }
        guard link(event.handle) != nil else {
            return core.report(.unknownConnectionEnded(event.handle))
        }
        close(event.handle, event.reason, &core)
    }

    /// A connection is gone, and with it all that was on its way: its buffers are free again.
    mutating func close(_ handle: ConnectionHandle, _ reason: HCIStatus, _ core: inout HostCore) {
        guard let index = link(handle) else { return }
        let link = links.remove(at: index)
        transmission.remove(link: index, outstandingPackets: link.outstandingPackets)
        guard link.isAnnounced else { return }
        channels.connectionClosed(handle)
        passOnChannelEvents(&core)
        let state = core.gatt.connectionClosed(handle)
        security?.connectionClosed(handle)
        continueSecurity(&core)
        if let state, link.connection.security.isBonded { core.emit(.clientStateToKeep(handle, state)) }
        core.emit(.disconnected(handle, reason))
    }

    mutating func disconnectRefused(
        _ handle: ConnectionHandle,
        _ command: CommandQueue.Answered,
        _ status: HCIStatus,
        _ core: inout HostCore
    ) {
        // It may have ended by itself just then.
        guard let index = link(handle) else { return }
        links[index].isDisconnecting = false
        core.reportFailure(of: command, status)
    }

    func rssiRead(_ handle: ConnectionHandle, _ answer: CommandComplete, _ core: inout HostCore) {
        guard link(handle) != nil else { return }
        let outcome = try? answer.outcome(of: ReadRSSI.self)
        core.emit(.rssi(handle, dBm: outcome?.value?.rssiDBm))
    }
}
