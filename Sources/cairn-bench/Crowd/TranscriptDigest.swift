import AirSimulator

/// A number that stands for all packets at the HCI boundaries of a run, with their times: two runs that differ in anything
/// have different ones, but for a chance of one in 2^64.
///
/// Source: the FNV-1a hash of 64 bits.
final class TranscriptDigest {
    private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325
    /// How many packets there were.
    private(set) var packets = 0

    func add(_ packet: Simulation.Packet) {
        packets += 1
        let (seconds, attoseconds) = packet.time.components
        add(UInt64(bitPattern: seconds))
        add(UInt64(bitPattern: attoseconds))
        for byte in "\(packet.controller)\(packet.isFromHost)".utf8 { add(byte) }
        for byte in packet.bytes { add(byte) }
    }

    private func add(_ number: UInt64) {
        for shift in stride(from: 0 as UInt64, to: 64, by: 8) { add(UInt8(truncatingIfNeeded: number >> shift)) }
    }

    private func add(_ byte: UInt8) { value = (value ^ UInt64(byte)) &* 0x100_0000_01B3 }

    /// The number, in hexadecimal.
    var text: String {
        let digits = String(value, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}
