import ByteCoding

/// Turns declarations into attributes with handles (Core 5.4, Vol 3, Part G, 3).
struct GATTDatabaseLayout {
    /// In the order of their handles once `finish` has been called.
    private(set) var attributes: [Attribute] = []
    private(set) var values: [[UInt8]] = []
    /// In the order of their handles once `finish` has been called.
    private(set) var services: [GATTDatabase.ServiceEntry] = []
    private(set) var clientConfigurations: [ClientConfiguration] = []
    private(set) var handleByName: [AttributeName: AttributeHandle] = [:]

    /// The handle behind the last one; nil when there is none.
    private var nextHandle: AttributeHandle? = .first
    /// Includes whose values wait until every service has its handles.
    private var includes: [(slot: Int, service: AttributeName)] = []

    mutating func add(_ service: Service) throws(GATTDatabaseError) {
        let uuid = service.uuid.shortened
        if let wanted = service.handle {
            guard wanted != .none else { throw .handleTaken(wanted, uuid) }
            // In front of services that are declared already, too: `finish` finds out whether there is room.
            nextHandle = wanted
        }
        let declaration = try add(
            service.isPrimary ? .primaryService : .secondaryService,
            name: service.name,
            constant: [UInt8](uuid)
        )
        for case .include(let include) in service.members {
            includes.append((slot: values.count, service: include.service))
            _ = try add(.include, at: include.handle, constant: [])
        }
        for case .characteristic(let characteristic) in service.members { try add(characteristic) }
        guard let last = attributes.last?.handle else { throw .tooManyAttributes }
        let end = service.end ?? last
        guard end >= last, let range = AttributeHandleRange(declaration, end) else { throw .rangeTooShort(end, uuid) }
        nextHandle = end.next
        services.append(
            GATTDatabase.ServiceEntry(
                uuid: uuid,
                isPrimary: service.isPrimary,
                range: range,
                isPublished: service.isPublished
            )
        )
    }

    /// The attributes, without the room that was kept for more: no more come from now on.
    var exactAttributes: [Attribute] {
        var exact: [Attribute] = []
        exact.reserveCapacity(attributes.count)
        exact += attributes
        return exact
    }

    /// The same of the values.
    var exactValues: [[UInt8]] {
        var exact: [[UInt8]] = []
        exact.reserveCapacity(values.count)
        exact += values
        return exact
    }

    /// Puts everything into the order of handles, and fills in what depends on all services.
    mutating func finish(_ order: GATTDatabase.ServiceOrder) throws(GATTDatabaseError) {
        try sort()
        if order == .shortUUIDsFirst {
            for (previous, service) in zip(services, services.dropFirst())
            where service.uuid.byteCount == 2 && previous.uuid.byteCount != 2 {
                throw .serviceOutOfOrder(service.uuid)
            }
        }
        try resolveIncludes()
    }

    private mutating func sort() throws(GATTDatabaseError) {
        let order = services.indices.sorted { services[$0].range.start < services[$1].range.start }
        for (previous, next) in zip(order, order.dropFirst())
        where services[previous].range.end >= services[next].range.start {
            // The one that was declared later is in the way.
            let service = services[max(previous, next)]
            throw .handleTaken(service.range.start, service.uuid)
        }
        guard order != Array(services.indices) else { return }
        var place = Array(repeating: 0, count: services.count)
        for (new, old) in order.enumerated() { place[old] = new }
        services = order.map { services[$0] }
        for index in attributes.indices { attributes[index].service = UInt16(place[Int(attributes[index].service)]) }
        attributes.sort { $0.handle < $1.handle }
    }

    /// Fills in the include declarations: the included service's range and, if it is a short one, its UUID
    /// (Core 5.4, Vol 3, Part G, 3.2).
    private mutating func resolveIncludes() throws(GATTDatabaseError) {
        for (slot, name) in includes {
            guard let handle = handleByName[name],
                let service = services.first(where: { $0.range.start == handle })
            else { throw .unknownService(name) }
            values[slot].appendLittleEndian(service.range.start.rawValue)
            values[slot].appendLittleEndian(service.range.end.rawValue)
            if service.uuid.byteCount == 2 { values[slot].append(service.uuid) }
        }
    }

    private mutating func add(_ characteristic: Characteristic) throws(GATTDatabaseError) {
        let uuid = characteristic.uuid.shortened
        let properties = characteristic.properties
        let permissions = characteristic.permissions
        let operations = permissions.operations ?? properties.operations

        let declarationSlot = values.count
        _ = try add(.characteristic, at: characteristic.handle, constant: [])
        let value = try add(
            uuid,
            name: characteristic.name,
            at: characteristic.valueHandle,
            value: characteristic.value,
            Access(
                read: operations.contains(.read) ? permissions.read : nil,
                write: operations.isDisjoint(with: .anyWrite) ? nil : permissions.write,
                operations: operations,
                allowsReliableWrite: properties.contains(.reliableWrite)
            )
        )
        values[declarationSlot].append(properties.declared)
        values[declarationSlot].appendLittleEndian(value.rawValue)
        values[declarationSlot].append(uuid)

        let valueIndex = attributes.count - 1
        for descriptor in try Self.descriptors(of: characteristic) {
            try add(descriptor, of: characteristic, valueIndex: valueIndex)
        }
    }

    /// The descriptors that are written down, behind those that follow from the properties and are not among them.
    private static func descriptors(of characteristic: Characteristic) throws(GATTDatabaseError) -> [Descriptor] {
        var hasConfiguration = false
        var hasExtendedProperties = false
        for descriptor in characteristic.descriptors {
            let uuid = descriptor.uuid.shortened
            switch descriptor.kind {
            case .clientConfiguration:
                guard !hasConfiguration else { throw .descriptorTwice(uuid) }
                hasConfiguration = true
            case .extendedProperties:
                guard !hasExtendedProperties else { throw .descriptorTwice(uuid) }
                hasExtendedProperties = true
            case .value:
                let hasMeaning = uuid == .clientCharacteristicConfiguration || uuid == .characteristicExtendedProperties
                guard !hasMeaning else { throw .automaticDescriptor(uuid) }
            case .uninterpreted:
                break
            }
        }
        var descriptors: [Descriptor] = []
        if characteristic.addsDescriptors {
            let properties = characteristic.properties
            if !hasConfiguration, !properties.subscriptions.isEmpty {
                descriptors.append(.clientCharacteristicConfiguration())
            }
            if !hasExtendedProperties, properties.extended != nil {
                descriptors.append(.characteristicExtendedProperties())
            }
        }
        return descriptors + characteristic.descriptors
    }

    private mutating func add(
        _ descriptor: Descriptor,
        of characteristic: Characteristic,
        valueIndex: Int
    ) throws(GATTDatabaseError) {
        let uuid = descriptor.uuid.shortened
        let properties = characteristic.properties
        switch descriptor.kind {
        case .value, .uninterpreted:
            var operations: AttributeOperations = []
            if descriptor.read != nil { operations.insert(.read) }
            if descriptor.write != nil { operations.insert(.write) }
            _ = try add(
                uuid,
                name: descriptor.name,
                at: descriptor.handle,
                value: descriptor.value,
                Access(
                    read: descriptor.read,
                    write: descriptor.write,
                    operations: operations,
                    allowsReliableWrite: properties.contains(.reliableWrite)
                )
            )
        case .extendedProperties:
            var value: [UInt8] = []
            value.appendLittleEndian(properties.extended ?? 0)
            _ = try add(uuid, name: descriptor.name, at: descriptor.handle, constant: value)
        case .clientConfiguration(let subscriptions):
            let slot = clientConfigurations.count
            let requirement = characteristic.permissions.subscribe
            let handle = try add(
                uuid,
                name: descriptor.name,
                at: descriptor.handle,
                content: .clientConfiguration(UInt16(slot)),
                // Always readable: Core 5.4, Vol 3, Part G, 3.3.3.3. Write Commands are no procedure for descriptors,
                // but Android up to 6 sends them where the value takes them, and then waits for notifications.
                Access(
                    read: .open,
                    write: requirement,
                    operations: [.read, .write, .writeWithoutResponse],
                    allowsReliableWrite: properties.contains(.reliableWrite)
                ),
                Bounds(maximumLength: 2, isFixedLength: true)
            )
            clientConfigurations.append(
                ClientConfiguration(
                    handle: handle,
                    value: attributes[valueIndex].handle,
                    allowed: subscriptions ?? properties.subscriptions,
                    requirement: requirement,
                    ownerAnswers: characteristic.ownerAnswersSubscriptions
                )
            )
            attributes[valueIndex].subscription = UInt16(slot)
        }
    }
}

// MARK: - Single attributes

extension GATTDatabaseLayout {
    private struct Access {
        let read: AccessRequirement?
        let write: AccessRequirement?
        let operations: AttributeOperations
        let allowsReliableWrite: Bool

        /// That of a declaration: a value that every client can read and no client can write.
        static let declaration = Access(read: .open, write: nil, operations: .read, allowsReliableWrite: false)
    }

    private struct Bounds {
        let maximumLength: UInt16
        let isFixedLength: Bool
    }

    private mutating func add(
        _ type: BluetoothUUID,
        name: AttributeName? = nil,
        at handle: AttributeHandle? = nil,
        constant value: [UInt8]
    ) throws(GATTDatabaseError) -> AttributeHandle {
        values.append(value)
        let bounds = Bounds(maximumLength: UInt16(ATT.maximumValueLength), isFixedLength: true)
        return try add(type, name: name, at: handle, content: .constant(UInt16(values.count - 1)), .declaration, bounds)
    }

    private mutating func add(
        _ type: BluetoothUUID,
        name: AttributeName?,
        at handle: AttributeHandle?,
        value: AttributeValue,
        _ access: Access
    ) throws(GATTDatabaseError) -> AttributeHandle {
        guard (0...ATT.maximumValueLength).contains(value.maximumLength) else { throw .valueTooLong(type) }
        let content: Attribute.Content
        switch value.source {
        case .owner:
            content = .owner
        case .clientSupportedFeatures:
            content = .clientSupportedFeatures
        case .stored(let bytes):
            guard bytes.count <= value.maximumLength else { throw .valueTooLong(type) }
            content = .stored(UInt16(values.count))
            values.append(bytes)
        }
        let bounds = Bounds(maximumLength: UInt16(value.maximumLength), isFixedLength: value.isFixedLength)
        return try add(type, name: name, at: handle, content: content, access, bounds)
    }

    private mutating func add(
        _ type: BluetoothUUID,
        name: AttributeName?,
        at wanted: AttributeHandle?,
        content: Attribute.Content,
        _ access: Access,
        _ bounds: Bounds
    ) throws(GATTDatabaseError) -> AttributeHandle {
        // Services that ask for handles can want the same ones, which only `finish` finds out.
        guard attributes.count < UInt16.max, let next = nextHandle else { throw .tooManyAttributes }
        let handle = wanted ?? next
        guard handle >= next else { throw .handleTaken(handle, type) }
        nextHandle = handle.next
        if let name {
            guard handleByName.updateValue(handle, forKey: name) == nil else { throw .nameTaken(name) }
        }
        attributes.append(
            Attribute(
                type: type,
                handle: handle,
                content: content,
                read: access.read,
                write: access.write,
                operations: access.operations,
                maximumLength: bounds.maximumLength,
                isFixedLength: bounds.isFixedLength,
                allowsReliableWrite: access.allowsReliableWrite,
                service: UInt16(services.count),
                subscription: nil
            )
        )
        return handle
    }
}

extension [UInt8] {
    /// The UUID in its own form, 2 or 16 bytes, least significant first.
    init(_ uuid: BluetoothUUID) {
        self = []
        append(uuid)
    }
}
