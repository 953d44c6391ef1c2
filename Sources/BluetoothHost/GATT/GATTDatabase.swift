import ByteCoding

/// The attributes that a server offers: services, their characteristics, and the values that are kept here.
///
/// Made from declarations, in which order is handle order unless handles are asked for:
///
///     let database = try GATTDatabase {
///         Service(.genericAccess) {
///             Characteristic(.uuid16(0x2A00), .read, value: "Pebble 1234")
///         }
///         Service(.uuid16(0x180F), name: "battery") {
///             Characteristic(.uuid16(0x2A19), [.read, .notify], name: "battery level", value: [100])
///         }
///     }
///     let level = database.handle(of: "battery level")
///
/// Finding an attribute by its handle takes the same time however many there are.
public struct GATTDatabase: Sendable {
    /// A service as it lies in the handle space.
    struct ServiceEntry: Sendable {
        let uuid: BluetoothUUID
        let isPrimary: Bool
        let range: AttributeHandleRange
        var isPublished: Bool
    }

    /// All attributes in the order of their handles, those of unpublished services too.
    private(set) var attributes: [Attribute] = []
    /// For each handle, one more than the attribute's index; 0 where there is none.
    private var indexByHandle: [UInt16] = []
    private var values: [[UInt8]] = []
    private(set) var services: [ServiceEntry] = []
    private(set) var clientConfigurations: [ClientConfiguration] = []
    private var handleByName: [AttributeName: AttributeHandle] = [:]

    /// A database without any attribute.
    package init() {}

    /// In which order services may lie in the handle space.
    public enum ServiceOrder: Sendable {
        /// In any.
        case any
        /// Those with 16-bit UUIDs in front of those with 128-bit UUIDs. A Read By Group Type Response holds one size of
        /// UUIDs, so that clients discover the services in the fewest round trips.
        case shortUUIDsFirst
    }

    /// Lays out the declared services. Those that ask for no handle follow the one that is declared before. `order`
    /// says in which order they may lie.
    public init(
        serviceOrder order: ServiceOrder = .any,
        @DeclarationBuilder<Service> _ services: () -> [Service]
    ) throws(GATTDatabaseError) {
        try self.init(services(), serviceOrder: order)
    }

    /// Lays out services. Those that ask for no handle follow the one that is declared before. `order` says in which order
    /// they may lie.
    public init(_ services: [Service], serviceOrder order: ServiceOrder = .any) throws(GATTDatabaseError) {
        var layout = GATTDatabaseLayout()
        for service in services { try layout.add(service) }
        try layout.finish(order)
        attributes = layout.exactAttributes
        values = layout.exactValues
        self.services = layout.services
        clientConfigurations = layout.clientConfigurations
        handleByName = layout.handleByName
        indexByHandle = Array(repeating: 0, count: Int(attributes.last?.handle.rawValue ?? 0) + 1)
        for index in self.services.indices { indexHandles(ofService: index) }
    }
}

// MARK: - Finding attributes

extension GATTDatabase {
    /// The handle of a named service declaration, characteristic value or descriptor.
    public func handle(of name: AttributeName) -> AttributeHandle? { handleByName[name] }

    /// The handle of the client characteristic configuration that belongs to a characteristic value.
    public func clientConfiguration(of value: AttributeHandle) -> AttributeHandle? {
        guard let slot = attribute(at: value)?.subscription.map(Int.init), clientConfigurations.indices.contains(slot)
        else {
            return nil
        }
        return clientConfigurations[slot].handle
    }

    /// The attribute with a handle, if there is one and its service is published.
    @inline(__always)
    package func attribute(at handle: AttributeHandle) -> Attribute? {
        let slot = Int(handle.rawValue)
        guard slot < indexByHandle.count else { return nil }
        let index = Int(indexByHandle[slot]) - 1
        guard index >= 0, index < attributes.count else { return nil }
        return attributes[index]
    }

    /// The published attributes within a range, in the order of their handles.
    package func attributes(in range: AttributeHandleRange) -> PublishedAttributes {
        PublishedAttributes(attributes, services, from: firstIndex(notBelow: range.start), to: range.end)
    }

    /// Attributes in the order of their handles, without those of unpublished services.
    package struct PublishedAttributes: Sequence, IteratorProtocol {
        private let attributes: [Attribute]
        private let services: [ServiceEntry]
        private var index: Int
        private let end: AttributeHandle

        fileprivate init(
            _ attributes: [Attribute],
            _ services: [ServiceEntry],
            from index: Int,
            to end: AttributeHandle
        ) {
            self.attributes = attributes
            self.services = services
            self.index = index
            self.end = end
        }

        package mutating func next() -> Attribute? {
            while index < attributes.count, attributes[index].handle <= end {
                let attribute = attributes[index]
                index += 1
                let service = Int(attribute.service)
                if services.indices.contains(service), services[service].isPublished { return attribute }
            }
            return nil
        }
    }

    /// The last handle of the group that an attribute opens (Core 5.4, Vol 3, Part G, 2.5.3): of the service for a service
    /// declaration, of the characteristic's last attribute for a characteristic declaration; else its own.
    func groupEnd(of attribute: Attribute) -> AttributeHandle {
        guard case .constant = attribute.content, services.indices.contains(Int(attribute.service)) else {
            return attribute.handle
        }
        switch attribute.type {
        case .primaryService, .secondaryService:
            return services[Int(attribute.service)].range.end
        case .characteristic:
            let group = attributes[firstIndex(notBelow: attribute.handle)...].dropFirst().prefix {
                $0.service == attribute.service && $0.type != .characteristic
            }
            return group.last?.handle ?? attribute.handle
        default:
            return attribute.handle
        }
    }

    private func firstIndex(notBelow handle: AttributeHandle) -> Int {
        var low = 0
        var high = attributes.count
        while low < high {
            let middle = (low + high) / 2
            if attributes[middle].handle < handle { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

// MARK: - Values

extension GATTDatabase {
    /// The bytes kept for an attribute; nil when it has none here or does not exist.
    package func value(of handle: AttributeHandle) -> [UInt8]? {
        guard let attribute = attribute(at: handle) else { return nil }
        return storedValue(of: attribute)
    }

    /// Replaces the bytes kept for an attribute of a published or unpublished service.
    package mutating func setValue(
        _ value: some Collection<UInt8>,
        of handle: AttributeHandle
    ) throws(GATTError) {
        let index = firstIndex(notBelow: handle)
        guard index < attributes.count, attributes[index].handle == handle else { throw .unknownAttribute(handle) }
        let attribute = attributes[index]
        guard let slot = slot(of: attribute) else {
            throw .valueNotStored(handle)
        }
        let maximumLength = Int(attribute.maximumLength)
        let fits = attribute.isFixedLength ? value.count == maximumLength : value.count <= maximumLength
        guard fits else { throw .invalidValueLength(handle, value.count) }
        values[slot].removeAll(keepingCapacity: true)
        values[slot].append(contentsOf: value)
    }

    /// Where the value of an attribute is that can change; nil for any other.
    private func slot(of attribute: Attribute) -> Int? {
        guard case .stored(let slot) = attribute.content, values.indices.contains(Int(slot)) else { return nil }
        return Int(slot)
    }

    func storedValue(of attribute: Attribute) -> [UInt8]? {
        switch attribute.content {
        case .constant(let slot), .stored(let slot):
            values.indices.contains(Int(slot)) ? values[Int(slot)] : nil
        case .owner, .clientConfiguration, .clientSupportedFeatures: nil
        }
    }

    /// Stores what a client wrote: a shorter value leaves the rest of a fixed-length one as it was. The length has
    /// been checked.
    mutating func store(_ value: ArraySlice<UInt8>, in attribute: Attribute) {
        guard let slot = slot(of: attribute) else { return }
        if attribute.isFixedLength {
            values[slot].replaceSubrange(0..<min(value.count, values[slot].count), with: value)
        } else {
            values[slot].removeAll(keepingCapacity: true)
            values[slot].append(contentsOf: value)
        }
    }
}

// MARK: - Services that come and go

extension GATTDatabase {
    /// Shows a service to clients or hides it; its handles stay reserved, so nothing else moves.
    /// - Returns: the range that clients must be told has changed; nil when nothing did.
    package mutating func setPublished(
        _ isPublished: Bool,
        service name: AttributeName
    ) throws(GATTError) -> AttributeHandleRange? {
        guard let handle = handleByName[name],
            let index = services.firstIndex(where: { $0.range.start == handle })
        else { throw .unknownService(name) }
        guard services[index].isPublished != isPublished else { return nil }
        services[index].isPublished = isPublished
        indexHandles(ofService: index)
        return services[index].range
    }

    private mutating func indexHandles(ofService service: Int) {
        guard services.indices.contains(service) else { return }
        let entry = services[service]
        for index in firstIndex(notBelow: entry.range.start)..<attributes.count {
            let handle = attributes[index].handle
            guard handle <= entry.range.end, Int(handle.rawValue) < indexByHandle.count else { return }
            indexByHandle[Int(handle.rawValue)] = entry.isPublished ? UInt16(truncatingIfNeeded: index + 1) : 0
        }
    }
}
