import BluetoothHost
import PebbleProtocol

/// What the phone found in the watch's GATT database.
public struct DiscoveredWatch: Sendable {
    /// A service with what belongs to it.
    public struct Service: Hashable, Sendable {
        public let uuid: BluetoothUUID
        public let range: AttributeHandleRange
        public internal(set) var characteristics: [Characteristic] = []
    }

    /// A characteristic with its descriptors.
    public struct Characteristic: Hashable, Sendable {
        public let uuid: BluetoothUUID
        public let properties: CharacteristicProperties
        /// The value's handle.
        public let value: AttributeHandle
        /// Every descriptor, in the order of handles.
        public internal(set) var descriptors: [DiscoveredDescriptor] = []

        /// The descriptor that subscribes to the value.
        public var clientConfiguration: AttributeHandle? {
            descriptors.first { $0.uuid == .clientCharacteristicConfiguration }?.handle
        }
    }

    /// In the order of handles.
    public internal(set) var services: [Service] = []

    /// How many attributes were found: declarations, values and descriptors.
    public var attributeCount: Int {
        services.reduce(0) { count, service in
            count + 1 + service.characteristics.reduce(0) { $0 + 2 + $1.descriptors.count }
        }
    }

    /// The first characteristic with a UUID.
    public func characteristic(_ uuid: BluetoothUUID) -> Characteristic? {
        for service in services {
            if let match = service.characteristics.first(where: { $0.uuid == uuid }) { return match }
        }
        return nil
    }
}

/// What the Device Information service says; what is absent or could not be read is nil.
public struct DeviceInformation: Hashable, Sendable {
    public internal(set) var manufacturerName: String?
    public internal(set) var modelNumber: String?
    public internal(set) var serialNumber: String?
    public internal(set) var firmwareRevision: String?
    public internal(set) var hardwareRevision: String?
    public internal(set) var softwareRevision: String?

    /// Its characteristics.
    static let fields: [UInt16: WritableKeyPath<DeviceInformation, String?> & Sendable] = [
        GATTNumber.manufacturerName: \.manufacturerName,
        GATTNumber.modelNumber: \.modelNumber,
        GATTNumber.serialNumber: \.serialNumber,
        GATTNumber.firmwareRevision: \.firmwareRevision,
        GATTNumber.hardwareRevision: \.hardwareRevision,
        GATTNumber.softwareRevision: \.softwareRevision,
    ]
}
