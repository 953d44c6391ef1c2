import ByteCoding

/// What an advertiser says about how it can be found and talked to.
///
/// Source: Core Specification Supplement 11, Part A, 1.3.
public struct AdvertisingFlags: OptionSet, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// Bit 0, LE Limited Discoverable Mode: the advertiser wants to be found for a limited time only.
    public static let leLimitedDiscoverable = AdvertisingFlags(rawValue: 1 << 0)
    /// Bit 1, LE General Discoverable Mode: the advertiser wants to be found, for any length of time.
    public static let leGeneralDiscoverable = AdvertisingFlags(rawValue: 1 << 1)
    /// Bit 2, BR/EDR Not Supported: the advertiser speaks LE only.
    public static let brEDRNotSupported = AdvertisingFlags(rawValue: 1 << 2)
    /// Bit 3: the controller can talk LE and BR/EDR to the same device at once.
    package static let simultaneousLEAndBREDRController = AdvertisingFlags(rawValue: 1 << 3)
}

/// Whether a list of services, or a name, is all there is.
public enum ADCompleteness: Hashable, Sendable {
    /// A list of all services, or the whole name.
    case complete
    /// A list that is cut off, or a shortened name.
    case incomplete
}

/// What an AD structure is about.
///
/// Source: Bluetooth Assigned Numbers, 2.3.
public struct ADType: RawRepresentable, Hashable, Sendable {
    public let rawValue: UInt8
    public init(rawValue: UInt8) { self.rawValue = rawValue }
    /// 0x01: flags, how the advertiser can be found and talked to.
    package static let flags = ADType(rawValue: 0x01)
    /// 0x02: some of the services with 16-bit UUIDs, two octets each.
    package static let incompleteUUIDs16 = ADType(rawValue: 0x02)
    /// 0x03: all services with 16-bit UUIDs, two octets each.
    package static let completeUUIDs16 = ADType(rawValue: 0x03)
    /// 0x04: some of the services with 32-bit UUIDs, four octets each.
    package static let incompleteUUIDs32 = ADType(rawValue: 0x04)
    /// 0x05: all services with 32-bit UUIDs, four octets each.
    package static let completeUUIDs32 = ADType(rawValue: 0x05)
    /// 0x06: some of the services with 128-bit UUIDs, 16 octets each.
    package static let incompleteUUIDs128 = ADType(rawValue: 0x06)
    /// 0x07: all services with 128-bit UUIDs, 16 octets each.
    package static let completeUUIDs128 = ADType(rawValue: 0x07)
    /// 0x08: the beginning of the local name, in UTF-8.
    package static let shortenedLocalName = ADType(rawValue: 0x08)
    /// 0x09: the whole local name, in UTF-8.
    package static let completeLocalName = ADType(rawValue: 0x09)
    /// 0x0A: the transmit power level, one signed octet in dBm.
    package static let txPowerLevel = ADType(rawValue: 0x0A)
    /// 0xFF: a company identifier of two octets, then data that only the company defines.
    package static let manufacturerSpecific = ADType(rawValue: 0xFF)
}

/// One element of advertising data.
///
/// Layout: length of the rest (1), type (1), data. What does not have the form of its type is `raw`.
///
/// Source: Core 5.4, Vol 3, Part C, 11.
public enum ADStructure: Hashable, Sendable {
    /// How the advertiser can be found and talked to. Flags of any other length than one octet are `raw`.
    case flags(AdvertisingFlags)
    /// Services with 16-bit UUIDs.
    case uuids16([UInt16], ADCompleteness)
    /// Services with 32-bit UUIDs.
    case uuids32([UInt32], ADCompleteness)
    /// Services with 128-bit UUIDs, as the number that their text spells.
    case uuids128([UInt128], ADCompleteness)
    /// The device's name, or the beginning of it. A name that is not UTF-8 is `raw`.
    case localName(String, ADCompleteness)
    /// How strongly the advertisement is sent, in dBm.
    case txPowerLevel(dBm: Int8)
    /// A company, and data that only the company defines. Data without a whole company identifier is `raw`.
    case manufacturerSpecific(CompanyIdentifier, ArraySlice<UInt8>)
    /// A structure of another type, or with data that does not have the form of its type: the data as it was sent.
    case raw(ADType, ArraySlice<UInt8>)

    /// How much data one structure can hold.
    package static let dataCapacity = 254

    /// Makes the structure that some data of a type is.
    package init(type: ADType, data: ArraySlice<UInt8>) {
        self = Self.typed(type, data) ?? .raw(type, data)
    }

    private static func typed(_ type: ADType, _ data: ArraySlice<UInt8>) -> ADStructure? {
        switch type {
        case .flags:
            // Longer flags than those known would not survive the way back.
            data.count == 1 ? data.first.map { .flags(AdvertisingFlags(rawValue: $0)) } : nil
        case .incompleteUUIDs16: integers(data).map { .uuids16($0, .incomplete) }
        case .completeUUIDs16: integers(data).map { .uuids16($0, .complete) }
        case .incompleteUUIDs32: integers(data).map { .uuids32($0, .incomplete) }
        case .completeUUIDs32: integers(data).map { .uuids32($0, .complete) }
        case .incompleteUUIDs128: integers(data).map { .uuids128($0, .incomplete) }
        case .completeUUIDs128: integers(data).map { .uuids128($0, .complete) }
        case .shortenedLocalName: String(validating: data, as: UTF8.self).map { .localName($0, .incomplete) }
        case .completeLocalName: String(validating: data, as: UTF8.self).map { .localName($0, .complete) }
        case .txPowerLevel: data.count == 1 ? data.first.map { .txPowerLevel(dBm: Int8(bitPattern: $0)) } : nil
        case .manufacturerSpecific: manufacturer(data)
        default: nil
        }
    }

    private static func integers<Value: FixedWidthInteger>(_ data: ArraySlice<UInt8>) -> [Value]? {
        var reader = ByteReader(data)
        var values: [Value] = []
        while !reader.isEmpty {
            guard let value = try? reader.readLittleEndian("ad.uuid", as: Value.self) else { return nil }
            values.append(value)
        }
        return values
    }

    private static func manufacturer(_ data: ArraySlice<UInt8>) -> ADStructure? {
        var reader = ByteReader(data)
        guard let company = try? CompanyIdentifier(reading: &reader, "ad.company_identifier") else { return nil }
        return .manufacturerSpecific(company, reader.remaining)
    }

    /// What it is about.
    package var type: ADType {
        switch self {
        case .flags: .flags
        case .uuids16(_, let completeness): completeness == .complete ? .completeUUIDs16 : .incompleteUUIDs16
        case .uuids32(_, let completeness): completeness == .complete ? .completeUUIDs32 : .incompleteUUIDs32
        case .uuids128(_, let completeness): completeness == .complete ? .completeUUIDs128 : .incompleteUUIDs128
        case .localName(_, let completeness): completeness == .complete ? .completeLocalName : .shortenedLocalName
        case .txPowerLevel: .txPowerLevel
        case .manufacturerSpecific: .manufacturerSpecific
        case .raw(let type, _): type
        }
    }

    /// Appends length, type and data. Data beyond `dataCapacity`, which no advertisement can carry, is cut off.
    package func encode(to buffer: inout [UInt8]) {
        let start = buffer.endIndex
        buffer.append(0)
        buffer.append(type.rawValue)
        switch self {
        case .flags(let flags): buffer.append(flags.rawValue)
        case .uuids16(let uuids, _): for uuid in uuids { buffer.appendLittleEndian(uuid) }
        case .uuids32(let uuids, _): for uuid in uuids { buffer.appendLittleEndian(uuid) }
        case .uuids128(let uuids, _): for uuid in uuids { buffer.appendLittleEndian(uuid) }
        case .localName(let name, _): buffer.append(contentsOf: name.utf8)
        case .txPowerLevel(let dBm): buffer.append(UInt8(bitPattern: dBm))
        case .manufacturerSpecific(let company, let data):
            buffer.appendLittleEndian(company.rawValue)
            buffer.append(contentsOf: data)
        case .raw(_, let data): buffer.append(contentsOf: data)
        }
        let excess = buffer.endIndex - start - 2 - Self.dataCapacity
        if excess > 0 { buffer.removeLast(excess) }
        buffer.setLength(at: start)
    }
}
