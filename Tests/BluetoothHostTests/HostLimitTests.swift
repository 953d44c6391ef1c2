import BluetoothHCI
import ByteCoding
import Testing

@testable import BluetoothHost

/// What a controller or a peer can do wrong, and how the host goes on.
@Suite("LE host: limits")
struct HostLimitTests {
    // MARK: The controller

    @Test("Scanning that is started twice at once begins once, with the parameters that came last")
    func scanningTwice() throws {
        for status in ["00", "0c"] {
            var rig = try HostRig.ready(.minimal)
            rig.host.startScanning(LEHostScanningTests.parameters, at: rig.now)
            #expect(rig.sent() == [compact("01 0b20 07 01 6000 3000 01 00")])
            var passive = LEHostScanningTests.parameters
            passive.type = .passive
            passive.filtersDuplicates = false
            rig.host.startScanning(passive, at: rig.now)
            // What comes of the first one does not matter any more.
            rig.give(HostRig.commandComplete("0b20", status))
            #expect(
                rig.answerCommands()
                    == ["01 0c20 02 00 00", "01 0b20 07 00 6000 3000 01 00", "01 0c20 02 01 00"].map(compact)
            )
            #expect(rig.events().descriptions == ["scanningStarted"], "\(status)")
        }
    }

    @Test("Scanning or advertising that the controller does not end is told of")
    func notStopped() throws {
        var rig = try HostRig.ready(.minimal)
        rig.host.startScanning(LEHostScanningTests.parameters, at: rig.now)
        rig.answerCommands()
        _ = rig.events()
        rig.script.answers["0c20"] = "1f"
        rig.host.stopScanning(at: rig.now)
        rig.answerCommands()
        let events = rig.events()
        #expect(events.diagnostics == ["scanning could not be stopped: \(HCIStatus.unspecifiedError)"])
        #expect(events.descriptions == ["scanningEnded"])
        let words = HostNews.advertisingNotStopped(.unspecifiedError).description
        #expect(words == "advertising could not be stopped: \(HCIStatus.unspecifiedError)")
    }

    @Test("A controller that says that it failed is reset while it is started, three times at most")
    func hardwareErrorWhileStarting() throws {
        var rig = try HostRig(.rich)
        rig.host.start(at: rig.now)
        for attempt in 1...2 {
            #expect(rig.sent() == [compact("01 030c 00")], "attempt \(attempt)")
            rig.give(HostRig.commandComplete("030c", "00"))
            #expect(rig.sent() == [compact("01 0110 00")])
            rig.give("04 10 01 42")
            #expect(rig.events().diagnostics == ["hardware error 0x42 while starting; trying again"])
        }
        #expect(rig.sent() == [compact("01 030c 00")])
        rig.give("04 10 01 42")
        #expect(rig.events().contains { if case .failed(.notAnswering(Reset.opcode)) = $0 { true } else { false } })
        #expect(rig.sent().isEmpty && rig.host.nextDeadline == nil && !rig.host.isReady)
        // A controller that was given up is not started by an error of its own.
        rig.give("04 10 01 42")
        #expect(rig.sent().isEmpty && !rig.events().contains { if case .restarting = $0 { true } else { false } })
    }

    @Test("An event that comes before the start is ignored, and told of for debugging")
    func early() throws {
        var rig = try HostRig(.rich)
        rig.give(HostRig.connected("4000"))
        let notices = rig.events().compactMap { if case .notice(let notice) = $0 { notice } else { nil } }
        #expect(notices.map(\.what) == [.eventBeforeStart] && notices.map(\.severity) == [.debug])
        #expect(notices.map(\.description) == ["ignored an event that came before the controller was started"])
    }

    @Test("After ten failures in a row a controller is left alone, for twice as long each time, and that is told of")
    func rests() throws {
        var rig = try HostRig.ready()
        for rest in [nil, nil, nil, nil, nil, nil, nil, nil, nil, nil, 500, 1000, 2000] as [Int?] {
            rig.give("04 10 01 42")
            let pause = rest.map { " in \(Duration.milliseconds($0))" } ?? ""
            #expect(rig.events().diagnostics == ["starting the controller again\(pause): hardware error 0x42"])
            if let rest {
                rig.advance(by: .milliseconds(rest - 1))
                #expect(rig.sent().isEmpty && rig.host.nextDeadline == rig.now + .milliseconds(1))
                rig.advance(by: .milliseconds(1))
            }
            #expect(rig.answerCommands().first == compact("01 030c 00"))
            #expect(rig.host.isReady)
            _ = rig.events()
        }
    }

    /// Octets 26, 36 and 37 of the supported commands: octet 26 has those of legacy advertising (bit 1), scanning (3) and
    /// connecting (4), octet 36 those of extended advertising (1 to 5), octet 37 those of extended scanning (5 and 6) and
    /// connecting (7). Core 5.4, Vol 4, Part E, 6.27.
    @Test(
        "Extended commands are used where none of the three roles is lost by that",
        arguments: [
            ("ff", "ff", "ff", true), ("ff", "c1", "ff", false), ("fd", "c1", "ff", true), ("ff", "ff", "9f", false),
            ("f7", "ff", "9f", true), ("ff", "ff", "7f", false), ("ef", "ff", "7f", true), ("e5", "c1", "1f", false),
            // Without one of its commands, extended advertising or scanning is none.
            ("ff", "fd", "ff", false), ("ff", "fb", "ff", false), ("ff", "f7", "ff", false), ("ff", "ef", "ff", false),
            ("ff", "df", "ff", false), ("ff", "ff", "df", false), ("ff", "ff", "bf", false),
        ]
    )
    func extendedCommands(octet26: String, octet36: String, octet37: String, isExtended: Bool) throws {
        var script = ControllerScript.rich
        let head = String(repeating: "ff", count: 26) + octet26
        script.answers["0210"] =
            "00" + head + String(repeating: "ff", count: 9) + octet36 + octet37 + String(repeating: "ff", count: 26)
        let rig = try HostRig.ready(script)
        #expect(rig.host.capabilities.usesExtendedCommands == isExtended)
        // Bit 12 of the features says whether there is extended advertising at all.
        script.answers["0320"] = "00 ff49010000000000"
        #expect(try HostRig.ready(script).host.capabilities.usesExtendedCommands == false)
    }

    // MARK: L2CAP

    @Test(
        "A peer's signaling mistake is told of in words",
        arguments: [
            ("06 02 0400 4000 5100", "the peer closes channel 0x0040 with 0x0051, which is not its other end"),
            ("06 02 0400 4100 5000", "the peer closes channel 0x0041, which is not open"),
            ("07 02 0400 4000 5000", "the peer answers a disconnection that was not requested"),
            ("1a 02 0200 0000", "the peer answers a request to reconfigure that was not made"),
            ("15 02 0a00 4000 0002 6400 0700 0000", "the peer answers a request for a channel that was not made"),
            ("16 02 0400 5000 0000", "ignored 0 credits for channel 0x0050"),
            ("20 02 0100 aa", "signaling command 0x20 is not known"),
        ]
    )
    func signalingMistakes(pdu: String, words: String) throws {
        var rig = try ChannelRig()
        _ = try rig.open()
        _ = rig.signal(pdu)
        let notices = rig.rig.events().compactMap {
            if case .notice(let notice) = $0 { notice.description } else { nil }
        }
        #expect(notices == ["connection 0x0040: \(words)"])
    }

    @Test("A channel that is not open takes nothing and has no room")
    func noChannel() throws {
        var rig = try ChannelRig()
        let open = try rig.open()
        let other = Channel.ID(connection: ChannelRig.handle, number: 99)
        #expect(
            rig.rig.host.channels.writableCount(of: open) > 0 && rig.rig.host.channels.writableCount(of: other) == 0
        )
        #expect(rig.rig.host.channels.writableSDUCount(of: other) == 0)
        #expect(rig.rig.host.channels.unsentCount(of: other) == 0)
        #expect(throws: ChannelError.notOpen) {
            try rig.rig.host.channels.writeSDU([1], to: other, at: rig.rig.now)
        }
        #expect(rig.readSDU(other) == nil && rig.read(other) == [] && rig.write([1], to: other) == 0)
        rig.rig.host.channels.close(other, at: rig.rig.now)
        #expect(rig.sent() == [])
    }

    @Test("A frame whose header is cut short names no channel, and is told of as a header's 4 bytes")
    func shortHeader() throws {
        var rig = try HostRig.ready()
        rig.connect()
        rig.give(compact("02 4020 0300 030004"))
        rig.give(HostRig.frame("4000", channel: "0400", "020002"))
        #expect(
            rig.events().diagnostics == ["connection 0x0040: dropped 3 bytes of a frame of 4, since another one began"]
        )
        #expect(rig.sent() == [compact("02 4000 0700 0300 0400 030502")], "the frame that began is answered")
    }

    // MARK: Enhanced bearers

    /// A host that asks for two bearers, on one link that is encrypted with the key of a bond.
    /// - Parameters:
    ///   - role: "00" as a central, "01" as a peripheral.
    ///   - latency: the peripheral latency as sent; the interval is 30 ms.
    private static func bearerRig(role: String, latency: String) throws -> HostRig {
        var configuration = LEHost.Configuration(ownAddress: HostRig.ownAddress)
        configuration.security = SecurityManager.Configuration()
        configuration.gatt.enhancedBearers = 2
        let bond = Bond(
            identity: HostRig.peer,
            keys: .secureConnections(LongTermKey(0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10)),
            isAuthenticated: false
        )
        var script = ControllerScript.rich
        script.answers["0220"] = "00 fb00 08"
        var rig = try HostRig.ready(script, configuration: configuration, bonds: [bond])
        let addresses = HostRig.peerHex + "000000000000 000000000000"
        rig.give(HostRig.le("0a", "00 4000 \(role) \(addresses) 1800 \(latency) 5802 00"))
        rig.answerCommands()
        rig.give(HostRig.le("04", "1a 4000 0000000000000000"))
        if role == "00" {
            try rig.host.security?.encrypt(0x0040, at: rig.now)
        } else {
            rig.give(HostRig.le("05", "4000 0000000000000000 0000"))
        }
        rig.answerCommands()
        rig.give(HostRig.event("08", "00 4000 01"))
        return rig
    }

    /// Gives the host a frame.
    /// - Returns: the frames that it sends then, channel and payload in hexadecimal; each is one packet.
    private static func exchange(_ rig: inout HostRig, _ channel: String, _ payload: String) -> [String] {
        rig.give(HostRig.frame("4000", channel: channel, compact(payload)))
        return frames(&rig)
    }

    private static func frames(_ rig: inout HostRig) -> [String] {
        let packets = rig.sent().filter { $0.hasPrefix("02") }
        for _ in packets { rig.give(HostRig.completed("4000", "0100")) }
        // The packet's five octets and the frame's length go.
        return packets.map { String($0.dropFirst(14)) }
    }

    @Test(
        "A side that is refused for want of room asks again: a central after 100 ms, a peripheral after two of its turns",
        arguments: [("00", "0400", 100), ("01", "0400", 300), ("01", "0000", 100)]
    )
    func retry(role: String, latency: String, pause: Int) throws {
        var rig = try Self.bearerRig(role: role, latency: latency)
        #expect(Self.frames(&rig) == [compact("0400 08 0100ffff 3a2b")])
        #expect(Self.exchange(&rig, "0400", "09 03 1000 01") == [compact("0400 08 0100ffff 292b")])
        // Its Client Supported Features do not exist. MTU 517, MPS 1022, seven credits.
        let request = "2700 0502 fe03 0700 4000 4100"
        #expect(Self.exchange(&rig, "0400", "01 08 0100 0a") == [compact("0500 17 01 0c00 \(request)")])
        _ = rig.events()
        #expect(Self.exchange(&rig, "0500", "18 01 0c00 0000 0000 0000 0400 0000 0000") == [])
        let closures = rig.events().compactMap { event -> ChannelClosure? in
            if case .gatt(.enhancedBearerClosed(_, let closure, wasOpen: false, count: 0)) = event {
                closure
            } else {
                nil
            }
        }
        #expect(closures == [.refused(.noResources), .refused(.noResources)])
        rig.advance(by: .milliseconds(pause - 1))
        #expect(Self.frames(&rig) == [])
        rig.advance(by: .milliseconds(1))
        #expect(Self.frames(&rig) == [compact("0500 17 02 0c00 \(request)")])
        // Once more, and not a third time.
        #expect(Self.exchange(&rig, "0500", "18 02 0c00 0000 0000 0000 0400 0000 0000") == [])
        rig.advance(by: .seconds(10))
        #expect(Self.frames(&rig) == [])
    }

    @Test("When there are too few CIDs for the channels of bearers, none is asked for, then or later")
    func noCIDLeft() throws {
        var rig = try Self.bearerRig(role: "00", latency: "0000")
        #expect(Self.frames(&rig) == [compact("0400 08 0100ffff 3a2b")])
        #expect(Self.exchange(&rig, "0400", "09 03 1000 01") == [compact("0400 08 0100ffff 292b")])
        // Of the CIDs 0x0040 to 0x007F, one is left.
        for _ in 0x40..<0x7F { _ = try rig.host.channels.open(to: SPSM(rawValue: 0x80), on: 0x0040, at: rig.now) }
        var opened = 0
        while case let frames = Self.frames(&rig), !frames.isEmpty { opened += frames.count }
        #expect(opened == 63)
        #expect(Self.exchange(&rig, "0400", "01 08 0100 0a") == [])
        rig.advance(by: .seconds(1))
        #expect(Self.frames(&rig) == [] && rig.host.gatt.enhancedBearerCount(of: 0x0040) == 0)
    }

    @Test("A bearer whose channel is gone gives its PDU to nobody: what is left of it is to be closed")
    func channelGone() throws {
        var configuration = GATTLayer.Configuration()
        configuration.enhancedBearers = 1
        configuration.opensEnhancedBearers = false
        var rig = GATTRig(try ByteTable.database(), configuration: configuration)
        let id = Channel.ID(connection: GATTRig.connection, number: 1)
        let terms = ChannelTerms(mtu: 64, mps: 64, credits: 10)
        let channel = Channel(
            id: id,
            spsm: .enhancedATT,
            isInitiator: false,
            isEnhanced: true,
            localCID: ChannelID(rawValue: 0x40),
            remoteCID: ChannelID(rawValue: 0x50),
            own: terms,
            peer: terms
        )
        rig.layer.bearerOpened(channel, at: rig.now)
        rig.layer.receive(hex("0a 0300")[...], on: id, at: rig.now)
        var channels = ChannelManager(random: 0)
        #expect(rig.layer.takeChannelRequest() == nil)
        rig.layer.fillBearers(of: GATTRig.connection, &channels)
        guard case .close(id)? = rig.layer.takeChannelRequest() else {
            Issue.record("the channel is not closed")
            return
        }
        // Nothing is left to give.
        rig.layer.fillBearers(of: GATTRig.connection, &channels)
        #expect(rig.layer.takeChannelRequest() == nil)
    }
}
