import ByteCoding

/// A frame of PULSEv2, the protocol of a firmware's console: PPP with a framing of its own.
///
/// On the wire: the flag 0x55, then COBS of the protocol's number (2 bytes, big-endian), the information and the check sequence
/// (CRC-32, 4 bytes, little-endian), in which each 0x55 is written as 0x00, and the flag again. One flag may stand between two
/// frames. (PebbleOS, docs/pulse2/pulse2.md, Link Layer.)
package struct PulseFrame: Sendable, Equatable {
    /// What begins and ends a frame.
    package static let flag: UInt8 = 0x55
    /// How many bytes of information a frame has at most, on either side.
    package static let maximumInformation = 1500
    /// How many bytes of a frame are its protocol's number and its check sequence.
    static let overhead = 6

    /// What the information is.
    package var protocolID: PulseProtocol
    /// What the frame carries.
    package var information: [UInt8]

    /// A frame of a protocol.
    package init(_ protocolID: PulseProtocol, _ information: [UInt8]) {
        self.protocolID = protocolID
        self.information = information
    }

    /// The frame as it is on the wire, with both flags.
    package var bytes: [UInt8] {
        var content: [UInt8] = []
        content.appendBigEndian(protocolID.rawValue)
        content += information
        content.appendLittleEndian(FrameCheckSequence.of(content[...]))
        let stuffed = ByteStuffing.encode(content[...]).map { $0 == Self.flag ? 0 : $0 }
        return [Self.flag] + stuffed + [Self.flag]
    }

    /// Reads what stands between two flags; nil if it is no frame.
    init?(stuffed: [UInt8]) {
        let bytes = stuffed.map { $0 == 0 ? Self.flag : $0 }
        guard let content = ByteStuffing.decode(bytes[...]), content.count >= Self.overhead else { return nil }
        var reader = ByteReader(content[...])
        guard let number: UInt16 = try? reader.readBigEndian("pulse.protocol"),
            let information = try? reader.readBytes(content.count - Self.overhead, "pulse.information"),
            let check: UInt32 = try? reader.readLittleEndian("pulse.fcs"),
            check == FrameCheckSequence.of(content.dropLast(4))
        else { return nil }
        self.init(PulseProtocol(rawValue: number), Array(information))
    }
}

/// The number of a protocol in PULSE frames, as in PPP.
package struct PulseProtocol: RawRepresentable, Sendable, Hashable {
    package var rawValue: UInt16
    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The Link Control Protocol (RFC 1661).
    package static let linkControl = PulseProtocol(rawValue: 0xC021)
    /// What the firmware pushes without a link, such as its log.
    package static let push = PulseProtocol(rawValue: 0x5021)
    /// The control protocol of the reliable transport, TRAIN.
    package static let trainControl = PulseProtocol(rawValue: 0xBA33)
    /// Commands of the reliable transport.
    package static let trainCommand = PulseProtocol(rawValue: 0x3A33)
    /// Its responses.
    package static let trainResponse = PulseProtocol(rawValue: 0x3A35)
}

/// Finds PULSE frames in a stream. What is no frame, or has a wrong check sequence, is passed over.
package struct PulseDeframer: Sendable {
    /// How many bytes may stand between two flags: the longest frame, and what COBS adds to it.
    static let longest = PulseFrame.maximumInformation + PulseFrame.overhead + 16

    private var stuffed: [UInt8] = []
    /// Whether a flag has come, and everything since is kept.
    private var isInFrame = false
    private var waiting: ArraySlice<UInt8> = []
    /// How many pieces between two flags were no frame.
    package private(set) var brokenCount: UInt64 = 0

    /// A stream of which no byte has come.
    package init() {}

    /// Takes bytes; then call ``nextFrame()`` until it returns nil.
    package mutating func receive(_ bytes: ArraySlice<UInt8>) { waiting += bytes }

    /// The next whole frame.
    package mutating func nextFrame() -> PulseFrame? {
        while let byte = waiting.popFirst() {
            if byte != PulseFrame.flag {
                guard isInFrame else { continue }
                stuffed.append(byte)
                if stuffed.count > Self.longest { abandon() }
                continue
            }
            isInFrame = true
            // Two flags in a row are an empty frame, which means nothing.
            guard !stuffed.isEmpty else { continue }
            defer { stuffed.removeAll(keepingCapacity: true) }
            if let frame = PulseFrame(stuffed: stuffed) { return frame }
            brokenCount &+= 1
        }
        waiting = []
        return nil
    }

    /// What is longer than any frame is none: everything up to the next flag is passed over.
    private mutating func abandon() {
        isInFrame = false
        brokenCount &+= 1
        stuffed.removeAll(keepingCapacity: true)
    }
}

/// Consistent Overhead Byte Stuffing: bytes without zeros. (S. Cheshire and M. Baker, IEEE/ACM Transactions on Networking 7, 1999.)
enum ByteStuffing {
    /// The longest run of bytes behind one code.
    private static let longestRun = 254

    static func encode(_ bytes: ArraySlice<UInt8>) -> [UInt8] {
        var stuffed: [UInt8] = []
        stuffed.reserveCapacity(bytes.count + bytes.count / longestRun + 1)
        var rest = bytes
        while true {
            let run = rest.prefix(longestRun).prefix { $0 != 0 }
            stuffed.append(UInt8(run.count + 1))
            stuffed += run
            rest = rest.dropFirst(run.count)
            if rest.isEmpty { return stuffed }
            // The zero that ended the run is what its code says; a run of full length stands for no zero.
            if run.count < longestRun { rest = rest.dropFirst() }
        }
    }

    /// Takes the stuffing out; nil if bytes are no such encoding.
    static func decode(_ stuffed: ArraySlice<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = stuffed
        while let code = rest.popFirst() {
            let run = rest.prefix(Int(code) - 1)
            guard code > 0, run.count == Int(code) - 1, !run.contains(0) else { return nil }
            bytes += run
            rest = rest.dropFirst(run.count)
            if Int(code) <= longestRun, !rest.isEmpty { bytes.append(0) }
        }
        return bytes
    }
}

/// The check sequence of PULSE frames: CRC-32 with polynomial 0x04C11DB7, reflected, as in Ethernet and PPP.
enum FrameCheckSequence {
    static func of(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        ~bytes.reduce(UInt32.max) { table[Int(UInt8(truncatingIfNeeded: $0) ^ $1)] ^ $0 >> 8 }
    }

    private static let polynomial: UInt32 = 0xEDB8_8320
    private static let table: [UInt32] = (0..<256 as Range<UInt32>).map { byte in
        (0..<8).reduce(byte) { word, _ in word >> 1 ^ (word & 1 == 1 ? polynomial : 0) }
    }
}
