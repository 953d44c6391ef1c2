import AirSimulator
import BluetoothHCI
import ByteCoding

/// Simulated controllers and the air between them, with hosts that send anything and read when they like. Through the air they are
/// each other's peers: what one host asks of its link layer, the other's has to bear.
///
/// What must hold: time passes; each command is answered once; what comes out is HCI; no more data packets are called completed than
/// were sent; and after a reset two controllers connect and carry data.
struct ControllerMachine {
    /// A command, and where a connection's handle and a peer's address are in it.
    private struct Template: Sendable {
        let bytes: [UInt8]
        let handle: Int?
        let address: Int?

        /// From hexadecimal digits: `HHHH` is a handle, `AAAAAAAAAAAA` an address.
        init(_ digits: String) {
            func place(of mark: String) -> Int? {
                digits.range(of: mark).map { digits.distance(from: digits.startIndex, to: $0.lowerBound) / 2 }
            }
            (handle, address) = (place(of: "HHHH"), place(of: "AAAAAAAAAAAA"))
            let plain = digits.replacing("HHHH", with: "0000").replacing("AAAAAAAAAAAA", with: "000000000000")
            bytes = [UInt8](hexadecimal: plain) ?? []
        }
    }

    private static let templates: [Template] = [
        "01030c00", "01010c08ffffffffffffffff", "01012008ffffffffffffffff", "010520060605040302d0",
        "0106200f200020000000000000000000000700", "0108202003020106" + String(repeating: "00", count: 28),
        "010a200101", "010a200100", "010b200701100010000000", "010c20020100", "010c20020000",
        "010d2019100010000000AAAAAAAAAAAA00180018000000480000000000", "010e2000", "0111200700AAAAAAAAAAAA",
        "01102000", "0113200eHHHH180028000000480000000000", "01162002HHHH", "011d0402HHHH", "01060403HHHH13",
        "0119201cHHHH" + String(repeating: "07", count: 26), "011a2012HHHH" + String(repeating: "07", count: 16),
        "011b2002HHHH", "0120200eHHHH180028000000480000000000", "01212003HHHH3b", "01222006HHHHfb004808",
        "01242004fb004808", "01362019001300200000200000070000AAAAAAAAAAAA007f0100010000",
        "0137200700030103020106", "01392006010100000000", "01392006000100000000", "014120080000010110001000",
        "01422006010000000000", "0143201a000000AAAAAAAAAAAA0110001000180018000000480000000000",
        "01322007HHHH0002020000", "01302002HHHH",
        "0127202700AAAAAAAAAAAA" + String(repeating: "05", count: 32),
        "012d200101", "01310c0101", "01330c07ff000001000000", "01350c0501HHHH0100", "013c200100", "013d2000",
        "01182000", "01172020" + String(repeating: "0a", count: 32), "01091000", "01022000", "01032000", "01021000",
        "01051000", "012f2000", "01352007000605040302d0",
    ].map(Template.init)

    private static let qualities: [LinkQuality] = [.perfect, .outOfRange]
    private static let kinds: [ControllerConfiguration] = [.modern, .legacy, .legacyWithDataLength]
    private static let mostMoments = 400_000
    private static let hostNumberOfCompletedPackets: UInt16 = 0x0C35

    private var air: Air
    private let controllers: [ControllerID]
    private var program: FuzzProgram
    private var digest = FuzzDigest()
    private var now = Duration.zero
    private var moments = 0
    /// The connection that each has had last.
    private var handles: [UInt16]
    /// Data packets that a host has sent and that were not called completed, by controller and handle.
    private var sent: [[UInt16: Int]]
    private var answered: [UInt16: Int] = [:]
    private var received: [[UInt8]] = []

    static func run(_ input: ArraySlice<UInt8>) throws -> UInt64 {
        var machine = ControllerMachine(input)
        var steps = 0
        while !machine.program.isAtEnd, steps < 200 {
            try machine.step()
            steps += 1
        }
        try machine.finish()
        return machine.digest.value
    }

    private init(_ input: ArraySlice<UInt8>) {
        program = FuzzProgram(input)
        air = Air(seed: UInt64(program.byte()))
        var controllers: [ControllerID] = []
        for _ in 0..<3 { controllers.append(air.addController(Self.kinds[program.number(below: Self.kinds.count)])) }
        self.controllers = controllers
        handles = controllers.map { _ in 0x0040 }
        sent = controllers.map { _ in [:] }
    }

    private mutating func step() throws {
        let place = program.number(below: controllers.count)
        switch program.number(below: 16) {
        case 0...6:
            let template = Self.templates[program.number(below: Self.templates.count)]
            try command(program.variation(of: filled(template, for: place)), by: place)
        case 7:
            let opcode = program.word()
            let parameters = program.piece()
            try command(
                [0x01, UInt8(opcode & 0xFF), UInt8(opcode >> 8), UInt8(parameters.count)] + parameters,
                by: place
            )
        case 8: give(program.piece(), by: place)
        case 9, 10: sendData(program.piece(), boundary: UInt16(program.number(below: 4)), by: place)
        case 11, 12: try advance(by: min(program.span(), .seconds(10)))
        case 13:
            let other = program.number(below: controllers.count)
            let quality = Self.qualities[program.number(below: Self.qualities.count)]
            air.setLinkQuality(quality, between: controllers[place], and: controllers[other])
        default: try drain()
        }
        // A host that reads nothing for a while is one of those that there are.
        if program.number(below: 4) != 0 { try drain() }
    }

    // MARK: What hosts do

    private func filled(_ template: Template, for place: Int) -> [UInt8] {
        var bytes = template.bytes
        if let start = template.handle {
            bytes[start] = UInt8(handles[place] & 0xFF)
            bytes[start + 1] = UInt8(handles[place] >> 8)
        }
        if let start = template.address, let peer = air.publicAddress(of: controllers[(place + 1) % controllers.count])
        {
            for index in 0..<6 { bytes[start + index] = UInt8(truncatingIfNeeded: peer.value >> (8 * UInt64(index))) }
        }
        return bytes
    }

    private mutating func give(_ packet: [UInt8], by place: Int) {
        if packet.first == 0x02, packet.count >= 5 {
            sent[place][Self.handle(packet[1], packet[2]), default: 0] += 1
        }
        air.receive(packet[...], from: controllers[place], at: now)
    }

    /// A command that is one is answered once, by Command Complete or Command Status, if the host reads.
    private mutating func command(_ packet: [UInt8], by place: Int) throws {
        try drain()
        give(packet, by: place)
        answered = [:]
        try drain()
        guard packet.count >= 4, packet[0] == 0x01, Int(packet[3]) == packet.count - 4 else { return }
        let opcode = UInt16(packet[1]) | UInt16(packet[2]) << 8
        guard opcode != Self.hostNumberOfCompletedPackets else { return }
        let count = answered[opcode] ?? 0
        try expect(count == 1, "command \([UInt8](packet.prefix(3)).hexadecimal) was answered \(count) times")
    }

    private mutating func sendData(_ data: [UInt8], boundary: UInt16, by place: Int) {
        var packet: [UInt8] = [0x02]
        packet.appendLittleEndian(handles[place] | boundary << 12)
        packet.appendLittleEndian(UInt16(data.count))
        give(packet + data, by: place)
    }

    private mutating func advance(by span: Duration) throws {
        let end = now + span
        while let deadline = air.nextDeadline, deadline <= end {
            let before = now
            now = max(now, deadline)
            air.advance(to: now)
            moments += 1
            try expect(air.nextDeadline.map { $0 > now } ?? true, "time stands still at \(before)")
            try expect(moments < Self.mostMoments, "\(moments) moments up to \(now)")
        }
        now = end
        air.advance(to: now)
    }

    // MARK: What comes out

    private mutating func drain() throws {
        var buffer: [UInt8] = []
        received = []
        for place in controllers.indices {
            var count = 0
            while air.nextPacket(from: controllers[place], into: &buffer) {
                count += 1
                try expect(count <= 8192, "a controller has \(count) packets at one moment")
                digest.add(buffer)
                try note(buffer, of: place)
            }
        }
        while let event = air.nextEvent() { digest.add(event.description) }
    }

    private mutating func note(_ packet: [UInt8], of place: Int) throws {
        let body = packet.dropFirst()
        switch packet.first {
        case 0x02:
            try expect((try? ACLPacket(body: body)) != nil, "\(packet.hexadecimal) is no data packet")
            received.append(packet)
        case 0x04:
            try expect((try? HCIEvent(body: body)) != nil, "\(packet.hexadecimal) is no event")
            try note(event: packet, of: place)
        default: throw FuzzFinding("\(packet.hexadecimal) is no packet for a host")
        }
    }

    private mutating func note(event: [UInt8], of place: Int) throws {
        switch event[1] {
        case 0x0E where event.count >= 6: answered[UInt16(event[4]) | UInt16(event[5]) << 8, default: 0] += 1
        case 0x0F where event.count >= 7: answered[UInt16(event[5]) | UInt16(event[6]) << 8, default: 0] += 1
        case 0x05 where event.count >= 6 && event[3] == 0: sent[place][Self.handle(event[4], event[5])] = nil
        case 0x13:
            var rest = event[4...]
            while rest.count >= 4 {
                let part = Array(rest.prefix(4))
                rest = rest.dropFirst(4)
                let handle = Self.handle(part[0], part[1])
                let left = (sent[place][handle] ?? 0) - (Int(part[2]) | Int(part[3]) << 8)
                try expect(left >= 0, "\(-left) packets of \(handle) are completed that were never sent")
                sent[place][handle] = left
            }
        case 0x3E where event.count >= 7 && [0x01, 0x0A, 0x29].contains(event[3]) && event[4] == 0:
            handles[place] = Self.handle(event[5], event[6])
        default: break
        }
    }

    private static func handle(_ low: UInt8, _ high: UInt8) -> UInt16 { (UInt16(low) | UInt16(high) << 8) & 0x0FFF }

    // MARK: The end

    /// Two hosts that mean well: one advertises, the other connects and sends something.
    private mutating func finish() throws {
        try drain()
        for place in controllers.indices {
            try command([UInt8](hexadecimal: "01030c00") ?? [], by: place)
            sent[place] = [:]
        }
        air.setLinkQuality(.perfect, between: controllers[0], and: controllers[1])
        try advance(by: .seconds(40))
        try drain()
        handles = [0, 0, 0]
        let peripheral = ["01010c08ffffffffffffff3f", "0106200f200020000000000000000000000700", "010a200101"]
        for digits in peripheral { try command([UInt8](hexadecimal: digits) ?? [], by: 0) }
        try command([UInt8](hexadecimal: "01010c08ffffffffffffff3f") ?? [], by: 1)
        let connect = Template("010d2019100010000000AAAAAAAAAAAA00180018000000480000000000")
        var bytes = filled(connect, for: 1)
        let peer = air.publicAddress(of: controllers[0])?.value ?? 0
        for index in 0..<6 { bytes[10 + index] = UInt8(truncatingIfNeeded: peer >> (8 * UInt64(index))) }
        try command(bytes, by: 1)
        try advance(by: .seconds(5))
        try drain()
        try expect(handles[0] != 0 && handles[1] != 0, "two controllers do not connect afterwards")
        sendData([0x03, 0x00, 0x04, 0x00, 1, 2, 3], boundary: 0, by: 1)
        try advance(by: .seconds(1))
        try drain()
        try expect(received.contains { $0.suffix(3) == [1, 2, 3] }, "data do not arrive afterwards")
    }
}
