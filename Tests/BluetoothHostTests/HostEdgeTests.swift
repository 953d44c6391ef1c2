import BluetoothHCI
import ByteCoding
import Testing

@testable import BluetoothHost

/// The host at the values and in the moments where it decides one way or the other, by bytes.
@Suite("LE host: edges of what is told and sent") struct HostEdgeTests {
    private static let scan = LEHostScanningTests.parameters

    // MARK: Scanning and connecting

    @Test("New scan parameters while the first are on their way: the scan is disabled, then begun with them")
    func scanningAgainAtOnce() throws {
        var rig = try HostRig.ready(.minimal)
        rig.host.startScanning(Self.scan, at: rig.now)
        #expect(rig.sent() == [compact("01 0b20 07 01 6000 3000 01 00")])
        rig.host.startScanning(Self.scan, at: rig.now)
        rig.give(HostRig.commandComplete("0b20", "00"))
        #expect(
            rig.answerCommands()
                == ["01 0c20 02 00 00", "01 0b20 07 01 6000 3000 01 00", "01 0c20 02 01 01"].map(compact)
        )
        rig = try HostRig.ready(.minimal)
        rig.host.startScanning(Self.scan, at: rig.now)
        _ = rig.sent()
        rig.host.stopScanning(at: rig.now)
        rig.give(HostRig.commandComplete("0b20", "00"))
        #expect(rig.answerCommands() == [compact("01 0c20 02 00 00")])
    }

    @Test(
        "A controller that cannot stop a scan is reported, unless there was none",
        arguments: [("00", false), ("0c", false), ("1f", true)]
    )
    func scanThatDoesNotStop(status: String, isReported: Bool) throws {
        var rig = try HostRig.ready(.minimal)
        rig.host.startScanning(Self.scan, at: rig.now)
        rig.answerCommands()
        _ = rig.events()
        rig.host.stopScanning(at: rig.now)
        _ = rig.sent()
        rig.give(HostRig.commandComplete("0c20", status))
        let events = rig.events()
        #expect(events.descriptions == ["scanningEnded"])
        #expect(events.diagnostics.contains { $0.contains("scanning could not be stopped") } == isReported)
    }

    @Test(
        "A controller that cannot give up connecting is reported, unless the connection was made just then",
        arguments: [("00", false), ("0c", false), ("1f", true)]
    )
    func connectingThatDoesNotEnd(status: String, isReported: Bool) throws {
        var rig = try HostRig.ready(.minimal)
        rig.host.connect(to: HostRig.peer, .test, at: rig.now)
        rig.answerCommands()
        _ = rig.events()
        rig.host.cancelConnecting(at: rig.now)
        #expect(rig.sent() == [compact("01 0e20 00")])
        rig.give(HostRig.commandComplete("0e20", status))
        #expect(rig.events().diagnostics.isEmpty == !isReported)
    }

    @Test("What became of encryption is a notice when it failed, and none when it did not")
    func encryptionNotices() throws {
        var configuration = LEHost.Configuration(ownAddress: HostRig.ownAddress)
        configuration.security = SecurityManager.Configuration()
        let bond = Bond(identity: HostRig.peer, keys: .secureConnections(LongTermKey(1)), isAuthenticated: false)
        for (event, isReported) in [
            (HostRig.event("08", "06 4000 00"), true), (HostRig.event("08", "00 4000 01"), false),
        ] {
            var rig = try HostRig.ready(configuration: configuration, bonds: [bond])
            rig.connect()
            rig.give(HostRig.le("05", "4000 0000000000000000 0000"))
            rig.answerCommands()
            _ = rig.events()
            rig.give(event)
            #expect(rig.events().diagnostics.contains { $0.contains("could not be encrypted") } == isReported)
        }
    }

    @Test("An advertising set that cannot be stopped is doubtful, and one that the controller does not know is stopped")
    func advertisingThatDoesNotStop() throws {
        for (status, isReported) in [("00", false), ("42", false), ("1f", true)] {
            var rig = try HostRig.ready(.rich)
            rig.host.startAdvertising(LEHostAdvertisingTests.set(), at: rig.now)
            rig.answerCommands()
            _ = rig.events()
            rig.host.stopAdvertising(LEHostAdvertisingTests.first, at: rig.now)
            _ = rig.sent()
            rig.give(HostRig.commandComplete("3920", status))
            let kinds = rig.events().descriptions.map { $0.prefix { $0 != "(" } }
            #expect(kinds == [isReported ? "advertisingNotStopped" : "advertisingEnded"], "\(status)")
        }
    }

    @Test("While the controller fails to start, what waits for it is not begun")
    func failingStart() throws {
        var script = ControllerScript.minimal
        script.answers["0210"] = "1f"
        var rig = try HostRig(script)
        rig.host.startAdvertising(LEHostAdvertisingTests.set(), at: rig.now)
        rig.host.start(at: rig.now)
        var opcodes: [String] = []
        for _ in 0..<10 {
            for packet in rig.sent() {
                let opcode = String(packet.dropFirst(2).prefix(4))
                opcodes.append(opcode)
                rig.give(rig.script.answer(to: opcode))
            }
        }
        #expect(!rig.host.isReady)
        #expect(opcodes.contains("0210"))
        // Parameters, data, scan response and enabling of legacy advertising.
        #expect(Set(opcodes).isDisjoint(with: ["0620", "0820", "0920", "0a20"]), "\(opcodes)")
    }

    @Test("A PHY that the controller refuses to ask for is reported as refused, and one that it asks for is not yet")
    func refusedPHY() throws {
        for (status, isRefused) in [("11", true), ("00", false)] {
            var rig = try HostRig.ready()
            rig.connect()
            rig.host.setPHY(0x40, PHYPreferences(transmit: .le2M, receive: .le2M), at: rig.now)
            #expect(rig.sent().contains { $0.hasPrefix("013220") })
            rig.give(HostRig.commandStatus(status, "3220"))
            let events = rig.events().descriptions
            #expect(events.contains { $0.hasPrefix("phyUpdated") } == isRefused, "\(events)")
        }
    }

    // MARK: Channels

    @Test("A signaling command of 23 octets is read, and one of 24 is refused by its length")
    func longestCommand() throws {
        var rig = try ChannelRig()
        // 9 channels would be too many for any request, but fit nowhere: an unknown code is rejected as such.
        #expect(rig.signal("0a 01 1300 \(String(repeating: "00", count: 19))") == [compact("0500 01 01 0200 0000")])
        #expect(
            rig.signal("0a 02 1400 \(String(repeating: "00", count: 20))") == [compact("0500 01 02 0400 0100 1700")]
        )
    }

    @Test("Zero credits are ignored with a notice, and so are credits for no channel")
    func noCredits() throws {
        var rig = try ChannelRig()
        _ = try rig.open()
        #expect(rig.signal("16 03 0400 5000 0000") == [])
        #expect(rig.rig.events().diagnostics.contains { $0.contains("ignored 0 credits") })
        #expect(rig.signal("16 03 0400 5000 0100") == [])
        #expect(rig.rig.events().diagnostics == [])
    }

    @Test("That some channels of a request were refused is a notice, and that none was is not")
    func partlyRefused() throws {
        var rig = try ChannelEnhancedTests.rig(maximumChannels: 2)
        _ = rig.signal("17 01 0a00 8000 4000 4000 0100 5000")
        #expect(rig.rig.events().diagnostics == [])
        _ = rig.signal("17 02 0c00 8000 4000 4000 0100 5100 5200")
        #expect(rig.rig.events().diagnostics.contains { $0.contains("refused some channels") })
    }

    @Test("Five channels take other lengths at once, up to the longest K-frame")
    func widestReconfiguration() throws {
        var rig = try ChannelEnhancedTests.rig()
        _ = rig.signal("17 01 1200 8000 4000 4000 0100 5000 5100 5200 5300 5400")
        _ = rig.channelEvents()
        #expect(rig.signal("19 02 0e00 4000 fdff 5000 5100 5200 5300 5400") == [compact("0500 1a 02 0200 0000")])
        #expect(rig.rig.host.channels.all.allSatisfy { $0.transmitMPS == 65_533 })
        // The same again.
        #expect(rig.signal("19 03 0e00 4000 fdff 5000 5100 5200 5300 5400") == [compact("0500 1a 03 0200 0000")])
    }

    @Test("A channel that is closed is none to reconfigure, and is awaited for ten seconds")
    func closedChannel() throws {
        var rig = try ChannelEnhancedTests.rig()
        _ = rig.signal("17 01 0c00 8000 4000 4000 0100 5000 5100")
        let ids = rig.channelEvents().opened.map(\.id)
        rig.rig.host.channels.close(ids[0], at: rig.rig.now)
        #expect(rig.sent() == [compact("0500 06 01 0400 5000 4000")])
        #expect(throws: ChannelError.notOpen) {
            try rig.rig.host.channels.reconfigure(ids, mtu: 8192, mps: 1022, at: rig.rig.now)
        }
        let deadline = try #require(rig.rig.host.nextDeadline)
        #expect(deadline > rig.rig.now)
    }

    // MARK: Attributes

    /// A value of 20 octets and the handle are the 23 of the least MTU.
    @Test("A notification and an indication may be as long as the MTU, and no longer")
    func longestNotification() throws {
        var rig = GATTRig()
        for opcode: UInt8 in [0x1B, 0x1D] {
            let answer = opcode == 0x1D ? ["1e"] : []
            rig.receive([opcode, 0x10, 0x00] + [UInt8](repeating: 7, count: 20))
            #expect(rig.sent() == answer)
            let values = rig.events().compactMap {
                if case .valueReceived(let value) = $0 { value.value.count } else { nil }
            }
            #expect(values == [20])
            rig.receive([opcode, 0x10, 0x00] + [UInt8](repeating: 7, count: 21))
            #expect(rig.sent() == [])
            let ignored = rig.events().compactMap { if case .pduIgnored(_, let ignored) = $0 { ignored } else { nil } }
            #expect(ignored == [.tooLong(opcode: opcode, length: 24)])
        }
    }

    @Test("A client characteristic configuration has two octets: no fewer, no more")
    func configurationLength() throws {
        var rig = try ByteTable.rig()
        rig.expect("12 0d00 0100", "13")
        rig.expect("12 0d00 01", "01 12 0d00 0d")
        rig.expect("12 0d00 010000", "01 12 0d00 0d")
        rig.expect("0a 0d00", "0b 0100")
    }

    @Test("Several values in one notification fill the MTU to the last octet")
    func fullNotification() throws {
        var rig = try GATTSendingTests.twoNotified()
        rig.expect("12 0300 04", "13")
        // The opcode, twice handle and length, and 14 octets of values.
        func values(_ count: Int) -> [HandleValue] {
            [HandleValue(0x0006, [1, 2]), HandleValue(0x0009, ArraySlice(repeating: 0, count: count))]
        }
        try rig.layer.notify(values(12), on: GATTRig.connection, at: rig.now)
        #expect(rig.sent().map { $0.count / 2 } == [23])
        #expect(throws: GATTError.invalidValueLength(0x0009, 13)) {
            try rig.layer.notify(values(13), on: GATTRig.connection, at: rig.now)
        }
    }

    @Test("A descriptor may be read, or written, or both, as it is declared")
    func descriptorOperations() throws {
        let database = try GATTDatabase {
            Service(.uuid16(0x180F)) {
                Characteristic(.uuid16(0x2AAA), .read, value: [1], addsDescriptors: false) {
                    Descriptor(.uuid16(0x2AF0), read: .open, write: nil, value: [5])
                    Descriptor(.uuid16(0x2AF1), read: nil, write: .open, value: [6])
                }
            }
        }
        var rig = GATTRig(database)
        rig.expect("0a 0400", "0b 05")
        rig.expect("12 0400 07", "01 12 0400 03")
        rig.expect("0a 0500", "01 0a 0500 02")
        rig.expect("12 0500 07", "13")
    }

    @Test("A long value whose length is a multiple of a part's is asked for once more")
    func longRead() throws {
        var client = GATTRig()
        let id = try client.layer.start(.readLong(0x0010), on: GATTRig.connection, at: client.now)
        #expect(client.sent() == ["0a1000"])
        let part = [UInt8](repeating: 9, count: 22).hexadecimal
        #expect(client.exchange("0b \(part)") == ["0c10001600"])
        #expect(client.exchange("0d \(part)") == ["0c10002c00"])
        #expect(client.exchange("0d \([UInt8](repeating: 9, count: 21).hexadecimal)") == [])
        let ends = client.events().compactMap { if case .procedureEnded(let end) = $0 { end } else { nil } }
        #expect(ends.map(\.id) == [id])
        guard case .value(let value) = try #require(ends.first).result.get() else {
            Issue.record("no value")
            return
        }
        #expect(value.count == 65)
    }

    @Test("A list of descriptors in a format that the Core does not know is malformed")
    func unknownFormat() throws {
        for (format, count) in [("01", 2), ("02", 16)] {
            for name in [format, "00", "03"] {
                var client = GATTRig()
                let range = try #require(AttributeHandleRange(0x0004, 0x0004))
                _ = try client.layer.start(.discoverDescriptors(in: range), on: GATTRig.connection, at: client.now)
                #expect(client.sent() == ["0404000400"])
                #expect(client.exchange("05 \(name) 0400 \(String(repeating: "29", count: count))") == [])
                let results = client.events().compactMap { event -> Bool? in
                    guard case .procedureEnded(let end) = event else { return nil }
                    if case .success = end.result { return true }
                    return false
                }
                #expect(results == [name == format])
            }
        }
    }

    @Test("A discovery ends at Attribute Not Found, and fails with any other error")
    func discoveryErrors() throws {
        for (error, isEnd) in [("0a", true), ("05", false), ("0e", false)] {
            var client = GATTRig()
            _ = try client.layer.start(.discoverAllPrimaryServices, on: GATTRig.connection, at: client.now)
            #expect(client.sent() == ["100100ffff0028"])
            #expect(client.exchange("01 10 0100 \(error)") == [])
            let results = client.events().compactMap {
                if case .procedureEnded(let end) = $0 { end.result } else { nil }
            }
            #expect(results.count == 1)
            switch results[0] {
            case .success(let response): #expect(isEnd && response == .services([]), "\(error)")
            case .failure(.refused): #expect(!isEnd, "\(error)")
            case .failure(let failure): Issue.record("\(failure)")
            }
        }
    }
}
