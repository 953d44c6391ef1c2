import BluetoothHCI

/// Pairings: how they begin, what the peer and the user have to say, how they end.
extension SecurityManager {
    // MARK: Calls of the owner

    /// Pairs with the peer of a link, whether or not there is a bond; only the central can.
    ///
    /// `pairingCompleted` or `pairingFailed` follows. An old bond is replaced when, and only if, the pairing completes.
    public mutating func pair(_ handle: ConnectionHandle, at now: Duration) throws(SecurityRefusal) {
        let now = time.tell(now)
        guard var link = links[handle] else { throw .unknownConnection }
        guard link.role == .initiator else { throw .wrongRole }
        try link.checkMayPair(attempts, at: now)
        let methods = configuration.pairingMethods
        let request = configuration.pairingRequest(
            hasOutOfBandData: methods.includeSecureConnections
                && outOfBand.knows(link.peerAddress, secureConnections: true)
                || methods.includeLegacy && outOfBand.knows(link.peerAddress, secureConnections: false)
        )
        link.begin(.pairingRequested(request), at: now)
        link.send(.pairingRequest(request), at: now)
        links[handle] = link
    }

    /// Asks the central of a link for security: it may encrypt with a key that it has, or pair. Only the peripheral
    /// can ask.
    public mutating func sendSecurityRequest(_ handle: ConnectionHandle, at now: Duration) throws(SecurityRefusal) {
        let now = time.tell(now)
        guard var link = links[handle] else { throw .unknownConnection }
        guard link.role == .responder else { throw .wrongRole }
        try link.checkMayPair(attempts, at: now)
        guard link.procedure == nil else { throw .busy }
        guard isPairable || link.identity != nil else { throw .notPairable }
        link.begin(.securityRequestSent, at: now)
        link.send(.securityRequest(configuration.authenticationRequirements), at: now)
        links[handle] = link
    }

    /// Tells a peripheral that asked for security (`SecurityEvent.securityRequested`) that there will be no pairing.
    public mutating func rejectSecurityRequest(_ handle: ConnectionHandle, at now: Duration) {
        let now = time.tell(now)
        guard var link = links[handle], case .securityRequestReceived = link.procedure else { return }
        link.send(.pairingFailed(.pairingNotSupported), at: now)
        link.endProcedure()
        links[handle] = link
    }

    /// Stops the pairing that is going on, and tells the peer.
    public mutating func cancelPairing(_ handle: ConnectionHandle, at now: Duration) {
        let now = time.tell(now)
        guard var link = links[handle], link.isPairing else { return }
        link.refuse(link.pairing?.rejectionReason ?? .unspecifiedReason, &attempts, &output, at: now)
        links[handle] = link
    }

    /// Answers a prompt.
    /// - Returns: false if the prompt does not stand any more, or the answer does not fit it.
    @discardableResult
    public mutating func answer(_ id: PairingPrompt.ID, with answer: PairingAnswer, at now: Duration) -> Bool {
        let now = time.tell(now)
        let handle = id.connection
        guard var link = links[handle], var pairing = link.pairing, let prompt = link.prompt, prompt.id == id else {
            return false
        }
        var step = PairingOutput()
        do throws(PairingFailedReason) {
            switch (prompt.kind, answer) {
            case (_, .reject): throw pairing.rejectionReason
            case (.confirmPairing, .accept): try pairing.begin(&randomness, &step)
            case (.confirmPairing, .acceptUnseen): try pairing.begin(&randomness, &step)
            case (.numericComparison, .accept): pairing.confirmComparison(by: .person, &step)
            case (.numericComparison, .acceptUnseen):
                pairing.confirmComparison(by: .device, &step)
                // What this device insists on has to hold without a person's comparison.
                try configuration.check(pairing)
                try bondList.check(pairing.strength, on: link)
            case (.requestPasskey, .passkey(let passkey)): try pairing.enter(passkey, &randomness, &step)
            case (.confirmPairing, .passkey), (.numericComparison, .passkey), (.displayPasskey, _),
                (.requestPasskey, .accept),
                (.requestPasskey, .acceptUnseen):
                return false
            }
            link.prompt = nil
            link.update(pairing)
            link.perform(step, &output, at: now)
        } catch {
            link.refuse(error, &attempts, &output, at: now)
        }
        links[handle] = link
        return true
    }

    // MARK: Commands of the peer

    /// Takes a command of the peer. What is thrown is what the peer is to be told.
    mutating func handlePDU(
        _ pdu: SMPPDU,
        on link: inout SecurityLink,
        at now: Duration
    ) throws(PairingFailedReason) {
        switch pdu {
        case .pairingFailed(let reason):
            link.fail(.refusedByPeer(reason), &attempts, &output, at: now)
        case .pairingRequest(let request):
            guard link.role == .responder else { throw .commandNotSupported }
            try handlePairingRequest(request, on: &link, at: now)
        case .pairingResponse(let response):
            guard link.role == .initiator else { throw .commandNotSupported }
            try handlePairingResponse(response, on: &link, at: now)
        case .securityRequest(let requirements):
            guard link.role == .initiator else { throw .commandNotSupported }
            try handleSecurityRequest(requirements, on: &link, at: now)
        case .keypressNotification:
            guard case .passkeyEntry = link.pairing?.context.terms.model else { throw .unspecifiedReason }
            // The other user is busy typing, so there is more time (3.4).
            link.restartTimer(at: now)
        case .pairingConfirm, .pairingRandom, .encryptionInformation, .centralIdentification, .identityInformation,
            .identityAddressInformation, .signingInformation, .pairingPublicKey, .pairingDHKeyCheck:
            guard var pairing = link.pairing else { throw .unspecifiedReason }
            var step = PairingOutput()
            try pairing.receive(pdu, &randomness, &step)
            link.update(pairing)
            link.perform(step, &output, at: now)
            try completeIfPossible(&link, at: now)
        }
    }

    private mutating func handlePairingRequest(
        _ request: PairingFeatures,
        on link: inout SecurityLink,
        at now: Duration
    ) throws(PairingFailedReason) {
        // One pairing at a time: a peer that begins another one has given up the first, or is up to something.
        if link.isPairing { throw .unspecifiedReason }
        if attempts.waitingTime(of: link.peer, at: now) != nil { throw .repeatedAttempts }
        guard mayPair(link) else { throw .pairingNotSupported }
        let hasOutOfBandData = outOfBand.knows(
            link.peerAddress,
            secureConnections: request.authentication.contains(.secureConnections)
                && configuration.pairingMethods.includeSecureConnections
        )
        let response = configuration.pairingResponse(to: request, hasOutOfBandData: hasOutOfBandData)
        var pairing = try makePairing(PairingTerms(request: request, response: response), on: link)
        var step = PairingOutput()
        if pairing.context.terms.model == .justWorks && configuration.confirmsJustWorks {
            step.prompt = .confirmPairing
        } else {
            try pairing.begin(&randomness, &step)
        }
        link.begin(.pairing(pairing), at: now)
        link.perform(step, &output, at: now)
    }

    private mutating func handlePairingResponse(
        _ response: PairingFeatures,
        on link: inout SecurityLink,
        at now: Duration
    ) throws(PairingFailedReason) {
        guard case .pairingRequested(let request) = link.procedure else { throw .unspecifiedReason }
        // The responder must not ask for, or promise, keys that were not in the request (3.6.1).
        guard
            response.initiatorKeys.isSubset(of: request.initiatorKeys),
            response.responderKeys.isSubset(of: request.responderKeys)
        else { throw .invalidParameters }
        var pairing = try makePairing(PairingTerms(request: request, response: response), on: link)
        var step = PairingOutput()
        try pairing.begin(&randomness, &step)
        link.begin(.pairing(pairing), at: now)
        link.perform(step, &output, at: now)
    }

    private mutating func handleSecurityRequest(
        _ requirements: AuthenticationRequirements,
        on link: inout SecurityLink,
        at now: Duration
    ) throws(PairingFailedReason) {
        // It crossed our Pairing Request, or asks for what is already being done (2.4.6).
        if link.isPairing || link.keySource != nil { return }
        if attempts.waitingTime(of: link.peer, at: now) != nil { throw .repeatedAttempts }
        link.begin(.securityRequestReceived, at: now)
        let bond = bondList.usable(on: link, configuration)
        let isEnough = bond.map { $0.isAuthenticated || !requirements.contains(.mitm) } ?? false
        if isEnough && link.encrypt(with: bond, &output) { return }
        guard mayPair(link) else { throw .pairingNotSupported }
        output.report(.securityRequested(link.handle, requirements))
    }

    // MARK: From features to a pairing

    /// Whether the peer of a link may pair: because it has proved who it is, or because anybody may and there is room for
    /// its bond.
    func mayPair(_ link: SecurityLink) -> Bool {
        if link.provenIdentity != nil { return true }
        return isPairable && (link.identity != nil || bondList.count < configuration.maximumBondCount)
    }

    /// Checks what both devices agree on against what this one insists on, and makes ready for phase 2.
    private mutating func makePairing(
        _ terms: PairingTerms,
        on link: SecurityLink
    ) throws(PairingFailedReason) -> Pairing {
        try configuration.check(terms, as: link.role)
        // Who holds the key has nothing to gain by a link that is not bonded, and would lose what the bond gives it.
        if link.provenIdentity != nil && !terms.isBonding { throw .authenticationRequirements }
        try bondList.check(BondStrength(terms, isAuthenticated: terms.isAuthenticated), on: link)
        var materials = Pairing.Materials(toolbox: toolbox)
        materials.localIdentity = configuration.identity
        materials.allowsDebugKey = configuration.debugKeys != .refused
        if terms.usesSecureConnections {
            materials.keyPair =
                configuration.debugKeys == .used
                ? P256KeyPair.debug(toolbox) : P256KeyPair(from: &randomness, toolbox)
        }
        if terms.model == .outOfBand { try outOfBand.add(to: &materials, terms, on: link) }
        let context = PairingContext(
            role: link.role,
            initiator: link.initiatorAddress,
            responder: link.responderAddress,
            terms: terms
        )
        return Pairing(context, materials)
    }

    // MARK: The end

    /// Ends a pairing in which all keys went both ways.
    mutating func completeIfPossible(_ link: inout SecurityLink, at now: Duration) throws(PairingFailedReason) {
        guard let pairing = link.pairing, let result = pairing.result else { return }
        let terms = pairing.context.terms
        let limit = configuration.maximumBondCount
        let bond = try bondList.bond(from: result, of: pairing, on: link, limit: limit)
        attempts.succeeded(link.peer)
        outOfBand.used(in: terms, on: link)
        link.endProcedure()
        output.report(
            .pairingCompleted(
                link.handle,
                PairingSummary(
                    model: terms.model,
                    usesSecureConnections: terms.usesSecureConnections,
                    isAuthenticated: pairing.isAuthenticated,
                    keySize: terms.keySize,
                    bondedIdentity: bond?.identity,
                    replacesKey: bond.map { bondList.contains($0.identity) } ?? false,
                    isAcknowledged: !terms.keys(from: link.role.other).isEmpty
                )
            )
        )
        guard let bond else { return }
        bondList.insert(bond, isStored: false)
        link.identity = bond.identity
        link.provenIdentity = bond.identity
        noteSecurity(link.security, of: &link)
        output.report(.bonded(link.handle, bond))
    }
}
