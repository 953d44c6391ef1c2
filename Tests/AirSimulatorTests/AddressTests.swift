import AirSimulator
import BluetoothHCI
import Testing

/// Random addresses that two hosts have taken.
@Suite struct AddressTests {
    private static let first = DeviceAddress(0xC455_6677_8899)

    private func events(_ rig: inout Rig) -> [AirEvent] {
        var events: [AirEvent] = []
        while let event = rig.air.nextEvent() { events.append(event) }
        return events
    }

    /// LE Set Random Address: ``first``, or one that differs in its last octet as printed.
    private func take(_ last: String, _ id: ControllerID, _ rig: inout Rig) {
        #expect(rig.ask("01 05 20 06 \(last) 88 77 66 55 c4", id) == ["04 0e 04 01 05 20 00"])
    }

    @Test func twoHostsWithOneAddressAreToldOfOnceAsLongAsBothAreThere() {
        var rig = Rig()
        let hosts = (1...3).map { rig.add(address: $0) }
        take("99", hosts[0], &rig)
        take("98", hosts[1], &rig)
        #expect(events(&rig).isEmpty, "two addresses")
        take("99", hosts[1], &rig)
        #expect(events(&rig) == [.addressTakenTwice(Self.first, by: hosts[1], and: hosts[0])])
        take("99", hosts[1], &rig)
        take("99", hosts[0], &rig)
        #expect(events(&rig).isEmpty, "it was said before")
        take("99", hosts[2], &rig)
        #expect(
            events(&rig) == [
                .addressTakenTwice(Self.first, by: hosts[2], and: hosts[0]),
                .addressTakenTwice(Self.first, by: hosts[2], and: hosts[1]),
            ]
        )
        rig.air.removeController(hosts[0])
        #expect(rig.ask("01 03 0c 00", hosts[1]) == ["04 0e 04 01 03 0c 00"])
        #expect(rig.ask("01 03 0c 00", hosts[2]) == ["04 0e 04 01 03 0c 00"])
        take("99", hosts[2], &rig)
        #expect(events(&rig).isEmpty, "the others have gone, or given it back")
    }

    @Test func anAdvertisingSetsAddressCountsAndOneHostMayUseItForAll() {
        var rig = Rig()
        let hosts = (1...2).map { rig.add(address: $0) }
        for host in hosts {
            // LE Set Extended Advertising Parameters: set 0, connectable, a random address.
            rig.send(
                "01 36 20 19 00 13 00 a0 00 00 a0 00 00 07 01 00 00 00 00 00 00 00 00 7f 01 00 01 00 00",
                host
            )
            #expect(rig.ask("01 35 20 07 00 99 88 77 66 55 c4", host).last == "04 0e 04 01 35 20 00")
            take("99", host, &rig)
        }
        #expect(events(&rig) == [.addressTakenTwice(Self.first, by: hosts[1], and: hosts[0])])
    }
}
