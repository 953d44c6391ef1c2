import BluetoothHCI
import BluetoothHost
import ByteCoding
import Testing

/// Core 5.4, Vol 3, Part A, 4.22, 4.23, 4.25, 4.26; what a link must offer: Vol 3, Part C, 10.3.1.
@Suite("Credit-based channels: opening and refusing")
struct ChannelRefusalTests {
    static let encrypted = LinkSecurity(isEncrypted: true, isBonded: true, keySize: 16)
    static let authenticated = LinkSecurity(isEncrypted: true, isAuthenticated: true, isBonded: true, keySize: 16)

    /// A peer whose link offers something, and a service at SPSM 0x0080 that asks for something.
    static func rig(
        _ requirement: AccessRequirement = .open,
        _ security: LinkSecurity? = nil,
        bonded: Bool = false,
        maximumChannels: Int = 8
    ) throws -> ChannelRig {
        var rig = try ChannelRig(security: security, bonded: bonded)
        let listener = ChannelListener(requirement: requirement, maximumChannels: maximumChannels)
        #expect(try rig.rig.host.channels.listen(listener, on: SPSM(rawValue: 0x80)).rawValue == 0x80)
        return rig
    }

    @Test("A channel opens: the answer, the event, and the two ends")
    func opening() throws {
        var rig = try Self.rig()
        let answer = rig.signal("14 09 0a00 8000 5000 0002 6400 0700")
        #expect(answer == [compact("0500 15 09 0a00 4000 \(ChannelRig.ownTerms) 0000")])
        let channel = try #require(rig.channelEvents().opened.first)
        #expect(channel.localCID.rawValue == 0x40 && channel.remoteCID.rawValue == 0x50)
        #expect(channel.transmitMTU == 512 && channel.transmitMPS == 100)
        #expect(channel.receiveMTU == 8192 && channel.receiveMPS == 1022)
        #expect(channel.spsm.rawValue == 0x80 && !channel.isInitiator && !channel.isEnhanced)
        #expect(rig.rig.host.channels.all == [channel])
        // The smallest values that the Core allows, from the last CID.
        let least = rig.signal("14 0a 0a00 8000 7f00 1700 1700 0000")
        #expect(least == [compact("0500 15 0a 0a00 4100 \(ChannelRig.ownTerms) 0000")])
    }

    @Test(
        "Each refusal has its result, and everything else in it is 0",
        arguments: [
            ("nobody listens", "8100 5000 1700 1700 0100", "0200"),
            ("SPSM 0", "0000 5000 1700 1700 0100", "0200"),
            ("source below the dynamic CIDs", "8000 3f00 1700 1700 0100", "0900"),
            ("source above the dynamic CIDs", "8000 8000 1700 1700 0100", "0900"),
            ("MTU of 22", "8000 5000 1600 1700 0100", "0b00"),
            ("MPS of 22", "8000 5000 1700 1600 0100", "0b00"),
            ("MPS of 65534", "8000 5000 1700 feff 0100", "0b00"),
        ]
    )
    func refusals(_ name: String, _ request: String, _ result: String) throws {
        var rig = try Self.rig()
        #expect(
            rig.signal("14 03 0a00 \(request)") == [compact("0500 15 03 0a00 0000 0000 0000 0000 \(result)")],
            "\(name)"
        )
        #expect(rig.channelEvents().isEmpty)
        #expect(rig.rig.host.channels.all.isEmpty)
    }

    @Test(
        "A link that does not offer what is required is refused for the right reason",
        arguments: [
            // No key: pair first. A key, but not in use: encrypt first.
            (AccessRequirement.encrypted, nil as LinkSecurity?, false, "0500"),
            (.encrypted, nil, true, "0800"),
            (.authenticated, nil, false, "0500"),
            (.encrypted, encrypted, true, "0000"),
            (.authenticated, encrypted, true, "0500"),
            (.authenticated, authenticated, true, "0000"),
            (AccessRequirement(.encrypted, minimumKeySize: 17), encrypted, true, "0700"),
            (AccessRequirement(.encrypted, needsAuthorization: true), encrypted, true, "0600"),
            (AccessRequirement(.none, needsAuthorization: true), nil, false, "0600"),
            (.open, nil, false, "0000"),
        ]
    )
    func security(_ requirement: AccessRequirement, _ link: LinkSecurity?, _ bonded: Bool, _ result: String) throws {
        var rig = try Self.rig(requirement, link, bonded: bonded)
        for (request, offset) in [
            ("14 01 0a00 8000 5000 4000 4000 0100", 8), ("17 02 0a00 8000 4000 4000 0100 5100", 6),
        ] {
            let answer = try #require(rig.signal(request).first)
            // The channel, the header of the command, and the fields before the result.
            #expect(answer.dropFirst(4 + 8 + 2 * offset).prefix(4) == result, "\(answer)")
        }
        #expect(rig.rig.host.channels.all.count == (result == "0000" ? 2 : 0))
    }

    @Test("An authorized peer may open the channel, and stays authorized when the link's security changes")
    func authorization() throws {
        var rig = try Self.rig(AccessRequirement(.none, needsAuthorization: true), bonded: true)
        rig.rig.host.setAuthorized(true, ChannelRig.handle)
        rig.rig.give(HostRig.le("05", "4000 0000000000000000 0000"))
        rig.rig.answerCommands()
        rig.rig.give(HostRig.event("08", "00 4000 01"))
        #expect(rig.signal("14 01 0a00 8000 5000 4000 4000 0100").first?.suffix(4) == "0000")
    }

    @Test("A source CID that is in use is refused, until the channel is closed")
    func allocated() throws {
        var rig = try Self.rig()
        _ = rig.signal("14 01 0a00 8000 5000 4000 4000 0100")
        let refusal = compact("0500 15 02 0a00 0000 0000 0000 0000 0a00")
        #expect(rig.signal("14 02 0a00 8000 5000 4000 4000 0100") == [refusal])
        #expect(rig.signal("06 03 0400 4000 5000") == [compact("0500 07 03 0400 4000 5000")])
        #expect(rig.channelEvents().closures == [.byPeer])
        #expect(rig.signal("14 04 0a00 8000 5000 4000 4000 0100").first?.suffix(4) == "0000")
        // A channel that this side closes is in use until the peer has said that it is closed.
        let id = try #require(rig.channelEvents().opened.first).id
        rig.rig.host.channels.close(id, at: rig.rig.now)
        #expect(rig.sent() == [compact("0500 06 01 0400 5000 4000")])
        #expect(rig.signal("14 05 0a00 8000 5000 4000 4000 0100").first?.suffix(4) == "0a00")
        #expect(rig.signal("07 01 0400 5000 4000").isEmpty)
        #expect(rig.signal("14 06 0a00 8000 5000 4000 4000 0100").first?.suffix(4) == "0000")
    }

    @Test("A repeated request is answered twice, and opens one channel")
    func duplicate() throws {
        var rig = try Self.rig()
        let request = "14 01 0a00 8000 5000 4000 4000 0100"
        let answer = rig.signal(request)
        #expect(answer == [compact("0500 15 01 0a00 4000 \(ChannelRig.ownTerms) 0000")])
        #expect(rig.signal(request) == answer)
        #expect(rig.rig.host.channels.all.count == 1)
        #expect(rig.channelEvents().opened.count == 1)
        // The same bytes are another request once the channel has closed.
        rig.rig.host.channels.close(try #require(rig.rig.host.channels.all.first).id, at: rig.rig.now)
        _ = rig.sent()
        #expect(rig.signal("07 01 0400 5000 4000").isEmpty)
        #expect(rig.signal(request) == answer)
        #expect(rig.channelEvents().opened.count == 1)
    }

    @Test("A service has as many channels as it allows, a connection as many as it has CIDs")
    func resources() throws {
        var rig = try Self.rig(maximumChannels: 2)
        for (source, result) in [("50", "0000"), ("51", "0000"), ("52", "0400")] {
            #expect(rig.signal("14 01 0a00 8000 \(source)00 4000 4000 0100").first?.suffix(4) == result[...])
        }
        let all = ChannelListener(requirement: .open, maximumChannels: 100)
        _ = try rig.rig.host.channels.listen(all, on: SPSM(rawValue: 0x81))
        var results: [Substring] = []
        for source in UInt8(0x40)...0x7F where source != 0x50 && source != 0x51 {
            results.append(
                rig.signal("14 01 0a00 8100 \([source].hexadecimal)00 4000 4000 0100").first?.suffix(4) ?? ""
            )
        }
        #expect(results == Array(repeating: "0000", count: 62))
        #expect(rig.rig.host.channels.all.count == 64)
        #expect(Set(rig.rig.host.channels.all.map(\.localCID)).count == 64)
        #expect(throws: ChannelError.noCIDLeft) {
            try rig.rig.host.channels.open(to: SPSM(rawValue: 0x90), on: ChannelRig.handle, at: rig.rig.now)
        }
    }

    @Test("SPSMs are assigned from the dynamic range, each once, and a free one is not reused at once")
    func spsms() throws {
        var rig = try ChannelRig()
        var all: [SPSM] = []
        for _ in 0..<128 { all.append(try rig.rig.host.channels.listen()) }
        #expect(Set(all.map(\.rawValue)) == Set(0x80...0xFF))
        #expect(throws: ChannelError.noSPSMLeft) { try rig.rig.host.channels.listen() }
        #expect(throws: ChannelError.spsmNotAvailable(all[0])) { try rig.rig.host.channels.listen(on: all[0]) }
        for spsm: UInt16 in [0, 0x100] {
            #expect(throws: ChannelError.self) { try rig.rig.host.channels.listen(on: SPSM(rawValue: spsm)) }
        }
        for spsm in all.prefix(2) { rig.rig.host.channels.stopListening(spsm, at: rig.rig.now) }
        #expect(try rig.rig.host.channels.listen() == all[0])
        rig.rig.host.channels.stopListening(all[0], at: rig.rig.now)
        #expect(try rig.rig.host.channels.listen() == all[1])
    }

    @Test("A service that is withdrawn closes its own channels only")
    func withdrawing() throws {
        var rig = try Self.rig()
        _ = try rig.rig.host.channels.listen(ChannelListener(requirement: .open), on: SPSM(rawValue: 0x81))
        _ = rig.signal("14 01 0a00 8000 5000 4000 4000 0100")
        _ = rig.signal("14 02 0a00 8100 5100 4000 4000 0100")
        _ = rig.signal("14 03 0a00 8000 5200 4000 4000 0100")
        _ = rig.channelEvents()
        rig.rig.host.channels.stopListening(SPSM(rawValue: 0x80), at: rig.rig.now)
        #expect(rig.sent() == [compact("0500 06 01 0400 5000 4000"), compact("0500 06 02 0400 5200 4200")])
        #expect(rig.channelEvents().closures == [.withdrawn, .withdrawn])
        #expect(rig.rig.host.channels.all.map(\.spsm.rawValue) == [0x81])
        #expect(rig.signal("14 04 0a00 8000 5300 4000 4000 0100").first?.suffix(4) == "0200")
    }

    @Test("A request to close an unknown channel is rejected; one with the wrong other CID is ignored")
    func wrongDisconnections() throws {
        var rig = try Self.rig()
        _ = rig.signal("14 01 0a00 8000 5000 4000 4000 0100")
        #expect(rig.signal("06 02 0400 4100 5000") == [compact("0500 01 02 0600 0200 4100 5000")])
        #expect(rig.signal("06 03 0400 4000 5100").isEmpty)
        #expect(rig.rig.host.channels.all.count == 1)
        // Both sides close at once: both are answered.
        rig.rig.host.channels.close(try #require(rig.rig.host.channels.all.first).id, at: rig.rig.now)
        _ = rig.sent()
        #expect(rig.signal("06 04 0400 4000 5000") == [compact("0500 07 04 0400 4000 5000")])
        // Answers that do not fit are ignored, and the CIDs stay taken.
        for answer in ["07 02 0400 5000 4000", "07 01 0400 5100 4000", "07 01 0400 5000 4100"] {
            #expect(rig.signal(answer).isEmpty)
        }
        #expect(rig.signal("14 05 0a00 8000 5000 4000 4000 0100").first?.suffix(4) == "0a00")
        // The peer does not answer: after 30 s they are free.
        rig.rig.advance(by: .seconds(30))
        #expect(rig.signal("14 06 0a00 8000 5000 4000 4000 0100").first?.suffix(4) == "0000")
    }

    @Test("A connection that ends closes its channels, and their end is reported before its own")
    func disconnection() throws {
        var rig = try Self.rig()
        _ = rig.signal("14 01 0a00 8000 5000 4000 4000 0100")
        _ = rig.rig.events()
        _ = rig.frame("4000", "0300 616263")
        let asked = try rig.rig.host.channels.open(to: SPSM(rawValue: 0x90), on: ChannelRig.handle, at: rig.rig.now)
        _ = rig.rig.events()
        rig.rig.give(HostRig.event("05", "00 4000 13"))
        let events = rig.rig.events()
        #expect(events.channelEvents.closures == [.connectionLost, .connectionLost])
        var unread = try #require(events.channelEvents.unread.first)
        var bytes: [UInt8] = []
        unread.read(into: &bytes)
        #expect(bytes == Array("abc".utf8))
        #expect(events.descriptions.last?.hasPrefix("disconnected") == true)
        #expect(rig.rig.host.channels.all.isEmpty && rig.rig.host.channels[asked] == nil)
        #expect(throws: ChannelError.notConnected(ChannelRig.handle)) {
            try rig.rig.host.channels.open(to: SPSM(rawValue: 0x90), on: ChannelRig.handle, at: rig.rig.now)
        }
    }
}
