import BluetoothHCI
import Testing

@testable import Faults

/// Two phones are connected, and a fault is for one of them.
@Suite("Faults: what another phone does") struct OtherPhoneTests {
    private func two() -> HCIFaultLine {
        HCIFaultLine(
            .init(
                packetCount: 8,
                connections: [
                    .init(handle: 0x0040, phone: DeviceAddress(0xC0DE_0000_0001), outstandingPackets: 0),
                    .init(handle: 0x0041, phone: DeviceAddress(0xC0DE_0000_0002), outstandingPackets: 0),
                ]
            )
        )
    }

    /// Another phone begins to encrypt: that is no occasion for a fault that is for one phone only.
    @Test("A link is lost during its own encryption, and not after another's") func duringEncryptionOfAnother() throws {
        var line = two()
        try line.add(
            Fault(parsing: "link.lost during=encryption phone=C0:DE:00:00:00:01"),
            as: FaultID(rawValue: 1),
            at: .zero
        )
        let keyRequestOfTheOther: [UInt8] = [0x04, 0x3E, 0x0D, 0x05, 0x41, 0x00, 1, 2, 3, 4, 5, 6, 7, 8, 0x34, 0x12]
        line.fromController(keyRequestOfTheOther[...], at: .zero)
        // Any packet of the phone's, whose encryption has not begun.
        line.fromController([0x02, 0x40, 0x20, 0x07, 0x00, 0x03, 0x00, 0x04, 0x00, 0x0A, 0x03, 0x00], at: .zero)
        #expect(line.nextAction() == nil)
        // Its own encryption begins.
        let keyRequest: [UInt8] = [0x04, 0x3E, 0x0D, 0x05, 0x40, 0x00, 1, 2, 3, 4, 5, 6, 7, 8, 0x34, 0x12]
        line.fromController(keyRequest[...], at: .zero)
        guard case .silence(0x0040, _)? = line.nextAction() else {
            Issue.record("the link is there")
            return
        }
    }

    @Test("Packets of another phone's link do not count for a fault of one phone") func packetsOfAnother() throws {
        var line = two()
        try line.add(
            Fault(parsing: "link.dropped packets=2 phone=C0:DE:00:00:00:01"),
            as: FaultID(rawValue: 1),
            at: .zero
        )
        for handle: UInt8 in [0x41, 0x41, 0x40] {
            line.fromController([0x02, handle, 0x20, 0x07, 0x00, 0x03, 0x00, 0x04, 0x00, 0x0A, 0x03, 0x00], at: .zero)
        }
        // One packet of its own has passed, and then the second.
        #expect(line.nextFiring() == nil)
        line.fromController([0x02, 0x40, 0x20, 0x07, 0x00, 0x03, 0x00, 0x04, 0x00, 0x0A, 0x03, 0x00], at: .zero)
        #expect(line.nextFiring()?.connection == 0x0040)
    }

    @Test("Bytes on another phone's channels do not count for a fault of one phone") func bytesOfAnother() throws {
        var line = two()
        try line.add(
            Fault(parsing: "l2cap.channel-dropped bytes=4 phone=C0:DE:00:00:00:01"),
            as: FaultID(rawValue: 1),
            at: .zero
        )
        for handle: UInt8 in [0x40, 0x41] {
            let ask: [UInt8] = [0x14, 1, 0x0A, 0, 0x80, 0, 0x41, 0, 0x40, 0, 0x40, 0, 2, 0]
            let answer: [UInt8] = [0x15, 1, 0x0A, 0, 0x50, 0, 0x40, 0, 0x40, 0, 2, 0, 0, 0]
            line.fromController(([0x02, handle, 0x20, 0x12, 0, 0x0E, 0, 5, 0] + ask)[...], at: .zero)
            line.fromHost(([0x02, handle, 0x00, 0x12, 0, 0x0E, 0, 5, 0] + answer)[...], at: .zero)
        }
        // Four bytes of the other phone's, then three of its own, and three more.
        line.fromController([0x02, 0x41, 0x20, 8, 0, 4, 0, 0x50, 0, 2, 0, 0xAA, 0xBB], at: .zero)
        line.fromController([0x02, 0x40, 0x20, 7, 0, 3, 0, 0x50, 0, 1, 0, 0xAA], at: .zero)
        #expect(line.nextFiring() == nil)
        line.fromController([0x02, 0x40, 0x20, 7, 0, 3, 0, 0x50, 0, 1, 0, 0xAA], at: .zero)
        #expect(line.nextFiring()?.connection == 0x0040)
    }

    @Test("Each ACL packet counts, though two of them be one PDU") func parts() throws {
        var line = two()
        try line.add(Fault(parsing: "link.dropped packets=2"), as: FaultID(rawValue: 1), at: .zero)
        line.fromController([0x02, 0x40, 0x20, 5, 0, 3, 0, 4, 0, 0x0A], at: .zero)
        #expect(line.nextFiring() == nil)
        line.fromController([0x02, 0x40, 0x10, 2, 0, 3, 0], at: .zero)
        #expect(line.nextFiring() != nil, "two packets have passed, which were one PDU")
    }
}
