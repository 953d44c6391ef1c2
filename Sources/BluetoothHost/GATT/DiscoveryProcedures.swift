import ByteCoding

/// How far a discovery has come. Every response must move it forward, so that it ends whatever the server says.
struct DiscoveryCursor: Sendable {
    /// Where to look next; nil when all has been looked at.
    private(set) var remaining: AttributeHandleRange?
    private var count = 0

    init(_ range: AttributeHandleRange) { remaining = range }

    /// Takes note of something found, which must lie in what remains; only what lies behind it remains then.
    mutating func pass(_ start: AttributeHandle, through end: AttributeHandle) throws(GATTProcedureError) {
        guard let range = remaining, range.contains(start), range.contains(end), start <= end else {
            throw .handleOutOfRange(start)
        }
        count += 1
        guard count <= GATTLimits.collectedItems else { throw .tooManyResults }
        remaining = range.after(end)
    }

    mutating func pass(_ handle: AttributeHandle) throws(GATTProcedureError) { try pass(handle, through: handle) }
}

/// A procedure that looks through a range of handles until nothing is left or found.
protocol DiscoveryProcedure: ClientProcedure {
    var cursor: DiscoveryCursor { get }
    /// What has been found so far.
    var result: GATTResponse { get }
}

extension DiscoveryProcedure {
    /// Goes on in what remains, if anything does.
    func next() -> ClientStep { cursor.remaining == nil ? .end(result) : .request }

    /// Attribute Not Found is how a server says that there is no more.
    func receive(_ error: ATTErrorResponse) throws(GATTProcedureError) -> ClientStep {
        guard error.error == .attributeNotFound else { throw .refused(error) }
        return .end(result)
    }

    /// Writes a request that looks through what remains.
    func append(_ opcode: ATTOpcode, _ type: BluetoothUUID? = nil, to buffer: inout [UInt8]) {
        guard let range = cursor.remaining else { return }
        buffer.append(opcode)
        buffer.append(range.start)
        buffer.append(range.end)
        if let type { buffer.append(type) }
    }
}

/// Core 5.4, Vol 3, Part G, 4.4.1 and 4.4.2; and the same for secondary services, which Read By Group Type finds likewise
/// (2.5.3).
struct ServiceDiscovery: DiscoveryProcedure {
    private let wanted: BluetoothUUID?
    private let type: BluetoothUUID
    private(set) var cursor = DiscoveryCursor(.all)
    private var services: [DiscoveredService] = []

    init(wanted: BluetoothUUID?, type: BluetoothUUID = .primaryService) {
        self.wanted = wanted
        self.type = type
    }

    var result: GATTResponse { .services(services) }

    func appendRequest(to buffer: inout [UInt8], mtu: Int) {
        append(wanted == nil ? .readByGroupTypeRequest : .findByTypeValueRequest, type, to: &buffer)
        if let wanted { buffer.append(wanted) }
    }

    mutating func receive(_ response: ATTResponse, mtu: Int) throws(GATTProcedureError) -> ClientStep {
        switch response {
        case .readByGroupType(let groups), .findByTypeValue(let groups):
            for group in groups {
                try cursor.pass(group.start, through: group.end)
                guard let range = AttributeHandleRange(group.start, group.end) else { continue }
                services.append(DiscoveredService(uuid: try uuid(of: group), range: range))
            }
            return next()
        case .error, .exchangeMTU, .findInformation, .readByType, .read, .readBlob, .readMultiple,
            .readMultipleVariable, .write, .prepareWrite, .executeWrite:
            throw .unexpectedResponse(response)
        }
    }

    private func uuid(of group: ATTResponse.Group) throws(GATTProcedureError) -> BluetoothUUID {
        if let wanted { return wanted }
        return try BluetoothUUID(inResponse: group.value)
    }
}

/// Core 5.4, Vol 3, Part G, 4.5.1. An include declaration names only a short UUID; for a long one, the included
/// service's declaration is read.
struct IncludeDiscovery: DiscoveryProcedure {
    private(set) var cursor: DiscoveryCursor
    private var includes: [DiscoveredInclude] = []
    private var unnamed: [(handle: AttributeHandle, range: AttributeHandleRange)] = []

    init(in range: AttributeHandleRange) { cursor = DiscoveryCursor(range) }

    var result: GATTResponse { .includedServices(includes.sorted { $0.handle < $1.handle }) }

    func appendRequest(to buffer: inout [UInt8], mtu: Int) {
        if let include = unnamed.last {
            buffer.append(ATTOpcode.readRequest)
            buffer.append(include.range.start)
        } else {
            append(.readByTypeRequest, .include, to: &buffer)
        }
    }

    mutating func receive(_ response: ATTResponse, mtu: Int) throws(GATTProcedureError) -> ClientStep {
        switch response {
        case .readByType(let declarations):
            for declaration in declarations { try receive(declaration) }
        case .read(let value):
            guard let include = unnamed.popLast() else { throw .unexpectedResponse(response) }
            add(include.handle, try BluetoothUUID(inResponse: value), include.range)
        case .error, .exchangeMTU, .findInformation, .findByTypeValue, .readBlob, .readMultiple, .readMultipleVariable,
            .readByGroupType, .write, .prepareWrite, .executeWrite:
            throw .unexpectedResponse(response)
        }
        return unnamed.isEmpty ? next() : .request
    }

    func receive(_ error: ATTErrorResponse) throws(GATTProcedureError) -> ClientStep {
        guard error.error == .attributeNotFound, unnamed.isEmpty else { throw .refused(error) }
        return .end(result)
    }

    private mutating func receive(_ declaration: HandleValue) throws(GATTProcedureError) {
        try cursor.pass(declaration.handle)
        var reader = ByteReader(declaration.value)
        do throws(ByteDecodingError) {
            let start = try AttributeHandle(reading: &reader)
            let end = try AttributeHandle(reading: &reader)
            guard let range = AttributeHandleRange(start, end) else {
                throw ByteDecodingError("included_service", .invalidValue(UInt64(start.rawValue)))
            }
            if reader.isEmpty {
                unnamed.append((declaration.handle, range))
            } else {
                add(declaration.handle, try BluetoothUUID(readingAllOf: &reader, "service_uuid"), range)
            }
        } catch {
            throw .malformedResponse(error)
        }
    }

    private mutating func add(_ handle: AttributeHandle, _ uuid: BluetoothUUID, _ range: AttributeHandleRange) {
        includes.append(DiscoveredInclude(handle: handle, service: DiscoveredService(uuid: uuid, range: range)))
    }
}

/// Core 5.4, Vol 3, Part G, 4.6.1 and 4.6.2.
struct CharacteristicDiscovery: DiscoveryProcedure {
    private let wanted: BluetoothUUID?
    private(set) var cursor: DiscoveryCursor
    private var characteristics: [DiscoveredCharacteristic] = []

    init(in range: AttributeHandleRange, wanted: BluetoothUUID?) {
        cursor = DiscoveryCursor(range)
        self.wanted = wanted
    }

    var result: GATTResponse { .characteristics(characteristics) }

    func appendRequest(to buffer: inout [UInt8], mtu: Int) {
        append(.readByTypeRequest, .characteristic, to: &buffer)
    }

    mutating func receive(_ response: ATTResponse, mtu: Int) throws(GATTProcedureError) -> ClientStep {
        guard case .readByType(let declarations) = response else { throw .unexpectedResponse(response) }
        for declaration in declarations {
            try cursor.pass(declaration.handle)
            let characteristic = try Self.read(declaration)
            if wanted == nil || wanted == characteristic.uuid { characteristics.append(characteristic) }
        }
        return next()
    }

    private static func read(_ declaration: HandleValue) throws(GATTProcedureError) -> DiscoveredCharacteristic {
        var reader = ByteReader(declaration.value)
        do throws(ByteDecodingError) {
            let properties = try reader.readUInt8("properties")
            let value = try AttributeHandle(reading: &reader)
            guard value > declaration.handle else {
                throw ByteDecodingError("value_handle", .invalidValue(UInt64(value.rawValue)))
            }
            return DiscoveredCharacteristic(
                uuid: try BluetoothUUID(readingAllOf: &reader, "characteristic_uuid"),
                properties: CharacteristicProperties(rawValue: UInt16(properties)),
                declaration: declaration.handle,
                value: value
            )
        } catch {
            throw .malformedResponse(error)
        }
    }
}

/// Core 5.4, Vol 3, Part G, 4.7.1.
struct DescriptorDiscovery: DiscoveryProcedure {
    private(set) var cursor: DiscoveryCursor
    private var descriptors: [DiscoveredDescriptor] = []

    init(in range: AttributeHandleRange) { cursor = DiscoveryCursor(range) }

    var result: GATTResponse { .descriptors(descriptors) }

    func appendRequest(to buffer: inout [UInt8], mtu: Int) { append(.findInformationRequest, to: &buffer) }

    mutating func receive(_ response: ATTResponse, mtu: Int) throws(GATTProcedureError) -> ClientStep {
        guard case .findInformation(let found) = response else { throw .unexpectedResponse(response) }
        for descriptor in found {
            try cursor.pass(descriptor.handle)
            descriptors.append(descriptor)
        }
        return next()
    }
}

/// Core 5.4, Vol 3, Part G, 4.8.2.
struct ReadByUUID: DiscoveryProcedure {
    private let uuid: BluetoothUUID
    /// Whether the first response is not the last.
    private let isExhaustive: Bool
    private(set) var cursor: DiscoveryCursor
    private var values: [HandleValue] = []

    init(_ uuid: BluetoothUUID, in range: AttributeHandleRange, isExhaustive: Bool) {
        self.uuid = uuid
        self.isExhaustive = isExhaustive
        cursor = DiscoveryCursor(range)
    }

    var result: GATTResponse { .values(values) }

    func appendRequest(to buffer: inout [UInt8], mtu: Int) { append(.readByTypeRequest, uuid, to: &buffer) }

    mutating func receive(_ response: ATTResponse, mtu: Int) throws(GATTProcedureError) -> ClientStep {
        guard case .readByType(let found) = response else { throw .unexpectedResponse(response) }
        for value in found {
            try cursor.pass(value.handle)
            values.append(value)
        }
        return isExhaustive ? next() : .end(result)
    }

    /// An error behind values that could be read ends the list without losing them.
    func receive(_ error: ATTErrorResponse) throws(GATTProcedureError) -> ClientStep {
        guard error.error == .attributeNotFound || !values.isEmpty else { throw .refused(error) }
        return .end(result)
    }
}

extension BluetoothUUID {
    /// The UUID that a server's response consists of.
    fileprivate init(inResponse value: ArraySlice<UInt8>) throws(GATTProcedureError) {
        var reader = ByteReader(value)
        do throws(ByteDecodingError) {
            self = try BluetoothUUID(readingAllOf: &reader, "service_uuid")
        } catch {
            throw .malformedResponse(error)
        }
    }
}
