import ByteCoding

/// A status of a command or a reason of an event: the Core's controller error codes.
///
/// Source: Core 5.4, Vol 1, Part F, 1.3. Any number can be held, since controllers send ones of newer versions.
public struct HCIStatus: RawRepresentable, Hashable, Sendable {
    /// The code.
    public let rawValue: UInt8

    /// Any code, known or not.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Success.
    public static let success = HCIStatus(rawValue: 0x00)
    /// Unknown HCI Command.
    package static let unknownHCICommand = HCIStatus(rawValue: 0x01)
    /// Unknown Connection Identifier.
    package static let unknownConnectionIdentifier = HCIStatus(rawValue: 0x02)
    /// Hardware Failure.
    public static let hardwareFailure = HCIStatus(rawValue: 0x03)
    /// Page Timeout.
    package static let pageTimeout = HCIStatus(rawValue: 0x04)
    /// Authentication Failure.
    public static let authenticationFailure = HCIStatus(rawValue: 0x05)
    /// PIN or Key Missing.
    public static let pinOrKeyMissing = HCIStatus(rawValue: 0x06)
    /// Memory Capacity Exceeded.
    package static let memoryCapacityExceeded = HCIStatus(rawValue: 0x07)
    /// Connection Timeout.
    public static let connectionTimeout = HCIStatus(rawValue: 0x08)
    /// Connection Limit Exceeded.
    package static let connectionLimitExceeded = HCIStatus(rawValue: 0x09)
    /// Connection Already Exists.
    package static let connectionAlreadyExists = HCIStatus(rawValue: 0x0B)
    /// Command Disallowed.
    package static let commandDisallowed = HCIStatus(rawValue: 0x0C)
    /// Connection Rejected due to Limited Resources.
    package static let rejectedLimitedResources = HCIStatus(rawValue: 0x0D)
    /// Connection Rejected due to Security Reasons.
    package static let rejectedSecurityReasons = HCIStatus(rawValue: 0x0E)
    /// Connection Rejected due to Unacceptable BD_ADDR.
    package static let rejectedUnacceptableAddress = HCIStatus(rawValue: 0x0F)
    /// Unsupported Feature or Parameter Value.
    package static let unsupportedFeatureOrParameterValue = HCIStatus(rawValue: 0x11)
    /// Invalid HCI Command Parameters.
    public static let invalidHCICommandParameters = HCIStatus(rawValue: 0x12)
    /// Remote User Terminated Connection.
    public static let remoteUserTerminatedConnection = HCIStatus(rawValue: 0x13)
    /// Remote Device Terminated Connection due to Low Resources.
    public static let remoteDeviceLowResources = HCIStatus(rawValue: 0x14)
    /// Remote Device Terminated Connection due to Power Off.
    package static let remoteDevicePowerOff = HCIStatus(rawValue: 0x15)
    /// Connection Terminated by Local Host.
    public static let connectionTerminatedByLocalHost = HCIStatus(rawValue: 0x16)
    /// Repeated Attempts.
    package static let repeatedAttempts = HCIStatus(rawValue: 0x17)
    /// Pairing Not Allowed.
    package static let pairingNotAllowed = HCIStatus(rawValue: 0x18)
    /// Unsupported Remote Feature.
    package static let unsupportedRemoteFeature = HCIStatus(rawValue: 0x1A)
    /// Invalid LL Parameters.
    package static let invalidLLParameters = HCIStatus(rawValue: 0x1E)
    /// Unspecified Error.
    package static let unspecifiedError = HCIStatus(rawValue: 0x1F)
    /// Unsupported LL Parameter Value.
    package static let unsupportedLLParameterValue = HCIStatus(rawValue: 0x20)
    /// Role Change Not Allowed.
    package static let roleChangeNotAllowed = HCIStatus(rawValue: 0x21)
    /// LL Response Timeout.
    package static let llResponseTimeout = HCIStatus(rawValue: 0x22)
    /// LL Procedure Collision.
    package static let llProcedureCollision = HCIStatus(rawValue: 0x23)
    /// Encryption Mode Not Acceptable.
    package static let encryptionModeNotAcceptable = HCIStatus(rawValue: 0x25)
    /// Instant Passed.
    package static let instantPassed = HCIStatus(rawValue: 0x28)
    /// Pairing with Unit Key Not Supported.
    package static let pairingWithUnitKeyNotSupported = HCIStatus(rawValue: 0x29)
    /// Different Transaction Collision.
    package static let differentTransactionCollision = HCIStatus(rawValue: 0x2A)
    /// Channel Classification Not Supported.
    package static let channelClassificationNotSupported = HCIStatus(rawValue: 0x2E)
    /// Insufficient Security.
    package static let insufficientSecurity = HCIStatus(rawValue: 0x2F)
    /// Parameter out of Mandatory Range.
    package static let parameterOutOfMandatoryRange = HCIStatus(rawValue: 0x30)
    /// Host Busy - Pairing.
    package static let hostBusyPairing = HCIStatus(rawValue: 0x38)
    /// Controller Busy.
    package static let controllerBusy = HCIStatus(rawValue: 0x3A)
    /// Unacceptable Connection Parameters.
    public static let unacceptableConnectionParameters = HCIStatus(rawValue: 0x3B)
    /// Advertising Timeout.
    package static let advertisingTimeout = HCIStatus(rawValue: 0x3C)
    /// Connection Terminated due to MIC Failure.
    package static let micFailure = HCIStatus(rawValue: 0x3D)
    /// Connection Failed to be Established.
    package static let connectionFailedToBeEstablished = HCIStatus(rawValue: 0x3E)
    /// Coarse Clock Adjustment Rejected.
    package static let coarseClockAdjustmentRejected = HCIStatus(rawValue: 0x40)
    /// Unknown Advertising Identifier.
    package static let unknownAdvertisingIdentifier = HCIStatus(rawValue: 0x42)
    /// Limit Reached.
    package static let limitReached = HCIStatus(rawValue: 0x43)
    /// Operation Cancelled by Host.
    public static let operationCancelledByHost = HCIStatus(rawValue: 0x44)
    /// Packet Too Long.
    package static let packetTooLong = HCIStatus(rawValue: 0x45)
}

extension HCIStatus: CustomStringConvertible {
    public var description: String {
        "\(name) (0x\([rawValue].hexadecimal.uppercased()))"
    }

    private var name: String {
        switch self {
        case .success: "Success"
        case .unknownHCICommand: "Unknown HCI Command"
        case .unknownConnectionIdentifier: "Unknown Connection Identifier"
        case .hardwareFailure: "Hardware Failure"
        case .pageTimeout: "Page Timeout"
        case .authenticationFailure: "Authentication Failure"
        case .pinOrKeyMissing: "PIN or Key Missing"
        case .memoryCapacityExceeded: "Memory Capacity Exceeded"
        case .connectionTimeout: "Connection Timeout"
        case .connectionLimitExceeded: "Connection Limit Exceeded"
        case .connectionAlreadyExists: "Connection Already Exists"
        case .commandDisallowed: "Command Disallowed"
        case .rejectedLimitedResources: "Connection Rejected due to Limited Resources"
        case .rejectedSecurityReasons: "Connection Rejected due to Security Reasons"
        case .rejectedUnacceptableAddress: "Connection Rejected due to Unacceptable BD_ADDR"
        case .unsupportedFeatureOrParameterValue: "Unsupported Feature or Parameter Value"
        case .invalidHCICommandParameters: "Invalid HCI Command Parameters"
        case .remoteUserTerminatedConnection: "Remote User Terminated Connection"
        case .remoteDeviceLowResources: "Remote Device Terminated Connection due to Low Resources"
        case .remoteDevicePowerOff: "Remote Device Terminated Connection due to Power Off"
        case .connectionTerminatedByLocalHost: "Connection Terminated by Local Host"
        case .repeatedAttempts: "Repeated Attempts"
        case .pairingNotAllowed: "Pairing Not Allowed"
        case .unsupportedRemoteFeature: "Unsupported Remote Feature"
        case .invalidLLParameters: "Invalid LL Parameters"
        case .unspecifiedError: "Unspecified Error"
        case .unsupportedLLParameterValue: "Unsupported LL Parameter Value"
        case .roleChangeNotAllowed: "Role Change Not Allowed"
        case .llResponseTimeout: "LL Response Timeout"
        case .llProcedureCollision: "LL Procedure Collision"
        case .encryptionModeNotAcceptable: "Encryption Mode Not Acceptable"
        case .instantPassed: "Instant Passed"
        case .pairingWithUnitKeyNotSupported: "Pairing with Unit Key Not Supported"
        case .differentTransactionCollision: "Different Transaction Collision"
        case .channelClassificationNotSupported: "Channel Classification Not Supported"
        case .insufficientSecurity: "Insufficient Security"
        case .parameterOutOfMandatoryRange: "Parameter out of Mandatory Range"
        case .hostBusyPairing: "Host Busy - Pairing"
        case .controllerBusy: "Controller Busy"
        case .unacceptableConnectionParameters: "Unacceptable Connection Parameters"
        case .advertisingTimeout: "Advertising Timeout"
        case .micFailure: "Connection Terminated due to MIC Failure"
        case .connectionFailedToBeEstablished: "Connection Failed to be Established"
        case .coarseClockAdjustmentRejected: "Coarse Clock Adjustment Rejected"
        case .unknownAdvertisingIdentifier: "Unknown Advertising Identifier"
        case .limitReached: "Limit Reached"
        case .operationCancelledByHost: "Operation Cancelled by Host"
        case .packetTooLong: "Packet Too Long"
        default: "Unknown Status"
        }
    }
}
