/// What a link layer can do (FeatureSet).
///
/// Source: Core 5.4, Vol 6, Part B, 4.6.
public struct LEFeatures: OptionSet, Hashable, Sendable {
    public let rawValue: UInt64
    public init(rawValue: UInt64) { self.rawValue = rawValue }
    /// Bit 0, LE Encryption: links can be encrypted.
    package static let encryption = LEFeatures(rawValue: 1 << 0)
    /// Bit 1, Connection Parameters Request Procedure: either side can ask for other connection parameters.
    package static let connectionParametersRequest = LEFeatures(rawValue: 1 << 1)
    /// Bit 2, Extended Reject Indication: a refusal names the request that it refuses.
    package static let extendedRejectIndication = LEFeatures(rawValue: 1 << 2)
    /// Bit 3, Peripheral-initiated Features Exchange: a peripheral can ask the central for its features too.
    package static let peripheralInitiatedFeaturesExchange = LEFeatures(rawValue: 1 << 3)
    /// Bit 4, LE Ping: a side can check that the peer still has the key of an encrypted link.
    package static let ping = LEFeatures(rawValue: 1 << 4)
    /// Bit 5, LE Data Packet Length Extension: a packet can carry more than 27 octets.
    public static let dataPacketLengthExtension = LEFeatures(rawValue: 1 << 5)
    /// Bit 6, LL Privacy: the controller resolves and makes private addresses.
    package static let linkLayerPrivacy = LEFeatures(rawValue: 1 << 6)
    /// Bit 7, Extended Scanner Filter Policies: scanning can also report directed advertisements whose target is a
    /// private address that cannot be resolved.
    package static let extendedScannerFilterPolicies = LEFeatures(rawValue: 1 << 7)
    /// Bit 8: the LE 2M PHY.
    public static let le2MPHY = LEFeatures(rawValue: 1 << 8)
    /// Bit 11: the LE Coded PHY.
    public static let leCodedPHY = LEFeatures(rawValue: 1 << 11)
    /// Bit 12: extended advertising.
    public static let extendedAdvertising = LEFeatures(rawValue: 1 << 12)
    /// Bit 13: periodic advertising.
    package static let periodicAdvertising = LEFeatures(rawValue: 1 << 13)
    /// Bit 14: Channel Selection Algorithm #2.
    package static let channelSelectionAlgorithm2 = LEFeatures(rawValue: 1 << 14)
    /// Bit 37, Connection Subrating: a connection can leave out most of its events until there is data.
    package static let connectionSubrating = LEFeatures(rawValue: 1 << 37)
    /// Bit 38, Connection Subrating (Host Support): the host takes LE Subrate Change.
    package static let connectionSubratingHostSupport = LEFeatures(rawValue: 1 << 38)
    /// Bit 39, Channel Classification: a peripheral tells the central which channels are bad where it is.
    package static let channelClassification = LEFeatures(rawValue: 1 << 39)
}

/// What the link manager of a dual-mode controller can do, and whether there is one.
///
/// Source: Core 5.4, Vol 2, Part C, 3.3.
package struct LMPFeatures: OptionSet, Hashable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    /// Bit 37, BR/EDR Not Supported: the controller has LE only.
    package static let brEDRNotSupported = LMPFeatures(rawValue: 1 << 37)
    /// Bit 38, LE Supported (Controller): the controller has LE.
    package static let leSupported = LMPFeatures(rawValue: 1 << 38)
    /// Bit 48, Extended Inquiry Response.
    package static let extendedInquiryResponse = LMPFeatures(rawValue: 1 << 48)
    /// Bit 49, Simultaneous LE and BR/EDR to Same Device Capable (Controller).
    package static let simultaneousLEAndBREDR = LMPFeatures(rawValue: 1 << 49)
    /// Bit 51, Secure Simple Pairing (Controller Support).
    package static let secureSimplePairing = LMPFeatures(rawValue: 1 << 51)
    /// Bit 63, Extended Features: there is more than the first page.
    package static let extendedFeatures = LMPFeatures(rawValue: 1 << 63)
}

/// Which combinations of link layer states are possible at once, one bit each.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.27.
package struct LEStates: OptionSet, Hashable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    /// Connectable advertising while the controller is the peripheral of a connection.
    package static let connectableAdvertisingAsPeripheral = LEStates(rawValue: 1 << 38)
}
