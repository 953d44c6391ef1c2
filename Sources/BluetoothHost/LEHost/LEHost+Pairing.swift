import BluetoothHCI

/// Pairing, bonds and encryption on all connections. What happens is told as `LEHostEvent.security` and `securityChanged`.
///
/// A host whose configuration has no Security Manager (`Configuration.security`) has no bonds, and throws
/// `SecurityRefusal.notPairable`.
extension LEHost {
    /// Whether peers may pair; links with bonded peers are encrypted in any case. A host without a Security Manager is not
    /// pairable, whatever is set.
    public var isPairable: Bool {
        get { security?.isPairable ?? false }
        set { security?.isPairable = newValue }
    }

    /// All bonds, in the order in which they came.
    public var bonds: [Bond] { security?.bonds ?? [] }

    /// Pairs with the peer of a connection, whether or not there is a bond; only the central can. `pairingCompleted` or
    /// `pairingFailed` follows. An old bond is replaced when, and only if, the pairing completes.
    public mutating func pair(_ connection: ConnectionHandle, at now: Duration) throws(SecurityRefusal) {
        self.now = max(self.now, now)
        guard security != nil else { throw .notPairable }
        try security?.pair(connection, at: self.now)
    }

    /// Encrypts a connection with the stored key; only the central can. `securityChanged` or `encryptionFailed` follows.
    public mutating func encrypt(_ connection: ConnectionHandle, at now: Duration) throws(SecurityRefusal) {
        self.now = max(self.now, now)
        guard security != nil else { throw .notPairable }
        try security?.encrypt(connection)
    }

    /// Asks the central of a connection for security: it may encrypt with a key that it has, or pair. Only the peripheral
    /// can ask.
    public mutating func sendSecurityRequest(_ connection: ConnectionHandle, at now: Duration) throws(SecurityRefusal) {
        self.now = max(self.now, now)
        guard security != nil else { throw .notPairable }
        try security?.sendSecurityRequest(connection, at: self.now)
    }

    /// Tells a peripheral that asked for security (`SecurityEvent.securityRequested`) that there will be no pairing.
    public mutating func rejectSecurityRequest(_ connection: ConnectionHandle, at now: Duration) {
        self.now = max(self.now, now)
        security?.rejectSecurityRequest(connection, at: self.now)
    }

    /// Answers a prompt.
    /// - Returns: false if the prompt does not stand any more, or the answer does not fit it.
    @discardableResult
    public mutating func answer(_ prompt: PairingPrompt.ID, with answer: PairingAnswer, at now: Duration) -> Bool {
        self.now = max(self.now, now)
        return security?.answer(prompt, with: answer, at: self.now) ?? false
    }

    /// Stops the pairing that is going on, and tells the peer.
    public mutating func cancelPairing(_ connection: ConnectionHandle, at now: Duration) {
        self.now = max(self.now, now)
        security?.cancelPairing(connection, at: self.now)
    }

    /// The owner has the bond in its store, where a power cut does not reach it.
    ///
    /// Until then links with the peer can use its keys, but are not said to be bonded.
    public mutating func bondStored(_ identity: LEAddress) { security?.bondStored(identity) }

    /// Forgets a peer. A link with it stays as it is; the next one has no keys.
    public mutating func deleteBond(_ identity: LEAddress) { security?.deleteBond(identity) }
}
