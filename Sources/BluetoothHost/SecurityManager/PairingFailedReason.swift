import BluetoothHCI

/// Why a device stopped a pairing: the Reason of a Pairing Failed command.
///
/// Source: Core 5.4, Vol 3, Part H, 3.5.5. Any number can be held, since peers send those of newer versions.
public struct PairingFailedReason: RawRepresentable, Error, Hashable, Sendable {
    /// The code.
    public let rawValue: UInt8

    /// Any code, known or not.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Passkey Entry Failed: the user did not enter one, or cancelled.
    package static let passkeyEntryFailed = PairingFailedReason(rawValue: 0x01)
    /// OOB Not Available.
    package static let outOfBandNotAvailable = PairingFailedReason(rawValue: 0x02)
    /// Authentication Requirements: these two devices cannot make a key as strong as one of them demands.
    package static let authenticationRequirements = PairingFailedReason(rawValue: 0x03)
    /// Confirm Value Failed.
    package static let confirmValueFailed = PairingFailedReason(rawValue: 0x04)
    /// Pairing Not Supported: not at all, or not now.
    package static let pairingNotSupported = PairingFailedReason(rawValue: 0x05)
    /// Encryption Key Size: too short.
    package static let encryptionKeySize = PairingFailedReason(rawValue: 0x06)
    /// Command Not Supported.
    package static let commandNotSupported = PairingFailedReason(rawValue: 0x07)
    /// Unspecified Reason.
    package static let unspecifiedReason = PairingFailedReason(rawValue: 0x08)
    /// Repeated Attempts: too soon after a failure.
    package static let repeatedAttempts = PairingFailedReason(rawValue: 0x09)
    /// Invalid Parameters: a wrong length, or a value out of range.
    package static let invalidParameters = PairingFailedReason(rawValue: 0x0A)
    /// DHKey Check Failed; also the answer to a public key that is not one.
    package static let dhKeyCheckFailed = PairingFailedReason(rawValue: 0x0B)
    /// Numeric Comparison Failed: the user saw two different numbers, or said so.
    package static let numericComparisonFailed = PairingFailedReason(rawValue: 0x0C)
    /// BR/EDR Pairing in Progress.
    package static let brEdrPairingInProgress = PairingFailedReason(rawValue: 0x0D)
    /// Cross-transport Key Derivation/Generation Not Allowed.
    package static let crossTransportKeyDerivationNotAllowed = PairingFailedReason(rawValue: 0x0E)
    /// Key Rejected: a distributed key was not accepted.
    package static let keyRejected = PairingFailedReason(rawValue: 0x0F)
    /// Busy.
    package static let busy = PairingFailedReason(rawValue: 0x10)
}

extension PairingFailedReason: CustomStringConvertible {
    public var description: String { "\(name) (0x\(String(rawValue, radix: 16, uppercase: true)))" }

    private var name: String {
        switch self {
        case .passkeyEntryFailed: "Passkey Entry Failed"
        case .outOfBandNotAvailable: "OOB Not Available"
        case .authenticationRequirements: "Authentication Requirements"
        case .confirmValueFailed: "Confirm Value Failed"
        case .pairingNotSupported: "Pairing Not Supported"
        case .encryptionKeySize: "Encryption Key Size"
        case .commandNotSupported: "Command Not Supported"
        case .unspecifiedReason: "Unspecified Reason"
        case .repeatedAttempts: "Repeated Attempts"
        case .invalidParameters: "Invalid Parameters"
        case .dhKeyCheckFailed: "DHKey Check Failed"
        case .numericComparisonFailed: "Numeric Comparison Failed"
        case .brEdrPairingInProgress: "BR/EDR Pairing in Progress"
        case .crossTransportKeyDerivationNotAllowed: "Cross-transport Key Derivation Not Allowed"
        case .keyRejected: "Key Rejected"
        case .busy: "Busy"
        default: "Unknown Reason"
        }
    }
}

/// How a pairing that did not complete came to its end.
public enum PairingFailure: Error, Hashable, Sendable {
    /// This device refused or stopped it, and told the peer why.
    case refused(PairingFailedReason)
    /// The peer has not proved who it is, and this device pairs with no other peer now: it was told Pairing Not Supported.
    case notPairable
    /// The peer refused or stopped it.
    case refusedByPeer(PairingFailedReason)
    /// Nothing happened for 30 seconds. No pairing is possible on this link any more.
    case timedOut
    /// The link was lost.
    case disconnected
    /// The link could not be encrypted with the new key.
    case encryptionFailed(HCIStatus)

    /// The nearest reason code, for those who can show no more than that.
    public var reason: PairingFailedReason {
        switch self {
        case .refused(let reason), .refusedByPeer(let reason): reason
        case .notPairable: .pairingNotSupported
        case .timedOut, .disconnected, .encryptionFailed: .unspecifiedReason
        }
    }
}

extension PairingFailure: CustomStringConvertible {
    public var description: String {
        switch self {
        case .refused(let reason): "refused by this device: \(reason)"
        case .notPairable: "this device is closed to those who have not proved who they are"
        case .refusedByPeer(let reason): "refused by the peer: \(reason)"
        case .timedOut: "timed out; pairing is possible again after a reconnection"
        case .disconnected: "the link was lost"
        case .encryptionFailed(let status): "the link could not be encrypted: \(status)"
        }
    }
}
