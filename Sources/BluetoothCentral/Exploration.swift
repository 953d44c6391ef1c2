import BluetoothHost
import DequeModule

/// Discovers the database of a peripheral: agrees on the MTU, then asks for the services, their characteristics, and the
/// descriptors of those that can be subscribed to.
struct Exploration: Sendable {
    private enum Step: Sendable {
        case exchangeMTU
        case services
        case characteristics(service: Int)
        case descriptors(service: Int, characteristic: Int, AttributeHandleRange)
    }

    /// What was found so far.
    private(set) var services: [RemoteService] = []
    private var steps: Deque<Step> = [.exchangeMTU, .services]
    private var current: Step?

    /// The procedure to start now; nil when everything has been found.
    mutating func nextProcedure() -> GATTProcedure? {
        guard let step = steps.popFirst() else { return nil }
        current = step
        switch step {
        case .exchangeMTU: return .exchangeMTU
        case .services: return .discoverAllPrimaryServices
        case .characteristics(let service): return .discoverCharacteristics(in: services[service].range)
        case .descriptors(_, _, let range): return .discoverDescriptors(in: range)
        }
    }

    /// The procedure that `nextProcedure` gave has ended.
    mutating func finish(_ result: Result<GATTResponse, GATTProcedureError>) throws(GATTProcedureError) {
        guard let step = current else { return }
        current = nil
        let response: GATTResponse
        switch (step, result) {
        case (_, .success(let success)): response = success
        // A server may not know the request: the default MTU stays in force (Core 5.4, Vol 3, Part F, 3.4.2.2).
        case (.exchangeMTU, .failure(.refused)): return
        case (_, .failure(let error)): throw error
        }
        switch (step, response) {
        case (.services, .services(let found)):
            services = found.map { RemoteService(uuid: $0.uuid, range: $0.range) }
            for service in services.indices { steps.append(.characteristics(service: service)) }
        case (.characteristics(let service), .characteristics(let found)): take(found, of: service)
        case (.descriptors(let service, let characteristic, _), .descriptors(let found)):
            services[service].characteristics[characteristic].clientConfiguration =
                found.first { $0.uuid == .clientCharacteristicConfiguration }?.handle
        case (.exchangeMTU, _), (.services, _), (.characteristics, _), (.descriptors, _): break
        }
    }

    private mutating func take(_ found: [DiscoveredCharacteristic], of service: Int) {
        services[service].characteristics = found.map {
            RemoteCharacteristic(uuid: $0.uuid, properties: $0.properties, handle: $0.value)
        }
        for (index, characteristic) in found.enumerated()
        where !characteristic.properties.isDisjoint(with: [.notify, .indicate]) {
            // The descriptors lie between the value and the next characteristic's declaration.
            let end =
                index + 1 < found.count
                ? AttributeHandle(rawValue: found[index + 1].declaration.rawValue &- 1)
                : services[service].range.end
            guard let start = characteristic.value.next, let range = AttributeHandleRange(start, end) else { continue }
            steps.append(.descriptors(service: service, characteristic: index, range))
        }
    }
}
