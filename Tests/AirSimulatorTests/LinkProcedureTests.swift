import AirSimulator
import Testing

/// What the two link layers of a connection arrange with each other on their hosts' behalf.
@Suite struct LinkProcedureTests {
    // MARK: Timing

    @Test func theCentralChangesTheTimingAtAnInstant() throws {
        var link = try #require(ConnectedRig(interval: 24))
        // LE Connection Update: 15 ms, latency 4, timeout 3 s.
        let status = link.rig.ask(
            "01 13 20 0e \(link.centralHandle) 0c 00 0c 00 04 00 2c 01 00 00 00 00",
            link.central
        )
        #expect(status == ["04 0f 04 00 01 13 20"])
        let atCentral = try link.rig.wait(for: "04 3e", from: link.central)
        let atPeripheral = try link.rig.wait(for: "04 3e", from: link.peripheral)
        #expect(atCentral.hex == "04 3e 0a 03 00 \(link.centralHandle) 0c 00 04 00 2c 01")
        #expect(atPeripheral.hex == "04 3e 0a 03 00 \(link.peripheralHandle) 0c 00 04 00 2c 01")
        // At the start of the same connection event, six events after the one that announced it.
        #expect(atCentral.time == atPeripheral.time)
        #expect(atCentral.time == link.created + .microseconds(1250) + .milliseconds(30) * 6)
        // From there on, events are 15 ms apart.
        link.sendData([1], from: link.peripheral)
        let first = try link.rig.wait(for: "02", from: link.central)
        let offset = (first.time - atCentral.time) / .milliseconds(15)
        #expect(abs(offset - offset.rounded()) < 0.05 && offset < 1.1)
    }

    @Test func thePeripheralAsksAndTheCentralsHostDecides() throws {
        var link = try #require(ConnectedRig(interval: 24))
        let ask = "01 13 20 0e \(link.peripheralHandle) 0c 00 18 00 02 00 58 02 00 00 00 00"
        #expect(link.rig.ask(ask, link.peripheral) == ["04 0f 04 00 01 13 20"])
        // LE Remote Connection Parameter Request.
        let request = try link.rig.wait(for: "04 3e", from: link.central)
        #expect(request.hex == "04 3e 0b 06 \(link.centralHandle) 0c 00 18 00 02 00 58 02")
        // Reply with 20 ms only.
        let reply = "01 20 20 0e \(link.centralHandle) 10 00 10 00 02 00 58 02 00 00 00 00"
        #expect(link.rig.ask(reply, link.central) == ["04 0e 06 01 20 20 00 \(link.centralHandle)"])
        // Only one answer.
        #expect(link.rig.ask(reply, link.central) == ["04 0e 06 01 20 20 0c 00 00"])
        let updated = try link.rig.wait(for: "04 3e", from: link.peripheral)
        #expect(updated.hex == "04 3e 0a 03 00 \(link.peripheralHandle) 10 00 02 00 58 02")
        // Refused the next time: Unacceptable Connection Parameters.
        _ = link.rig.ask(ask, link.peripheral)
        _ = try link.rig.wait(for: "04 3e 0b 06", from: link.central)
        link.rig.send("01 21 20 03 \(link.centralHandle) 3b", link.central)
        let refused = try link.rig.wait(for: "04 3e", from: link.peripheral)
        #expect(refused.hex == "04 3e 0a 03 3b \(link.peripheralHandle) 10 00 02 00 58 02")
    }

    @Test func aHostThatCannotBeAskedRefuses() throws {
        var link = try #require(ConnectedRig(interval: 24))
        // LE Set Event Mask at the central without the request's bit.
        link.rig.send("01 01 20 08 df ff ff ff ff ff ff 7f", link.central)
        link.rig.send("01 13 20 0e \(link.peripheralHandle) 0c 00 18 00 02 00 58 02 00 00 00 00", link.peripheral)
        let refused = try link.rig.wait(for: "04 3e", from: link.peripheral)
        #expect(refused.hex == "04 3e 0a 03 1a \(link.peripheralHandle) 18 00 00 00 c8 00")
    }

    @Test func aCentralThatCannotBeAskedSaysSo() throws {
        var old = ControllerConfiguration.legacy
        old.features.remove(.connectionParametersRequest)
        var link = try #require(ConnectedRig(interval: 24, central: old))
        link.rig.send("01 13 20 0e \(link.peripheralHandle) 0c 00 18 00 02 00 58 02 00 00 00 00", link.peripheral)
        let refused = try link.rig.wait(for: "04 3e", from: link.peripheral)
        #expect(refused.hex == "04 3e 0a 03 1a \(link.peripheralHandle) 18 00 00 00 c8 00")
    }

    @Test func aCentralMayAskThePeripheralFirst() throws {
        var configuration = ControllerConfiguration.modern
        configuration.negotiatesParametersAsCentral = true
        var link = try #require(ConnectedRig(interval: 24, central: configuration))
        link.rig.send("01 13 20 0e \(link.centralHandle) 0c 00 0c 00 00 00 2c 01 00 00 00 00", link.central)
        let request = try link.rig.wait(for: "04 3e", from: link.peripheral)
        #expect(request.hex == "04 3e 0b 06 \(link.peripheralHandle) 0c 00 0c 00 00 00 2c 01")
        link.rig.send("01 20 20 0e \(link.peripheralHandle) 0c 00 0c 00 00 00 2c 01 00 00 00 00", link.peripheral)
        let updated = try link.rig.wait(for: "04 3e", from: link.central)
        #expect(updated.hex == "04 3e 0a 03 00 \(link.centralHandle) 0c 00 00 00 2c 01")
        // A peripheral that does not know the request is told instead.
        var old = ControllerConfiguration.legacy
        old.features.remove(.connectionParametersRequest)
        var told = try #require(ConnectedRig(interval: 24, peripheral: old, central: configuration))
        told.rig.send("01 13 20 0e \(told.centralHandle) 0c 00 0c 00 00 00 2c 01 00 00 00 00", told.central)
        let change = try told.rig.wait(for: "04 3e", from: told.peripheral)
        #expect(change.hex == "04 3e 0a 03 00 \(told.peripheralHandle) 0c 00 00 00 2c 01")
        // And such a peripheral cannot ask either.
        let ask = "01 13 20 0e \(told.peripheralHandle) 0c 00 0c 00 00 00 2c 01 00 00 00 00"
        #expect(told.rig.ask(ask, told.peripheral) == ["04 0f 04 0c 01 13 20"])
    }

    @Test func requestsThatCrossAreRefusedByTheCentral() throws {
        var link = try #require(ConnectedRig(interval: 24))
        link.rig.run(for: .milliseconds(100))
        // Both begin between the same two events: the central's change is made.
        link.rig.send("01 13 20 0e \(link.centralHandle) 0c 00 0c 00 00 00 2c 01 00 00 00 00", link.central)
        link.rig.send("01 13 20 0e \(link.peripheralHandle) 10 00 10 00 00 00 2c 01 00 00 00 00", link.peripheral)
        link.rig.run(for: .seconds(1))
        // LL Procedure Collision for the peripheral, and then the central's parameters.
        #expect(
            link.rig.take(link.peripheral, "04 3e").map(\.hex).contains(
                "04 3e 0a 03 00 \(link.peripheralHandle) 0c 00 00 00 2c 01"
            )
        )
        #expect(
            link.rig.take(link.central, "04 3e").map(\.hex) == [
                "04 3e 0a 03 00 \(link.centralHandle) 0c 00 00 00 2c 01"
            ]
        )
        // A PHY request against a change of the timing: Different Transaction Collision.
        link.rig.send("01 13 20 0e \(link.centralHandle) 18 00 18 00 00 00 2c 01 00 00 00 00", link.central)
        link.rig.send("01 32 20 07 \(link.peripheralHandle) 00 02 02 00 00", link.peripheral)
        link.rig.run(for: .seconds(1))
        #expect(link.rig.take(link.peripheral, "04 3e 06 0c").map { $0.bytes[4] } == [0x2A])
    }

    // MARK: Data length

    @Test func dataLengthIsWhatBothAllow() throws {
        var small = ControllerConfiguration.modern
        small.maximumDataLength = .init(octets: 123, timeMicroseconds: 2120)
        var link = try #require(ConnectedRig(interval: 24, peripheral: small))
        #expect(
            link.rig.ask("01 22 20 06 \(link.centralHandle) fb 00 48 08", link.central)
                == ["04 0e 06 01 22 20 00 \(link.centralHandle)"]
        )
        link.rig.run(for: .seconds(1))
        // The central may send 123 octets; what the peripheral sends stays at 27 until its host wants more.
        #expect(
            link.rig.take(link.central).map(\.hex) == ["04 3e 0b 07 \(link.centralHandle) 7b 00 48 08 1b 00 48 01"]
        )
        #expect(
            link.rig.take(link.peripheral).map(\.hex)
                == ["04 3e 0b 07 \(link.peripheralHandle) 1b 00 48 01 7b 00 48 08"]
        )
        // Fragments on the air follow the length.
        link.sendData([UInt8](repeating: 1, count: 251), from: link.central)
        link.sendData([UInt8](repeating: 2, count: 60), from: link.peripheral)
        link.rig.run(for: .seconds(1))
        #expect(
            link.rig.take(link.peripheral, "02").map { "\(word($0.bytes, 3)) \($0.bytes[2] >> 4)" } == [
                "123 2", "123 1", "5 1",
            ]
        )
        #expect(
            link.rig.take(link.central, "02").map { "\(word($0.bytes, 3)) \($0.bytes[2] >> 4)" } == [
                "27 2", "27 1", "6 1",
            ]
        )
    }

    @Test func suggestedLengthIsUsedFromTheStart() throws {
        var rig = Rig()
        let watch = rig.add(address: 1)
        let phone = rig.add(address: 2)
        // LE Write Suggested Default Data Length; LE Read Suggested Default and Maximum Data Length.
        #expect(rig.ask("01 24 20 04 fb 00 48 08", watch) == ["04 0e 04 01 24 20 00"])
        #expect(rig.ask("01 23 20 00", watch) == ["04 0e 08 01 23 20 00 fb 00 48 08"])
        #expect(rig.ask("01 2f 20 00", watch) == ["04 0e 0c 01 2f 20 00 fb 00 90 42 fb 00 90 42"])
        #expect(rig.ask("01 24 20 04 1a 00 48 08", watch) == ["04 0e 04 01 24 20 12"])
        AdvertisingTests.startLegacy(&rig, watch, slots: 32)
        rig.send("01 0d 20 19 30 00 30 00 00 00 01 00 00 c0 c0 c0 00 18 00 18 00 00 00 c8 00 00 00 00 00", phone)
        rig.run(for: .seconds(1))
        #expect(rig.take(watch).last?.hex == "04 3e 0b 07 40 00 fb 00 48 08 1b 00 48 01")
    }

    @Test func aPeerWithoutDataLengthExtensionStaysAtTheMinimum() throws {
        var link = try #require(ConnectedRig(interval: 24, peripheral: .legacy))
        link.rig.send("01 22 20 06 \(link.centralHandle) fb 00 48 08", link.central)
        link.rig.run(for: .seconds(1))
        #expect(link.rig.take(link.central, "04 3e 0b 07").isEmpty)
        link.sendData([UInt8](repeating: 1, count: 100), from: link.central)
        link.rig.run(for: .seconds(1))
        #expect(link.rig.take(link.peripheral, "02").map { word($0.bytes, 3) } == [27, 27, 27, 19])
        // The legacy controller does not know the command.
        #expect(
            link.rig.ask("01 22 20 06 \(link.peripheralHandle) fb 00 48 08", link.peripheral) == [
                "04 0f 04 01 01 22 20"
            ]
        )
    }

    // MARK: PHY

    @Test func thePHYIsWhatBothPrefer() throws {
        var link = try #require(ConnectedRig(interval: 24))
        #expect(
            link.rig.ask("01 30 20 02 \(link.centralHandle)", link.central) == [
                "04 0e 08 01 30 20 00 \(link.centralHandle) 01 01"
            ]
        )
        // The peripheral asks to send on 2M and to receive on 1M.
        #expect(
            link.rig.ask("01 32 20 07 \(link.peripheralHandle) 00 02 01 00 00", link.peripheral) == [
                "04 0f 04 00 01 32 20"
            ]
        )
        link.rig.run(for: .seconds(1))
        #expect(link.rig.take(link.peripheral).map(\.hex) == ["04 3e 06 0c 00 \(link.peripheralHandle) 02 01"])
        #expect(link.rig.take(link.central).map(\.hex) == ["04 3e 06 0c 00 \(link.centralHandle) 01 02"])
        // Nothing new: only the one that asked is told.
        link.rig.send("01 32 20 07 \(link.peripheralHandle) 00 02 01 00 00", link.peripheral)
        link.rig.run(for: .seconds(1))
        #expect(link.rig.take(link.peripheral, "04 3e").map(\.hex) == ["04 3e 06 0c 00 \(link.peripheralHandle) 02 01"])
        #expect(link.rig.take(link.central).isEmpty)
        // A PHY that does not exist.
        #expect(
            link.rig.ask("01 32 20 07 \(link.peripheralHandle) 00 08 01 00 00", link.peripheral) == [
                "04 0f 04 11 01 32 20"
            ]
        )
    }

    @Test func aPeerWithoutPHYsSaysSo() throws {
        var link = try #require(ConnectedRig(interval: 24, peripheral: .legacy))
        link.rig.send("01 32 20 07 \(link.centralHandle) 00 02 02 00 00", link.central)
        link.rig.run(for: .seconds(1))
        #expect(link.rig.take(link.central, "04 3e 06 0c").map { $0.bytes[4] } == [0x1A])
    }

    @Test func defaultPHYsDecideWhatAPeerMayHave() throws {
        var rig = Rig()
        let watch = rig.add(address: 1)
        let phone = rig.add(address: 2)
        // LE Set Default PHY at the watch: LE 1M only, both ways.
        #expect(rig.ask("01 31 20 03 00 01 01", watch) == ["04 0e 04 01 31 20 00"])
        AdvertisingTests.startLegacy(&rig, watch, slots: 32)
        rig.send("01 0d 20 19 30 00 30 00 00 00 01 00 00 c0 c0 c0 00 18 00 18 00 00 00 c8 00 00 00 00 00", phone)
        rig.run(for: .seconds(1))
        rig.send("01 32 20 07 50 00 03 00 00 00 00", phone)
        rig.run(for: .seconds(1))
        #expect(rig.take(phone, "04 3e 06 0c").map(\.hex) == ["04 3e 06 0c 00 50 00 01 01"])
    }

    // MARK: Features and versions

    @Test func featuresAndVersionsAreExchanged() throws {
        var configuration = ControllerConfiguration.modern
        configuration.company = .init(rawValue: 0x0154)
        configuration.subversion = 0x1234
        var link = try #require(ConnectedRig(interval: 24, peripheral: configuration, central: .legacy))
        #expect(link.rig.ask("01 1d 04 02 \(link.centralHandle)", link.central) == ["04 0f 04 00 01 1d 04"])
        for (id, handle) in [(link.central, link.centralHandle), (link.peripheral, link.peripheralHandle)] {
            link.rig.send("01 16 20 02 \(handle)", id)
            link.rig.run(for: .seconds(1))
        }
        // Version 5.3 (12) of company 0x0154; version 4.2 (8) of no company.
        #expect(
            link.rig.take(link.central).map(\.hex) == [
                "04 0f 04 00 01 16 20",
                "04 0c 08 00 \(link.centralHandle) 0c 54 01 34 12",
                // Octet 0: what both have (all but the data length extension); the others: the peripheral's own.
                "04 3e 0c 04 00 \(link.centralHandle) df 59 00 00 a0 00 00 00",
            ]
        )
        #expect(
            link.rig.take(link.peripheral).map(\.hex) == [
                "04 0f 04 00 01 16 20",
                "04 3e 0c 04 00 \(link.peripheralHandle) df 00 00 00 00 00 00 00",
            ]
        )
        // The peripheral's link layer knows the version already, and tells it after the status.
        #expect(
            link.rig.ask("01 1d 04 02 \(link.peripheralHandle)", link.peripheral) == [
                "04 0f 04 00 01 1d 04", "04 0c 08 00 \(link.peripheralHandle) 08 ff ff 01 00",
            ]
        )
    }

    // MARK: Ends

    @Test(arguments: [true, false])
    func bothEndsHearWhoEndedIt(centralEnds: Bool) throws {
        var link = try #require(ConnectedRig(interval: 24))
        link.rig.run(for: .milliseconds(300))
        let (ender, handle) =
            centralEnds ? (link.central, link.centralHandle) : (link.peripheral, link.peripheralHandle)
        let (other, otherHandle) =
            centralEnds ? (link.peripheral, link.peripheralHandle) : (link.central, link.centralHandle)
        // Data that waits is not sent any more.
        link.sendData([1, 2, 3], from: ender)
        // Not a reason that a host may give, and a handle that does not exist.
        #expect(link.rig.ask("01 06 04 03 \(handle) 16", ender) == ["04 0f 04 12 01 06 04"])
        #expect(link.rig.ask("01 06 04 03 77 00 13", ender) == ["04 0f 04 02 01 06 04"])
        #expect(link.rig.ask("01 06 04 03 \(handle) 15", ender) == ["04 0f 04 00 01 06 04"])
        #expect(link.rig.ask("01 06 04 03 \(handle) 15", ender) == ["04 0f 04 0c 01 06 04"])
        link.rig.run(for: .milliseconds(100))
        #expect(link.rig.take(ender, "04 05").map(\.hex) == ["04 05 04 00 \(handle) 16"])
        #expect(link.rig.take(other).map(\.hex) == ["04 05 04 00 \(otherHandle) 15"])
        #expect(link.rig.ask("01 06 04 03 \(handle) 13", ender) == ["04 0f 04 02 01 06 04"])
    }

    @Test func terminationWithoutAnswerEndsAfterTheSupervisionTimeout() throws {
        var link = try #require(ConnectedRig(interval: 24, timeout: 100))
        link.rig.run(for: .seconds(5))
        link.rig.air.cutLink(between: link.central, and: link.peripheral)
        link.rig.run(for: .milliseconds(500))
        link.rig.send("01 06 04 03 \(link.centralHandle) 13", link.central)
        link.rig.run(for: .seconds(5))
        // The supervision timeout, which began earlier, comes first.
        #expect(link.rig.take(link.central, "04 05").map { $0.bytes.last } == [0x08])
        #expect(link.rig.take(link.peripheral, "04 05").map { $0.bytes.last } == [0x08])
    }

    @Test func aResetOrALossOfPowerIsNoticedByTheTimeout() throws {
        for removes in [true, false] {
            var link = try #require(ConnectedRig(interval: 24, timeout: 100))
            link.rig.run(for: .seconds(5))
            if removes {
                link.rig.air.removeController(link.peripheral)
            } else {
                #expect(link.rig.ask("01 03 0c 00", link.peripheral) == ["04 0e 04 01 03 0c 00"])
            }
            link.rig.run(for: .seconds(5))
            #expect(link.rig.take(link.central, "04 05").map(\.hex) == ["04 05 04 00 \(link.centralHandle) 08"])
            #expect(link.rig.take(link.peripheral).isEmpty)
        }
    }
}
