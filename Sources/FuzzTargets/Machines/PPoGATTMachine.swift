import ByteCoding
import PebbleProtocol

/// A watch's end of PPoGATT and a phone's, and the air between them: the program loses, repeats and makes up packets.
///
/// What must hold: each session's stream arrives whole, in order and from its beginning, unless the program made packets up;
/// no more packets are on their way than was agreed; none is longer than the MTU allows; deadlines are near; queues are
/// bounded; and when the air is good again, everything that was sent arrives, or an end says that it gives up.
struct PPoGATTMachine {
    private static let carriers: [PPoGATTConfiguration.Carrier] = [.forward, .reversedV1, .reversedV2]
    private static let serial = "2DQ0135B3424"
    private static let meta: [UInt8] = [0, 1] + [UInt8](repeating: 0, count: 16) + [1]
    private static let mostEvents = 70

    /// One end, and what its application knows.
    private struct End {
        var link: PPoGATTLink
        /// Bytes of this session that the link took, and that came.
        var sentCount = 0
        var receivedCount = 0
        /// The oldest packet that is on its way, how many are, and how many may be.
        var oldest = 0
        var outstanding = 0
        var window = 0
        /// On the way to the other end.
        var air: [[UInt8]] = []
        var hasSessionEnded = false
    }

    private var ends: [End]
    private var program: FuzzProgram
    private var digest = FuzzDigest()
    private var now = Duration.seconds(1000)
    /// Whether the program has made a packet up: streams may be anything then.
    private var isForged = false
    private var work = 0
    private let carrier: PPoGATTConfiguration.Carrier

    static func run(_ input: ArraySlice<UInt8>) throws -> UInt64 {
        var machine = PPoGATTMachine(input)
        try machine.begin()
        while !machine.program.isAtEnd { try machine.step() }
        try machine.finish()
        return machine.digest.value
    }

    private init(_ input: ArraySlice<UInt8>) {
        program = FuzzProgram(input)
        let choice = program.byte()
        carrier = Self.carriers[Int(choice & 0x0F) % Self.carriers.count]
        let rules: PPoGATTRules = choice & 0x10 == 0 ? .pebbleOS : .originalFirmware
        let mtu = [64, 23, 185, 256][Int(choice >> 5 & 3)]
        ends = [
            End(link: PPoGATTLink(.watch(carrier, serialNumber: Self.serial, rules: rules), attMTU: mtu)),
            End(link: PPoGATTLink(.phone(carrier), attMTU: mtu)),
        ]
    }

    private mutating func begin() throws {
        if carrier != .forward || program.flag() { ends[1].link.start(at: now) }
        ends[0].link.start(at: now)
        try drain()
    }

    private mutating func step() throws {
        let side = program.flag() ? 1 : 0
        switch program.number(below: 12) {
        case 0, 1, 2: write(side, Int(program.word() & 0x07FF))
        case 3, 4, 5: try carry(side, fate: program.byte())
        case 6: try advance(by: program.span())
        case 7:
            isForged = true
            try receive(program.piece(), on: side)
        case 8:
            isForged = true
            try receive(program.variation(of: [program.byte(), 1, 2, 3]), on: side)
        case 9: ends[side].link.reset(at: now)
        case 10: for index in 0...1 { ends[index].link.attMTU = 23 + Int(program.byte()) }
        default:
            isForged = true
            ends[0].link.receiveMeta(program.variation(of: Self.meta)[...], at: now)
        }
        try drain()
    }

    // MARK: What the program does

    /// Each byte says where in the session it is.
    private mutating func write(_ side: Int, _ count: Int) {
        let start = ends[side].sentCount
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: (start + $0) % 251) }
        ends[side].sentCount += ends[side].link.send(bytes[...])
    }

    /// Brings what is on its way from an end; each packet comes once, not at all, or twice. Resets come once at most: nothing
    /// in the protocol tells a second one from that of a new session.
    private mutating func carry(_ side: Int, fate: UInt8) throws {
        var fate = fate
        while !ends[side].air.isEmpty {
            let packet = ends[side].air.removeFirst()
            let isReset = (packet.first ?? 0) & 7 >= 2
            defer { fate = fate >> 2 | fate << 6 }
            if fate & 3 == 3 { continue }
            try receive(packet, on: 1 - side)
            if fate & 3 == 2, !isReset { try receive(packet, on: 1 - side) }
        }
    }

    private mutating func receive(_ packet: [UInt8], on side: Int) throws {
        if let first = packet.first, first & 7 == 1, ends[side].link.state == .open {
            let distance = (Int(first >> 3) - ends[side].oldest + 32) % 32
            if distance < ends[side].outstanding {
                ends[side].oldest = (Int(first >> 3) + 1) % 32
                ends[side].outstanding -= distance + 1
            }
        }
        ends[side].link.receive(packet[...], at: now)
        try drain()
    }

    private mutating func advance(by span: Duration, carriesAll: Bool = false) throws {
        let end = now + span
        while let deadline = ends.compactMap(\.link.nextDeadline).min(), deadline <= end {
            now = max(now, deadline)
            for index in 0...1 { ends[index].link.advance(to: now) }
            try drain()
            if carriesAll { try settle() }
            work += 1
            try expect(work < 20_000, "time does not pass")
        }
        now = end
        for index in 0...1 { ends[index].link.advance(to: now) }
        try drain()
    }

    // MARK: What comes out

    private mutating func drain() throws {
        var buffer: [UInt8] = []
        var isQuiet = false
        while !isQuiet {
            isQuiet = true
            for side in 0...1 {
                try drainEvents(side)
                var packets = 0
                while ends[side].link.nextPacket(into: &buffer, at: now) {
                    isQuiet = false
                    packets += 1
                    try expect(packets < 200, "an end sends without end")
                    try note(buffer, from: side)
                    if ends[side].air.count < 256 { ends[side].air.append(buffer) }
                }
                if let deadline = ends[side].link.nextDeadline {
                    try expect(deadline <= now + .seconds(12), "a deadline \(deadline - now) ahead")
                }
                let link = ends[side].link
                try expect(
                    link.writableByteCount <= link.configuration.sendBufferCapacity,
                    "\(link.writableByteCount) bytes could be written"
                )
            }
        }
    }

    private mutating func note(_ packet: [UInt8], from side: Int) throws {
        digest.add(packet)
        let mtu = ends[side].link.attMTU
        try expect(!packet.isEmpty && packet.count <= mtu - 3, "\(packet.count) bytes at an MTU of \(mtu)")
        guard packet[0] & 7 == 0 else { return }
        let distance = (Int(packet[0] >> 3) - ends[side].oldest + 32) % 32
        try expect(distance < ends[side].window, "packet \(distance + 1) of a window of \(ends[side].window)")
        ends[side].outstanding = max(ends[side].outstanding, distance + 1)
    }

    private mutating func drainEvents(_ side: Int) throws {
        var count = 0
        while let event = ends[side].link.nextEvent() {
            count += 1
            try expect(count <= Self.mostEvents, "\(count) events wait")
            switch event {
            case .metaReadRequested: if side == 0 { ends[0].link.receiveMeta(Self.meta[...], at: now) }
            case .subscriptionRequested:
                ends[0].link.subscribed(at: now)
                if ends[1].link.state == .idle { ends[1].link.start(at: now) }
            case .opened(let session):
                digest.add("\(session)")
                let link = ends[side].link
                let air = ends[side].air
                ends[side] = End(link: link, window: session.transmitWindow, air: air)
            case .received(let bytes):
                digest.add(bytes)
                let start = ends[side].receivedCount
                ends[side].receivedCount += bytes.count
                guard !isForged else { break }
                for (offset, byte) in bytes.enumerated() {
                    let wanted = UInt8(truncatingIfNeeded: (start + offset) % 251)
                    try expect(byte == wanted, "byte \(start + offset) of a stream is \(byte), and not \(wanted)")
                }
            case .closed(let reason), .disconnectRequested(let reason):
                digest.add("\(reason)")
                ends[side].hasSessionEnded = true
                ends[side].window = 0
            case .failed(let failure):
                digest.add("\(failure)")
                ends[side].hasSessionEnded = true
            case .stalled: ends[side].hasSessionEnded = true
            case .spaceAvailable: break
            }
        }
    }

    // MARK: The end

    /// On good air and with nothing else to do, a byte is acknowledged before anybody grows impatient.
    private mutating func expectOneByteArrives() throws {
        for side in 0...1 {
            let resent = ends[side].link.statistics.retransmittedPackets
            write(side, 1)
            try drain()
            try settle()
            for _ in 0..<10 { try advance(by: .seconds(2), carriesAll: true) }
            let link = ends[side].link
            try expect(link.state == .open && link.undeliveredByteCount == 0, "a byte on good air was not acknowledged")
            try expect(link.statistics.retransmittedPackets == resent, "a byte on good air had to be sent again")
            try expect(ends[side].sentCount == ends[1 - side].receivedCount, "a byte on good air did not arrive")
        }
    }

    private mutating func settle() throws {
        while !ends[0].air.isEmpty || !ends[1].air.isEmpty {
            for side in 0...1 { try carry(side, fate: 0) }
            work += 1
            try expect(work < 20_000, "the two do not come to rest")
        }
    }

    private mutating func finish() throws {
        try settle()
        for _ in 0..<20 { try advance(by: .seconds(10), carriesAll: true) }
        let isOpen = ends.allSatisfy { $0.link.state == .open }
        if isOpen, !isForged {
            for side in 0...1 {
                let (sent, received) = (ends[side].sentCount, ends[1 - side].receivedCount)
                let left = ends[side].link.undeliveredByteCount
                try expect(left == 0, "\(left) bytes were not acknowledged on good air")
                try expect(sent == received, "of \(sent) acknowledged bytes \(received) arrived")
            }
            try expectOneByteArrives()
        }
        for side in 0...1 {
            // An end that waits for the other is one that the other has to know of.
            if case .awaitingResetComplete = ends[side].link.state {
                throw FuzzFinding("end \(side) waits for a reset although minutes have passed")
            }
        }
    }
}
