import BluetoothHCI
import BluetoothHost
import ByteCoding
import Testing

/// Core 5.4, Vol 3, Part A, 3.4 and 10.1.
@Suite("Credit-based channels: K-frames and credits")
struct ChannelFlowTests {
    static let sample = (0..<3000).map { UInt8(truncatingIfNeeded: $0 &* 7) }

    // MARK: Sending

    @Test("A stream becomes SDUs of at most the MTU and K-frames of at most the MPS that fill link layer packets")
    func segmentation() throws {
        var rig = try ChannelRig()
        // MTU 200, MPS 100: with packets of 27 octets, 77 is the longest that ends with a packet.
        let id = try rig.open(terms: "c800 6400 6400")
        #expect(rig.write(Array(Self.sample.prefix(300)), to: id) == 300)
        // More than an SDU waits: two full K-frames. The rest is one SDU of 148 bytes.
        let first = [152, 0] + Self.sample[0..<75]
        let second = Self.sample[75..<152]
        let third = [148, 0] + Self.sample[152..<227]
        let fourth = Self.sample[227..<300]
        #expect(
            rig.sent()
                == [[0x50, 0] + first, [0x50, 0] + second, [0x50, 0] + third, [0x50, 0] + fourth].map(\.hexadecimal)
        )
    }

    @Test("SDUs keep their boundaries; one that is too long, or does not fit into the buffer, is refused")
    func sdus() throws {
        var rig = try ChannelRig()
        let parameters = ChannelParameters(face: .sdus, transmitLimit: 100)
        let id = try rig.open(parameters, terms: "c800 1700 0300")
        #expect(throws: ChannelError.sduTooLong(maximum: 200)) {
            try rig.rig.host.channels.writeSDU(Self.sample.prefix(201), to: id, at: rig.rig.now)
        }
        try rig.rig.host.channels.writeSDU([1, 2, 3], to: id, at: rig.rig.now)
        try rig.rig.host.channels.writeSDU([], to: id, at: rig.rig.now)
        try rig.rig.host.channels.writeSDU(Self.sample.prefix(23), to: id, at: rig.rig.now)
        // No credit is left for the second K-frame of the third.
        let frames = ["5000 0300 010203", "5000 0000", "5000 1700" + Self.sample.prefix(21).hexadecimal]
        #expect(rig.sent() == frames.map(compact))
        try rig.rig.host.channels.writeSDU(Self.sample.prefix(50), to: id, at: rig.rig.now)
        #expect(throws: ChannelError.full) {
            try rig.rig.host.channels.writeSDU(Self.sample.prefix(50), to: id, at: rig.rig.now)
        }
        #expect(rig.signal("16 02 0400 5000 0100") == ["5000" + Self.sample[21..<23].hexadecimal])
        #expect(rig.channelEvents().writable == 0)
        #expect(rig.signal("16 03 0400 5000 0a00").count == 3)
        #expect(rig.channelEvents().writable == 1)
        // An SDU longer than the limit is taken when nothing else waits.
        try rig.rig.host.channels.writeSDU(Self.sample.prefix(200), to: id, at: rig.rig.now)
    }

    @Test("Without credits nothing is sent; each credit sends one K-frame; a full buffer says when it has room again")
    func credits() throws {
        var rig = try ChannelRig()
        let id = try rig.open(ChannelParameters(transmitLimit: 100), terms: "1700 1700 0000")
        #expect(rig.write(Array(Self.sample.prefix(150)), to: id) == 100)
        #expect(rig.rig.host.channels.writableCount(of: id) == 0)
        #expect(rig.write([1], to: id) == 0)
        #expect(rig.sent().isEmpty)
        #expect(rig.signal("16 02 0400 5000 0100") == [compact("5000 1500") + Self.sample[0..<21].hexadecimal])
        #expect(rig.channelEvents().writable == 0)
        #expect(rig.signal("16 03 0400 5000 0200").count == 2)
        #expect(rig.channelEvents().writable == 1)
        #expect(rig.signal("16 04 0400 5000 ffff").count == 2)
        // It is said once for each time that it was asked for.
        #expect(rig.channelEvents().writable == 0)
    }

    @Test("Bulk data leaves every second frame to ATT, and signaling goes first")
    func fairness() throws {
        var rig = try ChannelRig()
        let id = try rig.open(terms: "1700 1700 6400")
        rig.rig.give(HostRig.frame("4000", channel: "0400", "12 0700 0100"))
        _ = rig.sent()
        _ = rig.write(Array(Self.sample.prefix(210)), to: id)
        let level = try #require(rig.rig.host.gatt.database.handle(of: "level"))
        for value: UInt8 in 0..<3 {
            try rig.rig.host.gatt.notify([value], of: level, on: ChannelRig.handle, at: rig.rig.now)
        }
        rig.rig.give(HostRig.frame("4000", channel: "0500", "0a 05 0000"))
        let channels = rig.sent().map { String($0.prefix(2)) }
        #expect(channels == ["05", "50", "04", "50", "04", "50", "04", "50", "50", "50", "50", "50", "50", "50"])
    }

    @Test("Channels take turns")
    func turns() throws {
        var rig = try ChannelRig()
        let first = try rig.open(terms: "1700 1700 6400")
        _ = rig.signal("14 02 0a00 8000 5100 1700 1700 6400")
        let second = try #require(rig.channelEvents().opened.first).id
        for id in [first, second] { _ = rig.write(Array(Self.sample.prefix(63)), to: id) }
        #expect(rig.sent().map { $0.prefix(2) } == ["50", "51", "50", "51", "50", "51"])
    }

    // MARK: Receiving

    @Test("K-frames become a stream that can be read before an SDU is whole")
    func reassembly() throws {
        var rig = try ChannelRig()
        let id = try rig.open()
        #expect(rig.frame("4000", "0500 6162").isEmpty)
        #expect(rig.channelEvents().readable == 1)
        #expect(rig.read(id) == Array("ab".utf8))
        _ = rig.frame("4000", "63")
        _ = rig.frame("4000", "6465")
        // Said once until all has been read.
        #expect(rig.channelEvents().readable == 1)
        _ = rig.frame("4000", "0100 66")
        #expect(rig.read(id, 2) == Array("cd".utf8))
        #expect(rig.read(id) == Array("ef".utf8))
        #expect(rig.channelEvents().readable == 0)
    }

    @Test("An SDU is read when it is whole, an empty one too")
    func wholeSDUs() throws {
        var rig = try ChannelRig()
        let id = try rig.open(ChannelParameters(face: .sdus))
        _ = rig.frame("4000", "0300 6162")
        #expect(rig.readSDU(id) == nil)
        #expect(rig.channelEvents().readable == 0)
        _ = rig.frame("4000", "63")
        _ = rig.frame("4000", "0000")
        _ = rig.frame("4000", "0200 64")
        #expect(rig.channelEvents().readable == 1)
        #expect(rig.readSDU(id) == Array("abc".utf8))
        #expect(rig.readSDU(id) == [])
        #expect(rig.readSDU(id) == nil)
        // An SDU that is incomplete when the channel closes is not delivered.
        _ = rig.signal("06 09 0400 4000 5000")
        var unread = try #require(rig.channelEvents().unread.first)
        var buffer: [UInt8] = []
        let isWhole = unread.readSDU(into: &buffer)
        #expect(!isWhole)
    }

    @Test("Credits come back as data is read, half a window at a time, and not before")
    func grants() throws {
        var rig = try ChannelRig()
        // Four K-frames of 100 bytes.
        let id = try rig.open(ChannelParameters(mtu: 98, mps: 100, receiveLimit: 400))
        let full = [98, 0] + Array(repeating: UInt8(7), count: 98)
        // Up to the last credit none is given, as nothing is read.
        for _ in 0..<4 { #expect(rig.frame("4000", full).isEmpty) }
        // 392 bytes wait: there is room for no K-frame. After 92 bytes there is.
        #expect(rig.read(id, 91).count == 91)
        #expect(rig.sent().isEmpty)
        #expect(rig.read(id, 1).count == 1)
        #expect(rig.sent() == [compact("0500 16 01 0400 4000 0100")])
        _ = rig.read(id)
        #expect(rig.sent() == [compact("0500 16 02 0400 4000 0300")])
        // A reader that keeps up: two credits after every two K-frames.
        for round in 0..<3 {
            var answers = rig.frame("4000", full)
            _ = rig.read(id)
            answers += rig.sent()
            #expect(answers.isEmpty)
            answers = rig.frame("4000", full)
            _ = rig.read(id)
            answers += rig.sent()
            #expect(answers == [compact("0500 16 \([UInt8(3 + round)].hexadecimal) 0400 4000 0200")])
        }
    }

    @Test("Short frames cost more than their bytes, so that a reader that sleeps holds little, however the peer cuts")
    func shortFrames() throws {
        for face in [ChannelFace.bytes, .sdus] {
            var rig = try ChannelRig()
            let id = try rig.open(ChannelParameters(face: face, mtu: 98, mps: 100, receiveLimit: 2000))
            // A peer that sends one byte an SDU for as long as it has credits.
            // This many SDUs fit into 2000 bytes: each takes 16 bytes more than it holds.
            var credits = face == .bytes ? 20 : 17
            var taken = 0
            while credits > 0 {
                credits -= 1
                taken += 1
                for answer in rig.frame("4000", "0100 07") {
                    let bytes = [UInt8](hexadecimal: answer) ?? []
                    credits += Int(bytes[8])
                }
                #expect(taken < 3000)
            }
            // As a stream, a byte costs a byte; an SDU costs 16 more.
            #expect(face == .bytes ? (1800...2000).contains(taken) : (100...120).contains(taken), "\(taken)")
            #expect(rig.rig.host.channels[id] != nil)
        }
    }

    // MARK: Violations

    @Test(
        "A peer that breaks a rule has its channel closed, and only that",
        arguments: [
            ("longer than the MPS", ["ffff"] as [String], ChannelViolation.mpsExceeded(65), 65),
            ("longer than the MTU", ["4100 61"], .mtuExceeded(65), 0),
            ("more than its length", ["0200 616263"], .sduOverrun(by: 1), 0),
            ("more than its length, later", ["0300 6162", "6364"], .sduOverrun(by: 1), 0),
            ("no length", [""], .frameTooShort(0), 0),
            ("half a length", ["01"], .frameTooShort(1), 0),
            ("nothing", ["0300 6162", ""], .frameTooShort(0), 0),
        ]
    )
    func violations(_ name: String, _ frames: [String], _ violation: ChannelViolation, _ fill: Int) throws {
        var rig = try ChannelRig()
        _ = try rig.open(ChannelParameters(mtu: 64, mps: 64))
        _ = rig.signal("14 02 0a00 8000 5100 4000 4000 0100")
        _ = rig.channelEvents()
        var answers: [String] = []
        for frame in frames {
            var payload = [UInt8](hexadecimal: compact(frame)) ?? []
            while payload.count < fill { payload.append(0) }
            answers = rig.frame("4000", payload)
        }
        #expect(answers == [compact("0500 06 01 0400 5000 4000")], "\(name)")
        #expect(rig.channelEvents().closures == [.violation(violation)], "\(name)")
        // What was on its way is ignored; the other channel is not affected.
        #expect(rig.frame("4000", "0100 61").isEmpty)
        #expect(rig.rig.host.counters.unknownChannelFrames == 0)
        #expect(rig.rig.host.channels.all.map(\.localCID.rawValue) == [0x41])
        #expect(rig.signal("07 01 0400 5000 4000").isEmpty)
        #expect(rig.frame("4000", "0100 61").isEmpty)
        #expect(rig.rig.host.counters.unknownChannelFrames == 1)
    }

    @Test(
        "A K-frame that is not put together leaves no hole in the stream: its channel is closed, and only that",
        arguments: [
            // 2049 octets and more are not held back, at any MPS.
            ("longer than is put together", ["20 0108 4000 0100 61"], ChannelViolation.mpsExceeded(2049)),
            ("the longest", ["20 ffff 4000", "10 0100", "10 61"], .mpsExceeded(65535)),
            ("less than its length", ["20 0300 4000 0100"], .frameDamaged),
            ("more than its length", ["20 0300 4000 0100 6162"], .frameDamaged),
            ("more than its length, in parts", ["20 0300 4000 01", "10 0061 62"], .frameDamaged),
        ]
    )
    func lostFrames(_ name: String, _ packets: [String], _ violation: ChannelViolation) throws {
        var rig = try ChannelRig()
        let id = try rig.open()
        _ = rig.signal("14 02 0a00 8000 5100 4000 4000 0100")
        _ = rig.channelEvents()
        #expect(rig.frame("4000", "0300 61 62 63").isEmpty)
        for packet in packets {
            let bytes = [UInt8](hexadecimal: compact(String(packet.dropFirst(2)))) ?? []
            rig.rig.give("0240\(packet.prefix(2))" + [UInt8(bytes.count), 0].hexadecimal + bytes.hexadecimal)
        }
        // The next frame shows that the one before has ended.
        let answers = rig.frame("4100", "0100 64")
        #expect(answers == [compact("0500 06 01 0400 5000 4000")], "\(name)")
        let events = rig.channelEvents()
        #expect(events.closures == [.violation(violation)], "\(name)")
        #expect(events.unread.map(\.count) == [3], "data before it can be read")
        #expect(rig.rig.host.channels[id] == nil)
        #expect(rig.rig.host.channels.all.map(\.localCID.rawValue) == [0x41])
        #expect(rig.rig.host.counters.unknownChannelFrames == 0)
        #expect(rig.frame("0400", "0a 0300") == [compact("0400 0b 436169726e")], "the connection goes on")
    }

    @Test("A lost frame on a channel that is not open closes nothing")
    func lostFramesOfNobody() throws {
        var rig = try ChannelRig()
        _ = try rig.open()
        rig.rig.give("02 4020 0600 ffff 7000 0102")
        rig.rig.give("02 4020 0500 0300 7000 01")
        #expect(rig.frame("0400", "0a 0300") == [compact("0400 0b 436169726e")])
        #expect(rig.channelEvents().isEmpty)
        #expect(rig.rig.host.counters.unknownChannelFrames == 2)
    }

    @Test("A K-frame without a credit closes the channel, and data before it can be read")
    func noCredit() throws {
        var rig = try ChannelRig()
        let id = try rig.open(ChannelParameters(mtu: 98, mps: 100, receiveLimit: 200))
        let full = [98, 0] + Array(repeating: UInt8(7), count: 98)
        for _ in 0..<2 { #expect(rig.frame("4000", full).isEmpty) }
        #expect(rig.frame("4000", full) == [compact("0500 06 01 0400 5000 4000")])
        let events = rig.channelEvents()
        #expect(events.closures == [.violation(.noCredit)])
        #expect(events.unread.map(\.count) == [196])
        #expect(rig.read(id).isEmpty)
        #expect(rig.write([1], to: id) == 0)
    }

    @Test("More than 65535 credits close the channel; zero credits, and credits for an unknown CID, are ignored")
    func creditOverflow() throws {
        var rig = try ChannelRig()
        _ = try rig.open(terms: "1700 1700 0100")
        #expect(rig.signal("16 02 0400 5000 feff").isEmpty)
        #expect(rig.signal("16 03 0400 5000 0000").isEmpty)
        #expect(rig.signal("16 04 0400 5100 0100").isEmpty)
        // This side's own CID is not the one to name.
        #expect(rig.signal("16 05 0400 4000 0100").isEmpty)
        #expect(rig.channelEvents().isEmpty)
        #expect(rig.signal("16 06 0400 5000 0100") == [compact("0500 06 01 0400 5000 4000")])
        #expect(rig.channelEvents().closures == [.violation(.tooManyCredits)])
    }
}
