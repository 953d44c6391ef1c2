import ByteCoding

/// What an advertisement or a scan response says: AD structures in their order.
///
/// Source: Core 5.4, Vol 3, Part C, 11; Core Specification Supplement 11, Part A.
public struct AdvertisingData: Hashable, Sendable {
    /// The structures.
    package var structures: [ADStructure]
    /// What followed the last whole structure and was none; empty when the data was well formed.
    package private(set) var malformedTail: ArraySlice<UInt8>

    /// These structures.
    public init(_ structures: [ADStructure] = []) {
        self.structures = structures
        malformedTail = []
    }

    /// Reads whatever can be read: anyone may send anything here, so this does not fail.
    ///
    /// A length of zero ends the data early, as the Core says. A structure that claims to be longer than the data, and
    /// whatever is in it, becomes `malformedTail`.
    public init(parsing bytes: ArraySlice<UInt8>) {
        structures = []
        malformedTail = []
        var reader = ByteReader(bytes)
        while let length = reader.remaining.first, length > 0 {
            let rest = reader.remaining
            guard (try? reader.readUInt8("ad.length")) != nil, let type = try? ADType(reading: &reader, "ad.type"),
                let data = try? reader.readBytes(Int(length) - 1, "ad.data")
            else {
                malformedTail = rest
                return
            }
            structures.append(ADStructure(type: type, data: data))
        }
    }

    /// Reads whatever can be read of an array.
    public init(parsing bytes: [UInt8]) { self.init(parsing: bytes[...]) }

    /// The structures as bytes, one after the other.
    public var bytes: [UInt8] {
        var buffer: [UInt8] = []
        for structure in structures { structure.encode(to: &buffer) }
        return buffer
    }

    /// How many bytes the structures are.
    package var encodedCount: Int { bytes.count }
}

extension AdvertisingData {
    /// How the advertiser can be found and talked to, if it says so.
    public var flags: AdvertisingFlags? {
        for case .flags(let flags) in structures { return flags }
        return nil
    }

    /// The advertiser's name, shortened if that is all there is.
    public var localName: String? {
        var shortened: String?
        for case .localName(let name, let completeness) in structures {
            if completeness == .complete { return name }
            shortened = shortened ?? name
        }
        return shortened
    }

    /// How strongly the advertisement was sent, in dBm, if it says so.
    public var txPowerLevelDBm: Int8? {
        for case .txPowerLevel(let dBm) in structures { return dBm }
        return nil
    }

    /// The 16-bit UUIDs of services, of all lists together.
    public var serviceUUIDs16: [UInt16] {
        var all: [UInt16] = []
        for case .uuids16(let uuids, _) in structures { all += uuids }
        return all
    }

    /// The 128-bit UUIDs of services, of all lists together, as the numbers that their texts spell.
    public var serviceUUIDs128: [UInt128] {
        var all: [UInt128] = []
        for case .uuids128(let uuids, _) in structures { all += uuids }
        return all
    }

    /// What the advertiser says in a company's own format, if it does.
    public func manufacturerData(of company: CompanyIdentifier) -> ArraySlice<UInt8>? {
        for case .manufacturerSpecific(company, let data) in structures { return data }
        return nil
    }
}
