import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import ByteCoding
import SeededRandomness
import Testing

/// What a controller answers to commands: return parameters in hexadecimal, status first, by opcode as sent.
struct ControllerScript {
    var answers: [String: String]
    /// Opcodes that are answered by Command Status.
    static let asynchronous: Set<String> = ["0d20", "4320", "0604", "1320", "1620", "3220", "1920", "1d04"]

    /// What is not in the script is answered with success and nothing else.
    func answer(to opcode: String) -> String {
        if Self.asynchronous.contains(opcode) { return HostRig.commandStatus("00", opcode) }
        return HostRig.commandComplete(opcode, answers[opcode] ?? "00")
    }

    /// A controller of Core 5.4 with everything: extended advertising, data length, 2M and coded PHY, LE only.
    static let rich = ControllerScript(answers: [
        "0110": "00 0d 0000 0d 5900 0000",
        "0210": "00" + String(repeating: "ff", count: 64),
        "0310": "00 0000000060000000",
        "0910": "00 000000000000",
        "0320": "00 ff59010000000000",
        "0220": "00 fb00 03",
        "1c20": "00 ff03000000000000",
        "2f20": "00 fb00 4808 fb00 4808",
        "3a20": "00 7206",
        "3b20": "00 02",
        "0f20": "00 08",
        "2a20": "00 08",
        "3620": "00 04",
    ])

    /// A controller of Core 4.0 with what every LE controller has, which shares its buffers with BR/EDR.
    static let minimal = ControllerScript(answers: [
        "0110": "00 06 0000 06 0f00 0000",
        "0210": "00" + minimalCommands,
        "0310": "00 0000000040000000",
        "0910": "00 1371da7d1a00",
        "0320": "00 0100000000000000",
        "0220": "00 0000 00",
        "0510": "00 3600 40 0200 0000",
        "1c20": "00 ff03000000000000",
        "0f20": "00 04",
    ])

    /// Disconnect; Set Event Mask, Reset; Read Local Version, Features, Buffer Size; Read BD_ADDR; Write LE Host
    /// Support; and the LE commands of Core 4.0: octets 0, 5, 14, 15, 24 and 25 to 28 of the bit mask.
    static let minimalCommands =
        "20 00 00 00 00 c0 00 00 00 00 00 00 00 00 a8 02 00 00 00 00 00 00 00 00 40 f7 ff f7 0f"
        + String(repeating: "00", count: 35)
}

/// A host whose controller is the test: raw packets in hexadecimal go in and come out, and time passes when told.
struct HostRig {
    var host: LEHost
    private(set) var now = Duration.seconds(100)
    var script: ControllerScript

    static let ownAddress = LEAddress.random(DeviceAddress(0xC0_11_22_33_44_55))
    static let peer = LEAddress.random(DeviceAddress(0xD0_01_02_03_04_05))
    /// The peer's type and address as sent.
    static let peerHex = "01 0504030201d0"

    init(
        _ script: ControllerScript = .rich,
        configuration: LEHost.Configuration = LEHost.Configuration(ownAddress: ownAddress),
        bonds: [Bond] = [],
        database: GATTDatabase? = nil
    ) throws {
        let ownDatabase = try GATTDatabase {
            Service(.genericAccess) {
                Characteristic(.uuid16(0x2A00), .read, name: "device name", value: "Cairn")
            }
            Service(.uuid16(0x180F)) {
                Characteristic(.uuid16(0x2A19), [.read, .notify], name: "level", value: [100])
                Characteristic(.uuid16(0x2A1A), .writeWithoutResponse, name: "sink", value: [0])
            }
        }
        self.script = script
        host = LEHost(
            configuration: configuration,
            database: database ?? ownDatabase,
            bonds: bonds,
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: 0xCA1A, SplitMix64.draw)
        )
    }

    /// A host that has completed its start-up with the controller.
    static func ready(
        _ script: ControllerScript = .rich,
        configuration: LEHost.Configuration = LEHost.Configuration(ownAddress: ownAddress),
        bonds: [Bond] = [],
        database: GATTDatabase? = nil
    ) throws -> HostRig {
        var rig = try HostRig(script, configuration: configuration, bonds: bonds, database: database)
        rig.host.start(at: rig.now)
        rig.answerCommands()
        #expect(rig.host.isReady)
        _ = rig.events()
        return rig
    }

    /// Every packet that the host has for the controller now.
    mutating func sent() -> [String] {
        var packets: [String] = []
        var buffer: [UInt8] = []
        while host.nextPacket(into: &buffer) { packets.append(buffer.hexadecimal) }
        return packets
    }

    /// Hands a packet from the controller to the host.
    mutating func give(_ hexadecimal: String, sourceLocation: SourceLocation = #_sourceLocation) {
        guard let bytes = [UInt8](hexadecimal: hexadecimal) else {
            Issue.record("not hexadecimal: \(hexadecimal)", sourceLocation: sourceLocation)
            return
        }
        host.receive(bytes[...], at: now)
    }

    mutating func advance(by duration: Duration) {
        now += duration
        host.advance(to: now)
    }

    mutating func events() -> [LEHostEvent] {
        var events: [LEHostEvent] = []
        while let event = host.nextEvent() { events.append(event) }
        return events
    }

    /// Answers commands as the script says until the host has no more.
    /// - Returns: the commands, and the ACL packets between them.
    @discardableResult
    mutating func answerCommands() -> [String] {
        var all: [String] = []
        while true {
            let packets = sent()
            if packets.isEmpty { return all }
            for packet in packets {
                all.append(packet)
                if packet.hasPrefix("01") { give(script.answer(to: String(packet.dropFirst(2).prefix(4)))) }
            }
        }
    }

    /// What the controller says when it is done with a command; one more command is welcome.
    static func commandComplete(_ opcode: String, _ returns: String, credits: String = "01") -> String {
        event("0e", credits + opcode + returns)
    }

    static func commandStatus(_ status: String, _ opcode: String, credits: String = "01") -> String {
        event("0f", status + credits + opcode)
    }

    static func event(_ code: String, _ parameters: String) -> String {
        let count = ([UInt8](hexadecimal: parameters) ?? []).count
        return "04" + code + [UInt8(count)].hexadecimal + parameters
    }

    static func le(_ subevent: String, _ parameters: String) -> String { event("3e", subevent + parameters) }

    /// LE Enhanced Connection Complete: 30 ms, no latency, 6 s.
    static func connected(_ handle: String, role: String = "01", peer: String = peerHex) -> String {
        le("0a", "00" + handle + role + peer + "000000000000 000000000000 1800 0000 5802 00")
    }

    /// LE Connection Complete: 30 ms, no latency, 6 s.
    static func legacyConnected(_ handle: String, role: String = "01") -> String {
        le("01", "00" + handle + role + peerHex + "1800 0000 5802 00")
    }

    static func completed(_ handle: String, _ count: String) -> String { event("13", "01" + handle + count) }

    /// An ACL packet from the controller with a whole L2CAP frame.
    static func frame(_ handle: String, channel: String, _ payload: String) -> String {
        let count = ([UInt8](hexadecimal: payload) ?? []).count
        var lengths: [UInt8] = []
        lengths.appendLittleEndian(UInt16(count + 4))
        lengths.appendLittleEndian(UInt16(count))
        let text = lengths.hexadecimal
        return "02" + handle.prefix(2) + "2" + handle.dropFirst(3) + text.prefix(4) + text.dropFirst(4) + channel
            + payload
    }

    /// Makes a connection in the peripheral's role, and answers what the host asks about it.
    mutating func connect(_ handle: String = "4000", role: String = "01", features: String? = nil) {
        give(Self.connected(handle, role: role))
        answerCommands()
        give(Self.le("04", (features == nil ? "1a" : "00") + handle + (features ?? "0000000000000000")))
        _ = events()
    }
}

extension [LEHostEvent] {
    /// The descriptions of notices, without those of debug severity.
    var diagnostics: [String] {
        compactMap { event in
            if case .notice(let notice) = event, notice.severity != .debug {
                notice.description
            } else {
                nil
            }
        }
    }

    /// The events as text, notices left out: enough to compare what happened, in which order.
    var descriptions: [String] {
        compactMap { event in
            if case .notice = event { nil } else { "\(event)".replacing("BluetoothHost.", with: "") }
        }
    }

    var disconnections: [HCIStatus] {
        compactMap { if case .disconnected(_, let reason) = $0 { reason } else { nil } }
    }

    var connections: [Connection] {
        compactMap { if case .connected(let connection) = $0 { connection } else { nil } }
    }

    var reports: [AdvertisingReport] {
        compactMap { if case .advertisingReport(let report) = $0 { report } else { nil } }
    }
}

/// Hexadecimal with its spaces taken out, to compare with what is printed without.
func compact(_ text: String) -> String { String(text.filter { $0 != " " }) }
