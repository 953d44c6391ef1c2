import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import ByteCoding
import PebbleProtocol
import PebbleWatch
import SeededRandomness
import Testing

/// The whole firmware against a controller that fails: what it does at the HCI to be on the air.
@Suite struct AdvertisingFirmwareTests {
    private static let address: UInt64 = 0xC0DE_0000_1234
    static let beacon = Beacon(
        uuid: PebbleUUID("e2c56db5-dffb-48d2-b060-d0f5a71096e0") ?? .system,
        major: 0x0102,
        minor: 0xFFFE,
        measuredPower: -59
    )
    /// The 30 bytes, from Apple's description.
    static let beaconBytes: [UInt8] = [
        0x02, 0x01, 0x06, 0x1A, 0xFF, 0x4C, 0x00, 0x02, 0x15, 0xE2, 0xC5, 0x6D, 0xB5, 0xDF, 0xFB, 0x48, 0xD2, 0xB0,
        0x60, 0xD0, 0xF5, 0xA7, 0x10, 0x96, 0xE0, 0x01, 0x02, 0xFF, 0xFE, 0xC5,
    ]

    /// The firmware on a fake controller, in virtual time.
    private struct Rig {
        var firmware: Watch
        var controller: FakeController
        var now: Duration = .zero
        var events: [WatchEvent] = []
        /// When something last went wrong, or a phone came or went.
        var lastTrouble: Duration = .zero
        /// Since when nothing could be connected to; nil if it could.
        var deafSince: Duration?
        /// Commands that were never answered are waited for, however long.
        var awaitsReset = false

        init(
            _ kind: FakeController.Kind,
            _ profile: AdvertisingProfile,
            beacon: Beacon? = nil,
            power: Int8? = nil,
            seed: UInt64 = 1
        ) throws {
            var configuration = WatchConfiguration(
                identity: WatchIdentity(address: .random(DeviceAddress(AdvertisingFirmwareTests.address)))
            )
            configuration.advertising = profile
            configuration.beacon = beacon
            configuration.advertisingPower = power
            firmware = try Watch(
                configuration,
                cryptography: .swiftCrypto,
                randomness: RandomSource(state: seed, SplitMix64.draw)
            )
            controller = FakeController(kind, seed: seed)
            firmware.start(at: now)
            pump()
        }

        /// Carries packets between host and controller until both are quiet.
        mutating func pump() {
            var packet: [UInt8] = []
            while true {
                while let answer = controller.outbox.first {
                    controller.outbox.removeFirst()
                    firmware.receive(answer[...], at: now)
                }
                guard firmware.nextPacket(into: &packet) else { break }
                if controller.isMute { awaitsReset = true }
                if packet.starts(with: [0x01, 0x03, 0x0C]), !controller.isMute {
                    awaitsReset = false
                    lastTrouble = now
                }
                let refusals = controller.refusals
                controller.receive(packet)
                if controller.refusals > refusals { lastTrouble = now }
            }
            while let event = firmware.nextEvent() { events.append(event) }
        }

        /// Changes the controller's state.
        mutating func disturb(_ body: (inout FakeController) -> Void) {
            lastTrouble = now
            body(&controller)
            pump()
        }

        /// Lets time pass. Returns the first violation in that time, if there was one.
        mutating func run(until end: Duration) -> String? {
            while let deadline = firmware.nextDeadline, deadline < end {
                if let complaint = complaint(until: deadline) { return complaint }
                now = max(now, deadline)
                firmware.advance(to: now)
                pump()
            }
            if let complaint = complaint(until: end) { return complaint }
            now = end
            firmware.advance(to: now)
            pump()
            return nil
        }

        /// Whether silence until a moment is a violation.
        mutating func complaint(until next: Duration) -> String? {
            if controller.connection != nil, controller.beacon != nil || controller.connectable != nil, !awaitsReset,
                next - max(now, lastTrouble) > .milliseconds(1050)
            {
                return "advertising beside a connection from \(now) to \(next), after "
                    + controller.commands.suffix(8).map(\.hexadecimal).joined(separator: " ")
            }
            guard controller.connection == nil, controller.connectable == nil, !awaitsReset else {
                deafSince = nil
                return nil
            }
            let since = max(deafSince ?? now, lastTrouble)
            deafSince = since
            var patience = Duration.milliseconds(50)
            if controller.kind != .severalSets, controller.beacon != nil { patience += AdvertisingPolicy.beaconSlice }
            guard next - since > patience else { return nil }
            return "nothing to connect to from \(since) to \(next), after "
                + controller.commands.suffix(8).map(\.hexadecimal).joined(separator: " ")
        }
    }

    // MARK: Bytes

    /// Interval bytes of the ten, in the order of the profile, as the Core has them: little-endian slots.
    private static let legacyBytes: [[UInt8]] = [
        [0x20, 0x00], [0xF4, 0x00], [0x52, 0x01], [0xFE, 0x01], [0x9C, 0x02], [0x6A, 0x03], [0xC0, 0x04], [0x54, 0x05],
        [0x64, 0x06], [0x08, 0x08],
    ]

    @Test func appleIntervalsAtALegacyController() throws {
        var rig = try Rig(.legacy, .apple)
        #expect(rig.run(until: .seconds(24 * 3600)) == nil)
        // Minimum, maximum, ADV_IND, own address random, no peer, all three channels, anyone.
        let expected = Self.legacyBytes.map { [0x01, 0x06, 0x20, 0x0F] + $0 + $0 + [0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0] }
        #expect(rig.controller.commands.filter { $0.starts(with: [0x01, 0x06, 0x20]) } == expected)
    }

    @Test(arguments: [FakeController.Kind.oneSet, .severalSets])
    func appleIntervalsAtAnExtendedController(kind: FakeController.Kind) throws {
        var rig = try Rig(kind, .apple)
        #expect(rig.run(until: .seconds(24 * 3600)) == nil)
        // Set 0, connectable, scannable, legacy packets; 24-bit minimum and maximum; channels; address; 1M.
        let expected = Self.legacyBytes.map { bytes in
            [0x01, 0x36, 0x20, 0x19, 0x00, 0x13, 0x00] + bytes + [0] + bytes + [0]
                + [7, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0x7F, 1, 0, 1, 0, 0]
        }
        #expect(rig.controller.commands.filter { $0.starts(with: [0x01, 0x36, 0x20]) } == expected)
    }

    /// Asked of the controller (Core 5.4, Vol 4, Part E, 7.8.53: the power follows 19 octets of parameters), and told to phones.
    @Test func thePowerIsAskedForAndTold() throws {
        let rig = try Rig(.severalSets, .apple, beacon: Self.beacon, power: -20)
        let asked = rig.controller.commands.filter { $0.starts(with: [0x01, 0x36, 0x20]) }
        #expect(asked.map { Int8(bitPattern: $0[4 + 19]) } == [-20, -20])
        let told = try #require(rig.firmware.onAir.connectable)
        #expect(AdvertisingData(parsing: told.data).txPowerLevelDBm == -20)
    }

    @Test func applesAdvertisementHasFlagsAndPowerAlsoForAPhoneThatIsKnown() {
        let identity = WatchIdentity(address: .random(DeviceAddress(Self.address)))
        for profile in [AdvertisingProfile.apple, .saver] {
            let discovery = Advertisement(for: .discovery, of: identity, by: profile)
            let reconnection = Advertisement(for: .reconnection, of: identity, by: profile)
            #expect(discovery == reconnection, "what scanners have seen does not change")
            #expect(reconnection.data.flags == [.leGeneralDiscoverable, .brEDRNotSupported])
            #expect(reconnection.data.txPowerLevelDBm != nil)
            #expect(reconnection.data.serviceUUIDs16 == [0xFED9])
            #expect(reconnection.data.localName?.contains { ":;".contains($0) } == false)
        }
    }

    @Test func theBeaconsBytes() {
        #expect(Self.beacon.data.bytes == Self.beaconBytes)
        #expect(Self.beacon.data.bytes.count == 30)
    }

    // MARK: The beacon at the HCI

    @Test func severalSetsCarryBothAtOnce() throws {
        var rig = try Rig(.severalSets, .apple, beacon: Self.beacon)
        let beacon = try #require(rig.controller.beacon)
        #expect(beacon.data == Self.beaconBytes)
        #expect(beacon.intervalSlots == 160 && beacon.channels == 7)
        let connectable = try #require(rig.controller.connectable)
        #expect(connectable.intervalSlots == 32 && connectable.channels == 7)
        #expect(beacon.address != connectable.address, "or scanners take them for one device")
        // Non-connectable, legacy packets: nothing but bit 4.
        let parameters = rig.controller.commands.filter { $0.starts(with: [0x01, 0x36, 0x20, 0x19, 0x01]) }
        #expect(parameters.map { $0[5...6] } == [[0x10, 0x00]])

        rig.events = []
        rig.controller.commands = []
        rig.disturb { _ = $0.phoneConnects() }
        #expect(rig.controller.beacon == nil)
        // The first command after the connection takes the beacon off the air, and people hear of that first too.
        #expect(rig.controller.commands.first == [0x01, 0x39, 0x20, 0x06, 0x00, 0x01, 0x01, 0x00, 0x00, 0x00])
        let story = rig.events.compactMap { event in
            switch event {
            case .advertising(let onAir): onAir.silence == .connected ? "silence" : "advertising"
            case .connected: "connected"
            default: nil
            }
        }
        #expect(story == ["silence", "connected"])
        rig.disturb { $0.linkEnds(0x13) }
        #expect(rig.controller.beacon != nil && rig.controller.connectable?.intervalSlots == 32)
        let slow = rig.run(until: .seconds(24 * 3600))
        #expect(slow == nil)
        #expect(rig.controller.connectable?.intervalSlots == 338, "211.25 ms while the beacon is out, however long")
    }

    @Test(arguments: [FakeController.Kind.legacy, .oneSet])
    func oneSetCarriesThemInTurns(kind: FakeController.Kind) throws {
        var rig = try Rig(kind, .apple, beacon: Self.beacon)
        var seen: [Bool] = []
        for tick in 0..<40 {
            #expect(rig.run(until: .milliseconds(tick * 100 + 50)) == nil)
            #expect((rig.controller.beacon == nil) != (rig.controller.connectable == nil), "one of them")
            seen.append(rig.controller.beacon != nil)
            #expect(rig.controller.beacon.map(\.intervalSlots) ?? 160 == 160)
            #expect(rig.controller.connectable.map(\.intervalSlots) ?? 32 == 32)
        }
        let period = Array(repeating: false, count: 15) + Array(repeating: true, count: 5)
        #expect(seen == period + period)
        let onAir = rig.firmware.onAir
        #expect(onAir.entries.map(\.role) == [.discovery, .beacon])
        #expect(onAir.entries.map(\.turn) == [.milliseconds(1500), .milliseconds(500)])
        #expect(rig.events.count { if case .advertising = $0 { true } else { false } } == 1, "turns are not reported")
    }

    @Test func aShortLossDoesNotWakeThePhone() throws {
        var beacon = Self.beacon
        beacon.holdOff = .seconds(10)
        var rig = try Rig(.severalSets, .apple, beacon: beacon)
        rig.disturb { _ = $0.phoneConnects() }
        // A phone that does nothing has a minute.
        _ = rig.run(until: .seconds(50))
        rig.disturb { $0.linkEnds(0x08) }
        #expect(rig.run(until: .seconds(59)) == nil)
        #expect(rig.controller.beacon == nil)
        #expect(rig.run(until: .seconds(61)) == nil)
        #expect(rig.controller.beacon != nil)
    }

    @Test func aPhoneThatIsToldGoodbyeIsNotInvitedBack() throws {
        var rig = try Rig(.severalSets, .apple, beacon: Self.beacon)
        rig.disturb { _ = $0.phoneConnects() }
        _ = rig.run(until: .seconds(50))
        rig.events = []
        rig.firmware.disconnectAll(at: rig.now)
        rig.pump()
        rig.disturb { $0.linkEnds(0x16) }
        rig.firmware.advance(to: rig.now + .seconds(60))
        rig.pump()
        #expect(rig.events.contains { if case .disconnected = $0 { true } else { false } })
        #expect(rig.controller.connectable == nil && rig.controller.beacon == nil)
        #expect(!rig.events.contains { if case .advertising = $0 { true } else { false } })
    }

    @Test func thePairingWindowIsOpenedAndClosed() throws {
        var rig = try Rig(.severalSets, .saver)
        #expect(rig.run(until: .seconds(1000)) == nil)
        #expect(rig.controller.connectable?.intervalSlots == 2056)
        try rig.firmware.perform(.openPairing(for: .seconds(120)), at: rig.now)
        rig.pump()
        #expect(rig.controller.connectable?.intervalSlots == 32)
        #expect(rig.firmware.onAir.connectable?.reason == .pairingWindow)
        try rig.firmware.perform(.sense(.tap(.x, direction: 1)), at: rig.now)
        #expect(rig.firmware.onAir.connectable?.reason == .pairingWindow, "motion changes nothing in the saver profile")
        try rig.firmware.perform(.sense(.battery(percent: 50, isCharging: true)), at: rig.now)
        #expect(rig.firmware.onAir.connectable?.reason == .activity(.charger))
        try rig.firmware.perform(.press(.up, .short), at: rig.now)
        #expect(rig.firmware.onAir.connectable?.reason == .activity(.button))
        try rig.firmware.perform(.advertise, at: rig.now)
        #expect(rig.firmware.onAir.connectable?.reason == .command)
    }

    // MARK: What is on the air, in words

    @Test func whatIsOnTheAirIsSaid() throws {
        var rig = try Rig(.severalSets, .apple, beacon: Self.beacon)
        #expect(
            "\(rig.firmware.onAir)"
                == "discovery every 20 ms for 300 s, then every 152.5 ms (the controller was started); "
                + "beacon every 100 ms (no phone is connected)"
        )
        let entry = try #require(rig.firmware.onAir.connectable)
        #expect(entry.state == .onAir && entry.since == .zero)
        #expect(entry.payload == "flags 0x06, services d9fe, name Pebble 1234, TX power 0 dBm")
        #expect(rig.run(until: .seconds(100)) == nil)
        #expect(rig.firmware.onAir.connectable?.remaining == .seconds(200))
        rig.disturb { _ = $0.phoneConnects() }
        #expect("\(rig.firmware.onAir)" == "nothing: a phone is connected")
        rig.disturb { $0.linkEnds(0x08) }
        #expect(rig.firmware.onAir.connectable?.reason == .disconnected(.lost))
        rig.controller.refusalRate = 256
        try rig.firmware.perform(.advertise, at: rig.now)
        rig.pump()
        #expect(rig.firmware.onAir.connectable?.state == .onAir, "the same step began again, so nothing is reported")
        rig.disturb { $0.breaks() }
        #expect(rig.firmware.onAir.connectable?.state == .refused(.commandDisallowed))
        #expect("\(rig.firmware.onAir)".contains("refused by the controller: Command Disallowed"))
    }

    @Test func aControllerThatOnlyRefusesIsResetAndTheLogStaysShort() throws {
        var rig = try Rig(.legacy, .apple)
        rig.controller.refusalRate = 256
        rig.disturb { _ = $0.phoneConnects() }
        rig.disturb { $0.linkEnds(0x08) }
        rig.controller.commands = []
        rig.events = []
        var resets = 0
        for tenth in 1...100 {
            try #require(rig.run(until: .milliseconds(100 * tenth)) == nil)
            resets = rig.events.count { if case .started = $0 { true } else { false } }
        }
        #expect((2...4).contains(resets), "every three seconds: \(resets)")
        let lines = rig.events.count { event in
            if case .diagnostic(let line) = event { line.severity >= .info } else { false }
        }
        #expect(lines <= 4 * resets + 4, "\(lines) lines")
        rig.controller.refusalRate = 0
        let begin = rig.now
        #expect(rig.run(until: begin + .milliseconds(50)) == nil)
        #expect(rig.controller.connectable != nil)
    }

    // MARK: The invariant

    /// Every fault, at random. Not connected means that a phone can connect, 50 ms after the controller
    /// last refused, ended or lost something, at the latest; 550 ms where the beacon has its slices of the only set.
    @Test(arguments: FakeController.Kind.allCases, [true, false])
    func aWatchThatIsNotConnectedIsOnTheAirWithin50Milliseconds(kind: FakeController.Kind, hasBeacon: Bool) throws {
        let profiles = AdvertisingInvariantTests.profiles
        for seed in UInt64(1)...40 {
            var random = SplitMix64(seed: seed)
            let profile = profiles[Int(truncatingIfNeeded: random.next() & 3)]
            var rig = try Rig(kind, profile, beacon: hasBeacon ? Self.beacon : nil, seed: seed)
            for step in 0..<40 {
                let bits = random.next()
                switch bits & 15 {
                case 0...3: rig.disturb { _ = $0.phoneConnects() }
                case 4, 5:
                    rig.disturb { $0.linkEnds([0x08, 0x13, 0x3E, 0x22][Int(truncatingIfNeeded: (bits >> 8) & 3)]) }
                case 6: rig.disturb { $0.connectionIsNotEstablished() }
                case 7: rig.disturb { $0.endsASet() }
                case 8: rig.disturb { $0.breaks() }
                case 9, 10: rig.disturb { $0.refusalRate = (bits >> 8) & 0xFF }
                case 11: rig.disturb { $0.refusalRate = 256 }
                case 12: rig.disturb { $0.refusalRate = 0 }
                case 13:
                    rig.controller.isMute = true
                    if let complaint = rig.run(
                        until: rig.now + .milliseconds(Int64(truncatingIfNeeded: bits >> 8 & 0x3FF))
                    ) {
                        Issue.record("\(kind) \(profile.name) seed \(seed) step \(step), mute: \(complaint)")
                        return
                    }
                    rig.disturb { $0.isMute = false }
                case 14: try rig.firmware.perform(.press(.up, .short), at: rig.now)
                default: try rig.firmware.perform(.openPairing(for: .seconds(30)), at: rig.now)
                }
                rig.pump()
                // Refusals are many and cost time; without them more of it can pass.
                let scale: UInt64 = rig.controller.refusalRate == 0 ? 0x3FFF : 0x3FF
                let pause = Duration.milliseconds(Int64(truncatingIfNeeded: (bits >> 32) & scale))
                if let complaint = rig.run(until: rig.now + pause) {
                    Issue.record("\(kind) \(profile.name) seed \(seed) step \(step): \(complaint)")
                    return
                }
            }
            // After the last fault, the watch advertises as before.
            rig.disturb {
                $0.refusalRate = 0
                $0.linkEnds(0x08)
            }
            let start = rig.now
            if let complaint = rig.run(until: start + .seconds(5)) {
                Issue.record("\(kind) \(profile.name) seed \(seed), at the end: \(complaint)")
                return
            }
        }
    }
}
