import BluetoothHCI
import DequeModule

/// Keys, and what it means that a link is encrypted with one.
extension SecurityManager {
    /// Encrypts a link with the stored key; only the central can.
    ///
    /// The outcome is a `securityChanged` or an `encryptionFailed` event.
    package mutating func encrypt(_ handle: ConnectionHandle) throws(SecurityRefusal) {
        guard var link = links[handle] else { throw .unknownConnection }
        guard link.role == .initiator else { throw .wrongRole }
        guard !link.isPairing, link.keySource == nil else { throw .busy }
        guard encryptWithStoredKey(&link) else { throw .noKey }
        links[handle] = link
    }

    /// Has the controller encrypt a link of this central with the stored key.
    /// - Returns: false if there is none that is good enough.
    mutating func encryptWithStoredKey(_ link: inout SecurityLink) -> Bool {
        guard let bond = usableBond(of: link), let key = bond.longTermKey(as: .initiator) else { return false }
        link.keySource = .bond(bond.identity)
        actions.append(.enableEncryption(link.handle, key.name, key.key))
        return true
    }

    /// The key that the central of a link means.
    func longTermKey(
        called name: LongTermKeyName,
        for link: SecurityLink
    ) -> (key: LongTermKey, source: SecurityLink.KeySource)? {
        guard link.role == .responder else { return nil }
        if name == .none, let key = link.pairing?.pendingKey { return (key, .pairing) }
        if let bond = usableBond(of: link), let key = bond.longTermKey(as: .responder), key.name == name {
            return (key.key, .bond(bond.identity))
        }
        // A key of LE legacy pairing says by its name whose it is, even if the address does not.
        guard name != .none else { return nil }
        for bond in bondList.bonds where configuration.isSatisfied(by: bond) {
            if let key = bond.longTermKey(as: .responder), key.name == name { return (key.key, .bond(bond.identity)) }
        }
        return nil
    }

    /// The link is encrypted.
    mutating func encrypted(with source: SecurityLink.KeySource?, on link: inout SecurityLink, at now: Duration) {
        switch source {
        case .pairing:
            // Who has proved to hold the old key made the new one with this device: that link goes on.
            guard var pairing = link.pairing, pairing.pendingKey != nil else { break }
            setSecurity(
                of: &link,
                isAuthenticated: pairing.isAuthenticated,
                keySize: pairing.context.terms.keySize
            )
            var output = PairingOutput()
            pairing.encrypted(&randomness, &output)
            link.update(pairing)
            perform(output, on: &link, at: now)
            do throws(PairingFailedReason) {
                try completeIfPossible(&link, at: now)
            } catch {
                refuse(error, on: &link, at: now)
            }
        case .bond(let identity):
            guard let bond = bondList[identity] else { break }
            link.identity = identity
            link.provenIdentity = identity
            setSecurity(of: &link, isAuthenticated: bond.isAuthenticated, keySize: bond.keySize)
        case nil:
            // The key was not chosen here, so nothing is known about it.
            link.provenIdentity = nil
            setSecurity(of: &link, isAuthenticated: false, keySize: .maximum)
        }
        if case .securityRequestSent = link.procedure { link.endProcedure() }
        if case .securityRequestReceived = link.procedure { link.endProcedure() }
    }

    /// The link could not be encrypted.
    mutating func encryptionFailed(
        _ status: HCIStatus,
        _ source: SecurityLink.KeySource?,
        on link: inout SecurityLink,
        at now: Duration
    ) {
        switch source {
        case .pairing where link.pairing != nil:
            attempts.failed(link.peer, at: now)
            link.send(.pairingFailed(.unspecifiedReason), at: now)
            link.endProcedure()
            events.append(.pairingFailed(link.handle, .encryptionFailed(status)))
        case .pairing, .bond, nil:
            if case .securityRequestReceived = link.procedure { link.endProcedure() }
            events.append(.encryptionFailed(link.handle, status))
        }
    }

    /// Notes what is known about the security of a link, and says so if it is news.
    /// - Parameter keySize: nil if the link is not encrypted.
    mutating func setSecurity(of link: inout SecurityLink, isAuthenticated: Bool, keySize: EncryptionKeySize?) {
        var security = link.security
        security.isEncrypted = keySize != nil
        security.isAuthenticated = isAuthenticated
        security.keySize = keySize?.octets ?? 0
        security.isBonded = isBonded(link, isEncrypted: keySize != nil)
        guard security != link.security else { return }
        link.security = security
        events.append(.securityChanged(link.handle, security))
    }
}
