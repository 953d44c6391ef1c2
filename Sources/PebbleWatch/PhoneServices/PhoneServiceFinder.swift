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
/// It asks for one GATT procedure at a time (``PhoneServiceAgenda``) and is told how that ended. Services are looked for by
/// UUID, as Apple asks of accessories, and a failure with one never costs another.
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

    typealias Step = PhoneServiceAgenda.Step

    /// More services of a kind than a phone can have companions; beyond it a hostile phone only wastes its own time.
    static let serviceLimit = 32

    let wanted: [WantedService]
    private let discovery: PhoneDiscovery
    /// What is still to be asked.
    var agenda = PhoneServiceAgenda()
    var events: Deque<Event> = []
    /// What was reported and has not vanished.
    var found: [PhoneService] = []
    /// The services that could not be used. They count as new when they are seen again.
    var forgotten: [PhoneService] = []
    /// What has been looked for, found or not.
    var searched: [WantedService] = []
    /// What the phone says of its own database.
    var database = PhoneDatabaseState()
    /// What is remembered of the phone.
    var recalled = RecalledMemory()
    /// Whose the PPoGATT services are.
    var metas = CompanionMetas()
    /// What was seen so far of a phone's whole database.
    var survey = PhoneServiceSurvey()

    /// A finder of what the clients want, in their order.
    init(of wanted: [WantedService] = WantedService.all, _ discovery: PhoneDiscovery = .remembering) {
        self.wanted = wanted
        self.discovery = discovery
    }

    /// Begins. Later calls do nothing.
    /// - Parameter memory: of an earlier link with the same phone. Only a link that is encrypted with the phone's own
    ///   bond may be trusted with it.
    mutating func start(remembering memory: PhoneServiceCache? = nil) {
        guard agenda.start() else { return }
        switch discovery {
        case .remembering: if let memory { recall(memory) } else { startAfresh() }
        case .afresh: startAfresh()
        case .everything: agenda.steps = [.survey(.services)]
        }
    }

    /// Looks for everything, whatever is remembered.
    mutating func startAfresh() { agenda.startAfresh(wanted, knowsHash: database.hash != nil) }

    /// Whether a value that the phone sent is word of a change.
    func isServiceChanged(_ value: ReceivedValue) -> Bool { database.isServiceChanged(value) }

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
        guard agenda.isStarted, value.count == 4,
            let first: UInt16 = try? reader.readLittleEndian("service_changed.first"),
            let last: UInt16 = try? reader.readLittleEndian("service_changed.last"),
            let range = AttributeHandleRange(AttributeHandle(rawValue: first), AttributeHandle(rawValue: last))
        else { return nil }
        doubtMemory(of: range)
        for service in found where service.range.overlaps(range) {
            guard let configuration = service.characteristics.compactMap(\.configuration).first else { continue }
            agenda.append(once: .checkSubscription(service, configuration))
        }
        if database.hash != nil { agenda.append(once: .readDatabaseHash) }
        lookAgain()
        return range
    }

    /// Looks for everything once more.
    mutating func lookAgain() { agenda.lookAgain(for: wanted) }

    /// Looks for the services of one kind once more.
    mutating func lookAgain(for uuid: BluetoothUUID) { agenda.lookAgain(for: wanted.lazy.filter { $0.uuid == uuid }) }

    /// Whether anything is left to look for.
    var isSearching: Bool { agenda.isBusy }

    /// A service could not be used: it counts as new when it is seen again.
    mutating func forget(_ service: PhoneService) {
        guard let index = found.firstIndex(of: service) else { return }
        found.remove(at: index)
        forgotten.append(service)
    }

    /// A service could not be used: it counts as new when it is seen again, and is looked for again once in a connection.
    mutating func retry(_ service: PhoneService) {
        forget(service)
        agenda.retry(wanted.lazy.filter { $0.uuid == service.uuid })
    }

    /// The next thing that happened.
    mutating func nextEvent() -> Event? { events.popFirst() }

    /// The procedure to carry out now; nil while one runs or there is nothing to do.
    /// - Parameter isReadyForMTUExchange: whether the MTU may be exchanged; what comes behind that waits for it.
    mutating func nextProcedure(isReadyForMTUExchange: Bool = true) -> GATTProcedure? {
        agenda.next(isReadyForMTUExchange: isReadyForMTUExchange)?.procedure
    }

    /// The procedure that `nextProcedure()` asked for has ended.
    mutating func finish(_ result: Result<GATTResponse, GATTProcedureError>) {
        guard let step = agenda.finish() else { return }
        switch result {
        case .success(let response): succeeded(step, response)
        case .failure(let error): failed(step, error)
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
        case .subscribeToServiceChanged where !recalled.services.isEmpty:
            return outdated("Service Changed cannot be subscribed to: \(error)")
        case .findCharacteristics(let outline), .findConfiguration(let outline):
            if let index = searched.firstIndex(of: outline.wanted) { searched.remove(at: index) }
        case .survey:
            endSurveyIfComplete()
        case .exchangeMTU, .find, .subscribeToServiceChanged:
            break
        }
        // What was found stays so: a discovery that failed says nothing about the services it did not find.
        events.append(.problem("\(step.procedure) failed: \(error)"))
    }
}

extension AttributeHandleRange {
    func overlaps(_ other: AttributeHandleRange) -> Bool { start <= other.end && other.start <= end }
}
