import BluetoothHCI

/// How one link comes to be encrypted.
extension SecurityLink {
    /// Has the controller encrypt a link of this central with the key of a bond.
    /// - Returns: false if there is none.
    mutating func encrypt(with bond: Bond?, _ output: inout SecurityOutput) -> Bool {
        guard let bond, let key = bond.longTermKey(as: .initiator) else { return false }
        keySource = .bond(bond.identity)
        output.request(.enableEncryption(handle, key.name, key.key))
        return true
    }

    /// The key that the central of a link means: that of the pairing, or that of a bond.
    func longTermKey(
        called name: LongTermKeyName,
        _ bonds: BondList,
        _ configuration: SecurityManager.Configuration
    ) -> (key: LongTermKey, source: KeySource)? {
        guard role == .responder else { return nil }
        if name == .none, let key = pairing?.pendingKey { return (key, .pairing) }
        guard let bond = bonds.bond(whoseKeyIs: name, on: self, configuration),
            let key = bond.longTermKey(as: .responder)
        else { return nil }
        return (key.key, .bond(bond.identity))
    }

    /// The link could not be encrypted.
    mutating func encryptionFailed(
        _ status: HCIStatus,
        _ source: KeySource?,
        _ attempts: inout RepeatedAttempts,
        _ output: inout SecurityOutput,
        at now: Duration
    ) {
        switch source {
        case .pairing where pairing != nil:
            send(.pairingFailed(.unspecifiedReason), at: now)
            fail(.encryptionFailed(status), &attempts, &output, at: now)
        case .pairing, .bond, nil:
            if case .securityRequestReceived = procedure { endProcedure() }
            output.report(.encryptionFailed(handle, status))
        }
    }
}
