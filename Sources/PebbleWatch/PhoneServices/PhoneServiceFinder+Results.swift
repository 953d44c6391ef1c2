import BluetoothHost
import DequeModule

// What the finder makes of the phone's answers.

extension PhoneServiceFinder {
    mutating func succeeded(_ step: Step, _ response: GATTResponse) {
        switch (step, response) {
        case (.readDatabaseHash, .values(let values)):
            receivedDatabaseHash(values.first?.value)
        case (.checkMeta(let transport, let meta), .values(let values)):
            receivedMeta(values, of: transport, expecting: meta)
        case (.survey(let step), let response):
            surveyed(step, response)
        case (.find(let wanted), .services(let services)):
            foundServices(services.map(\.range), of: wanted)
        case (.findCharacteristics(let outline), .characteristics(let found)):
            foundCharacteristics(found, of: outline)
        case (.findConfiguration(let outline), .descriptors(let descriptors)):
            foundDescriptors(descriptors, of: outline)
        case (.subscribeToServiceChanged, .written):
            subscribedToServiceChanged()
        case (.checkSubscription(let service, _), .value(let value)):
            // Notifications or indications.
            let isSubscribed = value.first.map { $0 & 0x03 != 0 } ?? false
            if isSubscribed { events.append(.unchanged(service)) } else { vanish(service) }
        default:
            break
        }
    }

    /// The subscription to a service cannot be read: whether it is gone with the service, or its reading is not allowed.
    mutating func couldNotCheck(_ service: PhoneService, _ error: GATTProcedureError) {
        guard case .refused(let refusal) = error, found.contains(service) else { return }
        switch refusal.error {
        case .invalidHandle, .attributeNotFound, .databaseOutOfSync: vanish(service)
        default: events.append(.unclear(service))
        }
    }

    /// What is at a service's place is not the one that we have subscribed to.
    mutating func vanish(_ service: PhoneService) {
        guard found.contains(service) else { return }
        remove(service)
        lookAgain(for: service.uuid)
    }

    /// Reports that a service is there no more.
    mutating func remove(_ service: PhoneService) {
        guard let index = found.firstIndex(of: service) else { return }
        found.remove(at: index)
        if let meta = PPoGATTService(service)?.meta {
            metas[meta] = nil
            freshMetas.remove(meta)
        }
        events.append(.vanished(service))
    }

    /// Of what changed up to now the phone has said nothing, unless it is one that remembers who is to be told.
    private mutating func subscribedToServiceChanged() {
        isSubscribedToChanges = true
        if databaseHash != nil {
            steps.append(.readDatabaseHash)
        } else if !hasPromisedChanges {
            lookAgain()
        }
    }

    private mutating func foundServices(_ ranges: [AttributeHandleRange], of wanted: WantedService) {
        if wanted != .genericAttribute, !searched.contains(wanted) { searched.append(wanted) }
        for service in found where service.uuid == wanted.uuid && !ranges.contains(service.range) { remove(service) }
        // They are seen again now, or are not there any more.
        for service in forgotten where service.uuid == wanted.uuid {
            if let index = forgotten.firstIndex(of: service) { forgotten.remove(at: index) }
        }
        // What an earlier look has left to do may be out of date, and would be done twice.
        for index in steps.indices.reversed() {
            if case .findCharacteristics(let outline) = steps[index], outline.wanted == wanted {
                steps.remove(at: index)
            }
        }
        var known: Set<AttributeHandleRange> = []
        for service in found where service.uuid == wanted.uuid { known.insert(service.range) }
        // At once: somebody waits for the first message, and what comes behind takes time.
        for range in ranges.prefix(Self.serviceLimit).reversed() where !known.contains(range) {
            steps.prepend(.findCharacteristics(Outline(wanted: wanted, range: range)))
        }
    }

    private mutating func foundCharacteristics(_ found: [DiscoveredCharacteristic], of outline: Outline) {
        var outline = outline
        for characteristic in found {
            guard let wanted = outline.wanted[characteristic.uuid], outline[characteristic.uuid] == nil else {
                continue
            }
            outline.characteristics.append(
                PhoneService.Characteristic(
                    uuid: characteristic.uuid,
                    properties: characteristic.properties,
                    value: characteristic.value,
                    configuration: nil
                )
            )
            if wanted.isSubscribedTo, let descriptors = found.descriptors(of: characteristic, in: outline.range) {
                outline.unconfigured.append((outline.characteristics.endIndex - 1, descriptors))
            }
        }
        goOn(with: outline)
    }

    private mutating func foundDescriptors(_ descriptors: [DiscoveredDescriptor], of outline: Outline) {
        var outline = outline
        guard let (index, _) = outline.unconfigured.popFirst(), outline.characteristics.indices.contains(index) else {
            return
        }
        let bare = outline.characteristics[index]
        outline.characteristics[index] = PhoneService.Characteristic(
            uuid: bare.uuid,
            properties: bare.properties,
            value: bare.value,
            configuration: descriptors.first { $0.uuid == .clientCharacteristicConfiguration }?.handle
        )
        goOn(with: outline)
    }

    /// Looks for what is still missing of a service, or reports it.
    mutating func goOn(with outline: Outline) {
        guard outline.unconfigured.isEmpty else { return steps.prepend(.findConfiguration(outline)) }
        let service = PhoneService(
            uuid: outline.wanted.uuid,
            range: outline.range,
            characteristics: outline.characteristics
        )
        for wanted in outline.wanted.characteristics where wanted.isRequired {
            guard let characteristic = service[wanted.uuid] else {
                return report(service, "lacks the characteristic \(wanted.uuid)")
            }
            guard !wanted.isSubscribedTo || characteristic.configuration != nil else {
                return report(service, "cannot be subscribed to")
            }
        }
        guard service.uuid != .genericAttribute else { return foundGenericAttribute(service) }
        found.append(service)
        events.append(.found(service))
    }

    private mutating func report(_ service: PhoneService, _ problem: String) {
        events.append(.problem("the phone's service \(service.uuid) at \(service.range) \(problem)"))
    }

    private mutating func foundGenericAttribute(_ service: PhoneService) {
        genericAttribute = service
        guard let changed = service[.serviceChanged] else { return }
        serviceChanged = changed.value
        // Android has no configuration there and counts every client as subscribed.
        guard let configuration = changed.configuration else { return }
        steps.prepend(.subscribeToServiceChanged(configuration))
    }
}
