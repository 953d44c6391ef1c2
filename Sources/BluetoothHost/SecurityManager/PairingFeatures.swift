import ByteCoding

/// How a device can show and take the secrets of a pairing.
///
/// Source: Core 5.4, Vol 3, Part H, 2.3.2 and 3.5.1.
public enum IOCapability: UInt8, Hashable, Sendable, CaseIterable {
    /// Can show six digits, and has no input.
    case displayOnly = 0
    /// Can show six digits and take a yes or no.
    case displayYesNo = 1
    /// Can take six digits, and show nothing.
    case keyboardOnly = 2
    /// Can neither show nor take anything that pairing could use.
    case noInputNoOutput = 3
    /// Can show and take six digits.
    case keyboardDisplay = 4
}

/// The AuthReq field: what a device asks of a pairing.
///
/// Source: Core 5.4, Vol 3, Part H, 3.5.1. All eight bits are kept, since some functions are computed over them.
public struct AuthenticationRequirements: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Protection against a man in the middle.
    package static let mitm = AuthenticationRequirements(rawValue: 1 << 2)
    /// LE Secure Connections is supported.
    package static let secureConnections = AuthenticationRequirements(rawValue: 1 << 3)
    /// Keypress notifications are wanted.
    package static let keypress = AuthenticationRequirements(rawValue: 1 << 4)
    /// Link key conversion function h7 is supported.
    package static let ct2 = AuthenticationRequirements(rawValue: 1 << 5)
    /// Bonding, the one defined value but zero of the two Bonding_Flags bits.
    package static let bonding = AuthenticationRequirements(rawValue: 0b01)

    private static let bondingFlags: UInt8 = 0b11

    /// Whether Bonding_Flags says Bonding; its reserved values say nothing.
    public var asksForBonding: Bool { rawValue & Self.bondingFlags == Self.bonding.rawValue }
}

/// The Key Distribution/Generation field: which keys a device gives.
///
/// Source: Core 5.4, Vol 3, Part H, 3.6.1.
package struct DistributedKeys: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }

    /// EncKey: the LTK with EDIV and Rand. Means nothing in LE Secure Connections, where both compute the LTK.
    package static let encryptionKey = DistributedKeys(rawValue: 1 << 0)
    /// IdKey: the IRK and the identity address.
    package static let identityKey = DistributedKeys(rawValue: 1 << 1)
    /// SignKey: the CSRK.
    package static let signatureKey = DistributedKeys(rawValue: 1 << 2)
    /// LinkKey: a key for BR/EDR is to be derived; never asked for here.
    package static let linkKey = DistributedKeys(rawValue: 1 << 3)
}

/// What the Pairing Request and the Pairing Response have in common: everything.
///
/// Six octets: IO capability, OOB data flag, AuthReq, maximum key size, initiator's and responder's key distribution.
/// Source: Core 5.4, Vol 3, Part H, 3.5.1 and 3.5.2.
struct PairingFeatures: Hashable, Sendable {
    /// How the device can show and take secrets.
    var ioCapability: IOCapability
    /// Whether the device has out of band data of the other one.
    var hasOutOfBandData: Bool
    /// What it asks for.
    var authentication: AuthenticationRequirements
    /// The longest key that it can use.
    var maximumKeySize: EncryptionKeySize
    /// What the initiator is to give.
    var initiatorKeys: DistributedKeys
    /// What the responder is to give.
    var responderKeys: DistributedKeys

    init(
        ioCapability: IOCapability,
        hasOutOfBandData: Bool,
        authentication: AuthenticationRequirements,
        maximumKeySize: EncryptionKeySize,
        initiatorKeys: DistributedKeys,
        responderKeys: DistributedKeys
    ) {
        self.ioCapability = ioCapability
        self.hasOutOfBandData = hasOutOfBandData
        self.authentication = authentication
        self.maximumKeySize = maximumKeySize
        self.initiatorKeys = initiatorKeys
        self.responderKeys = responderKeys
    }

    init(reading reader: inout ByteReader, _ command: String) throws(ByteDecodingError) {
        let io = try reader.readUInt8("\(command).io_capability")
        guard let ioCapability = IOCapability(rawValue: io) else {
            throw ByteDecodingError("\(command).io_capability", .invalidValue(UInt64(io)))
        }
        self.ioCapability = ioCapability
        let flag = try reader.readUInt8("\(command).oob_data_flag")
        guard flag <= 1 else { throw ByteDecodingError("\(command).oob_data_flag", .invalidValue(UInt64(flag))) }
        hasOutOfBandData = flag == 1
        authentication = AuthenticationRequirements(rawValue: try reader.readUInt8("\(command).auth_req"))
        let size = try reader.readUInt8("\(command).maximum_encryption_key_size")
        guard let maximumKeySize = EncryptionKeySize(octets: Int(size)) else {
            throw ByteDecodingError("\(command).maximum_encryption_key_size", .invalidValue(UInt64(size)))
        }
        self.maximumKeySize = maximumKeySize
        initiatorKeys = DistributedKeys(rawValue: try reader.readUInt8("\(command).initiator_key_distribution"))
        responderKeys = DistributedKeys(rawValue: try reader.readUInt8("\(command).responder_key_distribution"))
    }

    func encode(to buffer: inout [UInt8]) {
        buffer.append(ioCapability.rawValue)
        buffer.append(hasOutOfBandData ? 1 : 0)
        buffer.append(authentication.rawValue)
        buffer.append(UInt8(maximumKeySize.octets))
        buffer.append(initiatorKeys.rawValue)
        buffer.append(responderKeys.rawValue)
    }

    /// The first three octets as *f6* takes them: a number with AuthReq at the high end.
    var checkValueInput: UInt32 {
        UInt32(authentication.rawValue) << 16 | (hasOutOfBandData ? 1 : 0) << 8 | UInt32(ioCapability.rawValue)
    }
}
