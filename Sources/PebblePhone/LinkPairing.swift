import BluetoothHCI
import BluetoothHost

/// How far the phone is with pairing or encrypting its link.
struct LinkPairing: Sendable {
    /// What has been done for the link's security.
    enum Progress: Sendable {
        case notBegun
        case underway
        /// The link is encrypted, or will not be.
        case settled
    }

    private(set) var progress = Progress.notBegun
    /// What the owner is asked about the pairing.
    var question: PairingPrompt?

    /// A link is up: with a watch that it knows, the phone encrypts it at once.
    mutating func encryptIfBonded(_ handle: ConnectionHandle, _ core: inout PhoneCore, at now: Duration) {
        guard core.host.connection(handle)?.security.isBonded == true else { return }
        do {
            try core.host.security?.encrypt(handle, at: now)
            progress = .underway
        } catch {
            core.log(.warning, .smp, "the link cannot be encrypted: \(error)")
        }
    }

    /// Everything is known of the watch: whether the phone is to pair now, as companions do. If not, the security stays as it is.
    mutating func isWanted(on handle: ConnectionHandle, _ core: PhoneCore) -> Bool {
        guard progress == .notBegun else { return false }
        // Until it is told to pair, the phone uses what the watch lets it use.
        guard core.host.security != nil, core.host.connection(handle)?.security.isEncrypted != true,
            core.configuration.pairing == .automatic
        else {
            progress = .settled
            return false
        }
        return true
    }

    /// The phone is about to pair.
    mutating func begin() { progress = .underway }

    /// The link's security changed.
    /// - Returns: whether that was waited for.
    mutating func settle(by security: LinkSecurity) -> Bool {
        guard security.isEncrypted, progress == .underway else { return false }
        progress = .settled
        return true
    }

    /// The watch has forgotten the phone: so does the phone, and pairs with it as with any other.
    mutating func beginAgain(with watch: LEAddress, _ core: inout PhoneCore) {
        core.log(.warning, .smp, "the watch has forgotten this phone; pairing again")
        core.host.security?.deleteBond(watch)
        progress = .notBegun
    }

    /// The link stays as it is.
    mutating func fail(_ reason: String, _ core: inout PhoneCore) {
        question = nil
        core.emit(.pairingFailed(reason))
        progress = .settled
    }
}

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
