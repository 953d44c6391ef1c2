import BluetoothHost
import DequeModule
import PebbleProtocol

/// What the finder still has to ask the phone, one question at a time.
struct PhoneServiceAgenda: Sendable {
    /// A question.
    enum Step: Equatable, Sendable {
        case exchangeMTU
        case readDatabaseHash
        /// Whether a PPoGATT service is still where it was, and whose it was.
        case checkMeta(PPoGATTService, [UInt8])
        case find(WantedService)
        case findCharacteristics(PhoneServiceOutline)
        case findConfiguration(PhoneServiceOutline)
        case subscribeToServiceChanged(AttributeHandle)
        case checkSubscription(PhoneService, AttributeHandle)
        case survey(PhoneServiceSurvey.Step)
    }

    /// What waits.
    var steps: Deque<Step> = []
    /// What the phone has been asked and has not answered.
    private var current: Step?
    private(set) var isStarted = false
    private(set) var hasExchangedMTU = false
    /// Whether the services that could not be used were looked for once more.
    private var hasRetried = false

    /// Begins.
    /// - Returns: false if that was done already.
    mutating func start() -> Bool {
        defer { isStarted = true }
        return !isStarted
    }

    /// Whether anything is left to ask, or unanswered.
    var isBusy: Bool { current != nil || !steps.isEmpty }

    /// Whether something that is remembered waits to be checked.
    var checksMemory: Bool { steps.contains(where: \.isCheckOfMemory) }

    /// Whether a survey goes on.
    var isSurveying: Bool { steps.contains(where: \.isOfSurvey) }

    /// The question to ask now; nil while one is unanswered or there is none.
    /// - Parameter isReadyForMTUExchange: whether the MTU may be exchanged; what comes behind that waits for it.
    mutating func next(isReadyForMTUExchange: Bool) -> Step? {
        guard current == nil, let step = steps.first else { return nil }
        if step == .exchangeMTU {
            guard isReadyForMTUExchange else { return nil }
            hasExchangedMTU = true
        }
        steps.removeFirst()
        current = step
        return step
    }

    /// The question that has been answered; nil if none was asked.
    mutating func finish() -> Step? {
        defer { current = nil }
        return current
    }

    /// MTU first, then the services that are waited for most, then the subscription to changes.
    ///
    /// The hash is read before anything is looked for: what changes meanwhile then makes memory look older than it is.
    mutating func startAfresh(_ wanted: [WantedService], knowsHash: Bool) {
        steps = hasExchangedMTU ? [] : [.exchangeMTU]
        if !knowsHash { steps.append(.readDatabaseHash) }
        steps += wanted.prefix(1).map(Step.find)
        steps.append(.find(.genericAttribute))
        steps += wanted.dropFirst().map(Step.find)
    }

    /// Asks at the end, unless that waits already.
    mutating func append(once step: Step) {
        if !steps.contains(step) { steps.append(step) }
    }

    /// Looks for services once more; before the finder has begun it does so anyway.
    mutating func lookAgain(for wanted: some Sequence<WantedService>) {
        guard isStarted else { return }
        for wanted in wanted { append(once: .find(wanted)) }
    }

    /// A service could not be used. It is looked for again once in a connection.
    mutating func retry(_ wanted: some Sequence<WantedService>) {
        guard !hasRetried else { return }
        hasRetried = true
        lookAgain(for: wanted)
    }

    /// Services have been found. What an earlier look has left to do may be out of date, and would be done twice.
    mutating func dropOutlines(of wanted: WantedService) {
        for index in steps.indices.reversed() {
            if case .findCharacteristics(let outline) = steps[index], outline.wanted == wanted {
                steps.remove(at: index)
            }
        }
    }
}

extension PhoneServiceAgenda.Step {
    /// How the phone is asked.
    var procedure: GATTProcedure {
        switch self {
        case .exchangeMTU: .exchangeMTU
        case .readDatabaseHash: .readOneByUUID(.databaseHash)
        case .checkMeta(let transport, _):
            .readOneByUUID(.uuid128(PebbleAttribute.ppogattMeta), in: transport.service.range)
        case .find(let wanted): .discoverPrimaryServices(wanted.uuid)
        case .findCharacteristics(let outline): .discoverCharacteristics(in: outline.range)
        case .findConfiguration(let outline): .discoverDescriptors(in: outline.descriptors)
        case .subscribeToServiceChanged(let handle): .subscribe(clientConfiguration: handle, .indications)
        case .checkSubscription(_, let configuration): .read(configuration)
        case .survey(let step): step.procedure
        }
    }

    fileprivate var isCheckOfMemory: Bool {
        if case .checkMeta = self { true } else { false }
    }

    fileprivate var isOfSurvey: Bool {
        if case .survey = self { true } else { false }
    }
}
