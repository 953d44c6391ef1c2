import BluetoothHCI
import Testing

/// An event and the packet that the Core's tables make of it, written down by hand.
struct EventSample: Sendable, CustomTestStringConvertible {
    let event: HCIEvent
    let hexadecimal: String

    init(_ event: HCIEvent, _ hexadecimal: String) {
        self.event = event
        self.hexadecimal = hexadecimal
    }

    var testDescription: String { hexadecimal }
}

extension Samples {
    static let newConnection = LENewConnection(
        handle: 0x0040,
        role: .peripheral,
        peer: peer,
        interval: ConnectionInterval(rawValue: 0x0018),
        latency: 0x0003,
        supervisionTimeout: SupervisionTimeout(rawValue: 0x0258),
        centralClockAccuracy: .ppm50
    )
    static var resolvedConnection: LENewConnection {
        var connection = newConnection
        connection.peer = LEAddress(type: .randomIdentity, address: peer.address)
        connection.localResolvableAddress = DeviceAddress(0x4A_01_02_03_04_05)
        connection.peerResolvableAddress = DeviceAddress(0x5B_01_02_03_04_05)
        return connection
    }

    static let basicEvents: [EventSample] = [
        .init(
            .disconnectionComplete(.init(status: .success, handle: 0x0040, reason: .connectionTimeout)),
            "04 05 04 00 4000 08"
        ),
        .init(
            .encryptionChange(.init(status: .success, handle: 0x0040, isEncrypted: true)),
            "04 08 04 00 4000 01"
        ),
        .init(
            .encryptionChangeV2(.init(status: .pinOrKeyMissing, handle: 0x0040, isEncrypted: false, keySize: 16)),
            "04 59 05 06 4000 00 10"
        ),
        .init(.encryptionKeyRefreshComplete(.init(status: .success, handle: 0x0040)), "04 30 03 00 4000"),
        .init(
            .readRemoteVersionInformationComplete(
                .init(
                    status: .success,
                    handle: 0x0040,
                    version: .v5_4,
                    company: CompanyIdentifier(rawValue: 0x0059),
                    subversion: 0x1234
                )
            ),
            "04 0c 08 00 4000 0d 5900 3412"
        ),
        .init(
            .commandComplete(
                .init(
                    commandCredits: 1,
                    to: LEReadBufferSize.self,
                    .success(.init(aclDataLength: 251, aclPacketCount: 8))
                )
            ),
            "04 0e 07 01 0220 00 fb00 08"
        ),
        .init(
            .commandComplete(.init(commandCredits: 1, to: LEReadBufferSize.self, .failure(.unknownHCICommand))),
            "04 0e 07 01 0220 01 0000 00"
        ),
        .init(.commandComplete(.init(commandCredits: 4, opcode: .none, returnParameters: [])), "04 0e 03 04 0000"),
        .init(
            .commandStatus(.init(status: .commandDisallowed, commandCredits: 1, opcode: LECreateConnection.opcode)),
            "04 0f 04 0c 01 0d20"
        ),
        .init(.hardwareError(.init(code: 0x42)), "04 10 01 42"),
        .init(
            .numberOfCompletedPackets(
                .init(
                    packets: CompletedPacketsList([
                        .init(handle: 0x0040, count: 1), .init(handle: 0x0041, count: 0x0203),
                    ])
                )
            ),
            "04 13 09 02 4000 0100 4100 0302"
        ),
        .init(.dataBufferOverflow(.init(linkType: 1)), "04 1a 01 01"),
        .init(.unknown(HCIEventCode(rawValue: 0x77), parameters: [1, 2, 3]), "04 77 03 010203"),
        .init(.unknown(.vendor, parameters: []), "04 ff 00"),
        .init(.unknownLE(LESubevent(rawValue: 0x70), parameters: [0xAA]), "04 3e 02 70 aa"),
    ]

    static let leEvents: [EventSample] = [
        .init(
            .leConnectionComplete(.init(.success(newConnection))),
            "04 3e 13 01 00 4000 01 01 5544332211c0 1800 0300 5802 05"
        ),
        .init(
            .leConnectionComplete(.init(.failure(.unknownConnectionIdentifier))),
            "04 3e 13 01 02" + String(repeating: "00", count: 17)
        ),
        .init(
            .leEnhancedConnectionComplete(.init(.success(resolvedConnection))),
            "04 3e 1f 0a 00 4000 01 03 5544332211c0 05040302014a 05040302015b 1800 0300 5802 05"
        ),
        .init(
            .leEnhancedConnectionComplete(.init(.failure(.advertisingTimeout))),
            "04 3e 1f 0a 3c" + String(repeating: "00", count: 29)
        ),
        .init(
            .leAdvertisingReport(
                .init(reports: [
                    .init(type: .connectableScannable, address: peer, data: [0x02, 0x01, 0x06], rssiDBm: -60),
                    .init(type: .scanResponse, address: publicPeer, data: [], rssiDBm: nil),
                ])
            ),
            "04 3e 19 02 02 00 01 5544332211c0 03 020106 c4 04 00 1371da7d1a00 00 7f"
        ),
        .init(
            .leDirectedAdvertisingReport(
                .init(reports: [
                    .init(
                        address: peer,
                        directAddress: LEAddress(type: .unresolvedRandom, address: DeviceAddress(0x4A_01_02_03_04_05)),
                        rssiDBm: -1
                    )
                ])
            ),
            "04 3e 12 0b 01 01 01 5544332211c0 fe 05040302014a ff"
        ),
        .init(
            .leConnectionUpdateComplete(
                .init(
                    status: .success,
                    handle: 0x0040,
                    interval: ConnectionInterval(rawValue: 6),
                    latency: 0,
                    supervisionTimeout: SupervisionTimeout(rawValue: 600)
                )
            ),
            "04 3e 0a 03 00 4000 0600 0000 5802"
        ),
        .init(
            .leReadRemoteFeaturesComplete(
                .init(status: .success, handle: 0x0040, features: [.encryption, .le2MPHY, .extendedAdvertising])
            ),
            "04 3e 0c 04 00 4000 0111000000000000"
        ),
        .init(
            .leLongTermKeyRequest(
                .init(handle: 0x0040, randomNumber: 0x0102_0304_0506_0708, encryptedDiversifier: 0xABCD)
            ),
            "04 3e 0d 05 4000 0807060504030201 cdab"
        ),
        .init(
            .leRemoteConnectionParameterRequest(
                .init(
                    handle: 0x0040,
                    intervalMinimum: ConnectionInterval(rawValue: 0x0018),
                    intervalMaximum: ConnectionInterval(rawValue: 0x0028),
                    latency: 3,
                    supervisionTimeout: SupervisionTimeout(rawValue: 0x0258)
                )
            ),
            "04 3e 0b 06 4000 1800 2800 0300 5802"
        ),
        .init(
            .leDataLengthChange(
                .init(
                    handle: 0x0040,
                    transmit: DataLength(octets: 251, timeMicroseconds: 2120),
                    receive: .minimum
                )
            ),
            "04 3e 0b 07 4000 fb00 4808 1b00 4801"
        ),
        .init(
            .lePHYUpdateComplete(
                .init(handle: 0x0040, outcome: .success(LinkPHYs(transmit: .le2M, receive: .leCoded)))
            ),
            "04 3e 06 0c 00 4000 02 03"
        ),
        .init(
            .lePHYUpdateComplete(.init(handle: 0x0040, outcome: .failure(.unsupportedRemoteFeature))),
            "04 3e 06 0c 1a 4000 00 00"
        ),
        .init(.leScanTimeout(.init()), "04 3e 01 11"),
        .init(
            .leAdvertisingSetTerminated(
                .init(status: .success, set: 0x01, connection: 0x0040, completedEvents: 7)
            ),
            "04 3e 06 12 00 01 4000 07"
        ),
        .init(
            .leAdvertisingSetTerminated(
                .init(status: .advertisingTimeout, set: 0x01, connection: nil, completedEvents: 0)
            ),
            "04 3e 06 12 3c 01 0000 00"
        ),
        .init(
            .leScanRequestReceived(.init(set: 0x02, scanner: publicPeer)),
            "04 3e 09 13 02 00 1371da7d1a00"
        ),
        .init(
            .leChannelSelectionAlgorithm(.init(handle: 0x0040, algorithm: .algorithm2)),
            "04 3e 04 14 4000 01"
        ),
        .init(
            .leSubrateChange(
                .init(
                    status: .success,
                    handle: 0x0040,
                    factor: 0x0107,
                    latency: 0x0002,
                    continuationNumber: 0x0003,
                    supervisionTimeout: SupervisionTimeout(rawValue: 0x0258)
                )
            ),
            "04 3e 0c 23 00 4000 0701 0200 0300 5802"
        ),
    ]

    static let extendedReports: [EventSample] = [
        .init(
            .leExtendedAdvertisingReport(
                .init(reports: [
                    .init(
                        properties: [.connectable, .scannable, .legacy],
                        address: peer,
                        rssiDBm: -70,
                        data: [0x02, 0x01, 0x06]
                    )
                ])
            ),
            "04 3e 1d 0d 01 1300 01 5544332211c0 01 00 ff 7f ba 0000 00 000000000000 03 020106"
        ),
        .init(
            .leExtendedAdvertisingReport(
                .init(reports: [
                    .init(
                        properties: [.connectable, .directed],
                        dataStatus: .moreToCome,
                        address: nil,
                        primaryPHY: .leCoded,
                        secondaryPHY: .le2M,
                        sid: 5,
                        txPowerDBm: 8,
                        rssiDBm: nil,
                        periodicIntervalSlots: 0x0102,
                        directAddress: publicPeer,
                        data: [0xAA]
                    ),
                    .init(properties: [], dataStatus: .truncated, address: publicPeer, rssiDBm: -1, data: []),
                ])
            ),
            "04 3e 33 0d 02 2500 ff 000000000000 03 02 05 08 7f 0201 00 1371da7d1a00 01 aa"
                + "4000 00 1371da7d1a00 01 00 ff 7f ff 0000 00 000000000000 00"
        ),
    ]

    static let events = basicEvents + leEvents + extendedReports
}
