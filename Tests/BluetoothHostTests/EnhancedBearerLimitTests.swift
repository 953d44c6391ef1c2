import BluetoothHCI
import ByteCoding
import Testing

@testable import BluetoothHost

/// What happens to enhanced bearers where something is full, gone or refused. Core 5.4, Vol 3, Part G, 5.3 and 5.4.
@Suite("Enhanced bearers: limits")
struct EnhancedBearerLimitTests {
    /// 0003 and 0004, 0006 and 0007 (notify, indicate): two values with their configurations.
    private static func database() throws -> GATTDatabase {
        try GATTDatabase {
            Service(.uuid16(0x1812)) {
                Characteristic(.uuid16(0x2AAB), [.read, .notify, .indicate], value: [5])
                Characteristic(.uuid16(0x2AAC), [.read, .notify, .indicate], value: [6])
            }
        }
    }

    /// A layer with one encrypted connection, which asks for bearers by itself or not.
    private static func rig(opens: Bool = false) throws -> GATTRig {
        var configuration = GATTLayer.Configuration()
        configuration.enhancedBearers = 2
        configuration.opensEnhancedBearers = opens
        var rig = GATTRig(try database(), configuration: configuration)
        if !opens { encrypt(&rig) }
        return rig
    }

    private static func encrypt(_ rig: inout GATTRig) {
        rig.layer.securityChanged(GATTRig.connection, to: LinkSecurity(isEncrypted: true, keySize: 16))
    }

    private static func name(_ number: UInt64) -> Channel.ID {
        Channel.ID(connection: GATTRig.connection, number: number)
    }

    private static func open(_ number: UInt64, _ rig: inout GATTRig) {
        let cid = ChannelID(rawValue: 0x40 + UInt16(number))
        let channel = Channel(
            id: name(number),
            spsm: .enhancedATT,
            isInitiator: false,
            isEnhanced: true,
            localCID: cid,
            remoteCID: cid,
            own: ChannelTerms(mtu: 517, mps: 64, credits: 10),
            peer: ChannelTerms(mtu: 64, mps: 64, credits: 10)
        )
        rig.layer.bearerOpened(channel, at: rig.now)
    }

    /// Hands a PDU to a bearer, and takes every one that it sends, as hexadecimal.
    private static func exchange(_ number: UInt64, _ pdu: String = "", _ rig: inout GATTRig) -> [String] {
        if !pdu.isEmpty { rig.layer.receive(hex(pdu)[...], on: name(number), at: rig.now) }
        var pdus: [String] = []
        var buffer: [UInt8] = []
        while rig.layer.nextPDU(on: name(number), into: &buffer, at: rig.now) { pdus.append(buffer.hexadecimal) }
        return pdus
    }

    /// What the host is asked to do with channels.
    private static func channelRequests(_ rig: inout GATTRig) -> [String] {
        var requests: [String] = []
        while let request = rig.layer.takeChannelRequest() {
            switch request {
            case .open(_, let count): requests.append("open \(count)")
            case .close: requests.append("close")
            }
        }
        return requests
    }

    // MARK: Indications

    @Test("What a lost bearer did not tell is lost too, and said to be, if the fixed channel's queue is full")
    func noRoomOnTheFixedChannel() throws {
        var rig = try Self.rig()
        Self.open(1, &rig)
        rig.expect("12 0400 0200", "13")
        rig.expect("12 0700 0200", "13")
        _ = rig.events()
        // One is in flight on the fixed channel; of the other value, three go to the bearer.
        try rig.layer.indicate([0], of: 0x0003, on: GATTRig.connection, at: rig.now)
        for value in UInt8(1)...3 {
            try rig.layer.indicate([value], of: 0x0006, on: GATTRig.connection, at: rig.now)
        }
        // 15 of the 16 that may wait there.
        for value in UInt8(1)...15 {
            try rig.layer.indicate([value], of: 0x0003, on: GATTRig.connection, at: rig.now)
        }
        #expect(Self.exchange(1, "", &rig) == ["1d060001"])
        rig.layer.bearerClosed(Self.name(1), .byPeer, at: rig.now)
        let unsent = rig.events().compactMap { if case .valueNotSent(let value) = $0 { value } else { nil } }
        #expect(unsent.map(\.handle) == [0x0006, 0x0006])
        #expect(unsent.map(\.value) == [[2], [3]], "the oldest one took the last place")
        #expect(unsent.allSatisfy { $0.isIndication && $0.reason == .queueFull && $0.connection == GATTRig.connection })
        #expect(rig.sent() == ["1d030000"])
        for value in UInt8(1)...15 { #expect(rig.exchange("1e") == ["1d0300\([value].hexadecimal)"]) }
        #expect(rig.exchange("1e") == ["1d060001"])
        #expect(rig.exchange("1e") == [])
    }

    @Test("An indication that would leave on an enhanced bearer is refused as on the fixed channel")
    func refusedIndication() throws {
        var rig = try Self.rig()
        Self.open(1, &rig)
        rig.expect("12 0400 0200", "13")
        try rig.layer.indicate([1], of: 0x0003, on: GATTRig.connection, at: rig.now)
        #expect(throws: GATTError.notSubscribed(0x0006)) {
            try rig.layer.indicate([2], of: 0x0006, on: GATTRig.connection, at: rig.now)
        }
        #expect(throws: GATTError.unknownAttribute(0x0099)) {
            try rig.layer.indicate([2], of: 0x0099, on: GATTRig.connection, at: rig.now)
        }
        #expect(Self.exchange(1, "", &rig) == [] && rig.sent() == ["1d030001"])
    }

    // MARK: Progress

    @Test("A client's new request is progress of the connection, on whichever bearer it comes")
    func progress() throws {
        var rig = try Self.rig()
        Self.open(1, &rig)
        Self.open(2, &rig)
        #expect(rig.layer.lastProgress(of: GATTRig.connection) == nil)
        rig.now = .seconds(10)
        #expect(Self.exchange(1, "0a 0300", &rig) == ["0b05"])
        #expect(rig.layer.lastProgress(of: GATTRig.connection) == .seconds(10))
        rig.now = .seconds(20)
        rig.expect("0a 0300", "0b 05")
        #expect(rig.layer.lastProgress(of: GATTRig.connection) == .seconds(20))
        rig.now = .seconds(30)
        #expect(Self.exchange(1, "0a 0300", &rig) == ["0b05"], "the same again")
        #expect(rig.layer.lastProgress(of: GATTRig.connection) == .seconds(20))
        rig.now = .seconds(40)
        #expect(Self.exchange(2, "0a 0300", &rig) == ["0b05"])
        #expect(rig.layer.lastProgress(of: GATTRig.connection) == .seconds(40))
    }

    // MARK: What is not there

    @Test("A channel that is no bearer, and a connection that is gone, take nothing and give nothing")
    func gone() throws {
        var rig = try Self.rig()
        Self.open(1, &rig)
        _ = rig.events()
        #expect(Self.exchange(7, "0a 0300", &rig) == [])
        #expect(!rig.layer.hasBearer(on: Self.name(7)) && rig.layer.hasBearer(on: Self.name(1)))
        #expect(rig.layer.bearerChannels(of: GATTRig.connection) == [Self.name(1)])
        rig.layer.bearerClosed(Self.name(7), .byPeer, at: rig.now)
        #expect(rig.layer.enhancedBearerCount(of: GATTRig.connection) == 1)
        rig.layer.connectionClosed(GATTRig.connection)
        _ = rig.events()
        Self.open(2, &rig)
        rig.layer.bearerClosed(Self.name(1), .connectionLost, at: rig.now)
        rig.layer.channelsAsked([Self.name(3)], on: GATTRig.connection, pause: .seconds(1))
        Self.encrypt(&rig)
        #expect(Self.exchange(1, "0a 0300", &rig) == [])
        #expect(rig.layer.enhancedBearerCount(of: GATTRig.connection) == 0)
        #expect(!rig.layer.hasBearer(on: Self.name(1)) && !rig.layer.awaits(Self.name(3)))
        #expect(rig.layer.bearerChannels(of: GATTRig.connection) == [])
        #expect(!rig.layer.hasRequestUnderWay(on: GATTRig.connection))
        #expect(rig.events().isEmpty && Self.channelRequests(&rig) == [])
    }

    // MARK: Opening

    private static let askForFeatures = "080100ffff3a2b"
    private static let askForOwnFeatures = "080100ffff292b"

    @Test(
        "A server that has the feature, and cannot be understood later, is left alone",
        arguments: ["09 02 12", "0b 00", "09 03 0000 01"]
    )
    func nonsense(answer: String) throws {
        var rig = try Self.rig(opens: true)
        Self.encrypt(&rig)
        #expect(rig.sent() == [Self.askForFeatures])
        #expect(rig.exchange("09 03 1000 01") == [Self.askForOwnFeatures])
        #expect(rig.exchange(answer) == [])
        #expect(Self.channelRequests(&rig) == [])
        Self.encrypt(&rig)
        rig.advance(by: .seconds(60))
        #expect(rig.sent() == [] && Self.channelRequests(&rig) == [])
    }

    @Test("A server without the client's features, or with an empty one, is asked for channels all the same")
    func noClientFeatures() throws {
        var rig = try Self.rig(opens: true)
        Self.encrypt(&rig)
        _ = rig.sent()
        _ = rig.exchange("09 03 1000 01")
        #expect(rig.exchange("01 08 0100 0a") == [])
        #expect(Self.channelRequests(&rig) == ["open 2"])
        rig = try Self.rig(opens: true)
        Self.encrypt(&rig)
        _ = rig.sent()
        _ = rig.exchange("09 03 1000 01")
        #expect(rig.exchange("09 02 1200") == ["12120006"], "no octet counts as 0")
        #expect(rig.exchange("01 12 1200 03") == [], "a refusal is an answer")
        #expect(Self.channelRequests(&rig) == ["open 2"])
    }

    @Test("When the peer has opened as many bearers as there can be, none are asked for")
    func enough() throws {
        var rig = try Self.rig(opens: true)
        Self.encrypt(&rig)
        _ = rig.sent()
        _ = rig.exchange("09 03 1000 01")
        Self.open(1, &rig)
        Self.open(2, &rig)
        #expect(rig.exchange("01 08 0100 0a") == [])
        #expect(Self.channelRequests(&rig) == [])
        #expect(rig.layer.nextDeadline == nil && rig.layer.connections[0].opening.step == .ended)
    }

    @Test("Channels that cannot be asked for are not asked for again")
    func cannotAsk() throws {
        var rig = try Self.rig(opens: true)
        Self.encrypt(&rig)
        _ = rig.sent()
        _ = rig.exchange("09 03 1000 01")
        _ = rig.exchange("01 08 0100 0a")
        #expect(Self.channelRequests(&rig) == ["open 2"])
        rig.layer.channelsAsked([], on: GATTRig.connection, pause: .milliseconds(100))
        rig.advance(by: .seconds(60))
        Self.encrypt(&rig)
        #expect(rig.sent() == [] && Self.channelRequests(&rig) == [])
        #expect(rig.layer.nextDeadline == nil && rig.layer.connections[0].opening.step == .ended)
    }

    @Test("A host whose owner's procedures fill the queue does not ask for bearers, then or later")
    func noRoomForTheQuestion() throws {
        var rig = try Self.rig(opens: true)
        // One runs, 32 wait.
        for _ in 0..<33 { try rig.layer.start(.read(3), on: GATTRig.connection, at: rig.now) }
        #expect(throws: GATTError.queueFull) { try rig.layer.start(.read(3), on: GATTRig.connection, at: rig.now) }
        Self.encrypt(&rig)
        #expect(rig.layer.connections[0].opening.step == .ended)
        for _ in 0..<33 {
            #expect(rig.sent() == ["0a0300"])
            rig.receive("0b 05")
        }
        Self.encrypt(&rig)
        #expect(rig.sent() == [] && Self.channelRequests(&rig) == [])
    }
}
