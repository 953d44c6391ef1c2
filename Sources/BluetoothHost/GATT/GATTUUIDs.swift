/// The UUIDs that the Generic Attribute Profile itself gives a meaning to (Core 5.4, Vol 3, Part G, 3 and 7;
/// Bluetooth Assigned Numbers, 3.5 to 3.8).
extension BluetoothUUID {
    // Declarations.
    public static let primaryService = uuid16(0x2800)
    public static let secondaryService = uuid16(0x2801)
    public static let include = uuid16(0x2802)
    public static let characteristic = uuid16(0x2803)

    // Descriptors.
    public static let characteristicExtendedProperties = uuid16(0x2900)
    public static let characteristicUserDescription = uuid16(0x2901)
    public static let clientCharacteristicConfiguration = uuid16(0x2902)
    public static let serverCharacteristicConfiguration = uuid16(0x2903)
    public static let characteristicPresentationFormat = uuid16(0x2904)
    public static let characteristicAggregateFormat = uuid16(0x2905)

    // The services that every GATT server has, and the second one's characteristics.
    public static let genericAccess = uuid16(0x1800)
    public static let genericAttribute = uuid16(0x1801)
    public static let serviceChanged = uuid16(0x2A05)
    public static let clientSupportedFeatures = uuid16(0x2B29)
    public static let databaseHash = uuid16(0x2B2A)
    public static let serverSupportedFeatures = uuid16(0x2B3A)
}
