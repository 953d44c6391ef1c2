import BluetoothHost
import ByteCoding
import DequeModule
import PebbleProtocol

/// Finds what the phone offers to the watch on one link: its PPoGATT services, one for each companion, and word of later
/// changes.
///
/// It asks for one GATT procedure at a time and is told how that ended. Services are looked for by UUID, as Apple asks
/// of accessories, and a failure with one never costs another.
struct PhoneServiceFinder: Sendable {
    /// One of the phone's PPoGATT services.
    struct FoundTransport: Hashable, Sendable {
        /// The value that packets are written to and notified of.
        let data: AttributeHandle
        /// The data's client characteristic configuration.
        let configuration: AttributeHandle
        /// The value that says whose the service is.
        let meta: AttributeHandle
    }

    /// What the finder has to report.
    enum Event: Equatable, Sendable {
        case transportFound(FoundTransport)
        /// A service that had been found is there no more.
        case transportGone(FoundTransport)
        /// Something did not work; the rest goes on.
        case problem(String)
    }

    private struct Service: Equatable, Sendable {
        let range: AttributeHandleRange
        let data: AttributeHandle
        let meta: AttributeHandle
        /// Where the data characteristic's descriptors can be.
        let dataDescriptors: AttributeHandleRange
    }

    private enum Step: Equatable, Sendable {
        case exchangeMTU
        case findTransports
        case findGenericAttribute
        case findServiceChanged(AttributeHandleRange)
        case findServiceChangedConfiguration(AttributeHandleRange)
        case subscribeToServiceChanged(AttributeHandle)
        case findCharacteristics(AttributeHandleRange)
        case findConfiguration(Service)
        case checkSubscription(AttributeHandleRange, FoundTransport)
    }

    /// More services than a phone can have companions; beyond it a hostile phone only wastes its own time.
    static let serviceLimit = 32

    private var steps: Deque<Step> = []
    private var current: Step?
    private var events: Deque<Event> = []
    private var found: [AttributeHandleRange: FoundTransport] = [:]
    private var isStarted = false
    /// The value handle of the phone's Service Changed characteristic, once found.
    private var serviceChanged: AttributeHandle?
    /// Whether the phone keeps our subscriptions itself, as iOS does. On Android the app behind a service does, and one that
    /// leaves a question about them unanswered costs the link.
    private var keepsSubscriptions = false

    /// Begins: MTU first, then the transports, then the subscription to changes. Later calls do nothing.
    mutating func start() {
        guard !isStarted else { return }
        isStarted = true
        steps = [.exchangeMTU, .findTransports, .findGenericAttribute]
    }

    /// Whether a value that the phone sent is word of a change. While the characteristic is not found yet every indication
    /// is taken for one: Android counts everybody as subscribed, and its apps add services whenever they like.
    func isServiceChanged(_ value: ReceivedValue) -> Bool {
        serviceChanged.map { $0 == value.handle } ?? value.isIndication
    }

    /// The phone says that its database changed in a range of handles, or may have: looks again.
    ///
    /// What is still at its place stays as it is, so that one companion does not notice another's coming and going. A
    /// service that was removed and added again at the same handles shows by having lost the subscription.
    /// - Parameter value: of the Service Changed characteristic; one that makes no sense is ignored.
    mutating func databaseChanged(_ value: ArraySlice<UInt8>) {
        var reader = ByteReader(value)
        guard isStarted, value.count == 4,
            let first: UInt16 = try? reader.readLittleEndian("service_changed.first"),
            let last: UInt16 = try? reader.readLittleEndian("service_changed.last"),
            let range = AttributeHandleRange(AttributeHandle(rawValue: first), AttributeHandle(rawValue: last))
        else { return }
        if keepsSubscriptions {
            for (service, transport) in found where service.overlaps(range) {
                let check = Step.checkSubscription(service, transport)
                if !steps.contains(check) { steps.append(check) }
            }
        }
        lookAgain()
    }

    /// Looks for transports once more.
    mutating func lookAgain() {
        guard isStarted, !steps.contains(.findTransports) else { return }
        steps.append(.findTransports)
    }

    /// Whether anything is left to look for.
    var isSearching: Bool { current != nil || !steps.isEmpty }

    /// A transport has come to nothing: it counts as new when it is seen again.
    mutating func forget(_ transport: FoundTransport) {
        for (range, known) in found where known == transport { found[range] = nil }
    }

    /// The next thing that happened.
    mutating func nextEvent() -> Event? { events.popFirst() }

    /// The procedure to carry out now; nil while one runs or there is nothing to do.
    mutating func nextProcedure() -> GATTProcedure? {
        guard current == nil, let step = steps.popFirst() else { return nil }
        current = step
        return procedure(for: step)
    }

    /// The procedure that `nextProcedure()` asked for has ended.
    mutating func finish(_ result: Result<GATTResponse, GATTProcedureError>) {
        guard let step = current else { return }
        current = nil
        switch result {
        case .success(let response):
            succeeded(step, response)
        case .failure(let error):
            if case .checkSubscription = step { return lost(step) }
            // What was found stays so: a discovery that failed says nothing about the services it did not find.
            events.append(.problem("\(procedure(for: step)) failed: \(error)"))
        }
    }

    private func procedure(for step: Step) -> GATTProcedure {
        switch step {
        case .exchangeMTU: .exchangeMTU
        case .findTransports: .discoverPrimaryServices(.uuid128(PebbleAttribute.ppogattService))
        case .findGenericAttribute: .discoverPrimaryServices(.genericAttribute)
        case .findServiceChanged(let range): .discoverCharacteristics(in: range, uuid: .serviceChanged)
        case .findServiceChangedConfiguration(let range): .discoverDescriptors(in: range)
        case .subscribeToServiceChanged(let handle): .subscribe(clientConfiguration: handle, .indications)
        case .findCharacteristics(let range): .discoverCharacteristics(in: range)
        case .findConfiguration(let service): .discoverDescriptors(in: service.dataDescriptors)
        case .checkSubscription(_, let transport): .read(transport.configuration)
        }
    }
}

// MARK: - Results

extension PhoneServiceFinder {
    private mutating func succeeded(_ step: Step, _ response: GATTResponse) {
        switch (step, response) {
        case (.findTransports, .services(let services)):
            foundTransports(services.map(\.range))
        case (.findGenericAttribute, .services(let services)):
            if let service = services.first { steps.append(.findServiceChanged(service.range)) }
        case (.findServiceChanged(let range), .characteristics(let found)):
            guard let match = found.first else { return }
            serviceChanged = match.value
            // Android has no configuration there and counts every client as subscribed.
            if let rest = range.after(match.value) { steps.append(.findServiceChangedConfiguration(rest)) }
        case (.findServiceChangedConfiguration, .descriptors(let found)):
            guard let match = found.first(where: { $0.uuid == .clientCharacteristicConfiguration }) else { return }
            keepsSubscriptions = true
            steps.append(.subscribeToServiceChanged(match.handle))
        case (.subscribeToServiceChanged, .written):
            // Of what changed up to now the phone has said nothing.
            lookAgain()
        case (.findCharacteristics(let range), .characteristics(let found)):
            foundCharacteristics(found, in: range)
        case (.findConfiguration(let service), .descriptors(let descriptors)):
            guard let match = descriptors.first(where: { $0.uuid == .clientCharacteristicConfiguration }) else {
                events.append(.problem("the phone's PPoGATT service at \(service.range) cannot be subscribed to"))
                return
            }
            let transport = FoundTransport(data: service.data, configuration: match.handle, meta: service.meta)
            found[service.range] = transport
            events.append(.transportFound(transport))
        case (.checkSubscription, .value(let value)):
            let isSubscribed = value.first.map { Subscription(rawValue: UInt16($0)).contains(.notifications) } ?? false
            if !isSubscribed { lost(step) }
        default:
            break
        }
    }

    /// What is at a transport's place is not the service that we have subscribed to.
    private mutating func lost(_ step: Step) {
        guard case .checkSubscription(let range, let transport) = step, found[range] == transport else { return }
        found[range] = nil
        events.append(.transportGone(transport))
        lookAgain()
    }

    private mutating func foundTransports(_ ranges: [AttributeHandleRange]) {
        for (range, transport) in found where !ranges.contains(range) {
            found[range] = nil
            events.append(.transportGone(transport))
        }
        // What an earlier look has left to do may be out of date, and would be done twice.
        steps.removeAll { if case .findCharacteristics = $0 { true } else { false } }
        // In front of the subscription to changes, which takes time that the first message would have to wait.
        for range in ranges.prefix(Self.serviceLimit).reversed() where found[range] == nil {
            steps.prepend(.findCharacteristics(range))
        }
    }

    private mutating func foundCharacteristics(_ found: [DiscoveredCharacteristic], in range: AttributeHandleRange) {
        guard let data = found.first(where: { $0.uuid == .uuid128(PebbleAttribute.ppogattData) }),
            let meta = found.first(where: { $0.uuid == .uuid128(PebbleAttribute.ppogattMeta) })
        else {
            events.append(.problem("the phone's PPoGATT service at \(range) lacks a characteristic"))
            return
        }
        // Whatever lies between a value and the next characteristic belongs to the value.
        let next = found.map(\.declaration).filter { $0 > data.value }.min()
        let end = next.map { AttributeHandle(rawValue: $0.rawValue &- 1) } ?? range.end
        guard let descriptors = data.value.next.flatMap({ AttributeHandleRange($0, end) }) else {
            events.append(.problem("the phone's PPoGATT service at \(range) cannot be subscribed to"))
            return
        }
        steps.prepend(
            .findConfiguration(
                Service(range: range, data: data.value, meta: meta.value, dataDescriptors: descriptors)
            )
        )
    }
}

extension AttributeHandleRange {
    fileprivate func overlaps(_ other: AttributeHandleRange) -> Bool { start <= other.end && other.start <= end }
}
