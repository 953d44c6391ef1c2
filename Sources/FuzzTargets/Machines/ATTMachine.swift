import BluetoothHCI
import BluetoothHost
import ByteCoding

/// A GATT layer in both roles on one connection. The program is the peer, the owner and the time.
///
/// What must hold, whatever the program does: a value for encrypted links leaves on no other, written or told; each request
/// comes to one response, unless the layer says that it ignored it or that the bearer is dead; each procedure of this side
/// ends; PDUs and events are bounded; and a connection that comes afterwards works.
struct ATTMachine {
    private static let connection: ConnectionHandle = 0x0040
    private static let queueLimit = 8
    /// One PDU can notify 129 empty values, and may have come twice.
    private static let mostEvents = 300
    /// What must never be seen on a link that is not encrypted.
    private static let secret: [UInt8] = [0xE7, 0x5E, 0xC2, 0xE7, 0x5E, 0xC2, 0xE7, 0x5E]

    private static let templates: [[UInt8]] = [
        "010a030001", "020502", "030502", "040100ffff", "050100", "05010300010203", "060100ffff00280f18",
        "070100050006000900",
        "080100ffff0328", "09070200020300aa2a", "0a0300", "0a0500", "0a0700", "0b010203", "0c05000100", "0c07000000",
        "0d436169726e", "0e030005000700", "0e05000700", "0f010203", "100100ffff0028", "1106010005000018", "12050 0aabb",
        "120300aabb", "12070 0aabb", "120a000100", "120a000200", "120d000300", "120f0005", "1212000100", "1212000200",
        "1212000300", "13",
        "1605000000aabb", "1603000200aabb", "1800", "1801", "19", "1b03000102", "1d03000102", "1e", "2003000500",
        "20050007001200", "210100010000", "230300010001050001000 2", "520500aabb", "520300aabb",
        "d20500aa000000000000000000000000", "1b11000102", "0a1100", "0c11000100", "0e11000300", "2011000300",
        "080100fffface2a",
    ].map { [UInt8](hexadecimal: $0.filter { $0 != " " }) ?? [] }

    private static let procedures: [GATTProcedure] = [
        .exchangeMTU, .discoverAllPrimaryServices, .discoverPrimaryServices(.uuid16(0x180F)),
        .findIncludedServices(in: .all), .discoverCharacteristics(in: .all), .discoverDescriptors(in: .all),
        .read(AttributeHandle(rawValue: 3)), .readLong(AttributeHandle(rawValue: 3)), .readByUUID(.uuid16(0x2AAA)),
        .readMultiple([AttributeHandle(rawValue: 3), AttributeHandle(rawValue: 5)]),
        .readMultipleVariable([AttributeHandle(rawValue: 3), AttributeHandle(rawValue: 5)]),
        .write(AttributeHandle(rawValue: 3), [1, 2, 3]),
        .writeLong(AttributeHandle(rawValue: 3), Array(repeating: 7, count: 60)[...]),
        .writeReliably([
            HandleValue(AttributeHandle(rawValue: 3), [1]), HandleValue(AttributeHandle(rawValue: 5), [2]),
        ]),
        .subscribe(clientConfiguration: AttributeHandle(rawValue: 4), .notifications),
    ]

    /// 0003 asked; 0005 stored; 0007 stored, encrypted; 0009 notify and indicate with 000a; 000c asked about subscriptions
    /// with 000d; 000f Client Supported Features; 0011 secret, told with 0012; 0013 a service that comes and goes.
    private static func database() throws -> GATTDatabase {
        try GATTDatabase {
            Service(.uuid16(0x1800)) {
                Characteristic(.uuid16(0x2AAA), [.read, .write, .writeWithoutResponse], value: .askOwner)
                Characteristic(.uuid16(0x2AAA), [.read, .write, .writeWithoutResponse], value: [1, 2, 3])
                Characteristic(.uuid16(0x2AAA), [.read, .write], permissions: .encrypted, value: .fixedLength([9, 9]))
                Characteristic(.uuid16(0x2AAB), [.read, .notify, .indicate], name: "both", value: [5])
                Characteristic(.uuid16(0x2AAC), [.notify, .indicate], name: "asked", ownerAnswersSubscriptions: true)
                Characteristic(.clientSupportedFeatures, [.read, .write], value: .clientSupportedFeatures)
                Characteristic(
                    .uuid16(0x2AAE),
                    [.read, .notify, .indicate],
                    name: "secret",
                    permissions: .encrypted,
                    value: .fixedLength(secret)
                )
            }
            Service(.uuid16(0x180F), name: "optional") { Characteristic(.uuid16(0x2AAA), .read, value: [1]) }
            Service(.uuid128(1)) { Include("optional") }
        }
    }

    private var layer: GATTLayer
    private var program: FuzzProgram
    private var digest = FuzzDigest()
    private var now = Duration.zero
    private var isEncrypted = false
    /// Whether the bearer has been given up: nothing is answered then.
    private var isDead = false
    private var unanswered: [any GATTRequest] = []
    /// Since the connection came: requests of the peer, and what became of them.
    private var requests = 0
    private var answers = 0
    /// Procedures of this side that have not ended.
    private var procedures = 0
    private let secretHandle: AttributeHandle

    static func run(_ input: ArraySlice<UInt8>) throws -> UInt64 {
        var machine = try ATTMachine(input)
        while !machine.program.isAtEnd { try machine.step() }
        try machine.finish()
        return machine.digest.value
    }

    private init(_ input: ArraySlice<UInt8>) throws {
        program = FuzzProgram(input)
        let database = try Self.database()
        secretHandle = AttributeHandle(rawValue: 0x0011)
        layer = GATTLayer(database: database, configuration: .init(queueLimit: Self.queueLimit))
        layer.connectionOpened(Self.connection, at: now)
    }

    private mutating func step() throws {
        switch program.number(below: 12) {
        case 0: try receive(program.piece())
        case 1, 2:
            let template = Self.templates[program.number(below: Self.templates.count)]
            try receive(program.variation(of: template))
        case 3: answerOwner()
        case 4: advance(by: program.span())
        case 5: tell()
        case 6: start()
        case 7: setSecurity()
        case 8: _ = try? layer.setPublished(program.flag(), service: "optional")
        case 9: try drainPDUs(atMost: 1 + program.number(below: 8))
        case 10: try drainPDUs()
        default: try reconnect()
        }
        try drainEvents()
    }

    // MARK: What the program does

    private mutating func receive(_ pdu: [UInt8]) throws {
        if isRequest(pdu.first) { requests += 1 }
        layer.receive(pdu[...], on: Self.connection, at: now)
        try drainEvents()
    }

    /// Whether something has to come back: it is no command, and nothing that a server sends.
    private func isRequest(_ opcode: UInt8?) -> Bool {
        guard let opcode, opcode & 0x40 == 0 else { return false }
        guard let known = ATTOpcode(rawValue: opcode) else { return true }
        switch known {
        case .exchangeMTURequest, .findInformationRequest, .findByTypeValueRequest, .readByTypeRequest, .readRequest,
            .readBlobRequest, .readMultipleRequest, .readByGroupTypeRequest, .writeRequest, .prepareWriteRequest,
            .executeWriteRequest, .readMultipleVariableRequest:
            return true
        case .errorResponse, .exchangeMTUResponse, .findInformationResponse, .findByTypeValueResponse,
            .readByTypeResponse, .readResponse, .readBlobResponse, .readMultipleResponse, .readByGroupTypeResponse,
            .writeResponse, .prepareWriteResponse, .executeWriteResponse, .readMultipleVariableResponse, .writeCommand,
            .signedWriteCommand, .handleValueNotification, .multipleHandleValueNotification, .handleValueIndication,
            .handleValueConfirmation:
            return false
        }
    }

    private mutating func answerOwner() {
        let choice = program.byte()
        guard let request = choice & 0x80 == 0 ? unanswered.popLast() : unanswered.last else { return }
        if choice & 3 == 0 {
            layer.refuse(request, with: .unlikelyError, at: now)
        } else if let read = request as? ReadRequest {
            layer.respond(to: read, with: Array(repeating: 0xAB, count: Int(choice & 0x7F) * 5)[...], at: now)
        } else if let write = request as? any GATTWriteRequest {
            layer.respond(to: write, at: now)
        }
    }

    private mutating func advance(by span: Duration) {
        now += span
        layer.advance(to: now)
    }

    private mutating func tell() {
        let choice = program.byte()
        let handle = AttributeHandle(rawValue: UInt16(choice >> 2 & 0x1F))
        let value: ArraySlice<UInt8> = handle == secretHandle ? Self.secret[...] : [1, 2, 3]
        switch choice & 3 {
        case 0:
            try? layer.notify(value, of: handle, on: Self.connection, evenIfNotSubscribed: choice & 0x80 != 0, at: now)
        case 1: try? layer.indicate(value, of: handle, on: Self.connection, at: now)
        case 2: try? layer.writeWithoutResponse([1, 2, 3], to: handle, on: Self.connection, at: now)
        default:
            let values = [
                HandleValue(AttributeHandle(rawValue: 9), [1]), HandleValue(secretHandle, Self.secret[...]),
            ]
            try? layer.notify(values, on: Self.connection, at: now)
        }
    }

    private mutating func start() {
        let procedure = Self.procedures[program.number(below: Self.procedures.count)]
        if (try? layer.start(procedure, on: Self.connection, at: now)) != nil { procedures += 1 }
    }

    private mutating func setSecurity() {
        isEncrypted = program.flag()
        let security = LinkSecurity(isEncrypted: isEncrypted, isBonded: true, keySize: isEncrypted ? 16 : 0)
        layer.securityChanged(Self.connection, to: security)
    }

    private mutating func reconnect() throws {
        let state = layer.connectionClosed(Self.connection)
        try drainEvents()
        try expect(procedures == 0, "\(procedures) procedures have no end although the connection is gone")
        begin()
        if let state, program.flag() { try? layer.restore(state, on: Self.connection) }
    }

    private mutating func begin() {
        layer.connectionOpened(Self.connection, at: now)
        (isEncrypted, isDead, requests, answers, unanswered) = (false, false, 0, 0, [])
    }

    // MARK: What comes out

    private mutating func drainEvents() throws {
        var count = 0
        while let event = layer.nextEvent() {
            count += 1
            digest.add("\(event)")
            switch event {
            case .readRequested(let request):
                try expectAllowed(request.handle, "read")
                unanswered.append(request)
            case .writeRequested(let request): unanswered.append(request)
            case .subscriptionChanged(let change) where change.cause == .requested: unanswered.append(change)
            case .written(let write):
                try expect(
                    isEncrypted || write.handle.rawValue != 7,
                    "a value for encrypted links was written on another"
                )
            case .procedureEnded: procedures -= 1
            case .transactionTimedOut: isDead = true
            case .pduIgnored(_, let ignored): if isRequest(opcode(of: ignored)) { answers += 1 }
            default: break
            }
        }
        try expect(count <= Self.mostEvents, "\(count) events after one step")
        try expect(unanswered.count <= 512, "\(unanswered.count) questions for the owner")
        if let deadline = layer.nextDeadline {
            try expect(deadline <= now + .seconds(30), "a deadline \(deadline - now) ahead")
        }
    }

    private func expectAllowed(_ handle: AttributeHandle, _ what: String) throws {
        try expect(isEncrypted || handle != secretHandle, "the secret was \(what) on a link that is not encrypted")
    }

    private func opcode(of ignored: IgnoredPDU) -> UInt8? {
        switch ignored {
        case .tooLong(let opcode, _), .malformed(let opcode, _), .requestOutOfTurn(let opcode): opcode
        case .empty, .unsupportedCommand, .refusedCommand, .unexpectedResponse, .unexpectedConfirmation,
            .indicationOutOfTurn:
            nil
        }
    }

    private mutating func drainPDUs(atMost limit: Int = .max) throws {
        var buffer: [UInt8] = []
        var count = 0
        while count < limit, layer.nextPDU(for: Self.connection, into: &buffer) {
            count += 1
            digest.add(buffer)
            guard let opcode = buffer.first.flatMap(ATTOpcode.init(rawValue:)) else {
                throw FuzzFinding("\(buffer.hexadecimal) is no PDU")
            }
            try expect(buffer.count <= ATT.maximumMTU, "\(opcode) of \(buffer.count) bytes")
            if isAnswer(opcode) { answers += 1 }
            if !isEncrypted {
                try expect(!isSecret(buffer), "\(opcode) carries the secret in plain: \(buffer.hexadecimal)")
            }
            try expect(count <= 2 * Self.queueLimit + 8, "\(count) PDUs wait")
        }
    }

    private func isAnswer(_ opcode: ATTOpcode) -> Bool {
        switch opcode {
        case .errorResponse, .exchangeMTUResponse, .findInformationResponse, .findByTypeValueResponse,
            .readByTypeResponse, .readResponse, .readBlobResponse, .readMultipleResponse, .readByGroupTypeResponse,
            .writeResponse, .prepareWriteResponse, .executeWriteResponse, .readMultipleVariableResponse:
            true
        case .exchangeMTURequest, .findInformationRequest, .findByTypeValueRequest, .readByTypeRequest, .readRequest,
            .readBlobRequest, .readMultipleRequest, .readByGroupTypeRequest, .writeRequest, .prepareWriteRequest,
            .executeWriteRequest, .readMultipleVariableRequest, .writeCommand, .signedWriteCommand,
            .handleValueNotification, .multipleHandleValueNotification, .handleValueIndication,
            .handleValueConfirmation:
            false
        }
    }

    private func isSecret(_ bytes: [UInt8]) -> Bool {
        guard bytes.count >= Self.secret.count else { return false }
        return (0...bytes.count - Self.secret.count).contains { bytes[$0...].starts(with: Self.secret) }
    }

    // MARK: The end

    private mutating func finish() throws {
        // The owner forgets what it has not answered, and so does the peer.
        for _ in 0..<Self.queueLimit + 2 {
            try drainPDUs()
            try drainEvents()
            advance(by: .seconds(31))
            try drainEvents()
        }
        try drainPDUs()
        try expect(procedures == 0, "\(procedures) procedures have no end")
        if !isDead { try expect(answers == requests, "\(requests) requests came to \(answers) answers") }
        layer.connectionClosed(Self.connection)
        try drainEvents()
        begin()
        try drainEvents()
        for (request, answer) in [("1205000 10203", "13"), ("0a0500", "0b010203"), ("0a0700", "010a07000f")] {
            let bytes = [UInt8](hexadecimal: request.filter { $0 != " " }) ?? []
            layer.receive(bytes[...], on: Self.connection, at: now)
            var reply: [UInt8] = []
            let has = layer.nextPDU(for: Self.connection, into: &reply)
            let text = reply.hexadecimal
            // What is too early is Insufficient Authentication or Encryption, by what is known of the peer.
            let isRight = answer.hasPrefix("01") ? text.hasPrefix("010a0700") : text == answer
            try expect(has && isRight, "a connection afterwards had \(text) for \(request)")
        }
        try drainEvents()
    }
}
