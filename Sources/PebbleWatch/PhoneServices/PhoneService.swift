import BluetoothHost
import PebbleProtocol

/// One service of a phone, complete enough for the client that wants it: where everything is that the client uses.
struct PhoneService: Hashable, Sendable {
    /// A characteristic that was wanted and is there.
    struct Characteristic: Hashable, Sendable {
        let uuid: BluetoothUUID
        let properties: CharacteristicProperties
        /// What is read, written, notified and indicated.
        let value: AttributeHandle
        /// The client characteristic configuration, which subscriptions are written to; nil if there is none, or no client
        /// wanted it.
        let configuration: AttributeHandle?
    }

    let uuid: BluetoothUUID
    /// The handles of the service declaration and of everything that belongs to it.
    let range: AttributeHandleRange
    /// In the order of their handles.
    let characteristics: [Characteristic]

    /// The characteristic of a type, if it is there.
    subscript(_ uuid: BluetoothUUID) -> Characteristic? {
        for characteristic in characteristics where characteristic.uuid == uuid { return characteristic }
        return nil
    }
}

/// One of the phone's PPoGATT services.
struct PPoGATTService: Hashable, Sendable {
    let service: PhoneService
    /// The value that packets are written to and notified of.
    let data: AttributeHandle
    /// The data's client characteristic configuration.
    let configuration: AttributeHandle
    /// The value that says whose the service is.
    let meta: AttributeHandle

    /// Nil if the service is another one.
    init?(_ service: PhoneService) {
        guard service.uuid == WantedService.ppogatt.uuid,
            let data = service[.uuid128(PebbleAttribute.ppogattData)], let configuration = data.configuration,
            let meta = service[.uuid128(PebbleAttribute.ppogattMeta)]
        else { return nil }
        self.service = service
        self.data = data.value
        self.configuration = configuration
        self.meta = meta.value
    }
}
