import BluetoothHCI
import ByteCoding

/// The first octet of a Security Manager command.
///
/// Source: Core 5.4, Vol 3, Part H, 3.3.
package enum SMPCode: UInt8, Hashable, Sendable, CaseIterable {
    case pairingRequest = 0x01
    case pairingResponse = 0x02
    case pairingConfirm = 0x03
    case pairingRandom = 0x04
    case pairingFailed = 0x05
    case encryptionInformation = 0x06
    case centralIdentification = 0x07
    case identityInformation = 0x08
    case identityAddressInformation = 0x09
    case signingInformation = 0x0A
    case securityRequest = 0x0B
    case pairingPublicKey = 0x0C
    case pairingDHKeyCheck = 0x0D
    case keypressNotification = 0x0E
}

/// One command of the Security Manager Protocol: the code, then the fields, all least significant octet first.
///
/// Source: Core 5.4, Vol 3, Part H, 3.5 and 3.6.
enum SMPPDU: Hashable, Sendable {
    case pairingRequest(PairingFeatures)
    case pairingResponse(PairingFeatures)
    case pairingConfirm(UInt128)
    case pairingRandom(UInt128)
    case pairingFailed(PairingFailedReason)
    case encryptionInformation(LongTermKey)
    case centralIdentification(LongTermKeyName)
    case identityInformation(IdentityResolvingKey)
    case identityAddressInformation(LEAddress)
    case signingInformation(ConnectionSignatureResolvingKey)
    case securityRequest(AuthenticationRequirements)
    case pairingPublicKey(P256PublicKey)
    case pairingDHKeyCheck(UInt128)
    case keypressNotification(UInt8)

    /// The largest command, and so the MTU of the channel: Pairing Public Key.
    ///
    /// Source: Core 5.4, Vol 3, Part H, 3.2.
    static let maximumSize = 65

    /// Reads a whole command, which has to fill the bytes exactly.
    init(decoding bytes: ArraySlice<UInt8>) throws(ByteDecodingError) {
        var reader = ByteReader(bytes)
        let number = try reader.readUInt8("smp.code")
        guard let code = SMPCode(rawValue: number) else {
            throw ByteDecodingError("smp.code", .invalidValue(UInt64(number)))
        }
        try self.init(code, &reader)
        try reader.expectEnd("smp.\(code)")
    }

    /// Reads what the peer sent; what is thrown is what the peer is to be told.
    init(receiving bytes: ArraySlice<UInt8>) throws(PairingFailedReason) {
        do {
            try self.init(decoding: bytes)
        } catch {
            // Never answer a Pairing Failed with another one: two such devices would never stop.
            guard bytes.first == SMPCode.pairingFailed.rawValue else { throw .invalidParameters }
            self = .pairingFailed(.unspecifiedReason)
        }
    }

    private init(_ code: SMPCode, _ reader: inout ByteReader) throws(ByteDecodingError) {
        switch code {
        case .pairingRequest: self = .pairingRequest(try PairingFeatures(reading: &reader, "pairing_request"))
        case .pairingResponse: self = .pairingResponse(try PairingFeatures(reading: &reader, "pairing_response"))
        case .pairingConfirm: self = .pairingConfirm(try reader.readLittleEndian("pairing_confirm.value"))
        case .pairingRandom: self = .pairingRandom(try reader.readLittleEndian("pairing_random.value"))
        case .pairingFailed:
            self = .pairingFailed(PairingFailedReason(rawValue: try reader.readUInt8("pairing_failed.reason")))
        case .encryptionInformation:
            self = .encryptionInformation(try LongTermKey(reading: &reader, "encryption_information.long_term_key"))
        case .centralIdentification:
            self = .centralIdentification(try LongTermKeyName(reading: &reader, "central_identification"))
        case .identityInformation:
            self = .identityInformation(try IdentityResolvingKey(reading: &reader, "identity_information.irk"))
        case .identityAddressInformation: self = .identityAddressInformation(try Self.readIdentity(&reader))
        case .signingInformation:
            self = .signingInformation(
                try ConnectionSignatureResolvingKey(reading: &reader, "signing_information.signature_key")
            )
        case .securityRequest:
            self = .securityRequest(
                AuthenticationRequirements(rawValue: try reader.readUInt8("security_request.auth_req"))
            )
        case .pairingPublicKey:
            let x = try UInt256(littleEndian: &reader, "pairing_public_key.x")
            let y = try UInt256(littleEndian: &reader, "pairing_public_key.y")
            self = .pairingPublicKey(P256PublicKey(x: x, y: y))
        case .pairingDHKeyCheck: self = .pairingDHKeyCheck(try reader.readLittleEndian("pairing_dhkey_check.value"))
        case .keypressNotification:
            self = .keypressNotification(try reader.readUInt8("keypress_notification.type"))
        }
    }

    /// An identity address is public or static random: nothing else identifies a device.
    private static func readIdentity(_ reader: inout ByteReader) throws(ByteDecodingError) -> LEAddress {
        let field = "identity_address_information"
        let identity = try LEAddress(reading: &reader, field)
        guard identity.isIdentity, identity == identity.withoutIdentityType else {
            throw ByteDecodingError(field, .invalidValue(identity.address.value))
        }
        return identity
    }

    /// The command's code.
    var code: SMPCode {
        switch self {
        case .pairingRequest: .pairingRequest
        case .pairingResponse: .pairingResponse
        case .pairingConfirm: .pairingConfirm
        case .pairingRandom: .pairingRandom
        case .pairingFailed: .pairingFailed
        case .encryptionInformation: .encryptionInformation
        case .centralIdentification: .centralIdentification
        case .identityInformation: .identityInformation
        case .identityAddressInformation: .identityAddressInformation
        case .signingInformation: .signingInformation
        case .securityRequest: .securityRequest
        case .pairingPublicKey: .pairingPublicKey
        case .pairingDHKeyCheck: .pairingDHKeyCheck
        case .keypressNotification: .keypressNotification
        }
    }

    /// Appends the whole command.
    func encode(to buffer: inout [UInt8]) {
        buffer.append(code.rawValue)
        switch self {
        case .pairingRequest(let features), .pairingResponse(let features): features.encode(to: &buffer)
        case .pairingConfirm(let value), .pairingRandom(let value), .pairingDHKeyCheck(let value):
            buffer.appendLittleEndian(value)
        case .pairingFailed(let reason): buffer.append(reason.rawValue)
        case .encryptionInformation(let key): key.encode(to: &buffer)
        case .centralIdentification(let name): name.encode(to: &buffer)
        case .identityInformation(let key): key.encode(to: &buffer)
        case .identityAddressInformation(let identity): identity.encode(to: &buffer)
        case .signingInformation(let key): key.encode(to: &buffer)
        case .securityRequest(let authentication): buffer.append(authentication.rawValue)
        case .pairingPublicKey(let key):
            key.x.appendLittleEndian(to: &buffer)
            key.y.appendLittleEndian(to: &buffer)
        case .keypressNotification(let type): buffer.append(type)
        }
    }

    /// The command as *c1* takes it: a number with the code at the low end. Only for commands of up to 8 octets.
    var confirmValueInput: UInt64 {
        var bytes: [UInt8] = []
        encode(to: &bytes)
        return bytes.prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}

extension LEAddress {
    /// Whether this address names a device for good: it is public, or static random.
    package var isIdentity: Bool {
        type.withoutIdentity == .public || address.isStaticRandom
    }

    /// The same address, whether or not a controller says that it resolved it.
    var withoutIdentityType: LEAddress { LEAddress(type: type.withoutIdentity, address: address) }
}

extension SMPCode: CustomStringConvertible {
    /// The name of the case. Reflection gives it too, but looks through all types of the program first.
    package var description: String {
        switch self {
        case .pairingRequest: "pairingRequest"
        case .pairingResponse: "pairingResponse"
        case .pairingConfirm: "pairingConfirm"
        case .pairingRandom: "pairingRandom"
        case .pairingFailed: "pairingFailed"
        case .encryptionInformation: "encryptionInformation"
        case .centralIdentification: "centralIdentification"
        case .identityInformation: "identityInformation"
        case .identityAddressInformation: "identityAddressInformation"
        case .signingInformation: "signingInformation"
        case .securityRequest: "securityRequest"
        case .pairingPublicKey: "pairingPublicKey"
        case .pairingDHKeyCheck: "pairingDHKeyCheck"
        case .keypressNotification: "keypressNotification"
        }
    }
}
