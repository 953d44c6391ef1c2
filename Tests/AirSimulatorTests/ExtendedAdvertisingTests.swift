import AirSimulator
import Testing

/// Extended advertising sets and extended scanning.
@Suite struct ExtendedAdvertisingTests {
    /// LE Set Extended Advertising Parameters: all channels, public address, LE 1M, 100 ms unless said otherwise.
    private func parameters(
        set: String = "00",
        properties: String,
        interval: String = "a0 00 00",
        secondaryPHY: String = "01",
        sid: String = "00",
        ownAddress: String = "00",
        notify: String = "00"
    ) -> String {
        "01 36 20 19 \(set) \(properties) \(interval) \(interval) 07 \(ownAddress) 00 00 00 00 00 00 00 00 7f 01 00"
            + "\(secondaryPHY) \(sid) \(notify)"
    }

    /// LE Set Extended Scan Parameters on LE 1M, 10 ms of 10 ms, and enable.
    private func scan(_ rig: inout Rig, _ id: ControllerID, type: String = "00", duplicates: String = "01") {
        #expect(rig.ask("01 41 20 08 00 00 01 \(type) 10 00 10 00", id) == ["04 0e 04 01 41 20 00"])
        #expect(rig.ask("01 42 20 06 01 \(duplicates) 00 00 00 00", id) == ["04 0e 04 01 42 20 00"])
    }

    private let padding = "01 00 00 c0 c0 c0"
    private let noAddress = "00 00 00 00 00 00 00"

    @Test func severalSetsAreOnTheAirAtOnce() throws {
        var rig = Rig()
        let watch = rig.add(address: 1)
        let phone = rig.add(address: 2)
        // Set 0: ADV_IND; set 5: ADV_NONCONN_IND with a random address of its own.
        #expect(rig.ask(parameters(set: "00", properties: "13 00"), watch) == ["04 0e 05 01 36 20 00 08"])
        #expect(
            rig.ask(parameters(set: "05", properties: "10 00", ownAddress: "01"), watch)
                == ["04 0e 05 01 36 20 00 08"]
        )
        #expect(rig.ask("01 37 20 07 00 03 01 03 02 01 06", watch) == ["04 0e 04 01 37 20 00"])
        #expect(rig.ask("01 38 20 08 00 03 01 04 03 09 41 42", watch) == ["04 0e 04 01 38 20 00"])
        #expect(rig.ask("01 37 20 06 05 03 01 02 01 ff", watch) == ["04 0e 04 01 37 20 00"])
        // Both at once; set 5 lacks its address.
        #expect(rig.ask("01 39 20 0a 01 02 00 00 00 00 05 00 00 00", watch) == ["04 0e 04 01 39 20 12"])
        #expect(rig.ask("01 35 20 07 05 99 88 77 66 55 c4", watch) == ["04 0e 04 01 35 20 00"])
        #expect(rig.ask("01 39 20 0a 01 02 00 00 00 00 05 00 00 00", watch) == ["04 0e 04 01 39 20 00"])
        scan(&rig, phone, type: "01")
        rig.run(for: .seconds(2))
        // Event type, address, PHYs 1M and none, no SID, no power, -50 dBm, no period, no direct address, data.
        let rest = "01 00 ff 7f ce 00 00 \(noAddress)"
        #expect(
            Set(rig.take(phone).map(\.hex)) == [
                "04 3e 1d 0d 01 13 00 00 \(padding) \(rest) 03 02 01 06",
                "04 3e 1e 0d 01 1b 00 00 \(padding) \(rest) 04 03 09 41 42",
                "04 3e 1c 0d 01 10 00 01 99 88 77 66 55 c4 \(rest) 02 01 ff",
            ]
        )
        // Turning one off leaves the other on.
        rig.send("01 39 20 06 00 01 00 00 00 00", watch)
        rig.send("01 42 20 06 01 01 00 00 00 00", phone)
        _ = rig.take(phone)
        rig.run(for: .seconds(2))
        #expect(rig.take(phone).map(\.hex) == ["04 3e 1c 0d 01 10 00 01 99 88 77 66 55 c4 \(rest) 02 01 ff"])
    }

    @Test func auxiliaryPacketsCarryLongData() throws {
        var rig = Rig()
        let watch = rig.add(address: 1)
        let phone = rig.add(address: 2)
        let legacyPhone = rig.add(.legacy, address: 3)
        // Connectable, transmit power included, LE 2M, SID 7; 600 octets of data in three fragments.
        rig.send(parameters(properties: "41 00", secondaryPHY: "02", sid: "07"), watch)
        let data = (0..<600).map { UInt8($0 & 0xFF) }
        for (operation, range) in [("01", 0..<200), ("00", 200..<400), ("02", 400..<600)] {
            let packet = "01 37 20 cc 00 \(operation) 01 c8 \(hex(data[range]))"
            #expect(rig.ask(packet, watch) == ["04 0e 04 01 37 20 00"])
        }
        rig.send("01 39 20 06 01 01 00 00 00 00", watch)
        scan(&rig, phone)
        AdvertisingTests.startScan(&rig, legacyPhone)
        rig.run(for: .seconds(1))
        let reports = rig.take(phone).map(\.bytes)
        // 229 + 229 + 142 octets: data status "more to come" twice, then "complete".
        #expect(reports.map { word($0, 5) } == [0x0021, 0x0021, 0x0001])
        #expect(reports.flatMap { $0[29...] } == data)
        for report in reports {
            // Public address; PHYs LE 1M and LE 2M; SID 7; power 8 dBm; -50 dBm.
            #expect(hex(report[7..<19]) == "00 01 00 00 c0 c0 c0 01 02 07 08 ce")
        }
        #expect(rig.take(legacyPhone, "04 3e").isEmpty)
    }

    @Test func scannableSetsAnswerWithLongData() throws {
        var rig = Rig()
        let watch = rig.add(address: 1)
        let phone = rig.add(address: 2)
        rig.send(parameters(properties: "02 00", sid: "03", notify: "01"), watch)
        // Advertising data is not allowed, and a scan response is needed.
        #expect(rig.ask("01 37 20 05 00 03 01 01 00", watch) == ["04 0e 04 01 37 20 12"])
        #expect(rig.ask("01 39 20 06 01 01 00 00 00 00", watch) == ["04 0e 04 01 39 20 0c"])
        let data = (0..<240).map { UInt8($0) }
        #expect(rig.ask("01 38 20 f4 00 03 01 f0 \(hex(data))", watch) == ["04 0e 04 01 38 20 00"])
        #expect(rig.ask("01 39 20 06 01 01 00 00 00 00", watch) == ["04 0e 04 01 39 20 00"])
        scan(&rig, phone, type: "01")
        rig.run(for: .seconds(1))
        let reports = rig.take(phone).map(\.bytes)
        // Scannable; then the scan response in two parts.
        #expect(reports.map { word($0, 5) } == [0x0002, 0x002A, 0x000A])
        #expect(reports.dropFirst().flatMap { $0[29...] } == data)
        // LE Scan Request Received: set 0, from the phone's public address.
        #expect(rig.take(watch).map(\.hex) == ["04 3e 09 13 00 00 02 00 00 c0 c0 c0"])
    }

    @Test func newDataIsReportedAgain() throws {
        var rig = Rig()
        let watch = rig.add(address: 1)
        let phone = rig.add(address: 2)
        rig.send(parameters(properties: "00 00", sid: "01"), watch)
        rig.send("01 37 20 05 00 03 01 01 aa", watch)
        rig.send("01 39 20 06 01 01 00 00 00 00", watch)
        scan(&rig, phone)
        rig.run(for: .seconds(1))
        rig.send("01 37 20 05 00 03 01 01 bb", watch)
        rig.run(for: .seconds(1))
        // Operation "unchanged data": the same data, announced as new.
        rig.send("01 37 20 04 00 04 01 00", watch)
        rig.run(for: .seconds(1))
        #expect(rig.take(phone).map { $0.bytes.last } == [0xAA, 0xBB, 0xBB])
    }

    @Test func advertisingEndsByDurationOrNumberOfEvents() throws {
        var rig = Rig()
        let watch = rig.add(address: 1)
        rig.send(parameters(set: "00", properties: "10 00"), watch)
        rig.send(parameters(set: "01", properties: "10 00"), watch)
        _ = rig.take(watch)
        // Set 0 for 1.5 s; set 1 for five events.
        rig.send("01 39 20 0a 01 02 00 96 00 00 01 00 00 05", watch)
        rig.run(for: .seconds(5))
        let said = rig.take(watch, "04 3e")
        // LE Advertising Set Terminated: Limit Reached with five events; Advertising Timeout.
        #expect(said.map(\.hex) == ["04 3e 06 12 43 01 00 00 05", "04 3e 06 12 3c 00 00 00 00"])
        #expect(said.last?.time == .milliseconds(1500))
        let fifth = try #require(said.first).time
        #expect(fifth > .milliseconds(400) && fifth < .milliseconds(460))
        #expect(rig.air.nextDeadline == nil)
    }

    @Test func scanningEndsAndBeginsAgain() throws {
        var rig = Rig()
        let watch = rig.add(address: 1)
        let phone = rig.add(address: 2)
        AdvertisingTests.startLegacy(&rig, watch, slots: 32)
        // For 1 s: LE Scan Timeout.
        rig.send("01 42 20 06 01 00 64 00 00 00", phone)
        rig.run(for: .seconds(3))
        let said = rig.take(phone)
        #expect(said.last?.hex == "04 3e 01 11")
        #expect(said.last?.time == .seconds(1))
        // For 1 s in every 2.56 s, each advertiser once a period: no timeout event.
        rig.send("01 42 20 06 01 02 64 00 02 00", phone)
        _ = rig.take(phone)
        rig.run(for: .milliseconds(2560 * 4 - 100))
        #expect(rig.take(phone, "04 3e").map { $0.bytes[3] } == [0x0D, 0x0D, 0x0D, 0x0D])
        rig.send("01 42 20 06 00 00 00 00 00 00", phone)
        _ = rig.take(phone)
        rig.run(for: .seconds(10))
        #expect(rig.take(phone).isEmpty)
    }

    @Test func setsHaveLimits() throws {
        var rig = Rig()
        var configuration = ControllerConfiguration.modern
        configuration.advertisingSetCount = 2
        configuration.maximumAdvertisingDataLength = 300
        let watch = rig.add(configuration, address: 1)
        #expect(rig.ask("01 3b 20 00", watch) == ["04 0e 05 01 3b 20 00 02"])
        #expect(rig.ask("01 3a 20 00", watch) == ["04 0e 06 01 3a 20 00 2c 01"])
        rig.send(parameters(set: "00", properties: "00 00"), watch)
        rig.send(parameters(set: "01", properties: "00 00"), watch)
        #expect(rig.ask(parameters(set: "02", properties: "00 00"), watch) == ["04 0e 05 01 36 20 07 00"])
        // Data for a set that does not exist, and too much of it for one that does.
        #expect(rig.ask("01 37 20 05 02 03 01 01 00", watch) == ["04 0e 04 01 37 20 42"])
        let part = "c8 \(hex([UInt8](repeating: 0, count: 200)))"
        #expect(rig.ask("01 37 20 cc 00 01 01 \(part)", watch) == ["04 0e 04 01 37 20 00"])
        #expect(rig.ask("01 37 20 cc 00 02 01 \(part)", watch) == ["04 0e 04 01 37 20 07"])
        // A set whose data is not complete cannot be turned on; one that is on cannot be removed.
        #expect(rig.ask("01 39 20 06 01 01 00 00 00 00", watch) == ["04 0e 04 01 39 20 0c"])
        #expect(rig.ask("01 39 20 06 01 01 01 00 00 00", watch) == ["04 0e 04 01 39 20 00"])
        #expect(rig.ask("01 3c 20 01 01", watch) == ["04 0e 04 01 3c 20 0c"])
        #expect(rig.ask("01 3d 20 00", watch) == ["04 0e 04 01 3d 20 0c"])
        #expect(rig.ask("01 39 20 02 00 00", watch) == ["04 0e 04 01 39 20 00"])
        #expect(rig.ask("01 3c 20 01 01", watch) == ["04 0e 04 01 3c 20 00"])
        #expect(rig.ask("01 3c 20 01 01", watch) == ["04 0e 04 01 3c 20 42"])
        #expect(rig.ask("01 3d 20 00", watch) == ["04 0e 04 01 3d 20 00"])
    }
}
