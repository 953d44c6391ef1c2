import FoundationEssentials
import NIOCore

/// The HCI packets of a watch as a pcap file that grows, which Wireshark reads from a pipe.
///
/// Source: the pcap file format (draft-ietf-opsawg-pcap), LINKTYPE_BLUETOOTH_HCI_H4_WITH_PHDR.
enum PacketCapture {
    /// A packet with its H4 type in front, the direction before it.
    private static let linkType: UInt32 = 201
    /// The longest packet.
    private static let snapLength: UInt32 = 65_539

    /// A line of control after `packets`.
    private struct Line: Decodable {
        struct Packet: Decodable {
            let at: Double
            let direction: String?
            let data: String?
            let lost: Int?
        }

        let packet: Packet
    }

    /// What the answer to `packets` has.
    private struct Answer: Decodable {
        let startedAt: Double
    }

    /// What a line says.
    enum Record: Equatable {
        case packet(ByteBuffer)
        case lost(Int)
    }

    /// The beginning of the file: times have microseconds.
    static var header: ByteBuffer {
        var bytes = ByteBuffer()
        bytes.writeMultipleIntegers(
            UInt32(0xA1B2_C3D4),
            UInt16(2),
            UInt16(4),
            Int32(0),
            UInt32(0),
            snapLength,
            linkType,
            endianness: .big
        )
        return bytes
    }

    /// When the watch was started, in seconds since 1970; nil if the line is no such answer.
    static func start(answer line: ByteBuffer) -> Double? {
        try? JSONDecoder().decode(Answer.self, from: Data(line.readableBytesView)).startedAt
    }

    /// What a line says; nil if it is about no packet.
    /// - Parameter start: when the watch was started, in seconds since 1970.
    static func record(_ line: ByteBuffer, since start: Double) -> Record? {
        guard let packet = (try? JSONDecoder().decode(Line.self, from: Data(line.readableBytesView)))?.packet else {
            return nil
        }
        if let lost = packet.lost { return .lost(lost) }
        guard let data = packet.data.flatMap(bytes(hexadecimal:)), let direction = packet.direction else { return nil }
        let microseconds = UInt64(max((start + packet.at) * 1_000_000, 0).rounded())
        let length = UInt32(data.count + 4)
        var record = ByteBuffer()
        record.writeMultipleIntegers(
            UInt32(truncatingIfNeeded: microseconds / 1_000_000),
            UInt32(microseconds % 1_000_000),
            length,
            length,
            // 0: sent by the host.
            UInt32(direction == "sent" ? 0 : 1),
            endianness: .big
        )
        record.writeBytes(data)
        return .packet(record)
    }
}

/// The bytes that a text of hexadecimal digits stands for; nil if it has anything else.
func bytes(hexadecimal text: String) -> [UInt8]? {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(text.utf8.count / 2)
    var high: UInt8?
    for character in text.utf8 {
        let digit: UInt8
        switch character {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = character - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = character - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = character - UInt8(ascii: "A") + 10
        default: return nil
        }
        if let first = high {
            bytes.append(first << 4 | digit)
            high = nil
        } else {
            high = digit
        }
    }
    return high == nil ? bytes : nil
}
