import ByteCoding

/// A controller as far as a host needs one: each command is answered at once, and data packets are counted.
struct ScriptedController {
    /// What is returned after the status, by opcode: Core 5.4 with everything, or 4.0 with the least.
    private let returns: [UInt16: [UInt8]]
    /// How many data packets it has room for.
    let bufferCount: Int
    /// How long one may be.
    let bufferLength: Int
    /// Data packets that it has, by connection.
    private(set) var held: [UInt16: Int] = [:]

    /// Answered by Command Status.
    private static let asynchronous: Set<UInt16> = [0x200D, 0x2043, 0x0406, 0x2013, 0x2016, 0x2032, 0x2019, 0x041D]

    init(isRich: Bool) {
        returns = (isRich ? Self.richAnswers : Self.fewAnswers).mapValues { [UInt8](hexadecimal: $0) ?? [] }
        (bufferCount, bufferLength) = isRich ? (3, 251) : (2, 54)
    }

    private static let richAnswers: [UInt16: String] = [
        0x1001: "0d00000d59000000", 0x1002: String(repeating: "ff", count: 64), 0x1003: "0000000060000000",
        0x1009: "000000000000", 0x2003: "ff59010000000000", 0x2002: "fb0003", 0x201C: "ff03000000000000",
        0x202F: "fb004808fb004808", 0x203A: "7206", 0x203B: "02", 0x200F: "08", 0x202A: "08", 0x2036: "04",
    ]

    private static let fewAnswers: [UInt16: String] = [
        0x1001: "060000060f000000", 0x1002: fewCommands, 0x1003: "0000000040000000", 0x1009: "1371da7d1a00",
        0x2003: "0100000000000000", 0x2002: "000000", 0x1005: "36004002000000", 0x201C: "ff03000000000000",
        0x200F: "04",
    ]

    /// What every controller of Core 4.0 has.
    private static let fewCommands =
        "2000000000c000000000000000000000a802000000000000000040f7fff70f"
        .padded(to: 128)

    /// The answer to a command packet.
    mutating func answer(to packet: [UInt8]) -> [UInt8] {
        guard packet.count >= 4 else { return [] }
        let opcode = UInt16(packet[1]) | UInt16(packet[2]) << 8
        // After a reset nothing is left of what it had.
        if opcode == 0x0C03 { held = [:] }
        if Self.asynchronous.contains(opcode) { return [0x04, 0x0F, 4, 0, 1, packet[1], packet[2]] }
        let more = returns[opcode] ?? []
        return [0x04, 0x0E, UInt8(4 + more.count), 1, packet[1], packet[2], 0] + more
    }

    /// Takes a data packet of the host.
    mutating func take(_ packet: [UInt8]) throws {
        try expect(packet.count >= 5, "a data packet of \(packet.count) bytes")
        let length = Int(packet[3]) | Int(packet[4]) << 8
        try expect(length == packet.count - 5, "a data packet says \(length) bytes and has \(packet.count - 5)")
        try expect(length <= bufferLength, "\(length) bytes for a buffer of \(bufferLength)")
        held[handle(of: packet), default: 0] += 1
        let count = held.values.reduce(0, +)
        try expect(count <= bufferCount, "\(count) packets for \(bufferCount) buffers")
    }

    /// What the host makes of an event, too: packets are done, a connection is gone.
    mutating func note(_ packet: [UInt8]) {
        guard packet.count >= 3, packet[0] == 0x04, Int(packet[2]) == packet.count - 3 else { return }
        switch packet[1] {
        case 0x05 where packet.count >= 7 && packet[3] == 0: held[Self.handle(packet[4], packet[5])] = nil
        case 0x13:
            var rest = packet[4...]
            while rest.count >= 4 {
                let part = Array(rest.prefix(4))
                rest = rest.dropFirst(4)
                let handle = Self.handle(part[0], part[1])
                guard let count = held[handle] else { continue }
                held[handle] = max(0, count - (Int(part[2]) | Int(part[3]) << 8))
            }
        // A connection with the handle of one that is there: that one is gone, and its packets with it.
        case 0x3E where packet.count >= 7 && [0x01, 0x0A].contains(packet[3]) && packet[4] == 0:
            held[Self.handle(packet[5], packet[6])] = nil
        // It was reset, or says that it failed: the host begins again.
        case 0x10: held = [:]
        default: break
        }
    }

    /// It says that it has sent everything.
    mutating func completed() -> [[UInt8]] {
        let all = held.filter { $0.value > 0 }.sorted { $0.key < $1.key }
        held = [:]
        return all.map { handle, count in
            [0x04, 0x13, 5, 1, UInt8(handle & 0xFF), UInt8(handle >> 8), UInt8(count & 0xFF), UInt8(count >> 8)]
        }
    }

    private func handle(of packet: [UInt8]) -> UInt16 { Self.handle(packet[1], packet[2]) }

    /// A handle has twelve bits; what stands above them says something else, or nothing.
    private static func handle(_ low: UInt8, _ high: UInt8) -> UInt16 { (UInt16(low) | UInt16(high) << 8) & 0x0FFF }
}

extension String {
    /// With zeros at its end.
    fileprivate func padded(to count: Int) -> String {
        self + String(repeating: "0", count: max(0, count - self.count))
    }
}
