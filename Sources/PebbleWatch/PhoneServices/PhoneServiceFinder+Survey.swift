import BluetoothHost
import DequeModule

// A look at the whole of a phone's database: `PhoneDiscovery.everything`.

extension PhoneServiceFinder {
    /// What was seen so far.
    struct Survey: Sendable {
        var services: [DiscoveredService] = []
        /// Those of each service.
        var characteristics: [[DiscoveredCharacteristic]] = []
        /// The client characteristic configurations, by the values that they are of.
        var configurations: [AttributeHandle: AttributeHandle] = [:]
    }

    /// A question of the survey.
    enum SurveyStep: Equatable, Sendable {
        case services
        case characteristics(ofService: Int, in: AttributeHandleRange)
        case descriptors(of: AttributeHandle, in: AttributeHandleRange)

        var procedure: GATTProcedure {
            switch self {
            case .services: .discoverAllPrimaryServices
            case .characteristics(_, let range): .discoverCharacteristics(in: range)
            case .descriptors(_, let range): .discoverDescriptors(in: range)
            }
        }
    }

    /// Takes an answer, and asks on.
    mutating func surveyed(_ step: SurveyStep, _ response: GATTResponse) {
        switch (step, response) {
        case (.services, .services(let services)):
            survey.services = services
            survey.characteristics = services.map { _ in [] }
            for (index, service) in services.enumerated() {
                steps.append(.survey(.characteristics(ofService: index, in: service.range)))
            }
        case (.characteristics(let index, let range), .characteristics(let found)):
            guard survey.characteristics.indices.contains(index) else { break }
            survey.characteristics[index] = found
            for characteristic in found {
                guard let descriptors = found.descriptors(of: characteristic, in: range) else { continue }
                steps.append(.survey(.descriptors(of: characteristic.value, in: descriptors)))
            }
        case (.descriptors(let value, _), .descriptors(let found)):
            for descriptor in found where descriptor.uuid == .clientCharacteristicConfiguration {
                survey.configurations[value] = descriptor.handle
            }
        case (.services, _), (.characteristics, _), (.descriptors, _):
            break
        }
        endSurveyIfComplete()
    }

    /// Reports what is wanted of all that was seen, once everything was.
    mutating func endSurveyIfComplete() {
        for case .survey in steps { return }
        let survey = survey
        self.survey = Survey()
        steps.append(.exchangeMTU)
        for (service, characteristics) in zip(survey.services, survey.characteristics) {
            for wanted in wanted + [.genericAttribute] where wanted.uuid == service.uuid {
                report(wanted, at: service.range, characteristics, survey.configurations)
            }
        }
    }

    private mutating func report(
        _ wanted: WantedService,
        at range: AttributeHandleRange,
        _ characteristics: [DiscoveredCharacteristic],
        _ configurations: [AttributeHandle: AttributeHandle]
    ) {
        var outline = Outline(wanted: wanted, range: range)
        for characteristic in characteristics {
            guard wanted[characteristic.uuid] != nil, outline[characteristic.uuid] == nil else { continue }
            outline.characteristics.append(
                PhoneService.Characteristic(
                    uuid: characteristic.uuid,
                    properties: characteristic.properties,
                    value: characteristic.value,
                    configuration: configurations[characteristic.value]
                )
            )
        }
        goOn(with: outline)
    }
}

extension [DiscoveredCharacteristic] {
    /// Where the descriptors of one of a service's characteristics can be: whatever lies between a value and the next
    /// characteristic belongs to the value.
    func descriptors(
        of characteristic: DiscoveredCharacteristic,
        in service: AttributeHandleRange
    ) -> AttributeHandleRange? {
        let value = characteristic.value
        let next = map(\.declaration).filter { $0 > value }.min()
        let end = next.map { AttributeHandle(rawValue: $0.rawValue &- 1) } ?? service.end
        return value.next.flatMap { AttributeHandleRange($0, end) }
    }
}
