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
            agenda.steps += survey.answered(step, response).map(Step.survey)
            endSurveyIfComplete()
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
        metas.remove(service)
        events.append(.vanished(service))
    }

    /// Of what changed up to now the phone has said nothing, unless it is one that remembers who is to be told.
    private mutating func subscribedToServiceChanged() {
        database.subscribed()
        if database.hash != nil {
            agenda.steps.append(.readDatabaseHash)
        } else if !database.hasPromisedChanges {
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
        agenda.dropOutlines(of: wanted)
        var known: Set<AttributeHandleRange> = []
        for service in found where service.uuid == wanted.uuid { known.insert(service.range) }
        // At once: somebody waits for the first message, and what comes behind takes time.
        for range in ranges.prefix(Self.serviceLimit).reversed() where !known.contains(range) {
            agenda.steps.prepend(.findCharacteristics(PhoneServiceOutline(of: wanted, at: range)))
        }
    }

    private mutating func foundCharacteristics(_ found: [DiscoveredCharacteristic], of outline: PhoneServiceOutline) {
        var outline = outline
        outline.found(found)
        goOn(with: outline)
    }

    private mutating func foundDescriptors(_ descriptors: [DiscoveredDescriptor], of outline: PhoneServiceOutline) {
        var outline = outline
        if outline.found(descriptors) { goOn(with: outline) }
    }

    /// Looks for what is still missing of a service, or reports it.
    private mutating func goOn(with outline: PhoneServiceOutline) {
        switch outline.state {
        case .incomplete:
            agenda.steps.prepend(.findConfiguration(outline))
        case .unusable(let problem):
            events.append(.problem("the phone's service \(outline.wanted.uuid) at \(outline.range) \(problem)"))
        case .complete(let service) where service.uuid == .genericAttribute:
            database.found(service)
            if let configuration = database.configuration {
                agenda.steps.prepend(.subscribeToServiceChanged(configuration))
            }
        case .complete(let service):
            found.append(service)
            events.append(.found(service))
        }
    }

    /// Reports what is wanted of all that the survey saw, once it saw everything.
    mutating func endSurveyIfComplete() {
        guard !agenda.isSurveying else { return }
        agenda.steps.append(.exchangeMTU)
        for outline in survey.outlines(of: wanted + [.genericAttribute]) { goOn(with: outline) }
        survey = PhoneServiceSurvey()
    }
}
