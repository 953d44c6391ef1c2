import AirSimulator
import Testing

/// The simplest use: advertise, scan, connect, exchange data, disconnect, in raw HCI bytes.
@Suite struct FirstContactTests {
    @Test func scannerHearsAdvertisementAndScanResponse() throws {
        var rig = Rig()
        let watch = rig.add(address: 1)
        let phone = rig.add(address: 2)
        // LE Set Advertising Parameters: 100 ms, ADV_IND; data 02 01 06; response 03 09 41 42; enable.
        #expect(
            rig.ask("01 06 20 0f a0 00 a0 00 00 00 00 00 00 00 00 00 00 07 00", watch) == ["04 0e 04 01 06 20 00"]
        )
        let padding = String(repeating: "00", count: 28)
        #expect(rig.ask("01 08 20 20 03 02 01 06 \(padding)", watch) == ["04 0e 04 01 08 20 00"])
        let responsePadding = String(repeating: "00", count: 27)
        #expect(rig.ask("01 09 20 20 04 03 09 41 42 \(responsePadding)", watch) == ["04 0e 04 01 09 20 00"])
        #expect(rig.ask("01 0a 20 01 01", watch) == ["04 0e 04 01 0a 20 00"])
        // LE Set Scan Parameters: active, 10 ms of 10 ms, public; enable, with duplicates filtered.
        #expect(rig.ask("01 0b 20 07 01 10 00 10 00 00 00", phone) == ["04 0e 04 01 0b 20 00"])
        #expect(rig.ask("01 0c 20 02 01 01", phone) == ["04 0e 04 01 0c 20 00"])
        rig.run(for: .seconds(1))
        // LE Advertising Report: ADV_IND from C0:C0:C0:00:00:01 at -50 dBm, then its SCAN_RSP.
        #expect(
            rig.take(phone).map(\.hex) == [
                "04 3e 0f 02 01 00 00 01 00 00 c0 c0 c0 03 02 01 06 ce",
                "04 3e 10 02 01 04 00 01 00 00 c0 c0 c0 04 03 09 41 42 ce",
            ]
        )
    }

    @Test func bothEndsLearnOfAConnectionAndExchangeData() throws {
        var rig = Rig()
        let watch = rig.add(address: 1)
        let phone = rig.add(address: 2)
        rig.send("01 06 20 0f 20 00 20 00 00 00 00 00 00 00 00 00 00 07 00", watch)
        rig.send("01 0a 20 01 01", watch)
        // LE Create Connection: interval 30 ms, latency 0, timeout 2 s. Command Status.
        let create = "01 0d 20 19 30 00 30 00 00 00 01 00 00 c0 c0 c0 00 18 00 18 00 00 00 c8 00 00 00 00 00"
        #expect(rig.ask(create, phone) == ["04 0f 04 00 01 0d 20"])
        _ = rig.take(watch)
        rig.run(for: .seconds(1))
        // LE Enhanced Connection Complete: role 0 at the central, 1 at the peripheral; then Channel Selection
        // Algorithm #2, and at the peripheral no Advertising Set Terminated, since it used legacy commands.
        let parameters = "18 00 00 00 c8 00 00"
        let none = "00 00 00 00 00 00"
        #expect(
            rig.take(phone).map(\.hex) == [
                "04 3e 1f 0a 00 50 00 00 00 01 00 00 c0 c0 c0 \(none) \(none) \(parameters)",
                "04 3e 04 14 50 00 01",
            ]
        )
        #expect(
            rig.take(watch).map(\.hex) == [
                "04 3e 1f 0a 00 40 00 01 00 02 00 00 c0 c0 c0 \(none) \(none) \(parameters)",
                "04 3e 04 14 40 00 01",
            ]
        )

        // Data each way: delivered with a first-flushable boundary, then Number Of Completed Packets.
        rig.send("02 50 00 07 00 03 00 04 00 0a 0b 0c", phone)
        rig.send("02 40 00 05 00 01 00 04 00 0d", watch)
        rig.run(for: .milliseconds(100))
        #expect(
            rig.take(watch).map(\.hex) == ["02 40 20 07 00 03 00 04 00 0a 0b 0c", "04 13 05 01 40 00 01 00"]
        )
        #expect(rig.take(phone).map(\.hex) == ["04 13 05 01 50 00 01 00", "02 50 20 05 00 01 00 04 00 0d"])

        // Disconnect: 0x16 at this end, the reason given at the other one.
        #expect(rig.ask("01 06 04 03 40 00 13", watch) == ["04 0f 04 00 01 06 04"])
        rig.run(for: .milliseconds(200))
        #expect(rig.take(watch).map(\.hex) == ["04 05 04 00 40 00 16"])
        #expect(rig.take(phone).map(\.hex) == ["04 05 04 00 50 00 13"])
        #expect(rig.air.nextDeadline == nil)
    }
}
