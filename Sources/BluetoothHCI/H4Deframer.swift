import ByteCoding

/// Cuts a stream of bytes from a UART, or a socket that acts as one, into HCI packets.
///
/// H4 has no mark where a packet begins. When a byte cannot begin one, or a header cannot be one, the deframer skips
/// byte by byte until a header looks right again, and reports what it skipped. What it holds is bounded by the longest
/// packet, as long as the owner takes items until there are none after each `append`.
///
/// Source: Core 5.4, Vol 4, Part A, 2.
public struct H4Deframer: Sendable {
    /// Which end of the wire the bytes come from: the two send different kinds of packet.
    public enum Source: Sendable {
        /// The host, which sends commands and data.
        case host
        /// The controller, which sends events and data.
        case controller
    }

    /// What `nextItem(into:)` found.
    public enum Item: Hashable, Sendable {
        /// A whole packet, from its packet type byte on.
        case packet
        /// Bytes that no packet begins with: at most `maximumGarbage` at once.
        case garbage
    }

    /// How many skipped bytes are reported at once.
    package static let maximumGarbage = 256
    /// The most octets that a header may announce behind itself, unless told otherwise. It applies to every packet type, but
    /// only ACL and isochronous data can be longer: their length has more than 8 bits. It is more than any LE controller
    /// has, and little enough for a header made of garbage not to swallow much.
    public static let defaultMaximumDataLength = 4096

    private let source: Source
    private let maximumDataLength: Int
    private var bytes: [UInt8] = []
    private var start = 0

    /// Makes a deframer for the bytes that one end sends.
    /// - Parameters:
    ///   - source: which end; packets of a kind that it does not send are garbage.
    ///   - maximumDataLength: the most octets that a header may announce behind itself; a header with more is garbage.
    public init(from source: Source, maximumDataLength: Int = H4Deframer.defaultMaximumDataLength) {
        self.source = source
        self.maximumDataLength = maximumDataLength
    }

    /// How many bytes are held back because their packet is not whole.
    package var bufferedCount: Int { bytes.count - start }

    /// Adds bytes as they come, in chunks of any size.
    public mutating func append(_ chunk: some Collection<UInt8>) {
        if start > 0 {
            bytes.removeFirst(min(start, bytes.count))
            start = 0
        }
        bytes.append(contentsOf: chunk)
    }

    /// How many bytes to append, at least, before there can be another item; 1 while the header says nothing of that.
    public var missingCount: Int {
        if case .incomplete(let missing) = length(at: bytes.dropFirst(start)) { missing } else { 1 }
    }

    /// Takes the next packet or the next skipped bytes into `buffer`, replacing its content.
    /// - Returns: nil, with `buffer` untouched, when more bytes are needed.
    public mutating func nextItem(into buffer: inout [UInt8]) -> Item? {
        let waiting = bytes.dropFirst(start)
        guard let found = nextItem(at: waiting) else { return nil }
        buffer.removeAll(keepingCapacity: true)
        buffer.append(contentsOf: waiting.prefix(found.count))
        start += found.count
        return found.item
    }

    /// Finds the next packet or the next bytes to skip at the front of bytes that stay where they are: what this deframer holds
    /// has no part in it.
    /// - Returns: what it is, and how many bytes it takes; nil when more bytes are needed.
    public func nextItem(at waiting: ArraySlice<UInt8>) -> (item: Item, count: Int)? {
        var skipped = 0
        scan: while skipped < Self.maximumGarbage {
            switch length(at: waiting.dropFirst(skipped)) {
            case .packet(let count):
                guard skipped == 0 else { break scan }
                return (.packet, count)
            case .incomplete: break scan
            case .impossible: skipped += 1
            }
        }
        return skipped > 0 ? (.garbage, skipped) : nil
    }

    private enum Header {
        /// A packet of this many bytes, all of them there.
        case packet(Int)
        /// It may become a packet when more bytes come: at least this many.
        case incomplete(missing: Int)
        /// No packet begins like this.
        case impossible
    }

    private func length(at bytes: ArraySlice<UInt8>) -> Header {
        var reader = ByteReader(bytes)
        guard let typeByte = try? reader.readUInt8("h4.type") else { return .incomplete(missing: 1) }
        guard let type = HCIPacketType(rawValue: typeByte), isSent(type) else { return .impossible }
        guard let header = try? Self.header(of: type, &reader) else { return .incomplete(missing: 1) }
        guard header.isPlausible, header.length <= maximumDataLength else { return .impossible }
        guard reader.count >= header.length else { return .incomplete(missing: header.length - reader.count) }
        return .packet(bytes.count - reader.count + header.length)
    }

    private func isSent(_ type: HCIPacketType) -> Bool {
        switch type {
        case .command: source == .host
        case .event: source == .controller
        case .acl, .sco, .iso: true
        }
    }

    /// How many bytes follow a header, and whether its other fields can be right.
    private static func header(
        of type: HCIPacketType,
        _ reader: inout ByteReader
    ) throws(ByteDecodingError) -> (length: Int, isPlausible: Bool) {
        switch type {
        case .command:
            let opcode = try reader.readLittleEndian("command.opcode", as: UInt16.self)
            return (Int(try reader.readUInt8("command.length")), opcode != 0)
        case .event:
            let code = try reader.readUInt8("event.code")
            let length = try reader.readUInt8("event.length")
            // Codes above the Core's last and below the manufacturers' are not used.
            let isVendor = code == HCIEventCode.vendor.rawValue
            return (Int(length), code != 0 && (code < firstUnusedEventCode || isVendor))
        case .acl:
            let handle = try reader.readLittleEndian("acl.handle", as: UInt16.self) & 0x0FFF
            let length = try reader.readLittleEndian("acl.length", as: UInt16.self)
            return (Int(length), handle <= ConnectionHandle.maximum)
        case .sco:
            let handle = try reader.readLittleEndian("sco.handle", as: UInt16.self) & 0x0FFF
            let length = try reader.readUInt8("sco.length")
            return (Int(length), handle <= ConnectionHandle.maximum)
        case .iso:
            let handle = try reader.readLittleEndian("iso.handle", as: UInt16.self) & 0x0FFF
            // The two bits above the length are reserved.
            let length = try reader.readLittleEndian("iso.length", as: UInt16.self) & 0x3FFF
            return (Int(length), handle <= ConnectionHandle.maximum)
        }
    }

    private static let firstUnusedEventCode: UInt8 = 0x80
}
