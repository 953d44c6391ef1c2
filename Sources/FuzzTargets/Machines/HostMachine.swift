import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import ByteCoding
import SeededRandomness

/// The LE host between a controller that says anything and an owner who asks for anything.
///
/// What must hold: the controller never gets more data than it has room for; nothing waits without bound; deadlines move on;
/// what the owner is told is bounded; and after a restart a peer connects and reads a value.
struct HostMachine {
    /// Valid packets, from which the program makes others.
    private static let templates: [[UInt8]] = [
        "043e1f0a00400001010504030201d0000000000000000000000000180000005802 00",
        "043e1f0a00410000010504030201d0000000000000000000000000180000005802 00",
        "043e130100420001010504030201d018000000580200", "040504004000 13", "0413050140000100", "040804 00400001",
        "0459050040000110", "043003004000", "043e0a0300400018000300580 2", "043e0c04004000ff59010000000000",
        "043e0d0540000000000000000000000 0", "043e0b06400018002400030058 02", "043e0b074000fb0048081b004801",
        "043e060c0040000201", "043e061200014000 00", "0410 0142", "041a0101", "040e0401030c00", "040e0401000000",
        "040f0400011320", "040f040c011320", "043e0f020100010504030201d003020106c4",
        "043e1d0d011300010504030201d00100ff7fc00000000000000000000003020104", "040cff00400009", "043e0111",
        "02402007000300040002f700", "0240200900050004001207000100", "024020070003000400 0a0300",
        "02402009000500040 008010000ff", "0240200b000700040010 0100ffff0028",
        "024020100 00c00050012090800180024000300 5802",
        "02402 00b0007000600010300011007 07", "0240200600 020040000102",
        "024020120 00e000500 14010a00800050000002640007 00",
        "0240201400 10000500 17020c00800040004000010051005200", "0240200c00 080005000603040040005000",
        "0240200c00080005001604040050000100", "02402009000500400003 00616263", "024010040000010203",
        "02402005000300040001",
        "024020160012000500 17020e00270040004000 0100500051005200", "024020090005004000 03000a0300",
        "02402008000400410002001e00", "024020110 00d0041000b000901030300 01000000000000",
        "024020150011000600 0400000000000000000000000000000000", "0241200700030004000a0300",
    ].map { [UInt8](hexadecimal: $0.filter { $0 != " " }) ?? [] }

    private static let mostEvents = 4096
    private static let ownAddress = LEAddress.random(DeviceAddress(0xC011_2233_4455))
    private static let peer = LEAddress.random(DeviceAddress(0xD001_0203_0405))

    private var host: LEHost
    private var controller: ScriptedController
    private var program: FuzzProgram
    private var digest = FuzzDigest()
    private var now = Duration.seconds(100)
    private var prompts: [PairingPrompt.ID] = []
    private var channels: [Channel.ID] = []
    private var unanswered: [[UInt8]] = []
    private var work = 0
    /// Whether the peer is bonded, its link is encrypted from the start, and both sides use enhanced ATT bearers.
    private let hasBearers: Bool

    static func run(_ input: ArraySlice<UInt8>) throws -> UInt64 {
        var machine = try HostMachine(input)
        try machine.begin()
        while !machine.program.isAtEnd { try machine.step() }
        try machine.finish()
        return machine.digest.value
    }

    private init(_ input: ArraySlice<UInt8>) throws {
        program = FuzzProgram(input)
        let choice = program.byte()
        controller = ScriptedController(isRich: choice & 1 == 0)
        var configuration = LEHost.Configuration(ownAddress: Self.ownAddress)
        if choice & 2 == 0 { configuration.security = SecurityManager.Configuration() }
        hasBearers = choice & 6 == 0
        if hasBearers { configuration.gatt.enhancedBearers = 3 }
        let bond = Bond(
            identity: Self.peer,
            keys: .secureConnections(LongTermKey(0x0102_0304_0506_0708_090A_0B0C_0D0E_0F10)),
            isAuthenticated: false
        )
        let database = try GATTDatabase {
            Service(.genericAccess) {
                Characteristic(.uuid16(0x2A00), .read, name: "device name", value: "Cairn")
            }
            Service(.uuid16(0x180F)) {
                Characteristic(.uuid16(0x2A19), [.read, .notify], name: "level", value: [100])
                Characteristic(.uuid16(0x2A1A), .writeWithoutResponse, name: "sink", value: [0])
            }
        }
        host = LEHost(
            configuration: configuration,
            database: database,
            bonds: hasBearers ? [bond] : [],
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: 0xCA1A, SplitMix64.draw)
        )
        _ = try host.channels.listen(
            ChannelListener(requirement: .open, parameters: ChannelParameters(face: .bytes, mtu: 300, mps: 100)),
            on: SPSM(rawValue: 0x80)
        )
    }

    private mutating func begin() throws {
        host.start(at: now)
        try drain(answers: true)
        try expect(host.isReady, "the host does not start")
        try give(Self.templates[0])
        try drain(answers: true)
        guard hasBearers else { return }
        try give([UInt8](hexadecimal: "043e0d05400000000000000000000000") ?? [])
        try drain(answers: true)
        try give([UInt8](hexadecimal: "04080400400001") ?? [])
        try drain(answers: true)
        try expect(host.connections.first?.security.isEncrypted == true, "the bond does not encrypt")
    }

    private mutating func step() throws {
        switch program.number(below: 16) {
        case 0: try give(program.piece())
        case 1, 2, 3, 4:
            let template = Self.templates[program.number(below: Self.templates.count)]
            try give(program.variation(of: template))
        case 5, 6, 7:
            // From the peer, at the layer that the program says.
            let channel = [4, 5, 6, 0x40, 0x41, UInt16(program.byte())][program.number(below: 6)]
            try give(frame(program.piece(), on: channel))
        case 8: try advance(by: program.span())
        case 9: for packet in controller.completed() { try give(packet) }
        case 10, 11: try actAsOwner()
        case 12: try drain(answers: false)
        default: try drain(answers: true)
        }
        if program.number(below: 4) != 0 { try drain(answers: true) }
    }

    private func frame(_ payload: [UInt8], on channel: UInt16) -> [UInt8] {
        var packet: [UInt8] = [0x02, 0x40, 0x20]
        packet.appendLittleEndian(UInt16(payload.count + 4))
        packet.appendLittleEndian(UInt16(payload.count))
        packet.appendLittleEndian(channel)
        return packet + payload
    }

    private mutating func give(_ packet: [UInt8]) throws {
        controller.note(packet)
        host.receive(packet[...], at: now)
        try drainEvents()
    }

    private mutating func advance(by span: Duration) throws {
        let end = now + span
        while let deadline = host.nextDeadline, deadline <= end {
            let before = now
            now = max(now, deadline)
            host.advance(to: now)
            try drain(answers: false)
            work += 1
            try expect(work < 20_000, "time stands still at \(before)")
        }
        now = end
        host.advance(to: now)
        try drainEvents()
    }

    private mutating func actAsOwner() throws {
        let handle: ConnectionHandle = program.flag() ? 0x0040 : 0x0041
        switch program.number(below: 14) {
        case 0:
            if let level = host.gatt.database.handle(of: "level") {
                try? host.gatt.notify([1], of: level, on: handle, at: now)
            }
        case 1: host.disconnect(handle, at: now)
        case 2: host.connect(to: Self.peer, .mildly, at: now)
        case 3: host.cancelConnecting(at: now)
        case 4: host.startScanning(ScanParameters(), at: now)
        case 5: host.stopScanning(at: now)
        case 6: try? host.security?.pair(handle, at: now)
        case 7: try? host.security?.sendSecurityRequest(handle, at: now)
        case 8: if let prompt = prompts.popLast() { host.security?.answer(prompt, with: .accept, at: now) }
        case 9: _ = try? host.gatt.start(.discoverAllPrimaryServices, on: handle, at: now)
        case 10:
            for channel in channels.suffix(2) {
                _ = host.channels.write(Array(repeating: 7, count: 300)[...], to: channel, at: now)
            }
        case 11:
            var bytes: [UInt8] = []
            for channel in channels.suffix(2) { _ = host.channels.read(from: channel, into: &bytes, at: now) }
        case 12: if let channel = channels.popLast() { host.channels.close(channel, at: now) }
        default: host.controllerLost(at: now); host.start(at: now)
        }
        try drainEvents()
    }

    // MARK: What comes out

    private mutating func drain(answers: Bool) throws {
        var buffer: [UInt8] = []
        var count = 0
        repeat {
            while host.nextPacket(into: &buffer) {
                digest.add(buffer)
                count += 1
                try expect(count < 2000, "the host sends without end")
                guard buffer.first == 0x01 else {
                    try controller.take(buffer)
                    continue
                }
                let answer = controller.answer(to: buffer)
                if unanswered.count < 64 { unanswered.append(answer) }
            }
            guard answers, !unanswered.isEmpty else { break }
            let waiting = unanswered
            unanswered = []
            for answer in waiting { try give(answer) }
        } while true
        try drainEvents()
    }

    private mutating func drainEvents() throws {
        var count = 0
        while let event = host.nextEvent() {
            count += 1
            switch event {
            case .security(.prompt(let prompt)): prompts = prompts.suffix(8) + [prompt.id]
            case .channel(.opened(let channel)): channels = channels.suffix(8) + [channel.id]
            case .notice(let notice): digest.add(notice.description)
            default: digest.add(count)
            }
        }
        try expect(count <= Self.mostEvents, "\(count) events")
        let unsent = channels.map { host.channels.unsentCount(of: $0) }.max() ?? 0
        try expect(unsent <= 128 * 1024, "\(unsent) bytes wait for a channel")
    }

    // MARK: The end

    private mutating func finish() throws {
        try drain(answers: true)
        try advance(by: .seconds(200))
        unanswered = []
        host.start(at: now)
        try drain(answers: true)
        try expect(host.isReady, "the host does not start again")
        for packet in controller.completed() { try give(packet) }
        try give(Self.templates[0])
        try drain(answers: true)
        var answer: [UInt8] = []
        host.receive([0x02, 0x40, 0x20, 0x07, 0, 0x03, 0, 0x04, 0, 0x0A, 0x03, 0][...], at: now)
        while host.nextPacket(into: &answer) {
            guard answer.first == 0x01 else { break }
            try give(controller.answer(to: answer))
        }
        let wanted = "0240000a00060004000b436169726e"
        try expect(answer.hexadecimal == wanted, "a peer afterwards reads \(answer.hexadecimal)")
    }
}

extension ConnectionParameters {
    /// 30 to 50 ms, nothing skipped, 5 s.
    fileprivate static let mildly = ConnectionParameters(
        intervalMinimum: .milliseconds(30),
        intervalMaximum: .milliseconds(50),
        latency: 0,
        supervisionTimeout: .milliseconds(5000)
    )
}
