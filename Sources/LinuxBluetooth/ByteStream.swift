import Glibc

/// Bytes both ways over a socket or a device, without waiting.
///
/// What goes out waits in a queue until the kernel takes it. The sender asks `hasRoom` first, so that a peer that does not
/// read cannot make the queue grow.
public final class ByteStream {
    /// What carries the bytes.
    public enum Kind: Sendable {
        case tcpSocket, unixSocket, device
    }

    /// How much one read asks for.
    static let readSize = 64 * 1024
    /// How much one call of `receive` reads at most, so that no stream keeps the loop to itself.
    static let receiveLimit = 4 * readSize

    private let file: FileDescriptor
    private let kind: Kind
    private let outboundLimit: Int
    private var inbound = [UInt8](repeating: 0, count: readSize)
    private var outbound: [UInt8] = []
    /// Whether the last `receive` has used up its share.
    private(set) var hasMore = false
    /// How much of `outbound` the kernel has taken.
    private var sent = 0
    /// How many bytes wait for the kernel to take them. It is kept, since every turn of a loop asks.
    private var waitingCount = 0
    /// Whether something was read since the last time that anything was sent.
    private var owesAcknowledgement = false
    private var nagle = NagleProbe()

    /// Takes over a connected socket or an open device, in non-blocking mode.
    /// - Parameter outboundLimit: when so many bytes wait to be sent, there is no more room.
    public init(owning file: consuming FileDescriptor, kind: Kind, outboundLimit: Int) {
        self.file = file
        self.kind = kind
        self.outboundLimit = outboundLimit
        outbound.reserveCapacity(outboundLimit)
    }

    /// Makes a TCP socket ready for a conversation of small messages: each leaves at once. A peer that is unplugged with its
    /// machine is noticed by keep-alive probes after about half a minute.
    public static func prepare(tcp socket: borrowing FileDescriptor) throws(SystemError) {
        try socket.setOption(level: Int32(IPPROTO_TCP), name: TCP_NODELAY, to: 1)
        try socket.setOption(level: SOL_SOCKET, name: SO_KEEPALIVE, to: 1)
        try socket.setOption(level: Int32(IPPROTO_TCP), name: TCP_KEEPIDLE, to: 15)
        try socket.setOption(level: Int32(IPPROTO_TCP), name: TCP_KEEPINTVL, to: 5)
        try socket.setOption(level: Int32(IPPROTO_TCP), name: TCP_KEEPCNT, to: 3)
    }

    /// Lets the kernel keep this many bytes for a peer that reads slowly: what is sent in one call of `flush` is then taken whole,
    /// and is delivered whole even if this process is killed. The system has a limit of its own, which counts.
    public static func enlargeSendBuffer(of socket: borrowing FileDescriptor, to byteCount: Int32) throws(SystemError) {
        try socket.setOption(level: SOL_SOCKET, name: SO_SNDBUF, to: byteCount)
    }

    /// What to poll: for reading when there is something to do with it, for writing when `wantsToWrite`.
    public var descriptor: Int32 { file.number }

    /// Whether the process at the other end of a Unix socket is this process's user's, or root's.
    public var isOwnUserOrRoot: Bool {
        // struct ucred of unix(7): process, user and group, 32 bits each.
        var peer: [UInt32] = [0, .max, 0]
        var size = socklen_t(peer.count * MemoryLayout<UInt32>.size)
        guard getsockopt(file.number, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 else { return false }
        return peer[1] == 0 || peer[1] == geteuid()
    }

    /// How many bytes wait for the kernel to take them. A stored property that another module can reach is guarded each time.
    public var waitingBytes: Int { waitingCount }

    /// Whether bytes wait for the kernel to take them.
    public var wantsToWrite: Bool { waitingCount > 0 }

    /// Whether `send` may be called. The queue never holds more than its limit and what is sent in one call.
    public var hasRoom: Bool { waitingCount < outboundLimit }

    /// Reads what has come in, up to a fair share. What is there beyond that share keeps the descriptor ready.
    public func receive(_ handle: (ArraySlice<UInt8>) -> Void) throws(ConnectionLoss) {
        var share = Self.receiveLimit
        if nagle.wantsLook { nagle.willRead(sentSegments: NagleProbe.sentSegments(of: file)) }
        defer { hasMore = share <= 0 }
        while share > 0 {
            let count = inbound.withUnsafeMutableBytes { Glibc.read(file.number, $0.baseAddress, $0.count) }
            if count > 0 {
                share -= count
                if kind == .tcpSocket {
                    owesAcknowledgement = true
                    nagle.read(count)
                }
                handle(inbound.prefix(count))
                // A read that came back with less than it asked for has emptied the kernel's buffer.
                if count < inbound.count { return }
            } else if count == 0 {
                throw .closed(unfinishedPacketBytes: 0)
            } else {
                let error = SystemError.last
                if error.isWouldBlock { return }
                if !error.isInterrupted { throw .failed(error) }
            }
        }
    }

    /// Whether what is read is left to the kernel to acknowledge, since the other end sends without waiting for that.
    var isPeerPrompt: Bool { nagle.isPeerPrompt }

    /// Peers that leave Nagle's algorithm on hold back their next bytes until these are acknowledged, which the kernel by
    /// itself would do 40 ms later. What is sent acknowledges them on its way; the option does it where nothing is, unless the peer is
    /// known not to wait. The kernel forgets it now and then, so it is set each time.
    private func acknowledgeAtOnce() {
        guard owesAcknowledgement, !nagle.holdsBack else { return }
        owesAcknowledgement = false
        try? file.setOption(level: Int32(IPPROTO_TCP), name: TCP_QUICKACK, to: 1)
        nagle.acknowledged()
    }

    /// Puts bytes at the end of the queue. `flush` sends them.
    public func send(_ bytes: [UInt8]) {
        if sent > 0, outbound.count + bytes.count > outboundLimit {
            outbound.removeSubrange(..<sent)
            sent = 0
        }
        outbound += bytes
        waitingCount += bytes.count
    }

    /// Forgets what waits to be sent.
    public func discardOutbound() {
        outbound.removeAll(keepingCapacity: true)
        sent = 0
        waitingCount = 0
    }

    /// Gives the kernel as much of the queue as it takes. Called after each `receive` too, if there is nothing to send: what was
    /// read is acknowledged then.
    /// - Parameter acknowledging: false leaves that to a later call, since the other side goes on sending all the same.
    public func flush(acknowledging: Bool = true) throws(ConnectionLoss) {
        defer { if acknowledging { acknowledgeAtOnce() } }
        guard wantsToWrite else { return }
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
                waitingCount -= count
                owesAcknowledgement = false
            } else {
                let error = SystemError.last
                if error.isWouldBlock { return }
                if !error.isInterrupted { throw .failed(error) }
            }
        }
        outbound.removeAll(keepingCapacity: true)
        sent = 0
        if kind == .tcpSocket, nagle.sent() {
            // The kernel acknowledges some segments at once of its own accord, which would prove nothing.
            try? file.setOption(level: Int32(IPPROTO_TCP), name: TCP_QUICKACK, to: 0)
            nagle.begin(sentSegments: NagleProbe.sentSegments(of: file))
        }
    }
}
