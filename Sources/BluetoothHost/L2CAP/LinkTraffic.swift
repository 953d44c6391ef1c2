/// What has gone over a link since it was made: L2CAP PDUs that were whole, by the kind of their channel.
///
/// A PDU is counted when it is passed on to its channel, or when the first ACL packet of it is made. Its bytes are those of its
/// information payload: the basic L2CAP header (Core 5.4, Vol 3, Part A, 3.1) and the headers below it are not among them.
package struct LinkTraffic: Hashable, Sendable {
    /// What has gone over the channels of one kind.
    package struct Count: Hashable, Sendable {
        /// PDUs that the peer sent.
        package internal(set) var receivedPackets: UInt64 = 0
        /// What they carried, in bytes.
        package internal(set) var receivedBytes: UInt64 = 0
        /// PDUs that this side sent.
        package internal(set) var sentPackets: UInt64 = 0
        /// What they carried, in bytes.
        package internal(set) var sentBytes: UInt64 = 0
    }

    /// The Attribute Protocol, channel 0x0004.
    package internal(set) var attribute = Count()
    /// LE signaling, channel 0x0005.
    package internal(set) var signaling = Count()
    /// The Security Manager, channel 0x0006.
    package internal(set) var securityManager = Count()
    /// Credit-based channels, and channels that the host does not know.
    package internal(set) var channels = Count()

    /// The peer has sent a PDU.
    mutating func countReceived(_ byteCount: Int, on channel: ChannelID) {
        change(channel) {
            $0.receivedPackets &+= 1
            $0.receivedBytes &+= UInt64(byteCount)
        }
    }

    /// This side sends a PDU.
    mutating func countSent(_ byteCount: Int, on channel: ChannelID) {
        change(channel) {
            $0.sentPackets &+= 1
            $0.sentBytes &+= UInt64(byteCount)
        }
    }

    private mutating func change(_ channel: ChannelID, _ body: (inout Count) -> Void) {
        switch channel {
        case .attribute: body(&attribute)
        case .signaling: body(&signaling)
        case .securityManager: body(&securityManager)
        default: body(&channels)
        }
    }
}
