import BluetoothHCI
import BluetoothHost
import ByteCoding
import Testing

@Suite("LE host: start-up")
struct LEHostStartUpTests {
    /// Starts a host against a script, one command at a time.
    func start(_ rig: inout HostRig) -> [String] {
        rig.host.start(at: rig.now)
        var commands: [String] = []
        while true {
            let packets = rig.sent()
            guard let packet = packets.first else { return commands }
            #expect(packets.count == 1, "no command goes out before the last one is answered")
            commands.append(packet)
            rig.give(rig.script.answer(to: String(packet.dropFirst(2).prefix(4))))
        }
    }

    @Test("A rich controller: extended advertising, data length, private addresses")
    func rich() throws {
        var rig = try HostRig(.rich)
        let commands = start(&rig)
        #expect(
            commands
                == [
                    "01 030c 00",
                    "01 0110 00",
                    "01 0210 00",
                    "01 0310 00",
                    "01 0910 00",
                    "01 0320 00",
                    // Disconnection Complete, Encryption Change, Read Remote Version, Hardware Error, Data Buffer
                    // Overflow, Encryption Key Refresh, LE Meta: bits 4, 7, 11, 15, 25, 47, 61.
                    "01 010c 08 9088000200800020",
                    // Subevents 1 to 7, 10 to 13, 17 and 18.
                    "01 0120 08 7f1e030000000000",
                    "01 0220 00",
                    "01 1c20 00",
                    "01 2f20 00",
                    "01 2420 04 fb00 4808",
                    "01 3a20 00",
                    "01 3b20 00",
                    "01 0f20 00",
                    "01 2a20 00",
                    "01 0520 06 5544332211c0",
                ].map(compact)
        )
        #expect(rig.host.isReady)
        let events = rig.events()
        guard case .ready(let capabilities) = events.first, events.count == 1 else {
            Issue.record("\(events)")
            return
        }
        #expect(capabilities.version?.hciVersion == .v5_4 && capabilities.publicAddress == nil)
        #expect(capabilities.aclDataLength == 251 && capabilities.aclPacketCount == 3)
        #expect(capabilities.usesExtendedCommands && capabilities.advertisingSetCount == 2)
        #expect(capabilities.maximumAdvertisingDataLength == 1650)
        #expect(capabilities.supportsDataLengthExtension && capabilities.supportsPHYChange)
        #expect(rig.host.ownAddress == HostRig.ownAddress)
    }

    @Test("A minimal controller of Core 4.0: legacy everything, buffers shared with BR/EDR")
    func minimal() throws {
        var rig = try HostRig(.minimal, configuration: .init(ownAddress: .public(.zero)))
        let commands = start(&rig)
        #expect(
            commands
                == [
                    "01 030c 00",
                    "01 0110 00",
                    "01 0210 00",
                    "01 0310 00",
                    "01 0910 00",
                    "01 0320 00",
                    "01 010c 08 9088000200800020",
                    "01 0120 08 1f00000000000000",
                    "01 6d0c 02 0100",
                    "01 0220 00",
                    "01 0510 00",
                    "01 1c20 00",
                    "01 0f20 00",
                ].map(compact)
        )
        #expect(rig.host.isReady && !rig.host.capabilities.usesExtendedCommands)
        #expect(rig.host.capabilities.aclDataLength == 54 && rig.host.capabilities.aclPacketCount == 2)
        #expect(rig.host.ownAddress == .public(DeviceAddress(0x00_1A_7D_DA_71_13)))
    }

    @Test("A default PHY is set where the controller has one")
    func defaultPHY() throws {
        let preferences = PHYPreferences(transmit: [.le1M, .le2M], receive: nil)
        var rig = try HostRig(.rich, configuration: .init(ownAddress: HostRig.ownAddress, defaultPHY: preferences))
        #expect(start(&rig).contains(compact("01 3120 03 02 03 00")))
        rig = try HostRig(.minimal, configuration: .init(ownAddress: HostRig.ownAddress, defaultPHY: preferences))
        #expect(!start(&rig).contains { $0.hasPrefix("013120") })
    }

    @Test("Extended commands are used only if the controller has them for all three roles")
    func extendedOrLegacy() throws {
        // Everything but LE Extended Create Connection (octet 37, bit 7), and with it but LE Create Connection (26, 4).
        for (octet26, octet37, isExtended) in [("ff", "7f", false), ("ef", "7f", true), ("ff", "ff", true)] {
            var script = ControllerScript.rich
            script.answers["0210"] =
                "00" + String(repeating: "ff", count: 26) + octet26 + String(repeating: "ff", count: 10) + octet37
                + String(repeating: "ff", count: 26)
            var rig = try HostRig(script)
            _ = start(&rig)
            #expect(rig.host.capabilities.usesExtendedCommands == isExtended)
        }
    }

    @Test("A host whose controller has no public address generates one, and reports it")
    func noPublicAddress() throws {
        var rig = try HostRig(.rich, configuration: .init(ownAddress: .public(.zero)))
        let commands = start(&rig)
        #expect(commands.last?.hasPrefix(compact("01 0520 06")) == true)
        #expect(rig.host.ownAddress.type == .random && rig.host.ownAddress.address.isStaticRandom)
        #expect(rig.events().diagnostics.first?.contains("no public address") == true)
    }

    @Test(
        "What a host can do without may fail, and is warned about",
        arguments: ["0110", "0310", "1c20", "3a20", "2420"]
    )
    func optionalFailure(_ opcode: String) throws {
        var script = ControllerScript.rich
        script.answers[opcode] = "01"
        var rig = try HostRig(script)
        _ = start(&rig)
        #expect(rig.host.isReady)
        #expect(rig.events().diagnostics.count == 1)
    }

    @Test(
        "What a host cannot do without ends the start",
        arguments: ["030c", "0210", "0320", "010c", "0120", "0220", "0520"]
    )
    func mandatoryFailure(_ opcode: String) throws {
        var script = ControllerScript.rich
        script.answers[opcode] = "1f"
        var rig = try HostRig(script)
        _ = start(&rig)
        #expect(!rig.host.isReady)
        let isFailed = rig.events().contains {
            if case .failed(.commandFailed(_, HCIStatus.unspecifiedError)) = $0 { true } else { false }
        }
        #expect(isFailed)
        #expect(rig.sent().isEmpty && rig.host.nextDeadline == nil)
        // The owner can try again.
        rig.script = .rich
        _ = start(&rig)
        #expect(rig.host.isReady)
    }

    @Test("An answer that is too short, or no buffers at all, end the start")
    func nonsense() throws {
        var script = ControllerScript.rich
        script.answers["0220"] = "00 fb"
        var rig = try HostRig(script)
        _ = start(&rig)
        #expect(rig.events().contains { if case .failed(.malformedAnswer) = $0 { true } else { false } })
        script.answers["0220"] = "00 0000 00"
        script.answers["0510"] = "00 0000 00 0000 0000"
        rig = try HostRig(script)
        _ = start(&rig)
        #expect(rig.events().contains { if case .failed(.noDataBuffers) = $0 { true } else { false } })
    }

    @Test("A controller that does not answer is reset three times, 2 s apart, and given up")
    func silence() throws {
        var rig = try HostRig(.rich)
        rig.host.start(at: rig.now)
        for attempt in 1...3 {
            #expect(rig.sent() == [compact("01 030c 00")], "attempt \(attempt)")
            #expect(rig.host.nextDeadline == rig.now + .seconds(2))
            rig.advance(by: .milliseconds(1999))
            #expect(rig.sent().isEmpty)
            #expect(!rig.events().contains { if case .failed = $0 { true } else { false } })
            rig.advance(by: .milliseconds(1))
        }
        #expect(rig.sent().isEmpty && rig.host.nextDeadline == nil)
        #expect(rig.events().contains { if case .failed(.notAnswering(Reset.opcode)) = $0 { true } else { false } })
    }

    @Test("Silence in the middle of the sequence starts it again")
    func silenceInTheMiddle() throws {
        var rig = try HostRig(.rich)
        rig.host.start(at: rig.now)
        rig.give(rig.script.answer(to: String((rig.sent().first ?? "").dropFirst(2).prefix(4))))
        #expect(rig.sent() == [compact("01 0110 00")])
        rig.advance(by: .seconds(2))
        #expect(rig.answerCommands().first == compact("01 030c 00"))
        #expect(rig.host.isReady)
    }

    @Test("Before the controller is ready, its events and data are ignored, and so are answers to no command")
    func early() throws {
        var rig = try HostRig(.rich)
        rig.give(HostRig.connected("4000"))
        rig.host.start(at: rig.now)
        #expect(rig.sent() == [compact("01 030c 00")])
        rig.give(HostRig.connected("4000"))
        rig.give(HostRig.frame("4000", channel: "0400", "0a0300"))
        rig.give(HostRig.commandComplete("0110", "00"))
        rig.give("04 ff 03 010203")
        rig.give(HostRig.commandComplete("030c", "00"))
        rig.answerCommands()
        #expect(rig.host.isReady && rig.host.connections.isEmpty)
        #expect(rig.events().connections.isEmpty)
    }

    @Test("Packets that cannot be decoded are counted and reported, and change nothing")
    func malformed() throws {
        var rig = try HostRig.ready()
        for packet in [
            "", "00", "07 00", "04", "04 0e", "04 0e 05 01 030c", "02 4020 0500 00", "01 030c 00", "03 4000 00",
        ] {
            rig.give(packet)
        }
        #expect(rig.host.counters.malformedPackets == 9)
        #expect(rig.events().diagnostics.count == 9)
        #expect(rig.host.isReady && rig.sent().isEmpty)
    }

    @Test(
        "A hardware error, a time-out or an unexpected reset: everything starts again, and what was on the air returns"
    )
    func restart() throws {
        let causes: [(inout HostRig) -> Void] = [
            { $0.give("04 10 01 42") },
            { $0.give(HostRig.commandComplete("030c", "00")) },
            { rig in
                rig.host.readRSSI(0x40, at: rig.now)
                #expect(rig.sent() == [compact("01 0514 02 4000")])
                rig.advance(by: .seconds(2))
            },
        ]
        for cause in causes {
            var rig = try HostRig.ready()
            rig.host.startScanning(ScanParameters(), at: rig.now)
            rig.host.startAdvertising(
                AdvertisingSet(
                    id: .init(rawValue: 3),
                    kind: .nonConnectable,
                    interval: .milliseconds(100),
                    data: [2, 1, 6]
                ),
                at: rig.now
            )
            rig.answerCommands()
            rig.connect("4000")
            rig.host.connect(to: .random(DeviceAddress(0xC1_00_00_00_00_01)), .test, at: rig.now)
            rig.answerCommands()
            _ = rig.events()
            cause(&rig)
            let commands = rig.answerCommands()
            #expect(commands.first == compact("01 030c 00"))
            #expect(commands.suffix(5).map { $0.dropFirst(2).prefix(4) } == ["3520", "3720", "3920", "4120", "4220"])
            let events = rig.events()
            #expect(events.disconnections == [.hardwareFailure])
            let kinds = events.descriptions.map { $0.prefix { $0 != "(" } }
            #expect(
                kinds == [
                    "restarting", "disconnected", "connectionFailed", "ready", "advertisingStarted", "scanningStarted",
                ]
            )
            #expect(rig.host.connections.isEmpty && rig.host.isReady)
        }
    }

    @Test("A controller that fails again is reset after a longer pause each time, until it works")
    func pace() throws {
        var rig = try HostRig.ready()
        // Worked out by hand: ten times at once, then after a rest that doubles up to 30 s.
        let rests = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]
        for rest in rests {
            rig.give("04 10 01 42")
            if rest > 0 {
                #expect(rig.sent().isEmpty && !rig.host.isReady)
                #expect(rig.host.nextDeadline == rig.now + .milliseconds(rest))
                // Its packets in the pause are ignored.
                rig.give("04 10 01 42")
                rig.give(HostRig.commandComplete("030c", "00"))
                rig.advance(by: .milliseconds(rest - 1))
                #expect(rig.sent().isEmpty)
                rig.advance(by: .milliseconds(1))
            }
            #expect(rig.answerCommands().first == compact("01 030c 00"))
            #expect(rig.host.isReady)
        }
        rig.advance(by: .seconds(60))
        rig.give("04 10 01 42")
        #expect(rig.answerCommands().first == compact("01 030c 00"), "the failure is a new one")
    }

    @Test("A controller that is out of reach has no connections, and is started again when it is back")
    func outOfReach() throws {
        var rig = try HostRig.ready()
        rig.connect("4000")
        _ = rig.events()
        rig.host.controllerLost(at: rig.now)
        #expect(rig.host.connections.isEmpty && !rig.host.isReady)
        #expect(rig.sent().isEmpty && rig.host.nextDeadline == nil)
        var events = rig.events()
        #expect(events.disconnections == [.hardwareFailure])
        #expect(events.descriptions.first?.hasPrefix("controllerLost") == true)
        rig.host.controllerLost(at: rig.now)
        events = rig.events()
        #expect(events.isEmpty, "it is lost once")
        rig.host.start(at: rig.now)
        #expect(rig.answerCommands().first == compact("01 030c 00"))
        #expect(rig.host.isReady)
    }
}

extension ConnectionParameters {
    /// 30 to 45 ms, latency 3, 6 s.
    static let test = ConnectionParameters(
        intervalMinimum: ConnectionInterval(rawValue: 24),
        intervalMaximum: ConnectionInterval(rawValue: 36),
        latency: 3,
        supervisionTimeout: SupervisionTimeout(rawValue: 600)
    )
}
