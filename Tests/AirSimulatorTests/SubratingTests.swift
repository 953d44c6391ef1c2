import AirSimulator
import BluetoothHCI
import Testing

/// Connection subrating: who may ask, what is agreed, and at which connection events the ends meet then.
@Suite struct SubratingTests {
    /// Two hosts that take subrating and know each other's features, connected with 30 ms, and the central's limits for the peripheral.
    private static func connect(
        acceptable: String? = nil,
        peripheralTakesIt: Bool = true,
        seed: UInt64 = 1
    ) throws -> ConnectedRig {
        var rig = try #require(
            ConnectedRig(seed: seed, interval: 24, timeout: 600) { rig, central, peripheral in
                // LE Set Host Feature: Connection Subrating (Host Support).
                #expect(rig.ask("01 74 20 02 26 01", central) == ["04 0e 04 01 74 20 00"])
                if peripheralTakesIt { #expect(rig.ask("01 74 20 02 26 01", peripheral) == ["04 0e 04 01 74 20 00"]) }
                if let acceptable { #expect(rig.ask("01 7d 20 0a \(acceptable)", central) == ["04 0e 04 01 7d 20 00"]) }
            }
        )
        // LE Read Remote Features.
        rig.rig.send("01 16 20 02 \(rig.centralHandle)", rig.central)
        _ = try rig.rig.wait(for: "04 3e 0c 04 00", from: rig.central)
        _ = rig.rig.take(rig.peripheral)
        return rig
    }

    /// A connection whose central has subrated it: one event in `factor`, none of them left out by the peripheral.
    private static func subrated(factor: UInt16, latency: UInt16 = 0, continuation: UInt16 = 0) throws -> ConnectedRig {
        var link = try connect()
        let parameters = "\(little(factor)) \(little(factor)) \(little(latency)) \(little(continuation)) 58 02"
        #expect(
            link.rig.ask("01 7e 20 0c \(link.centralHandle) \(parameters)", link.central) == ["04 0f 04 00 01 7e 20"]
        )
        let change = "\(little(factor)) \(little(latency)) \(little(continuation)) 58 02"
        let atCentral = try link.rig.wait(for: "04 3e 0c 23", from: link.central)
        let atPeripheral = try link.rig.wait(for: "04 3e 0c 23", from: link.peripheral)
        #expect(atCentral.hex == "04 3e 0c 23 00 \(link.centralHandle) \(change)")
        #expect(atPeripheral.hex == "04 3e 0c 23 00 \(link.peripheralHandle) \(change)")
        link.rig.run(for: .seconds(2))
        _ = link.rig.take(link.central)
        _ = link.rig.take(link.peripheral)
        return link
    }

    /// The connection events at which the central, or the peripheral, sent something within a time.
    private static func events(of link: inout ConnectedRig, within span: Duration, fromCentral: Bool) -> [Int64] {
        link.rig.air.recordPackets(true)
        link.rig.run(for: span)
        var events: [Int64] = []
        while let packet = link.rig.air.nextAirPacket() {
            guard case .connection(let header) = packet.kind, header.isFromCentral == fromCentral else { continue }
            if events.last != header.event { events.append(header.event) }
        }
        link.rig.air.recordPackets(false)
        return events
    }

    private static func steps(_ events: [Int64]) -> [Int64] { zip(events.dropFirst(), events).map { $0 - $1 } }

    @Test func theEndsMeetAtOneEventInSoMany() throws {
        var link = try Self.subrated(factor: 5)
        let events = Self.events(of: &link, within: .seconds(3), fromCentral: true)
        #expect(events.count == 20 && Set(Self.steps(events)) == [5])
        #expect(Self.events(of: &link, within: .seconds(3), fromCentral: false).count == 20)
    }

    /// The peripheral's latency counts the events that are not left out.
    @Test func theLatencyCountsSubratedEvents() throws {
        var link = try Self.subrated(factor: 4, latency: 2)
        #expect(Set(Self.steps(Self.events(of: &link, within: .seconds(6), fromCentral: true))) == [4])
        #expect(Set(Self.steps(Self.events(of: &link, within: .seconds(6), fromCentral: false))) == [12])
        // Nothing is lost while the peripheral sleeps: data arrives at its next event.
        link.sendData([1, 2, 3], from: link.central)
        let data = try link.rig.wait(for: "02", from: link.peripheral, within: .milliseconds(30 * 13))
        #expect(data.bytes.suffix(3) == [1, 2, 3])
    }

    /// After data the ends use the next events as well, as many as the continuation number says, and then every Nth again.
    @Test func dataIsFollowedByContinuationEvents() throws {
        var link = try Self.subrated(factor: 10, continuation: 3)
        link.sendData([1], from: link.central)
        _ = try link.rig.wait(for: "02", from: link.peripheral, within: .milliseconds(310))
        let events = Self.events(of: &link, within: .seconds(2), fromCentral: true)
        let steps = Self.steps(events)
        // Three in a row, of which the first follows the event with the data; the fourth is a subrated one.
        #expect(Array(steps.prefix(2)) == [1, 1] && steps[2] == 7, "\(events)")
        #expect(Set(steps.dropFirst(3)) == [10])
    }

    /// Without continuation events, data waits for a subrated one; that is what a factor costs.
    @Test func dataWaitsForASubratedEvent() throws {
        var waits: [Duration] = []
        var link = try Self.subrated(factor: 8)
        for _ in 0..<12 {
            link.rig.run(for: .milliseconds(310))
            let sent = link.rig.now
            link.sendData([7], from: link.peripheral)
            let arrived = try link.rig.wait(for: "02", from: link.central, within: .milliseconds(30 * 9))
            waits.append(arrived.time - sent)
            _ = link.rig.take(link.central)
        }
        let longest = try #require(waits.max())
        #expect(longest > .milliseconds(120) && longest <= .milliseconds(245), "\(waits)")
    }

    /// Time that is skipped costs the radio what time that is stepped through costs.
    @Test(arguments: [(factor: UInt16(6), latency: UInt16(0), continuation: UInt16(2)), (3, 4, 1), (1, 4, 0)])
    func skippedTimeIsAccountedFor(_ wanted: (factor: UInt16, latency: UInt16, continuation: UInt16)) throws {
        var usages: [[RadioUsage]] = []
        var counts: [Int64?] = []
        for isRecorded in [false, true] {
            var link = try Self.subrated(
                factor: wanted.factor,
                latency: wanted.latency,
                continuation: wanted.continuation
            )
            link.rig.air.recordPackets(isRecorded)
            for _ in 0..<5 {
                link.rig.run(for: .milliseconds(3210))
                link.sendData([9], from: link.peripheral)
            }
            link.rig.run(for: .seconds(7))
            usages.append([link.central, link.peripheral].map { link.rig.air.radioUsage(of: $0) })
            counts.append(link.rig.air.connectionEventCount(of: link.central))
        }
        #expect(usages[0] == usages[1])
        #expect(counts[0] == counts[1])
    }

    @Test func aPeripheralAsksAndTheCentralsLimitsDecide() throws {
        // The central takes factors 2 to 6, latency 1, continuation 1, timeout 6 s.
        var link = try Self.connect(acceptable: "02 00 06 00 01 00 01 00 58 02")
        // The peripheral wants 4 to 20, no latency, continuation 0, 5 s.
        let ask = "01 7e 20 0c \(link.peripheralHandle) 04 00 14 00 00 00 00 00 f4 01"
        #expect(link.rig.ask(ask, link.peripheral) == ["04 0f 04 00 01 7e 20"])
        let atPeripheral = try link.rig.wait(for: "04 3e 0c 23", from: link.peripheral)
        #expect(atPeripheral.hex == "04 3e 0c 23 00 \(link.peripheralHandle) 06 00 00 00 01 00 f4 01")
        let atCentral = try link.rig.wait(for: "04 3e 0c 23", from: link.central)
        #expect(atCentral.hex == "04 3e 0c 23 00 \(link.centralHandle) 06 00 00 00 01 00 f4 01")
        // More latency than the central takes: Invalid LMP Parameters / Invalid LL Parameters, and what there is stays.
        link.rig.send("01 7e 20 0c \(link.peripheralHandle) 04 00 06 00 02 00 00 00 f4 01", link.peripheral)
        _ = link.rig.take(link.peripheral)
        let refused = try link.rig.wait(for: "04 3e 0c 23", from: link.peripheral)
        #expect(refused.hex == "04 3e 0c 23 1e \(link.peripheralHandle) 06 00 00 00 01 00 f4 01")
    }

    /// Until a host says more, nothing but factor 1 is granted.
    @Test func noSubratingIsGrantedUntilTheHostSaysSo() throws {
        var link = try Self.connect()
        link.rig.send("01 7e 20 0c \(link.peripheralHandle) 02 00 04 00 00 00 00 00 f4 01", link.peripheral)
        let refused = try link.rig.wait(for: "04 3e 0c 23", from: link.peripheral)
        #expect(refused.hex == "04 3e 0c 23 1e \(link.peripheralHandle) 01 00 00 00 00 00 58 02")
    }

    @Test func aPeerWithoutItIsNotSubrated() throws {
        // Its host did not say that it takes it: Unsupported Remote Feature.
        var link = try Self.connect(peripheralTakesIt: false)
        let parameters = "02 00 04 00 00 00 00 00 58 02"
        #expect(
            link.rig.ask("01 7e 20 0c \(link.centralHandle) \(parameters)", link.central) == ["04 0f 04 1a 01 7e 20"]
        )
        // A central of 4.2 does not know the request.
        var old = try #require(ConnectedRig(interval: 24, timeout: 600, central: .legacy))
        #expect(old.rig.ask("01 7e 20 0c \(old.centralHandle) \(parameters)", old.central) == ["04 0f 04 01 01 7e 20"])
        old.rig.send("01 7e 20 0c \(old.peripheralHandle) \(parameters)", old.peripheral)
        let refused = try old.rig.wait(for: "04 3e 0c 23", from: old.peripheral)
        #expect(refused.hex == "04 3e 0c 23 1a \(old.peripheralHandle) 01 00 00 00 00 00 58 02")
    }

    /// Other connection parameters end subrating, also while only one event in many takes place.
    @Test func otherParametersEndSubrating() throws {
        var link = try Self.subrated(factor: 10, latency: 1)
        link.rig.send("01 13 20 0e \(link.centralHandle) 18 00 18 00 00 00 58 02 00 00 00 00", link.central)
        let update = try link.rig.wait(for: "04 3e 0a 03", from: link.peripheral)
        #expect(update.hex == "04 3e 0a 03 00 \(link.peripheralHandle) 18 00 00 00 58 02")
        #expect(Set(Self.steps(Self.events(of: &link, within: .seconds(2), fromCentral: false))) == [1])
    }

    @Test func wrongValuesAreRefused() throws {
        var link = try Self.connect()
        for parameters in [
            // Factor 0; maximum below minimum; above 500; continuation not below the factor; 501 events left out.
            "00 00 04 00 00 00 00 00 58 02", "04 00 02 00 00 00 00 00 58 02", "01 00 f5 01 00 00 00 00 58 02",
            "01 00 04 00 00 00 04 00 58 02", "01 00 32 00 0a 00 00 00 58 02",
            // A timeout of 0.09 s; one that two subrated events fill: 2 * 30 ms * 10 * 10 = 6 s.
            "01 00 04 00 00 00 00 00 09 00", "01 00 0a 00 09 00 00 00 58 02",
        ] {
            let said = link.rig.ask("01 7e 20 0c \(link.centralHandle) \(parameters)", link.central)
            #expect(said == ["04 0f 04 12 01 7e 20"], "\(parameters)")
        }
        #expect(
            link.rig.ask("01 7e 20 0c ff 0e 01 00 04 00 00 00 00 00 58 02", link.central) == ["04 0f 04 02 01 7e 20"]
        )
        #expect(link.rig.ask("01 7d 20 0a 04 00 02 00 00 00 00 00 58 02", link.central) == ["04 0e 04 01 7d 20 12"])
        // LE Set Host Feature: not while there is a connection; no bit but that of subrating.
        #expect(link.rig.ask("01 74 20 02 26 00", link.central) == ["04 0e 04 01 74 20 0c"])
        let alone = link.rig.add(address: 9)
        for bit in ["20", "00", "27", "40", "ff"] {
            #expect(link.rig.ask("01 74 20 02 \(bit) 01", alone) == ["04 0e 04 01 74 20 11"], "\(bit)")
        }
        // The bit is among the features, and gone again.
        #expect(link.rig.ask("01 74 20 02 26 01", alone) == ["04 0e 04 01 74 20 00"])
        #expect(link.rig.ask("01 03 20 00", alone) == ["04 0e 0c 01 03 20 00 ff 59 00 00 e0 00 00 00"])
        #expect(link.rig.ask("01 74 20 02 26 00", alone) == ["04 0e 04 01 74 20 00"])
        #expect(link.rig.ask("01 03 20 00", alone) == ["04 0e 0c 01 03 20 00 ff 59 00 00 a0 00 00 00"])
    }

    /// A radio that loses one packet in five does not lose a subrated connection, or data.
    @Test(arguments: [1, 2, 3] as [UInt64])
    func subratingSurvivesLoss(seed: UInt64) throws {
        var link = try Self.connect(seed: seed)
        let quality = LinkQuality(loss: .uniform(probability: 0.2), rssi: -60)
        link.rig.air.setLinkQuality(quality, between: link.central, and: link.peripheral)
        link.rig.send("01 7e 20 0c \(link.centralHandle) 04 00 04 00 01 00 02 00 58 02", link.central)
        _ = try link.rig.wait(for: "04 3e 0c 23 00", from: link.central)
        _ = try link.rig.wait(for: "04 3e 0c 23 00", from: link.peripheral)
        // As many each way as the controllers have buffers.
        for number in 0..<UInt8(16) { link.sendData([number], from: number % 2 == 0 ? link.central : link.peripheral) }
        link.rig.run(for: .seconds(30))
        #expect(link.receivedData(link.peripheral) == (0..<8).map { $0 * 2 }, "seed \(seed)")
        #expect(link.receivedData(link.central) == (0..<8).map { $0 * 2 + 1 }, "seed \(seed)")
    }
}
