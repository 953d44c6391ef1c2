import BluetoothHost
import DequeModule

// What the finder makes of the phone's answers.

extension PhoneServiceFinder {
    mutating func succeeded(_ step: Step, _ response: GATTResponse) {
        switch (step, response) {
        case (.find(let wanted), .services(let services)):
            foundServices(services.map(\.range), of: wanted)
        case (.findCharacteristics(let outline), .characteristics(let found)):
            foundCharacteristics(found, of: outline)
        case (.findConfiguration(let outline), .descriptors(let descriptors)):
            foundDescriptors(descriptors, of: outline)
        case (.subscribeToServiceChanged, .written):
            // Of what changed up to now the phone has said nothing.
            lookAgain()
        case (.checkSubscription(let service, _), .value(let value)):
            // Notifications or indications.
            if value.first.map({ $0 & 0x03 == 0 }) ?? true { vanish(service) }
        default:
            break
        }
    }

    /// What is at a service's place is not the one that we have subscribed to.
    mutating func vanish(_ service: PhoneService) {
        guard found.contains(service) else { return }
        forget(service)
        events.append(.vanished(service))
        lookAgain(for: service.uuid)
    }

    private mutating func foundServices(_ ranges: [AttributeHandleRange], of wanted: WantedService) {
        for service in found where service.uuid == wanted.uuid && !ranges.contains(service.range) {
            forget(service)
            events.append(.vanished(service))
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
            // Whatever lies between a value and the next characteristic belongs to the value.
            let value = characteristic.value
            let next = found.map(\.declaration).filter { $0 > value }.min()
            let end = next.map { AttributeHandle(rawValue: $0.rawValue &- 1) } ?? outline.range.end
            if wanted.isSubscribedTo, let first = value.next,
                let descriptors = AttributeHandleRange(first, end)
            {
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
    private mutating func goOn(with outline: Outline) {
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
        guard let changed = service[.serviceChanged] else { return }
        serviceChanged = changed.value
        // Android has no configuration there and counts every client as subscribed.
        guard let configuration = changed.configuration else { return }
        keepsSubscriptions = true
        steps.prepend(.subscribeToServiceChanged(configuration))
    }
}
