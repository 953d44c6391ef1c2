import BluetoothHCI
import BluetoothHost

// A watch that hides its address: what it is called meanwhile, when that changes, and who is told its real name.

extension Firmware {
    /// Takes another private address, if the watch uses any; what goes on the air from now on does so with it.
    mutating func changePrivateAddress(at now: Duration) {
        guard case .resolvablePrivateAddress = configuration.privacy else { return }
        privateAddress = host.security?.makePrivateAddress()
        advertiser.privateAddress = privateAddress.map(LEAddress.random)
    }

    /// Falls silent when the watch's address is about to change, and is heard again with another.
    mutating func advanceAddressEpochs(to now: Duration) {
        guard addressEpochs?.advance(to: now) == true, let epochs = addressEpochs else { return }
        if !epochs.isSilent { changePrivateAddress(at: now) }
        advertiser.receive(.addressChanges(isSilent: epochs.isSilent), at: now)
    }

    /// What the phone on a link may know of the watch: one that is not encrypted is told what the address says that it
    /// connected to.
    private func identity(for connection: ConnectionHandle) -> WatchIdentity {
        guard configuration.hidesIdentity, let link = host.connection(connection), !link.security.isEncrypted else {
            return configuration.identity
        }
        return configuration.identity.alias(at: link.ownAddress, of: configuration.personality)
    }

    /// Answers a read of a value that says which watch this is.
    /// - Returns: false for every other value.
    mutating func answerIdentity(_ request: ReadRequest, at now: Duration) -> Bool {
        guard request.handle != .none else { return false }
        let identity = identity(for: request.connection)
        switch request.handle {
        case handles.deviceName: host.respond(to: request, with: Array(identity.name.utf8)[...], at: now)
        case handles.serialNumber: host.respond(to: request, with: Array(identity.serialNumber.utf8)[...], at: now)
        default: return false
        }
        return true
    }
}

extension WatchConfiguration {
    /// Whether only a bonded phone is to know which watch this is.
    var hidesIdentity: Bool {
        switch privacy {
        case .identityAddress: false
        case .resolvablePrivateAddress: isBondable
        }
    }

    /// The beacon that the watch may show: it says the same all the time.
    var shownBeacon: Beacon? { hidesIdentity && !showsBeaconDespitePrivacy ? nil : beacon }
}

extension WatchIdentity {
    /// Who the watch says that it is while it hides that: what follows from the address that it has on the air, and what all
    /// watches of its kind have in common.
    func alias(at address: LEAddress, of personality: Personality) -> WatchIdentity {
        var alias = self
        let made = WatchIdentity(address: address, personality: personality)
        alias.address = address
        alias.name = made.name
        alias.serialNumber = made.serialNumber
        return alias
    }
}
