/// The UUIDs that the Generic Attribute Profile itself gives a meaning to (Core 5.4, Vol 3, Part G, 3 and 7;
/// Bluetooth Assigned Numbers, 3.5 to 3.8).
extension BluetoothUUID {
    // Declarations.
    /// The declaration of a primary service. Its value is the service's UUID (Core 5.4, Vol 3, Part G, 3.1).
    package static let primaryService = uuid16(0x2800)
    /// The declaration of a service that only others include. Its value is the service's UUID (Core 5.4, Vol 3, Part G, 3.1).
    package static let secondaryService = uuid16(0x2801)
    /// The declaration of an included service (Core 5.4, Vol 3, Part G, 3.2).
    /// Its value is the service's first handle (2 bytes), its last (2), and its UUID if that has 16 bits (2).
    package static let include = uuid16(0x2802)
    /// The declaration of a characteristic (Core 5.4, Vol 3, Part G, 3.3.1).
    /// Its value is the properties (1 byte), the handle of the characteristic value (2), and the UUID (2 or 16).
    package static let characteristic = uuid16(0x2803)

    // Descriptors.
    /// Properties that the declaration has no room for: 2 bytes (Core 5.4, Vol 3, Part G, 3.3.3.1).
    package static let characteristicExtendedProperties = uuid16(0x2900)
    /// What the characteristic is, in UTF-8 for people to read (Core 5.4, Vol 3, Part G, 3.3.3.2).
    package static let characteristicUserDescription = uuid16(0x2901)
    /// What a client has subscribed to: 2 bytes, which each client has for itself (Core 5.4, Vol 3, Part G, 3.3.3.3).
    package static let clientCharacteristicConfiguration = uuid16(0x2902)
    /// Whether the server broadcasts the value: 2 bytes, the same for all clients (Core 5.4, Vol 3, Part G, 3.3.3.4).
    package static let serverCharacteristicConfiguration = uuid16(0x2903)
    /// How to show the value: its format, exponent and unit, 7 bytes in all (Core 5.4, Vol 3, Part G, 3.3.3.5).
    package static let characteristicPresentationFormat = uuid16(0x2904)
    /// The handles of the presentation formats of a value that has several parts (Core 5.4, Vol 3, Part G, 3.3.3.6).
    package static let characteristicAggregateFormat = uuid16(0x2905)

    // The services that every GATT server has, and their characteristics.
    /// The service that says what a device is called and looks like (Core 5.4, Vol 3, Part C, 12).
    package static let genericAccess = uuid16(0x1800)
    /// What the device is called, in UTF-8 (Core 5.4, Vol 3, Part C, 12.1).
    package static let deviceName = uuid16(0x2A00)
    /// What kind of device it is: 2 bytes (Core 5.4, Vol 3, Part C, 12.2; Bluetooth Assigned Numbers, 2.6).
    package static let appearance = uuid16(0x2A01)
    /// The service that tells clients about the database (Core 5.4, Vol 3, Part G, 7).
    package static let genericAttribute = uuid16(0x1801)
    /// The range of handles that has changed, first and last (2 bytes each). It is indicated (Core 5.4, Vol 3, Part G, 7.1).
    package static let serviceChanged = uuid16(0x2A05)
    /// Bits that a client sets for what it can do; each client has them for itself (Core 5.4, Vol 3, Part G, 7.2).
    package static let clientSupportedFeatures = uuid16(0x2B29)
    /// 16 bytes that change with the database: see `GATTDatabase.hash(_:)` (Core 5.4, Vol 3, Part G, 7.3).
    package static let databaseHash = uuid16(0x2B2A)
    /// Bits for what the server can do. Bit 0 is for enhanced ATT bearers (Core 5.4, Vol 3, Part G, 7.4).
    package static let serverSupportedFeatures = uuid16(0x2B3A)
}
