import BluetoothHCI

/// What passes between the Security Manager, the controller and the rest of the host.
extension LEHost {
    // MARK: Inbound

    mutating func receiveSecurity(_ payload: ArraySlice<UInt8>, _ index: Int) {
        let handle = links[index].connection.handle
        if security != nil {
            security?.receive(payload, on: handle, at: now)
            continueSecurity()
        } else if links[index].pairing.receive(payload) {
            report(.noSecurityManager(handle))
        }
    }

    mutating func longTermKeyRequested(_ request: LELongTermKeyRequest) {
        // The central may encrypt before it sends anything else. Without this the key would seem to be missing, which
        // phones take as a reason to forget the bond.
        if let index = link(request.handle) { announce(index) }
        guard security != nil else {
            return send(LELongTermKeyRequestNegativeReply(handle: request.handle), for: .other)
        }
        let name = LongTermKeyName(
            encryptedDiversifier: request.encryptedDiversifier,
            randomNumber: request.randomNumber
        )
        security?.longTermKeyRequested(on: request.handle, name: name)
        continueSecurity()
    }

    mutating func encryptionChanged(_ handle: ConnectionHandle, _ status: HCIStatus, isEncrypted: Bool) {
        if status != .success { report(.notEncrypted(handle, status)) }
        security?.encryptionChanged(on: handle, status: status, isEncrypted: isEncrypted, at: now)
        continueSecurity()
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

    /// Does what the Security Manager wants done, and passes on what it has to say.
    mutating func continueSecurity() {
        while let action = security?.nextAction() { perform(action) }
        while let event = security?.nextEvent() {
            if case .securityChanged(let handle, let level) = event {
                securityChanged(handle, level)
            } else {
                note(event)
                emit(.security(event))
            }
        }
    }

    /// Says in the log how pairings end, and knows a new bond's peer by its identity from now on.
    private mutating func note(_ event: SecurityEvent) {
        switch event {
        case .pairingCompleted(let handle, let summary):
            report(.paired(handle, summary.model, usesSecureConnections: summary.usesSecureConnections))
        case .pairingFailed(let handle, .notPairable):
            // The owner decides who may pair, and tells of the refusals.
            report(.pairingNotAllowed(handle))
        case .pairingFailed(let handle, let failure):
            report(.pairingFailed(handle, failure))
        case .bonded(let handle, let bond):
            if let index = link(handle) { links[index].connection.peer = bond.identity }
        case .prompt, .securityRequested, .encryptionFailed, .securityChanged:
            break
        }
    }

    private mutating func perform(_ action: SecurityAction) {
        switch action {
        case .enableEncryption(let handle, let name, let key):
            let command = LEEnableEncryption(
                handle: handle,
                randomNumber: name.randomNumber,
                encryptedDiversifier: name.encryptedDiversifier,
                longTermKey: key.value
            )
            send(command, for: .enableEncryption(handle))
        case .replyLongTermKey(let handle, let key):
            send(LELongTermKeyRequestReply(handle: handle, longTermKey: key.value), for: .other)
        case .rejectLongTermKeyRequest(let handle):
            send(LELongTermKeyRequestNegativeReply(handle: handle), for: .other)
        }
    }

    private mutating func securityChanged(_ handle: ConnectionHandle, _ level: LinkSecurity) {
        guard let index = link(handle) else { return }
        var level = level
        // Authorization is up to the owner.
        level.isAuthorized = links[index].connection.security.isAuthorized
        links[index].connection.security = level
        links[index].connection.peer = security?.identity(on: handle) ?? links[index].connection.peer
        gatt.securityChanged(handle, to: level)
        emit(.securityChanged(handle, level))
    }
}
