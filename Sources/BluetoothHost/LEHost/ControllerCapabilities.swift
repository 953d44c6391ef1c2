import BluetoothHCI

/// What a controller said about itself while the host started, and what follows from it.
public struct ControllerCapabilities: Hashable, Sendable {
    /// Which versions it implements; nil if it did not say.
    package internal(set) var version: ReadLocalVersionInformation.ReturnParameters?
    /// Which commands it understands.
    package internal(set) var commands = SupportedCommands()
    /// What its link manager can do; empty on a controller that has LE only and does not say so.
    package internal(set) var linkManagerFeatures: LMPFeatures = []
    /// What its link layer can do.
    public internal(set) var features: LEFeatures = []
    /// Its public address; nil if it has none.
    public internal(set) var publicAddress: DeviceAddress?
    /// The longest ACL data that it takes, in octets.
    package internal(set) var aclDataLength = 0
    /// How many ACL packets it can hold.
    package internal(set) var aclPacketCount = 0
    /// Which combinations of link layer states are possible; empty if it did not say.
    package internal(set) var states = LEStates(rawValue: 0)
    /// How much it can send in one link layer packet.
    package internal(set) var maximumTransmitLength = DataLength.minimum
    /// How much data an advertising set can hold, in octets.
    public internal(set) var maximumAdvertisingDataLength = AdvertisingBytes.capacity
    /// How many advertising sets there can be.
    public internal(set) var advertisingSetCount = 1
    /// How many devices its filter accept list can hold.
    package internal(set) var filterAcceptListSize = 0
    /// How many devices its resolving list can hold.
    package internal(set) var resolvingListSize = 0

    /// Whether advertising, scanning and connecting use the extended commands. The Core forbids to mix them with the
    /// legacy ones, so they are used when none of the three would be lost.
    ///
    /// Source: Core 5.4, Vol 4, Part E, 3.1.1.
    package var usesExtendedCommands: Bool {
        let advertising =
            commands.contains(LESetExtendedAdvertisingParameters.id)
            && commands.contains(LESetExtendedAdvertisingData.id)
            && commands.contains(LESetExtendedScanResponseData.id)
            && commands.contains(LESetExtendedAdvertisingEnable.id)
            && commands.contains(LESetAdvertisingSetRandomAddress.id)
        let scanning =
            commands.contains(LESetExtendedScanParameters.id)
            && commands.contains(LESetExtendedScanEnable.id)
        let connecting = commands.contains(LEExtendedCreateConnection.id)
        guard features.contains(.extendedAdvertising), advertising || scanning || connecting else { return false }
        return (advertising || !commands.contains(LESetAdvertisingEnable.id))
            && (scanning || !commands.contains(LESetScanEnable.id))
            && (connecting || !commands.contains(LECreateConnection.id))
    }

    /// Whether a peer can connect while another one is connected to this peripheral.
    public var canAdvertiseWhileConnected: Bool { states.contains(.connectableAdvertisingAsPeripheral) }

    /// Whether link layer packets can be longer than 27 octets.
    package var supportsDataLengthExtension: Bool {
        features.contains(.dataPacketLengthExtension) && commands.contains(LESetDataLength.id)
    }

    /// Whether the PHY of a connection can be changed.
    package var supportsPHYChange: Bool {
        !features.isDisjoint(with: [.le2MPHY, .leCodedPHY]) && commands.contains(LESetPHY.id)
    }

    /// Whether a peripheral can ask for connection parameters by the link layer.
    package var supportsParameterRequest: Bool {
        features.contains(.connectionParametersRequest) && commands.contains(LEConnectionUpdate.id)
    }

    /// Whether connections can be subrated, and peers want to be told that the host takes it.
    var supportsSubrating: Bool {
        features.contains(.connectionSubrating) && commands.contains(LESetHostFeature.id)
    }

    /// Whether it has BR/EDR too.
    var isDualMode: Bool {
        linkManagerFeatures.contains(.leSupported) && !linkManagerFeatures.contains(.brEDRNotSupported)
    }

    /// Whether connections are reported with the private addresses.
    var reportsEnhancedConnections: Bool {
        usesExtendedCommands || commands.contains(LEAddDeviceToResolvingList.id)
    }

    /// The LE events that the host wants and the controller can have.
    var eventMask: LEEventMask {
        var subevents = [
            LEConnectionComplete.subevent, LEAdvertisingReport.subevent, LEConnectionUpdateComplete.subevent,
            LEReadRemoteFeaturesComplete.subevent, LELongTermKeyRequest.subevent,
        ]
        if features.contains(.connectionParametersRequest) {
            subevents.append(LERemoteConnectionParameterRequest.subevent)
        }
        if supportsDataLengthExtension { subevents.append(LEDataLengthChange.subevent) }
        if reportsEnhancedConnections { subevents.append(LEEnhancedConnectionComplete.subevent) }
        if features.contains(.extendedScannerFilterPolicies) { subevents.append(LEDirectedAdvertisingReport.subevent) }
        if supportsPHYChange { subevents.append(LEPHYUpdateComplete.subevent) }
        if supportsSubrating { subevents.append(LESubrateChange.subevent) }
        if usesExtendedCommands {
            subevents += [
                LEExtendedAdvertisingReport.subevent, LEScanTimeout.subevent, LEAdvertisingSetTerminated.subevent,
            ]
        }
        return subevents.reduce(into: LEEventMask()) { $0.formUnion(LEEventMask($1)) }
    }
}
