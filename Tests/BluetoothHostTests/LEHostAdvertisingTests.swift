import BluetoothHCI
import BluetoothHost
import ByteCoding
import Testing

@Suite("LE host: advertising")
struct LEHostAdvertisingTests {
    static let first = AdvertisingSetID(rawValue: 1)
    static let second = AdvertisingSetID(rawValue: 2)

    static func set(
        _ id: AdvertisingSetID = first,
        _ kind: AdvertisingSet.Kind = .connectable,
        slots: UInt32 = 0x20,
        address: LEAddress? = nil,
        data: [UInt8] = [2, 1, 6]
    ) -> AdvertisingSet {
        AdvertisingSet(
            id: id,
            kind: kind,
            interval: AdvertisingInterval(rawValue: slots),
            ownAddress: address,
            data: data,
            scanResponse: [2, 10, 0]
        )
    }

    static func zeros(_ count: Int) -> String { String(repeating: "00", count: count) }

    static let legacyStart = [
        "01 0620 0f 2000 2000 00 01 00 000000000000 07 00",
        "01 0820 20 03 020106" + zeros(28),
        "01 0920 20 03 020a00" + zeros(28),
        "01 0a20 01 01",
    ].map(compact)

    static let extendedStart = [
        "01 3620 19 00 1300 200000 200000 07 01 00 000000000000 00 7f 01 00 01 00 00",
        "01 3520 07 00 5544332211c0",
        "01 3720 07 00 03 01 03 020106",
        "01 3820 07 00 03 01 03 020a00",
        "01 3920 06 01 01 00 0000 00",
    ].map(compact)

    @Test("Legacy: parameters, data, scan response, enable, one after the other")
    func legacy() throws {
        var rig = try HostRig.ready(.minimal)
        rig.host.startAdvertising(Self.set(), at: rig.now)
        for command in Self.legacyStart {
            #expect(rig.sent() == [command])
            #expect(rig.events().descriptions.isEmpty)
            rig.give(rig.script.answer(to: String(command.dropFirst(2).prefix(4))))
        }
        #expect(rig.sent().isEmpty)
        #expect(rig.events().descriptions == ["advertisingStarted(\(Self.first))"])
        rig.host.stopAdvertising(Self.first, at: rig.now)
        #expect(rig.answerCommands() == [compact("01 0a20 01 00")])
        #expect(rig.events().descriptions == ["advertisingEnded(\(Self.first), \(AdvertisingEnd.stopped))"])
        rig.host.stopAdvertising(Self.first, at: rig.now)
        #expect(rig.sent().isEmpty)
    }

    @Test("Extended: the same in a set of its own, with legacy packets that every phone hears")
    func extended() throws {
        var rig = try HostRig.ready(.rich)
        rig.host.startAdvertising(Self.set(), at: rig.now)
        #expect(rig.answerCommands() == Self.extendedStart)
        #expect(rig.events().descriptions == ["advertisingStarted(\(Self.first))"])
        rig.host.stopAdvertising(Self.first, at: rig.now)
        #expect(rig.answerCommands() == [compact("01 3920 06 00 01 00 0000 00")])
    }

    @Test("Commands of a sequence wait for each other even when there are many credits")
    func sequence() throws {
        var rig = try HostRig.ready(.rich)
        rig.give(HostRig.event("0e", "08 0000"))
        rig.host.startAdvertising(Self.set(), at: rig.now)
        for command in Self.extendedStart {
            #expect(rig.sent() == [command])
            rig.give(HostRig.commandComplete(String(command.dropFirst(2).prefix(4)), "00", credits: "08"))
        }
    }

    @Test("Kinds and addresses, legacy and extended")
    func kinds() throws {
        let other = LEAddress.random(DeviceAddress(0xE0_00_00_00_00_01))
        let directed = AdvertisingSet.Kind.directed(HostRig.peer, isHighDutyCycle: false)
        let fast = AdvertisingSet.Kind.directed(HostRig.peer, isHighDutyCycle: true)
        for (kind, type, properties, peer) in [
            (AdvertisingSet.Kind.scannable, "02", "1200", "00 000000000000"),
            (.nonConnectable, "03", "1000", "00 000000000000"), (directed, "04", "1500", HostRig.peerHex),
            (fast, "01", "1d00", HostRig.peerHex),
        ] {
            var rig = try HostRig.ready(.minimal)
            rig.host.startAdvertising(Self.set(Self.first, kind, address: other), at: rig.now)
            var commands = rig.answerCommands()
            #expect(commands.first == compact("01 0520 06 0100000000e0"))
            #expect(commands.dropFirst().first == compact("01 0620 0f 2000 2000 \(type) 01 \(peer) 07 00"))
            // A directed advertisement carries no data.
            #expect(commands.count == (peer == HostRig.peerHex ? 3 : 5))

            rig = try HostRig.ready(.rich)
            rig.host.startAdvertising(Self.set(Self.first, kind, address: other), at: rig.now)
            commands = rig.answerCommands()
            #expect(
                commands.first
                    == compact("01 3620 19 00 \(properties) 200000 200000 07 01 \(peer) 00 7f 01 00 01 00 00")
            )
            #expect(commands.dropFirst().first == compact("01 3520 07 00 0100000000e0"))
        }
        var rig = try HostRig.ready(.minimal)
        rig.host.startAdvertising(Self.set(Self.first, .nonConnectable, address: .public(.zero)), at: rig.now)
        #expect(rig.answerCommands().first == compact("01 0620 0f 2000 2000 03 00 00 000000000000 07 00"))
    }

    @Test("New data goes out without a gap; new parameters need one", arguments: [false, true])
    func update(_ isExtended: Bool) throws {
        var rig = try HostRig.ready(isExtended ? .rich : .minimal)
        rig.host.startAdvertising(Self.set(), at: rig.now)
        rig.answerCommands()
        rig.host.startAdvertising(Self.set(data: [2, 1, 4]), at: rig.now)
        #expect(
            rig.answerCommands()
                == (isExtended
                ? ["01 3720 07 00 03 01 03 020104", "01 3820 07 00 03 01 03 020a00"]
                : [
                    "01 0820 20 03 020104" + Self.zeros(28),
                    "01 0920 20 03 020a00" + Self.zeros(28),
                ]).map(compact)
        )
        rig.host.startAdvertising(Self.set(slots: 0x40, data: [2, 1, 4]), at: rig.now)
        let commands = rig.answerCommands()
        #expect(commands.first == compact(isExtended ? "01 3920 06 00 01 00 0000 00" : "01 0a20 01 00"))
        #expect(commands.last == (isExtended ? Self.extendedStart : Self.legacyStart).last)
        #expect(commands.count == (isExtended ? 6 : 5))
        let events = rig.events().descriptions
        #expect(events == Array(repeating: "advertisingStarted(\(Self.first))", count: 3))
    }

    @Test("A set of another kind is removed and created again in an extended controller")
    func otherKind() throws {
        var rig = try HostRig.ready(.rich)
        rig.host.startAdvertising(Self.set(), at: rig.now)
        rig.answerCommands()
        rig.host.startAdvertising(Self.set(Self.first, .nonConnectable), at: rig.now)
        let commands = rig.answerCommands().map { String($0.dropFirst(2).prefix(4)) }
        #expect(commands == ["3920", "3c20", "3620", "3520", "3720", "3920"])
    }

    @Test("A failure in the middle ends the sequence and is reported", arguments: [0, 1, 2, 3, 4])
    func failure(_ step: Int) throws {
        var rig = try HostRig.ready(.rich)
        rig.host.startAdvertising(Self.set(), at: rig.now)
        for (index, command) in Self.extendedStart.prefix(step + 1).enumerated() {
            #expect(rig.sent() == [command])
            rig.give(HostRig.commandComplete(String(command.dropFirst(2).prefix(4)), index == step ? "0c" : "00"))
        }
        #expect(rig.sent().isEmpty)
        #expect(rig.events().descriptions == ["advertisingFailed(\(Self.first), \(HCIStatus.commandDisallowed))"])
        // It can be tried again; since the host does not know what the controller has made of it, it first takes the set off
        // the air.
        rig.host.startAdvertising(Self.set(), at: rig.now)
        #expect(rig.answerCommands() == [compact("01 3920 06 00 01 00 0000 00")] + Self.extendedStart)
    }

    @Test("A second start replaces the first one that is still pending")
    func overtaken() throws {
        var rig = try HostRig.ready(.minimal)
        rig.host.startAdvertising(Self.set(), at: rig.now)
        #expect(rig.sent() == [Self.legacyStart[0]])
        rig.host.startAdvertising(Self.set(slots: 0x40), at: rig.now)
        rig.give(HostRig.commandComplete("0620", "00"))
        let commands = rig.answerCommands()
        #expect(commands.map { $0.dropFirst(2).prefix(4) } == ["0a20", "0620", "0820", "0920", "0a20"])
        #expect(commands[1] == compact("01 0620 0f 4000 4000 00 01 00 000000000000 07 00"))
        #expect(rig.events().descriptions == ["advertisingStarted(\(Self.first))"])
    }

    @Test("A legacy controller has one set at a time; an extended one as many as it reports; idle ones make room")
    func limits() throws {
        var rig = try HostRig.ready(.minimal)
        rig.host.startAdvertising(Self.set(), at: rig.now)
        rig.answerCommands()
        _ = rig.events()
        rig.host.startAdvertising(Self.set(Self.second), at: rig.now)
        #expect(rig.sent().isEmpty)
        #expect(rig.events().descriptions == ["advertisingFailed(\(Self.second), \(HCIStatus.limitReached))"])
        rig.host.stopAdvertising(Self.first, at: rig.now)
        rig.host.startAdvertising(Self.set(Self.second), at: rig.now)
        #expect(rig.answerCommands().count == 5)

        rig = try HostRig.ready(.rich)
        for id: UInt8 in 1...3 {
            rig.host.startAdvertising(Self.set(AdvertisingSetID(rawValue: id), .nonConnectable), at: rig.now)
        }
        rig.answerCommands()
        let third = AdvertisingSetID(rawValue: 3)
        #expect(rig.events().descriptions.contains("advertisingFailed(\(third), \(HCIStatus.limitReached))"))
        rig.host.stopAdvertising(Self.first, at: rig.now)
        rig.answerCommands()
        rig.host.startAdvertising(Self.set(third, .nonConnectable), at: rig.now)
        let commands = rig.answerCommands()
        #expect(commands.first == compact("01 3c20 01 00"))
        #expect(commands.last == compact("01 3920 06 01 01 02 0000 00"))
    }

    @Test("Parameters that no controller accepts are refused at once")
    func invalid() throws {
        var rig = try HostRig.ready()
        var sets = [
            Self.set(slots: 0x1F), Self.set(slots: 0x4001), Self.set(data: [UInt8](repeating: 0, count: 32)),
        ]
        var backwards = Self.set(slots: 0x40)
        backwards.intervalMaximum = AdvertisingInterval(rawValue: 0x20)
        sets.append(backwards)
        for set in sets {
            rig.host.startAdvertising(set, at: rig.now)
            #expect(rig.sent().isEmpty)
            #expect(
                rig.events().descriptions
                    == ["advertisingFailed(\(Self.first), \(HCIStatus.invalidHCICommandParameters))"]
            )
        }
    }

    @Test("Before the controller is ready, sets wait for it")
    func beforeReady() throws {
        var rig = try HostRig(.minimal)
        rig.host.startAdvertising(Self.set(), at: rig.now)
        rig.host.startAdvertising(Self.set(Self.second, .nonConnectable), at: rig.now)
        rig.host.stopAdvertising(Self.second, at: rig.now)
        #expect(rig.sent().isEmpty)
        rig.host.start(at: rig.now)
        #expect(rig.answerCommands().suffix(4) == Self.legacyStart[...])
    }

    @Test("A connection ends the set, on a legacy controller without an event")
    func connectedLegacy() throws {
        var rig = try HostRig.ready(.minimal)
        rig.host.startAdvertising(Self.set(), at: rig.now)
        rig.answerCommands()
        _ = rig.events()
        rig.give(HostRig.legacyConnected("4000"))
        let events = rig.events()
        #expect(events.descriptions.first == "advertisingEnded(\(Self.first), \(AdvertisingEnd.connected(0x40)))")
        #expect(events.connections.first?.ownAddress == HostRig.ownAddress)
        // A set that advertises again starts from the beginning: the controller is not advertising.
        rig.host.startAdvertising(Self.set(), at: rig.now)
        #expect(rig.answerCommands() == Self.legacyStart)
    }

    @Test("With several connectable sets, the connection waits for the controller to say which it came from")
    func connectedExtended() throws {
        var rig = try HostRig.ready(.rich)
        let other = LEAddress.random(DeviceAddress(0xE0_00_00_00_00_01))
        rig.host.startAdvertising(Self.set(Self.first), at: rig.now)
        rig.host.startAdvertising(Self.set(Self.second, address: other), at: rig.now)
        rig.answerCommands()
        _ = rig.events()
        rig.give(HostRig.connected("4000"))
        #expect(rig.events().isEmpty && rig.host.connections.isEmpty)
        rig.give(HostRig.le("12", "00 01 4000 00"))
        let events = rig.events()
        #expect(events.descriptions.first == "advertisingEnded(\(Self.second), \(AdvertisingEnd.connected(0x40)))")
        #expect(events.connections.first?.ownAddress == other)
        #expect(rig.host.connections.map(\.handle) == [0x40])
        // With one connectable set left there is no doubt, and what is said later changes nothing.
        rig.give(HostRig.connected("4100"))
        #expect(rig.events().connections.first?.ownAddress == HostRig.ownAddress)
        rig.give(HostRig.le("12", "00 00 4100 00"))
        #expect(rig.events().descriptions.isEmpty)
    }

    @Test("A connection that ends, or is used, before its set is known")
    func unclear() throws {
        var rig = try HostRig.ready(.rich)
        rig.host.startAdvertising(Self.set(Self.first), at: rig.now)
        rig.host.startAdvertising(Self.set(Self.second), at: rig.now)
        rig.answerCommands()
        _ = rig.events()
        rig.give(HostRig.connected("4000"))
        rig.give(HostRig.event("05", "00 4000 3e"))
        rig.give(HostRig.le("12", "00 01 4000 00"))
        #expect(rig.events().descriptions == ["advertisingEnded(\(Self.second), \(AdvertisingEnd.connected(0x40)))"])
        rig.host.startAdvertising(Self.set(Self.second), at: rig.now)
        rig.answerCommands()
        rig.give(HostRig.connected("4000"))
        rig.give(HostRig.frame("4000", channel: "0400", "02 1700"))
        #expect(rig.events().connections.count == 1)
    }

    @Test(
        "A set can leave the air when somebody connects to another, before anybody is told who",
        arguments: [false, true]
    )
    func endsOnConnection(_ isStarting: Bool) throws {
        var rig = try HostRig.ready(.rich)
        rig.host.startAdvertising(Self.set(Self.first), at: rig.now)
        rig.answerCommands()
        var beacon = Self.set(Self.second, .nonConnectable)
        beacon.endsOnConnection = true
        rig.host.startAdvertising(beacon, at: rig.now)
        if isStarting { _ = rig.sent() } else { rig.answerCommands() }
        _ = rig.events()
        rig.give(HostRig.connected("4000"))
        let events = rig.events().descriptions
        #expect(events.first == "advertisingEnded(\(Self.second), \(AdvertisingEnd.connected(0x40)))")
        #expect(events.dropFirst().first == "advertisingEnded(\(Self.first), \(AdvertisingEnd.connected(0x40)))")
        if isStarting { rig.give(HostRig.commandComplete("3620", "00")) }
        // The first command is to stop, and none of the start follows.
        let commands = rig.answerCommands()
        #expect(commands.first == compact("01 3920 06 00 01 01 0000 00"))
        #expect(commands.allSatisfy { !$0.hasPrefix("013920060101") })
    }

    @Test("A connection that was not established ends its set, which is started again from a known state")
    func notEstablished() throws {
        for script in [ControllerScript.minimal, .rich] {
            var rig = try HostRig.ready(script)
            rig.host.startAdvertising(Self.set(), at: rig.now)
            rig.answerCommands()
            _ = rig.events()
            rig.give(HostRig.le("01", "3e" + Self.zeros(17)))
            let end = AdvertisingEnd.controller(.connectionFailedToBeEstablished)
            #expect(rig.events().descriptions == ["advertisingEnded(\(Self.first), \(end))"])
            rig.host.startAdvertising(Self.set(), at: rig.now)
            let commands = rig.answerCommands().map { String($0.dropFirst(2).prefix(4)) }
            #expect(commands.first == (script.answers == ControllerScript.rich.answers ? "3920" : "0a20"))
        }
    }

    @Test("A phone that connects while a set is being changed leaves nothing on the air beside it")
    func connectedWhileChanging() throws {
        var rig = try HostRig.ready(.minimal)
        rig.host.startAdvertising(Self.set(), at: rig.now)
        rig.answerCommands()
        rig.host.startAdvertising(Self.set(slots: 0x40), at: rig.now)
        // The controller has turned advertising off, but the phone was faster.
        #expect(rig.sent() == [compact("01 0a20 01 00")])
        rig.give(HostRig.commandComplete("0a20", "00"))
        #expect(rig.sent().count == 1)
        rig.give(HostRig.legacyConnected("4000"))
        rig.give(HostRig.commandComplete("0620", "00"))
        #expect(rig.answerCommands().first == compact("01 0a20 01 00"))
        #expect(rig.host.connections.count == 1)
    }

    @Test("Directed advertising that is not answered ends by itself", arguments: [false, true])
    func directed(_ isExtended: Bool) throws {
        var rig = try HostRig.ready(isExtended ? .rich : .minimal)
        rig.host.startAdvertising(Self.set(Self.first, .directed(HostRig.peer, isHighDutyCycle: true)), at: rig.now)
        rig.answerCommands()
        _ = rig.events()
        if isExtended {
            rig.give(HostRig.le("12", "3c 00 0000 00"))
        } else {
            rig.give(HostRig.le("01", "3c" + Self.zeros(17)))
        }
        let end = AdvertisingEnd.controller(.advertisingTimeout)
        #expect(rig.events().descriptions == ["advertisingEnded(\(Self.first), \(end))"])
    }
}
