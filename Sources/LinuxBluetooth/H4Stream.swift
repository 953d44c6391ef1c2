import BluetoothHCI
import ByteCoding
import Glibc

/// HCI packets over a byte stream: the UART transport layer on a socket or a serial port.
///
/// Nothing here waits. Bytes that come in are put together to whole packets; packets that go out wait in a bounded queue
/// until the kernel takes them, and whoever sends stops when the queue is full.
public final class H4Stream {
    /// What carries the bytes.
    enum Kind {
        case tcpSocket, unixSocket, device
    }

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
    /// How much one read asks for.
    static let readSize = 64 * 1024
    /// How much one call of `receive` reads at most, so that no stream keeps the loop to itself.
    static let receiveLimit = 4 * readSize

    private let file: FileDescriptor
    private let kind: Kind
    private var deframer: H4Deframer
    private var inbound = [UInt8](repeating: 0, count: readSize)
    private var packet: [UInt8] = []
    private var garbage = Garbage()
    private var outbound: [UInt8] = []
    /// How much of `outbound` the kernel has taken.
    private var sent = 0

    /// Takes over a connected socket or an open device, in non-blocking mode. `peer` is who is at its other end.
    init(owning file: consuming FileDescriptor, kind: Kind, peer: H4Deframer.Source) {
        self.file = file
        self.kind = kind
        deframer = H4Deframer(from: peer)
        outbound.reserveCapacity(Self.outboundLimit)
    }

    /// Takes over a connected TCP socket.
    ///
    /// HCI is a conversation of small packets: each is to leave at once. A controller or a host that is unplugged with
    /// its machine is noticed by keep-alive probes after about half a minute.
    convenience init(tcp socket: consuming FileDescriptor, peer: H4Deframer.Source) throws(SystemError) {
        try socket.setOption(level: Int32(IPPROTO_TCP), name: TCP_NODELAY, to: 1)
        try socket.setOption(level: SOL_SOCKET, name: SO_KEEPALIVE, to: 1)
        try socket.setOption(level: Int32(IPPROTO_TCP), name: TCP_KEEPIDLE, to: 15)
        try socket.setOption(level: Int32(IPPROTO_TCP), name: TCP_KEEPINTVL, to: 5)
        try socket.setOption(level: Int32(IPPROTO_TCP), name: TCP_KEEPCNT, to: 3)
        self.init(owning: socket, kind: .tcpSocket, peer: peer)
    }

    /// What to poll: for reading always, for writing when `wantsToWrite`.
    public var descriptor: Int32 { file.number }

    /// Whether packets wait for the kernel to take them.
    public var wantsToWrite: Bool { sent < outbound.count }

    /// How many bytes wait for the kernel to take them.
    public var waitingBytes: Int { outbound.count - sent }

    /// Whether `send` may be called: ask before taking a packet out of a host.
    public var hasRoom: Bool { waitingBytes < Self.outboundLimit }

    /// Reads what has come in, up to a fair share, and hands on each packet that is whole, type byte first. What is
    /// there beyond that share keeps the descriptor ready.
    public func receive(_ handle: (ArraySlice<UInt8>) -> Void) throws(ConnectionLoss) {
        var share = Self.receiveLimit
        while share > 0 {
            let count = inbound.withUnsafeMutableBytes { Glibc.read(file.number, $0.baseAddress, $0.count) }
            if count > 0 {
                share -= count
                acknowledgeAtOnce()
                deframer.append(inbound.prefix(count))
                handOn(handle)
                // A read that came back with less than it asked for has emptied the kernel's buffer.
                if count < inbound.count { return }
            } else if count == 0 {
                throw .closed(unfinishedPacketBytes: deframer.bufferedCount)
            } else {
                let error = SystemError.last
                if error.isWouldBlock { return }
                if !error.isInterrupted { throw .failed(error) }
            }
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

    /// Controllers that leave Nagle's algorithm on hold back their next packet until this one is acknowledged, which
    /// the kernel by itself would do 40 ms later. It forgets the option now and then, so it is set after each read.
    private func acknowledgeAtOnce() {
        guard kind == .tcpSocket else { return }
        try? file.setOption(level: Int32(IPPROTO_TCP), name: TCP_QUICKACK, to: 1)
    }

    /// Puts a whole packet, type byte first, at the end of the queue. `flush` sends it.
    public func send(_ packet: [UInt8]) {
        if sent > 0, outbound.count + packet.count > Self.outboundLimit {
            outbound.removeSubrange(..<sent)
            sent = 0
        }
        outbound += packet
    }

    /// Gives the kernel as much of the queue as it takes.
    public func flush() throws(ConnectionLoss) {
        while wantsToWrite {
            let count = outbound.withUnsafeBytes { bytes in
                let rest = UnsafeRawBufferPointer(rebasing: bytes[sent...])
                // A socket whose other end is gone must answer with an error, not with a signal.
                return kind == .device
                    ? Glibc.write(file.number, rest.baseAddress, rest.count)
                    : Glibc.send(file.number, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
            }
            if count >= 0 {
                sent += count
            } else {
                let error = SystemError.last
                if error.isWouldBlock { return }
                if !error.isInterrupted { throw .failed(error) }
            }
        }
        outbound.removeAll(keepingCapacity: true)
        sent = 0
    }
}
