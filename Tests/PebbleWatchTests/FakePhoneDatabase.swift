import BluetoothHost
import PebbleProtocol

@testable import PebbleWatch

/// A phone's GATT database, attribute by attribute, that answers a client's requests and records them.
struct FakePhoneDatabase {
    /// What the phone does to let clients know of changes.
    enum Promise: CaseIterable {
        /// It has a Database Hash, and indicates changes.
        case hash
        /// It indicates changes, also those that a bonded client has missed.
        case indications
        /// Nothing: no hash, and no configuration where changes could be subscribed to.
        case nothing
    }

    struct Service: Equatable {
        var uuid: BluetoothUUID
        var characteristics: [(uuid: BluetoothUUID, hasConfiguration: Bool)]
        /// Of a PPoGATT service: whose it is.
        var meta: [UInt8] = []

        static func == (left: Self, right: Self) -> Bool { left.uuid == right.uuid && left.meta == right.meta }

        /// A PPoGATT service of the application with a number.
        static func ppogatt(_ number: UInt8) -> Service {
            var meta: [UInt8] = []
            let application = PebbleUUID(upperHalf: 0, lowerHalf: UInt64(number))
            PPoGATTMeta(application: application, sessionType: .inferredFromUUID).encode(to: &meta)
            return Service(
                uuid: WantedService.ppogatt.uuid,
                characteristics: [
                    (.uuid128(PebbleAttribute.ppogattData), true), (.uuid128(PebbleAttribute.ppogattMeta), false),
                ],
                meta: meta
            )
        }

        /// A service that the watch does not want, whose characteristics can all be written.
        static let other = Service(
            uuid: .uuid16(0xAAAA),
            characteristics: [(.uuid16(0xAAA1), false), (.uuid16(0xAAA2), false), (.uuid16(0xAAA3), false)]
        )

        static let wanted = Service(
            uuid: FakePhoneDatabase.wantedService.uuid,
            characteristics: [(.uuid16(0xBBB1), true), (.uuid16(0xBBB2), false)]
        )
    }

    struct Attribute {
        var type: BluetoothUUID
        /// Of a declaration: what it declares.
        var declared: BluetoothUUID?
        var end: UInt16 = 0
        var meta: [UInt8]?
    }

    /// A second kind of service beside PPoGATT.
    static let wantedService = WantedService(
        .uuid16(0xBBBB),
        .required(.uuid16(0xBBB1), isSubscribedTo: true),
        .optional(.uuid16(0xBBB2))
    )

    let promise: Promise
    var services: [Service] { didSet { layOut() } }
    /// In the order of handles, which begin at 1.
    private(set) var attributes: [Attribute] = []
    private(set) var asked: [GATTProcedure] = []
    /// Writes to what is no client characteristic configuration.
    private(set) var wrongWrites: [AttributeHandle] = []
    private(set) var subscribed: Set<AttributeHandle> = []

    init(_ promise: Promise, _ services: [Service]) {
        self.promise = promise
        self.services = services
        layOut()
    }

    private mutating func layOut() {
        let own = Service(
            uuid: .genericAttribute,
            characteristics: [(.serviceChanged, promise != .nothing)]
                + (promise == .hash ? [(.databaseHash, false)] : [])
        )
        attributes = []
        for service in [own] + services {
            let start = attributes.endIndex
            attributes.append(Attribute(type: .primaryService, declared: service.uuid))
            for characteristic in service.characteristics {
                attributes.append(Attribute(type: .characteristic, declared: characteristic.uuid))
                let isMeta = characteristic.uuid == .uuid128(PebbleAttribute.ppogattMeta)
                attributes.append(Attribute(type: characteristic.uuid, meta: isMeta ? service.meta : nil))
                if characteristic.hasConfiguration {
                    attributes.append(Attribute(type: .clientCharacteristicConfiguration))
                }
            }
            attributes[start].end = UInt16(attributes.endIndex)
        }
    }

    /// Not the specification's hash: it depends on the layout alone, and not on the values.
    var hash: [UInt8] {
        var hash: UInt128 = 0
        for attribute in attributes {
            hash = hash &* 0x1000_0000_01B3 &+ attribute.type.as128Bits &+ (attribute.declared?.as128Bits ?? 7)
        }
        return (0..<16).map { UInt8(truncatingIfNeeded: hash >> ($0 * 8)) }
    }

    /// The discovery procedures that were asked for.
    var discoveries: [GATTProcedure] { asked.filter { $0.isDiscovery } }

    mutating func forgetWhatWasAsked() { asked = [] }

    /// The connection has ended.
    mutating func disconnect() { subscribed = [] }

    // MARK: Answers

    mutating func answer(_ procedure: GATTProcedure) -> Result<GATTResponse, GATTProcedureError> {
        asked.append(procedure)
        switch procedure {
        case .exchangeMTU:
            return .success(.mtu(185))
        case .discoverPrimaryServices(let uuid):
            return .success(.services(handles(.all).compactMap { service(uuid, at: $0) }))
        case .discoverCharacteristics(let range, _):
            return .success(.characteristics(handles(range).compactMap(characteristic)))
        case .discoverDescriptors(let range):
            return .success(
                .descriptors(handles(range).map { DiscoveredDescriptor(uuid: self[$0].type, handle: $0) })
            )
        case .readOneByUUID(.databaseHash, _):
            let handle = handles(.all).first { self[$0].type == .databaseHash }
            return .success(.values(handle.map { [HandleValue($0, hash[...])] } ?? []))
        case .readOneByUUID(_, let range):
            // As many as a response holds, which with an MTU of 23 is one.
            let first = handles(range).first { self[$0].meta != nil }
            return .success(.values(first.map { [HandleValue($0, (self[$0].meta ?? [])[...])] } ?? []))
        case .read(let handle):
            guard handles(.all).contains(handle) else { return refusal(handle, .invalidHandle) }
            guard self[handle].type == .clientCharacteristicConfiguration else {
                return .success(.value((self[handle].meta ?? [])[...]))
            }
            return .success(.value(subscribed.contains(handle) ? [1, 0] : [0, 0]))
        case .subscribe(let handle, _):
            guard handles(.all).contains(handle) else { return refusal(handle, .invalidHandle) }
            guard self[handle].type == .clientCharacteristicConfiguration else {
                wrongWrites.append(handle)
                return refusal(handle, .writeNotPermitted)
            }
            subscribed.insert(handle)
            return .success(.written)
        default:
            return refusal(.none, .requestNotSupported)
        }
    }

    private subscript(_ handle: AttributeHandle) -> Attribute { attributes[Int(handle.rawValue) - 1] }

    private func handles(_ range: AttributeHandleRange) -> [AttributeHandle] {
        attributes.indices.map { AttributeHandle(rawValue: UInt16($0 + 1)) }.filter(range.contains)
    }

    private func service(_ uuid: BluetoothUUID, at handle: AttributeHandle) -> DiscoveredService? {
        let attribute = self[handle]
        guard attribute.type == .primaryService, attribute.declared == uuid,
            let range = AttributeHandleRange(handle, AttributeHandle(rawValue: attribute.end))
        else { return nil }
        return DiscoveredService(uuid: uuid, range: range)
    }

    private func characteristic(_ handle: AttributeHandle) -> DiscoveredCharacteristic? {
        guard self[handle].type == .characteristic, let uuid = self[handle].declared, let value = handle.next else {
            return nil
        }
        return DiscoveredCharacteristic(uuid: uuid, properties: [.read], declaration: handle, value: value)
    }

    private func refusal(
        _ handle: AttributeHandle,
        _ error: ATTError
    ) -> Result<GATTResponse, GATTProcedureError> {
        .failure(.refused(ATTErrorResponse(requestOpcode: 0x12, handle: handle, error: error)))
    }
}

extension GATTProcedure {
    /// Whether it is a discovery procedure.
    var isDiscovery: Bool {
        switch self {
        case .discoverAllPrimaryServices, .discoverPrimaryServices, .findIncludedServices, .discoverCharacteristics,
            .discoverDescriptors:
            true
        default: false
        }
    }
}
