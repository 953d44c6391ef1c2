import BluetoothHost
import ByteCoding
import DequeModule

/// Finds what the phone offers to the watch on one link, and keeps up with what becomes of it.
///
/// It looks for every ``WantedService`` and reports each instance as a ``PhoneService``, with the handles of all that its
/// client uses: ``Event/found(_:)``. A service that is removed is reported as ``Event/vanished(_:)``; one that changed in
/// any way, its handles or only what the phone remembers of the subscriptions to it, vanishes and is found again. Handles
/// are good from the one event to the other, or to the end of the connection.
///
/// It asks for one GATT procedure at a time and is told how that ended. Services are looked for by UUID, as Apple asks
/// of accessories, and a failure with one never costs another.
struct PhoneServiceFinder: Sendable {
    /// What the finder has to report.
    enum Event: Equatable, Sendable {
        case found(PhoneService)
        /// A service that had been found is there no more.
        case vanished(PhoneService)
        /// Something did not work; the rest goes on.
        case problem(String)
    }

    /// A service of which not everything is known yet.
    struct Outline: Equatable, Sendable {
        let wanted: WantedService
        let range: AttributeHandleRange
        var characteristics: [PhoneService.Characteristic] = []
        /// The characteristics whose configurations are still to be looked for, and where those can be.
        var unconfigured: Deque<(index: Int, descriptors: AttributeHandleRange)> = []

        subscript(_ uuid: BluetoothUUID) -> PhoneService.Characteristic? {
            for characteristic in characteristics where characteristic.uuid == uuid { return characteristic }
            return nil
        }

        static func == (left: Self, right: Self) -> Bool { left.wanted == right.wanted && left.range == right.range }
    }

    enum Step: Equatable, Sendable {
        case exchangeMTU
        case find(WantedService)
        case findCharacteristics(Outline)
        case findConfiguration(Outline)
        case subscribeToServiceChanged(AttributeHandle)
        case checkSubscription(PhoneService, AttributeHandle)
    }

    /// More services of a kind than a phone can have companions; beyond it a hostile phone only wastes its own time.
    static let serviceLimit = 32

    private let wanted: [WantedService]
    var steps: Deque<Step> = []
    private var current: Step?
    var events: Deque<Event> = []
    var found: [PhoneService] = []
    private var isStarted = false
    /// The value handle of the phone's Service Changed characteristic, once found.
    var serviceChanged: AttributeHandle?
    /// Whether the phone keeps our subscriptions itself, as iOS does. On Android the app behind a service does, and one that
    /// leaves a question about them unanswered costs the link.
    var keepsSubscriptions = false

    /// A finder of what the clients want, in their order.
    init(of wanted: [WantedService] = WantedService.all) { self.wanted = wanted }

    /// Begins: MTU first, then the services that are waited for most, then the subscription to changes. Later calls do
    /// nothing.
    mutating func start() {
        guard !isStarted else { return }
        isStarted = true
        steps = [.exchangeMTU]
        steps += wanted.prefix(1).map(Step.find)
        steps.append(.find(.genericAttribute))
        steps += wanted.dropFirst().map(Step.find)
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
            for service in found where service.range.overlaps(range) {
                let configurations = service.characteristics.compactMap(\.configuration)
                guard let check = configurations.first.map({ Step.checkSubscription(service, $0) }),
                    !steps.contains(check)
                else { continue }
                steps.append(check)
            }
        }
        lookAgain()
    }

    /// Looks for everything once more.
    mutating func lookAgain() {
        guard isStarted else { return }
        for wanted in wanted { lookAgain(for: wanted.uuid) }
    }

    /// Looks for the services of one kind once more.
    mutating func lookAgain(for uuid: BluetoothUUID) {
        guard isStarted else { return }
        for wanted in wanted where wanted.uuid == uuid && !steps.contains(.find(wanted)) { steps.append(.find(wanted)) }
    }

    /// Whether anything is left to look for.
    var isSearching: Bool { current != nil || !steps.isEmpty }

    /// A service has come to nothing: it counts as new when it is seen again.
    mutating func forget(_ service: PhoneService) {
        if let index = found.firstIndex(of: service) { found.remove(at: index) }
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
            if case .checkSubscription(let service, _) = step { return vanish(service) }
            // What was found stays so: a discovery that failed says nothing about the services it did not find.
            events.append(.problem("\(procedure(for: step)) failed: \(error)"))
        }
    }

    private func procedure(for step: Step) -> GATTProcedure {
        switch step {
        case .exchangeMTU: .exchangeMTU
        case .find(let wanted): .discoverPrimaryServices(wanted.uuid)
        case .findCharacteristics(let outline): .discoverCharacteristics(in: outline.range)
        case .findConfiguration(let outline):
            .discoverDescriptors(in: outline.unconfigured.first?.descriptors ?? outline.range)
        case .subscribeToServiceChanged(let handle): .subscribe(clientConfiguration: handle, .indications)
        case .checkSubscription(_, let configuration): .read(configuration)
        }
    }
}

extension AttributeHandleRange {
    fileprivate func overlaps(_ other: AttributeHandleRange) -> Bool { start <= other.end && other.start <= end }
}
