import BluetoothHCI
import ByteCoding
import CLinux
import Glibc

/// HCI packets through a descriptor that keeps them apart: each read takes one packet and each write gives one.
///
/// What the kernel holds is taken out of it before any of it is worked on, and again and again while it is: its buffer is
/// what overflows when the other side is faster than this process.
public final class PacketConnection: HCIConnection {
    /// What carries the packets.
    public enum Kind: Sendable {
        /// A socket that has a whole adapter of this machine to itself.
        case userChannel
        /// The far end of an adapter that this process plays to the kernel (`/dev/vhci`).
        case virtualAdapter
    }

    /// Packets are taken as long as fewer bytes than this wait to be sent.
    public static let outboundLimit = 64 * 1024
    /// How many packets one call of `receive` takes in at most, so that no connection keeps the loop to itself.
    static let packetsPerReceive = 4096
    /// After how many packets that were worked on the kernel is asked for more.
    private static let packetsBetweenReads = 32
    /// The longest packet: ACL data, with the packet type, the handle and the length (Core 5.4, Vol 4, Part E, 5.4.2).
    private static let longestPacket = 5 + 0xFFFF

    private let file: FileDescriptor
    private let kind: Kind
    private var readBuffer = [UInt8](repeating: 0, count: longestPacket)
    private var inbound = PacketQueue()
    private var packet: [UInt8] = []
    private var outbound = PacketQueue()
    /// The packet that the kernel did not take yet.
    private var head: [UInt8] = []
    private var hasHead = false
    private var garbage = Garbage()
    private var dropCount: UInt32 = 0
    // Stored properties that another module can reach are guarded each time.
    private var waitingCount = 0
    private var hasLeftInput = false

    /// Takes over an open descriptor in non-blocking mode.
    init(owning file: consuming FileDescriptor, kind: Kind) {
        self.file = file
        self.kind = kind
    }

    public var descriptor: Int32 { file.number }

    public var wantsToWrite: Bool { hasHead || !outbound.isEmpty }

    public var waitingBytes: Int { waitingCount }

    public var hasMore: Bool { hasLeftInput }

    public var hasRoom: Bool { waitingCount < Self.outboundLimit }

    public func receive(
        arrived: (ArraySlice<UInt8>) -> Void,
        _ handle: (ArraySlice<UInt8>) -> Void
    ) throws(ConnectionLoss) {
        var share = Self.packetsPerReceive
        defer { hasLeftInput = share == 0 }
        var failure = takeIn(&share, arrived)
        try checkForDrops()
        var handled = 0
        while inbound.popFirst(into: &packet) {
            handle(packet[...])
            handled += 1
            if handled % Self.packetsBetweenReads == 0, failure == nil { failure = takeIn(&share, arrived) }
        }
        if let failure { throw failure }
    }

    /// Moves what the kernel holds into `inbound`.
    /// - Returns: how the connection came to its end, if it has.
    private func takeIn(_ share: inout Int, _ arrived: (ArraySlice<UInt8>) -> Void) -> ConnectionLoss? {
        while share > 0 {
            let count = readBuffer.withUnsafeMutableBytes { Glibc.read(file.number, $0.baseAddress, $0.count) }
            if count > 0 {
                share -= 1
                let bytes = readBuffer.prefix(count)
                guard isWanted(bytes) else {
                    garbage.add(bytes)
                    continue
                }
                arrived(bytes)
                inbound.append { $0 += bytes }
            } else if count == 0 {
                return .closed(unfinishedPacketBytes: 0)
            } else {
                let error = SystemError.last
                if error.isWouldBlock { return nil }
                if !error.isInterrupted { return .failed(error) }
            }
        }
        return nil
    }

    private func isWanted(_ packet: ArraySlice<UInt8>) -> Bool {
        guard let type = packet.first else { return false }
        return HCIPacketType(rawValue: type) != nil
            || (kind == .virtualAdapter && type == VirtualAdapter.vendorPacketType)
    }

    /// A host that has missed an event or a piece of data knows neither its links nor its buffers any more.
    private func checkForDrops() throws(ConnectionLoss) {
        guard kind == .userChannel, let drops = file.droppedPackets(), drops != dropCount else { return }
        let missed = drops &- dropCount
        dropCount = drops
        inbound.removeAll()
        throw .overrun(packets: Int(missed))
    }

    public func takeGarbage() -> Garbage? {
        guard garbage.count > 0 else { return nil }
        defer { garbage = Garbage() }
        return garbage
    }

    public func send(_ packet: [UInt8]) {
        waitingCount += packet.count
        outbound.append { $0 += packet }
    }

    /// - Parameter acknowledging: nothing is acknowledged here.
    public func flush(acknowledging: Bool) throws(ConnectionLoss) {
        while true {
            if !hasHead { hasHead = outbound.popFirst(into: &head) }
            guard hasHead else { return }
            let count = head.withUnsafeBytes { Glibc.write(file.number, $0.baseAddress, $0.count) }
            if count < 0 {
                let error = SystemError.last
                if error.isInterrupted { continue }
                if error.isWouldBlock { return }
                // A virtual adapter that is not switched on has no host to tell anything, and that is no failure.
                guard kind == .virtualAdapter, error.code == ENXIO else { throw .failed(error) }
            }
            waitingCount -= head.count
            hasHead = false
        }
    }
}

extension FileDescriptor {
    /// How many packets the kernel has dropped because this socket's buffer was full; nil if it does not say.
    ///
    /// Source: socket(7), SO_MEMINFO; `linux/sock_diag.h` for the order of its values.
    fileprivate func droppedPackets() -> UInt32? {
        let count = Int(SK_MEMINFO_VARS)
        return withUnsafeTemporaryAllocation(of: UInt32.self, capacity: count) { values in
            values.initialize(repeating: 0)
            var size = socklen_t(count * MemoryLayout<UInt32>.size)
            let drops = Int(SK_MEMINFO_DROPS)
            guard getsockopt(number, SOL_SOCKET, SO_MEMINFO, values.baseAddress, &size) == 0,
                Int(size) >= (drops + 1) * MemoryLayout<UInt32>.size
            else { return nil }
            return values[drops]
        }
    }
}
