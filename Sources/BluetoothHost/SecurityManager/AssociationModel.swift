/// Who starts a pairing and who answers: on LE always the central and the peripheral.
public enum PairingRole: Hashable, Sendable {
    /// The central: sends the Pairing Request, and commands encryption.
    case initiator
    /// The peripheral: may ask for security, and answers.
    case responder

    /// The other side's role.
    var other: PairingRole { self == .initiator ? .responder : .initiator }
}

/// How two devices, with the help of their users, make sure that they talk to each other.
///
/// Source: Core 5.4, Vol 3, Part H, 2.3.5.1.
public enum AssociationModel: Hashable, Sendable {
    /// No user checks anything.
    case justWorks
    /// Both users compare six digits.
    case numericComparison
    /// One device shows six digits, and they are typed into the other; with nil, the user makes them up and types
    /// them into both.
    case passkeyEntry(displayedBy: PairingRole?)
    /// Secrets went between the devices some other way.
    case outOfBand

    /// What two devices will use.
    /// - Parameters:
    ///   - request: the initiator's features.
    ///   - response: the responder's features.
    ///   - secureConnections: whether both support LE Secure Connections.
    static func selected(
        by request: PairingFeatures,
        _ response: PairingFeatures,
        secureConnections: Bool
    ) -> AssociationModel {
        let outOfBandFlags = (request.hasOutOfBandData, response.hasOutOfBandData)
        switch outOfBandFlags {
        case (true, true): return .outOfBand
        case (true, false), (false, true): if secureConnections { return .outOfBand }
        case (false, false): break
        }
        guard request.authentication.union(response.authentication).contains(.mitm) else { return .justWorks }
        return selected(initiator: request.ioCapability, responder: response.ioCapability, secureConnections)
    }

    /// Core 5.4, Vol 3, Part H, table 2.8.
    private static func selected(
        initiator: IOCapability,
        responder: IOCapability,
        _ secureConnections: Bool
    ) -> AssociationModel {
        switch (initiator, responder) {
        case (.noInputNoOutput, _), (_, .noInputNoOutput):
            .justWorks
        case (.displayOnly, .displayOnly), (.displayOnly, .displayYesNo), (.displayYesNo, .displayOnly):
            .justWorks
        case (.displayYesNo, .displayYesNo):
            secureConnections ? .numericComparison : .justWorks
        case (.keyboardDisplay, .displayYesNo):
            secureConnections ? .numericComparison : .passkeyEntry(displayedBy: .responder)
        case (.displayYesNo, .keyboardDisplay), (.keyboardDisplay, .keyboardDisplay):
            secureConnections ? .numericComparison : .passkeyEntry(displayedBy: .initiator)
        case (.keyboardOnly, .keyboardOnly):
            .passkeyEntry(displayedBy: nil)
        case (.keyboardOnly, _), (.keyboardDisplay, .displayOnly):
            .passkeyEntry(displayedBy: .responder)
        case (_, .keyboardOnly), (.displayOnly, .keyboardDisplay):
            .passkeyEntry(displayedBy: .initiator)
        }
    }

    /// Whether a key made this way protects against a man in the middle.
    ///
    /// The passkey of LE legacy pairing does not: an attacker who sees one confirm value and its random number has tried the
    /// million passkeys within a second.
    func isAuthenticated(secureConnections: Bool) -> Bool {
        switch self {
        case .justWorks: false
        case .numericComparison, .passkeyEntry: secureConnections
        case .outOfBand: true
        }
    }
}

extension AssociationModel: CustomStringConvertible {
    /// The name of the case. Reflection gives it too, but looks through all types of the program first.
    public var description: String {
        switch self {
        case .justWorks: "justWorks"
        case .numericComparison: "numericComparison"
        case .passkeyEntry: "passkeyEntry"
        case .outOfBand: "outOfBand"
        }
    }
}

/// What follows from a Pairing Request and the Pairing Response to it.
struct PairingTerms: Hashable, Sendable {
    /// What the initiator sent.
    let request: PairingFeatures
    /// What the responder sent.
    let response: PairingFeatures

    /// Whether both support LE Secure Connections; if not, it is LE legacy pairing.
    var usesSecureConnections: Bool {
        request.authentication.contains(.secureConnections) && response.authentication.contains(.secureConnections)
    }

    /// How the devices make sure of each other.
    var model: AssociationModel { .selected(by: request, response, secureConnections: usesSecureConnections) }

    /// Whether the key will protect against a man in the middle.
    var isAuthenticated: Bool { model.isAuthenticated(secureConnections: usesSecureConnections) }

    /// Whether both will keep the keys.
    var isBonding: Bool { request.authentication.asksForBonding && response.authentication.asksForBonding }

    /// The size of the keys.
    var keySize: EncryptionKeySize { min(request.maximumKeySize, response.maximumKeySize) }

    /// The keys that the device in this role gives.
    func keys(from role: PairingRole) -> DistributedKeys {
        let keys =
            switch role {
            case .initiator: request.initiatorKeys.intersection(response.initiatorKeys)
            case .responder: request.responderKeys.intersection(response.responderKeys)
            }
        // With LE Secure Connections EncKey is ignored, and LinkKey is for BR/EDR alone.
        return keys.intersection(
            usesSecureConnections ? [.identityKey, .signatureKey] : [.encryptionKey, .identityKey, .signatureKey]
        )
    }

    /// The features of the device in this role.
    func features(of role: PairingRole) -> PairingFeatures { role == .initiator ? request : response }
}
