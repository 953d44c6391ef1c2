import ByteCoding

/// Turns declarations into attributes with handles (Core 5.4, Vol 3, Part G, 3).
struct GATTDatabaseLayout {
    private(set) var attributes: [Attribute] = []
    private(set) var values: [[UInt8]] = []
    private(set) var services: [GATTDatabase.ServiceEntry] = []
    private(set) var clientConfigurations: [ClientConfiguration] = []
    private(set) var handleByName: [AttributeName: AttributeHandle] = [:]

    /// The next free handle; nil when there is none.
    private var nextHandle: AttributeHandle? = .first
    /// Includes whose values wait until every service has its handles.
    private var includes: [(slot: Int, service: AttributeName)] = []

    mutating func add(_ service: Service) throws(GATTDatabaseError) {
        let uuid = service.uuid.shortened
        if uuid.byteCount == 2, let previous = services.last, previous.uuid.byteCount != 2 {
            throw .serviceOutOfOrder(uuid)
        }
        if let wanted = service.handle {
            guard let nextHandle, wanted >= nextHandle else { throw .handleTaken(wanted, uuid) }
            self.nextHandle = wanted
        }
        let declaration = try add(
            service.isPrimary ? .primaryService : .secondaryService,
            name: service.name,
            constant: [UInt8](uuid)
        )
        for case .include(let include) in service.members {
            includes.append((slot: values.count, service: include.service))
            _ = try add(.include, constant: [])
        }
        for case .characteristic(let characteristic) in service.members { try add(characteristic) }
        guard let end = attributes.last?.handle, let range = AttributeHandleRange(declaration, end) else {
            throw .tooManyAttributes
        }
        services.append(
            GATTDatabase.ServiceEntry(
                uuid: uuid,
                isPrimary: service.isPrimary,
                range: range,
                isPublished: service.isPublished
            )
        )
    }

    /// Fills in the include declarations: the included service's range and, if it is a short one, its UUID
    /// (Core 5.4, Vol 3, Part G, 3.2).
    mutating func resolveIncludes() throws(GATTDatabaseError) {
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
        guard let declarationHandle = nextHandle, let valueHandle = declarationHandle.next else {
            throw .tooManyAttributes
        }

        var declaration: [UInt8] = [properties.declared]
        declaration.appendLittleEndian(valueHandle.rawValue)
        declaration.append(uuid)
        _ = try add(.characteristic, constant: declaration)

        let isWritable = !properties.isDisjoint(with: [.write, .writeWithoutResponse, .authenticatedSignedWrites])
        let hasSubscriptions = !properties.subscriptions.isEmpty
        _ = try add(
            uuid,
            name: characteristic.name,
            value: characteristic.value,
            read: properties.contains(.read) ? permissions.read : nil,
            write: isWritable ? permissions.write : nil,
            subscription: hasSubscriptions ? clientConfigurations.count : nil
        )
        if hasSubscriptions {
            guard let handle = nextHandle else { throw .tooManyAttributes }
            // Always readable: Core 5.4, Vol 3, Part G, 3.3.3.3.
            _ = try add(
                .clientCharacteristicConfiguration,
                content: .clientConfiguration(clientConfigurations.count),
                read: .open,
                write: permissions.subscribe,
                maximumLength: 2,
                isFixedLength: true
            )
            clientConfigurations.append(
                ClientConfiguration(
                    handle: handle,
                    value: valueHandle,
                    allowed: properties.subscriptions,
                    requirement: permissions.subscribe,
                    ownerAnswers: characteristic.ownerAnswersSubscriptions
                )
            )
        }
        if let extended = properties.extended {
            var value: [UInt8] = []
            value.appendLittleEndian(extended)
            _ = try add(.characteristicExtendedProperties, constant: value)
        }
        for descriptor in characteristic.descriptors { try add(descriptor) }
    }

    private mutating func add(_ descriptor: Descriptor) throws(GATTDatabaseError) {
        let automatic: [BluetoothUUID] = [.clientCharacteristicConfiguration, .characteristicExtendedProperties]
        guard !automatic.contains(descriptor.uuid) else { throw .automaticDescriptor(descriptor.uuid.shortened) }
        _ = try add(
            descriptor.uuid.shortened,
            name: descriptor.name,
            value: descriptor.value,
            read: descriptor.read,
            write: descriptor.write
        )
    }

    /// Adds a declaration: a value that anybody can read and nobody can write.
    private mutating func add(
        _ type: BluetoothUUID,
        name: AttributeName? = nil,
        constant value: [UInt8]
    ) throws(GATTDatabaseError) -> AttributeHandle {
        values.append(value)
        return try add(
            type,
            name: name,
            content: .constant(values.count - 1),
            read: .open,
            write: nil,
            maximumLength: value.count,
            isFixedLength: true
        )
    }

    private mutating func add(
        _ type: BluetoothUUID,
        name: AttributeName?,
        value: AttributeValue,
        read: AccessRequirement?,
        write: AccessRequirement?,
        subscription: Int? = nil
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
            content = .stored(values.count)
            values.append(bytes)
        }
        return try add(
            type,
            name: name,
            content: content,
            read: read,
            write: write,
            maximumLength: value.maximumLength,
            isFixedLength: value.isFixedLength,
            subscription: subscription
        )
    }

    private mutating func add(
        _ type: BluetoothUUID,
        name: AttributeName? = nil,
        content: Attribute.Content,
        read: AccessRequirement?,
        write: AccessRequirement?,
        maximumLength: Int,
        isFixedLength: Bool,
        subscription: Int? = nil
    ) throws(GATTDatabaseError) -> AttributeHandle {
        guard let handle = nextHandle else { throw .tooManyAttributes }
        nextHandle = handle.next
        if let name {
            guard handleByName.updateValue(handle, forKey: name) == nil else { throw .nameTaken(name) }
        }
        attributes.append(
            Attribute(
                handle: handle,
                type: type,
                content: content,
                read: read,
                write: write,
                maximumLength: maximumLength,
                isFixedLength: isFixedLength,
                service: services.count,
                subscription: subscription
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
