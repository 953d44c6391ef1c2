import BluetoothHCI
import BluetoothHost
import ByteCoding

/// A server host with one open channel, whose K-frames fill a link layer packet of 251 octets each.
struct ChannelHost {
    /// How many bytes of a stream one K-frame carries: 251 octets less both headers.
    static let byteCount = 245

    var driver: HCIDriver<LEHost>
    let channel: Channel.ID

    /// Peers call their end so.
    private static let peerCID: UInt16 = 0x0050
    /// Signaling (Core 5.4, Vol 3, Part A, 2.1).
    private static let signaling: UInt16 = 0x0005

    init() throws {
        var driver = try ServerHost.connected(try ServerHost.database(attributeCount: 40))
        let spsm = try driver.host.channels.listen(ChannelListener(requirement: .open))
        // LE Credit Based Connection Request: MTU 245, MPS 247, and as many credits as there can be.
        driver.deliver(length: 14, on: Self.signaling) {
            $0 += [0x14, 0x01, 10, 0]
            for number in [spsm.rawValue, Self.peerCID, UInt16(Self.byteCount), UInt16(Self.byteCount + 2), 60000] {
                $0.appendLittleEndian(number)
            }
        }
        _ = driver.takePackets { _ in }
        guard let channel = driver.host.channels.all.first else { throw WorkloadFailure("the channel did not open") }
        self.driver = driver
        self.channel = channel.id
    }

    /// Lets the host send this many K-frames more.
    mutating func grant(_ credits: UInt16) {
        driver.deliver(length: 8, on: Self.signaling) {
            $0 += [0x16, 0x02, 4, 0]
            $0.appendLittleEndian(Self.peerCID)
            $0.appendLittleEndian(credits)
        }
    }

    /// A packet with a K-frame that is a whole SDU.
    func packet(_ bytes: [UInt8], to local: ChannelID) -> [UInt8] {
        driver.packet(length: 2 + bytes.count, on: local.rawValue) {
            $0.appendLittleEndian(UInt16(bytes.count))
            $0 += bytes
        }
    }
}

/// A host to which a peer sends K-frames of 245 bytes, each a whole SDU, which it reads as a stream.
private struct ChannelReader {
    var driver: HCIDriver<LEHost>
    private let channel: Channel.ID
    private let packet: [UInt8]
    private var buffer: [UInt8] = []
    private var byteCount = 0

    init() throws {
        let host = try ChannelHost()
        guard let channel = host.driver.host.channels[host.channel] else { throw WorkloadFailure("no channel") }
        packet = host.packet((0..<ChannelHost.byteCount).map { UInt8(truncatingIfNeeded: $0) }, to: channel.localCID)
        driver = host.driver
        self.channel = host.channel
    }

    /// A K-frame comes, is read, and the credits leave that are given for it.
    mutating func readFrame() {
        driver.deliver(packet)
        buffer.removeAll(keepingCapacity: true)
        byteCount += driver.host.channels.read(from: channel, into: &buffer, at: driver.now)
        _ = driver.takePackets { _ in }
    }

    /// Checks that `count` frames have been read since the last check.
    mutating func expect(_ count: Int) throws(WorkloadFailure) {
        guard byteCount == count * ChannelHost.byteCount else {
            throw WorkloadFailure("\(byteCount) bytes of \(count) frames came")
        }
        byteCount = 0
    }
}

/// A K-frame of 245 bytes in, read as a stream, and the credits that are given for it.
struct ChannelReceiveWorkload: Workload {
    private var reader: ChannelReader

    init() throws { reader = try ChannelReader() }

    mutating func run(_ count: Int) throws(WorkloadFailure) {
        for _ in 0..<count { reader.readFrame() }
        try reader.expect(count)
    }
}

/// A turn of a loop in which a K-frame comes: a moment passes, the host takes it and is asked for packets, and when it is due.
struct HostTurnWorkload: Workload {
    private var reader: ChannelReader

    init() throws { reader = try ChannelReader() }

    mutating func run(_ count: Int) throws(WorkloadFailure) {
        for _ in 0..<count {
            reader.driver.advance(by: .zero)
            reader.readFrame()
            if let deadline = Self.deadline(of: &reader.driver.host), deadline <= reader.driver.now {
                throw WorkloadFailure("the host has something to do at once")
            }
        }
        try reader.expect(count)
    }

    /// Asked where the host stands: a property that is read is a copy of all of it.
    private static func deadline(of host: inout LEHost) -> Duration? { host.nextDeadline }
}

/// 245 bytes written to a stream, a K-frame out, and the buffer given back.
struct ChannelSendWorkload: Workload {
    private var host: ChannelHost
    private let bytes = (0..<ChannelHost.byteCount).map { UInt8(truncatingIfNeeded: $0) }
    private var untilGrant = Self.grant

    /// The peer gives credits after so many K-frames.
    private static let grant = 1000

    init() throws { host = try ChannelHost() }

    mutating func run(_ count: Int) throws(WorkloadFailure) {
        var good = 0
        for _ in 0..<count {
            untilGrant -= 1
            if untilGrant == 0 {
                untilGrant = Self.grant
                host.grant(UInt16(Self.grant))
            }
            guard host.driver.host.channels.write(bytes[...], to: host.channel, at: host.driver.now) == bytes.count
            else {
                break
            }
            _ = host.driver.takePackets { if $0.count == 2 + ChannelHost.byteCount { good += 1 } }
        }
        guard good == count else { throw WorkloadFailure("\(good) of \(count) frames were sent") }
    }
}
