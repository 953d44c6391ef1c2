import BluetoothHCI
import BluetoothHost
import ByteCoding
import Testing

@Suite("LE host: data")
struct LEHostDataTests {
    /// A rich controller with buffers of a size and number.
    static func script(length: String, count: String) -> ControllerScript {
        var script = ControllerScript.rich
        script.answers["0220"] = "00" + length + count
        return script
    }

    /// A host with connections and the rich controller's three buffers, or others.
    static func rig(_ handles: [String], length: String = "fb00", count: String = "03") throws -> HostRig {
        var rig = try HostRig.ready(script(length: length, count: count))
        for handle in handles { rig.connect(handle) }
        return rig
    }

    /// Subscribes a peer to the battery level, whose value has handle 6 and whose configuration has handle 7.
    static func subscribe(_ rig: inout HostRig, _ handle: String) {
        rig.give(HostRig.frame(handle, channel: "0400", "12 0700 0100"))
        #expect(rig.sent() == [compact("02 \(handle) 0500 0100 0400 13")])
        rig.give(HostRig.completed(handle, "0100"))
        _ = rig.events()
    }

    static func notify(_ rig: inout HostRig, _ handle: ConnectionHandle, _ value: [UInt8]) throws {
        let level = try #require(rig.host.gatt.database.handle(of: "level"))
        try rig.host.gatt.notify(value[...], of: level, on: handle, at: rig.now)
    }

    @Test("A request on the attribute channel is answered there")
    func attribute() throws {
        var rig = try Self.rig(["4000"])
        rig.give(HostRig.frame("4000", channel: "0400", "02 f700"))
        #expect(rig.sent() == [compact("02 4000 0700 0300 0400 03 0502")])
        rig.give(HostRig.frame("4000", channel: "0400", "0a 0300"))
        #expect(rig.sent() == [compact("02 4000 0a00 0600 0400 0b 436169726e")])
        // The MTU is in force.
        #expect(rig.host.gatt.mtu(of: 0x40) == 247)
    }

    @Test("What goes over a connection is counted by channel: PDUs, and their bytes without headers")
    func traffic() throws {
        var rig = try Self.rig(["4000", "4100"], length: "1b00", count: "08")
        rig.give(HostRig.frame("4000", channel: "0400", "02 f700"))
        rig.give(HostRig.frame("4000", channel: "0400", "0a 0300"))
        _ = rig.sent()
        let traffic = try #require(rig.host.traffic(on: 0x40))
        #expect(traffic.attribute.receivedPackets == 2 && traffic.attribute.receivedBytes == 6)
        #expect(traffic.attribute.sentPackets == 2 && traffic.attribute.sentBytes == 9)
        for count in [traffic.securityManager, traffic.signaling, traffic.channels] {
            #expect(count.receivedPackets == 0 && count.sentPackets == 0)
        }
        // A channel that the host does not know counts with the dynamic ones; another connection is not concerned.
        rig.give(HostRig.frame("4100", channel: "5500", "01 02 03 04"))
        let other = try #require(rig.host.traffic(on: 0x41))
        #expect(other.attribute.receivedPackets == 0)
        #expect(other.channels.receivedPackets == 1 && other.channels.receivedBytes == 4)
        #expect(rig.host.traffic(on: 0x40) == traffic)
        #expect(rig.host.traffic(on: 0x42) == nil)
    }

    @Test("Frames longer than the controller's packets are cut, the first part with the header")
    func fragmentation() throws {
        var rig = try Self.rig(["4000"], length: "1b00", count: "08")
        rig.give(HostRig.frame("4000", channel: "0400", "02 f700"))
        _ = rig.sent()
        Self.subscribe(&rig, "4000")
        rig.give(HostRig.completed("4000", "0100"))
        let value = Array(UInt8(0)..<60)
        try Self.notify(&rig, 0x40, value)
        let frame = [63, 0, 4, 0, 0x1B, 6, 0] + value
        #expect(
            rig.sent()
                == [
                    "02 4000 1b00" + frame.prefix(27).hexadecimal,
                    "02 4010 1b00" + frame.dropFirst(27).prefix(27).hexadecimal,
                    "02 4010 0d00" + frame.dropFirst(54).hexadecimal,
                ].map(compact)
        )
        // A frame that fills a packet exactly is one packet.
        rig.give(HostRig.completed("4000", "0300"))
        try Self.notify(&rig, 0x40, Array(value.prefix(20)))
        #expect(
            rig.sent() == ["02 4000 1b00" + ([23, 0, 4, 0, 0x1B, 6, 0] + value.prefix(20)).hexadecimal].map(compact)
        )
    }

    @Test("No more packets go out than the controller has buffers; completed ones make room")
    func credits() throws {
        var rig = try Self.rig(["4000"])
        Self.subscribe(&rig, "4000")
        for value: UInt8 in 1...5 { try Self.notify(&rig, 0x40, [value]) }
        let packet = { (value: String) in compact("02 4000 0800 0400 0400 1b 0600" + value) }
        #expect(rig.sent() == ["01", "02", "03"].map(packet))
        rig.give(HostRig.completed("4000", "0100"))
        #expect(rig.sent() == [packet("04")])
        rig.give(HostRig.completed("4000", "0300"))
        #expect(rig.sent() == [packet("05")])
        #expect(rig.host.counters == LEHostCounters())
    }

    @Test("A count of completed packets beyond those sent, or for an unknown connection, adds no buffers")
    func excess() throws {
        var rig = try Self.rig(["4000"])
        Self.subscribe(&rig, "4000")
        rig.give(HostRig.completed("4000", "ffff"))
        rig.give(HostRig.completed("4100", "0500"))
        #expect(rig.host.counters.excessCompletedPackets == 0xFFFF)
        #expect(rig.events().diagnostics.count == 1)
        for value: UInt8 in 1...5 { try Self.notify(&rig, 0x40, [value]) }
        #expect(rig.sent().count == 3)
    }

    @Test("A disconnection gives the connection's buffers to the others, in the middle of a frame too")
    func disconnection() throws {
        var rig = try Self.rig(["4000", "4100"], length: "1b00", count: "04")
        for handle in ["4000", "4100"] {
            rig.give(HostRig.frame(handle, channel: "0400", "02 f700"))
            _ = rig.sent()
            rig.give(HostRig.completed(handle, "0100"))
            Self.subscribe(&rig, handle)
        }
        let long = [UInt8](repeating: 7, count: 200)
        try Self.notify(&rig, 0x40, long)
        try Self.notify(&rig, 0x41, long)
        #expect(rig.sent().count == 4)
        rig.give(HostRig.event("05", "00 4000 08"))
        #expect(rig.events().disconnections == [.connectionTimeout])
        let packets = rig.sent()
        #expect(packets.count == 2 && packets.allSatisfy { $0.hasPrefix("024110") })
        // What the controller counts of the connection afterwards was returned already.
        rig.give(HostRig.completed("4000", "0200"))
        #expect(rig.sent().isEmpty)
        // A new connection with the same handle starts with a first fragment.
        rig.connect("4000")
        rig.give(HostRig.completed("4100", "0400"))
        rig.give(HostRig.frame("4000", channel: "0400", "0a 0300"))
        #expect(rig.sent().filter { $0.hasPrefix("024000") } == [compact("02 4000 0a00 0600 0400 0b 436169726e")])
    }

    @Test("Connections take turns, and none holds all buffers")
    func turns() throws {
        var rig = try Self.rig(["4000", "4100", "4200"], count: "06")
        for handle in ["4000", "4100", "4200"] { Self.subscribe(&rig, handle) }
        for value: UInt8 in 0..<10 {
            try Self.notify(&rig, 0x40, [value])
            if value < 3 {
                try Self.notify(&rig, 0x41, [value])
                try Self.notify(&rig, 0x42, [value])
            }
        }
        #expect(rig.sent().map { $0.dropFirst(2).prefix(2) } == ["40", "41", "42", "40", "41", "42"])
        // One peer that listens to nothing does not hold up the others.
        rig.give(HostRig.completed("4100", "0200"))
        #expect(rig.sent().map { $0.dropFirst(2).prefix(2) } == ["41"])
        rig.give(HostRig.completed("4200", "0200"))
        #expect(rig.sent().map { $0.dropFirst(2).prefix(2) } == ["42"])
        rig.give(HostRig.completed("4000", "0100"))
        #expect(rig.sent().map { $0.dropFirst(2).prefix(2) } == ["40"])
    }

    @Test("Commands go out before data")
    func order() throws {
        var rig = try Self.rig(["4000"])
        rig.give(HostRig.frame("4000", channel: "0400", "0a 0300"))
        rig.host.readRSSI(0x40, at: rig.now)
        #expect(rig.sent().map { $0.prefix(2) } == ["01", "02"])
    }

    @Test("Fragments that do not fit together are dropped, counted and reported; the connection stays")
    func malformed() throws {
        var rig = try Self.rig(["4000"])
        rig.give("02 4010 0200 0102")
        rig.give("02 4020 0500 0300 0400 01")
        rig.give("02 4020 0600 0100 0400 0102")
        rig.give("02 4120 0500 0100 0400 01")
        rig.give(HostRig.frame("4000", channel: "4000", "01 02"))
        rig.give(HostRig.frame("4000", channel: "0500", "12"))
        #expect(rig.host.counters.droppedFrames == 3)
        #expect(rig.host.counters.unknownConnectionPackets == 1)
        #expect(rig.host.counters.unknownChannelFrames == 1)
        #expect(rig.events().diagnostics.count == 6)
        rig.give(HostRig.frame("4000", channel: "0400", "0a 0300"))
        #expect(rig.sent() == [compact("02 4000 0a00 0600 0400 0b 436169726e")])
    }

    @Test("Frames that are too long for their channel are answered as its protocol says, at any length")
    func overlong() throws {
        for count in [600, 2048, 2049, 4000, 0xFFFF] {
            var configuration = LEHost.Configuration(ownAddress: HostRig.ownAddress)
            configuration.security = SecurityManager.Configuration()
            var rig = try HostRig.ready(Self.script(length: "fb00", count: "03"), configuration: configuration)
            rig.connect()
            var length: [UInt8] = []
            length.appendLittleEndian(UInt16(count))
            func give(_ channel: String, _ payload: String) {
                var rest = hex(channel + payload) + [UInt8](repeating: 0, count: count - hex(payload).count)
                rest = length + rest
                var boundary = "20"
                while !rest.isEmpty {
                    let part = rest.prefix(251)
                    rig.give("0240\(boundary)" + [UInt8(part.count), 0].hexadecimal + part.hexadecimal)
                    rest.removeFirst(part.count)
                    boundary = "10"
                }
            }
            give("0400", "12 0300")
            #expect(rig.sent() == [compact("02 4000 0900 0500 0400 01 12 0000 04")], "Invalid PDU")
            give("0400", "52 0300")
            #expect(rig.sent() == [], "a command is ignored")
            give("0500", "12 07 0800")
            #expect(rig.sent() == [compact("02 4000 0c00 0800 0500 01 07 0400 0100 1700")], "MTU exceeded")
            give("0500", "13 07 0200")
            #expect(rig.sent() == [], "a response is not answered")
            rig.give(HostRig.completed("4000", "0200"))
            give("0600", "01 03 00 01 10 00 00")
            #expect(rig.sent() == [compact("02 4000 0600 0200 0600 05 0a")], "Pairing Failed, Invalid Parameters")
            rig.give(HostRig.completed("4000", "0100"))
            rig.give(HostRig.frame("4000", channel: "0400", "0a 0300"))
            #expect(rig.sent() == [compact("02 4000 0a00 0600 0400 0b 436169726e")])
        }
    }

    @Test("Time: a deadline of ATT is a deadline of the host")
    func time() throws {
        var rig = try Self.rig(["4000"])
        try rig.host.gatt.start(.exchangeMTU, on: 0x40, at: rig.now)
        #expect(rig.sent() == [compact("02 4000 0700 0300 0400 02 0502")])
        #expect(rig.host.nextDeadline == rig.now + .seconds(30))
        rig.advance(by: .seconds(30))
        let isReported = rig.events().contains {
            if case .gatt(.transactionTimedOut(0x40)) = $0 { true } else { false }
        }
        #expect(isReported)
    }

    @Test("The end of each procedure is reported before the disconnection")
    func eventOrder() throws {
        var rig = try Self.rig(["4000"])
        try rig.host.gatt.start(.exchangeMTU, on: 0x40, at: rig.now)
        rig.give(HostRig.frame("4000", channel: "0400", "52 0a00 05"))
        rig.give(HostRig.event("05", "00 4000 13"))
        let kinds = rig.events().map { event in
            switch event {
            case .gatt(.procedureEnded): "procedure"
            case .disconnected: "disconnected"
            case .gatt: "gatt"
            default: "other"
            }
        }
        #expect(kinds.suffix(2) == ["procedure", "disconnected"])
    }
}

@Suite("LE host: security")
struct LEHostWithoutSecurityTests {
    static let key = LongTermKey(0x0F0E_0D0C_0B0A_0908_0706_0504_0302_0100)
    static let keyHex = "000102030405060708090a0b0c0d0e0f"

    static var bond: Bond {
        Bond(identity: HostRig.peer, keys: .secureConnections(key), isAuthenticated: true)
    }

    static func rig(pairing: Bool, bonds: [Bond] = []) throws -> HostRig {
        var configuration = LEHost.Configuration(ownAddress: HostRig.ownAddress)
        if pairing { configuration.security = SecurityManager.Configuration() }
        return try HostRig.ready(configuration: configuration, bonds: bonds)
    }

    @Test("Without a Security Manager, pairing is refused and no key is known")
    func refusal() throws {
        var rig = try Self.rig(pairing: false)
        rig.connect()
        rig.give(HostRig.frame("4000", channel: "0600", "01 03 00 01 10 07 07"))
        #expect(rig.sent() == [compact("02 4000 0600 0200 0600 05 05")])
        rig.give(HostRig.frame("4000", channel: "0600", "05 08"))
        rig.give(HostRig.frame("4000", channel: "0600", ""))
        #expect(rig.sent().isEmpty)
        rig.give(HostRig.le("05", "4000 0000000000000000 0000"))
        #expect(rig.answerCommands() == [compact("01 1b20 02 4000")])
    }

    @Test("With a bond, the controller gets the key, and encryption counts for attributes")
    func bonded() throws {
        var rig = try Self.rig(pairing: true, bonds: [Self.bond])
        rig.connect()
        #expect(rig.host.connection(0x40)?.security.isBonded == true)
        rig.give(HostRig.le("05", "4000 0000000000000000 0000"))
        #expect(rig.answerCommands() == [compact("01 1a20 12 4000") + Self.keyHex])
        rig.give(HostRig.event("08", "00 4000 01"))
        let level = try #require(rig.host.connection(0x40)?.security)
        #expect(level.isEncrypted && level.isAuthenticated && level.keySize == 16)
        let isTold = rig.events().contains {
            if case .securityChanged(0x40, level) = $0 { true } else { false }
        }
        #expect(isTold)
        // The client state for the bond is reported before the end of the connection.
        rig.give(HostRig.event("05", "00 4000 13"))
        let kinds = rig.events().descriptions.map { $0.prefix { $0 != "(" } }
        #expect(kinds == ["clientStateToKeep", "disconnected"])
    }

    @Test("Without a bond the key request is refused; a stranger's encryption ends nothing")
    func stranger() throws {
        var rig = try Self.rig(pairing: true)
        rig.connect()
        rig.give(HostRig.le("05", "4000 0000000000000000 0000"))
        #expect(rig.answerCommands() == [compact("01 1b20 02 4000")])
        rig.give(HostRig.le("05", "4100 0000000000000000 0000"))
        #expect(rig.answerCommands() == [compact("01 1b20 02 4100")])
        rig.give(HostRig.event("08", "06 4000 00"))
        #expect(rig.host.connection(0x40)?.security.isEncrypted == false)
    }

    @Test("A central encrypts with the bond's key, and is told when that fails")
    func central() throws {
        var rig = try Self.rig(pairing: true, bonds: [Self.bond])
        rig.connect(role: "00")
        try rig.host.security?.encrypt(0x40, at: rig.now)
        #expect(rig.sent() == [compact("01 1920 1c 4000 0000000000000000 0000") + Self.keyHex])
        rig.give(HostRig.commandStatus("0c", "1920"))
        let isTold = rig.events().contains {
            if case .security(.encryptionFailed(0x40, .commandDisallowed)) = $0 { true } else { false }
        }
        #expect(isTold)
    }

    @Test("Pairing goes over the channel, with its deadline at the host")
    func pairing() throws {
        var rig = try Self.rig(pairing: true)
        rig.connect(role: "00")
        let start = rig.now
        try rig.host.security?.pair(0x40, at: start)
        #expect(rig.sent().map { $0.prefix(20) } == [compact("02 4000 0b00 0700 0600 01").prefix(20)])
        #expect(rig.host.nextDeadline == rig.now + .seconds(30))
        rig.advance(by: .seconds(30))
        let isTold = rig.events().contains {
            if case .security(.pairingFailed(0x40, .timedOut)) = $0 { true } else { false }
        }
        #expect(isTold)
    }
}
