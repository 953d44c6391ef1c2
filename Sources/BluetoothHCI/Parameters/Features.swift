/// What a link layer can do (FeatureSet).
///
/// Source: Core 5.4, Vol 6, Part B, 4.6.
public struct LEFeatures: OptionSet, Hashable, Sendable {
    public let rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
    public static let encryption = LEFeatures(rawValue: 1 << 0)
    public static let connectionParametersRequest = LEFeatures(rawValue: 1 << 1)
    public static let extendedRejectIndication = LEFeatures(rawValue: 1 << 2)
    public static let peripheralInitiatedFeaturesExchange = LEFeatures(rawValue: 1 << 3)
    public static let ping = LEFeatures(rawValue: 1 << 4)
    public static let dataPacketLengthExtension = LEFeatures(rawValue: 1 << 5)
    public static let linkLayerPrivacy = LEFeatures(rawValue: 1 << 6)
    public static let extendedScannerFilterPolicies = LEFeatures(rawValue: 1 << 7)
    public static let le2MPHY = LEFeatures(rawValue: 1 << 8)
    public static let leCodedPHY = LEFeatures(rawValue: 1 << 11)
    public static let extendedAdvertising = LEFeatures(rawValue: 1 << 12)
    public static let periodicAdvertising = LEFeatures(rawValue: 1 << 13)
    public static let channelSelectionAlgorithm2 = LEFeatures(rawValue: 1 << 14)
}

/// What the link manager of a dual-mode controller can do, and whether there is one.
///
/// Source: Core 5.4, Vol 2, Part C, 3.3.
public struct LMPFeatures: OptionSet, Hashable, Sendable {
    public let rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
    public static let brEDRNotSupported = LMPFeatures(rawValue: 1 << 37)
    public static let leSupported = LMPFeatures(rawValue: 1 << 38)
}

/// Which combinations of link layer states are possible at once, one bit each.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.27.
public struct LEStates: OptionSet, Hashable, Sendable {
    public let rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
    /// Connectable advertising while the controller is the peripheral of a connection.
    public static let connectableAdvertisingAsPeripheral = LEStates(rawValue: 1 << 38)
}
