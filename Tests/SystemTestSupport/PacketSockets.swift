import Glibc

extension RawSocket {
    /// Two ends that keep packets apart, as a HCI socket and `/dev/vhci` do. The first one is non-blocking, for the code that
    /// is tested; its owner closes it.
    public static func packetPair() throws -> (descriptor: Int32, peer: RawSocket) {
        var ends: [Int32] = [-1, -1]
        guard socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) == 0 else {
            throw TestSetupError("socketpair")
        }
        _ = fcntl(ends[0], F_SETFL, O_NONBLOCK)
        return (ends[0], RawSocket(ends[1]))
    }

    /// Reads one packet, which is on its way.
    public func readPacket() throws -> [UInt8] {
        guard isReadable(descriptor) else { throw TestSetupError("no packet came") }
        return try readWhatIsThere()
    }
}
