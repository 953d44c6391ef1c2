import AirSimulator
import Testing

/// How long radios are on, for what, and what that takes from a battery.
@Suite struct RadioUsageTests {
    @Test func everyActivityHasItsOwnAccount() throws {
        var link = try #require(ConnectedRig(interval: 80))
        let start = (link.rig.air.radioUsage(of: link.peripheral), link.rig.air.radioUsage(of: link.central))
        #expect(start.0.scanning == RadioTime())
        #expect(start.1.advertising == RadioTime())
        AdvertisingTests.startLegacy(&link.rig, link.peripheral, slots: 1600, type: "03")
        AdvertisingTests.startScan(&link.rig, link.central, interval: 1600, window: 160)
        link.rig.run(for: .seconds(100))
        let watch = link.rig.air.radioUsage(of: link.peripheral) - start.0
        let phone = link.rig.air.radioUsage(of: link.central) - start.1
        // Every 1005 ms on average: three packets of six octets. Every second: 100 ms of listening. Every 100 ms: a packet
        // each way.
        #expect(abs(watch.advertising.transmitting / .microseconds(3 * TimingTests.onAir1M(6)) - 99.5) < 2)
        #expect(watch.advertising.receiving == .zero)
        #expect(abs(phone.scanning.receiving / .milliseconds(100) - 100) < 1.1)
        for side in [watch.connections, phone.connections] {
            #expect(abs(side.transmitting / .microseconds(80) - 1000) < 20)
            #expect(abs(side.receiving / .microseconds(80) - 1000) < 20)
        }
        #expect(watch.total.transmitting == watch.advertising.transmitting + watch.connections.transmitting)
        #expect(phone.total.receiving == phone.scanning.receiving + phone.connections.receiving)
    }

    /// Connectable extended advertising costs the same whether or not its events are simulated packet by packet.
    @Test(arguments: ["01 00", "02 00", "00 00"])
    func extendedAdvertisingCostsTheSameRecordedOrNot(properties: String) throws {
        var usages: [RadioUsage] = []
        for isRecorded in [true, false] {
            var rig = Rig()
            let watch = rig.add(address: 1)
            rig.air.recordPackets(isRecorded)
            rig.send(
                "01 36 20 19 00 \(properties) a0 00 00 a0 00 00 07 00 00 00 00 00 00 00 00 00 7f 01 00 01 00 00",
                watch
            )
            // A scannable set must have something to answer.
            if properties == "02 00" { rig.send("01 38 20 06 00 03 01 02 01 06", watch) }
            rig.send("01 39 20 06 01 01 00 00 00 00", watch)
            rig.run(for: .milliseconds(10_050))
            usages.append(rig.air.radioUsage(of: watch))
        }
        #expect(usages[0] == usages[1])
        #expect(usages[0].advertising.transmitting > .zero)
    }

    @Test func chargeIsCurrentTimesTime() throws {
        // A connection of 1 s that is idle for 1000 s: 80 ms each way.
        var link = try #require(ConnectedRig(interval: 800, timeout: 400))
        let before = link.rig.air.radioUsage(of: link.peripheral)
        link.rig.run(for: .seconds(1000))
        let used = (link.rig.air.radioUsage(of: link.peripheral) - before).total
        let currents = RadioCurrents(
            transmittingMilliamperes: 5,
            receivingMilliamperes: 6,
            sleepingMilliamperes: 0.002
        )
        // Milliampere seconds: 0.08 s of 5 mA, 0.08 s of 6 mA, the rest of 2 µA.
        let expected = (0.08 * 5 + 0.08 * 6 + (1000 - 0.16) * 0.002) / 3600
        #expect(abs(currents.milliampereHours(used, within: .seconds(1000)) / expected - 1) < 1e-9)
        #expect(abs(currents.milliampereHoursPerDay(used, within: .seconds(1000)) / (expected * 86.4) - 1) < 1e-9)
    }
}
