import BluetoothHost

/// A look at the whole of a phone's database: `PhoneDiscovery.everything`.
struct PhoneServiceSurvey: Sendable {
    /// A question of the survey.
    enum Step: Equatable, Sendable {
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

    private var services: [DiscoveredService] = []
    /// Those of each service.
    private var characteristics: [[DiscoveredCharacteristic]] = []
    /// The client characteristic configurations, by the values that they are of.
    private var configurations: [AttributeHandle: AttributeHandle] = [:]

    /// Takes an answer.
    /// - Returns: what is to be asked because of it.
    mutating func answered(_ step: Step, _ response: GATTResponse) -> [Step] {
        switch (step, response) {
        case (.services, .services(let found)):
            services = found
            characteristics = found.map { _ in [] }
            return found.enumerated().map { .characteristics(ofService: $0.offset, in: $0.element.range) }
        case (.characteristics(let index, let range), .characteristics(let found)):
            guard characteristics.indices.contains(index) else { return [] }
            characteristics[index] = found
            return found.compactMap { characteristic in
                found.descriptors(of: characteristic, in: range).map { .descriptors(of: characteristic.value, in: $0) }
            }
        case (.descriptors(let value, _), .descriptors(let found)):
            for descriptor in found where descriptor.uuid == .clientCharacteristicConfiguration {
                configurations[value] = descriptor.handle
            }
            return []
        case (.services, _), (.characteristics, _), (.descriptors, _):
            return []
        }
    }

    /// What was seen of what is wanted, in the order of the phone's services.
    func outlines(of wanted: [WantedService]) -> [PhoneServiceOutline] {
        var outlines: [PhoneServiceOutline] = []
        for (service, characteristics) in zip(services, characteristics) {
            for wanted in wanted where wanted.uuid == service.uuid {
                var outline = PhoneServiceOutline(of: wanted, at: service.range)
                outline.found(characteristics, configurations)
                outlines.append(outline)
            }
        }
        return outlines
    }
}
