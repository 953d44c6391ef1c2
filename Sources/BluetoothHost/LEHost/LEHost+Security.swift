import BluetoothHCI

/// Where the Security Manager belongs: without one, nothing is paired with and no key is known.
extension LEHost {
    mutating func receiveSecurity(_ payload: ArraySlice<UInt8>, _ index: Int) {
        guard links[index].pairing.receive(payload) else { return }
        log(.info, "smp", "connection \(links[index].connection.handle): refused to pair")
    }

    mutating func longTermKeyRequested(_ request: LELongTermKeyRequest) {
        send(LELongTermKeyRequestNegativeReply(handle: request.handle), for: .other)
    }

    mutating func encryptionChanged(
        _ handle: ConnectionHandle,
        _ status: HCIStatus,
        isEncrypted: Bool,
        keySize: Int?
    ) {
        guard status == .success else {
            return log(.warning, "smp", "connection \(handle) could not be encrypted: \(status)")
        }
        guard let index = link(handle) else { return }
        var security = links[index].connection.security
        security.isEncrypted = isEncrypted
        security.keySize = isEncrypted ? keySize ?? Self.maximumKeySize : 0
        guard security != links[index].connection.security else { return }
        links[index].connection.security = security
        gatt.securityChanged(handle, to: security)
        emit(.securityChanged(handle, security))
    }

    /// The length of a key that nobody shortened, in octets.
    private static let maximumKeySize = 16
}
