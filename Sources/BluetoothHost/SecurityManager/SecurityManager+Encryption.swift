import BluetoothHCI

/// Keys, and what it means that a link is encrypted with one.
extension SecurityManager {
    /// Encrypts a link with the stored key; only the central can.
    ///
    /// `LEHostEvent.securityChanged` or `SecurityEvent.encryptionFailed` follows.
    public mutating func encrypt(_ handle: ConnectionHandle, at now: Duration) throws(SecurityRefusal) {
        time.tell(now)
        guard var link = links[handle] else { throw .unknownConnection }
        guard link.role == .initiator else { throw .wrongRole }
        guard !link.isPairing, link.keySource == nil else { throw .busy }
        guard link.encrypt(with: bondList.usable(on: link, configuration), &output) else { throw .noKey }
        links[handle] = link
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
            var step = PairingOutput()
            pairing.encrypted(&randomness, &step)
            link.update(pairing)
            link.perform(step, &output, at: now)
            do throws(PairingFailedReason) {
                try completeIfPossible(&link, at: now)
            } catch {
                link.refuse(error, &attempts, &output, at: now)
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

    /// Notes whether a link is encrypted, and with what kind of key.
    /// - Parameter keySize: nil if the link is not encrypted.
    mutating func setSecurity(of link: inout SecurityLink, isAuthenticated: Bool, keySize: EncryptionKeySize?) {
        var security = link.security
        security.isEncrypted = keySize != nil
        security.isAuthenticated = isAuthenticated
        security.keySize = keySize?.octets ?? 0
        noteSecurity(security, of: &link)
    }

    /// Notes what is known about the security of a link, and whether its peer is bonded now; says so if it is news.
    mutating func noteSecurity(_ security: LinkSecurity, of link: inout SecurityLink) {
        var security = security
        security.isBonded = bondList.isBonded(link, isEncrypted: security.isEncrypted, configuration)
        guard security != link.security else { return }
        link.security = security
        output.report(.securityChanged(link.handle, security))
    }
}
