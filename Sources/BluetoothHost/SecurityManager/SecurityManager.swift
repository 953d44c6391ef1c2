import BluetoothHCI

/// The Security Manager of all links of this device: pairing, bonds, encryption and private addresses.
///
/// The host passes on the links as they open and close, the commands on the Security Manager channel (CID 6), and the
/// controller's events about encryption. The owner answers prompts, and learns what happens as `LEHostEvent.security` and
/// `LEHostEvent.securityChanged`.
///
/// Source: Core 5.4, Vol 3, Part H.
public struct SecurityManager: Sendable {
    /// What this device can do, wants, and insists on. A change counts from the next pairing on.
    package var configuration: Configuration

    /// Whether devices may pair that have not proved who they are: strangers, and those that have lost their keys, which
    /// nothing tells apart. One whose link is encrypted with the key of its bond may always pair again.
    public var isPairable: Bool

    var time = LatestTime()
    var links = ConnectionTable<SecurityLink>()
    var bondList: BondList
    var attempts: RepeatedAttempts
    let toolbox: CryptoToolbox
    var randomness: RandomSource
    var outOfBand = OutOfBandSecrets()
    var output = SecurityOutput()

    /// Starts without links.
    /// - Parameters:
    ///   - bonds: those that the store has.
    ///   - cryptography: what encrypts, authenticates and agrees on keys.
    ///   - randomness: where keys, nonces and passkeys come from. It has to be cryptographically secure on a real
    ///     radio.
    package init(
        configuration: Configuration,
        bonds: [Bond] = [],
        isPairable: Bool = true,
        cryptography: LECryptography,
        randomness: RandomSource
    ) {
        self.configuration = configuration
        self.isPairable = isPairable
        toolbox = CryptoToolbox(cryptography)
        self.randomness = randomness
        bondList = BondList(stored: bonds)
        attempts = RepeatedAttempts(configuration.repeatedAttempts)
    }

    // MARK: Links

    /// A link came to be.
    /// - Parameters:
    ///   - role: what this device is on the link.
    ///   - ownAddress: this device's address as it was on the air.
    ///   - peerAddress: the peer's address as it was on the air, even if the controller resolved it.
    ///   - resolvedIdentity: who the controller says the peer is, if it resolved its address.
    package mutating func connectionOpened(
        _ handle: ConnectionHandle,
        role: PairingRole,
        ownAddress: LEAddress,
        peerAddress: LEAddress,
        resolvedIdentity: LEAddress? = nil
    ) {
        var link = SecurityLink(handle, role: role, ownAddress: ownAddress, peerAddress: peerAddress)
        let identity = resolvedIdentity?.withoutIdentityType ?? self.identity(of: peerAddress)
        link.identity = identity.flatMap { bondList.contains($0) ? $0 : nil }
        link.security.isBonded = bondList.isBonded(link, isEncrypted: false, configuration)
        links[handle] = link
    }

    /// A link is gone. A pairing that was going on has failed.
    package mutating func connectionClosed(_ handle: ConnectionHandle) {
        guard let index = links.index(of: handle) else { return }
        if links.remove(at: index).procedure != nil { output.report(.pairingFailed(handle, .disconnected)) }
    }

    /// What is known about the security of a link: what attribute permissions are checked against.
    package func security(of handle: ConnectionHandle) -> LinkSecurity? { links[handle]?.security }

    /// Who the peer of a link says it is, if there is a bond with that device. An address proves nothing: anybody who has
    /// heard it can use it.
    package func identity(on handle: ConnectionHandle) -> LEAddress? { links[handle]?.identity }

    /// Who the peer of a link is, once it has proved it: the link is encrypted with the key of its bond.
    package func provenIdentity(on handle: ConnectionHandle) -> LEAddress? { links[handle]?.provenIdentity }

    // MARK: Input

    /// Takes one command of the peer: everything that an L2CAP frame on CID 6 carried.
    package mutating func receive(_ bytes: ArraySlice<UInt8>, on handle: ConnectionHandle, at now: Duration) {
        guard var link = links[handle], !link.hasTimedOut else { return }
        // A newer version of the Core may have more commands: ignored, as 3.3 demands.
        if let code = bytes.first, SMPCode(rawValue: code) == nil { return }
        do throws(PairingFailedReason) {
            try handlePDU(SMPPDU(receiving: bytes), on: &link, at: now)
        } catch {
            // A request that is refused is worth knowing about; a stray command of no pairing is not.
            let isRequest = link.procedure == nil && bytes.first == SMPCode.pairingRequest.rawValue
            let wasAdmitted = mayPair(link)
            link.refuse(error, &attempts, &output, at: now)
            if isRequest {
                let isClosed = error == .pairingNotSupported && !wasAdmitted
                output.report(.pairingFailed(handle, isClosed ? .notPairable : .refused(error)))
            }
        }
        links[handle] = link
    }

    /// The controller says that the encryption of a link changed, or that its key was renewed (Encryption Change,
    /// Encryption Key Refresh Complete), or that this failed.
    package mutating func encryptionChanged(
        on handle: ConnectionHandle,
        status: HCIStatus,
        isEncrypted: Bool,
        at now: Duration
    ) {
        guard var link = links[handle] else { return }
        let source = link.keySource
        link.keySource = nil
        if status != .success {
            link.encryptionFailed(status, source, &attempts, &output, at: now)
        } else if isEncrypted {
            encrypted(with: source, on: &link, at: now)
        } else {
            link.provenIdentity = nil
            setSecurity(of: &link, isAuthenticated: false, keySize: nil)
            if let pairing = link.pairing, case .distributingKeys = pairing.phase {
                link.refuse(.unspecifiedReason, &attempts, &output, at: now)
            }
        }
        links[handle] = link
    }

    /// The controller asks which key a link is to be encrypted with (LE Long Term Key Request).
    package mutating func longTermKeyRequested(on handle: ConnectionHandle, name: LongTermKeyName) {
        guard var link = links[handle],
            let (key, source) = link.longTermKey(called: name, bondList, configuration)
        else {
            output.request(.rejectLongTermKeyRequest(handle))
            return
        }
        link.keySource = source
        output.request(.replyLongTermKey(handle, key))
        links[handle] = link
    }

    /// Lets time pass.
    package mutating func advance(to now: Duration) {
        guard links.isAnyDue(at: now) else { return }
        for index in links.indices where links.isDue(index, at: now) {
            links[index].timeOut(&attempts, &output, at: now)
        }
    }

    /// When `advance(to:)` has something to do next.
    package var nextDeadline: Duration? { links.nextDeadline }

    // MARK: Output

    /// Takes the next command that is to be sent on a link's Security Manager channel into `buffer`, replacing its
    /// content.
    /// - Returns: false when nothing is waiting.
    package mutating func nextPDU(for handle: ConnectionHandle, into buffer: inout [UInt8]) -> Bool {
        guard let index = links.index(of: handle) else { return false }
        return links[index].nextPDU(into: &buffer)
    }

    /// Takes the next action for the controller.
    package mutating func nextAction() -> SecurityAction? { output.nextAction() }

    /// Takes the next event.
    package mutating func nextEvent() -> SecurityEvent? { output.nextEvent() }
}

extension SecurityManager: CustomStringConvertible {
    /// Says how much there is, and nothing of what: in the middle of a pairing every number is a secret.
    public var description: String { "SecurityManager(links: \(links.count), bonds: \(bondList.count))" }
}
