import AirSimulator
import BluetoothHCI
import Testing

/// Which channels a connection uses, and who says which are bad.
@Suite struct ChannelTests {
    /// The sample data of the Core: access address 0x8E89BED6, with 37 channels and with nine.
    ///
    /// Source: Core 5.4, Vol 6, Part C, 3.1 and 3.2.
    @Test func algorithm2HasTheSampleChannels() {
        let all = ChannelHopping(algorithm: .pseudoRandom(accessAddress: 0x8E89_BED6), channels: .all)
        #expect((0...3).map(all.channel(of:)) == [25, 20, 6, 21])
        // Channels 9, 10, 21, 22, 23 and 33 to 36.
        let few = DataChannelMap(rawValue: 0x1E_00E0_0600)
        let nine = ChannelHopping(algorithm: .pseudoRandom(accessAddress: 0x8E89_BED6), channels: few)
        #expect((6...8).map(nine.channel(of:)) == [23, 9, 34])
    }

    /// Algorithm #1 adds the increment, and takes from the channels that are left, in their order, where one is missing.
    @Test func algorithm1AddsTheIncrement() {
        let all = ChannelHopping(algorithm: .increment(7), channels: .all)
        #expect((0...6).map(all.channel(of:)) == [7, 14, 21, 28, 35, 5, 12])
        let even = ChannelHopping(algorithm: .increment(7), channels: DataChannelMap(rawValue: 0x15_5555_5555))
        // 7, 21, 35 and 5 are missing: of the 19 that are left, those at 7 % 19, 21 % 19, 35 % 19 and 5 % 19.
        #expect((0...5).map(even.channel(of:)) == [14, 14, 4, 28, 32, 10])
    }

    /// The channels on which a connection sends within a while.
    private static func channels(of link: inout ConnectedRig) -> Set<Int> {
        link.rig.air.recordPackets(true)
        link.rig.run(for: .seconds(20))
        var channels: Set<Int> = []
        while let packet = link.rig.air.nextAirPacket() {
            if case .connection(let header) = packet.kind { channels.insert(header.channel) }
        }
        link.rig.air.recordPackets(false)
        return channels
    }

    /// LE Set Host Channel Classification of the central changes the channels of its connections, and LE Read Channel Map tells them.
    @Test func theCentralsHostRulesChannelsOut() throws {
        var link = try #require(ConnectedRig(interval: 24))
        let read = { (link: inout ConnectedRig) in
            (
                link.rig.ask("01 15 20 02 \(link.centralHandle)", link.central),
                link.rig.ask("01 15 20 02 \(link.peripheralHandle)", link.peripheral)
            )
        }
        let answer = { (handle: String, map: String) in ["04 0e 0b 01 15 20 00 \(handle) \(map)"] }
        var maps = read(&link)
        #expect(maps == (answer(link.centralHandle, "ff ff ff ff 1f"), answer(link.peripheralHandle, "ff ff ff ff 1f")))
        #expect(Self.channels(of: &link) == Set(0..<37))
        // Channels 0 to 8 only.
        #expect(link.rig.ask("01 14 20 05 ff 01 00 00 00", link.central) == ["04 0e 04 01 14 20 00"])
        link.rig.run(for: .seconds(1))
        maps = read(&link)
        #expect(maps == (answer(link.centralHandle, "ff 01 00 00 00"), answer(link.peripheralHandle, "ff 01 00 00 00")))
        #expect(Self.channels(of: &link) == Set(0...8))
        // Too few channels: those above the 37 channels do not count, since their bits are reserved.
        #expect(link.rig.ask("01 14 20 05 01 00 00 00 e0", link.central) == ["04 0e 04 01 14 20 12"])
        // An iPhone sets reserved bits: all channels but 33 to 36.
        #expect(link.rig.ask("01 14 20 05 ff ff ff ff e1", link.central) == ["04 0e 04 01 14 20 00"])
        link.rig.run(for: .seconds(1))
        maps = read(&link)
        #expect(maps == (answer(link.centralHandle, "ff ff ff ff 01"), answer(link.peripheralHandle, "ff ff ff ff 01")))
        // LE Read Channel Map of no connection.
        #expect(link.rig.ask("01 15 20 02 ff 0e", link.central) == ["04 0e 0b 01 15 20 02 00 00 00 00 00 00 00"])
    }

    /// A connection begins with what the central's host has said before.
    @Test func aNewConnectionBeginsWithTheClassification() throws {
        var link = try #require(
            ConnectedRig(interval: 24) { rig, central, _ in
                #expect(rig.ask("01 14 20 05 00 00 ff 00 00", central) == ["04 0e 04 01 14 20 00"])
            }
        )
        #expect(Self.channels(of: &link) == Set(16...23))
    }

    /// What a peripheral's host calls bad reaches the central, if both link layers have Channel Classification and the central knows it.
    @Test func aPeripheralReportsItsChannels() throws {
        var link = try #require(ConnectedRig(interval: 24))
        link.rig.send("01 16 20 02 \(link.centralHandle)", link.central)
        _ = try link.rig.wait(for: "04 3e 0c 04 00", from: link.central)
        #expect(link.rig.ask("01 14 20 05 00 ff ff ff 1f", link.peripheral) == ["04 0e 04 01 14 20 00"])
        link.rig.run(for: .seconds(1))
        #expect(Self.channels(of: &link) == Set(8..<37))
        // The central's own view comes on top: 8 to 15 are left.
        link.rig.send("01 14 20 05 ff ff 00 00 00", link.central)
        link.rig.run(for: .seconds(1))
        #expect(Self.channels(of: &link) == Set(8...15))
        // Where the two have nothing in common, the central's counts.
        link.rig.send("01 14 20 05 ff 00 00 00 00", link.central)
        link.rig.run(for: .seconds(1))
        #expect(Self.channels(of: &link) == Set(0...7))
    }

    /// A peripheral whose central does not ask reports nothing.
    @Test func nobodyAsksNobodyReports() throws {
        var central = ControllerConfiguration.modern
        central.features.remove(.channelClassification)
        var link = try #require(ConnectedRig(interval: 24, central: central))
        link.rig.send("01 16 20 02 \(link.centralHandle)", link.central)
        _ = try link.rig.wait(for: "04 3e 0c 04 00", from: link.central)
        link.rig.send("01 14 20 05 00 ff ff ff 1f", link.peripheral)
        link.rig.run(for: .seconds(1))
        #expect(Self.channels(of: &link) == Set(0..<37))
    }
}
