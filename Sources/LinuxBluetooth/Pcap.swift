import ByteCoding

/// The pcap file format, which Wireshark and tshark also read while it is written (`-i -`); they read btsnoop from whole files only.
///
/// A 24-byte header, then records: seconds and microseconds since 1970-01-01 00:00 UTC, included and original length (32 bits
/// each), then the direction (32 bits, 0 for sent by the host) and the packet. Integers are big-endian, which the header's first
/// four bytes say.
/// Source: draft-ietf-opsawg-pcap; LINKTYPE_BLUETOOTH_HCI_H4_WITH_PHDR.
package enum Pcap {
    /// HCI UART (H4) with the direction in front: each packet begins with its type byte.
    private static let linkType: UInt32 = 201
    /// The longest packet, of which none is cut.
    private static let snapLength: UInt32 = 0x1_0003

    /// What every file begins with.
    package static var header: [UInt8] {
        var header: [UInt8] = []
        header.appendBigEndian(UInt32(0xA1B2_C3D4))
        // Version 2.4, and two fields that are not used.
        header.appendBigEndian(UInt16(2))
        header.appendBigEndian(UInt16(4))
        header.appendBigEndian(UInt64(0))
        header.appendBigEndian(snapLength)
        header.appendBigEndian(linkType)
        return header
    }

    /// Adds a packet's record to a buffer.
    /// - Parameter time: what has passed since 1970-01-01 00:00 UTC.
    package static func append(
        _ packet: ArraySlice<UInt8>,
        _ direction: Btsnoop.Direction,
        at time: Duration,
        to buffer: inout [UInt8]
    ) {
        let length = UInt32(clamping: packet.count + 4)
        let (seconds, attoseconds) = time.components
        buffer.appendBigEndian(UInt32(clamping: seconds))
        buffer.appendBigEndian(UInt32(clamping: attoseconds / 1_000_000_000_000))
        buffer.appendBigEndian(length)
        buffer.appendBigEndian(length)
        buffer.appendBigEndian(direction.rawValue)
        buffer += packet
    }
}
