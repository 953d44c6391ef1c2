import BluetoothHost
import ByteCoding
import DequeModule
import PebbleProtocol

/// Finds what the phone offers to the watch on one link, and keeps up with what becomes of it.
///
/// It looks for every ``WantedService`` and reports each instance as a ``PhoneService``, with the handles of all that its
/// client uses: ``Event/found(_:)``. A service that is removed is reported as ``Event/vanished(_:)``; one that changed in
/// any way, its handles or only what the phone remembers of the subscriptions to it, vanishes and is found again. Handles
/// are good from the one event to the other, or to the end of the connection.
///
/// Of a phone that it knows, it is given what ``memory`` held at the end of an earlier connection, and looks for nothing if
/// that is still true: `PhoneServiceFinder+Memory.swift`. A client that is refused what it expected of a service says so
/// (``refused(_:)``), because it may be memory that is wrong.
///
/// It asks for one GATT procedure at a time and is told how that ended. Services are looked for by UUID, as Apple asks
/// of accessories, and a failure with one never costs another.
struct PhoneServiceFinder: Sendable {
    /// What the finder has to report.
    enum Event: Equatable, Sendable {
        case found(PhoneService)
        /// A service that had been found is there no more.
        case vanished(PhoneService)
        /// The database changed where a service is, and the service is still the one that the watch has subscribed to.
        case unchanged(PhoneService)
        /// The database changed where a service is, and the phone does not tell whether the service is still the same.
        case unclear(PhoneService)
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
        case readDatabaseHash
        /// Whether a PPoGATT service is still where it was, and whose it was.
        case checkMeta(PPoGATTService, [UInt8])
        case find(WantedService)
        case findCharacteristics(Outline)
        case findConfiguration(Outline)
        case subscribeToServiceChanged(AttributeHandle)
        case checkSubscription(PhoneService, AttributeHandle)
        case survey(SurveyStep)
    }

    /// More services of a kind than a phone can have companions; beyond it a hostile phone only wastes its own time.
    static let serviceLimit = 32

    let wanted: [WantedService]
    private let discovery: PhoneDiscovery
    var steps: Deque<Step> = []
    private var current: Step?
    var events: Deque<Event> = []
    /// What was reported and has not vanished.
    var found: [PhoneService] = []
    /// The services that could not be used. They count as new when they are seen again.
    var forgotten: [PhoneService] = []
    private var isStarted = false
    private(set) var hasExchangedMTU = false

    // MARK: What the phone says of its database

    var databaseHash: [UInt8]?
    var genericAttribute: PhoneService?
    /// The value handle of the phone's Service Changed characteristic, once found.
    var serviceChanged: AttributeHandle?
    /// What has been looked for, found or not.
    var searched: [WantedService] = []

    // MARK: What is remembered

    /// What was remembered, until it is known to be true or not.
    var remembered: PhoneServiceCache?
    /// The services that are in use because they are remembered; a refusal shows that one is out of date.
    var recalled: [PhoneService] = []
    /// Whether the phone has taken the subscription on this link.
    var isSubscribedToChanges = false
    /// Whether the phone was subscribed to on an earlier link already, so that it tells of what changed since.
    var hasPromisedChanges = false
    /// Whether what is found on this link is not to be remembered.
    var isMemoryDistrusted = false
    /// Whether the Database Hash shows that what was remembered is true.
    var isMemoryProved = false
    /// The meta values of PPoGATT services, by their handles.
    var metas: [AttributeHandle: [UInt8]] = [:]
    /// Those of them that were read on this link.
    var freshMetas: Set<AttributeHandle> = []

    /// What was seen so far of a phone's whole database.
    var survey = Survey()

    /// A finder of what the clients want, in their order.
    init(of wanted: [WantedService] = WantedService.all, _ discovery: PhoneDiscovery = .remembering) {
        self.wanted = wanted
        self.discovery = discovery
    }

    /// Begins. Later calls do nothing.
    /// - Parameter memory: of an earlier link with the same phone. Only a link that is encrypted with the phone's own
    ///   bond may be trusted with it.
    mutating func start(remembering memory: PhoneServiceCache? = nil) {
        guard !isStarted else { return }
        isStarted = true
        switch discovery {
        case .remembering: if let memory { recall(memory) } else { startAfresh() }
        case .afresh: startAfresh()
        case .everything: steps = [.survey(.services)]
        }
    }

    /// MTU first, then the services that are waited for most, then the subscription to changes.
    ///
    /// The hash is read before anything is looked for: what changes meanwhile then makes memory look older than it is.
    mutating func startAfresh() {
        steps = hasExchangedMTU ? [] : [.exchangeMTU]
        if databaseHash == nil { steps.append(.readDatabaseHash) }
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
    /// service that was removed and added again at the same handles shows by having lost the subscription, which is read. On
    /// Android the apps of Pebbles declare it write-only: Android itself refuses, and no app is asked.
    /// - Parameter value: of the Service Changed characteristic; one that makes no sense is ignored.
    /// - Returns: the range.
    @discardableResult
    mutating func databaseChanged(_ value: ArraySlice<UInt8>) -> AttributeHandleRange? {
        var reader = ByteReader(value)
        guard isStarted, value.count == 4,
            let first: UInt16 = try? reader.readLittleEndian("service_changed.first"),
            let last: UInt16 = try? reader.readLittleEndian("service_changed.last"),
            let range = AttributeHandleRange(AttributeHandle(rawValue: first), AttributeHandle(rawValue: last))
        else { return nil }
        doubtMemory(of: range)
        for service in found where service.range.overlaps(range) {
            let configurations = service.characteristics.compactMap(\.configuration)
            guard let check = configurations.first.map({ Step.checkSubscription(service, $0) }), !steps.contains(check)
            else { continue }
            steps.append(check)
        }
        if databaseHash != nil, !steps.contains(.readDatabaseHash) { steps.append(.readDatabaseHash) }
        lookAgain()
        return range
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

    /// A service could not be used: it counts as new when it is seen again.
    mutating func forget(_ service: PhoneService) {
        guard let index = found.firstIndex(of: service) else { return }
        found.remove(at: index)
        forgotten.append(service)
    }

    /// The next thing that happened.
    mutating func nextEvent() -> Event? { events.popFirst() }

    /// The procedure to carry out now; nil while one runs or there is nothing to do.
    /// - Parameter isReadyForMTUExchange: whether the MTU may be exchanged; what comes behind that waits for it.
    mutating func nextProcedure(isReadyForMTUExchange: Bool = true) -> GATTProcedure? {
        guard current == nil, let step = steps.first else { return nil }
        if step == .exchangeMTU {
            guard isReadyForMTUExchange else { return nil }
            hasExchangedMTU = true
        }
        steps.removeFirst()
        current = step
        return procedure(for: step)
    }

    /// The procedure that `nextProcedure()` asked for has ended.
    mutating func finish(_ result: Result<GATTResponse, GATTProcedureError>) {
        guard let step = current else { return }
        current = nil
        switch result {
        case .success(let response): succeeded(step, response)
        case .failure(let error): failed(step, error)
        }
    }

    private func procedure(for step: Step) -> GATTProcedure {
        switch step {
        case .exchangeMTU: .exchangeMTU
        case .readDatabaseHash: .readOneByUUID(.databaseHash)
        case .checkMeta(let transport, _):
            .readOneByUUID(.uuid128(PebbleAttribute.ppogattMeta), in: transport.service.range)
        case .find(let wanted): .discoverPrimaryServices(wanted.uuid)
        case .findCharacteristics(let outline): .discoverCharacteristics(in: outline.range)
        case .findConfiguration(let outline):
            .discoverDescriptors(in: outline.unconfigured.first?.descriptors ?? outline.range)
        case .subscribeToServiceChanged(let handle): .subscribe(clientConfiguration: handle, .indications)
        case .checkSubscription(_, let configuration): .read(configuration)
        case .survey(let step): step.procedure
        }
    }

    private mutating func failed(_ step: Step, _ error: GATTProcedureError) {
        switch step {
        case .checkSubscription(let service, _):
            return couldNotCheck(service, error)
        case .checkMeta:
            return outdated("a PPoGATT service cannot be read: \(error)")
        case .readDatabaseHash:
            return receivedDatabaseHash(nil)
        case .subscribeToServiceChanged where !recalled.isEmpty:
            return outdated("Service Changed cannot be subscribed to: \(error)")
        case .findCharacteristics(let outline), .findConfiguration(let outline):
            if let index = searched.firstIndex(of: outline.wanted) { searched.remove(at: index) }
        case .survey:
            endSurveyIfComplete()
        case .exchangeMTU, .find, .subscribeToServiceChanged:
            break
        }
        // What was found stays so: a discovery that failed says nothing about the services it did not find.
        events.append(.problem("\(procedure(for: step)) failed: \(error)"))
    }
}

extension AttributeHandleRange {
    func overlaps(_ other: AttributeHandleRange) -> Bool { start <= other.end && other.start <= end }
}
