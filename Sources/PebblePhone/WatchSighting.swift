import BluetoothHCI
import ByteCoding
import PebbleProtocol

/// What a watch says of itself in its scan response.
package struct WatchAdvertisement: Hashable, Sendable {
    /// Who made it: 0x0EEA today, 0x0154 once.
    package let company: CompanyIdentifier
    /// Twelve characters.
    package let serialNumber: String
    /// Nil in the short form of firmware before 3.0.
    package let details: Details?

    /// What firmware 3.0 added.
    package struct Details: Hashable, Sendable {
        package let hardware: HardwarePlatform
        package let colorNumber: UInt8
        /// Major, minor, patch.
        package let firmware: SoftwareVersion
        package let isInRecovery: Bool

        /// The colour; nil for a number that has no name.
        package var color: WatchColor? { WatchColor(rawValue: UInt32(colorNumber)) }
    }

    /// Three numbers, printed with dots.
    package struct SoftwareVersion: Hashable, Sendable, CustomStringConvertible {
        package let major: UInt8
        package let minor: UInt8
        package let patch: UInt8

        package var description: String { "\(major).\(minor).\(patch)" }
    }

    /// The companies whose data phones take for a watch's.
    static let companies = [CompanyIdentifier(rawValue: 0x0EEA), CompanyIdentifier(rawValue: 0x0154)]
    /// The only payload type there is.
    private static let payloadType: UInt8 = 0

    /// Finds a watch's data among what was advertised; nil if there is none.
    init?(_ data: AdvertisingData) {
        for company in Self.companies {
            guard let bytes = data.manufacturerData(of: company),
                let advertisement = try? WatchAdvertisement(company: company, payload: bytes)
            else { continue }
            self = advertisement
            return
        }
        return nil
    }

    private init(company: CompanyIdentifier, payload: ArraySlice<UInt8>) throws(ByteDecodingError) {
        var reader = ByteReader(payload)
        let type = try reader.readUInt8("watch_advertisement.payload_type")
        guard type == Self.payloadType else {
            throw ByteDecodingError("watch_advertisement.payload_type", .invalidValue(UInt64(type)))
        }
        self.company = company
        let serial = try reader.readBytes(PPoGATTResetRequest.serialNumberLength, "watch_advertisement.serial")
        serialNumber = String(decoding: serial, as: UTF8.self)
        details = reader.isEmpty ? nil : try Details(reading: &reader)
    }
}

extension WatchAdvertisement.Details {
    fileprivate init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        hardware = HardwarePlatform(rawValue: try reader.readUInt8("watch_advertisement.hw_platform"))
        colorNumber = try reader.readUInt8("watch_advertisement.color")
        firmware = WatchAdvertisement.SoftwareVersion(
            major: try reader.readUInt8("watch_advertisement.fw_major"),
            minor: try reader.readUInt8("watch_advertisement.fw_minor"),
            patch: try reader.readUInt8("watch_advertisement.fw_patch")
        )
        isInRecovery = try reader.readUInt8("watch_advertisement.flags") & 0x01 != 0
    }
}

/// A watch that the phone heard.
package struct WatchSighting: Hashable, Sendable {
    package let address: LEAddress
    package internal(set) var name: String?
    /// What its scan response says; nil if none was heard.
    package internal(set) var advertisement: WatchAdvertisement?
    /// How strongly it was heard last, in dBm; nil if the controller cannot tell.
    package internal(set) var rssiDBm: Int8?
}

/// Puts together what is heard of each advertiser, until it is known to be a watch.
struct WatchScanner: Sendable {
    /// As many watches are kept in mind; then the first of those that are not wanted is forgotten for a new one.
    static let candidateLimit = 64
    /// How long a watch's scan response is waited for once its advertisement was heard: some controllers never
    /// deliver one.
    static let scanResponsePatience: Duration = .seconds(2)

    private struct Candidate: Sendable {
        var sighting: WatchSighting
        var offersPairingService = false
        /// When it is taken as it is.
        let patienceEnds: Duration
    }

    private let selection: WatchSelection
    private var candidates: [LEAddress: Candidate] = [:]
    /// Their addresses, the one that was heard first in front.
    private var order: [LEAddress] = []

    init(_ selection: WatchSelection) { self.selection = selection }

    /// Takes an advertisement or a scan response. Nothing is kept of what can be no watch's.
    mutating func receive(from address: LEAddress, _ data: AdvertisingData, rssiDBm: Int8?, at now: Duration) {
        let advertisement = WatchAdvertisement(data)
        let offersPairingService = data.serviceUUIDs16.contains(PebbleAttribute.pairingService)
        if candidates[address] == nil {
            guard advertisement != nil || offersPairingService, mayBeWanted(address) else { return }
            guard makeRoom() else { return }
            order.append(address)
            let sighting = WatchSighting(address: address)
            candidates[address] = Candidate(sighting: sighting, patienceEnds: now + Self.scanResponsePatience)
        }
        guard var candidate = candidates[address] else { return }
        candidate.sighting.rssiDBm = rssiDBm
        candidate.sighting.name = data.localName ?? candidate.sighting.name
        candidate.sighting.advertisement = advertisement ?? candidate.sighting.advertisement
        if offersPairingService { candidate.offersPairingService = true }
        candidates[address] = candidate
    }

    /// Whether a device with an address can be what is looked for. Where its name decides, that is not known yet.
    private func mayBeWanted(_ address: LEAddress) -> Bool {
        guard case .address(let wanted) = selection else { return true }
        return address.address == wanted
    }

    /// Makes room for one more, so that a watch is found among any number of others.
    /// - Returns: whether there is room: there is none beside as many as are wanted.
    private mutating func makeRoom() -> Bool {
        guard candidates.count >= Self.candidateLimit else { return true }
        guard let place = order.firstIndex(where: { candidates[$0].map(isWanted) != true }) else { return false }
        candidates[order.remove(at: place)] = nil
        return true
    }

    private func isWanted(_ candidate: Candidate) -> Bool {
        guard candidate.offersPairingService else { return false }
        return switch selection {
        case .any: true
        case .address(let address): candidate.sighting.address.address == address
        case .name(let name): candidate.sighting.name == name
        }
    }

    /// Every watch that was heard, the strongest first; the address decides among equals.
    var sightings: [WatchSighting] {
        candidates.values.map(\.sighting)
            .sorted {
                let strengths = ($0.rssiDBm ?? .min, $1.rssiDBm ?? .min)
                return strengths.0 == strengths.1
                    ? $0.address.address.value < $1.address.address.value : strengths.0 > strengths.1
            }
    }

    /// What was heard of one watch; nil if it was not.
    func sighting(of address: LEAddress) -> WatchSighting? { candidates[address]?.sighting }

    /// When a watch is taken without its scan response.
    var nextDeadline: Duration? { wanted.map(\.patienceEnds).min() }

    /// A watch that is wanted, once everything is known of it or it was waited for long enough: of several, the one that was
    /// heard first.
    func found(at now: Duration) -> WatchSighting? {
        wanted.first { $0.sighting.advertisement != nil || $0.patienceEnds <= now }?.sighting
    }

    private var wanted: some Collection<Candidate> { order.lazy.compactMap { candidates[$0] }.filter(isWanted) }
}
