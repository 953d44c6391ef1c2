import BluetoothHCI
import BluetoothHost

// A watch that hides its address: what it is called meanwhile.

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
    func alias(at address: LEAddress, namePrefix: String) -> WatchIdentity {
        var alias = self
        alias.address = address
        alias.name = Self.name(at: address, prefix: namePrefix)
        alias.serialNumber = Self.serialNumber(at: address)
        return alias
    }
}
