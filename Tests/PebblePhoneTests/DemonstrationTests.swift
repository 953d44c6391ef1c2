import AirSimulator
import BluetoothHCI
import PebblePhone
import PebbleProtocol
import PebbleWatch
import Testing

@Suite("A phone's demonstration with a watch")
struct DemonstrationTests {
    /// How many exchanges the standard script must have: every one of them fits into a dictionary.
    static let exchangeCount = 12

    @Test(
        "goes to its end, however the transport is carried, on plain and on paired links",
        arguments: PhoneTransport.allCases,
        [LinkSecurityPolicy.insecureTestLink, .required]
    )
    func wholeStory(_ transport: PhoneTransport, _ security: LinkSecurityPolicy) throws {
        for seed in 1...3 as ClosedRange<UInt64> {
            var rig = try Rig(Rig.Settings(transport: transport, seed: seed, linkSecurity: security))
            rig.runToTheEnd()
            let summary = try #require(rig.summary, "\(rig.transcript)")
            #expect(summary.pings == 2)
            #expect(summary.echoes == Self.exchangeCount)
            #expect(summary.reconnections == 0)
            #expect(summary.echoedByteCount > 8192 + 2201)
            #expect(rig.echoResults == Array(repeating: .ok, count: Self.exchangeCount))
            #expect(rig.count { if case .paired = $0 { true } else { false } } == (security == .required ? 1 : 0))
        }
    }

    @Test("completes on controllers with the commands of Core 4.0 alone", arguments: PhoneTransport.allCases)
    func oldControllers(_ transport: PhoneTransport) throws {
        var rig = try Rig(Rig.Settings(transport: transport, seed: 4, controller: .legacy))
        rig.runToTheEnd()
        #expect(rig.summary?.echoes == Self.exchangeCount, "\(rig.transcript)")
    }

    @Test("completes when packets are lost", arguments: PhoneTransport.allCases)
    func loss(_ transport: PhoneTransport) throws {
        let models: [LossModel] = [
            .uniform(probability: 0.2),
            .bursty(GilbertElliott(meanGood: .milliseconds(800), meanBad: .milliseconds(300))),
        ]
        for (index, model) in models.enumerated() {
            var rig = try Rig(
                Rig.Settings(transport: transport, seed: 10 + UInt64(index), quality: LinkQuality(loss: model))
            )
            rig.runToTheEnd()
            #expect(rig.summary?.echoes == Self.exchangeCount, "\(model)\n\(rig.transcript)")
        }
    }

    @Test(
        "goes on where it stopped when the link is cut at any point",
        arguments: PhoneTransport.allCases,
        0..<10
    )
    func cutLink(_ transport: PhoneTransport, _ step: Int) throws {
        var rig = try Rig(Rig.Settings(transport: transport, seed: 20 + UInt64(step)))
        // Every so many events something else is under way: exploring, pairing, negotiating, exchanging.
        let eventCount = 6 + step * 10
        rig.run(within: .seconds(60)) { $0.story.count >= eventCount }
        #expect(rig.outcome == nil)
        rig.setQuality(.outOfRange)
        rig.run(within: .seconds(12)) { _ in false }
        rig.setQuality(.perfect)
        rig.runToTheEnd()
        let summary = try #require(rig.summary, "\(rig.transcript)")
        #expect(summary.echoes == Self.exchangeCount)
        #expect(summary.reconnections == 1)
        #expect(rig.count { if case .disconnected(.connectionTimeout) = $0 { true } else { false } } == 1)
        #expect(rig.count { if case .paired = $0 { true } else { false } } == 1, "\(rig.transcript)")
    }

    @Test("is the same for the same seed")
    func determinism() throws {
        let quality = LinkQuality(loss: .uniform(probability: 0.1))
        let transcripts = try [7, 7, 8].map { seed in
            var rig = try Rig(Rig.Settings(seed: UInt64(seed), quality: quality))
            rig.runToTheEnd()
            return rig.story.map { "\($0.time) \($0.event)" }
        }
        #expect(transcripts[0] == transcripts[1])
        #expect(transcripts[0] != transcripts[2])
    }

    @Test("has the conversation in libpebble3's order")
    func negotiationOrder() throws {
        var rig = try Rig(Rig.Settings())
        rig.runToTheEnd()
        var order: [String] = []
        for told in rig.story {
            switch told.event {
            case .transportOpened: order.append("open")
            case .phoneVersionSent: order.append("phone version")
            case .watchVersion(let version):
                #expect(version.serialNumber == "CAIRN0004455")
                order.append("watch version")
            case .watchColor(let color):
                #expect(color == .duo2Black)
                order.append("colour")
            case .timeSet(let time):
                #expect(time.seconds == Rig.clock.secondsAtOrigin + UInt32(told.time.components.seconds))
                order.append("time")
            case .runningApp(let app):
                #expect("\(app)" == "2c1d6f5e-8f3a-4c57-9d0e-ec0ec0ec0ec0")
                order.append("running app")
            case .negotiated: order.append("negotiated")
            case .pong where order.last == "negotiated": order.append("pong")
            default: break
            }
        }
        let expected = [
            "open", "phone version", "watch version", "colour", "time", "running app", "negotiated", "pong",
        ]
        #expect(order == expected, "\(rig.transcript)")
        let clocks = rig.watchEvents.compactMap { event in
            if case .clockSet(let clock) = event { clock.zone?.name } else { nil }
        }
        #expect(clocks == ["Europe/Paris"])
    }

    @Test("tells what the watch is")
    func watchDescription() throws {
        var rig = try Rig(Rig.Settings())
        rig.runToTheEnd()
        let told = rig.story.map { "\($0.event)" }
        let expected = [
            "found Pebble 4455 at C0:11:22:33:44:55 (random), serial number CAIRN0004455, flint, duo2Black, "
                + "firmware 4.9.100, -50 dBm",
            "ATT MTU 517",
            "manufacturer \"Core Devices LLC\", model \"asterix\", serial number \"CAIRN0004455\", "
                + "firmware \"v4.9.100\", software \" 5.106\"",
            "not encrypted, not bonded, the watch has no bond",
            "encrypted, bonded, the watch has a bond",
            "battery 100 %",
            "the watch is connected",
            "disconnected: Connection Terminated by Local Host (0x16)",
        ]
        for line in expected { #expect(told.contains(line), "\(line)\n\(rig.transcript)") }
    }
}
