import BluetoothHCI
import ByteCoding
import LinuxBluetooth

/// A packet between a host and its controller, as a capture has it.
package struct CapturedPacket: Hashable, Sendable {
    /// When, in microseconds since 1970-01-01 00:00 UTC.
    package var microseconds: Int64
    /// Whether the host sent it.
    package var isFromHost: Bool
    /// The packet with its H4 type in front.
    package var bytes: ArraySlice<UInt8>
    /// How many octets the capturing program cut off its end.
    package var missingCount: Int
    /// How many packets the capturing program has lost before this one, since the capture began.
    package var drops: UInt32

    /// A packet by what a capture says of it.
    package init(
        microseconds: Int64,
        isFromHost: Bool,
        bytes: ArraySlice<UInt8>,
        missingCount: Int = 0,
        drops: UInt32 = 0
    ) {
        self.microseconds = microseconds
        self.isFromHost = isFromHost
        self.bytes = bytes
        self.missingCount = missingCount
        self.drops = drops
    }
}

/// Why some bytes are no capture, or no whole one.
package enum CaptureProblem: Error, Hashable, Sendable {
    /// There are no bytes at all.
    case empty
    /// The bytes do not begin as a capture does.
    case notACapture
    /// They are a capture of a kind that is not read: which, and how to make another of it.
    case unsupported(String, advice: String)
    /// A record cannot be right: nothing behind it can be found. `offset` is in octets from the beginning.
    case damaged(offset: Int)
    /// The bytes end within a record, or within the header. `offset` is where that begins.
    case truncated(offset: Int)
    /// The operating system does not give the bytes, with this number of an error.
    case unreadable(Int32)
}

/// Cuts a capture into packets, as its bytes come in: btsnoop with H4 packets, or with the type in the flags, and pcap with H4
/// packets.
///
/// What is held back is at most one record and what was handed in last.
///
/// Source: RFC 1761; Wireshark's `wiretap/btsnoop.c`; `pcap-savefile(5)`; https://www.tcpdump.org/linktypes.html.
package struct CaptureReader: Sendable {
    private enum Format {
        case btsnoop(hasType: Bool)
        case pcap(isBigEndian: Bool, ticksPerMicrosecond: Int64, hasDirection: Bool)
    }

    /// The longest record that can be right: the longest ACL packet, and room for what stands in front of it.
    private static let longestRecord = 0x10000 + 64

    private var format: Format?
    private var bytes: [UInt8] = []
    private var position = 0
    /// How many octets came before `bytes`.
    private var consumed = 0

    /// A capture of which no byte has come.
    package init() {}

    /// Takes the next bytes.
    package mutating func append(_ more: some Collection<UInt8>) {
        bytes.removeFirst(position)
        consumed += position
        position = 0
        bytes += more
    }

    /// The next packet; nil if more bytes are needed.
    package mutating func next() throws(CaptureProblem) -> CapturedPacket? {
        if format == nil { format = try readHeader() }
        switch format {
        case .btsnoop(let hasType): return try nextOfBtsnoop(hasType: hasType)
        case .pcap(let isBigEndian, let ticks, let hasDirection):
            return try nextOfPcap(isBigEndian, ticks, hasDirection)
        case nil: return nil
        }
    }

    /// Says that no byte follows.
    package func end() throws(CaptureProblem) {
        guard consumed + bytes.count > 0 else { throw .empty }
        guard format != nil || Btsnoop.identification.starts(with: bytes.prefix(Btsnoop.identification.count)) else {
            throw .notACapture
        }
        guard format != nil, position == bytes.count else { throw .truncated(offset: consumed + position) }
    }

    // MARK: - Headers

    private mutating func readHeader() throws(CaptureProblem) -> Format? {
        if bytes.starts(with: Btsnoop.identification) {
            guard let header = number(at: 8, UInt64.self, isBigEndian: true) else { return nil }
            position = 16
            switch (header >> 32, header & 0xFFFF_FFFF) {
            case (1, UInt64(Btsnoop.dataLinkH4)): return .btsnoop(hasType: true)
            case (1, 1001): return .btsnoop(hasType: false)
            case (1, 2001):
                throw .unsupported("a capture of Linux' monitor (btmon)", advice: Self.conversion)
            case let (version, link):
                throw .unsupported("btsnoop of version \(version) with data link \(link)", advice: Self.conversion)
            }
        }
        guard let mark = number(at: 0, UInt32.self, isBigEndian: true) else { return nil }
        switch mark {
        case 0xA1B2_C3D4: return try readPcapHeader(isBigEndian: true, ticks: 1)
        case 0xA1B2_3C4D: return try readPcapHeader(isBigEndian: true, ticks: 1000)
        case 0xD4C3_B2A1: return try readPcapHeader(isBigEndian: false, ticks: 1)
        case 0x4D3C_B2A1: return try readPcapHeader(isBigEndian: false, ticks: 1000)
        case 0x0A0D_0D0A: throw .unsupported("pcapng", advice: Self.conversion)
        default:
            // A mark that has only begun.
            if Btsnoop.identification.starts(with: bytes.prefix(Btsnoop.identification.count)) { return nil }
            throw .notACapture
        }
    }

    private static let conversion =
        "have tshark write what cairn reads: tshark -r CAPTURE -F btsnoop -w OTHER.btsnoop, or -F pcap"

    private mutating func readPcapHeader(isBigEndian: Bool, ticks: Int64) throws(CaptureProblem) -> Format? {
        guard let link = number(at: 20, UInt32.self, isBigEndian: isBigEndian) else { return nil }
        position = 24
        // The upper bits say whether a checksum follows each packet.
        switch link & 0xFFFF {
        case 187: return .pcap(isBigEndian: isBigEndian, ticksPerMicrosecond: ticks, hasDirection: false)
        case 201: return .pcap(isBigEndian: isBigEndian, ticksPerMicrosecond: ticks, hasDirection: true)
        case 251, 256:
            throw .unsupported("a capture of the air, by a sniffer", advice: "capture between host and controller")
        case let other:
            throw .unsupported("pcap with link type \(other), which is not Bluetooth's H4", advice: Self.conversion)
        }
    }

    // MARK: - Records

    private mutating func nextOfBtsnoop(hasType: Bool) throws(CaptureProblem) -> CapturedPacket? {
        guard let lengths = number(at: position, UInt64.self, isBigEndian: true),
            let words = number(at: position + 8, UInt64.self, isBigEndian: true),
            let time = number(at: position + 16, UInt64.self, isBigEndian: true)
        else { return nil }
        let original = Int(lengths >> 32)
        let included = Int(lengths & 0xFFFF_FFFF)
        guard included <= original, original <= Self.longestRecord else { throw .damaged(offset: consumed + position) }
        guard let data = slice(at: position + 24, included) else { return nil }
        let flags = words >> 32
        position += 24 + included
        let type: HCIPacketType = flags & 2 == 0 ? .acl : flags & 1 == 0 ? .command : .event
        return CapturedPacket(
            microseconds: Int64(bitPattern: time) &- Btsnoop.unixEpochMicroseconds,
            isFromHost: flags & 1 == 0,
            bytes: hasType ? data : ([type.rawValue] + data)[...],
            missingCount: original - included,
            drops: UInt32(truncatingIfNeeded: words)
        )
    }

    private mutating func nextOfPcap(
        _ isBigEndian: Bool,
        _ ticks: Int64,
        _ hasDirection: Bool
    ) throws(CaptureProblem) -> CapturedPacket? {
        guard let seconds = number(at: position, UInt32.self, isBigEndian: isBigEndian),
            let fraction = number(at: position + 4, UInt32.self, isBigEndian: isBigEndian),
            let included = number(at: position + 8, UInt32.self, isBigEndian: isBigEndian).map(Int.init),
            let original = number(at: position + 12, UInt32.self, isBigEndian: isBigEndian).map(Int.init)
        else { return nil }
        let pseudoHeader = hasDirection ? 4 : 0
        guard included <= original, original <= Self.longestRecord, included >= pseudoHeader else {
            throw .damaged(offset: consumed + position)
        }
        guard let data = slice(at: position + 16, included) else { return nil }
        position += 16 + included
        let packet = data.dropFirst(pseudoHeader)
        return CapturedPacket(
            microseconds: Int64(seconds) * 1_000_000 + Int64(fraction) / ticks,
            isFromHost: hasDirection ? data.prefix(4).last == 0 : Self.isFromHost(packet),
            bytes: packet,
            missingCount: original - included
        )
    }

    /// Which way a packet went whose capture does not say it. The host begins PDUs as not flushable, the controller as flushable
    /// (Core 5.4, Vol 4, Part E, 5.4.2); a fragment that follows says nothing, and counts as the host's.
    private static func isFromHost(_ packet: ArraySlice<UInt8>) -> Bool {
        switch packet.first.flatMap(HCIPacketType.init(rawValue:)) {
        case .event: false
        case .acl: (packet.dropFirst(2).first ?? 0) >> 4 & 0b11 != PacketBoundary.firstFlushable.rawValue
        case .command, .sco, .iso, nil: true
        }
    }

    private func slice(at offset: Int, _ count: Int) -> ArraySlice<UInt8>? {
        bytes.count - offset >= count ? bytes[offset..<(offset + count)] : nil
    }

    private func number<Value: FixedWidthInteger & UnsignedInteger>(
        at offset: Int,
        _ type: Value.Type,
        isBigEndian: Bool
    ) -> Value? {
        guard let octets = slice(at: offset, Value.bitWidth / 8) else { return nil }
        let ordered = isBigEndian ? Array(octets) : octets.reversed()
        return ordered.reduce(0) { $0 << 8 | Value($1) }
    }
}
