import BluetoothHCI
import ByteCoding

/// HCI packets over a byte stream: the UART transport layer on a socket or a serial port.
///
/// Bytes that come in are put together to whole packets.
public final class H4Stream: HCIConnection {
    /// Packets are taken as long as fewer bytes than this wait to be sent. The queue never holds more than this and one
    /// packet of the largest size.
    public static let outboundLimit = 64 * 1024
    /// How many packets are shown before the first of them is worked on.
    private static let packetsPerBatch = 256

    private let stream: ByteStream
    private var deframer: H4Deframer
    private var packet: [UInt8] = []
    private var inbound = PacketQueue()
    private var garbage = Garbage()

    /// Takes over a connected socket or an open device, in non-blocking mode. `peer` is who is at its other end.
    init(owning file: consuming FileDescriptor, kind: ByteStream.Kind, peer: H4Deframer.Source) {
        stream = ByteStream(owning: file, kind: kind, outboundLimit: Self.outboundLimit)
        deframer = H4Deframer(from: peer)
    }

    /// Takes over a connected TCP socket.
    convenience init(tcp socket: consuming FileDescriptor, peer: H4Deframer.Source) throws(SystemError) {
        try ByteStream.prepare(tcp: socket)
        self.init(owning: socket, kind: .tcpSocket, peer: peer)
    }

    /// Takes over the connection of a host that has come for a controller.
    public convenience init(guest socket: consuming FileDescriptor, kind: ByteStream.Kind) {
        // Without these options a conversation is slower, and it is no worse otherwise.
        if kind == .tcpSocket { try? ByteStream.prepare(tcp: socket) }
        self.init(owning: socket, kind: kind, peer: .host)
    }

    public var descriptor: Int32 { stream.descriptor }

    public var wantsToWrite: Bool { stream.wantsToWrite }

    public var waitingBytes: Int { stream.waitingBytes }

    public var hasRoom: Bool { stream.hasRoom }

    public var hasMore: Bool { stream.hasMore }

    public func receive(
        arrived: (ArraySlice<UInt8>) -> Void,
        _ handle: (ArraySlice<UInt8>) -> Void
    ) throws(ConnectionLoss) {
        do {
            try stream.receive { bytes in
                deframer.append(bytes)
                while takeIn(arrived) {
                    while inbound.popFirst(into: &packet) { handle(packet[...]) }
                }
            }
        } catch .closed {
            throw .closed(unfinishedPacketBytes: deframer.bufferedCount)
        }
    }

    public func takeGarbage() -> Garbage? {
        guard garbage.count > 0 else { return nil }
        defer { garbage = Garbage() }
        return garbage
    }

    /// Moves what is whole into `inbound`, which is empty.
    /// - Returns: whether there is anything in it.
    private func takeIn(_ arrived: (ArraySlice<UInt8>) -> Void) -> Bool {
        while inbound.count < Self.packetsPerBatch, let item = deframer.nextItem(into: &packet) {
            switch item {
            case .packet:
                arrived(packet[...])
                inbound.append { $0 += packet }
            case .garbage:
                garbage.add(packet[...])
            }
        }
        return !inbound.isEmpty
    }

    public func send(_ packet: [UInt8]) { stream.send(packet) }

    public func flush() throws(ConnectionLoss) { try stream.flush() }
}
