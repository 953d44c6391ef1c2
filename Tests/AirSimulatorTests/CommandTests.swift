import AirSimulator
import BluetoothHCI
import Testing

/// The HCI of a simulated controller as such: what it answers, and how.
@Suite struct CommandTests {
    @Test func aControllerSaysWhatItIs() throws {
        var rig = Rig()
        let modern = rig.add(address: 0x11)
        let legacy = rig.add(.legacy, address: 0x12)
        // Read Local Version Information: 5.3 and 4.2.
        #expect(rig.ask("01 01 10 00", modern) == ["04 0e 0c 01 01 10 00 0c 01 00 0c ff ff 01 00"])
        #expect(rig.ask("01 01 10 00", legacy) == ["04 0e 0c 01 01 10 00 08 01 00 08 ff ff 01 00"])
        // Read BD_ADDR; Read Local Supported Features: LE, no BR/EDR.
        #expect(rig.ask("01 09 10 00", modern) == ["04 0e 0a 01 09 10 00 11 00 00 c0 c0 c0"])
        #expect(rig.ask("01 03 10 00", modern) == ["04 0e 0c 01 03 10 00 00 00 00 00 60 00 00 00"])
        // LE Read Buffer Size, both versions; LE Read Local Supported Features.
        #expect(rig.ask("01 02 20 00", modern) == ["04 0e 07 01 02 20 00 fb 00 08"])
        #expect(rig.ask("01 60 20 00", modern) == ["04 0e 0a 01 60 20 00 fb 00 08 00 00 00"])
        #expect(rig.ask("01 02 20 00", legacy) == ["04 0e 07 01 02 20 00 1b 00 0a"])
        #expect(rig.ask("01 60 20 00", legacy) == ["04 0f 04 01 01 60 20"])
        #expect(rig.ask("01 03 20 00", modern) == ["04 0e 0c 01 03 20 00 ff 59 00 00 a0 00 00 00"])
        #expect(rig.ask("01 03 20 00", legacy) == ["04 0e 0c 01 03 20 00 df 00 00 00 00 00 00 00"])
        // LE Read Supported States; LE Read Filter Accept List Size; LE Read Resolving List Size.
        #expect(rig.ask("01 1c 20 00", modern) == ["04 0e 0c 01 1c 20 00 ff ff ff ff ff 03 00 00"])
        #expect(rig.ask("01 0f 20 00", modern) == ["04 0e 05 01 0f 20 00 08"])
        #expect(rig.ask("01 2a 20 00", modern) == ["04 0e 05 01 2a 20 00 08"])
        // LE Read Transmit Power; LE Read Advertising Physical Channel Tx Power.
        #expect(rig.ask("01 4b 20 00", modern) == ["04 0e 06 01 4b 20 00 ec 08"])
        #expect(rig.ask("01 07 20 00", modern) == ["04 0e 05 01 07 20 00 00"])
    }

    @Test func buffersMayBeCalledThoseOfBREDR() throws {
        var rig = Rig()
        var configuration = ControllerConfiguration.legacy
        #expect(rig.ask("01 05 10 00", rig.add(configuration, address: 1)) == ["04 0f 04 01 01 05 10"])
        configuration.sharesBuffersWithBREDR = true
        let shared = rig.add(configuration, address: 2)
        #expect(rig.ask("01 02 20 00", shared) == ["04 0e 07 01 02 20 00 00 00 00"])
        #expect(rig.ask("01 05 10 00", shared) == ["04 0e 0b 01 05 10 00 1b 00 00 0a 00 00 00"])
    }

    @Test func supportedCommandsAreThoseThatAreAnswered() throws {
        for (configuration, name) in [
            (ControllerConfiguration.modern, "modern"), (.legacy, "legacy"), (.legacyWithDataLength, "with length"),
        ] {
            for command in HCICommands.all {
                var rig = Rig()
                let id = rig.add(configuration, address: 1)
                let answer = try #require(rig.ask("01 02 10 00", id).first)
                let octets = bytes(answer).dropFirst(7)
                #expect(octets.count == 64)
                guard let bit = command.supportedBit else { continue }
                let isSupported = octets[octets.startIndex + bit.octet] & (1 << bit.bit) != 0
                let opcode = little(command.opcode.rawValue)
                // Without parameters, a command is done or has the wrong length; only an unknown one is unknown.
                let said = rig.ask("01 \(opcode) 00", id)
                let isUnknown = said == ["04 0f 04 01 01 \(opcode)"]
                #expect(isSupported == !isUnknown, "\(command.name) of \(name)")
            }
        }
        // Spot checks against the Core's table: Reset (5.7), LE Set Extended Advertising Enable (36.5), LE Set Data
        // Length (33.6), LE Set PHY (35.6).
        for (configuration, wanted) in [
            (ControllerConfiguration.modern, [true, true, true, true]), (.legacy, [true, false, false, false]),
            (.legacyWithDataLength, [true, false, true, false]),
        ] {
            var rig = Rig()
            let id = rig.add(configuration, address: 1)
            let octets = bytes(rig.ask("01 02 10 00", id)[0]).dropFirst(7)
            let bits = [(5, 7), (36, 5), (33, 6), (35, 6)]
            #expect(bits.map { octets[octets.startIndex + $0.0] & (1 << $0.1) != 0 } == wanted)
        }
    }

    @Test func unknownCommandsAreRefused() throws {
        var rig = Rig()
        let id = rig.add(address: 1)
        #expect(rig.ask("01 ff ff 00", id) == ["04 0f 04 01 01 ff ff"])
        // LE Set Extended Advertising Enable on a controller of 4.2.
        let legacy = rig.add(.legacy, address: 2)
        #expect(rig.ask("01 39 20 02 00 00", legacy) == ["04 0f 04 01 01 39 20"])
    }

    @Test func parametersOfTheWrongLengthAreRefused() throws {
        var rig = Rig()
        for command in HCICommands.all {
            let id = rig.add(address: 1)
            let opcode = little(command.opcode.rawValue)
            // One octet too many for any command: 255 of them. Those with a list of entries cannot have that many
            // of the right size either.
            let said = rig.ask("01 \(opcode) ff \(String(repeating: "f0 ", count: 255))", id)
            #expect(said.count == 1, "\(command.name): \(said)")
            let answer = bytes(said.first ?? "")
            guard answer.count > 6 else { continue }
            // Command Status has the status in front, Command Complete behind the opcode.
            let isStatus = answer[1] == 0x0F
            #expect(answer[isStatus ? 3 : 6] != 0, "\(command.name)")
            if command != ReadBufferSize.id { #expect(answer[isStatus ? 3 : 6] == 0x12, "\(command.name)") }
            rig.air.removeController(id)
        }
        let id = rig.add(address: 1)
        #expect(rig.ask("01 01 20 07 ff ff ff ff ff ff ff", id) == ["04 0e 04 01 01 20 12"])
        #expect(rig.ask("01 06 04 02 40 00", id) == ["04 0f 04 12 01 06 04"])
    }

    @Test func commandsWhoseLengthFieldLiesAreDroppedAndNoted() throws {
        var rig = Rig()
        let id = rig.add(address: 1)
        #expect(rig.ask("01 03 0c 01", id).isEmpty)
        #expect(rig.ask("01 03", id).isEmpty)
        #expect(rig.ask("01 03 0c 00 00", id).isEmpty)
        #expect(rig.ask("05 00", id).isEmpty)
        #expect(rig.ask("77", id).isEmpty)
        rig.send([UInt8](), id)
        var events: [AirEvent] = []
        while let event = rig.air.nextEvent() { events.append(event) }
        #expect(events.count == 6)
        for case .packetDropped(let controller, _) in events { #expect(controller == id) }
        // Later commands are answered.
        #expect(rig.ask("01 03 0c 00", id) == ["04 0e 04 01 03 0c 00"])
    }

    @Test func masksHideEvents() throws {
        var link = try #require(ConnectedRig(interval: 24))
        // Set Event Mask at the central: no Disconnection Complete. LE Set Event Mask at the peripheral: nothing.
        link.rig.send("01 01 0c 08 ef ff ff ff ff ff ff 3f", link.central)
        link.rig.send("01 01 20 08 00 00 00 00 00 00 00 00", link.peripheral)
        link.rig.send("01 32 20 07 \(link.centralHandle) 00 02 02 00 00", link.central)
        link.rig.run(for: .seconds(1))
        #expect(!link.rig.take(link.central, "04 3e").isEmpty)
        #expect(link.rig.take(link.peripheral, "04 3e").isEmpty)
        link.rig.send("01 06 04 03 \(link.centralHandle) 13", link.central)
        link.rig.run(for: .seconds(1))
        #expect(link.rig.take(link.central, "04 05").isEmpty)
        #expect(!link.rig.take(link.peripheral, "04 05").isEmpty)
    }

    @Test func afterAResetOnlyTheFirstEventsAreOn() throws {
        var rig = Rig()
        let watch = rig.add(address: 1)
        let phone = rig.add(address: 2)
        AdvertisingTests.startLegacy(&rig, watch, slots: 160)
        #expect(rig.ask("01 03 0c 00", phone) == ["04 0e 04 01 03 0c 00"])
        // LE Meta events are off by default: scanning says nothing.
        AdvertisingTests.startScan(&rig, phone)
        rig.run(for: .seconds(1))
        #expect(rig.take(phone).isEmpty)
        rig.send("01 01 0c 08 00 00 00 00 00 00 00 20", phone)
        _ = rig.take(phone)
        rig.run(for: .seconds(1))
        #expect(!rig.take(phone, "04 3e").isEmpty)
    }

    @Test func resetEndsEverything() throws {
        var rig = Rig()
        let watch = rig.add(address: 1)
        let phone = rig.add(address: 2)
        AdvertisingTests.startLegacy(&rig, watch, slots: 160)
        AdvertisingTests.startScan(&rig, phone)
        rig.run(for: .seconds(1))
        #expect(rig.ask("01 03 0c 00", phone) == ["04 0e 04 01 03 0c 00"])
        #expect(rig.ask("01 03 0c 00", watch) == ["04 0e 04 01 03 0c 00"])
        #expect(rig.air.nextDeadline == nil)
        // Enabling advertising again uses the defaults: 1.28 s, no data; extended commands may be used now.
        #expect(rig.ask("01 3b 20 00", watch) == ["04 0e 05 01 3b 20 00 08"])
    }

    @Test func legacyAndExtendedCommandsDoNotMix() throws {
        var rig = Rig()
        let one = rig.add(address: 1)
        #expect(rig.ask("01 0c 20 02 00 00", one) == ["04 0e 04 01 0c 20 00"])
        #expect(rig.ask("01 42 20 06 00 00 00 00 00 00", one) == ["04 0e 04 01 42 20 0c"])
        // A command that is answered by status is refused by status.
        let extended = "01 43 20 1a 00 00 00 00 00 00 00 00 00 01 30 00 30 00 18 00 18 00 00 00 c8 00 00 00 00 00"
        #expect(rig.ask(extended, one) == ["04 0f 04 0c 01 43 20"])
        let other = rig.add(address: 2)
        #expect(rig.ask("01 3b 20 00", other) == ["04 0e 05 01 3b 20 00 08"])
        #expect(rig.ask("01 0a 20 01 00", other) == ["04 0e 04 01 0a 20 0c"])
        rig.send("01 03 0c 00", other)
        #expect(rig.ask("01 0a 20 01 00", other) == ["04 0e 04 01 0a 20 00"])
    }

    @Test func valuesOutOfRangeAreRefused() throws {
        var rig = Rig()
        let id = rig.add(address: 1)
        let bad = [
            // Advertising: 15 ms; minimum above maximum; no channel; an unknown type.
            ("01 06 20 0f 18 00 18 00 00 00 00 00 00 00 00 00 00 07 00", "06 20 12"),
            ("01 06 20 0f 40 00 20 00 00 00 00 00 00 00 00 00 00 07 00", "06 20 12"),
            ("01 06 20 0f 20 00 20 00 00 00 00 00 00 00 00 00 00 00 00", "06 20 12"),
            ("01 06 20 0f 20 00 20 00 09 00 00 00 00 00 00 00 00 07 00", "06 20 12"),
            // Directed advertising is not simulated.
            ("01 06 20 0f 20 00 20 00 01 00 00 00 00 00 00 00 00 07 00", "06 20 11"),
            // Scanning: 2 ms; a window longer than the interval.
            ("01 0b 20 07 00 03 00 03 00 00 00", "0b 20 12"),
            ("01 0b 20 07 00 10 00 11 00 00 00", "0b 20 12"),
            // 32 octets of advertising data.
            ("01 08 20 20 20 \(AdvertisingTests.zeros31)", "08 20 12"),
            // A device of the kind "public identity" in the filter accept list; privacy timeout of 0 s.
            ("01 11 20 07 02 00 00 00 00 00 00", "11 20 12"),
            ("01 2e 20 02 00 00", "2e 20 12"),
        ]
        for (command, answer) in bad { #expect(rig.ask(command, id) == ["04 0e 04 01 \(answer)"]) }
    }

    @Test func whatIsUnderWayCannotBeChanged() throws {
        var rig = Rig()
        let id = rig.add(address: 1)
        AdvertisingTests.startLegacy(&rig, id, slots: 160)
        #expect(rig.ask("01 06 20 0f 20 00 20 00 00 00 00 00 00 00 00 00 00 07 00", id) == ["04 0e 04 01 06 20 0c"])
        #expect(rig.ask("01 05 20 06 01 02 03 04 05 c6", id) == ["04 0e 04 01 05 20 0c"])
        rig.send("01 0a 20 01 00", id)
        AdvertisingTests.startScan(&rig, id)
        #expect(rig.ask("01 0b 20 07 00 10 00 10 00 00 00", id) == ["04 0e 04 01 0b 20 0c"])
        #expect(rig.ask("01 05 20 06 01 02 03 04 05 c6", id) == ["04 0e 04 01 05 20 0c"])
        #expect(rig.ask("01 2d 20 01 01", id) == ["04 0e 04 01 2d 20 0c"])
        rig.send("01 0c 20 02 00 00", id)
        #expect(rig.ask("01 05 20 06 01 02 03 04 05 c6", id) == ["04 0e 04 01 05 20 00"])
    }

    @Test func listsAreBounded() throws {
        var rig = Rig()
        let id = rig.add(address: 1)
        for index in 0..<8 {
            #expect(rig.ask("01 11 20 07 00 0\(index) 00 00 00 00 00", id) == ["04 0e 04 01 11 20 00"])
            let keys = String(repeating: "11", count: 32)
            #expect(rig.ask("01 27 20 27 00 0\(index) 00 00 00 00 00 \(keys)", id) == ["04 0e 04 01 27 20 00"])
        }
        #expect(rig.ask("01 11 20 07 00 0a 00 00 00 00 00", id) == ["04 0e 04 01 11 20 07"])
        let keys = String(repeating: "11", count: 32)
        #expect(rig.ask("01 27 20 27 00 0a 00 00 00 00 00 \(keys)", id) == ["04 0e 04 01 27 20 07"])
        // What is there already takes no more room, or may not be there twice.
        #expect(rig.ask("01 11 20 07 00 01 00 00 00 00 00", id) == ["04 0e 04 01 11 20 00"])
        #expect(rig.ask("01 27 20 27 00 01 00 00 00 00 00 \(keys)", id) == ["04 0e 04 01 27 20 12"])
        #expect(rig.ask("01 12 20 07 00 01 00 00 00 00 00", id) == ["04 0e 04 01 12 20 00"])
        #expect(rig.ask("01 11 20 07 00 0a 00 00 00 00 00", id) == ["04 0e 04 01 11 20 00"])
        #expect(rig.ask("01 28 20 07 00 0a 00 00 00 00 00", id) == ["04 0e 04 01 28 20 02"])
        #expect(rig.ask("01 28 20 07 00 01 00 00 00 00 00", id) == ["04 0e 04 01 28 20 00"])
        #expect(rig.ask("01 29 20 00", id) == ["04 0e 04 01 29 20 00"])
        #expect(rig.ask("01 10 20 00", id) == ["04 0e 04 01 10 20 00"])
    }

    @Test func strengthAndPowerOfAConnectionCanBeRead() throws {
        var link = try #require(ConnectedRig(quality: LinkQuality(rssi: -71)))
        #expect(
            link.rig.ask("01 05 14 02 \(link.centralHandle)", link.central) == [
                "04 0e 07 01 05 14 00 \(link.centralHandle) b9"
            ]
        )
        #expect(link.rig.ask("01 05 14 02 77 00", link.central) == ["04 0e 07 01 05 14 02 00 00 00"])
        #expect(
            link.rig.ask("01 2d 0c 03 \(link.centralHandle) 01", link.central) == [
                "04 0e 07 01 2d 0c 00 \(link.centralHandle) 08"
            ]
        )
    }
}
