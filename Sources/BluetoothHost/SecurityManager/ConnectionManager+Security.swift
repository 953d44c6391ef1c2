import BluetoothHCI

/// What passes between the Security Manager, the controller and the other layers.
extension ConnectionManager {
    // MARK: Inbound

    mutating func receiveSecurity(_ payload: ArraySlice<UInt8>, _ index: Int, _ core: inout HostCore) {
        let handle = links[index].connection.handle
        if security != nil {
            security?.receive(payload, on: handle, at: core.now)
            continueSecurity(&core)
        } else if links[index].pairing.receive(payload) {
            core.report(.noSecurityManager(handle))
        }
    }

    mutating func longTermKeyRequested(_ request: LELongTermKeyRequest, _ core: inout HostCore) {
        // The central may encrypt before it sends anything else. Without this the key would seem to be missing, which
        // phones take as a reason to forget the bond.
        if let index = link(request.handle) { announce(index, &core) }
        guard security != nil else {
            return core.send(LELongTermKeyRequestNegativeReply(handle: request.handle), for: .other)
        }
        let name = LongTermKeyName(
            encryptedDiversifier: request.encryptedDiversifier,
            randomNumber: request.randomNumber
        )
        security?.longTermKeyRequested(on: request.handle, name: name)
        continueSecurity(&core)
    }

    mutating func encryptionChanged(
        _ handle: ConnectionHandle,
        _ status: HCIStatus,
        isEncrypted: Bool,
        _ core: inout HostCore
    ) {
        if status != .success { core.report(.notEncrypted(handle, status)) }
        security?.encryptionChanged(on: handle, status: status, isEncrypted: isEncrypted, at: core.now)
        continueSecurity(&core)
    }

    // MARK: Links

    /// Tells the Security Manager about a connection, and the connection what the Security Manager knows of the peer.
    mutating func openSecurity(_ index: Int) {
        guard security != nil else { return }
        let connection = links[index].connection
        security?.connectionOpened(
            connection.handle,
            role: connection.role == .central ? .initiator : .responder,
            ownAddress: connection.ownAddress,
            peerAddress: connection.peerAddressOnAir,
            resolvedIdentity: connection.peer == connection.peerAddressOnAir ? nil : connection.peer
        )
        links[index].connection.security = security?.security(of: connection.handle) ?? .none
        links[index].connection.peer = security?.identity(on: connection.handle) ?? connection.peer
    }

    // MARK: What the Security Manager wants

    /// Does what the Security Manager wants done, and passes on what it has to say. Inlined, since each packet asks, and mostly that is
    /// nothing.
    @inline(__always)
    mutating func continueSecurity(_ core: inout HostCore) {
        if security?.output.isEmpty == false { handOnSecurity(&core) }
    }

    private mutating func handOnSecurity(_ core: inout HostCore) {
        while let action = security?.nextAction() { perform(action, &core) }
        while let event = security?.nextEvent() {
            if case .securityChanged(let handle, let level) = event {
                securityChanged(handle, level, &core)
            } else {
                note(event, &core)
                core.emit(.security(event))
            }
        }
    }

    /// Says in the log how pairings end, and knows a new bond's peer by its identity from now on.
    private mutating func note(_ event: SecurityEvent, _ core: inout HostCore) {
        switch event {
        case .pairingCompleted(let handle, let summary):
            core.report(.paired(handle, summary.model, usesSecureConnections: summary.usesSecureConnections))
        case .pairingFailed(let handle, .notPairable):
            // The owner decides who may pair, and tells of the refusals.
            core.report(.pairingNotAllowed(handle))
        case .pairingFailed(let handle, let failure):
            core.report(.pairingFailed(handle, failure))
        case .bonded(let handle, let bond):
            if let index = link(handle) { links[index].connection.peer = bond.identity }
        case .prompt, .securityRequested, .encryptionFailed, .securityChanged:
            break
        }
    }

    private func perform(_ action: SecurityAction, _ core: inout HostCore) {
        switch action {
        case .enableEncryption(let handle, let name, let key):
            let command = LEEnableEncryption(
                handle: handle,
                randomNumber: name.randomNumber,
                encryptedDiversifier: name.encryptedDiversifier,
                longTermKey: key.value
            )
            core.send(command, for: .enableEncryption(handle))
        case .replyLongTermKey(let handle, let key):
            core.send(LELongTermKeyRequestReply(handle: handle, longTermKey: key.value), for: .other)
        case .rejectLongTermKeyRequest(let handle):
            core.send(LELongTermKeyRequestNegativeReply(handle: handle), for: .other)
        }
    }

    private mutating func securityChanged(_ handle: ConnectionHandle, _ level: LinkSecurity, _ core: inout HostCore) {
        guard let index = link(handle) else { return }
        var level = level
        // Authorization is up to the owner.
        level.isAuthorized = links[index].connection.security.isAuthorized
        links[index].connection.peer = security?.identity(on: handle) ?? links[index].connection.peer
        setSecurity(level, index, &core)
    }
}
