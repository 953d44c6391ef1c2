import ByteCoding

/// How a request for credit-based channels was answered.
///
/// Both kinds of request share the values; for the enhanced one, which may ask for several channels, three of them mean
/// that only some were refused.
///
/// Source: Core 5.4, Vol 3, Part A, 4.23, table 4.16, and 4.26, table 4.17.
public struct ChannelResult: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// All channels are open.
    package static let success = ChannelResult(rawValue: 0x0000)
    /// No service listens on the SPSM.
    package static let spsmNotSupported = ChannelResult(rawValue: 0x0002)
    /// There is no room for the channel, or for some of the channels.
    package static let noResources = ChannelResult(rawValue: 0x0004)
    /// The link is not encrypted, and there is no key to do it with; or the key is not authenticated.
    package static let insufficientAuthentication = ChannelResult(rawValue: 0x0005)
    /// The peer was not authorized.
    package static let insufficientAuthorization = ChannelResult(rawValue: 0x0006)
    /// The key that encrypts the link is too short.
    package static let encryptionKeySizeTooShort = ChannelResult(rawValue: 0x0007)
    /// The link is not encrypted, although there is a key to do it with.
    package static let insufficientEncryption = ChannelResult(rawValue: 0x0008)
    /// A source CID cannot be one of a channel.
    package static let invalidSourceCID = ChannelResult(rawValue: 0x0009)
    /// A source CID is one of another channel.
    package static let sourceCIDAlreadyAllocated = ChannelResult(rawValue: 0x000A)
    /// MTU or MPS are not such as can be accepted.
    package static let unacceptableParameters = ChannelResult(rawValue: 0x000B)
    /// MTU, MPS, credits or the number of channels are not such as the Core allows; enhanced requests only.
    package static let invalidParameters = ChannelResult(rawValue: 0x000C)
    /// The answer is still to come; enhanced requests only.
    package static let pending = ChannelResult(rawValue: 0x000D)
    /// The answer waits for authentication; enhanced requests only.
    package static let authenticationPending = ChannelResult(rawValue: 0x000E)
    /// The answer waits for authorization; enhanced requests only.
    package static let authorizationPending = ChannelResult(rawValue: 0x000F)

    /// Whether another answer follows.
    var isPending: Bool { self == .pending || self == .authenticationPending || self == .authorizationPending }

    /// Whether, as the answer to an enhanced request, it says that some of the channels may be open.
    var mayBePartial: Bool {
        self == .success || self == .noResources || self == .invalidSourceCID || self == .sourceCIDAlreadyAllocated
    }

    /// What refuses a channel on a link that is refused an attribute with this error: the rules are the same.
    ///
    /// Source: Core 5.4, Vol 3, Part C, 10.3.1.
    init(refusing error: ATTError) {
        switch error {
        case .insufficientAuthorization: self = .insufficientAuthorization
        case .encryptionKeySizeTooShort: self = .encryptionKeySizeTooShort
        case .insufficientEncryption: self = .insufficientEncryption
        default: self = .insufficientAuthentication
        }
    }
}

extension ChannelResult: CustomStringConvertible {
    public var description: String {
        switch self {
        case .success: "success"
        case .spsmNotSupported: "SPSM not supported"
        case .noResources: "no resources available"
        case .insufficientAuthentication: "insufficient authentication"
        case .insufficientAuthorization: "insufficient authorization"
        case .encryptionKeySizeTooShort: "encryption key size too short"
        case .insufficientEncryption: "insufficient encryption"
        case .invalidSourceCID: "invalid source CID"
        case .sourceCIDAlreadyAllocated: "source CID already allocated"
        case .unacceptableParameters: "unacceptable parameters"
        case .invalidParameters: "invalid parameters"
        case .pending: "pending"
        case .authenticationPending: "authentication pending"
        case .authorizationPending: "authorization pending"
        default: "result 0x" + [UInt8(rawValue >> 8), UInt8(truncatingIfNeeded: rawValue)].hexadecimal
        }
    }
}

/// How a request to reconfigure channels was answered.
///
/// Source: Core 5.4, Vol 3, Part A, 4.28, table 4.18.
public struct ReconfigurationResult: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt16
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The new MTU and MPS are in force on all channels of the request.
    package static let success = ReconfigurationResult(rawValue: 0x0000)
    /// The MTU may not become smaller.
    package static let mtuReduced = ReconfigurationResult(rawValue: 0x0001)
    /// The MPS may become smaller only for one channel at a time.
    package static let mpsReduced = ReconfigurationResult(rawValue: 0x0002)
    /// There is no enhanced channel with one of the CIDs.
    package static let invalidDestinationCID = ReconfigurationResult(rawValue: 0x0003)
    /// Something else is wrong.
    package static let unacceptableParameters = ReconfigurationResult(rawValue: 0x0004)
}

extension ReconfigurationResult: CustomStringConvertible {
    public var description: String {
        switch self {
        case .success: "success"
        case .mtuReduced: "reduction in size of MTU not allowed"
        case .mpsReduced: "reduction in size of MPS not allowed for more than one channel at a time"
        case .invalidDestinationCID: "invalid destination CID"
        case .unacceptableParameters: "unacceptable parameters"
        default: "result 0x" + [UInt8(rawValue >> 8), UInt8(truncatingIfNeeded: rawValue)].hexadecimal
        }
    }
}
