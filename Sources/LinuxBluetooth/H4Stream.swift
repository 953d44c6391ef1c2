import BluetoothHCI
import ByteCoding

/// HCI packets over a byte stream: the UART transport layer on a socket or a serial port.
///
/// Nothing here waits. Bytes that come in are put together to whole packets; packets that go out wait in a bounded queue
/// until the kernel takes them, and whoever sends stops when the queue is full.
public final class H4Stream {
    /// Bytes that came in and that no HCI packet begins with.
    public struct Garbage: Hashable, Sendable, CustomStringConvertible {
        /// How many.
        public fileprivate(set) var count = 0
        /// The first of them.
        public fileprivate(set) var first: [UInt8] = []

        /// How many of them are kept for a person to look at.
        static let shown = 16

        public var description: String {
            "skipped \(count) bytes that begin no HCI packet: \(first.hexadecimal)\(count > first.count ? "…" : "")"
        }
    }

    /// Packets are taken as long as fewer bytes than this wait to be sent. The queue never holds more than this and one
    /// packet of the largest size.
    public static let outboundLimit = 64 * 1024

    private let stream: ByteStream
    private var deframer: H4Deframer
    private var packet: [UInt8] = []
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

    /// What to poll: for reading always, for writing when `wantsToWrite`.
    public var descriptor: Int32 { stream.descriptor }

    /// Whether packets wait for the kernel to take them.
    public var wantsToWrite: Bool { stream.wantsToWrite }

    /// How many bytes wait for the kernel to take them.
    public var waitingBytes: Int { stream.waitingBytes }

    /// Whether `send` may be called: ask before taking a packet out of a host.
    public var hasRoom: Bool { stream.hasRoom }

    /// Reads what has come in, up to a fair share, and hands on each packet that is whole, type byte first. What is
    /// there beyond that share keeps the descriptor ready.
    public func receive(_ handle: (ArraySlice<UInt8>) -> Void) throws(ConnectionLoss) {
        do {
            try stream.receive { bytes in
                deframer.append(bytes)
                handOn(handle)
            }
        } catch .closed {
            throw .closed(unfinishedPacketBytes: deframer.bufferedCount)
        }
    }

    /// What has been skipped since the last call, nil for nothing.
    public func takeGarbage() -> Garbage? {
        guard garbage.count > 0 else { return nil }
        defer { garbage = Garbage() }
        return garbage
    }

    private func handOn(_ handle: (ArraySlice<UInt8>) -> Void) {
        while let item = deframer.nextItem(into: &packet) {
            switch item {
            case .packet:
                handle(packet[...])
            case .garbage:
                garbage.count += packet.count
                garbage.first += packet.prefix(Garbage.shown - garbage.first.count)
            }
        }
    }

    /// Puts a whole packet, type byte first, at the end of the queue. `flush` sends it.
    public func send(_ packet: [UInt8]) { stream.send(packet) }

    /// Gives the kernel as much of the queue as it takes.
    public func flush() throws(ConnectionLoss) { try stream.flush() }
}
