import BluetoothHCI
import BluetoothHost
import ByteCoding
import Testing

/// An owner that answers late, or not at all: every request has its one response, and the bearer lives
/// (Core 5.4, Vol 3, Part F, 3.3.2 and 3.3.3).
@Suite struct GATTUnansweredTests {
    /// One attribute of every kind, readable and writable as far as its kind allows. Of the short values, 0004, 0007, 000a
    /// and 000e, only the owner knows the first and the last.
    private static func database() throws -> GATTDatabase {
        let every: CharacteristicProperties = [
            .read, .write, .writeWithoutResponse, .authenticatedSignedWrites, .notify, .indicate, .reliableWrite,
            .writableAuxiliaries,
        ]
        return try GATTDatabase {
            Service(.uuid16(0x1800), name: "first") {
                Include("second")
                Characteristic(.uuid16(0x2AAA), [.read, .write], value: .askOwner(maximumLength: 40))
                Characteristic(.uuid16(0x2AAA), every, value: .askOwner, ownerAnswersSubscriptions: true) {
                    Descriptor(.characteristicUserDescription, write: .open, value: .askOwner)
                    Descriptor(.characteristicPresentationFormat, value: .fixedLength([4, 0, 0, 0x27, 1, 0, 0]))
                    Descriptor.uninterpreted(.serverCharacteristicConfiguration, write: .open, value: .askOwner)
                }
                Characteristic(.uuid16(0x2AAB), every, value: .fixedLength([1, 2]))
                Characteristic(.uuid16(0x2AAC), every, permissions: .encrypted, value: .askOwner)
                Characteristic(.uuid16(0x2AAC), [], value: .askOwner)
                Characteristic(.clientSupportedFeatures, [.read, .write], value: .clientSupportedFeatures)
            }
            Service(.uuid16(0x180F), name: "second", isPrimary: false) {
                Characteristic(.uuid16(0x2AAA), .notify, ownerAnswersSubscriptions: true)
            }
            Service(.uuid128(7)) { Characteristic(.uuid128(8), [.read, .write], value: .askOwner) }
        }
    }

    /// What a client may send about each attribute. No request but the last of a kind may be a command.
    private static func requests(about attribute: Attribute, among count: UInt16) -> [[UInt8]] {
        var requests: [[UInt8]] = []
        func add(_ opcode: UInt8, _ build: (inout [UInt8]) -> Void = { _ in }) {
            var pdu = [opcode]
            build(&pdu)
            requests.append(pdu)
        }
        let handle = attribute.handle.rawValue
        func range(_ pdu: inout [UInt8]) {
            pdu.appendLittleEndian(handle)
            pdu.appendLittleEndian(UInt16.max)
        }
        add(0x02) { $0 += [0x17, 0x00] }
        add(0x04, range)
        add(0x06) {
            range(&$0)
            $0 += [0xAA, 0x2A, 0x01]
        }
        for opcode: UInt8 in [0x08, 0x10] {
            add(opcode) {
                range(&$0)
                $0 += [UInt8](hexadecimal: attribute.type.littleEndian) ?? []
            }
        }
        add(0x0A) { $0.appendLittleEndian(handle) }
        for offset: UInt16 in [0, 1, 600] {
            add(0x0C) {
                $0.appendLittleEndian(handle)
                $0.appendLittleEndian(offset)
            }
        }
        for opcode: UInt8 in [0x0E, 0x20] {
            add(opcode) {
                $0.appendLittleEndian(handle)
                $0.appendLittleEndian(handle)
                $0.appendLittleEndian(handle % count + 1)
            }
        }
        for value: [UInt8] in [[], [1], [1, 0], [0, 0], Array(repeating: 0, count: 19)] {
            add(0x12) {
                $0.appendLittleEndian(handle)
                $0 += value
            }
            for offset: UInt16 in [0, 1] {
                add(0x16) {
                    $0.appendLittleEndian(handle)
                    $0.appendLittleEndian(offset)
                    $0 += value.prefix(18)
                }
            }
            add(0x18) { $0.append(0x01) }
            add(0x18) { $0.append(0x00) }
        }
        // Reserved opcodes without the command flag are requests too.
        for opcode: UInt8 in [0x00, 0x14, 0x1A, 0x22, 0x3F, 0x80, 0xBF] {
            add(opcode) { $0.appendLittleEndian(handle) }
        }
        return requests
    }

    @Test(arguments: [GATTLayer.OwnerAnswers.within(.seconds(3)), .atOnce], [false, true])
    func everyRequestHasItsResponse(_ answers: GATTLayer.OwnerAnswers, isEncrypted: Bool) throws {
        let security = LinkSecurity(isEncrypted: isEncrypted, keySize: isEncrypted ? 16 : 0)
        let database = try Self.database()
        let attributes = Array(database.attributes(in: .all))
        var unanswered = 0
        for attribute in attributes {
            // A queue that one request left behind is executed by a later one, so that they share a connection.
            var rig = GATTRig(database, security: security, configuration: .init(ownerAnswers: answers))
            for request in Self.requests(about: attribute, among: UInt16(attributes.count)) {
                rig.receive(request)
                var pdus = rig.sent()
                // An owner that looks at its events and does nothing.
                for event in rig.events() { if case .requestNotAnswered = event { unanswered += 1 } }
                pdus += rig.sent()
                if pdus.isEmpty {
                    rig.advance(by: .seconds(3))
                    for event in rig.events() { if case .requestNotAnswered = event { unanswered += 1 } }
                    pdus += rig.sent()
                }
                #expect(pdus.count == 1, "\(attribute.type) \(request.hexadecimal): \(pdus)")
                guard let response = pdus.first.flatMap({ [UInt8](hexadecimal: $0) }) else { return }
                let isError = response[0] == 0x01 && response[1] == request[0]
                #expect(isError || response[0] == request[0] | 1, "\(request.hexadecimal): \(pdus)")
            }
            rig.expect("0a 0100", "0b 0018", "the bearer lives")
            #expect(rig.layer.nextDeadline == nil)
        }
        #expect(unanswered > 80, "\(unanswered)")
    }

    // MARK: One after the other

    /// 0003 and 0005 asked; 0007 notify with 0008, asked about subscriptions.
    private static func rig(_ answers: GATTLayer.OwnerAnswers? = nil) throws -> GATTRig {
        let database = try GATTDatabase {
            Service(.uuid16(0x1800)) {
                Characteristic(.uuid16(0x2AAA), [.read, .write], value: .askOwner)
                Characteristic(.uuid16(0x2AAA), [.read, .write], value: .askOwner)
                Characteristic(.uuid16(0x2AAB), .notify, ownerAnswersSubscriptions: true)
            }
        }
        return GATTRig(database, configuration: answers.map { .init(ownerAnswers: $0) } ?? .init())
    }

    private static func question(_ rig: inout GATTRig) throws -> any GATTRequest {
        let questions = rig.events().compactMap { event -> (any GATTRequest)? in
            switch event {
            case .readRequested(let request): request
            case .writeRequested(let request): request
            case .subscriptionChanged(let change) where change.cause == .requested: change
            default: nil
            }
        }
        return try #require(questions.first)
    }

    @Test(arguments: [
        ("0a 0300", "010a03000e"), ("0c 0300 0000", "010c03000e"), ("08 0100 ffff aa2a", "010803000e"),
        ("0e 0300 0500", "010e03000e"), ("20 0500 0300", "012005000e"), ("12 0300 01", "011203000e"),
        ("12 0800 0100", "011208000e"),
    ])
    func anOwnerThatIsSilentFor10SecondsIsNotWaitedFor(_ request: String, _ refusal: String) throws {
        var rig = try Self.rig()
        rig.advance(by: .seconds(100))
        #expect(rig.exchange(request) == [])
        #expect(rig.layer.nextDeadline == .seconds(110))
        let question = try Self.question(&rig)
        #expect(rig.exchange("0a 0100") == [], "the next one waits")
        rig.advance(by: .milliseconds(9_999))
        #expect(rig.sent() == [])
        rig.advance(by: .milliseconds(1))
        #expect(rig.sent() == [refusal, "0b0018"])
        let reported = rig.events().contains { if case .requestNotAnswered = $0 { true } else { false } }
        #expect(reported)
        // A late answer does nothing.
        if let read = question as? ReadRequest { #expect(rig.layer.respond(to: read, with: [1], at: rig.now) == false) }
        if let write = question as? any GATTWriteRequest { #expect(rig.layer.respond(to: write, at: rig.now) == false) }
        #expect(rig.layer.refuse(question, with: .outOfRange, at: rig.now) == false)
        #expect(rig.sent() == [])
        #expect(rig.layer.nextDeadline == nil)
        rig.expect("0a 0800", "0b 0000", "a subscription is as it was")
    }

    @Test func severalQuestionsShareOneDeadline() throws {
        var rig = try Self.rig()
        #expect(rig.exchange("0e 0300 0500") == [])
        rig.advance(by: .seconds(9))
        rig.layer.respond(to: try #require(try Self.question(&rig) as? ReadRequest), with: [1], at: rig.now)
        #expect(rig.layer.nextDeadline == .seconds(10), "it counts from the request")
        rig.advance(by: .seconds(1))
        #expect(rig.sent() == ["010e05000e"])
        rig.expect("16 0300 0000 aa", "17 0300 0000 aa")
        #expect(rig.exchange("18 01") == [])
        rig.advance(by: .seconds(10))
        #expect(rig.sent() == ["011803000e"])
    }

    @Test func theNextRequestHasItsOwnDeadline() throws {
        var rig = try Self.rig()
        #expect(rig.exchange("0a 0300") == [])
        rig.advance(by: .seconds(4))
        rig.receive("0a 0500")
        rig.layer.respond(to: try #require(try Self.question(&rig) as? ReadRequest), with: [1], at: rig.now)
        #expect(rig.sent() == ["0b01"])
        #expect(rig.layer.nextDeadline == .seconds(14))
    }

    @Test func bearersAreApart() throws {
        var rig = try Self.rig()
        rig.layer.connectionOpened(0x0041, at: rig.now)
        rig.receive("0a 0300")
        rig.advance(by: .seconds(5))
        rig.layer.receive(hex("0a 0300")[...], on: 0x0041, at: rig.now)
        rig.advance(by: .seconds(5))
        #expect(rig.sent() == ["010a03000e"])
        #expect(rig.layer.nextDeadline == .seconds(15))
        rig.layer.connectionClosed(0x0041)
        #expect(rig.layer.nextDeadline == nil)
        rig.advance(by: .seconds(20))
        #expect(rig.sent() == [])
        rig.expect("0a 0100", "0b 0018")
    }

    @Test func aClosedConnectionKeepsNoSubscriptionThatWasNotAccepted() throws {
        var rig = try Self.rig()
        rig.receive("12 0800 0100")
        let change = try Self.question(&rig)
        #expect(rig.layer.connectionClosed(GATTRig.connection)?.subscriptions == [:])
        #expect(rig.layer.refuse(change, with: .outOfRange, at: rig.now) == false)
    }

    @Test func aDeadBearerAsksNoMore() throws {
        var rig = try Self.rig(.within(.seconds(40)))
        #expect(rig.exchange("12 0800 0100") == [])
        try rig.layer.start(.read(1), on: GATTRig.connection, at: rig.now)
        rig.advance(by: .seconds(30))
        #expect(rig.layer.nextDeadline == nil)
        #expect(rig.layer.connectionClosed(GATTRig.connection)?.subscriptions == [:])
    }

    // MARK: Write Commands

    @Test func aSubscriptionByCommandIsForTheOwnerToo() throws {
        var rig = try Self.rig()
        #expect(rig.exchange("52 0800 0100") == [])
        let change = try #require(try Self.question(&rig) as? SubscriptionChange)
        #expect(change.current == .notifications)
        try rig.layer.notify([9], of: 0x0007, on: GATTRig.connection, at: rig.now)
        #expect(rig.sent() == ["1b070009"], "it is in force in advance")
        rig.expect("0a 0100", "0b 0018", "and keeps no request waiting")
        #expect(rig.layer.respond(to: change, at: rig.now) == true)
        #expect(rig.sent() == [])
        rig.expect("0a 0800", "0b 0100")

        rig.receive("52 0800 0000")
        #expect(rig.layer.refuse(try Self.question(&rig), with: .outOfRange, at: rig.now) == true)
        rig.expect("0a 0800", "0b 0100", "as it was")
    }

    @Test func aSubscriptionByCommandThatTheOwnerIgnoresIsTakenBack() throws {
        var rig = try Self.rig()
        rig.receive("52 0800 0100")
        let change = try Self.question(&rig)
        rig.advance(by: .seconds(10))
        #expect(rig.layer.refuse(change, with: .outOfRange, at: rig.now) == false)
        rig.expect("0a 0800", "0b 0000")
        // A peer that sends many is held to a few.
        for _ in 0..<4 { rig.receive("52 0800 0100") }
        _ = rig.events()
        let response = ATTErrorResponse(requestOpcode: 0x52, handle: 0x0008, error: .insufficientResources)
        rig.expectIgnored("52 0800 0000", .refusedCommand(response))
        rig.expect("0a 0800", "0b 0100")
        rig.advance(by: .seconds(10))
        rig.expect("0a 0800", "0b 0000")
    }

    // MARK: Owners that answer at once

    @Test func theTurnOfAnOwnerThatAnswersAtOnceEndsWithItsNextEvent() throws {
        var rig = try Self.rig(.atOnce)
        rig.receive("0a 0300")
        #expect(rig.sent() == [], "the owner has not seen it")
        guard case .readRequested(let first)? = rig.layer.nextEvent() else {
            Issue.record("no request")
            return
        }
        #expect(rig.sent() == [], "it is answered in its turn")
        #expect(rig.layer.respond(to: first, with: [5], at: rig.now) == true)
        #expect(rig.events().isEmpty)
        #expect(rig.sent() == ["0b05"])

        rig.receive("0a 0300")
        guard case .readRequested(let second)? = rig.layer.nextEvent() else {
            Issue.record("no request")
            return
        }
        #expect(rig.events().count == 2, "it is refused, and told so")
        #expect(rig.layer.respond(to: second, with: [5], at: rig.now) == false)
        #expect(rig.sent() == ["010a03000e"])
    }
}

extension BluetoothUUID {
    /// A 16-bit UUID as it is sent; another for a longer one.
    fileprivate var littleEndian: String {
        switch self {
        case .uuid16(let value): [UInt8(truncatingIfNeeded: value), UInt8(truncatingIfNeeded: value >> 8)].hexadecimal
        case .uuid128: "aa2a"
        }
    }
}
