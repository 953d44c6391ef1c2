import BluetoothHCI
import BluetoothHost
import ByteCoding
import Testing

@Suite("LE host: connections")
struct LEHostConnectionTests {
    static let parametersHex = "1800 2400 0300 5802 0000 0000"

    @Test("A central connects, legacy and extended", arguments: [false, true])
    func central(_ isExtended: Bool) throws {
        var rig = try HostRig.ready(isExtended ? .rich : .minimal)
        rig.host.connect(to: HostRig.peer, .test, at: rig.now)
        #expect(
            rig.answerCommands()
                == [
                    isExtended
                        ? compact("01 4320 1a 00 01 \(HostRig.peerHex) 01 6000 6000 \(Self.parametersHex)")
                        : compact("01 0d20 19 6000 6000 00 \(HostRig.peerHex) 01 \(Self.parametersHex)")
                ]
        )
        rig.give(isExtended ? HostRig.connected("4000", role: "00") : HostRig.legacyConnected("4000", role: "00"))
        let connection = try #require(rig.events().connections.first)
        #expect(connection.handle == 0x40 && connection.role == .central && connection.peer == HostRig.peer)
        #expect(connection.ownAddress == HostRig.ownAddress)
        #expect(connection.interval.duration == .milliseconds(30) && connection.latency == 0)
        #expect(connection.supervisionTimeout.duration == .seconds(6))
        // A central may ask for the peer's features right away.
        #expect(rig.answerCommands() == [compact("01 1620 02 4000")])
        rig.give(HostRig.le("04", "00 4000 2300000000000000"))
        #expect(rig.host.connection(0x40)?.remoteFeatures?.contains(.dataPacketLengthExtension) == true)
        #expect(
            rig.events().descriptions == ["remoteFeaturesRead(0x0040, Optional(BluetoothHCI.LEFeatures(rawValue: 35)))"]
        )
        rig.host.connect(to: HostRig.peer, .test, at: rig.now)
        #expect(
            rig.events().descriptions == ["connectionFailed(\(HostRig.peer), \(HCIStatus.connectionAlreadyExists))"]
        )
    }

    @Test("One peer at a time, with parameters that the Core allows")
    func refused() throws {
        let other = LEAddress.random(DeviceAddress(0xE0_00_00_00_00_01))
        var rig = try HostRig.ready()
        rig.host.connect(to: HostRig.peer, .test, at: rig.now)
        rig.host.connect(to: other, .test, at: rig.now)
        #expect(rig.events().descriptions == ["connectionFailed(\(other), \(HCIStatus.commandDisallowed))"])
        var wrong = ConnectionParameters.test
        wrong.latency = 500
        rig.host.connect(to: other, wrong, at: rig.now)
        #expect(rig.events().descriptions == ["connectionFailed(\(other), \(HCIStatus.invalidHCICommandParameters))"])
        #expect(rig.sent().count == 1)
    }

    @Test("Before the controller is ready, connecting waits for it, and can be given up")
    func beforeReady() throws {
        var rig = try HostRig(.minimal)
        rig.host.connect(to: HostRig.peer, .test, at: rig.now)
        rig.host.start(at: rig.now)
        #expect(rig.answerCommands().last?.hasPrefix("010d2019") == true)
        rig = try HostRig(.minimal)
        rig.host.connect(to: HostRig.peer, .test, at: rig.now)
        rig.host.cancelConnecting(at: rig.now)
        #expect(
            rig.events().descriptions == ["connectionFailed(\(HostRig.peer), \(HCIStatus.operationCancelledByHost))"]
        )
        rig.host.start(at: rig.now)
        #expect(rig.answerCommands().last?.hasPrefix("010d2019") == false)
    }

    @Test("A legacy controller gets the host's own address back before it scans or connects")
    func ownAddress() throws {
        var rig = try HostRig.ready(.minimal)
        let other = LEAddress.random(DeviceAddress(0xE0_00_00_00_00_01))
        let set = AdvertisingSet(
            id: AdvertisingSetID(rawValue: 1),
            kind: .nonConnectable,
            interval: .milliseconds(100),
            ownAddress: other,
            data: []
        )
        let useOther = compact("01 0520 06 0100000000e0")
        let useOwn = compact("01 0520 06 5544332211c0")
        for request in [
            { $0.connect(to: HostRig.peer, .test, at: $1) }, { $0.startScanning(ScanParameters(), at: $1) },
        ]
            as [(inout LEHost, Duration) -> Void]
        {
            rig.host.startAdvertising(set, at: rig.now)
            #expect(rig.answerCommands().contains(useOther))
            rig.host.stopAdvertising(set.id, at: rig.now)
            rig.answerCommands()
            request(&rig.host, rig.now)
            #expect(rig.answerCommands().first == useOwn)
        }
    }

    @Test("Connecting fails at once, later, or because it was cancelled")
    func failures() throws {
        var rig = try HostRig.ready()
        rig.host.connect(to: HostRig.peer, .test, at: rig.now)
        _ = rig.sent()
        rig.give(HostRig.commandStatus("0c", "4320"))
        #expect(rig.events().descriptions == ["connectionFailed(\(HostRig.peer), \(HCIStatus.commandDisallowed))"])

        rig.host.connect(to: HostRig.peer, .test, at: rig.now)
        rig.answerCommands()
        rig.give(HostRig.le("0a", "3e" + String(repeating: "ff", count: 29)))
        #expect(
            rig.events().descriptions
                == ["connectionFailed(\(HostRig.peer), \(HCIStatus.connectionFailedToBeEstablished))"]
        )

        rig.host.cancelConnecting(at: rig.now)
        #expect(rig.sent().isEmpty)
        rig.host.connect(to: HostRig.peer, .test, at: rig.now)
        rig.answerCommands()
        rig.host.cancelConnecting(at: rig.now)
        #expect(rig.answerCommands() == [compact("01 0e20 00")])
        rig.give(HostRig.le("0a", "02" + String(repeating: "00", count: 29)))
        #expect(
            rig.events().descriptions == ["connectionFailed(\(HostRig.peer), \(HCIStatus.operationCancelledByHost))"]
        )
    }

    @Test("A cancellation that comes too late is no error")
    func lateCancellation() throws {
        var rig = try HostRig.ready()
        rig.host.connect(to: HostRig.peer, .test, at: rig.now)
        rig.answerCommands()
        rig.host.cancelConnecting(at: rig.now)
        _ = rig.sent()
        rig.give(HostRig.connected("4000", role: "00"))
        rig.give(HostRig.commandComplete("0e20", "0c"))
        let events = rig.events()
        #expect(events.connections.count == 1 && events.diagnostics.isEmpty)
    }

    @Test("A peripheral asks for the peer's features only if its controller can")
    func remoteFeatures() throws {
        var rig = try HostRig.ready(.minimal)
        rig.give(HostRig.legacyConnected("4000"))
        #expect(rig.sent().isEmpty)
        rig = try HostRig.ready(.rich)
        rig.give(HostRig.connected("4000"))
        #expect(rig.answerCommands() == [compact("01 1620 02 4000")])
    }

    @Test("Private addresses: the peer's identity, and its address on the air")
    func privateAddresses() throws {
        var rig = try HostRig.ready()
        rig.give(
            HostRig.le(
                "0a",
                "00 4000 01 03 0504030201d0 05040302014a 05040302015b 1800 0000 5802 00"
            )
        )
        let connection = try #require(rig.events().connections.first)
        #expect(connection.peer == HostRig.peer)
        #expect(connection.peerAddressOnAir == .random(DeviceAddress(0x5B_01_02_03_04_05)))
        #expect(connection.ownAddress == .random(DeviceAddress(0x4A_01_02_03_04_05)))
    }

    @Test("Disconnecting is asked for once; the reason comes from the controller")
    func disconnect() throws {
        var rig = try HostRig.ready()
        rig.connect("4000")
        rig.host.disconnect(0x40, reason: .remoteDevicePowerOff, at: rig.now)
        rig.host.disconnect(0x40, at: rig.now)
        rig.host.disconnect(0x41, at: rig.now)
        #expect(rig.answerCommands() == [compact("01 0604 03 4000 15")])
        rig.give(HostRig.event("05", "00 4000 16"))
        #expect(
            rig.events().descriptions == [
                "disconnected(\(ConnectionHandle(0x40)), \(HCIStatus.connectionTerminatedByLocalHost))"
            ]
        )
        #expect(rig.host.connections.isEmpty)
        rig.give(HostRig.event("05", "00 4000 16"))
        #expect(rig.events().diagnostics.count == 1)
    }

    @Test("A refused disconnection can be tried again")
    func refusedDisconnection() throws {
        var rig = try HostRig.ready()
        rig.connect("4000")
        rig.host.disconnect(0x40, at: rig.now)
        _ = rig.sent()
        rig.give(HostRig.commandStatus("1f", "0604"))
        #expect(rig.events().diagnostics.count == 1)
        rig.give(HostRig.event("05", "1f 4000 00"))
        #expect(rig.host.connections.count == 1)
        rig.host.disconnect(0x40, at: rig.now)
        #expect(rig.sent().count == 1)
    }

    @Test("A connection made twice closes the first")
    func twice() throws {
        var rig = try HostRig.ready()
        rig.connect("4000")
        rig.give(HostRig.connected("4000"))
        let events = rig.events()
        #expect(events.disconnections == [.unspecifiedError] && events.connections.count == 1)
        #expect(rig.host.connections.count == 1)
    }

    @Test("Signal strength, data length, PHY")
    func readings() throws {
        var rig = try HostRig.ready()
        rig.connect("4000")
        rig.script.answers["0514"] = "00 4000 c4"
        rig.host.readRSSI(0x40, at: rig.now)
        rig.answerCommands()
        rig.host.readRSSI(0x40, at: rig.now)
        _ = rig.sent()
        rig.give(HostRig.commandComplete("0514", "02"))
        rig.host.setDataLength(0x40, transmit: DataLength(octets: 251, timeMicroseconds: 2120), at: rig.now)
        rig.host.setPHY(0x40, PHYPreferences(transmit: .le2M, receive: nil), at: rig.now)
        #expect(
            rig.answerCommands() == ["01 2220 06 4000 fb00 4808", "01 3220 07 4000 02 02 00 0000"].map(compact)
        )
        rig.give(HostRig.le("07", "4000 fb00 4808 1b00 4801"))
        rig.give(HostRig.le("0c", "00 4000 02 01"))
        rig.give(HostRig.le("0c", "1a 4000 00 00"))
        let kinds = rig.events().descriptions.map { $0.prefix { $0 != "(" } }
        #expect(kinds == ["rssi", "rssi", "dataLengthUpdated", "phyUpdated", "phyUpdated"])
        let connection = try #require(rig.host.connection(0x40))
        #expect(connection.transmitLength.octets == 251 && connection.receiveLength == .minimum)
        #expect(connection.phys == LinkPHYs(transmit: .le2M, receive: .le1M))
        for handle: ConnectionHandle in [0x41, 0x42] {
            rig.host.readRSSI(handle, at: rig.now)
            rig.host.setDataLength(handle, transmit: .maximum, at: rig.now)
            rig.host.setPHY(handle, PHYPreferences(transmit: nil, receive: nil), at: rig.now)
            rig.host.requestParameters(handle, .test, at: rig.now)
        }
        #expect(rig.sent().isEmpty)
    }

    @Test("A minimal controller gets no commands that it does not support")
    func minimal() throws {
        var rig = try HostRig.ready(.minimal)
        rig.give(HostRig.legacyConnected("4000"))
        _ = rig.events()
        rig.host.setDataLength(0x40, transmit: .maximum, at: rig.now)
        rig.host.setPHY(0x40, PHYPreferences(transmit: .le2M, receive: .le2M), at: rig.now)
        #expect(rig.sent().isEmpty)
        guard case .phyUpdated(0x40, .failure(.unsupportedFeatureOrParameterValue)) = rig.events().first else {
            Issue.record("no answer")
            return
        }
    }
}

@Suite("LE host: connection parameters")
struct LEHostParameterTests {
    static let request = "12 01 0800 1800 2400 0300 5802"
    static let updated = "00 4000 1800 0300 5802"
    static let linkLayerUpdate = compact("01 1320 0e 4000 \(LEHostConnectionTests.parametersHex)")
    /// On the signaling channel: length 12, channel 5.
    static let signalingRequest = compact("02 4000 1000 0c00 0500 12 01 0800 1800 2400 0300 5802")

    @Test("A central changes them itself")
    func central() throws {
        var rig = try HostRig.ready()
        rig.connect(role: "00")
        rig.host.requestParameters(0x40, .test, at: rig.now)
        #expect(rig.answerCommands() == [Self.linkLayerUpdate])
        rig.give(HostRig.le("03", Self.updated))
        #expect(rig.events().descriptions == ["parametersUpdated(\(ConnectionHandle(0x40)))"])
        #expect(rig.host.connection(0x40)?.latency == 3)
    }

    @Test("A peripheral asks by the link layer if both sides can, by signaling if not")
    func peripheral() throws {
        var rig = try HostRig.ready()
        rig.connect(features: "0300000000000000")
        rig.host.requestParameters(0x40, .test, at: rig.now)
        #expect(rig.answerCommands() == [Self.linkLayerUpdate])

        rig = try HostRig.ready()
        rig.connect(features: "0100000000000000")
        rig.host.requestParameters(0x40, .test, at: rig.now)
        #expect(rig.sent() == [Self.signalingRequest])
        rig.give(HostRig.frame("4000", channel: "0500", "13 01 0200 0000"))
        #expect(rig.events().descriptions.isEmpty)
        rig.give(HostRig.le("03", Self.updated))
        #expect(rig.events().descriptions == ["parametersUpdated(\(ConnectionHandle(0x40)))"])
    }

    @Test("A request that comes before the peer's features are known waits for them")
    func early() throws {
        var rig = try HostRig.ready()
        rig.give(HostRig.connected("4000"))
        rig.host.requestParameters(0x40, .test, at: rig.now)
        #expect(rig.answerCommands() == [compact("01 1620 02 4000")])
        rig.give(HostRig.le("04", "00 4000 0300000000000000"))
        #expect(rig.answerCommands() == [Self.linkLayerUpdate])
    }

    @Test("If the central's link layer does not know the request, signaling is tried", arguments: [false, true])
    func fallback(_ isAtOnce: Bool) throws {
        var rig = try HostRig.ready()
        rig.connect(features: "0300000000000000")
        rig.host.requestParameters(0x40, .test, at: rig.now)
        _ = rig.sent()
        if isAtOnce {
            rig.give(HostRig.commandStatus("1a", "1320"))
        } else {
            rig.give(HostRig.commandStatus("00", "1320"))
            rig.give(HostRig.le("03", "1a 4000 1800 0000 5802"))
        }
        #expect(rig.sent() == [Self.signalingRequest])
        #expect(rig.events().descriptions.isEmpty)
    }

    @Test("Refusals: by the peer, by the controllers, by a timeout, by the limits of the Core")
    func refusals() throws {
        let causes: [(ParameterUpdateFailure, features: String, (inout HostRig) -> Void)] = [
            (.rejectedByPeer, "01", { $0.give(HostRig.frame("4000", channel: "0500", "13 01 0200 0100")) }),
            (.rejectedByPeer, "01", { $0.give(HostRig.frame("4000", channel: "0500", "01 01 0200 0000")) }),
            (.rejectedByPeer, "03", { $0.give(HostRig.le("03", "3b 4000 1800 0000 5802")) }),
            (.controller(.llResponseTimeout), "03", { $0.give(HostRig.le("03", "22 4000 1800 0000 5802")) }),
            (.notAnswered, "01", { $0.advance(by: .milliseconds(1)) }),
        ]
        for (failure, features, cause) in causes {
            var rig = try HostRig.ready()
            rig.connect(features: features + "00000000000000")
            rig.host.requestParameters(0x40, .test, at: rig.now)
            rig.answerCommands()
            if failure == .notAnswered {
                #expect(rig.host.nextDeadline == rig.now + .seconds(30))
                rig.advance(by: .milliseconds(29_999))
                #expect(rig.events().descriptions.isEmpty)
            }
            cause(&rig)
            #expect(rig.events().descriptions == ["parametersUpdateFailed(\(ConnectionHandle(0x40)), \(failure))"])
            #expect(rig.host.nextDeadline == nil)
        }
        var rig = try HostRig.ready()
        rig.connect()
        var wrong = ConnectionParameters.test
        wrong.supervisionTimeout = SupervisionTimeout(rawValue: 20)
        rig.host.requestParameters(0x40, wrong, at: rig.now)
        #expect(rig.sent().isEmpty)
        #expect(
            rig.events().descriptions
                == ["parametersUpdateFailed(\(ConnectionHandle(0x40)), \(ParameterUpdateFailure.invalid))"]
        )
    }

    @Test("While one change is pending, the last requested one waits; identifiers differ")
    func waiting() throws {
        var rig = try HostRig.ready()
        rig.connect()
        rig.host.requestParameters(0x40, .test, at: rig.now)
        var other = ConnectionParameters.test
        other.latency = 1
        rig.host.requestParameters(0x40, other, at: rig.now)
        other.latency = 2
        rig.host.requestParameters(0x40, other, at: rig.now)
        #expect(rig.sent() == [Self.signalingRequest])
        rig.give(HostRig.completed("4000", "0100"))
        // An answer to something else is not an answer to this.
        rig.give(HostRig.frame("4000", channel: "0500", "13 02 0200 0000"))
        #expect(rig.sent().isEmpty)
        rig.give(HostRig.frame("4000", channel: "0500", "13 01 0200 0000"))
        #expect(rig.sent() == [compact("02 4000 1000 0c00 0500 12 02 0800 1800 2400 0200 5802")])
    }

    @Test("A central grants what the peripheral asks for, and does it")
    func granted() throws {
        var rig = try HostRig.ready()
        rig.connect(role: "00")
        rig.give(HostRig.frame("4000", channel: "0500", "12 09 0800 1800 2400 0300 5802"))
        #expect(rig.sent() == [Self.linkLayerUpdate, compact("02 4000 0a00 0600 0500 13 09 0200 0000")])
        rig.give(HostRig.commandStatus("00", "1320"))
        // Another request is refused while the controller carries out the first.
        rig.give(HostRig.frame("4000", channel: "0500", "12 0a 0800 1800 2400 0300 5802"))
        #expect(rig.sent() == [compact("02 4000 0a00 0600 0500 13 0a 0200 0100")])
        rig.give(HostRig.le("03", Self.updated))
        #expect(rig.events().descriptions == ["parametersUpdated(\(ConnectionHandle(0x40)))"])
    }

    @Test(
        "A central refuses what the Core does not allow",
        arguments: [
            "2400 1800 0300 5802", "0500 2400 0300 5802", "1800 810c 0000 5802", "1800 2400 f401 5802",
            "1800 2400 0300 0900",
            "1800 2400 0300 810c", "1800 2400 0300 2400", "ffff ffff ffff ffff",
        ]
    )
    func invalid(_ parameters: String) throws {
        var rig = try HostRig.ready()
        rig.connect(role: "00")
        rig.give(HostRig.frame("4000", channel: "0500", "12 09 0800 " + parameters))
        #expect(rig.sent() == [compact("02 4000 0a00 0600 0500 13 09 0200 0100")])
        rig.give(HostRig.le("06", "4000" + parameters))
        #expect(rig.sent() == [compact("01 2120 03 4000 3b")])
    }

    @Test("Configured limits: granted parameters are within them")
    func limits() throws {
        let limits = AcceptableParameters(
            intervalMinimum: ConnectionInterval(rawValue: 0x20),
            intervalMaximum: ConnectionInterval(rawValue: 0x22),
            maximumLatency: 3
        )
        var rig = try HostRig.ready(
            configuration: .init(ownAddress: HostRig.ownAddress, acceptableParameters: limits)
        )
        rig.connect()
        rig.give(HostRig.le("06", "4000 1800 2400 0300 5802"))
        #expect(rig.answerCommands() == [compact("01 2020 0e 4000 2000 2200 0300 5802 0000 0000")])
        for wrong in ["1800 2400 0400 5802", "1800 1f00 0300 5802", "2300 2400 0300 5802"] {
            rig.give(HostRig.le("06", "4000" + wrong))
            #expect(rig.answerCommands() == [compact("01 2120 03 4000 3b")])
        }
        rig.give(HostRig.le("06", "4100 1800 2400 0300 5802"))
        #expect(rig.answerCommands() == [compact("01 2120 03 4100 3b")])
    }
}
