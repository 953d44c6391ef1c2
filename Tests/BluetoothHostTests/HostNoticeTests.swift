import BluetoothHCI
import BluetoothHost
import ByteCoding
import Testing

@Suite("LE host: notices")
struct HostNoticeTests {
    /// One of each kind that a packet of the controller's causes on a host with connection 0x0040.
    static let samples: [(packet: String, notice: HostNews, line: String)] = [
        (
            "020f20 0700 0300 0400 0a0300", .packetOfUnknownConnection(0x000F),
            "warning l2cap: dropped a packet of connection 0x000F, which does not exist"
        ),
        (
            HostRig.frame("4000", channel: "7000", "0a0300"),
            .frameOnUnknownChannel(0x0040, ChannelID(rawValue: 0x0070), count: 3),
            "warning l2cap: connection 0x0040: ignored 3 bytes on channel 0x0070, which is not open"
        ),
        (
            "02401002000102", .frameDropped(0x0040, .continuationWithoutStart(count: 2)),
            "warning l2cap: connection 0x0040: dropped 2 bytes that continue no frame"
        ),
        (
            HostRig.frame("4000", channel: "0500", "13 07 0200 0000"),
            .signaling(0x0040, .unexpectedUpdateResponse),
            "warning l2cap: connection 0x0040: the peer answers a request for connection parameters that was not made"
        ),
        (
            HostRig.frame("4000", channel: "0500", "14 01 0a00 8100 5000 0002 6400 0700"),
            .signaling(0x0040, .channelRefused(SPSM(rawValue: 0x81), .spsmNotSupported)),
            "warning l2cap: connection 0x0040: refused a channel to \(SPSM(rawValue: 0x81)): SPSM not supported"
        ),
        (
            HostRig.completed("4000", "0900"),
            .excessPacketsCompleted(0x0040, count: 9, outstanding: 0),
            "warning hci: connection 0x0040: 9 packets completed, 0 were outstanding"
        ),
        (
            HostRig.completed("4100", "0200"), .packetsOfUnknownConnectionCompleted(0x0041, count: 2),
            "debug hci: 2 packets completed on connection 0x0041, which does not exist"
        ),
        (
            HostRig.event("05", "00 4100 13"), .unknownConnectionEnded(0x0041),
            "warning gap: connection 0x0041 ended, which does not exist"
        ),
        (
            HostRig.event("05", "0c 4000 13"), .disconnectionFailed(0x0040, .commandDisallowed),
            "warning gap: connection 0x0040 could not be ended: \(HCIStatus.commandDisallowed)"
        ),
        (
            HostRig.frame("4000", channel: "0600", "01 03 00 01 10 07 07"), .noSecurityManager(0x0040),
            "info smp: connection 0x0040: refused to pair, since there is no Security Manager"
        ),
        (
            HostRig.event("1a", "01"), .dataBufferOverflow(linkType: 1),
            "error hci: the controller lost data: its buffers overflowed (link type 1)"
        ),
        (
            HostRig.event("ff", "0102"), .unknownEvent(HCIEventCode(rawValue: 0xFF), [1, 2]),
            "debug hci: event 0xff is not known, and not told of again: 0102"
        ),
    ]

    @Test("An error of the controller or a peer becomes a value that has the line of the log", arguments: samples)
    func values(_ sample: (packet: String, notice: HostNews, line: String)) throws {
        var rig = try HostRig.ready()
        rig.connect()
        rig.give(compact(sample.packet))
        let notices = rig.events().compactMap { event in
            if case .notice(let notice) = event { notice.what } else { nil }
        }
        #expect(notices == [sample.notice])
        #expect(Diagnostic.notice(HostNotice(sample.notice)).description == sample.line)
        // The words begin with the connection, or have it further on.
        let words = sample.notice.description
        if let connection = sample.notice.connection { #expect(words.contains("\(connection)")) }
    }

    @Test("A malformed packet is told of with its first 8 octets, and its storage is not kept")
    func malformed() throws {
        var rig = try HostRig.ready()
        rig.give("09 0102030405060708090a")
        let notices = rig.events().compactMap { event in
            if case .notice(let notice) = event { notice.what } else { nil }
        }
        let error = ByteDecodingError("h4.type", .invalidValue(9))
        #expect(notices == [.malformedPacket(error, PacketBeginning([9, 1, 2, 3, 4, 5, 6, 7]))])
        #expect(notices.map(\.description) == ["dropped a malformed packet: \(error): 0901020304050607"])
        #expect(PacketBeginning([]).description.isEmpty && PacketBeginning([0, 1]).description == "0001")
    }
}
