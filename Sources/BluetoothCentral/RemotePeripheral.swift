import BluetoothHCI
import BluetoothHost

/// A peripheral that the central is connected to, and what was found in its database.
///
/// The database is discovered once, when the connection is made. A peripheral that changes it later has to be connected to again.
public struct RemotePeripheral: Hashable, Sendable {
    /// Tells one connection from every other, also from a later one to the same peripheral.
    public struct ID: Hashable, Sendable {
        let number: UInt64
    }

    /// The connection.
    public let id: ID
    /// The peripheral's address: its identity address if it is bonded.
    public let address: LEAddress
    /// Its primary services, in the order of their handles.
    public let services: [RemoteService]

    /// The first characteristic of a type in a service of a type.
    /// - Throws: `CentralError.noSuchService` or `noSuchCharacteristic`.
    public func characteristic(
        _ uuid: BluetoothUUID,
        of service: BluetoothUUID
    ) throws(CentralError) -> RemoteCharacteristic {
        var isServiceFound = false
        for found in services where found.uuid == service {
            isServiceFound = true
            for characteristic in found.characteristics where characteristic.uuid == uuid { return characteristic }
        }
        throw isServiceFound ? .noSuchCharacteristic(uuid) : .noSuchService(service)
    }
}

/// A service of a peripheral.
public struct RemoteService: Hashable, Sendable {
    /// What kind of service it is.
    public let uuid: BluetoothUUID
    /// Its characteristics, in the order of their handles.
    public internal(set) var characteristics: [RemoteCharacteristic] = []
    /// Its handles.
    let range: AttributeHandleRange
}

/// A characteristic of a peripheral.
public struct RemoteCharacteristic: Hashable, Sendable {
    /// What kind of value it is.
    public let uuid: BluetoothUUID
    /// What can be done with the value.
    public let properties: CharacteristicProperties
    /// The handle of the value.
    public let handle: AttributeHandle
    /// The handle of the Client Characteristic Configuration; nil if the value cannot be subscribed to.
    public internal(set) var clientConfiguration: AttributeHandle?
}
