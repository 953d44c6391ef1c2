import BluetoothHCI

/// An L2CAP frame that is the data of one ACL packet, whole and alone, as nearly all are.
///
/// It says what the headers say, and holds no part of the packet: each part that is cut out of a packet costs a retain and a release.
/// What an initializer is given costs them too, unless it only borrows it.
struct WholeFrame: Hashable, Sendable {
    let handle: ConnectionHandle
    let channel: ChannelID
    /// How many octets the payload has.
    let payloadCount: Int

    /// How many octets of the packet come before the payload: the packet type byte and both headers.
    static var payloadOffset: Int { frameOffset + L2CAPFrame.headerSize }
    /// How many octets of the packet come before the frame.
    private static var frameOffset: Int { headerOffset + ACLPacket.headerSize }
    /// How many octets of the packet come before its header: the packet type byte.
    private static var headerOffset: Int { 1 }

    /// Reads the headers of an ACL packet, from the packet type byte on; nil if it is any other, or has anything wrong with it.
    init?(_ packet: borrowing ArraySlice<UInt8>) {
        guard let header = ACLPacket.Header(packet, at: Self.headerOffset), header.isStart,
            packet.count == Self.frameOffset + header.length,
            let frame = L2CAPFrame.Header(packet, at: Self.frameOffset), header.length == frame.frameCount,
            !frame.isTooLong
        else { return nil }
        handle = header.handle
        channel = frame.channel
        payloadCount = frame.payloadCount
    }
}
