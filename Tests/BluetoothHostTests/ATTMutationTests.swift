import BluetoothHCI
import BluetoothHost
import ByteCoding
import SeededRandomness
import Testing

/// Random and mutated PDUs in both roles, with an owner who answers, refuses, or forgets: nothing traps, nothing
/// grows, everything that is sent is within its bounds, and the connection works afterwards.
@Suite struct ATTMutationTests {
    private static let pdusPerSeed = 100_000

    /// One PDU of each kind, for the handles of `database()`.
    private static let corpus: [[UInt8]] = [
        "01 0a 0300 01", "02 0502", "03 0502", "04 0100 ffff", "05 01 0100 0028 0200 0328",
        "05 02 0300 000102030405060708090a0b0c0d0e0f", "06 0100 ffff 0028 0f18", "07 0100 0500 0600 0900",
        "08 0100 ffff 0328", "08 0100 ffff aa2a", "08 0100 ffff 000102030405060708090a0b0c0d0e0f",
        "09 07 0200 02 0300 002a 0400 0e 0500 012a", "09 08 1000 0a00 0e00 0f18", "09 06 1000 0a00 0e00", "0a 0300",
        "0b 436169726e", "0c 0500 0100", "0d 436169726e", "0e 0300 0500 0700", "0f 010203", "10 0100 ffff 0028",
        "11 06 0100 0500 0018 0600 0900 0118", "11 14 0f00 1400 ffeeddccbbaa99887766554433221100", "12 0500 aabb",
        "12 0300 aabb", "12 0a00 0100", "12 0d00 0300", "12 0f00 05", "13", "16 0500 0000 aabb", "16 0300 0200 aabb",
        "17 0500 0000 aabb", "18 00", "18 01", "19", "1b 0300 0102", "1d 0300 0102", "1e", "20 0300 0500",
        "21 0100 01 0000",
        "23 0300 0100 01 0500 0100 02", "52 0500 aabb", "52 0300 aabb", "d2 0500 aa 000000000000000000000000",
    ].map { hex($0) }

    private static let procedures: [GATTProcedure] = [
        .exchangeMTU, .discoverAllPrimaryServices, .discoverPrimaryServices(.uuid16(0x180F)),
        .findIncludedServices(in: .all), .discoverCharacteristics(in: .all), .discoverDescriptors(in: .all), .read(3),
        .readLong(3), .readByUUID(.uuid16(0x2AAA)), .readMultiple([3, 5]), .readMultipleVariable([3, 5]),
        .write(3, [1, 2, 3]), .writeLong(3, Array(repeating: 7, count: 60)[...]),
        .writeReliably([HandleValue(3, [1]), HandleValue(5, [2])]),
        .subscribe(clientConfiguration: 4, .notifications),
    ]

    /// 0003 asked; 0005 stored; 0007 stored, encrypted; 0009 notify and indicate with 000a; 000c asked about
    /// subscriptions with 000d; 000f Client Supported Features; 0011 service that comes and goes.
    private static func database() throws -> GATTDatabase {
        try GATTDatabase {
            Service(.uuid16(0x1800)) {
                Characteristic(.uuid16(0x2AAA), [.read, .write, .writeWithoutResponse], value: .askOwner)
                Characteristic(.uuid16(0x2AAA), [.read, .write, .writeWithoutResponse], value: [1, 2, 3])
                Characteristic(.uuid16(0x2AAA), [.read, .write], permissions: .encrypted, value: .fixedLength([9, 9]))
                Characteristic(.uuid16(0x2AAB), [.read, .notify, .indicate], name: "both", value: [5])
                Characteristic(.uuid16(0x2AAC), [.notify, .indicate], name: "asked", ownerAnswersSubscriptions: true)
                Characteristic(.clientSupportedFeatures, [.read, .write], value: .clientSupportedFeatures)
            }
            Service(.uuid16(0x180F), name: "optional") { Characteristic(.uuid16(0x2AAA), .read, value: [1]) }
            Service(.uuid128(1)) { Include("optional") }
        }
    }

    @Test(arguments: [1, 2, 3] as [UInt64])
    func nothingTrapsOrGrows(seed: UInt64) throws {
        var peer = HostilePeer(database: try Self.database(), seed: seed)
        for _ in 0..<Self.pdusPerSeed {
            peer.receive(peer.mutate(Self.corpus))
            peer.actAsOwner(Self.procedures)
            if let complaint = peer.drain() {
                Issue.record("seed \(seed): \(complaint)")
                return
            }
        }
        #expect(peer.received == Self.pdusPerSeed, "seed \(seed)")
        let counts = peer.counts
        #expect(counts.responses > Self.pdusPerSeed / 100, "seed \(seed): \(counts)")
        #expect(counts.errors > Self.pdusPerSeed / 100, "seed \(seed): \(counts)")
        #expect(counts.ended > 100, "seed \(seed): \(counts)")
        #expect(counts.values > 100, "seed \(seed): \(counts)")

        // A connection that comes afterwards finds everything in order.
        peer.rig.layer.connectionOpened(GATTRig.connection, at: peer.rig.now)
        _ = peer.rig.events()
        peer.rig.expect("12 0500 010203", "13")
        peer.rig.expect("0a 0500", "0b 010203")
        peer.rig.expect("10 0100 0100 0028", "11 06 0100 0f00 0018")
    }
}

/// The test's side of the connection, and the owner behind the layer.
private struct HostilePeer {
    private static let queueLimit = 8
    /// Notifications and commands, one response, one request, one indication, one confirmation.
    private static let mostPDUs = queueLimit + 4

    var rig: GATTRig
    var counts = (responses: 0, errors: 0, ended: 0, values: 0)
    private(set) var received = 0
    private var randomness: SplitMix64
    private var unanswered: [any GATTRequest] = []

    init(database: GATTDatabase, seed: UInt64) {
        rig = GATTRig(database, configuration: .init(queueLimit: Self.queueLimit))
        randomness = SplitMix64(seed: seed)
    }

    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &randomness) < percent }

    /// A PDU from the corpus, as it is or damaged, or bytes that are no PDU.
    mutating func mutate(_ corpus: [[UInt8]]) -> [UInt8] {
        if chance(5) {
            return (0..<Int.random(in: 0...40, using: &randomness)).map { _ in
                UInt8.random(in: 0...255, using: &randomness)
            }
        }
        var pdu = corpus.randomElement(using: &randomness) ?? []
        if chance(30) { return pdu }
        for _ in 0..<Int.random(in: 1...3, using: &randomness) where !pdu.isEmpty {
            let index = Int.random(in: 0..<pdu.count, using: &randomness)
            switch Int.random(in: 0..<7, using: &randomness) {
            case 0: pdu[index] ^= 1 << UInt8.random(in: 0..<8, using: &randomness)
            case 1: pdu[index] = [0x00, 0x01, 0x7F, 0x80, 0xFF].randomElement(using: &randomness) ?? 0
            case 2: pdu.removeLast(pdu.count - index)
            case 3:
                pdu.append(contentsOf: Array(repeating: pdu[index], count: Int.random(in: 1...600, using: &randomness)))
            case 4: pdu.insert(pdu[index], at: index)
            case 5: pdu.remove(at: index)
            default: pdu[index] = UInt8.random(in: 0...20, using: &randomness)
            }
        }
        return pdu
    }

    mutating func receive(_ pdu: [UInt8]) {
        received += 1
        rig.receive(pdu)
        // Passing the bytes as a slice that does not begin at 0 must make no difference.
        if chance(10) { rig.layer.receive((([0, 0, 0] as [UInt8]) + pdu)[3...], on: GATTRig.connection, at: rig.now) }
    }

    /// Makes one of the calls that an owner may make.
    mutating func actAsOwner(_ procedures: [GATTProcedure]) {
        let connection = GATTRig.connection
        let handle = AttributeHandle(rawValue: UInt16.random(in: 0...20, using: &randomness))
        switch Int.random(in: 0..<60, using: &randomness) {
        case 0..<8:
            guard let procedure = procedures.randomElement(using: &randomness) else { return }
            _ = try? rig.layer.start(procedure, on: connection, at: rig.now)
        case 8..<12:
            try? rig.layer.notify([1, 2, 3], of: handle, on: connection, evenIfNotSubscribed: chance(50), at: rig.now)
        case 12..<15: try? rig.layer.indicate([1, 2, 3], of: handle, on: connection, at: rig.now)
        case 15..<17: try? rig.layer.writeWithoutResponse([1, 2, 3], to: handle, on: connection, at: rig.now)
        case 17: _ = try? rig.layer.setPublished(chance(50), service: "optional")
        case 18: try? rig.layer.notify([HandleValue(9, [1]), HandleValue(0x0C, [2])], on: connection, at: rig.now)
        case 19: rig.advance(by: .seconds(Int.random(in: 0...3, using: &randomness)))
        case 20:
            let isEncrypted = chance(50)
            rig.layer.securityChanged(
                connection,
                to: LinkSecurity(isEncrypted: isEncrypted, isBonded: true, keySize: 16)
            )
        case 21:
            let state = rig.layer.connectionClosed(connection)
            rig.layer.connectionOpened(connection, at: rig.now)
            if let state, chance(50) { try? rig.layer.restore(state, on: connection) }
        default:
            // Mostly answers at once; sometimes answers late, twice, or with nonsense.
            guard let request = unanswered.popLast() else { return }
            answer(request)
            if chance(5) { answer(request) }
        }
    }

    private mutating func answer(_ request: any GATTRequest) {
        if chance(20) {
            rig.layer.refuse(request, with: .unlikelyError, at: rig.now)
        } else if let read = request as? ReadRequest {
            let length = Int.random(in: 0...600, using: &randomness)
            rig.layer.respond(to: read, with: Array(repeating: 0xAB, count: length)[...], at: rig.now)
        } else if let write = request as? any GATTWriteRequest {
            rig.layer.respond(to: write, at: rig.now)
        }
    }

    /// Takes the packets and events of the layer, most of the time.
    /// - Returns: what is wrong with it.
    mutating func drain() -> String? {
        let events = rig.events()
        // One PDU can notify 129 empty values, and may have come twice.
        if events.count > 300 { return "\(events.count) events after one PDU" }
        for event in events {
            switch event {
            case .readRequested(let request): unanswered.append(request)
            case .writeRequested(let request): unanswered.append(request)
            case .subscriptionChanged(let change) where change.cause == .requested: unanswered.append(change)
            case .procedureEnded: counts.ended += 1
            case .valueReceived: counts.values += 1
            case .transactionTimedOut:
                rig.layer.connectionClosed(GATTRig.connection)
                rig.layer.connectionOpened(GATTRig.connection, at: rig.now)
            default: break
            }
        }
        guard chance(70) else { return nil }
        return drainPDUs()
    }

    private mutating func drainPDUs() -> String? {
        var buffer: [UInt8] = []
        var count = 0
        while rig.layer.nextPDU(for: GATTRig.connection, into: &buffer) {
            guard let opcode = buffer.first.flatMap(ATTOpcode.init(rawValue:)) else {
                return "opcode of \(buffer.hexadecimal)"
            }
            // What was queued under a larger MTU may leave behind a response that lowered it.
            guard buffer.count <= 517 else { return "\(opcode) of \(buffer.count) bytes" }
            if opcode == .errorResponse {
                guard buffer.count == 5 else { return "error response \(buffer.hexadecimal)" }
                counts.errors += 1
            } else if opcode.rawValue & 1 == 1, opcode.rawValue < 0x1A {
                counts.responses += 1
            }
            count += 1
            // Waiting requests are served as responses leave.
            guard count <= Self.mostPDUs + 8 else { return "\(count) PDUs wait" }
        }
        return nil
    }
}
