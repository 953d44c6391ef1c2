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
    }

    /// More services than a phone can have companions; beyond it a hostile phone only wastes its own time.
    static let serviceLimit = 32

    private var steps: Deque<Step> = []
    private var current: Step?
    private var events: Deque<Event> = []
    private var found: [AttributeHandleRange: FoundTransport] = [:]
    private var isStarted = false
    /// The value handle of the phone's Service Changed characteristic, once found.
    private(set) var serviceChanged: AttributeHandle?

    /// Begins: MTU first, then the transports, then the subscription to changes. Later calls do nothing.
    mutating func start() {
        guard !isStarted else { return }
        isStarted = true
        steps = [.exchangeMTU, .findTransports, .findGenericAttribute]
    }

    /// The phone says that its database changed, or may have: looks again, and keeps what is still there.
    mutating func databaseChanged() {
        guard isStarted, !steps.contains(.findTransports) else { return }
        steps.append(.findTransports)
    }

    /// Whether anything is left to look for.
    var isSearching: Bool { current != nil || !steps.isEmpty }

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
            steps.append(.subscribeToServiceChanged(match.handle))
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
        default:
            break
        }
    }

    private mutating func foundTransports(_ ranges: [AttributeHandleRange]) {
        for (range, transport) in found where !ranges.contains(range) {
            found[range] = nil
            events.append(.transportGone(transport))
        }
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
