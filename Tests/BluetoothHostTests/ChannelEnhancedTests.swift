import BluetoothHCI
import BluetoothHost
import ByteCoding
import Testing

/// Core 5.4, Vol 3, Part A, 4.25 to 4.28.
@Suite("Credit-based channels: enhanced requests")
struct ChannelEnhancedTests {
    static func rig(maximumChannels: Int = 8) throws -> ChannelRig {
        var rig = try ChannelRig()
        let listener = ChannelListener(requirement: .open, maximumChannels: maximumChannels)
        _ = try rig.rig.host.channels.listen(listener, on: SPSM(rawValue: 0x80))
        return rig
    }

    @Test("Five channels open by one request, and each works")
    func five() throws {
        var rig = try Self.rig()
        let answer = rig.signal("17 01 1200 8000 0001 6400 0500 5000 5100 5200 5300 5400")
        #expect(answer == [compact("0500 18 01 1200 \(ChannelRig.ownTerms) 0000 4000 4100 4200 4300 4400")])
        let channels = rig.channelEvents().opened
        #expect(channels.map(\.remoteCID.rawValue) == [0x50, 0x51, 0x52, 0x53, 0x54])
        #expect(channels.allSatisfy { $0.isEnhanced && $0.transmitMTU == 256 && $0.transmitMPS == 100 })
        for (number, channel) in channels.enumerated() {
            #expect(rig.frame("4\(number)00", "0100 0\(number)").isEmpty)
            #expect(rig.read(channel.id) == [UInt8(number)])
            _ = rig.write([7], to: channel.id)
            #expect(rig.sent() == [compact("5\(number)00 0100 07")])
        }
    }

    @Test(
        "Some are refused: the others open, in the order of the request",
        arguments: [
            ("two too many", 3, "5000 5100 5200 5300 5400", "0400 4100 4200 0000 0000 0000"),
            ("one in use", 8, "5000 6000 5100", "0a00 4100 0000 4200"),
            ("one twice", 8, "5000 5000 5100", "0a00 4100 0000 4200"),
            ("one that cannot be", 8, "5000 3f00 5100", "0900 4100 0000 4200"),
        ]
    )
    func partial(_ name: String, _ maximum: Int, _ sources: String, _ outcome: String) throws {
        var rig = try Self.rig(maximumChannels: maximum)
        _ = rig.signal("14 01 0a00 8000 6000 4000 4000 0100")
        _ = rig.channelEvents()
        let count = compact(sources).count / 2
        let answer = rig.signal("17 02 \([UInt8(8 + count)].hexadecimal)00 8000 4000 4000 0100 \(sources)")
        let length = [UInt8(8 + count)].hexadecimal
        #expect(answer == [compact("0500 18 02 \(length)00 \(ChannelRig.ownTerms) \(outcome)")], "\(name)")
        #expect(rig.channelEvents().opened.count == 2, "\(name)")
    }

    @Test(
        "All are refused: the result, and a 0 for each",
        arguments: [
            ("nobody listens", "17 01 0c00 8100 4000 4000 0100 5000 5100", "0c00", "0200 0000 0000"),
            ("MTU of 63", "17 01 0a00 8000 3f00 4000 0100 5000", "0a00", "0c00 0000"),
            ("MPS of 63", "17 01 0a00 8000 4000 3f00 0100 5000", "0a00", "0c00 0000"),
            ("MPS of 65534", "17 01 0a00 8000 4000 feff 0100 5000", "0a00", "0c00 0000"),
            ("no credit", "17 01 0a00 8000 4000 4000 0000 5000", "0a00", "0c00 0000"),
            ("no channel", "17 01 0800 8000 4000 4000 0100", "0800", "0c00"),
        ]
    )
    func refusals(_ name: String, _ request: String, _ length: String, _ outcome: String) throws {
        var rig = try Self.rig()
        #expect(rig.signal(request) == [compact("0500 18 01 \(length) 0000 0000 0000 \(outcome)")], "\(name)")
        #expect(rig.rig.host.channels.all.isEmpty)
    }

    @Test("Six channels do not fit into a command")
    func six() throws {
        var rig = try Self.rig()
        let answer = rig.signal("17 01 1400 8000 4000 4000 0100 5000 5100 5200 5300 5400 5500")
        #expect(answer == [compact("0500 01 01 0400 0100 1700")])
    }

    // MARK: Reconfiguring

    @Test(
        "A request to reconfigure is answered as the Core says",
        arguments: [
            // The peer's ends are 0x50 and 0x51, with MTU and MPS of 100; 0x52 is not an enhanced channel.
            ("both grow", "19 03 0800 6500 6500 5000 5100", "0000"),
            ("nothing changes", "19 03 0600 6400 6400 5000", "0000"),
            ("the MPS of one shrinks", "19 03 0600 6400 4000 5000", "0000"),
            ("the MTU shrinks", "19 03 0600 6300 6400 5000", "0100"),
            ("the MTU is too short for any", "19 03 0600 3f00 6400 5000", "0100"),
            ("the MPS of two shrinks", "19 03 0800 6400 4000 5000 5100", "0200"),
            ("no such channel", "19 03 0800 6500 6500 5000 5700", "0300"),
            ("this side's own end", "19 03 0600 6500 6500 4000", "0300"),
            ("not an enhanced channel", "19 03 0600 6500 6500 5200", "0300"),
            ("the MPS is too short for any", "19 03 0600 6500 3f00 5000", "0400"),
            ("the MPS is too long for any", "19 03 0600 6500 feff 5000", "0400"),
            ("a channel twice", "19 03 0800 6500 6500 5000 5000", "0400"),
            ("no channel", "19 03 0400 6500 6500", "0400"),
        ]
    )
    func reconfiguration(_ name: String, _ request: String, _ result: String) throws {
        var rig = try Self.rig()
        _ = rig.signal("17 01 0c00 8000 6400 6400 0500 5000 5100")
        _ = rig.signal("14 02 0a00 8000 5200 6400 6400 0500")
        _ = rig.channelEvents()
        let before = rig.rig.host.channels.all
        #expect(rig.signal(request) == [compact("0500 1a 03 0200 \(result)")], "\(name)")
        if result == "0000" {
            #expect(rig.channelEvents().reconfigurations == [.success], "\(name)")
        } else {
            #expect(rig.channelEvents().reconfigurations.isEmpty, "\(name)")
            #expect(rig.rig.host.channels.all == before, "\(name)")
        }
    }

    @Test("After a reconfiguration, SDUs and K-frames have their new lengths, in the middle of an SDU too")
    func reconfigured() throws {
        var rig = try Self.rig()
        // MPS 80: 77 with packets of 27 octets.
        _ = rig.signal("17 01 0a00 8000 6400 5000 0100 5000")
        let id = try #require(rig.channelEvents().opened.first).id
        #expect(rig.write(Array(repeating: 1, count: 100), to: id) == 100)
        #expect(rig.sent().map(\.count) == [4 + 154])
        _ = rig.signal("19 02 0600 c800 c800 5000")
        #expect(rig.rig.host.channels[id]?.transmitMTU == 200)
        #expect(rig.signal("16 03 0400 5000 0a00").map(\.count) == [4 + 50])
        #expect(rig.write(Array(repeating: 1, count: 200), to: id) == 200)
        // MPS 200: 185.
        #expect(rig.sent().map(\.count) == [4 + 370, 4 + 34])
    }
}

@Suite("Credit-based channels: asking for channels")
struct ChannelInitiatorTests {
    static let spsm = SPSM(rawValue: 0x90)

    @Test("A channel is requested, opens with the peer's parameters, and works")
    func opening() throws {
        var rig = try ChannelRig()
        let id = try rig.rig.host.channels.open(to: Self.spsm, on: ChannelRig.handle, at: rig.rig.now)
        #expect(rig.sent() == [compact("0500 14 01 0a00 9000 4000 \(ChannelRig.ownTerms)")])
        #expect(rig.rig.host.channels[id] == nil)
        #expect(rig.write([1], to: id) == 0)
        #expect(rig.signal("15 01 0a00 6500 c800 6400 0100 0000").isEmpty)
        let channel = try #require(rig.channelEvents().opened.first)
        #expect(channel.id == id && channel.isInitiator && !channel.isEnhanced && channel.spsm == Self.spsm)
        #expect(channel.transmitMTU == 200 && channel.transmitMPS == 100 && channel.remoteCID.rawValue == 0x65)
        _ = rig.write([1, 2], to: id)
        #expect(rig.sent() == [compact("6500 0200 0102")])
        _ = rig.frame("4000", "0100 09")
        #expect(rig.read(id) == [9])
        rig.rig.host.channels.close(id, at: rig.rig.now)
        #expect(rig.sent() == [compact("0500 06 02 0400 6500 4000")])
        #expect(rig.channelEvents().closures == [.byOwner])
    }

    @Test("A channel that the peer refuses does not open, and its CID is free again")
    func refused() throws {
        var rig = try ChannelRig()
        for (identifier, result) in [("01", ChannelResult.insufficientEncryption), ("02", .noResources)] {
            _ = try rig.rig.host.channels.open(to: Self.spsm, on: ChannelRig.handle, at: rig.rig.now)
            #expect(rig.sent() == [compact("0500 14 \(identifier) 0a00 9000 4000 \(ChannelRig.ownTerms)")])
            _ = rig.signal("15 \(identifier) 0a00 0000 0000 0000 0000 0\(result.rawValue)00")
            #expect(rig.channelEvents().closures == [.refused(result)])
        }
        _ = try rig.rig.host.channels.open(to: Self.spsm, on: ChannelRig.handle, at: rig.rig.now)
        _ = rig.sent()
        #expect(rig.signal("01 03 0200 0000").isEmpty)
        #expect(rig.channelEvents().closures == [.notUnderstood])
    }

    @Test("Only the answer to a pending request counts; a request without an answer ends after 30 s")
    func unanswered() throws {
        var rig = try ChannelRig()
        _ = try rig.rig.host.channels.open(to: Self.spsm, on: ChannelRig.handle, at: rig.rig.now)
        _ = rig.sent()
        #expect(rig.rig.host.nextDeadline == rig.rig.now + .seconds(30))
        // Another identifier, another kind, another identifier rejected.
        for answer in [
            "15 02 0a00 6500 c800 6400 0100 0000", "18 01 0a00 c800 6400 0100 0000 6500", "1a 01 0200 0000",
            "01 02 0200 0000", "07 01 0400 6500 4000",
        ] {
            #expect(rig.signal(answer).isEmpty)
        }
        #expect(rig.channelEvents().isEmpty)
        rig.rig.advance(by: .seconds(30))
        #expect(rig.channelEvents().closures == [.notAnswered])
        #expect(rig.rig.host.nextDeadline == nil)
        #expect(rig.signal("15 01 0a00 6500 c800 6400 0100 0000").isEmpty)
        #expect(rig.channelEvents().isEmpty)
    }

    @Test(
        "An acceptance that breaks the rules opens nothing; the peer is told if that can be done",
        arguments: [
            ("MTU of 22", "6500 1600 1700 0100", ["0500 06 02 0400 6500 4000"]),
            ("MPS of 22", "6500 1700 1600 0100", ["0500 06 02 0400 6500 4000"]),
            ("not a CID", "0000 1700 1700 0100", []),
        ]
    )
    func badAcceptance(_ name: String, _ answer: String, _ consequence: [String]) throws {
        var rig = try ChannelRig()
        _ = try rig.rig.host.channels.open(to: Self.spsm, on: ChannelRig.handle, at: rig.rig.now)
        _ = rig.sent()
        #expect(rig.signal("15 01 0a00 \(answer) 0000") == consequence.map(compact), "\(name)")
        #expect(rig.channelEvents().closures == [.violation(.badResponse)], "\(name)")
    }

    @Test("A destination CID that another channel has closes both channels")
    func sameDestination() throws {
        var rig = try ChannelRig()
        for identifier in ["01", "02"] {
            _ = try rig.rig.host.channels.open(to: Self.spsm, on: ChannelRig.handle, at: rig.rig.now)
            _ = rig.sent()
            _ = rig.signal("15 \(identifier) 0a00 6500 c800 6400 0100 0000")
        }
        #expect(rig.channelEvents().closures == [.violation(.badResponse), .violation(.badResponse)])
        #expect(rig.rig.host.channels.all.isEmpty)
    }

    @Test("Several are requested at once; some open, some do not")
    func enhanced() throws {
        var rig = try ChannelRig()
        let ids = try rig.rig.host.channels.openEnhanced(3, to: Self.spsm, on: ChannelRig.handle, at: rig.rig.now)
        #expect(rig.sent() == [compact("0500 17 01 0e00 9000 \(ChannelRig.ownTerms) 4000 4100 4200")])
        // Pending first, which is no answer yet.
        #expect(rig.signal("18 01 0800 0000 0000 0000 0d00").isEmpty)
        #expect(rig.channelEvents().isEmpty)
        rig.rig.advance(by: .seconds(100))
        #expect(rig.signal("18 01 0e00 c800 6400 0100 0400 6500 0000 6600").isEmpty)
        let events = rig.channelEvents()
        #expect(events.opened.map(\.id) == [ids[0], ids[2]])
        #expect(events.opened.map(\.remoteCID.rawValue) == [0x65, 0x66])
        #expect(events.closures == [.refused(.noResources)])
        // All refused; too few destinations; an MTU that enhanced channels cannot have.
        for (answer, closures) in [
            (
                "0a00 0000 0000 0000 0200 0000",
                [ChannelClosure.refused(.spsmNotSupported), .refused(.spsmNotSupported)]
            ),
            ("0a00 c800 6400 0100 0000 6700", [.violation(.badResponse), .violation(.badResponse)]),
            ("0c00 3f00 6400 0100 0000 6800 6900", [.violation(.badResponse), .violation(.badResponse)]),
        ] {
            _ = try rig.rig.host.channels.openEnhanced(2, to: Self.spsm, on: ChannelRig.handle, at: rig.rig.now)
            let request = try #require(rig.sent().last)
            _ = rig.signal("18 \(request.dropFirst(6).prefix(2)) \(answer)")
            #expect(rig.channelEvents().closures == closures, "\(answer)")
        }
        for count in [0, 6] {
            #expect(throws: ChannelError.invalidParameters) {
                try rig.rig.host.channels.openEnhanced(count, to: Self.spsm, on: ChannelRig.handle, at: rig.rig.now)
            }
        }
    }

    @Test("Parameters that the Core does not allow are refused before anything is sent")
    func parameters() throws {
        var rig = try ChannelRig()
        for parameters in [
            ChannelParameters(mtu: 22), ChannelParameters(mtu: 65536), ChannelParameters(mps: 22),
            ChannelParameters(mps: 2049),
        ] {
            #expect(throws: ChannelError.invalidParameters) {
                try rig.rig.host.channels.open(to: Self.spsm, on: ChannelRig.handle, parameters, at: rig.rig.now)
            }
            #expect(throws: ChannelError.invalidParameters) {
                try rig.rig.host.channels.listen(ChannelListener(parameters: parameters))
            }
        }
        #expect(rig.sent().isEmpty)
    }

    @Test("This side reconfigures: what the peer may send changes when it has agreed")
    func reconfiguring() throws {
        var rig = try ChannelRig()
        let parameters = ChannelParameters(mtu: 100, mps: 64)
        let ids = try rig.rig.host.channels.openEnhanced(
            2,
            to: Self.spsm,
            on: ChannelRig.handle,
            parameters,
            at: rig.rig.now
        )
        _ = rig.sent()
        _ = rig.signal("18 01 0c00 c800 6400 0100 0000 6500 6600")
        _ = rig.channelEvents()
        for (mtu, mps, channels) in [(99, 64, ids), (100, 63, ids), (100, 64, [ids[0], ids[0]]), (70000, 64, ids)] {
            #expect(throws: ChannelError.invalidParameters, "\(mtu) \(mps)") {
                try rig.rig.host.channels.reconfigure(channels, mtu: mtu, mps: mps, at: rig.rig.now)
            }
        }
        try rig.rig.host.channels.reconfigure(ids, mtu: 200, mps: 210, at: rig.rig.now)
        #expect(rig.sent() == [compact("0500 19 02 0800 c800 d200 4000 4100")])
        #expect(throws: ChannelError.notReconfigurable) {
            try rig.rig.host.channels.reconfigure(ids, mtu: 200, mps: 210, at: rig.rig.now)
        }
        #expect(rig.signal("1a 02 0200 0000").isEmpty)
        #expect(rig.channelEvents().reconfigurations == [.success])
        #expect(rig.frame("4000", [200, 0] + Array(repeating: 1, count: 200)).isEmpty)
        #expect(rig.read(ids[0]).count == 200)
        // Refused, rejected, and not answered: it stays as it is.
        try rig.rig.host.channels.reconfigure([ids[1]], mtu: 300, mps: 100, at: rig.rig.now)
        _ = rig.sent()
        _ = rig.signal("1a 03 0200 0400")
        try rig.rig.host.channels.reconfigure([ids[1]], mtu: 300, mps: 100, at: rig.rig.now)
        _ = rig.sent()
        _ = rig.signal("01 04 0200 0000")
        try rig.rig.host.channels.reconfigure([ids[1]], mtu: 300, mps: 100, at: rig.rig.now)
        rig.rig.advance(by: .seconds(30))
        #expect(
            rig.channelEvents().reconfigurations
                == [.unacceptableParameters, .unacceptableParameters, .unacceptableParameters]
        )
        #expect(rig.rig.host.channels[ids[1]]?.receiveMTU == 200)
    }
}
