import BluetoothHost
import PebbleProtocol

/// A kind of service that the watch uses on phones: how it is recognized, and what of it is needed.
///
/// Every client of phone services describes its own, next to the client, and puts it into ``all``. The finder then looks
/// for it on every phone, and reports each instance with its handles as a ``PhoneService``.
struct WantedService: Hashable, Sendable {
    /// A characteristic that a client uses.
    struct Characteristic: Hashable, Sendable {
        let uuid: BluetoothUUID
        /// Whether a service without it cannot be used.
        let isRequired: Bool
        /// Whether the client subscribes to it, so that its client characteristic configuration is looked for too. Where
        /// it has none, a required characteristic counts as missing.
        let isSubscribedTo: Bool

        /// One that a service cannot be used without.
        static func required(_ uuid: BluetoothUUID, isSubscribedTo: Bool = false) -> Characteristic {
            Characteristic(uuid: uuid, isRequired: true, isSubscribedTo: isSubscribedTo)
        }

        /// One that may be there.
        static func optional(_ uuid: BluetoothUUID, isSubscribedTo: Bool = false) -> Characteristic {
            Characteristic(uuid: uuid, isRequired: false, isSubscribedTo: isSubscribedTo)
        }
    }

    let uuid: BluetoothUUID
    let characteristics: [Characteristic]

    /// A service by its UUID and what is used of it.
    init(_ uuid: BluetoothUUID, _ characteristics: Characteristic...) {
        self.uuid = uuid
        self.characteristics = characteristics
    }

    /// What is wanted of a characteristic of a type; nil if nothing.
    subscript(_ uuid: BluetoothUUID) -> Characteristic? {
        for characteristic in characteristics where characteristic.uuid == uuid { return characteristic }
        return nil
    }

    /// What the watch looks for on every phone, in this order: first what a session waits for.
    static let all: [WantedService] = [
        .ppogatt, .deviceInformation, .notifications, .media, .currentTime, .appLaunch,
    ]

    /// PPoGATT, of which a phone has one instance for each companion.
    static let ppogatt = WantedService(
        .uuid128(PebbleAttribute.ppogattService),
        .required(.uuid128(PebbleAttribute.ppogattData), isSubscribedTo: true),
        .required(.uuid128(PebbleAttribute.ppogattMeta))
    )

    /// What a phone says of its own database: the finder's own.
    static let genericAttribute = WantedService(
        .genericAttribute,
        .optional(.serviceChanged, isSubscribedTo: true)
    )
}
