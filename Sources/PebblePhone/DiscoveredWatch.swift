import BluetoothHost
import PebbleProtocol

/// What the phone found in the watch's GATT database.
package struct DiscoveredWatch: Sendable {
    /// A service with what belongs to it.
    package struct Service: Hashable, Sendable {
        package let uuid: BluetoothUUID
        package let range: AttributeHandleRange
        package internal(set) var characteristics: [Characteristic] = []
    }

    /// A characteristic with its descriptors.
    package struct Characteristic: Hashable, Sendable {
        package let uuid: BluetoothUUID
        package let properties: CharacteristicProperties
        /// The value's handle.
        package let value: AttributeHandle
        /// Every descriptor, in the order of handles.
        package internal(set) var descriptors: [DiscoveredDescriptor] = []

        /// The descriptor that subscribes to the value.
        package var clientConfiguration: AttributeHandle? {
            descriptors.first { $0.uuid == .clientCharacteristicConfiguration }?.handle
        }
    }

    /// In the order of handles.
    package internal(set) var services: [Service] = []

    /// How many attributes were found: declarations, values and descriptors.
    package var attributeCount: Int {
        services.reduce(0) { count, service in
            count + 1 + service.characteristics.reduce(0) { $0 + 2 + $1.descriptors.count }
        }
    }

    /// The first characteristic with a UUID.
    package func characteristic(_ uuid: BluetoothUUID) -> Characteristic? {
        for service in services {
            if let match = service.characteristics.first(where: { $0.uuid == uuid }) { return match }
        }
        return nil
    }
}

/// What the Device Information service says; what is absent or could not be read is nil.
package struct DeviceInformation: Hashable, Sendable {
    package internal(set) var manufacturerName: String?
    package internal(set) var modelNumber: String?
    package internal(set) var serialNumber: String?
    package internal(set) var firmwareRevision: String?
    package internal(set) var hardwareRevision: String?
    package internal(set) var softwareRevision: String?

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
