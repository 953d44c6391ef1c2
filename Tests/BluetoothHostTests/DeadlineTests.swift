import BluetoothCryptography
import BluetoothHCI
import ByteCoding
import SeededRandomness
import Synchronization
import Testing

@testable import BluetoothHost

/// A deadline is kept when something changes. The kept deadline must be the one that a search would find.
@Suite("LE host: deadlines")
struct DeadlineTests {
    @Test(
        "The kept deadlines are those that a search finds, whatever peers, the controller, the owner and time do",
        arguments: Array(1...12) as [UInt64]
    )
    func keptDeadlines(_ seed: UInt64) throws {
        var traffic = try DeadlineTraffic(seed)
        for step in 0..<4000 {
            traffic.step()
            let kept = Deadlines(keptBy: traffic.rig.host)
            let searched = Deadlines(searchedIn: traffic.rig.host)
            guard kept == searched, traffic.rig.host.nextDeadline == searched.earliest else {
                Issue.record("seed \(seed), step \(step): \(kept) is kept, \(searched) is found")
                return
            }
        }
        // Otherwise nothing was compared.
        #expect(traffic.seen == Set(Deadlines.Layer.allCases) && traffic.sawSignaling, "seed \(seed)")
    }

    @Test("When time has passed, nothing is due that was due before", arguments: [1, 2, 3] as [UInt64])
    func nothingStaysDue(_ seed: UInt64) throws {
        var traffic = try DeadlineTraffic(seed)
        for step in 0..<4000 {
            traffic.step()
            guard let deadline = traffic.rig.host.nextDeadline else { continue }
            traffic.rig.advance(by: max(.zero, deadline - traffic.rig.now))
            let next = traffic.rig.host.nextDeadline
            #expect(next.map { $0 > traffic.rig.now } ?? true, "seed \(seed), step \(step)")
        }
    }

    @Test("A table of connections keeps the earliest deadline, as machines come, change and go")
    func table() {
        var random = SplitMix64(seed: 7)
        var table = ConnectionTable<Clockwork>()
        for step in 0..<20_000 {
            let handle = Clockwork.handles[Int.random(in: 0..<6, using: &random)]
            let deadline = Clockwork.deadline(&random)
            switch (table.index(of: handle), Int.random(in: 0..<4, using: &random)) {
            case (nil, _): table.append(Clockwork(handle: handle, deadline: deadline))
            case (let index?, 0): table.remove(at: index)
            case (let index?, 1): table[index].deadline = deadline
            case (_?, 2): table[handle] = Clockwork(handle: handle, deadline: deadline)
            case (_?, _): table[handle] = nil
            }
            #expect(table.nextDeadline == table.map { $0.deadline }.earliest, "step \(step)")
            let now = Duration.seconds(Int.random(in: 0..<20, using: &random))
            let due = table.indices.filter { table.isDue($0, at: now) }
            #expect(due == table.indices.filter { table[$0].deadline.map { $0 <= now } ?? false }, "step \(step)")
            #expect(table.isAnyDue(at: now) == !due.isEmpty, "step \(step)")
        }
    }

    @Test("Asking a table for its deadline, and which machines are due, asks no machine")
    func asking() {
        var table = ConnectionTable<CountingClockwork>()
        for (second, handle) in Clockwork.handles.enumerated() {
            table.append(CountingClockwork(handle: handle, at: .seconds(second)))
        }
        let before = table.map { $0.asked.load(ordering: .relaxed) }
        for _ in 0..<100 {
            #expect(table.nextDeadline == .zero)
            #expect(table.isAnyDue(at: .seconds(3)))
            #expect(table.indices.filter { table.isDue($0, at: .seconds(3)) } == [0, 1, 2, 3])
        }
        #expect(table.map { $0.asked.load(ordering: .relaxed) } == before)
    }
}

/// The deadlines of a host, one for each of its layers.
private struct Deadlines: Equatable {
    enum Layer: CaseIterable {
        case commands, gatt, security, channels
    }

    var byLayer: [Layer: Duration] = [:]
    var rest: Duration?

    var earliest: Duration? { [byLayer.values.min(), rest].earliest }

    init(keptBy host: LEHost) {
        self.init(host)
        byLayer[.commands] = host.core.commands.nextDeadline
        byLayer[.gatt] = host.gatt.nextDeadline
        byLayer[.security] = host.security?.nextDeadline
        byLayer[.channels] = host.channels.nextDeadline
    }

    init(searchedIn host: LEHost) {
        self.init(host)
        let stalled = host.core.commands.stalledSince.map { $0 + CommandQueue.timeout }
        byLayer[.commands] = (host.core.commands.unanswered.map { $0.deadline } + [stalled]).earliest
        byLayer[.gatt] =
            host.gatt.connections.flatMap { connection in
                [
                    connection.fixed.client.deadline, connection.fixed.server.indications.deadline,
                    connection.fixed.server.nextAnswerDeadline,
                ]
            }.earliest
        byLayer[.security] = host.security?.links.map { $0.deadline }.earliest
        byLayer[.channels] =
            host.channels.connections.flatMap { connection in
                connection.opening.map { $0.deadline } + connection.closing.map { $0.deadline }
                    + [connection.reconfiguring?.deadline, connection.signaling.nextDeadline]
            }.earliest
    }

    private init(_ host: LEHost) {
        if case .resting(let end) = host.core.state { rest = end }
    }
}

extension Sequence<Duration?> {
    fileprivate var earliest: Duration? { compactMap { $0 }.min() }
}

/// Random input of every kind for a host with several connections: from peers and the controller, right and wrong; from the
/// owner; and time.
private struct DeadlineTraffic {
    var rig: HostRig
    /// The layers that had a deadline at some time.
    private(set) var seen: Set<Deadlines.Layer> = []
    /// Whether the answer to a request for connection parameters was waited for.
    private(set) var sawSignaling = false
    private var random: SplitMix64

    private static let handles: [ConnectionHandle] = [0x40, 0x41, 0x42]
    /// What peers send besides `LEHostMutationTests.corpus`: channel and ATT PDU. The values at 0003 and 0005 are the
    /// owner's, and so is what is subscribed to at 0006.
    private static let frames: [(channel: String, payload: String)] = [
        ("0400", "0a 0300"), ("0400", "12 0300 01"), ("0400", "52 0500 01"), ("0400", "12 0600 0200"),
        ("0400", "52 0600 0200"), ("0400", "52 0600 0000"), ("0400", "1e"), ("0400", "03 1700"), ("0400", "0b 01"),
        ("0400", "01 0a 0300 0a"), ("0500", "15 01 0a00 5000 0002 6400 0700 0000"),
        ("0500", "18 02 0a00 0001 6400 0700 0000 5100"), ("0500", "18 02 0a00 0001 6400 0700 0d00 5200"),
        ("0500", "07 03 0400 5000 4000"), ("0500", "1a 02 0200 0000"), ("0500", "13 01 0200 0000"),
        ("0500", "01 02 0200 0000"), ("0600", "01 03 00 01 10 07 07"), ("0600", "02 03 00 01 10 07 07"),
        ("0600", "0b 01"), ("0600", "05 08"),
    ]

    init(_ seed: UInt64) throws {
        random = SplitMix64(seed: seed)
        var configuration = LEHost.Configuration(ownAddress: HostRig.ownAddress)
        configuration.security = SecurityManager.Configuration()
        rig = try HostRig(.rich, configuration: configuration)
        let every: CharacteristicProperties = [.read, .write, .writeWithoutResponse, .notify, .indicate]
        rig.host = LEHost(
            configuration: configuration,
            database: try GATTDatabase {
                Service(.uuid16(0x1800)) {
                    Characteristic(.uuid16(0x2AAA), [.read, .write], value: .askOwner)
                    Characteristic(
                        .uuid16(0x2AAB),
                        every,
                        name: "value",
                        value: .askOwner,
                        ownerAnswersSubscriptions: true
                    )
                }
            },
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: seed, SplitMix64.draw)
        )
        rig.host.start(at: rig.now)
        rig.answerCommands()
        _ = try rig.host.channels.listen(ChannelListener(requirement: .open), on: SPSM(rawValue: 0x80))
        for handle in Self.handles { connect(handle) }
    }

    mutating func step() {
        let handle = Self.handles.randomElement(using: &random) ?? 0x40
        switch Int.random(in: 0..<20, using: &random) {
        case 0: connect(handle)
        case 1: rig.host.receive(LEHostMutationTests.mutated(&random)[...], at: rig.now)
        case 2: rig.host.receive((LEHostMutationTests.corpus.randomElement(using: &random) ?? [])[...], at: rig.now)
        case 3: rig.give(HostRig.event("05", "00\(Self.hexadecimal(handle))13"))
        case 4..<9:
            guard let frame = Self.frames.randomElement(using: &random) else { return }
            rig.give(HostRig.frame(Self.hexadecimal(handle), channel: frame.channel, frame.payload))
        case 9..<14: call(on: handle)
        case 14, 15: rig.answerCommands()
        case 16: _ = rig.sent()
        case 17: for handle in Self.handles { rig.give(HostRig.completed(Self.hexadecimal(handle), "0400")) }
        case 18: answerEvents()
        default: passTime()
        }
        for (layer, _) in Deadlines(keptBy: rig.host).byLayer { seen.insert(layer) }
        if rig.host.channels.connections.contains(where: { $0.signaling.nextDeadline != nil }) { sawSignaling = true }
    }

    private static func hexadecimal(_ handle: ConnectionHandle) -> String {
        var bytes: [UInt8] = []
        bytes.appendLittleEndian(handle.rawValue)
        return bytes.hexadecimal
    }

    private mutating func connect(_ handle: ConnectionHandle) {
        if !rig.host.isReady { rig.answerCommands() }
        let name = Self.hexadecimal(handle)
        rig.give(HostRig.connected(name, role: random.chance(1, in: 2) ? "00" : "01"))
        rig.answerCommands()
        // The peer's link layer cannot change parameters, so that a peripheral asks by signaling.
        rig.give(HostRig.le("04", "1a\(name)0000000000000000"))
    }

    /// The owner calls something that waits for an answer, or ends such a wait.
    private mutating func call(on handle: ConnectionHandle) {
        let channel = rig.host.channels.all.filter { $0.id.connection == handle }.randomElement(using: &random)
        switch Int.random(in: 0..<11, using: &random) {
        case 0: _ = try? rig.host.gatt.start(.exchangeMTU, on: handle, at: rig.now)
        case 1: _ = try? rig.host.gatt.start(.read(0x0003), on: handle, at: rig.now)
        case 2: try? rig.host.gatt.indicate([1], of: 0x0005, on: handle, at: rig.now)
        case 3: try? rig.host.security?.pair(handle, at: rig.now)
        case 4: try? rig.host.security?.sendSecurityRequest(handle, at: rig.now)
        case 5: rig.host.security?.cancelPairing(handle, at: rig.now)
        case 6: _ = try? rig.host.channels.open(to: SPSM(rawValue: 0x80), on: handle, at: rig.now)
        case 7: _ = try? rig.host.channels.openEnhanced(2, to: SPSM(rawValue: 0x80), on: handle, at: rig.now)
        case 8: if let channel { rig.host.channels.close(channel.id, at: rig.now) }
        case 9: if let channel { try? rig.host.channels.reconfigure([channel.id], mtu: 9000, mps: 1024, at: rig.now) }
        default: rig.host.requestParameters(handle, Self.parameters, at: rig.now)
        }
    }

    private static let parameters = ConnectionParameters(
        intervalMinimum: .milliseconds(30),
        intervalMaximum: .milliseconds(30),
        latency: 0,
        supervisionTimeout: .milliseconds(5000)
    )

    private mutating func answerEvents() {
        for event in rig.events() {
            switch event {
            case .gatt(.readRequested(let request)): rig.host.gatt.respond(to: request, with: [1], at: rig.now)
            case .gatt(.writeRequested(let request)):
                if random.chance(1, in: 2) { rig.host.gatt.respond(to: request, at: rig.now) }
            case .gatt(.subscriptionChanged(let change)):
                if random.chance(1, in: 2) { rig.host.gatt.respond(to: change, at: rig.now) }
            case .security(.prompt(let prompt)): rig.host.security?.answer(prompt.id, with: .accept, at: rig.now)
            default: break
            }
        }
    }

    /// Mostly a little, often to the next deadline, and seldom far beyond.
    private mutating func passTime() {
        // A controller that does not answer is reset, and has no connections then.
        if random.chance(3, in: 4) { rig.answerCommands() }
        switch Int.random(in: 0..<8, using: &random) {
        case 0: rig.advance(by: .seconds(Int.random(in: 1..<60, using: &random)))
        case 1, 2: if let next = rig.host.nextDeadline { rig.advance(by: max(.zero, next - rig.now)) }
        default: rig.advance(by: .milliseconds(Int.random(in: 0..<400, using: &random)))
        }
    }
}

/// A machine with a deadline and nothing else.
private struct Clockwork: ConnectionMachine {
    let handle: ConnectionHandle
    var deadline: Duration?

    static let handles: [ConnectionHandle] = [0x40, 0x41, 0x42, 0x43, 0x44, 0x45, 0x46, 0x47]

    static func deadline(_ random: inout SplitMix64) -> Duration? {
        random.chance(1, in: 4) ? nil : .seconds(Int.random(in: 0..<20, using: &random))
    }
}

/// One that counts how often it is asked.
private final class CountingClockwork: ConnectionMachine {
    let handle: ConnectionHandle
    let asked = Atomic(0)
    private let time: Duration

    init(handle: ConnectionHandle, at time: Duration) {
        self.handle = handle
        self.time = time
    }

    var deadline: Duration? {
        asked.add(1, ordering: .relaxed)
        return time
    }
}
