import BluetoothHCI

/// Connecting to a peer as soon as it advertises: one at a time.
struct ConnectionInitiator: Sendable {
    /// A connection that is being made.
    private struct Initiation: Sendable {
        let peer: LEAddress
        let parameters: ConnectionParameters
        /// Whether the controller was told; if not, it is as soon as it is ready.
        var isBegun = false
    }

    private var initiation: Initiation?

    /// Whether a connection is being made.
    var isConnecting: Bool { initiation != nil }

    /// - Parameter isConnected: whether there is a connection with the peer already.
    mutating func connect(
        to peer: LEAddress,
        _ parameters: ConnectionParameters,
        isConnected: Bool,
        _ core: inout HostCore
    ) {
        guard parameters.areValid else { return core.emit(.connectionFailed(peer, .invalidHCICommandParameters)) }
        guard initiation == nil else { return core.emit(.connectionFailed(peer, .commandDisallowed)) }
        guard !isConnected else { return core.emit(.connectionFailed(peer, .connectionAlreadyExists)) }
        initiation = Initiation(peer: peer, parameters: parameters)
        if core.isReady { begin(&core) }
    }

    /// Tells the controller to connect, if that is wanted.
    mutating func begin(_ core: inout HostCore) {
        guard let peer = initiation?.peer, let parameters = initiation?.parameters else { return }
        initiation?.isBegun = true
        core.useOwnAddress()
        guard core.capabilities.usesExtendedCommands else {
            let command = LECreateConnection(
                scanInterval: core.configuration.connectScanInterval,
                scanWindow: core.configuration.connectScanWindow,
                filterPolicy: .peerAddress,
                peer: peer,
                ownAddressType: core.ownAddress.ownAddressType,
                parameters: parameters
            )
            return core.send(command, for: .connect)
        }
        let command = LEExtendedCreateConnection(
            filterPolicy: .peerAddress,
            ownAddressType: core.ownAddress.ownAddressType,
            peer: peer,
            le1M: LEExtendedCreateConnection.Initiation(
                scanInterval: core.configuration.connectScanInterval,
                scanWindow: core.configuration.connectScanWindow,
                parameters: parameters
            )
        )
        core.send(command, for: .connect)
    }

    mutating func cancel(_ core: inout HostCore) {
        guard let initiation else { return }
        guard initiation.isBegun else { return failed(.operationCancelledByHost, &core) }
        core.send(LECreateConnectionCancel(), for: .cancelConnecting)
    }

    // MARK: What the controller says

    /// The connection is made.
    mutating func connected() { initiation = nil }

    mutating func failed(_ status: HCIStatus, _ core: inout HostCore) {
        guard let failed = initiation else { return }
        initiation = nil
        // This is how a controller says that connecting was cancelled (Core 5.4, Vol 4, Part E, 7.8.13).
        let reason = status == .unknownConnectionIdentifier ? .operationCancelledByHost : status
        core.emit(.connectionFailed(failed.peer, reason))
    }

    /// The controller is reset: what it was doing fails, and what waits for it goes on waiting.
    mutating func controllerLost(_ reason: HCIStatus, _ core: inout HostCore) {
        guard let lost = initiation, lost.isBegun else { return }
        initiation = nil
        core.emit(.connectionFailed(lost.peer, reason))
    }
}
