import BluetoothHCI
import BluetoothHost
import PebbleProtocol

// How the phone and the watch come to trust each other, and what follows for the link.

extension WatchLink {
    /// The link is up: with a watch that it knows, the phone encrypts it at once.
    mutating func encryptIfBonded(_ core: inout PhoneCore, at now: Duration) {
        pairing.encryptIfBonded(handle, &core, at: now)
    }

    /// Everything is known of the watch: now is the time to pair, as companions do.
    mutating func pairIfWanted(_ core: inout PhoneCore, at now: Duration) {
        guard pairing.isWanted(on: handle, core) else { return openTransportIfReady(&core, at: now) }
        triggerPairing(&core, at: now)
    }

    /// Tells the watch that the phone is about to pair, and pairs.
    mutating func triggerPairing(_ core: inout PhoneCore, at now: Duration) {
        pairing.begin()
        guard let trigger = watch.characteristic(.uuid128(PebbleAttribute.triggerPairing)) else {
            return pair(&core, at: now)
        }
        // Without this the watch would ask for pairing while the phone begins it.
        let value = PairingTrigger([.shouldPinAddress, .noSecurityRequest])
        run(.write(trigger.value, [value.rawValue]), for: .pairingTrigger, &core, at: now)
    }

    /// Begins to pair. A watch that was told, or could not be told, is asked all the same.
    mutating func pair(_ core: inout PhoneCore, at now: Duration) {
        do {
            try core.host.security?.pair(handle, at: now)
        } catch {
            pairingFailed(error.words(at: now), &core, at: now)
        }
    }

    /// Takes what the Security Manager reports of a link.
    mutating func receive(_ event: SecurityEvent, _ core: inout PhoneCore, at now: Duration) {
        switch event {
        case .securityRequested(handle, _):
            guard core.configuration.pairing == .automatic else { return core.emit(.pairingWanted) }
            pairing.begin()
            pair(&core, at: now)
        case .pairingCompleted(handle, let summary):
            pairing.question = nil
            core.emit(.paired(summary))
        case .pairingFailed(handle, let failure):
            pairingFailed("\(failure)", &core, at: now)
        case .encryptionFailed(handle, let status):
            encryptionFailed(status, &core, at: now)
        default:
            break
        }
    }

    /// The link's security changed.
    mutating func securityChanged(_ security: LinkSecurity, _ core: inout PhoneCore, at now: Duration) {
        core.emit(.securityChanged(security))
        guard pairing.settle(by: security) else { return }
        beginTransportAgain(&core, at: now)
        openTransportIfReady(&core, at: now)
    }

    /// A watch that has forgotten the phone is paired with again, and one that cannot be paired with is used as it is.
    private mutating func encryptionFailed(_ status: HCIStatus, _ core: inout PhoneCore, at now: Duration) {
        guard status == .pinOrKeyMissing else {
            return pairingFailed("the link could not be encrypted: \(status)", &core, at: now)
        }
        guard core.configuration.pairing == .automatic else {
            return pairingFailed("the watch has forgotten this phone: pair again", &core, at: now)
        }
        pairing.beginAgain(with: peer, &core)
        if isExplored { pairIfWanted(&core, at: now) }
    }

    private mutating func pairingFailed(_ reason: String, _ core: inout PhoneCore, at now: Duration) {
        pairing.fail(reason, &core)
        openTransportIfReady(&core, at: now)
    }
}

extension SecurityRefusal {
    /// For people.
    fileprivate func words(at now: Duration) -> String {
        switch self {
        case .unknownConnection: "the link is gone"
        case .wrongRole: "this side of the link cannot begin"
        case .busy: "a pairing or an encryption goes on"
        case .timedOut: "a pairing on this link has timed out: connect again first"
        case .tooSoon(let end): "the last pairing failed; the next may begin in \(end - now)"
        case .notPairable: "the phone may not be paired with"
        case .noKey: "there is no key for this watch that is good enough"
        }
    }
}
