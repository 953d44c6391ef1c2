import BluetoothHCI
import Testing

/// A command and the packet that the Core's tables make of it, written down by hand.
struct CommandSample: Sendable, CustomTestStringConvertible {
    let command: any HCICommand
    let hexadecimal: String

    init(_ command: any HCICommand, _ hexadecimal: String) {
        self.command = command
        self.hexadecimal = hexadecimal
    }

    var testDescription: String { type(of: command).name }
}

enum Samples {
    static let peer = LEAddress.random(DeviceAddress(0xC0_11_22_33_44_55))
    static let publicPeer = LEAddress.public(DeviceAddress(0x00_1A_7D_DA_71_13))
    static let parameters = ConnectionParameters(
        intervalMinimum: ConnectionInterval(rawValue: 0x0018),
        intervalMaximum: ConnectionInterval(rawValue: 0x0028),
        latency: 3,
        supervisionTimeout: SupervisionTimeout(rawValue: 0x0258),
        eventLengthMinimum: ConnectionEventLength(rawValue: 0x0102),
        eventLengthMaximum: ConnectionEventLength(rawValue: 0x0304)
    )
    static let subrating = SubrateParameters(
        factorMinimum: 0x0002,
        factorMaximum: 0x0107,
        maximumLatency: 3,
        continuationNumber: 6,
        supervisionTimeout: SupervisionTimeout(rawValue: 0x0258)
    )
    static let parametersHex = "1800 2800 0300 5802 0201 0403"
    static let key: UInt128 = 0x0F0E_0D0C_0B0A_0908_0706_0504_0302_0100
    static let keyHex = "000102030405060708090a0b0c0d0e0f"
    static let zeros31 = String(repeating: "00", count: 31)

    static let controllerCommands: [CommandSample] = [
        .init(Disconnect(handle: 0x0040, reason: .remoteUserTerminatedConnection), "01 0604 03 4000 13"),
        .init(ReadRemoteVersionInformation(handle: 0x0EFF), "01 1d04 02 ff0e"),
        .init(
            SetEventMask(mask: [.disconnectionComplete, .encryptionChange, .leMeta, .hardwareError]),
            "01 010c 08 90 80 00 00 00 00 00 20"
        ),
        .init(SetEventMaskPage2(mask: .encryptionChangeV2), "01 630c 08 00 00 00 02 00 00 00 00"),
        .init(Reset(), "01 030c 00"),
        .init(ReadTransmitPowerLevel(handle: 0x0001, type: .maximum), "01 2d0c 03 0100 01"),
        .init(SetControllerToHostFlowControl(flowControl: .acl), "01 310c 01 01"),
        .init(
            HostBufferSize(
                aclDataLength: 0x00FB,
                synchronousDataLength: 0x40,
                aclPacketCount: 0x0010,
                synchronousPacketCount: 0x0002
            ),
            "01 330c 07 fb00 40 1000 0200"
        ),
        .init(
            HostNumberOfCompletedPackets(
                packets: CompletedPacketsList([.init(handle: 0x0001, count: 2), .init(handle: 0x0002, count: 0x0103)])
            ),
            "01 350c 09 02 0100 0200 0200 0301"
        ),
        .init(WriteLEHostSupport(isSupported: true, simultaneousHost: 0), "01 6d0c 02 01 00"),
        .init(ReadLocalVersionInformation(), "01 0110 00"),
        .init(ReadLocalSupportedCommands(), "01 0210 00"),
        .init(ReadLocalSupportedFeatures(), "01 0310 00"),
        .init(ReadBufferSize(), "01 0510 00"),
        .init(ReadBDADDR(), "01 0910 00"),
        .init(ReadRSSI(handle: 0x0040), "01 0514 02 4000"),
        .init(LESetEventMask(mask: LEEventMask(rawValue: 0x0000_0000_000F_1FFF)), "01 0120 08 ff1f0f0000000000"),
        .init(LEReadBufferSize(), "01 0220 00"),
        .init(LEReadBufferSizeV2(), "01 6020 00"),
        .init(LEReadLocalSupportedFeatures(), "01 0320 00"),
        .init(LEReadSupportedStates(), "01 1c20 00"),
        .init(LESetRandomAddress(address: peer.address), "01 0520 06 5544332211c0"),
        .init(LEReadTransmitPower(), "01 4b20 00"),
        .init(LERand(), "01 1820 00"),
    ]

    static let advertisingCommands: [CommandSample] = [
        .init(
            LESetAdvertisingParameters(
                intervalMinimum: AdvertisingInterval(rawValue: 0x0020),
                intervalMaximum: AdvertisingInterval(rawValue: 0x0040),
                type: .connectableScannable,
                ownAddressType: .random,
                peer: .public(.zero),
                channels: .all,
                filterPolicy: .anyone
            ),
            "01 0620 0f 2000 4000 00 01 00 000000000000 07 00"
        ),
        .init(LEReadAdvertisingPhysicalChannelTxPower(), "01 0720 00"),
        .init(
            LESetAdvertisingData(data: AdvertisingBytes([0x02, 0x01, 0x06])),
            "01 0820 20 03 020106" + String(repeating: "00", count: 28)
        ),
        .init(LESetScanResponseData(data: AdvertisingBytes([])), "01 0920 20 00" + zeros31),
        .init(LESetAdvertisingEnable(isEnabled: true), "01 0a20 01 01"),
        .init(LESetAdvertisingSetRandomAddress(set: 0x03, address: peer.address), "01 3520 07 03 5544332211c0"),
        .init(
            LESetExtendedAdvertisingParameters(
                set: 0x01,
                properties: [.connectable, .scannable, .legacy],
                intervalMinimum: AdvertisingInterval(rawValue: 0x01_0020),
                intervalMaximum: AdvertisingInterval(rawValue: 0x02_0040),
                channels: [.channel37, .channel39],
                ownAddressType: .random,
                peer: publicPeer,
                filterPolicy: .acceptListOnly,
                powerDBm: nil,
                primaryPHY: .le1M,
                secondaryMaximumSkip: 2,
                secondaryPHY: .le2M,
                sid: 0x0F,
                notifiesScanRequests: true
            ),
            "01 3620 19 01 1300 200001 400002 05 01 00 1371da7d1a00 03 7f 01 02 02 0f 01"
        ),
        .init(
            LESetExtendedAdvertisingData(
                set: 0x01,
                operation: .complete,
                fragmentPreference: .shouldNotFragment,
                data: AdvertisingFragment([0x02, 0x01, 0x06])
            ),
            "01 3720 07 01 03 01 03 020106"
        ),
        .init(
            LESetExtendedScanResponseData(
                set: 0x02,
                operation: .first,
                fragmentPreference: .mayFragment,
                data: AdvertisingFragment([0xAA])
            ),
            "01 3820 05 02 01 00 01 aa"
        ),
        .init(
            LESetExtendedAdvertisingEnable(
                isEnabled: true,
                sets: [
                    .init(set: 0x00),
                    .init(set: 0x05, duration: EnableDuration(rawValue: 0x0102), maximumEvents: 9),
                ]
            ),
            "01 3920 0a 01 02 00 0000 00 05 0201 09"
        ),
        .init(LESetExtendedAdvertisingEnable(isEnabled: false, sets: []), "01 3920 02 00 00"),
        .init(LEReadMaximumAdvertisingDataLength(), "01 3a20 00"),
        .init(LEReadNumberOfSupportedAdvertisingSets(), "01 3b20 00"),
        .init(LERemoveAdvertisingSet(set: 0xEF), "01 3c20 01 ef"),
        .init(LEClearAdvertisingSets(), "01 3d20 00"),
    ]

    static let scanningAndConnectionCommands: [CommandSample] = [
        .init(
            LESetScanParameters(
                type: .active,
                interval: ScanInterval(rawValue: 0x0060),
                window: ScanInterval(rawValue: 0x0030),
                ownAddressType: .random,
                filterPolicy: .acceptListOnly
            ),
            "01 0b20 07 01 6000 3000 01 01"
        ),
        .init(LESetScanEnable(isEnabled: true, filtersDuplicates: false), "01 0c20 02 01 00"),
        .init(
            LESetExtendedScanParameters(
                ownAddressType: .public,
                filterPolicy: .anyone,
                le1M: .init(
                    type: .active,
                    interval: ScanInterval(rawValue: 0x0060),
                    window: ScanInterval(rawValue: 0x0030)
                ),
                leCoded: .init(
                    type: .passive,
                    interval: ScanInterval(rawValue: 0x0120),
                    window: ScanInterval(rawValue: 0x0090)
                )
            ),
            "01 4120 0d 00 00 05 01 6000 3000 00 2001 9000"
        ),
        .init(
            LESetExtendedScanEnable(
                isEnabled: true,
                duplicateFilter: .onEachPeriod,
                duration: EnableDuration(rawValue: 0x0064),
                period: ScanPeriod(rawValue: 0x0001)
            ),
            "01 4220 06 01 02 6400 0100"
        ),
        .init(
            LECreateConnection(
                scanInterval: ScanInterval(rawValue: 0x0060),
                scanWindow: ScanInterval(rawValue: 0x0030),
                filterPolicy: .peerAddress,
                peer: peer,
                ownAddressType: .public,
                parameters: parameters
            ),
            "01 0d20 19 6000 3000 00 01 5544332211c0 00 " + parametersHex
        ),
        .init(LECreateConnectionCancel(), "01 0e20 00"),
        .init(
            LEExtendedCreateConnection(
                filterPolicy: .acceptList,
                ownAddressType: .resolvableOrRandom,
                peer: publicPeer,
                le1M: .init(
                    scanInterval: ScanInterval(rawValue: 0x0060),
                    scanWindow: ScanInterval(rawValue: 0x0030),
                    parameters: parameters
                ),
                le2M: .init(
                    scanInterval: ScanInterval(rawValue: 0x0004),
                    scanWindow: ScanInterval(rawValue: 0x0004),
                    parameters: parameters
                )
            ),
            "01 4320 2a 01 03 00 1371da7d1a00 03 6000 3000 " + parametersHex + "0400 0400" + parametersHex
        ),
        .init(LEConnectionUpdate(handle: 0x0040, parameters: parameters), "01 1320 0e 4000 " + parametersHex),
        .init(
            LERemoteConnectionParameterRequestReply(handle: 0x0040, parameters: parameters),
            "01 2020 0e 4000 " + parametersHex
        ),
        .init(
            LERemoteConnectionParameterRequestNegativeReply(
                handle: 0x0040,
                reason: .unacceptableConnectionParameters
            ),
            "01 2120 03 4000 3b"
        ),
        .init(LEReadRemoteFeatures(handle: 0x0040), "01 1620 02 4000"),
        .init(
            LESetHostChannelClassification(channels: DataChannelMap(rawValue: 0x1E_0403_0201)),
            "01 1420 05 01020304 1e"
        ),
        .init(LEReadChannelMap(handle: 0x0040), "01 1520 02 4000"),
        .init(LESetHostFeature(bit: 38, isSupported: true), "01 7420 02 26 01"),
        .init(LESetDefaultSubrate(acceptable: subrating), "01 7d20 0a 0200 0701 0300 0600 5802"),
        .init(LESubrateRequest(handle: 0x0040, wanted: subrating), "01 7e20 0c 4000 0200 0701 0300 0600 5802"),
        .init(
            LESetDataLength(handle: 0x0040, transmit: DataLength(octets: 251, timeMicroseconds: 2120)),
            "01 2220 06 4000 fb00 4808"
        ),
        .init(LEReadSuggestedDefaultDataLength(), "01 2320 00"),
        .init(LEWriteSuggestedDefaultDataLength(transmit: .maximum), "01 2420 04 fb00 9042"),
        .init(LEReadMaximumDataLength(), "01 2f20 00"),
        .init(LEReadPHY(handle: 0x0040), "01 3020 02 4000"),
        .init(
            LESetDefaultPHY(preferences: PHYPreferences(transmit: nil, receive: [.le1M, .le2M])),
            "01 3120 03 01 00 03"
        ),
        .init(
            LESetPHY(
                handle: 0x0040,
                preferences: PHYPreferences(transmit: .le2M, receive: .leCoded),
                options: .preferS8
            ),
            "01 3220 07 4000 00 02 04 0200"
        ),
    ]

    static let securityCommands: [CommandSample] = [
        .init(
            LEEncrypt(key: key, plaintext: 0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10),
            "01 1720 20 " + keyHex + "100f0e0d0c0b0a090807060504030201"
        ),
        .init(
            LEEnableEncryption(
                handle: 0x0040,
                randomNumber: 0x0102_0304_0506_0708,
                encryptedDiversifier: 0xABCD,
                longTermKey: key
            ),
            "01 1920 1c 4000 0807060504030201 cdab " + keyHex
        ),
        .init(LELongTermKeyRequestReply(handle: 0x0040, longTermKey: key), "01 1a20 12 4000 " + keyHex),
        .init(LELongTermKeyRequestNegativeReply(handle: 0x0040), "01 1b20 02 4000"),
        .init(LEReadFilterAcceptListSize(), "01 0f20 00"),
        .init(LEClearFilterAcceptList(), "01 1020 00"),
        .init(LEAddDeviceToFilterAcceptList(device: peer), "01 1120 07 01 5544332211c0"),
        .init(LERemoveDeviceFromFilterAcceptList(device: publicPeer), "01 1220 07 00 1371da7d1a00"),
        .init(
            LEAddDeviceToResolvingList(peer: peer, peerIRK: key, localIRK: 0),
            "01 2720 27 01 5544332211c0 " + keyHex + String(repeating: "00", count: 16)
        ),
        .init(LERemoveDeviceFromResolvingList(peer: peer), "01 2820 07 01 5544332211c0"),
        .init(LEClearResolvingList(), "01 2920 00"),
        .init(LEReadResolvingListSize(), "01 2a20 00"),
        .init(LEReadPeerResolvableAddress(peer: peer), "01 2b20 07 01 5544332211c0"),
        .init(LEReadLocalResolvableAddress(peer: peer), "01 2c20 07 01 5544332211c0"),
        .init(LESetAddressResolutionEnable(isEnabled: true), "01 2d20 01 01"),
        .init(LESetResolvablePrivateAddressTimeout(timeoutSeconds: 900), "01 2e20 02 8403"),
        .init(LESetPrivacyMode(peer: peer, mode: .device), "01 4e20 08 01 5544332211c0 01"),
    ]

    static let commands =
        controllerCommands + advertisingCommands + scanningAndConnectionCommands + securityCommands
}
