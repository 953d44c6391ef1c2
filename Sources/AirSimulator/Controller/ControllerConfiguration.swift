import BluetoothHCI

/// What a simulated controller is like: what it can do, and how much of it at once.
public struct ControllerConfiguration: Sendable {
    /// The data buffers that a controller offers its host.
    public struct DataBuffers: Hashable, Sendable {
        /// The longest ACL data that fits one, in octets.
        public var length: UInt16
        /// How many there are.
        public var count: UInt8

        /// `count` buffers of `length` octets each.
        public init(length: UInt16, count: UInt8) {
            self.length = length
            self.count = count
        }
    }

    /// Its public address; nil for one that the air makes up.
    public var publicAddress: DeviceAddress?
    /// The version of HCI and of the link layer.
    public var version: CoreVersion
    /// Who made it.
    public var company = CompanyIdentifier(rawValue: 0xFFFF)
    /// The maker's revision of HCI and of the link layer.
    public var subversion: UInt16 = 0x0001
    /// What its link layer can do.
    public var features: LEFeatures
    /// The commands that it does not know, of those that the simulator has.
    public var missingCommands: [HCICommandID]
    /// The data buffers.
    public var dataBuffers: DataBuffers
    /// Whether the data buffers are called those of BR/EDR, as old dual-mode controllers do: LE Read Buffer Size then
    /// returns zeros, and Read Buffer Size tells them.
    public var sharesBuffersWithBREDR = false
    /// Whether it has BR/EDR too. Nothing on the air speaks that: inquiries find nobody, and pages are not answered.
    public var isDualMode = false
    /// How many advertising sets it has.
    public var advertisingSetCount: Int
    /// How much data an advertising set can have, in octets.
    public var maximumAdvertisingDataLength: Int
    /// How many connections it can have.
    public var connectionLimit = 8
    /// How many devices fit the filter accept list.
    public var filterAcceptListSize = 8
    /// How many devices fit the resolving list.
    public var resolvingListSize = 8
    /// How much a link layer packet can carry, both ways.
    public var maximumDataLength: DataLength
    /// How much it does in one connection event.
    public var eventLimits = ConnectionEventLimits.none
    /// Whether, as central, it asks the peripheral before it changes the timing of a connection, if the peripheral
    /// can be asked.
    public var negotiatesParametersAsCentral = false
    /// The range of its transmit power, in dBm.
    public var transmitPower: ClosedRange<Int8> = -20...8

    /// A controller of version 5.3: extended advertising with several sets, long packets, LE 2M.
    public static let modern = ControllerConfiguration(
        version: .v5_3,
        features: [
            .encryption, .connectionParametersRequest, .extendedRejectIndication,
            .peripheralInitiatedFeaturesExchange, .ping, .dataPacketLengthExtension, .linkLayerPrivacy,
            .extendedScannerFilterPolicies, .le2MPHY, .leCodedPHY, .extendedAdvertising, .channelSelectionAlgorithm2,
            .connectionSubrating, .channelClassification,
        ],
        missingCommands: [],
        dataBuffers: DataBuffers(length: 251, count: 8),
        advertisingSetCount: 8,
        maximumAdvertisingDataLength: 1650,
        maximumDataLength: .maximum
    )

    /// The same with BR/EDR, as the hosts of phones want it: Android's does not start without.
    public static var dualMode: ControllerConfiguration {
        var configuration = modern
        configuration.isDualMode = true
        return configuration
    }

    /// A controller of version 4.2 without the data length extension: one advertising set, short packets, LE 1M only.
    public static let legacy = ControllerConfiguration(
        version: .v4_2,
        features: [
            .encryption, .connectionParametersRequest, .extendedRejectIndication,
            .peripheralInitiatedFeaturesExchange, .ping, .linkLayerPrivacy, .extendedScannerFilterPolicies,
        ],
        missingCommands: extendedAdvertisingCommands + phyCommands + dataLengthCommands + [
            SetEventMaskPage2.id, LEReadBufferSizeV2.id, LEReadTransmitPower.id, LESetPrivacyMode.id,
            LESetHostFeature.id, LESetDefaultSubrate.id, LESubrateRequest.id,
        ],
        dataBuffers: DataBuffers(length: 27, count: 10),
        advertisingSetCount: 1,
        maximumAdvertisingDataLength: AdvertisingBytes.capacity,
        maximumDataLength: .minimum
    )

    /// The same as `legacy`, with the data length extension, which version 4.2 may have.
    public static var legacyWithDataLength: ControllerConfiguration {
        var configuration = legacy
        configuration.features.insert(.dataPacketLengthExtension)
        configuration.missingCommands.removeAll { dataLengthCommands.contains($0) }
        configuration.dataBuffers = DataBuffers(length: 251, count: 3)
        configuration.maximumDataLength = DataLength(octets: 251, timeMicroseconds: 2120)
        return configuration
    }

    private static let extendedAdvertisingCommands: [HCICommandID] = [
        LESetAdvertisingSetRandomAddress.id, LESetExtendedAdvertisingParameters.id,
        LESetExtendedAdvertisingData.id, LESetExtendedScanResponseData.id, LESetExtendedAdvertisingEnable.id,
        LEReadMaximumAdvertisingDataLength.id, LEReadNumberOfSupportedAdvertisingSets.id,
        LERemoveAdvertisingSet.id, LEClearAdvertisingSets.id, LESetExtendedScanParameters.id,
        LESetExtendedScanEnable.id, LEExtendedCreateConnection.id,
    ]
    private static let phyCommands: [HCICommandID] = [LEReadPHY.id, LESetDefaultPHY.id, LESetPHY.id]
    private static let dataLengthCommands: [HCICommandID] = [
        LESetDataLength.id, LEReadSuggestedDefaultDataLength.id, LEWriteSuggestedDefaultDataLength.id,
        LEReadMaximumDataLength.id,
    ]
}

extension ControllerConfiguration {
    /// Whether it knows a command, provided that the simulator does.
    func knows(_ command: HCICommandID) -> Bool {
        if command == ReadBufferSize.id { return sharesBuffersWithBREDR || isDualMode }
        return !missingCommands.contains(command)
    }

    /// The PHYs that its features name.
    var phys: PHYSet {
        var set: PHYSet = .le1M
        if features.contains(.le2MPHY) { set.insert(.le2M) }
        if features.contains(.leCodedPHY) { set.insert(.leCoded) }
        return set
    }
}

/// The number by which an air names a controller. It is never used again once the controller has been removed.
public struct ControllerID: Hashable, Sendable {
    /// Where the air keeps the controller.
    let slot: Int
    /// How many controllers have been kept there before.
    let generation: Int
}

extension ControllerID: CustomStringConvertible {
    public var description: String { generation == 0 ? "controller \(slot)" : "controller \(slot).\(generation)" }
}
