import BluetoothHost
import DequeModule

/// A service of which not everything is known yet.
struct PhoneServiceOutline: Equatable, Sendable {
    /// How far it is known.
    enum State {
        /// Descriptors are still to be looked for.
        case incomplete
        /// Everything that is wanted is there.
        case complete(PhoneService)
        /// Something that is required is not there.
        case unusable(String)
    }

    let wanted: WantedService
    let range: AttributeHandleRange
    private var characteristics: [PhoneService.Characteristic] = []
    /// The characteristics whose configurations are still to be looked for, and where those can be.
    private var unconfigured: Deque<(index: Int, descriptors: AttributeHandleRange)> = []

    init(of wanted: WantedService, at range: AttributeHandleRange) {
        self.wanted = wanted
        self.range = range
    }

    static func == (left: Self, right: Self) -> Bool { left.wanted == right.wanted && left.range == right.range }

    /// Where the descriptors that are looked for next can be.
    var descriptors: AttributeHandleRange { unconfigured.first?.descriptors ?? range }

    /// The phone has told the service's characteristics. The first one of a type counts.
    /// - Parameter configurations: the client characteristic configurations by the values that they are of, if they are known;
    ///   else they are looked for.
    mutating func found(
        _ found: [DiscoveredCharacteristic],
        _ configurations: [AttributeHandle: AttributeHandle]? = nil
    ) {
        for characteristic in found {
            guard let use = wanted[characteristic.uuid],
                !characteristics.contains(where: { $0.uuid == characteristic.uuid })
            else { continue }
            characteristics.append(
                PhoneService.Characteristic(
                    uuid: characteristic.uuid,
                    properties: characteristic.properties,
                    value: characteristic.value,
                    configuration: configurations?[characteristic.value]
                )
            )
            guard configurations == nil, use.isSubscribedTo else { continue }
            if let descriptors = found.descriptors(of: characteristic, in: range) {
                unconfigured.append((characteristics.endIndex - 1, descriptors))
            }
        }
    }

    /// The phone has told the descriptors of the next characteristic.
    /// - Returns: false if none was waited for.
    mutating func found(_ descriptors: [DiscoveredDescriptor]) -> Bool {
        guard let (index, _) = unconfigured.popFirst(), characteristics.indices.contains(index) else { return false }
        let bare = characteristics[index]
        characteristics[index] = PhoneService.Characteristic(
            uuid: bare.uuid,
            properties: bare.properties,
            value: bare.value,
            configuration: descriptors.first { $0.uuid == .clientCharacteristicConfiguration }?.handle
        )
        return true
    }

    /// How far the service is known.
    var state: State {
        guard unconfigured.isEmpty else { return .incomplete }
        let service = PhoneService(uuid: wanted.uuid, range: range, characteristics: characteristics)
        for wanted in wanted.characteristics where wanted.isRequired {
            guard let characteristic = service[wanted.uuid] else {
                return .unusable("lacks the characteristic \(wanted.uuid)")
            }
            guard !wanted.isSubscribedTo || characteristic.configuration != nil else {
                return .unusable("cannot be subscribed to")
            }
        }
        return .complete(service)
    }
}

extension [DiscoveredCharacteristic] {
    /// Where the descriptors of one of a service's characteristics can be: whatever lies between a value and the next
    /// characteristic belongs to the value.
    func descriptors(
        of characteristic: DiscoveredCharacteristic,
        in service: AttributeHandleRange
    ) -> AttributeHandleRange? {
        let value = characteristic.value
        let next = map(\.declaration).filter { $0 > value }.min()
        let end = next.map { AttributeHandle(rawValue: $0.rawValue &- 1) } ?? service.end
        return value.next.flatMap { AttributeHandleRange($0, end) }
    }
}
