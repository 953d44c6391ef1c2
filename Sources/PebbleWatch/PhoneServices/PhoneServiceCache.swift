import BluetoothHost
import ByteCoding

/// What the watch remembers of a bonded phone's services, so that it need not look for them again.
///
/// It holds handles, which are worth something only as long as the phone's database is the one that they were found in.
/// `PhoneServiceFinder` makes sure of that. `encode(to:)` and `init(reading:)` are its stable form.
public struct PhoneServiceCache: Hashable, Sendable {
    /// The Database Hash that was read before the services were looked for; nil if the phone has none.
    var databaseHash: [UInt8]?
    /// The phone's GATT service, with its Service Changed characteristic if it has one.
    var genericAttribute: PhoneService?
    /// What was looked for, found or not.
    var searched: [WantedService] = []
    /// What was found, in the order of handles.
    var services: [PhoneService] = []
    /// The meta values of PPoGATT services, by their handles.
    var metas: [AttributeHandle: [UInt8]] = [:]

    /// Whether the phone has promised to say, also after the next connection, that something changed.
    var isPromised: Bool { genericAttribute?[.serviceChanged]?.configuration != nil }

    /// Whether there were companions, and each said whose it is.
    var knowsEveryCompanion: Bool {
        let companions = services.compactMap(PPoGATTService.init)
        return !companions.isEmpty && companions.allSatisfy { metas[$0.meta] != nil }
    }

    /// A Database Hash is so long (Core 5.4, Vol 3, Part G, 7.3).
    static let hashLength = 16
}

// MARK: - Stored form

extension PhoneServiceCache {
    /// The layout that follows; another one is not understood.
    private static let version: UInt8 = 1

    /// Appends the stored form: counts are one byte, handles two, UUIDs sixteen, least significant byte first.
    public func encode(to bytes: inout [UInt8]) {
        bytes.append(Self.version)
        let hash = databaseHash ?? []
        bytes.append(UInt8(clamping: hash.count))
        bytes += hash.prefix(255)
        let generic = genericAttribute.map { [$0] } ?? []
        for list in [generic, services] {
            bytes.append(UInt8(clamping: list.count))
            for service in list.prefix(255) { service.encode(to: &bytes) }
        }
        bytes.append(UInt8(clamping: searched.count))
        for wanted in searched.prefix(255) { wanted.encode(to: &bytes) }
        bytes.append(UInt8(clamping: metas.count))
        for (handle, meta) in metas.sorted(by: { $0.key < $1.key }).prefix(255) {
            bytes.appendLittleEndian(handle.rawValue)
            bytes.append(UInt8(clamping: meta.count))
            bytes += meta.prefix(255)
        }
    }

    /// Reads the stored form, to the reader's end.
    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let version = try reader.readUInt8("phone_services.version")
        guard version == Self.version else {
            throw ByteDecodingError("phone_services.version", .invalidValue(UInt64(version)))
        }
        let hash = Array(try reader.readBytes(Int(try reader.readUInt8("hash_length")), "hash"))
        databaseHash = hash.isEmpty ? nil : hash
        for _ in 0..<(try reader.readUInt8("generic_count")) { genericAttribute = try PhoneService(reading: &reader) }
        for _ in 0..<(try reader.readUInt8("service_count")) { services.append(try PhoneService(reading: &reader)) }
        for _ in 0..<(try reader.readUInt8("searched_count")) { searched.append(try WantedService(reading: &reader)) }
        for _ in 0..<(try reader.readUInt8("meta_count")) {
            let handle = AttributeHandle(rawValue: try reader.readLittleEndian("meta.handle"))
            metas[handle] = Array(try reader.readBytes(Int(try reader.readUInt8("meta.length")), "meta.value"))
        }
        try reader.expectEnd("phone_services")
    }
}

extension PhoneService {
    func encode(to bytes: inout [UInt8]) {
        bytes.appendLittleEndian(uuid.as128Bits)
        bytes.appendLittleEndian(range.start.rawValue)
        bytes.appendLittleEndian(range.end.rawValue)
        bytes.append(UInt8(clamping: characteristics.count))
        for characteristic in characteristics.prefix(255) {
            bytes.appendLittleEndian(characteristic.uuid.as128Bits)
            bytes.appendLittleEndian(characteristic.properties.rawValue)
            bytes.appendLittleEndian(characteristic.value.rawValue)
            bytes.appendLittleEndian((characteristic.configuration ?? .none).rawValue)
        }
    }

    init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        uuid = try BluetoothUUID(stored: &reader, "service.uuid")
        let start = AttributeHandle(rawValue: try reader.readLittleEndian("service.start"))
        let end = AttributeHandle(rawValue: try reader.readLittleEndian("service.end"))
        guard let range = AttributeHandleRange(start, end) else {
            throw ByteDecodingError("service.start", .invalidValue(UInt64(start.rawValue)))
        }
        self.range = range
        var characteristics: [Characteristic] = []
        for _ in 0..<(try reader.readUInt8("service.characteristic_count")) {
            let uuid = try BluetoothUUID(stored: &reader, "characteristic.uuid")
            let properties: UInt16 = try reader.readLittleEndian("characteristic.properties")
            let value = AttributeHandle(rawValue: try reader.readLittleEndian("characteristic.value"))
            let configuration = AttributeHandle(rawValue: try reader.readLittleEndian("characteristic.configuration"))
            guard range.contains(value), configuration == .none || range.contains(configuration) else {
                throw ByteDecodingError("characteristic.value", .invalidValue(UInt64(value.rawValue)))
            }
            characteristics.append(
                Characteristic(
                    uuid: uuid,
                    properties: CharacteristicProperties(rawValue: properties),
                    value: value,
                    configuration: configuration == .none ? nil : configuration
                )
            )
        }
        self.characteristics = characteristics
    }
}

extension WantedService {
    private static let isRequiredBit: UInt8 = 0x01
    private static let isSubscribedToBit: UInt8 = 0x02

    func encode(to bytes: inout [UInt8]) {
        bytes.appendLittleEndian(uuid.as128Bits)
        bytes.append(UInt8(clamping: characteristics.count))
        for characteristic in characteristics.prefix(255) {
            bytes.appendLittleEndian(characteristic.uuid.as128Bits)
            bytes.append(
                (characteristic.isRequired ? Self.isRequiredBit : 0)
                    | (characteristic.isSubscribedTo ? Self.isSubscribedToBit : 0)
            )
        }
    }

    init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        uuid = try BluetoothUUID(stored: &reader, "searched.uuid")
        var characteristics: [Characteristic] = []
        for _ in 0..<(try reader.readUInt8("searched.characteristic_count")) {
            let uuid = try BluetoothUUID(stored: &reader, "searched.characteristic")
            let bits = try reader.readUInt8("searched.bits")
            characteristics.append(
                Characteristic(
                    uuid: uuid,
                    isRequired: bits & Self.isRequiredBit != 0,
                    isSubscribedTo: bits & Self.isSubscribedToBit != 0
                )
            )
        }
        self.characteristics = characteristics
    }
}

extension BluetoothUUID {
    fileprivate init(stored reader: inout ByteReader, _ field: String) throws(ByteDecodingError) {
        self = BluetoothUUID.uuid128(try reader.readLittleEndian(field)).shortened
    }
}
