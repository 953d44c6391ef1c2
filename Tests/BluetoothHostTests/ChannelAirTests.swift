import AirSimulator
import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import ByteCoding
import SeededRandomness
import Testing

/// Channels through whole hosts, controllers and the air between them.
@Suite("Credit-based channels: on the air")
struct ChannelAirTests {
    static let controllers: [ControllerConfiguration] = [.modern, .legacyWithDataLength, .legacy]

    @Test("Both directions at once, in order, and ATT is answered at the same time", arguments: [0, 1, 2])
    func both(_ controller: Int) throws {
        var rig = try AirRig(Self.controllers[controller])
        try rig.open()
        let start = rig.simulation.now
        var asked = 0
        var answered = 0
        let isDone = rig.run(until: rig.simulation.now + .seconds(60)) { rig in
            for side in Side.allCases { rig.write(side, upTo: 40_000) }
            if asked == answered {
                asked += 1
                rig.readLevel()
            }
            answered = rig.answers
            return Side.allCases.allSatisfy { rig.received[$0]?.count == 40_000 }
        }
        #expect(isDone)
        for side in Side.allCases { #expect(rig.received[side] == Array(AirRig.stream(side.other).prefix(40_000))) }
        // A read waits for what the controllers hold already, on both sides, and not for the stream.
        #expect((rig.simulation.now - start) / max(1, answered) < .milliseconds(250), "\(answered)")
    }

    @Test("Packets that are lost on the air reach the channel all the same", arguments: [1, 2, 3] as [UInt64])
    func lossy(_ seed: UInt64) throws {
        var rig = try AirRig(.modern, seed: seed, quality: LinkQuality(loss: .uniform(probability: 0.2)))
        try rig.open()
        let isDone = rig.run(until: rig.simulation.now + .seconds(60)) { rig in
            for side in Side.allCases { rig.write(side, upTo: 20_000) }
            return Side.allCases.allSatisfy { rig.received[$0]?.count == 20_000 }
        }
        #expect(isDone, "seed \(seed)")
        for side in Side.allCases {
            #expect(rig.received[side] == Array(AirRig.stream(side.other).prefix(20_000)), "seed \(seed)")
        }
    }

    @Test("One direction is as fast as packets of 251 octets on LE 1M, less the packets for credits")
    func throughput() throws {
        var rig = try AirRig(.modern)
        try rig.open()
        let start = rig.simulation.now
        let isDone = rig.run(until: start + .seconds(60)) { rig in
            rig.write(.peripheral, upTo: 200_000)
            return rig.received[.central]?.count == 200_000
        }
        #expect(isDone)
        let seconds = (rig.simulation.now - start) / .seconds(1)
        let kilobitsPerSecond = 200_000 * 8 / seconds / 1000
        // A packet of 251 octets, its empty answer and both gaps take 2468 µs; in 15 ms there are six of them. A K-frame
        // brings 1000 bytes in four.
        let most = 6 * 8 * 1000.0 / 4 / 15
        #expect(kilobitsPerSecond <= most * 1.01 && kilobitsPerSecond > most * 0.9, "\(kilobitsPerSecond) of \(most)")
    }

    @Test("When the link is lost, both ends are told, and data that has arrived can be read")
    func broken() throws {
        var rig = try AirRig(.modern)
        try rig.open()
        rig.readers = []
        _ = rig.run(until: rig.simulation.now + .seconds(2)) { rig in
            rig.write(.peripheral, upTo: 20_000)
            return false
        }
        rig.cut()
        let areClosed = rig.run(until: rig.simulation.now + .seconds(20)) { rig in
            Side.allCases.allSatisfy { rig.closures[$0]?.isEmpty == false }
        }
        #expect(areClosed)
        for side in Side.allCases { #expect(rig.closures[side] == [.connectionLost]) }
        #expect(rig.received[.central] == Array(AirRig.stream(.peripheral).prefix(20_000)))
        for side in Side.allCases { #expect(rig.openChannels(side) == 0) }
    }

    @Test("An encrypted channel opens when both hosts have paired, and not before")
    func encrypted() throws {
        var rig = try AirRig(.modern, requirement: .encrypted)
        try rig.open()
        #expect(rig.closures[.central] == [.refused(.insufficientAuthentication)])
        rig.pair()
        rig.closures = [:]
        try rig.open()
        #expect(rig.closures.isEmpty && rig.openChannels(.peripheral) == 1)
    }
}

/// A central and a peripheral with one channel between them; received data is read at once, if its reader is awake.
private struct AirRig {
    static let address = LEAddress.random(DeviceAddress(0xC011_2233_4455))
    static let spsm = SPSM(rawValue: 0x80)

    var simulation: Simulation
    var ids: [Side: Simulation.HostID<LEHost>] = [:]
    var channels: [Side: Channel.ID] = [:]
    var received: [Side: [UInt8]] = [:]
    var closures: [Side: [ChannelClosure]] = [:]
    var readers = Side.allCases
    /// How many reads the peripheral has answered.
    var answers = 0
    private var written: [Side: Int] = [:]

    init(
        _ controller: ControllerConfiguration,
        seed: UInt64 = 1,
        quality: LinkQuality = .perfect,
        requirement: AccessRequirement = .open
    ) throws {
        simulation = Simulation(seed: seed)
        let database = try GATTDatabase {
            Service(.uuid16(0x180F)) { Characteristic(.uuid16(0x2A19), .read, name: "level", value: [100]) }
        }
        for side in Side.allCases {
            let own = side == .central ? LEAddress.random(DeviceAddress(0xC0AA_0000_0001)) : Self.address
            var host = LEHost(
                configuration: LEHost.Configuration(
                    ownAddress: own,
                    security: .device(identity: own, key: side == .central ? 7 : 8)
                ),
                database: database,
                cryptography: .swiftCrypto,
                randomness: RandomSource(state: seed << 8 | (side == .central ? 1 : 2), SplitMix64.draw)
            )
            if side == .peripheral {
                _ = try host.channels.listen(ChannelListener(requirement: requirement), on: Self.spsm)
            }
            ids[side] = simulation.add(host, controller)
        }
        connect()
        if quality != .perfect, let central = ids[.central], let peripheral = ids[.peripheral] {
            simulation.air.setLinkQuality(quality, between: central.controller, and: peripheral.controller)
        }
    }

    /// The bytes that a side sends.
    static func stream(_ side: Side) -> [UInt8] {
        let factor = side == .central ? 2_654_435_761 : 40503
        return (0..<200_000).map { UInt8(truncatingIfNeeded: ($0 &* factor) >> 5) }
    }

    private static let streams = [Side.central: stream(.central), .peripheral: stream(.peripheral)]

    private mutating func with<Result>(_ side: Side, _ body: (inout LEHost) throws -> Result) rethrows -> Result? {
        guard let id = ids[side] else { return nil }
        return try simulation.withHost(id, body)
    }

    private mutating func connect() {
        let now = simulation.now
        _ = with(.peripheral) {
            $0.startAdvertising(
                AdvertisingSet(
                    id: AdvertisingSetID(rawValue: 0),
                    kind: .connectable,
                    interval: .milliseconds(30),
                    data: []
                ),
                at: now
            )
        }
        _ = with(.central) {
            $0.connect(
                to: Self.address,
                ConnectionParameters(
                    intervalMinimum: .milliseconds(15),
                    intervalMaximum: .milliseconds(15),
                    latency: 0,
                    supervisionTimeout: .milliseconds(4000)
                ),
                at: now
            )
        }
        // Features and data length are exchanged as well.
        _ = run(until: simulation.now + .seconds(3)) { _ in false }
    }

    /// Requests the channel, and waits for the result.
    mutating func open() throws {
        let handle = with(.central) { $0.connections.first?.handle } ?? nil
        let connection = try #require(handle)
        let now = simulation.now
        _ = try with(.central) { try $0.channels.open(to: Self.spsm, on: connection, at: now) }
        _ = run(until: simulation.now + .seconds(5)) { $0.channels.count == 2 || !$0.closures.isEmpty }
    }

    mutating func pair() {
        let now = simulation.now
        _ = with(.central) { host in
            guard let handle = host.connections.first?.handle else { return }
            try? host.security?.pair(handle, at: now)
        }
        _ = run(until: now + .seconds(5)) { _ in false }
    }

    /// Moves the two out of each other's range.
    mutating func cut() {
        guard let central = ids[.central], let peripheral = ids[.peripheral] else { return }
        simulation.air.setLinkQuality(.outOfRange, between: central.controller, and: peripheral.controller)
    }

    mutating func openChannels(_ side: Side) -> Int { with(side) { $0.channels.all.count } ?? -1 }

    /// Writes what there is room for.
    mutating func write(_ side: Side, upTo count: Int) {
        guard let id = channels[side], let bytes = Self.streams[side] else { return }
        let place = written[side] ?? 0
        guard place < count else { return }
        let now = simulation.now
        written[side] = place + (with(side) { $0.channels.write(bytes[place..<count], to: id, at: now) } ?? 0)
    }

    /// Reads the peripheral's battery level.
    mutating func readLevel() {
        let now = simulation.now
        _ = with(.central) { host in
            guard let handle = host.connections.first?.handle else { return }
            _ = try? host.gatt.start(.read(0x0003), on: handle, at: now)
        }
    }

    /// Runs until a condition is met.
    mutating func run(until end: Duration, condition: (inout AirRig) -> Bool) -> Bool {
        while simulation.now < end {
            simulation.run(for: .milliseconds(5))
            for side in Side.allCases { drain(side) }
            if condition(&self) { return true }
        }
        return false
    }

    private mutating func drain(_ side: Side) {
        var events: [LEHostEvent] = []
        let now = simulation.now
        _ = with(side) { host in
            while let event = host.nextEvent() {
                events.append(event)
                switch event {
                case .security(.prompt(let prompt)): host.security?.answer(prompt.id, with: .accept, at: now)
                case .security(.bonded(_, let bond)): host.security?.bondStored(bond.identity)
                default: break
                }
            }
        }
        for event in events {
            switch event {
            case .channel(.opened(let channel)): channels[side] = channel.id
            case .channel(.closed(_, let closure, var unread)):
                closures[side, default: []].append(closure)
                unread.read(into: &received[side, default: []])
            case .gatt(.procedureEnded(let result)): if case .success = result.result { answers += 1 }
            default: break
            }
        }
        guard readers.contains(side), let id = channels[side] else { return }
        var buffer = received.removeValue(forKey: side) ?? []
        _ = with(side) { $0.channels.read(from: id, into: &buffer, at: now) }
        received[side] = buffer
    }
}
