import BluetoothHCI
import DequeModule

/// Pairings: how they begin, what the peer and the user have to say, how they end.
extension SecurityManager {
    // MARK: Calls of the owner

    /// Pairs with the peer of a link, whether or not there is a bond; only the central can.
    ///
    /// An old bond is replaced when, and only if, the pairing completes.
    package mutating func pair(_ handle: ConnectionHandle, at now: Duration) throws(SecurityRefusal) {
        guard var link = links[handle] else { throw .unknownConnection }
        guard link.role == .initiator else { throw .wrongRole }
        try checkMayBegin(link, at: now)
        let outOfBand = peerOutOfBandData[link.peerAddress]
        let methods = configuration.pairingMethods
        let request = configuration.pairingRequest(
            hasOutOfBandData: methods.includeSecureConnections && outOfBand?.secureConnections != nil
                || methods.includeLegacy && outOfBand?.temporaryKey != nil
        )
        link.begin(.pairingRequested(request), at: now)
        link.send(.pairingRequest(request), at: now)
        links[handle] = link
    }

    /// Asks the central of a link for security: it may encrypt with a key that it has, or pair. Only the peripheral
    /// can ask.
    package mutating func sendSecurityRequest(_ handle: ConnectionHandle, at now: Duration) throws(SecurityRefusal) {
        guard var link = links[handle] else { throw .unknownConnection }
        guard link.role == .responder else { throw .wrongRole }
        try checkMayBegin(link, at: now)
        guard link.procedure == nil else { throw .busy }
        guard isPairable || link.identity != nil else { throw .notPairable }
        link.begin(.securityRequestSent, at: now)
        link.send(.securityRequest(configuration.authenticationRequirements), at: now)
        links[handle] = link
    }

    /// Tells a peripheral that asked for security that there will be no pairing.
    package mutating func rejectSecurityRequest(_ handle: ConnectionHandle, at now: Duration) {
        guard var link = links[handle], case .securityRequestReceived = link.procedure else { return }
        link.send(.pairingFailed(.pairingNotSupported), at: now)
        link.endProcedure()
        links[handle] = link
    }

    /// Stops the pairing that is going on, and tells the peer.
    package mutating func cancelPairing(_ handle: ConnectionHandle, at now: Duration) {
        guard var link = links[handle], link.isPairing else { return }
        refuse(link.pairing?.rejectionReason ?? .unspecifiedReason, on: &link, at: now)
        links[handle] = link
    }

    /// Answers a prompt.
    /// - Returns: false if the prompt does not stand any more, or the answer does not fit it.
    @discardableResult
    package mutating func answer(_ id: PairingPrompt.ID, with answer: PairingAnswer, at now: Duration) -> Bool {
        let handle = id.connection
        guard var link = links[handle], var pairing = link.pairing, let prompt = link.prompt, prompt.id == id else {
            return false
        }
        var output = PairingOutput()
        do throws(PairingFailedReason) {
            switch (prompt.kind, answer) {
            case (_, .reject): throw pairing.rejectionReason
            case (.confirmPairing, .accept): try pairing.begin(&randomness, &output)
            case (.confirmPairing, .acceptUnseen): try pairing.begin(&randomness, &output)
            case (.numericComparison, .accept): pairing.confirmComparison(by: .person, &output)
            case (.numericComparison, .acceptUnseen):
                pairing.confirmComparison(by: .device, &output)
                try checkStrength(of: pairing, on: link)
            case (.requestPasskey, .passkey(let passkey)): try pairing.enter(passkey, &randomness, &output)
            case (.confirmPairing, .passkey), (.numericComparison, .passkey), (.displayPasskey, _),
                (.requestPasskey, .accept),
                (.requestPasskey, .acceptUnseen):
                return false
            }
            link.prompt = nil
            link.update(pairing)
            perform(output, on: &link, at: now)
        } catch {
            refuse(error, on: &link, at: now)
        }
        links[handle] = link
        return true
    }

    private func checkMayBegin(_ link: SecurityLink, at now: Duration) throws(SecurityRefusal) {
        if link.hasTimedOut { throw .timedOut }
        if link.isPairing || link.keySource != nil { throw .busy }
        if let end = attempts.waitingTime(of: link.peer, at: now) { throw .tooSoon(until: end) }
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
            peerFailed(reason, on: &link, at: now)
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
            var output = PairingOutput()
            try pairing.receive(pdu, &randomness, &output)
            link.update(pairing)
            perform(output, on: &link, at: now)
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
        let knowledge = outOfBandKnowledge(
            of: link,
            secureConnections: request.authentication.contains(.secureConnections)
                && configuration.pairingMethods.includeSecureConnections
        )
        let response = configuration.pairingResponse(to: request, hasOutOfBandData: knowledge != nil)
        var pairing = try makePairing(PairingTerms(request: request, response: response), on: link)
        var output = PairingOutput()
        if pairing.context.terms.model == .justWorks && configuration.confirmsJustWorks {
            output.prompt = .confirmPairing
        } else {
            try pairing.begin(&randomness, &output)
        }
        link.begin(.pairing(pairing), at: now)
        perform(output, on: &link, at: now)
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
        var output = PairingOutput()
        try pairing.begin(&randomness, &output)
        link.begin(.pairing(pairing), at: now)
        perform(output, on: &link, at: now)
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
        let isEnough = usableBond(of: link).map { $0.isAuthenticated || !requirements.contains(.mitm) } ?? false
        if isEnough && encryptWithStoredKey(&link) { return }
        guard mayPair(link) else { throw .pairingNotSupported }
        events.append(.securityRequested(link.handle, requirements))
    }

    private mutating func peerFailed(_ reason: PairingFailedReason, on link: inout SecurityLink, at now: Duration) {
        guard link.procedure != nil else { return }
        if link.pairing != nil { attempts.failed(link.peer, at: now) }
        link.endProcedure()
        events.append(.pairingFailed(link.handle, .refusedByPeer(reason)))
    }

    // MARK: From features to a pairing

    /// Whether the peer of a link may pair: because it has proved who it is, or because anybody may and there is room for
    /// its bond.
    func mayPair(_ link: SecurityLink) -> Bool {
        if link.provenIdentity != nil { return true }
        return isPairable && (link.identity != nil || bondList.count < configuration.maximumBondCount)
    }

    /// What is known about the peer out of band that this kind of pairing can use.
    private func outOfBandKnowledge(of link: SecurityLink, secureConnections: Bool) -> PeerOutOfBandData? {
        guard let data = peerOutOfBandData[link.peerAddress] else { return nil }
        let isUsable = secureConnections ? data.secureConnections != nil : data.temporaryKey != nil
        return isUsable ? data : nil
    }

    /// Checks what both devices agree on against what this one insists on, and makes ready for phase 2.
    private mutating func makePairing(
        _ terms: PairingTerms,
        on link: SecurityLink
    ) throws(PairingFailedReason) -> Pairing {
        try configuration.check(terms, as: link.role)
        // Who holds the key has nothing to gain by a link that is not bonded, and would lose what the bond gives it.
        if link.provenIdentity != nil && !terms.isBonding { throw .authenticationRequirements }
        try checkStrength(BondStrength(terms, isAuthenticated: terms.isAuthenticated), on: link)
        var materials = Pairing.Materials(toolbox: toolbox)
        materials.localIdentity = configuration.identity
        materials.allowsDebugKey = configuration.debugKeys != .refused
        let knowledge = outOfBandKnowledge(of: link, secureConnections: terms.usesSecureConnections)
        if terms.usesSecureConnections {
            materials.keyPair =
                configuration.debugKeys == .used
                ? P256KeyPair.debug(toolbox) : P256KeyPair(from: &randomness, toolbox)
            if terms.model == .outOfBand { try addOutOfBandData(to: &materials, terms, knowledge, on: link) }
        } else if terms.model == .outOfBand {
            guard let key = knowledge?.temporaryKey else { throw .outOfBandNotAvailable }
            materials.temporaryKey = key
        }
        let context = PairingContext(
            role: link.role,
            initiator: link.initiatorAddress,
            responder: link.responderAddress,
            terms: terms
        )
        return Pairing(context, materials)
    }

    /// Both flags have to be true: a model by which no user could check anything must not pass for an authenticated one.
    private func addOutOfBandData(
        to materials: inout Pairing.Materials,
        _ terms: PairingTerms,
        _ knowledge: PeerOutOfBandData?,
        on link: SecurityLink
    ) throws(PairingFailedReason) {
        if terms.features(of: link.role).hasOutOfBandData {
            guard let data = knowledge?.secureConnections else { throw .outOfBandNotAvailable }
            materials.outOfBand.peer = data
        }
        if terms.features(of: link.role.other).hasOutOfBandData {
            guard let localOutOfBand else { throw .outOfBandNotAvailable }
            materials.keyPair = localOutOfBand.keyPair
            materials.outOfBand.ownRandom = localOutOfBand.data.random
        }
    }

    /// No bond is replaced by a weaker one, no matter which side asks or agrees: otherwise a man in the middle would only have
    /// to wait for the next pairing.
    private func checkStrength(_ strength: BondStrength, on link: SecurityLink) throws(PairingFailedReason) {
        guard let bond = link.identity.flatMap({ bondList[$0] }) else { return }
        guard strength.isAtLeast(BondStrength(bond)) else { throw .authenticationRequirements }
    }

    /// The same, and what this device insists on, once it is known that no person has compared the numbers.
    private func checkStrength(of pairing: Pairing, on link: SecurityLink) throws(PairingFailedReason) {
        if configuration.manInTheMiddleProtection.isRequired && !pairing.isAuthenticated {
            throw .authenticationRequirements
        }
        try checkStrength(pairing.strength, on: link)
    }

    // MARK: Steps and ends

    /// Carries out what a step of a pairing leads to.
    mutating func perform(_ output: PairingOutput, on link: inout SecurityLink, at now: Duration) {
        for pdu in output.pdus { link.send(pdu, at: now) }
        if let kind = output.prompt {
            promptSerial &+= 1
            let prompt = PairingPrompt(
                id: PairingPrompt.ID(connection: link.handle, serial: promptSerial),
                kind: kind
            )
            link.prompt = prompt
            events.append(.prompt(prompt))
        }
        if let key = output.newKey, link.role == .initiator {
            link.keySource = .pairing
            actions.append(.enableEncryption(link.handle, .none, key))
        }
    }

    /// Stops what is going on, and tells the peer why.
    mutating func refuse(_ reason: PairingFailedReason, on link: inout SecurityLink, at now: Duration) {
        link.send(.pairingFailed(reason), at: now)
        guard link.procedure != nil else { return }
        if link.pairing != nil { attempts.failed(link.peer, at: now) }
        link.endProcedure()
        events.append(.pairingFailed(link.handle, .refused(reason)))
    }

    /// Ends a pairing in which all keys went both ways.
    mutating func completeIfPossible(_ link: inout SecurityLink, at now: Duration) throws(PairingFailedReason) {
        guard let pairing = link.pairing, let result = pairing.result else { return }
        let terms = pairing.context.terms
        let bond = try makeBond(result, pairing, on: link)
        attempts.succeeded(link.peer)
        if terms.model == .outOfBand {
            peerOutOfBandData[link.peerAddress] = nil
            if terms.features(of: link.role.other).hasOutOfBandData { localOutOfBand = nil }
        }
        link.endProcedure()
        events.append(
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
        resolver.setKeys(bondList.identityResolvingKeys)
        link.identity = bond.identity
        link.provenIdentity = bond.identity
        refreshBonded(&link)
        events.append(.bonded(link.handle, bond))
    }

    /// What a pairing leaves behind; nil if nothing is to be kept, or nothing could be found again.
    private func makeBond(
        _ result: Pairing.Result,
        _ pairing: Pairing,
        on link: SecurityLink
    ) throws(PairingFailedReason) -> Bond? {
        let terms = pairing.context.terms
        guard terms.isBonding else { return nil }
        // A private address that nothing resolves is a name that its owner will not use again.
        guard let identity = result.peerKeys.identity ?? (link.peerAddress.isIdentity ? link.peerAddress : nil) else {
            return nil
        }
        let keys: Bond.Keys
        if terms.usesSecureConnections {
            keys = .secureConnections(result.longTermKey)
        } else {
            guard result.ownLongTermKey != nil || result.peerKeys.longTermKey != nil else { return nil }
            keys = .legacy(own: result.ownLongTermKey, peer: result.peerKeys.longTermKey)
        }
        // A link is one device's: what its peer was trusted with must not pass to another identity.
        if let proven = link.provenIdentity, proven != identity { throw .keyRejected }
        if let old = bondList[identity] {
            guard pairing.strength.isAtLeast(BondStrength(old)) else { throw .keyRejected }
        } else {
            guard bondList.count < configuration.maximumBondCount else { throw .keyRejected }
        }
        return Bond(
            identity: identity,
            keys: keys,
            keySize: terms.keySize,
            isAuthenticated: pairing.isAuthenticated,
            peerIdentityResolvingKey: result.peerKeys.identityResolvingKey,
            peerSignatureKey: result.peerKeys.signatureKey,
            distributedKeys: result.distributedKeys,
            metadata: bondList[identity]?.metadata ?? Bond.Metadata()
        )
    }
}
