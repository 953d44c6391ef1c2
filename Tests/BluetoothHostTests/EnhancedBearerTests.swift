import BluetoothHCI
import ByteCoding
import Testing

@testable import BluetoothHost

/// A GATT layer on one encrypted connection, with enhanced bearers whose peer is the test.
private struct BearerRig {
    var rig: GATTRig
    private(set) var bearers: [Channel.ID] = []
    private var lastNumber: UInt64 = 0

    /// - Parameters:
    ///   - count: how many enhanced bearers there are.
    ///   - mtu: the MTU of the peer's end of each channel.
    init(
        _ database: GATTDatabase,
        count: Int = 2,
        mtu: UInt16 = 64,
        opens: Bool = false,
        answers: GATTLayer.OwnerAnswers = .within(.seconds(10))
    ) {
        var configuration = GATTLayer.Configuration(ownerAnswers: answers)
        configuration.enhancedBearers = 5
        configuration.opensEnhancedBearers = opens
        rig = GATTRig(database, configuration: configuration)
        if !opens { encrypt() }
        for _ in 0..<count { open(mtu: mtu) }
        _ = rig.events()
    }

    mutating func encrypt() {
        rig.layer.securityChanged(GATTRig.connection, to: LinkSecurity(isEncrypted: true, keySize: 16))
    }

    /// A name for a channel that the host asks for.
    mutating func name() -> Channel.ID {
        lastNumber += 1
        return Channel.ID(connection: GATTRig.connection, number: lastNumber)
    }

    mutating func open(mtu: UInt16 = 64, _ name: Channel.ID? = nil) {
        let id = name ?? self.name()
        let cid = ChannelID(rawValue: 0x40 + UInt16(bearers.count))
        let channel = Channel(
            id: id,
            spsm: .enhancedATT,
            isInitiator: false,
            isEnhanced: true,
            localCID: cid,
            remoteCID: cid,
            own: ChannelTerms(mtu: 517, mps: 64, credits: 10),
            peer: ChannelTerms(mtu: mtu, mps: 64, credits: 10)
        )
        rig.layer.bearerOpened(channel, at: rig.now)
        bearers.append(id)
    }

    mutating func close(_ bearer: Int, _ closure: ChannelClosure = .byPeer) {
        rig.layer.bearerClosed(bearers[bearer], closure, at: rig.now)
    }

    /// Hands a PDU to a bearer, and takes every one that it sends, as hexadecimal.
    mutating func exchange(_ bearer: Int, _ pdu: String = "") -> [String] {
        if !pdu.isEmpty { rig.layer.receive(hex(pdu)[...], on: bearers[bearer], at: rig.now) }
        var pdus: [String] = []
        var buffer: [UInt8] = []
        while rig.layer.nextPDU(on: bearers[bearer], into: &buffer, at: rig.now) { pdus.append(buffer.hexadecimal) }
        return pdus
    }

    mutating func expect(
        _ bearer: Int,
        _ request: String,
        _ response: String,
        _ comment: Comment? = nil,
        _ location: SourceLocation = #_sourceLocation
    ) {
        let expected = hex(response, location).hexadecimal
        #expect(exchange(bearer, request) == [expected], comment, sourceLocation: location)
    }

    /// The owner answers with one byte.
    mutating func respond(to request: ReadRequest, with value: UInt8) -> Bool {
        rig.layer.respond(to: request, with: [value], at: rig.now)
    }

    /// What the host is asked to do with channels.
    mutating func channelRequests() -> [String] {
        var requests: [String] = []
        while let request = rig.layer.takeChannelRequest() {
            switch request {
            case .open(_, let count): requests.append("open \(count)")
            case .close(let channel): requests.append("close \(bearers.firstIndex(of: channel) ?? -1)")
            }
        }
        return requests
    }
}

/// Core 5.4, Vol 3, Part F, 3.2.11 and Part G, 5.3.
@Suite struct EnhancedBearerTests {
    /// 0003 (asks the owner); 0005 and 0006 (notify, indicate); 0008 and 0009 (the owner answers subscriptions, indicate).
    private static func askingDatabase() throws -> GATTDatabase {
        try GATTDatabase {
            Service(.uuid16(0x1812)) {
                Characteristic(.uuid16(0x2AAA), [.read, .write], name: "asked", value: .askOwner)
                Characteristic(.uuid16(0x2AAB), [.read, .notify, .indicate], name: "first", value: [5])
                Characteristic(.uuid16(0x2AAC), [.notify, .indicate], name: "second", ownerAnswersSubscriptions: true)
            }
        }
    }

    // MARK: Server

    @Test func eachBearerHasTheMTUOfItsChannel() throws {
        var rig = BearerRig(try ByteTable.database())
        #expect(rig.rig.layer.enhancedBearerCount(of: GATTRig.connection) == 2)
        rig.expect(0, "0a 1200", "0b" + ByteTable.longValue.hexadecimal, "30 bytes fit into 64")
        rig.rig.expect("0a 1200", "0b" + ByteTable.longValue.prefix(22).hexadecimal, "and not into 23")
        rig.expect(0, "02 0002", "01 02 0000 06", "Request Not Supported: the MTU is the channel's")
        rig.expect(0, "0a 0300", "0b 436169726e")
        #expect(rig.rig.layer.mtu(of: GATTRig.connection) == 23)
    }

    @Test func severalValuesAreReadAtOnce() throws {
        var rig = BearerRig(try ByteTable.database())
        rig.expect(0, "20 0300 0c00", "21 0500 436169726e 0100 64")
        rig.expect(1, "0e 0300 0c00", "0f 436169726e 64")
        rig.expect(0, "08 0100ffff 0028", "09 04 0100 0018 0600 0118 0a00 0f18")
        rig.expect(1, "3f", "01 3f 0000 06")
        #expect(rig.exchange(1, "d2 0500 aa 000000000000000000000000") == [], "no signed writes")
    }

    @Test func aRequestThatWaitsForTheOwnerHoldsUpItsOwnBearerOnly() throws {
        var rig = BearerRig(try Self.askingDatabase())
        #expect(rig.exchange(0, "0a 0300") == [])
        #expect(rig.exchange(0, "0a 0500") == [], "one request at a time")
        rig.expect(1, "0a 0500", "0b 05")
        rig.rig.expect("0a 0500", "0b 05")
        #expect(rig.exchange(1, "0a 0300") == [])
        let requests = rig.rig.events().compactMap { if case .readRequested(let request) = $0 { request } else { nil } }
        #expect(requests.count == 2 && Set(requests.map(\.id)).count == 2)
        #expect(rig.rig.layer.hasRequestUnderWay(on: GATTRig.connection))
        // The owner answers in the other order.
        #expect(rig.respond(to: requests[1], with: 0x22) == true)
        #expect(rig.exchange(1) == ["0b22"])
        #expect(rig.respond(to: requests[0], with: 0x11) == true)
        #expect(rig.exchange(0) == ["0b11", "0b05"])
        #expect(!rig.rig.layer.hasRequestUnderWay(on: GATTRig.connection))
        #expect(rig.respond(to: requests[0], with: 0x11) == false)
    }

    @Test func whatTheOwnerDoesNotAnswerIsRefusedOnItsBearer() throws {
        var rig = BearerRig(try Self.askingDatabase(), answers: .within(.seconds(3)))
        #expect(rig.exchange(1, "0a 0300") == [])
        rig.rig.advance(by: .seconds(4))
        #expect(rig.exchange(1) == ["010a03000e"])
        #expect(rig.exchange(0) == [] && rig.rig.sent() == [])
    }

    @Test func preparedWritesAreQueuedOnTheirBearer() throws {
        var rig = BearerRig(try ByteTable.database())
        rig.expect(0, "16 0500 0000 aa", "17 0500 0000 aa")
        rig.expect(1, "18 01", "19", "nothing is queued here")
        rig.rig.expect("0a 0500", "0b 0102")
        rig.expect(0, "18 01", "19")
        rig.rig.expect("0a 0500", "0b aa")
    }

    @Test func subscriptionsAreTheClientsOnAllBearers() throws {
        var rig = BearerRig(try Self.askingDatabase())
        rig.expect(1, "12 0600 0100", "13")
        rig.rig.expect("0a 0600", "0b 0100")
        #expect(rig.rig.layer.subscription(to: 0x0005, on: GATTRig.connection) == .notifications)
        try rig.rig.layer.notify([7], of: 0x0005, on: GATTRig.connection, at: rig.rig.now)
        #expect(rig.exchange(0) == [] && rig.exchange(1) == [])
        #expect(rig.rig.sent() == ["1b050007"], "notifications keep their order on the fixed channel")
        #expect(rig.rig.layer.clientState(of: GATTRig.connection)?.subscriptions == [0x0006: .notifications])
    }

    @Test func ofTwoSubscriptionsThatTheOwnerRefusesTheOldOneComesBack() throws {
        var rig = BearerRig(try Self.askingDatabase())
        #expect(rig.exchange(0, "12 0900 0100") == [])
        #expect(rig.exchange(1, "12 0900 0200") == [])
        let changes = rig.rig.events().compactMap {
            if case .subscriptionChanged(let change) = $0 { change } else { nil }
        }
        #expect(rig.rig.layer.clientState(of: GATTRig.connection)?.subscriptions == [:])
        rig.rig.layer.refuse(changes[0], with: .unlikelyError, at: rig.rig.now)
        #expect(rig.rig.layer.subscription(to: 0x0008, on: GATTRig.connection) == .indications)
        rig.rig.layer.refuse(changes[1], with: .unlikelyError, at: rig.rig.now)
        #expect(rig.rig.layer.subscription(to: 0x0008, on: GATTRig.connection) == [])
        #expect(rig.exchange(0) == ["011209000e"] && rig.exchange(1) == ["011209000e"])
    }

    // MARK: Indications

    private static func indicatingRig() throws -> BearerRig {
        var rig = BearerRig(try askingDatabase())
        rig.expect(0, "12 0600 0200", "13")
        #expect(rig.exchange(0, "12 0900 0200") == [])
        for event in rig.rig.events() {
            if case .subscriptionChanged(let change) = event, change.cause == .requested {
                rig.rig.layer.respond(to: change, at: rig.rig.now)
            }
        }
        #expect(rig.exchange(0) == ["13"])
        return rig
    }

    @Test func oneIndicationWaitsOnEachBearerAndThoseOfOneValueKeepTheirOrder() throws {
        var rig = try Self.indicatingRig()
        let now = rig.rig.now
        try rig.rig.layer.indicate([1], of: 0x0005, on: GATTRig.connection, at: now)
        try rig.rig.layer.indicate([2], of: 0x0008, on: GATTRig.connection, at: now)
        try rig.rig.layer.indicate([3], of: 0x0005, on: GATTRig.connection, at: now)
        try rig.rig.layer.indicate([4], of: 0x0008, on: GATTRig.connection, at: now)
        #expect(rig.rig.sent() == ["1d050001"])
        #expect(rig.exchange(0) == ["1d080002"])
        #expect(rig.exchange(1) == [])
        #expect(rig.exchange(0, "1e") == ["1d080004"])
        #expect(rig.rig.exchange("1e") == ["1d050003"])
        let confirmed = rig.rig.events().compactMap {
            if case .indicationConfirmed(_, let handle) = $0 { handle } else { nil }
        }
        #expect(confirmed == [0x0008, 0x0005])
        #expect(rig.exchange(1, "1e") == [])
        let ignored = rig.rig.events().compactMap { if case .pduIgnored(_, let ignored) = $0 { ignored } else { nil } }
        #expect(ignored == [.unexpectedConfirmation])
    }

    @Test("A bearer whose client does not confirm for 30 s is closed; it is told on the fixed channel instead")
    func timeout() throws {
        var rig = try Self.indicatingRig()
        try rig.rig.layer.indicate([1], of: 0x0005, on: GATTRig.connection, at: rig.rig.now)
        try rig.rig.layer.indicate([2], of: 0x0008, on: GATTRig.connection, at: rig.rig.now)
        #expect(rig.rig.sent() == ["1d050001"] && rig.exchange(0) == ["1d080002"])
        _ = rig.rig.exchange("1e")
        rig.rig.advance(by: .milliseconds(29_999))
        #expect(rig.channelRequests() == [])
        rig.rig.advance(by: .milliseconds(1))
        #expect(rig.channelRequests() == ["close 0"])
        #expect(rig.exchange(0, "0a 0500") == [], "nothing more is taken on it")
        rig.close(0, .byOwner)
        #expect(rig.rig.sent() == ["1d080002"])
        _ = rig.rig.exchange("1e")
        let events = rig.rig.events()
        #expect(!events.contains { if case .transactionTimedOut = $0 { true } else { false } })
        #expect(events.contains { if case .indicationConfirmed(_, 0x0008) = $0 { true } else { false } })
        rig.expect(1, "0a 0500", "0b 05")
    }

    // MARK: Robust caching

    /// 0003 Service Changed with 0004; 0006 Client Supported Features; 0008 Database Hash; 000b (write without response).
    private static func cachingRig(count: Int) throws -> BearerRig {
        let database = try GATTDatabase {
            Service(.genericAttribute) {
                Characteristic(.serviceChanged, .indicate, name: "service changed")
                Characteristic(.clientSupportedFeatures, [.read, .write], value: .clientSupportedFeatures)
                Characteristic(.databaseHash, .read, value: .fixedLength(Array(repeating: 0xDB, count: 16)))
            }
            Service(.uuid16(0x180F)) {
                Characteristic(.uuid16(0x2A19), [.read, .writeWithoutResponse, .notify], value: [0x64])
            }
            Service(.uuid16(0x1812), name: "optional", isPublished: false)
        }
        var rig = BearerRig(database, count: count)
        rig.rig.expect("12 0600 03", "13", "robust caching, enhanced bearers")
        rig.rig.expect("12 0400 0200", "13")
        rig.rig.expect("12 0c00 0100", "13")
        _ = try rig.rig.layer.setPublished(true, service: "optional")
        _ = rig.rig.events()
        return rig
    }

    @Test("On several bearers, Database Out Of Sync comes once on each, and only the Database Hash makes aware")
    func caching() throws {
        var rig = try Self.cachingRig(count: 2)
        rig.expect(0, "0a 0b00", "01 0a 0b00 12")
        rig.expect(0, "0a 0b00", "0b 64", "it was told here")
        rig.expect(1, "0a 0b00", "01 0a 0b00 12", "and not here")
        rig.expect(1, "0a 0b00", "0b 64")
        rig.rig.expect("0a 0b00", "01 0a 0b00 12")
        try rig.rig.layer.indicate([1, 0, 0xFF, 0xFF], of: 0x0003, on: GATTRig.connection, at: rig.rig.now)
        #expect(rig.rig.sent() == ["1d03000100ffff"])
        _ = rig.rig.exchange("1e")
        #expect(rig.rig.layer.clientState(of: GATTRig.connection)?.isChangeAware == false)
        #expect(throws: GATTError.clientOutOfSync(0x000B)) {
            try rig.rig.layer.notify([7], of: 0x000B, on: GATTRig.connection, at: rig.rig.now)
        }
        rig.expect(1, "08 0100ffff 2a2b", "09 12 0800" + String(repeating: "db", count: 16))
        #expect(rig.rig.layer.clientState(of: GATTRig.connection)?.isChangeAware == false)
        rig.expect(0, "0a 0b00", "0b 64")
        #expect(rig.rig.layer.clientState(of: GATTRig.connection)?.isChangeAware == true)
        try rig.rig.layer.notify([7], of: 0x000B, on: GATTRig.connection, at: rig.rig.now)
        #expect(rig.rig.sent() == ["1b0b0007"])
    }

    @Test("When only the fixed channel is left, its rules hold again")
    func cachingWithOneBearerLeft() throws {
        var rig = try Self.cachingRig(count: 1)
        rig.rig.expect("0a 0b00", "01 0a 0b00 12")
        rig.rig.expect("0a 0b00", "0b 64")
        #expect(rig.rig.layer.clientState(of: GATTRig.connection)?.isChangeAware == false)
        rig.close(0)
        rig.rig.expect("0a 0b00", "0b 64")
        #expect(rig.rig.layer.clientState(of: GATTRig.connection)?.isChangeAware == true)
    }

    // MARK: Client

    @Test("Reads run side by side, each on a bearer; a write waits for all in front of it, and holds up all behind it")
    func sideBySide() throws {
        var rig = BearerRig(GATTDatabase())
        let now = rig.rig.now
        for handle: AttributeHandle in [1, 2, 3, 4] {
            try rig.rig.layer.start(.read(handle), on: GATTRig.connection, at: now)
        }
        try rig.rig.layer.start(.write(5, [0xEE]), on: GATTRig.connection, at: now)
        try rig.rig.layer.start(.read(6), on: GATTRig.connection, at: now)
        #expect(rig.rig.sent() == ["0a0100"])
        #expect(rig.exchange(0) == ["0a0200"] && rig.exchange(1) == ["0a0300"])
        #expect(rig.exchange(1, "0b 33") == ["0a0400"])
        #expect(rig.rig.exchange("0b 11") == [], "the write waits for two reads")
        #expect(rig.exchange(0, "0b 22") == [])
        #expect(rig.rig.sent() == [])
        #expect(rig.exchange(1, "0b 44") == [])
        #expect(rig.rig.sent() == ["120500ee"])
        #expect(rig.exchange(0) == [] && rig.exchange(1) == [])
        #expect(rig.rig.exchange("13") == ["0a0600"])
        _ = rig.rig.exchange("0b 66")
        let ends = rig.rig.events().compactMap { event -> String? in
            guard case .procedureEnded(let ended) = event, case .success(let response) = ended.result else {
                return nil
            }
            if case .value(let value) = response { return value.hexadecimal }
            return "written"
        }
        #expect(ends == ["33", "11", "22", "44", "written", "66"])
    }

    @Test("A read whose bearer is closed begins again on another one")
    func interrupted() throws {
        var rig = BearerRig(GATTDatabase())
        for handle: AttributeHandle in [1, 2, 3] {
            try rig.rig.layer.start(.read(handle), on: GATTRig.connection, at: rig.rig.now)
        }
        #expect(rig.rig.sent() == ["0a0100"] && rig.exchange(0) == ["0a0200"] && rig.exchange(1) == ["0a0300"])
        rig.close(0)
        #expect(rig.exchange(1, "0b 33") == ["0a0200"])
        rig.close(1)
        #expect(rig.rig.exchange("0b 11") == ["0a0200"])
        _ = rig.rig.exchange("0b 22")
        let values = rig.rig.events().compactMap { event -> String? in
            guard case .procedureEnded(let ended) = event, case .success(.value(let value)) = ended.result else {
                return nil
            }
            return value.hexadecimal
        }
        #expect(values == ["33", "11", "22"])
    }

    @Test("A server that does not answer on a bearer for 30 s loses that bearer; the procedure has failed")
    func unanswered() throws {
        var rig = BearerRig(GATTDatabase(), count: 1)
        try rig.rig.layer.start(.read(1), on: GATTRig.connection, at: rig.rig.now)
        try rig.rig.layer.start(.read(2), on: GATTRig.connection, at: rig.rig.now)
        #expect(rig.rig.sent() == ["0a0100"] && rig.exchange(0) == ["0a0200"])
        _ = rig.rig.exchange("0b 11")
        rig.rig.advance(by: .seconds(30))
        #expect(rig.channelRequests() == ["close 0"])
        rig.close(0, .byOwner)
        let failures = rig.rig.events().compactMap { event -> GATTProcedureError? in
            if case .procedureEnded(let ended) = event, case .failure(let error) = ended.result { error } else { nil }
        }
        #expect(failures == [.timedOut])
        try rig.rig.layer.start(.read(3), on: GATTRig.connection, at: rig.rig.now)
        #expect(rig.rig.sent() == ["0a0300"])
    }

    // MARK: Opening

    private static let askForFeatures = "080100ffff3a2b"

    @Test("A client looks for the feature, says that it uses it, and asks for channels")
    func opening() throws {
        var rig = BearerRig(GATTDatabase(), count: 0, opens: true)
        #expect(rig.rig.sent() == [], "not before the link is encrypted")
        rig.encrypt()
        rig.encrypt()
        #expect(rig.rig.sent() == [Self.askForFeatures])
        #expect(rig.rig.exchange("09 03 1000 01") == ["080100ffff292b"])
        #expect(rig.rig.exchange("09 03 1200 01") == ["12120007"], "robust caching stays, the others are added")
        #expect(rig.channelRequests() == [])
        _ = rig.rig.exchange("13")
        #expect(rig.channelRequests() == ["open 5"])
        #expect(rig.rig.events().isEmpty, "the owner did not start any of it")
    }

    @Test(
        "A server without the feature is asked for nothing",
        arguments: ["09 03 1000 00", "01 08 0100 0a", "09 02 1000", "09 03 1000 02"]
    )
    func without(_ answer: String) throws {
        var rig = BearerRig(GATTDatabase(), count: 0, opens: true)
        rig.encrypt()
        #expect(rig.rig.sent() == [Self.askForFeatures])
        #expect(rig.rig.exchange(answer) == [])
        #expect(rig.channelRequests() == [])
        #expect(rig.rig.layer.nextDeadline == nil)
    }

    @Test("A server that has no room is asked once more, after a pause, and then left alone")
    func retry() throws {
        var rig = BearerRig(GATTDatabase(), count: 0, opens: true)
        rig.encrypt()
        _ = rig.rig.sent()
        _ = rig.rig.exchange("09 03 1000 01")
        _ = rig.rig.exchange("01 08 0100 0a")
        #expect(rig.channelRequests() == ["open 5"])
        let first = [rig.name(), rig.name()]
        rig.rig.layer.channelsAsked(first, on: GATTRig.connection, pause: .milliseconds(240))
        rig.open(first[0])
        rig.rig.layer.bearerClosed(first[1], .refused(.noResources), at: rig.rig.now)
        #expect(rig.rig.layer.nextDeadline == rig.rig.now + .milliseconds(240))
        rig.rig.advance(by: .milliseconds(239))
        #expect(rig.channelRequests() == [])
        rig.rig.advance(by: .milliseconds(1))
        #expect(rig.channelRequests() == ["open 4"])
        let second = rig.name()
        rig.rig.layer.channelsAsked([second], on: GATTRig.connection, pause: .milliseconds(240))
        rig.rig.layer.bearerClosed(second, .refused(.noResources), at: rig.rig.now)
        #expect(rig.rig.layer.nextDeadline == nil)
        rig.rig.advance(by: .seconds(60))
        #expect(rig.channelRequests() == [])
        #expect(rig.rig.layer.enhancedBearerCount(of: GATTRig.connection) == 1)
    }
}

extension BearerRig {
    fileprivate mutating func open(_ name: Channel.ID) { open(mtu: 64, name) }
}

/// The channels of enhanced bearers, on a host. Core 5.4, Vol 3, Part A, 4.25 and 4.26, table 4.17.
@Suite struct EnhancedBearerChannelTests {
    @Test("A link that is not encrypted gets none, by the result that says so")
    func unencrypted() throws {
        var rig = try ChannelRig(bearers: 5)
        let answer = rig.signal("17 01 0c00 2700 4000 4000 0100 5000 5100")
        #expect(answer == [compact("0500 18 01 0c00 0000 0000 0000 0500 0000 0000")])
    }

    @Test("Without the setting there is no such service, nor is there one for requests that are not enhanced")
    func off() throws {
        var rig = try ChannelRig(bearers: 0)
        let answer = rig.signal("17 01 0a00 2700 4000 4000 0100 5000")
        #expect(answer == [compact("0500 18 01 0a00 0000 0000 0000 0200 0000")])
        rig = try ChannelRig(bearers: 5)
        let plain = rig.signal("14 01 0a00 2700 5000 4000 4000 0100")
        #expect(plain == [compact("0500 15 01 0a00 0000 0000 0000 0000 0200")])
    }

    /// MTU 517, MPS 1022, and the credits that 8192 bytes are enough for.
    private static let terms = "0502 fe03 0700"

    @Test("An encrypted link gets as many as the setting says, each of which answers by itself")
    func encrypted() throws {
        var rig = try ChannelRig(security: LinkSecurity(isEncrypted: true, keySize: 16), bearers: 2)
        let answer = rig.signal("17 01 0e00 2700 4000 4000 0100 5000 5100 5200")
        #expect(answer == [compact("0500 18 01 0e00 \(Self.terms) 0400 4000 4100 0000")])
        let opened = rig.rig.events().compactMap { event -> Int? in
            if case .gatt(.enhancedBearerOpened(_, let mtu, _)) = event { mtu } else { nil }
        }
        #expect(opened == [64, 64], "the peer's MTU")
        // The name of the device, on both at once; each has one credit.
        #expect(rig.frame("4000", "0300 0a 0300") == [compact("5000 0600 0b 436169726e")])
        #expect(rig.frame("4100", "0300 0a 0300") == [compact("5100 0600 0b 436169726e")])
        #expect(rig.frame("4000", "0300 0a 0300") == [], "no credit, no answer")
        #expect(rig.frame("0400", "0a 0300") == [compact("0400 0b 436169726e")], "the fixed channel goes on")
        #expect(rig.signal("16 02 0400 5000 0100") == [compact("5000 0600 0b 436169726e")])
        // It is closed, and another one may be opened.
        #expect(rig.signal("06 03 0400 4000 5000") == [compact("0500 07 03 0400 4000 5000")])
        let again = rig.signal("17 04 0a00 2700 4000 4000 0100 5000")
        #expect(again == [compact("0500 18 04 0a00 \(Self.terms) 0000 4000")])
        #expect(rig.rig.host.gatt.enhancedBearerCount(of: ChannelRig.handle) == 2)
    }

    @Test("A longer channel has a longer MTU from the next PDU on")
    func reconfigured() throws {
        var rig = try ChannelRig(security: LinkSecurity(isEncrypted: true, keySize: 16), bearers: 1)
        _ = rig.signal("17 01 0a00 2700 4000 4000 0900 5000")
        #expect(rig.signal("19 02 0600 8000 4000 5000") == [compact("0500 1a 02 0200 0000")])
        _ = rig.rig.events()
        // Fourteen times the name are 70 bytes, of which 64 octets would hold 63.
        let handles = String(repeating: "0300", count: 14)
        let answer = rig.frame("4000", "1d00 0e \(handles)")
        #expect(answer.count == 2 && answer[0].hasPrefix(compact("5000 4700 0f 436169726e")), "\(answer)")
    }

    @Test("A PDU that exceeds the MTU of its channel closes it, and nothing else")
    func tooLong() throws {
        var rig = try ChannelRig(security: LinkSecurity(isEncrypted: true, keySize: 16), bearers: 1)
        _ = rig.signal("17 01 0a00 2700 4000 4000 0900 5000")
        #expect(rig.frame("4000", "0602 0a 0300") == [compact("0500 06 01 0400 5000 4000")])
        #expect(rig.rig.host.gatt.enhancedBearerCount(of: ChannelRig.handle) == 0)
        #expect(rig.frame("0400", "0a 0300") == [compact("0400 0b 436169726e")])
    }
}
