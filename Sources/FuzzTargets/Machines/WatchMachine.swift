import AirSimulator
import BluetoothHCI
import ByteCoding
import Faults
import PebblePhone
import PebbleProtocol
import PebbleWatch

/// A watch with its store, a phone, and the air between them. The program is the phone's user, the watch's wearer, the disk,
/// faults, and somebody who puts packets between any two layers.
///
/// What must hold: time passes; events are bounded; and when all is well again, a phone that the watch has never seen
/// connects, pairs, is answered, and brings an AppMessage.
struct WatchMachine {
    private static let mostEvents = 20_000
    private static let transports: [PhoneTransport] = [.forward, .reversed, .stream]

    /// The names of the watch's own faults.
    private static let faults = FaultDefinition.all.filter { definition in
        switch definition.kind {
        case .ppogatt, .message, .watch: true
        case .radio, .hci: false
        }
    }
    .map(\.name)

    private static let commands: [WatchCommand] = [
        .press(.select, .short), .press(.up, .short), .press(.select, .long), .hold([.down]), .hold([]),
        .sense(.battery(percent: 40, isCharging: true)), .sense(.tap(.x, direction: 1)), .sense(.contentSize(9)),
        .launchApp(EchoApp.identifier), .stopApp, .sendAppMessage(.empty), .openPairing(for: .seconds(30)),
        .closePairing, .confirmPairing, .refusePairing, .makeOutOfBandData, .forgetAll, .disconnect, .advertise,
        .offerBattery(true), .offerBattery(false), .publish(.pebble, true), .publish(.pebble, false),
        .setTime(seconds: 1_735_689_600, offsetMinutes: 60, zone: "Europe/Paris"), .service(.music(.next)),
        .service(.set("lightTimeoutMs", to: [1, 2])), .service(.restart(.reboot)), .service(.restart(.factoryReset)),
    ]

    /// What a phone says on a link: channel and payload. PPoGATT, ATT, signaling, SMP.
    private static let frames: [(UInt16, [UInt8])] = [
        (4, "020001"), (4, "100100ffff0028"), (4, "080100ffff0328"), (4, "0a0300"), (4, "120d000200"),
        (4, "120a000100"),
        (4, "5210000000000a"), (4, "1b0e0001"), (4, "1e"), (4, "1b10000300"), (4, "160300000001"), (4, "1801"),
        (5, "120908001800240000005802"), (5, "14010a008000500000026400 0700"), (5, "060304004000 5000"),
        (6, "01030001100707"), (6, "0b0d"), (6, "0500"), (0x40, "0a00000103000000000000"), (0x40, "050007d10000"),
    ].map { ($0.0, [UInt8](hexadecimal: $0.1.filter { $0 != " " }) ?? []) }

    private var simulation: Simulation
    private let watch: Simulation.HostID<FuzzedWatch>
    private let phone: Simulation.HostID<FuzzedPhone>
    private var program: FuzzProgram

    static func run(_ input: ArraySlice<UInt8>) throws -> UInt64 {
        var machine = try WatchMachine(input)
        try machine.begin()
        // A program of hours would be one of minutes for a fuzzer.
        var steps = 0
        while !machine.program.isAtEnd, steps < 40 {
            try machine.step()
            steps += 1
        }
        return try machine.finish()
    }

    private init(_ input: ArraySlice<UInt8>) throws {
        program = FuzzProgram(input)
        let seed = UInt64(program.byte())
        let transport = Self.transports[program.number(below: Self.transports.count)]
        simulation = Simulation(seed: seed)
        watch = simulation.add(try FuzzedWatch(seed: seed))
        phone = simulation.add(try FuzzedPhone(transport, number: 2))
    }

    private mutating func begin() throws {
        try run(for: .seconds(1))
        let acquaintance = program.number(below: 4)
        guard acquaintance > 0 else { return }
        tell(.connect(.selected(.any), within: .seconds(20)))
        try run(for: .seconds(5))
        guard acquaintance > 1 else { return }
        tell(.pair(.yes, within: .seconds(20)))
        try run(for: .seconds(5))
    }

    private mutating func step() throws {
        switch program.number(below: 16) {
        case 0, 1: try tellPhone()
        case 2, 3: give(.command(Self.commands[program.number(below: Self.commands.count)]))
        case 4: give(.packet(program.piece()[...]))
        case 5, 6: forge(watchSide: true)
        case 7, 8, 9: forge(watchSide: false)
        case 10: setStore()
        case 11: addFault()
        case 12: give(.command(.clearFaults()))
        case 13:
            setQuality(.outOfRange)
            try run(for: min(program.span(), .seconds(30)))
            setQuality(.perfect)
        case 14:
            give(.controllerLost)
            try run(for: min(program.span(), .seconds(10)))
            give(.start)
        default: break
        }
        try run(for: min(program.span(), .seconds(60)))
    }

    // MARK: What the program does

    private mutating func tellPhone() throws {
        switch program.number(below: 9) {
        case 0: tell(.connect(.selected(.any), within: .seconds(10)))
        case 1: tell(.ping)
        case 2: tell(.notify(title: "Dinner", body: String(repeating: "soon ", count: program.number(below: 60))))
        case 3: tell(.upload([UInt8](repeating: program.byte(), count: Int(program.word() & 0x0FFF) + 1), name: "lang"))
        case 4: tell(.disconnect)
        case 5: tell(.drop)
        case 6: tell(.push(AppMessageDictionary(encoded: program.piece()[...]), to: EchoApp.identifier))
        case 7: tell(.launch(EchoApp.identifier, within: .seconds(5)))
        default: tell(.pair(program.flag() ? .yes : .no, within: .seconds(10)))
        }
    }

    private mutating func forge(watchSide: Bool) {
        let (channel, template) = Self.frames[program.number(below: Self.frames.count)]
        let payload = program.flag() ? program.piece() : program.variation(of: template)
        let link =
            watchSide
            ? simulation.withHost(watch) { $0.link } : simulation.withHost(phone) { $0.link }
        var packet: [UInt8] = [0x02]
        // From a controller the first packet of a frame says so otherwise than from a host.
        packet.appendLittleEndian((link ?? 0) | (watchSide ? 0x2000 : 0))
        packet.appendLittleEndian(UInt16(payload.count + 4))
        packet.appendLittleEndian(UInt16(payload.count))
        packet.appendLittleEndian(channel)
        packet += payload
        if watchSide {
            give(.packet(packet[...]))
        } else {
            // More than its controller has room for is another matter.
            _ = simulation.withHost(phone) { if $0.forged.count < 2, packet.count < 240 { $0.forged.append(packet) } }
        }
    }

    private mutating func setStore() {
        let number = program.number(below: 4)
        _ = simulation.withHost(watch) { $0.refusesOneOf = number == 0 ? nil : number }
    }

    private mutating func addFault() {
        let name = Self.faults[program.number(below: Self.faults.count)]
        let number = FaultID(rawValue: Int(program.byte()) + 1)
        guard let fault = try? Fault(parsing: name + " for=20s") else { return }
        give(.command(.addFault(fault, number)))
    }

    private mutating func setQuality(_ quality: LinkQuality) {
        simulation.air.setLinkQuality(quality, between: watch.controller, and: phone.controller)
    }

    @discardableResult
    private mutating func give(_ input: WatchInput) -> WatchInputResult? {
        let now = simulation.now
        return simulation.withHost(watch) { $0.take(input, at: now) } ?? nil
    }

    private mutating func tell(_ command: PhoneCommand) {
        let now = simulation.now
        _ = simulation.withHost(phone) { $0.begin(command, at: now) }
    }

    private mutating func run(for span: Duration) throws {
        let outcome = simulation.run(for: span)
        try expect(outcome == .timeIsUp, "time does not pass at \(simulation.now)")
        let events = simulation.withHost(watch) { $0.mostEvents } ?? 0
        try expect(events <= Self.mostEvents, "\(events) events at one moment")
    }

    // MARK: The end

    /// All is well again, and the watch meets a phone that it has never seen.
    private mutating func finish() throws -> UInt64 {
        give(.command(.clearFaults()))
        _ = simulation.withHost(watch) { $0.refusesOneOf = nil }
        setQuality(.perfect)
        tell(.disconnect)
        try run(for: .seconds(30))
        give(.controllerLost)
        give(.start)
        try run(for: .seconds(60))
        give(.command(.openPairing(for: .seconds(300))))
        let stranger = simulation.add(try FuzzedPhone(.forward, number: 77))
        try run(for: .seconds(1))
        try carryOut(.connect(.selected(.any), within: .seconds(60)), of: stranger)
        // A pairing that is asked about waits for the wearer.
        try carryOut(.pair(.yes, within: .seconds(60)), of: stranger, confirming: true)
        // The session follows, when the two have found each other's services.
        try run(for: .seconds(15))
        try carryOut(.ping, of: stranger)
        try carryOut(.launch(EchoApp.identifier, within: .seconds(30)), of: stranger)
        try carryOut(.push(.empty, to: EchoApp.identifier), of: stranger)
        return simulation.withHost(watch) { $0.digest.value } ?? 0
    }

    private mutating func carryOut(
        _ command: PhoneCommand,
        of stranger: Simulation.HostID<FuzzedPhone>,
        confirming: Bool = false
    ) throws {
        let now = simulation.now
        let request = simulation.withHost(stranger) { $0.begin(command, at: now) } ?? 0
        for _ in 0..<90 {
            try run(for: .seconds(1))
            if confirming { give(.command(.confirmPairing)) }
            if let result = simulation.withHost(stranger, { $0.results[request] }) ?? nil {
                switch result {
                case .success: return
                case .failure(let error):
                    throw FuzzFinding("afterwards, a phone's \(command) came to nothing: \(error)")
                }
            }
        }
        throw FuzzFinding("afterwards, a phone's \(command) has no end")
    }
}
