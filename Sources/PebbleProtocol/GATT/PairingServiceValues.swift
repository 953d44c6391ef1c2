import ByteCoding

/// What the Connectivity Status characteristic says to the phone that reads it: four bytes.
///
/// | Byte | Bit | Meaning |
/// |---|---|---|
/// | 0 | 0 | the reader is connected (always) |
/// | 0 | 1 | the reader is bonded: its keys are stored |
/// | 0 | 2 | this link is encrypted |
/// | 0 | 3 | the watch has a bond with some phone |
/// | 0 | 4 | an address can be pinned without a security request (always) |
/// | 0 | 5 | reversed PPoGATT of the first form is active |
/// | 3 | all | reason of the last failed pairing on this link, 0 for none |
public struct ConnectivityStatus: Equatable, Sendable {
    /// Whether the watch has stored the keys of the phone that reads.
    public var isBonded: Bool
    /// Whether this link is encrypted.
    public var isEncrypted: Bool
    /// Whether the watch has a bond with some phone, this one or another.
    public var hasGateway: Bool
    /// Whether this phone and the watch use reversed PPoGATT of the first form.
    public var isReversedPPoGATT: Bool
    /// The Security Manager's Pairing Failed reason.
    public var lastPairingResult: UInt8

    /// The status of a link.
    package init(
        isBonded: Bool,
        isEncrypted: Bool,
        hasGateway: Bool,
        isReversedPPoGATT: Bool = false,
        lastPairingResult: UInt8 = 0
    ) {
        self.isBonded = isBonded
        self.isEncrypted = isEncrypted
        self.hasGateway = hasGateway
        self.isReversedPPoGATT = isReversedPPoGATT
        self.lastPairingResult = lastPairingResult
    }

    /// The characteristic's value.
    package var encoded: [UInt8] {
        var flags: UInt8 = 0b0001_0001
        if isBonded { flags |= 0b0000_0010 }
        if isEncrypted { flags |= 0b0000_0100 }
        if hasGateway { flags |= 0b0000_1000 }
        if isReversedPPoGATT { flags |= 0b0010_0000 }
        return [flags, 0, 0, lastPairingResult]
    }

    /// Reads a characteristic's value, for the phone's side and for tools.
    public init(decoding value: ArraySlice<UInt8>) throws(ByteDecodingError) {
        var reader = ByteReader(value)
        let flags = try reader.readUInt8("connectivity.flags")
        _ = try reader.readBytes(2, "connectivity.reserved")
        lastPairingResult = try reader.readUInt8("connectivity.last_pairing_result")
        isBonded = flags & 0b0000_0010 != 0
        isEncrypted = flags & 0b0000_0100 != 0
        hasGateway = flags & 0b0000_1000 != 0
        isReversedPPoGATT = flags & 0b0010_0000 != 0
    }
}

extension ConnectivityStatus: CustomStringConvertible {
    /// For transcripts and logs: what is so, and what is not.
    public var description: String {
        var parts = [isEncrypted ? "encrypted" : "not encrypted", isBonded ? "bonded" : "not bonded"]
        parts.append(hasGateway ? "the watch has a bond" : "the watch has no bond")
        if isReversedPPoGATT { parts.append("reversed PPoGATT") }
        if lastPairingResult != 0 { parts.append("the last pairing failed with \(lastPairingResult)") }
        return parts.joined(separator: ", ")
    }
}

/// What a phone asks for by writing Trigger Pairing: one byte, of which only the first is looked at.
public struct PairingTrigger: OptionSet, Sendable {
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The phone compares addresses: keep using the one that it sees now.
    public static let shouldPinAddress = PairingTrigger(rawValue: 1 << 0)
    /// The phone starts pairing itself: a Security Request would only get in its way.
    package static let noSecurityRequest = PairingTrigger(rawValue: 1 << 1)
    /// Send a Security Request even on an encrypted link.
    package static let forceSecurityRequest = PairingTrigger(rawValue: 1 << 2)
    /// Accept this phone's later pairing requests without asking.
    package static let autoAcceptRepairing = PairingTrigger(rawValue: 1 << 3)
    /// The phone wants reversed PPoGATT of the first form.
    public static let reversedPPoGATT = PairingTrigger(rawValue: 1 << 4)

    /// Whether the watch answers the write with a Security Request.
    package func wantsSecurityRequest(isEncrypted: Bool) -> Bool {
        if contains(.forceSecurityRequest) { return true }
        return !contains(.noSecurityRequest) && !isEncrypted
    }
}
