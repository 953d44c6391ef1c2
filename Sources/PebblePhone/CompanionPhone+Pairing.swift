import BluetoothHCI
import BluetoothHost
import PebbleProtocol

// How the phone and the watch come to trust each other.

extension PhoneConfiguration {
    /// What the phone can show and take: a number to compare, which its user finds right.
    var security: SecurityManager.Configuration? {
        guard pairing != .never else { return nil }
        var security = SecurityManager.Configuration()
        security.ioCapability = .displayYesNo
        security.manInTheMiddleProtection = .requested
        security.confirmsJustWorks = false
        return security
    }
}

extension CompanionPhone {
    /// A link is up: with a watch that it knows, the phone encrypts it at once.
    mutating func secureKnownWatch(at now: Duration) {
        guard let handle = link?.handle, host.connection(handle)?.security.isBonded == true else { return }
        do {
            try host.security?.encrypt(handle, at: now)
            link?.security = .underway
        } catch {
            log(.warning, .smp, "the link cannot be encrypted: \(error)")
        }
    }

    /// Everything is known of the watch: now is the time to pair, as companions do.
    mutating func pairIfWanted(at now: Duration) {
        guard let link, link.security == .notBegun else { return openTransportIfReady(at: now) }
        guard host.security != nil, host.connection(link.handle)?.security.isEncrypted != true else {
            self.link?.security = .settled
            return openTransportIfReady(at: now)
        }
        guard configuration.pairing == .automatic else {
            // Until it is told to pair, the phone uses what the watch lets it use.
            self.link?.security = .settled
            return openTransportIfReady(at: now)
        }
        triggerPairing(at: now)
    }

    /// Tells the watch that the phone is about to pair, and pairs.
    mutating func triggerPairing(at now: Duration) {
        guard let link else { return }
        self.link?.security = .underway
        guard let trigger = link.explorer.watch.characteristic(.uuid128(PebbleAttribute.triggerPairing)) else {
            return pair(at: now)
        }
        // Without this the watch would ask for pairing while the phone begins it.
        let value = PairingTrigger([.shouldPinAddress, .noSecurityRequest])
        run(.write(trigger.value, [value.rawValue]), for: .pairingTrigger, at: now)
    }

    /// Begins to pair. A watch that was told, or could not be told, is asked all the same.
    mutating func pair(at now: Duration) {
        guard let handle = link?.handle else { return }
        do {
            try host.security?.pair(handle, at: now)
        } catch {
            securityFailed(error.words(at: now), at: now)
        }
    }

    mutating func handle(_ event: SecurityEvent, at now: Duration) {
        switch event {
        case .prompt(let prompt) where configuration.pairing == .whenTold:
            if case .requestPasskey = prompt.kind {
                _ = host.security?.answer(prompt.id, with: .reject, at: now)
            } else {
                link?.question = prompt
            }
            emit(.pairingQuestion(prompt.kind))
        case .prompt(let prompt):
            emit(.pairingPrompt(prompt.kind))
            answer(prompt, at: now)
        case .securityRequested(let connection, _) where connection == link?.handle:
            guard configuration.pairing == .automatic else { return emit(.pairingWanted) }
            link?.security = .underway
            pair(at: now)
        case .pairingCompleted(let connection, let summary) where connection == link?.handle:
            link?.question = nil
            emit(.paired(summary))
        case .bonded(_, let bond):
            if configuration.pairing == .whenTold {
                emit(.bonded(bond))
            } else {
                // It is kept for as long as the phone runs.
                host.security?.bondStored(bond.identity)
            }
        case .pairingFailed(let connection, let failure) where connection == link?.handle:
            securityFailed("\(failure)", at: now)
        case .encryptionFailed(let connection, let status) where connection == link?.handle:
            encryptionFailed(status, at: now)
        default:
            break
        }
    }

    /// The link's security changed.
    mutating func securityChanged(_ security: LinkSecurity, at now: Duration) {
        emit(.securityChanged(security))
        guard security.isEncrypted, link?.security == .underway else { return }
        link?.security = .settled
        beginTransportAgain(at: now)
        openTransportIfReady(at: now)
    }

    /// The user says yes to each question.
    private mutating func answer(_ prompt: PairingPrompt, at now: Duration) {
        switch prompt.kind {
        case .confirmPairing, .numericComparison: _ = host.security?.answer(prompt.id, with: .accept, at: now)
        case .requestPasskey: _ = host.security?.answer(prompt.id, with: .reject, at: now)
        case .displayPasskey: break
        }
    }

    /// A watch that has forgotten the phone is paired with again, and one that cannot be paired with is used as it is.
    private mutating func encryptionFailed(_ status: HCIStatus, at now: Duration) {
        guard status == .pinOrKeyMissing, let peer = link?.peer else {
            return securityFailed("the link could not be encrypted: \(status)", at: now)
        }
        guard configuration.pairing == .automatic else {
            return securityFailed("the watch has forgotten this phone: pair again", at: now)
        }
        log(.warning, .smp, "the watch has forgotten this phone; pairing again")
        host.security?.deleteBond(peer)
        link?.security = .notBegun
        if link?.isExplored == true { pairIfWanted(at: now) }
    }

    private mutating func securityFailed(_ reason: String, at now: Duration) {
        link?.question = nil
        emit(.pairingFailed(reason))
        link?.security = .settled
        openTransportIfReady(at: now)
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
