import BluetoothHCI
import ByteCoding

/// HCI packets over a byte stream: the UART transport layer on a socket or a serial port.
///
/// Packets that are whole in what was read are handed on where they stand; only one that was cut in two is put together.
public final class H4Stream: HCIConnection {
    /// Packets are taken as long as fewer bytes than this wait to be sent. The queue never holds more than this and one
    /// packet of the largest size.
    public static let outboundLimit = 64 * 1024

    private let stream: ByteStream
    /// What becomes of the bytes that are read: one value, since each property of an object is guarded by itself each time.
    private var inbound: Inbound

    /// Takes over a connected socket or an open device, in non-blocking mode. `peer` is who is at its other end.
    init(owning file: consuming FileDescriptor, kind: ByteStream.Kind, peer: H4Deframer.Source) {
        stream = ByteStream(owning: file, kind: kind, outboundLimit: Self.outboundLimit)
        inbound = Inbound(deframer: H4Deframer(from: peer))
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
            try stream.receive { bytes in inbound.take(bytes, arrived, handle) }
        } catch .closed {
            throw .closed(unfinishedPacketBytes: inbound.deframer.bufferedCount)
        }
    }

    public func takeGarbage() -> Garbage? {
        guard inbound.garbage.count > 0 else { return nil }
        defer { inbound.garbage = Garbage() }
        return inbound.garbage
    }

    public func send(_ packet: [UInt8]) { stream.send(packet) }

    public func flush(acknowledging: Bool) throws(ConnectionLoss) { try stream.flush(acknowledging: acknowledging) }
}

/// Finds the packets in what is read.
private struct Inbound {
    /// How many packets are shown before the first of them is worked on.
    private static let packetsPerBatch = 256

    var deframer: H4Deframer
    var garbage = Garbage()
    private var packet: [UInt8] = []
    /// Packets that were cut in two, before any of them is worked on.
    private var mended = PacketQueue()
    /// Where packets are in what was read, before any of them is worked on.
    private var whole: [Range<Int>] = []

    init(deframer: H4Deframer) { self.deframer = deframer }

    /// Shows the packets of some bytes as they arrive, and then has them worked on.
    mutating func take(
        _ bytes: ArraySlice<UInt8>,
        _ arrived: (ArraySlice<UInt8>) -> Void,
        _ handle: (ArraySlice<UInt8>) -> Void
    ) {
        var rest = mend(with: bytes, arrived)
        repeat {
            find(in: &rest, arrived)
            while mended.popFirst(into: &packet) { handle(packet[...]) }
            for place in whole { handle(bytes[place]) }
        } while !whole.isEmpty
        if !rest.isEmpty { deframer.append(rest) }
    }

    /// Gives the deframer what is missing of the packet that the last read has cut.
    /// - Returns: what is left of the bytes.
    private mutating func mend(
        with bytes: ArraySlice<UInt8>,
        _ arrived: (ArraySlice<UInt8>) -> Void
    ) -> ArraySlice<UInt8> {
        var rest = bytes
        while deframer.bufferedCount > 0, !rest.isEmpty {
            let count = deframer.missingCount
            deframer.append(rest.prefix(count))
            rest = rest.dropFirst(count)
            while let item = deframer.nextItem(into: &packet) {
                switch item {
                case .packet:
                    arrived(packet[...])
                    mended.append { $0 += packet }
                case .garbage:
                    garbage.add(packet[...])
                }
            }
        }
        return rest
    }

    /// Finds packets at the front of some bytes, and takes them off there.
    private mutating func find(in rest: inout ArraySlice<UInt8>, _ arrived: (ArraySlice<UInt8>) -> Void) {
        whole.removeAll(keepingCapacity: true)
        while whole.count < Self.packetsPerBatch, let found = deframer.nextItem(at: rest) {
            let bytes = rest.prefix(found.count)
            rest = rest.dropFirst(found.count)
            switch found.item {
            case .packet:
                arrived(bytes)
                whole.append(bytes.indices)
            case .garbage:
                garbage.add(bytes)
            }
        }
    }
}
