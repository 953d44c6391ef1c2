import BluetoothHost
import ByteCoding
import DequeModule
import PebbleProtocol

/// Gets to know a watch that the phone has connected to: agrees on the MTU, discovers the whole database, reads what
/// every companion reads, and subscribes to the watch's state.
///
/// It asks for one GATT procedure at a time and is told how that ended. A procedure that fails costs what it was
/// about to find and nothing else.
struct WatchExplorer: Sendable {
    /// What the explorer has to report.
    enum Event: Sendable {
        case mtuAgreed(Int)
        case databaseDiscovered(DiscoveredWatch)
        case deviceInformation(DeviceInformation)
        case connectivity(ConnectivityStatus)
        case batteryLevel(UInt8)
        /// A procedure failed; the rest continues.
        case problem(String)
        /// Everything has been tried.
        case finished
    }

    fileprivate enum Step: Equatable, Sendable {
        case exchangeMTU
        case discoverServices
        case discoverCharacteristics(service: Int)
        case discoverDescriptors(service: Int, characteristic: Int, AttributeHandleRange)
        case readInformation(UInt16, AttributeHandle)
        case readConnectivity(AttributeHandle)
        case readBatteryLevel(AttributeHandle)
        case subscribe(AttributeHandle, Subscription)
    }

    /// What was found so far; all of it after `finished`.
    private(set) var watch = DiscoveredWatch()
    private var information = DeviceInformation()
    private var steps: Deque<Step> = [.exchangeMTU, .discoverServices]
    private var current: Step?
    private var isFinished = false
    /// What was found is out of date; what is under way asks for it still, and is to end first.
    private var isRestartWanted = false
    private var events: Deque<Event> = []

    /// Where the watch indicates that its database changed.
    private(set) var serviceChanged: AttributeHandle?
    /// Where the watch notifies its Connectivity Status.
    private(set) var connectivityStatus: AttributeHandle?

    /// An explorer of a watch that nothing is known of, or of one whose database was found before.
    init(knowing watch: DiscoveredWatch? = nil) {
        guard let watch else { return }
        self.watch = watch
        steps = [.exchangeMTU]
        followState()
    }

    /// The next event.
    mutating func nextEvent() -> Event? { events.popFirst() }

    /// The procedure to carry out now; nil while one runs or when everything is done.
    mutating func nextProcedure() -> GATTProcedure? {
        guard current == nil, !isFinished else { return nil }
        if isRestartWanted {
            isRestartWanted = false
            steps = [.discoverServices]
        }
        guard let step = steps.popFirst() else {
            isFinished = true
            events.append(.finished)
            return nil
        }
        current = step
        return procedure(for: step)
    }

    /// The procedure that `nextProcedure` asked for has ended.
    mutating func finish(_ result: Result<GATTResponse, GATTProcedureError>) {
        guard let step = current else { return }
        finish { explorer in
            switch result {
            case .success(let response): explorer.succeeded(step, response)
            case .failure(let error):
                explorer.events.append(.problem("\(explorer.procedure(for: step)): \(error)"))
            }
        }
    }

    private mutating func finish(_ take: (inout WatchExplorer) -> Void) {
        guard let step = current else { return }
        current = nil
        guard !isRestartWanted else { return }
        take(&self)
        if !steps.contains(where: \.isDiscovery), step.isDiscovery { discovered() }
        if !steps.contains(where: \.isInformation), step.isInformation {
            events.append(.deviceInformation(information))
        }
    }

    /// The procedure that `nextProcedure` asked for could not be started.
    mutating func couldNotStart(_ reason: String) { finish { $0.events.append(.problem(reason)) } }

    /// The watch's database is not what it was: everything is looked at again.
    mutating func restart() {
        steps = []
        isFinished = false
        isRestartWanted = true
    }

    private func procedure(for step: Step) -> GATTProcedure {
        switch step {
        case .exchangeMTU: .exchangeMTU
        case .discoverServices: .discoverAllPrimaryServices
        case .discoverCharacteristics(let service): .discoverCharacteristics(in: watch.services[service].range)
        case .discoverDescriptors(_, _, let range): .discoverDescriptors(in: range)
        case .readInformation(_, let handle), .readConnectivity(let handle), .readBatteryLevel(let handle):
            .readLong(handle)
        case .subscribe(let handle, let subscription): .subscribe(clientConfiguration: handle, subscription)
        }
    }

    private mutating func succeeded(_ step: Step, _ response: GATTResponse) {
        switch (step, response) {
        case (.exchangeMTU, .mtu(let mtu)):
            events.append(.mtuAgreed(mtu))
        case (.discoverServices, .services(let found)):
            watch.services = found.map { DiscoveredWatch.Service(uuid: $0.uuid, range: $0.range) }
            steps += watch.services.indices.map(Step.discoverCharacteristics)
        case (.discoverCharacteristics(let service), .characteristics(let found)):
            foundCharacteristics(found, ofService: service)
        case (.discoverDescriptors(let service, let characteristic, _), .descriptors(let found)):
            watch.services[service].characteristics[characteristic].descriptors = found
        case (.readInformation(let number, _), .value(let value)):
            guard let field = DeviceInformation.fields[number] else { return }
            information[keyPath: field] = String(decoding: value, as: UTF8.self)
        case (.readConnectivity, .value(let value)):
            receiveConnectivity(value)
        case (.readBatteryLevel, .value(let value)):
            if let level = value.first { events.append(.batteryLevel(level)) }
        default:
            break
        }
    }

    private mutating func foundCharacteristics(_ found: [DiscoveredCharacteristic], ofService service: Int) {
        watch.services[service].characteristics = found.map { characteristic in
            DiscoveredWatch.Characteristic(
                uuid: characteristic.uuid,
                properties: characteristic.properties,
                value: characteristic.value
            )
        }
        for (index, characteristic) in found.enumerated() {
            // The attributes between a value and the next characteristic's declaration are descriptors of the value.
            let end =
                index + 1 < found.count
                ? AttributeHandle(rawValue: found[index + 1].declaration.rawValue &- 1)
                : watch.services[service].range.end
            guard let start = characteristic.value.next, let range = AttributeHandleRange(start, end) else { continue }
            steps.append(.discoverDescriptors(service: service, characteristic: index, range))
        }
    }

    /// Takes a value of Connectivity Status, read or notified.
    mutating func receiveConnectivity(_ value: ArraySlice<UInt8>) {
        do {
            events.append(.connectivity(try ConnectivityStatus(decoding: value)))
        } catch {
            events.append(.problem("\(error)"))
        }
    }

    /// The whole database is known: what is worth reading and subscribing to can be looked up.
    private mutating func discovered() {
        events.append(.databaseDiscovered(watch))
        followState()
        for number in DeviceInformation.fields.keys.sorted() {
            guard let field = watch.characteristic(.uuid16(number)) else { continue }
            steps.append(.readInformation(number, field.value))
        }
        if let level = watch.characteristic(.uuid16(GATTNumber.batteryLevel)) {
            steps.append(.readBatteryLevel(level.value))
        }
    }

    /// Reads the watch's state, and subscribes to it and to changes of the database.
    private mutating func followState() {
        if let changed = watch.characteristic(.serviceChanged) {
            serviceChanged = changed.value
            subscribe(changed, .indications)
        }
        if let status = watch.characteristic(.uuid128(PebbleAttribute.connectivityStatus)) {
            connectivityStatus = status.value
            steps.append(.readConnectivity(status.value))
            subscribe(status, .notifications)
        }
    }

    private mutating func subscribe(_ characteristic: DiscoveredWatch.Characteristic, _ subscription: Subscription) {
        guard let configuration = characteristic.clientConfiguration else { return }
        steps.append(.subscribe(configuration, subscription))
    }
}

extension WatchExplorer.Step {
    fileprivate var isDiscovery: Bool {
        switch self {
        case .discoverServices, .discoverCharacteristics, .discoverDescriptors: true
        default: false
        }
    }

    fileprivate var isInformation: Bool {
        if case .readInformation = self { true } else { false }
    }
}
