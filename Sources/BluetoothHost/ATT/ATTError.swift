import ByteCoding

/// Why a server refused a request: the error codes of Core 5.4, Vol 3, Part F, 3.4.1.1 and of the
/// Core Specification Supplement, Part B, 1.2. Any other byte is kept as it came.
public struct ATTError: RawRepresentable, Error, Hashable, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The handle given was not valid on this server.
    package static let invalidHandle = ATTError(rawValue: 0x01)
    /// The attribute cannot be read.
    public static let readNotPermitted = ATTError(rawValue: 0x02)
    /// The attribute cannot be written.
    public static let writeNotPermitted = ATTError(rawValue: 0x03)
    /// The PDU was malformed.
    package static let invalidPDU = ATTError(rawValue: 0x04)
    /// The attribute needs a pairing, or a better one, before it can be read or written.
    package static let insufficientAuthentication = ATTError(rawValue: 0x05)
    /// The server does not support the request.
    public static let requestNotSupported = ATTError(rawValue: 0x06)
    /// The offset was past the end of the attribute.
    public static let invalidOffset = ATTError(rawValue: 0x07)
    /// The attribute needs authorization before it can be read or written.
    public static let insufficientAuthorization = ATTError(rawValue: 0x08)
    /// Too many prepare writes have been queued.
    package static let prepareQueueFull = ATTError(rawValue: 0x09)
    /// No attribute was found within the given handle range.
    package static let attributeNotFound = ATTError(rawValue: 0x0A)
    /// The attribute cannot be read with a Read Blob Request.
    package static let attributeNotLong = ATTError(rawValue: 0x0B)
    /// The key that encrypts the link is too short.
    package static let encryptionKeySizeTooShort = ATTError(rawValue: 0x0C)
    /// The value's length does not fit the attribute.
    public static let invalidAttributeValueLength = ATTError(rawValue: 0x0D)
    /// The request met an error that was unlikely and has no code of its own.
    public static let unlikelyError = ATTError(rawValue: 0x0E)
    /// The attribute needs an encrypted link, and there is a key to encrypt it with.
    package static let insufficientEncryption = ATTError(rawValue: 0x0F)
    /// The attribute type is not a grouping attribute that may be asked for.
    package static let unsupportedGroupType = ATTError(rawValue: 0x10)
    /// The server has not enough resources to complete the request.
    public static let insufficientResources = ATTError(rawValue: 0x11)
    /// The database changed; the client must rediscover it.
    package static let databaseOutOfSync = ATTError(rawValue: 0x12)
    /// The attribute's value may not be set to what was written.
    public static let valueNotAllowed = ATTError(rawValue: 0x13)

    /// The codes that an application gives a meaning to.
    package static let applicationCodes: ClosedRange<UInt8> = 0x80...0x9F
    /// The codes that common profiles and services share; those without a name below are reserved.
    package static let commonProfileCodes: ClosedRange<UInt8> = 0xE0...0xFF

    /// The write cannot be fulfilled for another reason than permissions.
    public static let writeRequestRejected = ATTError(rawValue: 0xFC)
    /// The client characteristic configuration is not one that the characteristic allows.
    package static let clientConfigurationImproper = ATTError(rawValue: 0xFD)
    /// A procedure that the request would start is already in progress.
    public static let procedureAlreadyInProgress = ATTError(rawValue: 0xFE)
    /// The value is outside the range that the profile or service allows.
    public static let outOfRange = ATTError(rawValue: 0xFF)

    /// An application's own code; nil outside 0x80 to 0x9F.
    public init?(application code: UInt8) {
        guard Self.applicationCodes.contains(code) else { return nil }
        self.init(rawValue: code)
    }
}

extension ATTError: CustomStringConvertible {
    /// The specification's name and number, such as `Invalid Handle (0x01)`.
    public var description: String {
        let digits = String(rawValue, radix: 16, uppercase: true)
        return "\(name) (0x\(digits.count < 2 ? "0" : "")\(digits))"
    }

    private var name: String {
        switch self {
        case .invalidHandle: "Invalid Handle"
        case .readNotPermitted: "Read Not Permitted"
        case .writeNotPermitted: "Write Not Permitted"
        case .invalidPDU: "Invalid PDU"
        case .insufficientAuthentication: "Insufficient Authentication"
        case .requestNotSupported: "Request Not Supported"
        case .invalidOffset: "Invalid Offset"
        case .insufficientAuthorization: "Insufficient Authorization"
        case .prepareQueueFull: "Prepare Queue Full"
        case .attributeNotFound: "Attribute Not Found"
        case .attributeNotLong: "Attribute Not Long"
        case .encryptionKeySizeTooShort: "Encryption Key Size Too Short"
        case .invalidAttributeValueLength: "Invalid Attribute Value Length"
        case .unlikelyError: "Unlikely Error"
        case .insufficientEncryption: "Insufficient Encryption"
        case .unsupportedGroupType: "Unsupported Group Type"
        case .insufficientResources: "Insufficient Resources"
        case .databaseOutOfSync: "Database Out Of Sync"
        case .valueNotAllowed: "Value Not Allowed"
        case .writeRequestRejected: "Write Request Rejected"
        case .clientConfigurationImproper: "Client Characteristic Configuration Descriptor Improperly Configured"
        case .procedureAlreadyInProgress: "Procedure Already in Progress"
        case .outOfRange: "Out of Range"
        default:
            if Self.applicationCodes.contains(rawValue) {
                "Application Error"
            } else if Self.commonProfileCodes.contains(rawValue) {
                "Common Profile and Service Error"
            } else {
                "Reserved Error"
            }
        }
    }
}

/// An Error Response: which request was refused, about which attribute, and why (Core 5.4, Vol 3, Part F, 3.4.1.1).
public struct ATTErrorResponse: Error, Hashable, Sendable, CustomStringConvertible {
    /// The refused request's opcode, which need not be one that the specification knows.
    package let requestOpcode: UInt8
    /// The attribute that the error is about; `.none` when it is about none.
    public let handle: AttributeHandle
    /// Why it was refused.
    public let error: ATTError

    /// A refusal of the request with this opcode. `handle` is `.none` when the error is about no attribute.
    package init(requestOpcode: UInt8, handle: AttributeHandle, error: ATTError) {
        self.requestOpcode = requestOpcode
        self.handle = handle
        self.error = error
    }

    public var description: String {
        let request = ATTOpcode(rawValue: requestOpcode).map { "\($0)" } ?? "opcode 0x\([requestOpcode].hexadecimal)"
        return "\(request) at \(handle): \(error)"
    }
}
