import BluetoothHCI
import BluetoothHost
import ByteCoding
import PebblePhone
import PebbleWatch

/// A host whose events can be thrown away, as an owner does that is not interested in them.
protocol DrivableHost: HCIHost {
    /// Takes all events.
    mutating func discardEvents()
}

extension LEHost: DrivableHost {
    mutating func discardEvents() { while nextEvent() != nil {} }
}

extension Watch: DrivableHost {
    mutating func discardEvents() { while nextEvent() != nil {} }
}

/// Plays the controller, and the peer behind it, for a host with one connection: feeds it HCI packets and takes those
/// that it sends. In steady state it allocates nothing itself.
struct HCIDriver<Host: DrivableHost> {
    /// The host. Calls on it may leave packets for `takePackets`.
    var host: Host
    private(set) var now: Duration
    private let connection: ConnectionHandle
    /// A packet on its way to the host: used again, since a host that has been drained keeps nothing of it.
    private var inbound: [UInt8] = []
    /// Num_HCI_Command_Packets and the rest of an event that gives one buffer back.
    private let completed: [UInt8]
    private var outbound: [UInt8] = []

    /// Takes over a host that is connected, and has nothing to send.
    init(_ host: Host, connection: ConnectionHandle, at now: Duration) {
        self.host = host
        self.connection = connection
        self.now = now
        completed =
            NumberOfCompletedPackets(packets: CompletedPacketsList([.init(handle: connection, count: 1)])).packet
    }

    /// Gives the host one whole PDU, in one ACL packet, from the peer; of ATT unless another channel is given.
    mutating func deliver(
        length: Int,
        on channel: UInt16 = Self.attributeChannel,
        _ write: (inout [UInt8]) -> Void
    ) {
        var packet: [UInt8] = []
        swap(&packet, &inbound)
        packet.removeAll(keepingCapacity: true)
        encode(length: length, on: channel, to: &packet, write)
        deliver(packet)
        inbound = packet
    }

    /// Gives the host a packet that `packet` has made.
    mutating func deliver(_ packet: [UInt8]) {
        host.receive(packet[...], at: now)
        host.discardEvents()
    }

    /// The ACL packet with one whole PDU from the peer; of ATT unless another channel is given. A controller has it when a host's work
    /// begins: a benchmark makes it beforehand.
    func packet(
        length: Int,
        on channel: UInt16 = Self.attributeChannel,
        _ write: (inout [UInt8]) -> Void
    ) -> [UInt8] {
        var packet: [UInt8] = []
        encode(length: length, on: channel, to: &packet, write)
        return packet
    }

    private func encode(length: Int, on channel: UInt16, to packet: inout [UInt8], _ write: (inout [UInt8]) -> Void) {
        ACLPacket.encodeHeader(
            handle: connection,
            boundary: .firstFlushable,
            length: Self.l2capHeaderLength + length,
            to: &packet
        )
        packet.appendLittleEndian(UInt16(clamping: length))
        packet.appendLittleEndian(channel)
        write(&packet)
    }

    /// Takes everything that the host sends, and gives each buffer back at once.
    /// - Parameter take: is given each PDU; all of them must fit into one ACL packet.
    /// - Returns: how many there were.
    mutating func takePackets(_ take: (ArraySlice<UInt8>) -> Void) -> Int {
        var count = 0
        while host.nextPacket(into: &outbound) {
            guard outbound.first == HCIPacketType.acl.rawValue else { continue }
            count += 1
            take(outbound.dropFirst(1 + ACLPacket.headerSize + Self.l2capHeaderLength))
            host.receive(completed[...], at: now)
            host.discardEvents()
        }
        return count
    }

    /// Lets time pass for the host.
    mutating func advance(by span: Duration) {
        now += span
        host.advance(to: now)
        host.discardEvents()
    }

    /// Length and channel of a basic L2CAP frame (Core 5.4, Vol 3, Part A, 3.1).
    private static var l2capHeaderLength: Int { 4 }
    /// The Attribute Protocol's channel (Core 5.4, Vol 3, Part A, 2.1).
    static var attributeChannel: UInt16 { 0x0004 }
}
