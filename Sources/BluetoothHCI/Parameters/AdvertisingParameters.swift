import ByteCoding

/// What scanners and initiators may do with legacy advertising.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.5.
package enum AdvertisingType: UInt8, Hashable, Sendable, CaseIterable {
    /// ADV_IND: connectable and scannable by anyone.
    case connectableScannable = 0
    /// ADV_DIRECT_IND with a high duty cycle: one peer may connect, for 1.28 s.
    case directedHighDutyCycle = 1
    /// ADV_SCAN_IND: scannable by anyone.
    case scannable = 2
    /// ADV_NONCONN_IND: for listening only.
    case nonConnectable = 3
    /// ADV_DIRECT_IND with a low duty cycle: one peer may connect.
    case directedLowDutyCycle = 4
}

/// Which address of its own the controller uses.
package enum OwnAddressType: UInt8, Hashable, Sendable, CaseIterable {
    /// 0: the public device address.
    case `public` = 0
    /// 1: the random device address that the host has set.
    case random = 1
    /// A resolvable private address made from the resolving list; the public address if the peer is not in it.
    case resolvableOrPublic = 2
    /// A resolvable private address made from the resolving list; the random address if the peer is not in it.
    case resolvableOrRandom = 3
}

/// The primary advertising channels.
package struct AdvertisingChannels: OptionSet, Hashable, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    /// Bit 0: channel 37, at 2402 MHz.
    package static let channel37 = AdvertisingChannels(rawValue: 1 << 0)
    /// Bit 1: channel 38, at 2426 MHz.
    package static let channel38 = AdvertisingChannels(rawValue: 1 << 1)
    /// Bit 2: channel 39, at 2480 MHz.
    package static let channel39 = AdvertisingChannels(rawValue: 1 << 2)
    /// All three primary advertising channels: bits 0 to 2.
    package static let all: AdvertisingChannels = [.channel37, .channel38, .channel39]
}

/// Whose requests an advertiser answers.
public enum AdvertisingFilterPolicy: UInt8, Hashable, Sendable, CaseIterable {
    /// 0: scan requests and connection requests are answered from any device.
    case anyone = 0
    /// 1: scan requests from the filter accept list only; connection requests from any device.
    case scansFromAcceptList = 1
    /// 2: connection requests from the filter accept list only; scan requests from any device.
    case connectionsFromAcceptList = 2
    /// 3: scan requests and connection requests from the filter accept list only.
    case acceptListOnly = 3
}

/// What kind of events an extended advertising set has.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.53.
package struct AdvertisingEventProperties: OptionSet, Hashable, Sendable {
    package let rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }
    /// Bit 0: initiators can connect.
    package static let connectable = AdvertisingEventProperties(rawValue: 1 << 0)
    /// Bit 1: scanners can ask for a scan response.
    package static let scannable = AdvertisingEventProperties(rawValue: 1 << 1)
    /// Bit 2: the advertising is for one peer.
    package static let directed = AdvertisingEventProperties(rawValue: 1 << 2)
    /// Bit 3: directed, connectable, and with a high duty cycle: at most 3.75 ms between advertising events.
    package static let highDutyCycleDirected = AdvertisingEventProperties(rawValue: 1 << 3)
    /// Legacy advertising packets are used.
    package static let legacy = AdvertisingEventProperties(rawValue: 1 << 4)
    /// Bit 5: the advertiser's address is left out of all packets.
    package static let anonymous = AdvertisingEventProperties(rawValue: 1 << 5)
    /// Bit 6: the advertising packets tell the transmit power.
    package static let includesTxPower = AdvertisingEventProperties(rawValue: 1 << 6)
}

/// The number by which host and controller name an advertising set: 0x00...0xEF.
package struct AdvertisingHandle: RawRepresentable, Hashable, Comparable, Sendable {
    /// The number; never more than 0xEF.
    package let rawValue: UInt8

    /// The largest handle there is.
    package static let maximum: UInt8 = 0xEF

    /// Nil if the number is none that the Core allows.
    package init?(rawValue: UInt8) {
        guard rawValue <= Self.maximum else { return nil }
        self.rawValue = rawValue
    }

    package static func < (left: AdvertisingHandle, right: AdvertisingHandle) -> Bool { left.rawValue < right.rawValue }
}

extension AdvertisingHandle: ExpressibleByIntegerLiteral {
    /// For literals in code; one that is too large becomes the largest handle.
    package init(integerLiteral value: UInt8) { rawValue = min(value, Self.maximum) }
}

/// Which part of an advertising set's data a command carries.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.54.
package enum FragmentOperation: UInt8, Hashable, Sendable, CaseIterable {
    /// 0: a fragment between the first and the last.
    case intermediate = 0
    /// 1: the first fragment of new data.
    case first = 1
    /// 2: the last fragment.
    case last = 2
    /// 3: all of the data in one command.
    case complete = 3
    /// The data stays as it is; only the identifier that scanners compare changes.
    case unchanged = 4
}

/// Whether the controller may split advertising data over several packets.
package enum FragmentPreference: UInt8, Hashable, Sendable, CaseIterable {
    /// 0: the controller may fragment the data.
    case mayFragment = 0
    /// 1: the controller should not fragment the data, or as little as possible.
    case shouldNotFragment = 1
}

/// The data of legacy advertising: up to 31 octets, always sent as a length and 31 octets.
package struct AdvertisingBytes: Hashable, Sendable {
    /// How many octets there can be.
    package static let capacity = 31
    /// The octets; never more than 31.
    package let bytes: [UInt8]

    /// Takes the first 31 of some octets.
    package init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes.prefix(Self.capacity)) }

    init(reading reader: inout ByteReader, _ field: String) throws(ByteDecodingError) {
        let length = Int(try reader.readUInt8(field))
        let all = try reader.readBytes(Self.capacity, field)
        guard length <= Self.capacity else { throw ByteDecodingError(field, .invalidLength(length)) }
        bytes = Array(all.prefix(length))
    }

    func encode(to buffer: inout [UInt8]) {
        buffer.append(UInt8(clamping: bytes.count))
        buffer.append(contentsOf: bytes)
        buffer.append(contentsOf: repeatElement(0, count: Self.capacity - bytes.count))
    }
}

/// A fragment of the data of an advertising set: up to 251 octets.
package struct AdvertisingFragment: Hashable, Sendable {
    /// How many octets there can be.
    package static let capacity = 251
    /// The octets; never more than 251.
    package let bytes: [UInt8]

    /// Takes the first 251 of some octets.
    package init(_ bytes: some Sequence<UInt8>) { self.bytes = Array(bytes.prefix(Self.capacity)) }

    init(reading reader: inout ByteReader, _ field: String) throws(ByteDecodingError) {
        let length = Int(try reader.readUInt8(field))
        guard length <= Self.capacity else { throw ByteDecodingError(field, .invalidLength(length)) }
        bytes = Array(try reader.readBytes(length, field))
    }

    func encode(to buffer: inout [UInt8]) {
        buffer.append(UInt8(clamping: bytes.count))
        buffer.append(contentsOf: bytes)
    }
}

extension AdvertisingInterval {
    /// Reads the three octets that extended advertising uses.
    init(reading24Bits reader: inout ByteReader, _ field: String) throws(ByteDecodingError) {
        var value: UInt32 = 0
        for byte in try reader.readBytes(3, field).reversed() { value = value << 8 | UInt32(byte) }
        self.init(rawValue: value)
    }

    /// Appends the three octets that extended advertising uses.
    func encode24Bits(to buffer: inout [UInt8]) {
        let value = min(rawValue, Self.validRange.upperBound)
        for shift: UInt32 in [0, 8, 16] { buffer.append(UInt8(truncatingIfNeeded: value >> shift)) }
    }
}
