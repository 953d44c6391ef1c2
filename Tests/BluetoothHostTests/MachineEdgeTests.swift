import BluetoothHCI
import ByteCoding
import Testing

@testable import BluetoothHost

/// The small machines of the host, at the values where they change their mind.
@Suite("LE host: the edges of small machines") struct MachineEdgeTests {
    @Test(
        "Ten failures of a controller are forgiven; then it rests half a second, then twice as long, up to 30 s"
    )
    func restartPace() {
        var pace = RestartPace()
        let rests = (0..<20).map { pace.failed(at: .seconds($0)) }
        #expect(rests.prefix(10).allSatisfy { $0 == .zero })
        #expect(
            rests.dropFirst(10)
                == [
                    .milliseconds(500), .seconds(1), .seconds(2), .seconds(4), .seconds(8), .seconds(16), .seconds(30),
                    .seconds(30), .seconds(30), .seconds(30),
                ]
        )
        // A minute without a failure.
        let later = pace.failed(at: .seconds(19 + 60))
        #expect(later == .zero)
    }

    @Test(
        "Without a Security Manager a Pairing Request and a Security Request are refused, and nothing else is answered"
    )
    func pairingRefusal() {
        var refusal = PairingRefusal()
        var buffer: [UInt8] = [0x77]
        let others = (UInt8.min...UInt8.max).filter { $0 != 0x01 && $0 != 0x0B }
        let answered = others.filter { refusal.receive([$0]) }
        #expect(answered == [])
        let isEmptyAnswered = refusal.receive([])
        #expect(!isEmptyAnswered)
        let hasAnswer = refusal.nextPDU(into: &buffer)
        #expect(!hasAnswer)
        for code: UInt8 in [0x01, 0x0B] {
            let isRefused = refusal.receive([code])
            let answers = [refusal.nextPDU(into: &buffer), refusal.nextPDU(into: &buffer)]
            #expect(isRefused && answers == [true, false])
            #expect(buffer == [0x05, 0x05])
        }
    }

    @Test("The wait after a failed pairing is for the peer that failed, and the peer of 65 failures ago is forgotten")
    func repeatedAttempts() {
        var attempts = RepeatedAttempts(RepeatedAttemptLimits())
        let peers = (0..<65).map { LEAddress.random(DeviceAddress(0xC000_0000_0000 + UInt64($0))) }
        for peer in peers.prefix(64) { attempts.failed(peer, at: .zero) }
        #expect(attempts.waitingTime(of: peers[0], at: .zero) == .seconds(1))
        attempts.failed(peers[64], at: .zero)
        #expect(attempts.waitingTime(of: peers[0], at: .zero) == nil)
        #expect(attempts.waitingTime(of: peers[1], at: .zero) == .seconds(1))
    }

    @Test("Nothing that was exchanged out of band is kept of a ninth peer")
    func outOfBandPeers() {
        var secrets = OutOfBandSecrets()
        let peers = (0..<9).map { LEAddress.random(DeviceAddress(0xC000_0000_0000 + UInt64($0))) }
        let data = PeerOutOfBandData(temporaryKey: TemporaryKey(1))
        for peer in peers { secrets.set(data, of: peer) }
        #expect(peers.map { secrets.knows($0, secureConnections: false) } == Array(repeating: true, count: 8) + [false])
        secrets.set(nil, of: peers[0])
        secrets.set(data, of: peers[8])
        #expect(secrets.knows(peers[8], secureConnections: false))
    }

    // MARK: Frames

    @Test("Of a frame that is too long, the first two octets are kept, however they come")
    func longFrame() {
        // 600 octets exceed what is taken.
        let header: [UInt8] = [0xFF, 0xFF, 0x04, 0x00]
        for pieces in [[header + [0x0A, 0x0B]], [header + [0x0A], [0x0B]], [header, [0x0A, 0x0B, 0x0C]]] as [[[UInt8]]]
        {
            var recombiner = FrameRecombiner()
            var lost: [ArraySlice<UInt8>] = []
            for (place, piece) in pieces.enumerated() {
                lost += recombiner.receive(piece[...], isStart: place == 0).lost.map(\.beginning)
            }
            #expect(lost == [[0x0A, 0x0B]])
        }
    }

    /// A K-frame's length, and data that come in three frames.
    @Test("Tools that show captures see the PDUs of enhanced bearers, whole, by the bearer's number")
    func bearers() throws {
        var dissector = BearerDissector()
        func signal(_ text: String, from side: BearerDissector.Side) throws {
            dissector.take(try SignalingPDU(decoding: hex(text)[...]), from: side)
        }
        // Two bearers of the peer, then one of the host: SPSM 0x0027, MTU 64, MPS 64, 1 credit.
        try signal("17 01 0c00 2700 4000 4000 0100 4000 4100", from: .peer)
        try signal("18 01 0c00 4000 4000 0100 0000 5000 5100", from: .host)
        try signal("17 01 0a00 2700 4000 4000 0100 6000", from: .host)
        try signal("18 01 0a00 4000 4000 0100 0000 7000", from: .peer)
        func take(_ channel: UInt16, _ payload: String, from side: BearerDissector.Side) throws -> String? {
            let frame = L2CAPFrame(channel: ChannelID(rawValue: channel), payload: hex(payload)[...])
            guard let (bearer, pdu) = try dissector.take(frame, from: side) else { return nil }
            return "\(bearer): \(pdu.map { Array($0).hexadecimal } ?? "…")"
        }
        #expect(try take(0x50, "0300 0a0300", from: .peer) == "1: 0a0300")
        #expect(try take(0x51, "0300 0a0400", from: .peer) == "2: 0a0400")
        #expect(try take(0x40, "0200 0b64", from: .host) == "1: 0b64")
        #expect(try take(0x41, "0500 0b01", from: .host) == "2: …")
        #expect(try take(0x41, "0203", from: .host) == "2: …")
        #expect(try take(0x41, "04", from: .host) == "2: 0b01020304")
        #expect(try take(0x41, "0100 0b", from: .host) == "2: 0b")
        #expect(try take(0x70, "0100 02", from: .host) == "3: 02")
        #expect(try take(0x60, "0100 03", from: .peer) == "3: 03")
        #expect(try take(0x60, "0100 03", from: .host) == nil)
        #expect(throws: ByteDecodingError.self) { try take(0x40, "0100 0b64", from: .host) }
        try signal("06 02 0400 5000 4000", from: .peer)
        #expect(try take(0x50, "0300 0a0300", from: .peer) == nil)
        #expect(try take(0x40, "0200 0b64", from: .host) == nil)
        #expect(try take(0x51, "0300 0a0400", from: .peer) == "2: 0a0400")
    }

    @Test("Of more ends than are kept, the oldest is forgotten, and no other")
    func manyBearers() throws {
        var dissector = BearerDissector()
        for number in 0..<65 {
            let request: [UInt8] = [
                0x17, 0x01, 0x0A, 0x00, 0x27, 0x00, 0x40, 0x00, 0x40, 0x00, 0x01, 0x00, UInt8(0x40 + number), 0x00,
            ]
            dissector.take(try SignalingPDU(decoding: request[...]), from: .peer)
        }
        let known = try (0..<65).map { number in
            let frame = L2CAPFrame(channel: ChannelID(rawValue: UInt16(0x40 + number)), payload: [1, 0, 0x0B])
            return try dissector.take(frame, from: .host)?.bearer
        }
        #expect(known == [nil] + (2...65).map { $0 })
    }

    // MARK: Channels

    private func terms(mtu: UInt16, mps: UInt16, credits: UInt16 = 10) -> ChannelTerms {
        ChannelTerms(mtu: mtu, mps: mps, credits: credits)
    }

    @Test("The last octet of an SDU is sent, alone in its frame")
    func lastOctet() throws {
        var flow = OutboundFlow(ChannelParameters(), terms(mtu: 100, mps: 23))
        // 2 octets of length and 21, then 23, then 1.
        try flow.writeSDU(Array(1...45)[...])
        var frames: [[UInt8]] = []
        var buffer: [UInt8] = []
        while flow.nextFrame(dataLength: 27, into: &buffer) { frames.append(buffer) }
        #expect(frames == [[45, 0] + Array(1...21), Array(22...44), [45]])
        #expect(!flow.canSend)
    }

    @Test("An SDU has room for itself and for what is kept with it, and is no longer than the MTU")
    func roomForSDU() {
        var parameters = ChannelParameters()
        parameters.transmitLimit = 200
        let cost = ReceivedData.sduCost
        #expect(cost > 0)
        var flow = OutboundFlow(parameters, terms(mtu: 500, mps: 100))
        #expect(flow.roomForSDU == 200 - cost)
        let written = flow.write(ArraySlice(repeating: 0, count: 200))
        #expect(written == 200)
        #expect(flow.roomForSDU == 0)
        #expect(OutboundFlow(parameters, terms(mtu: 50, mps: 50)).roomForSDU == 50)
    }

    @Test("Room for incoming data holds an SDU and two K-frames, if that is more than what was asked for")
    func inboundRoom() {
        var parameters = ChannelParameters()
        parameters.face = .sdus
        parameters.receiveLimit = 1
        let cost = ReceivedData.sduCost
        let expected = (1000 + cost + 2 * (100 + cost)) / (100 + cost)
        #expect(InboundFlow.initialCredits(parameters, mtu: 1000, mps: 100) == UInt16(expected))
        parameters.face = .bytes
        #expect(InboundFlow.initialCredits(parameters, mtu: 1000, mps: 100) == 2)
        parameters.receiveLimit = 1000
        #expect(InboundFlow.initialCredits(parameters, mtu: 1000, mps: 100) == 10)
    }

    @Test(
        "A peer with a quarter of its credits left gets the next one at once; one with more waits for half a window"
    )
    func grants() throws {
        var parameters = ChannelParameters()
        parameters.face = .bytes
        parameters.receiveLimit = 800
        var flow = InboundFlow(parameters, mtu: 1000, mps: 100, credits: 8)
        var sizes: [Int] = []
        // An SDU a frame, read at once.
        for _ in 0..<8 {
            _ = try flow.receive([98, 0] + [UInt8](repeating: 1, count: 98))
            var read: [UInt8] = []
            _ = flow.data.read(.max, into: &read)
            sizes.append(Int(flow.takeGrant() ?? 0))
        }
        #expect(sizes == [0, 0, 0, 4, 0, 0, 0, 4])
        var late = InboundFlow(parameters, mtu: 1000, mps: 100, credits: 3)
        _ = try late.receive([98, 0] + [UInt8](repeating: 1, count: 98))
        // 702 of 800 are free, 200 of them promised.
        let lateGrant = late.takeGrant()
        #expect(lateGrant == 5)
        var low = InboundFlow(parameters, mtu: 1000, mps: 100, credits: 8)
        for _ in 0..<6 { _ = try low.receive([98, 0] + [UInt8](repeating: 1, count: 98)) }
        let early = low.takeGrant()
        var read: [UInt8] = []
        _ = low.data.read(90, into: &read)
        let first = low.takeGrant()
        #expect(early == nil && first == 1)
        // Half of a window of two is one.
        parameters.receiveLimit = 200
        var small = InboundFlow(parameters, mtu: 1000, mps: 100, credits: 2)
        _ = try small.receive([98, 0] + [UInt8](repeating: 1, count: 98))
        _ = small.data.read(.max, into: &read)
        let next = small.takeGrant()
        #expect(next == 1)
    }

    // MARK: What a controller can do

    private func capabilities(
        _ commands: [HCICommandID],
        _ features: LEFeatures = .extendedAdvertising
    ) -> ControllerCapabilities {
        var capabilities = ControllerCapabilities()
        capabilities.commands = SupportedCommands(commands)
        capabilities.features = features
        return capabilities
    }

    @Test("Extended commands are used when all of a kind are there, or the legacy ones are not")
    func extendedCommands() {
        let advertising = [
            LESetExtendedAdvertisingParameters.id, LESetExtendedAdvertisingData.id, LESetExtendedScanResponseData.id,
            LESetExtendedAdvertisingEnable.id, LESetAdvertisingSetRandomAddress.id,
        ]
        let scanning = [LESetExtendedScanParameters.id, LESetExtendedScanEnable.id]
        let connecting = [LEExtendedCreateConnection.id]
        let legacy = [LESetAdvertisingEnable.id, LESetScanEnable.id, LECreateConnection.id]
        let all = advertising + scanning + connecting
        #expect(capabilities(all + legacy).usesExtendedCommands)
        #expect(!capabilities(all + legacy, []).usesExtendedCommands)
        for missing in all {
            #expect(!capabilities(all.filter { $0 != missing } + legacy).usesExtendedCommands, "\(missing)")
        }
        // A kind that the controller does not have in the old form either is not lost.
        #expect(capabilities(advertising + [LESetAdvertisingEnable.id]).usesExtendedCommands)
        #expect(!capabilities(advertising + [LESetAdvertisingEnable.id, LESetScanEnable.id]).usesExtendedCommands)
        #expect(!capabilities(advertising + [LESetAdvertisingEnable.id, LECreateConnection.id]).usesExtendedCommands)
        #expect(!capabilities(scanning + connecting + legacy).usesExtendedCommands)
        #expect(!capabilities([]).usesExtendedCommands)
    }

    @Test("Without a kind of PHY, or the command for it, the PHY of a connection stays")
    func phyChange() {
        #expect(capabilities([LESetPHY.id], .le2MPHY).supportsPHYChange)
        #expect(capabilities([LESetPHY.id], .leCodedPHY).supportsPHYChange)
        #expect(!capabilities([LESetPHY.id], []).supportsPHYChange)
        #expect(!capabilities([], .le2MPHY).supportsPHYChange)
    }

    @Test("One buffer of 27 octets is enough, and LE without buffers of its own shares those of BR/EDR")
    func buffers() throws {
        for (own, shared, expected) in [
            ("00 1b00 01", nil, (27, 1)), ("00 0000 00", "00 1b00 40 0100 0000", (27, 1)),
            ("00 1b00 00", "00 3600 40 0200 0000", (54, 2)), ("00 1a00 05", "00 3600 40 0200 0000", (54, 2)),
        ] as [(String, String?, (Int, Int))] {
            var script = ControllerScript.rich
            script.answers["0220"] = own
            script.answers["0510"] = shared
            var rig = try HostRig(script)
            rig.host.start(at: rig.now)
            let commands = rig.answerCommands()
            #expect(commands.contains { $0.hasPrefix("010510") } == (shared != nil), "\(own)")
            for case .ready(let capabilities) in rig.events() {
                #expect((capabilities.aclDataLength, capabilities.aclPacketCount) == expected, "\(own)")
            }
            #expect(rig.host.isReady, "\(own)")
        }
    }

    @Test("A controller is not asked for what it cannot tell")
    func unneededSteps() throws {
        // Of Core 4.0 with extended advertising in its features: no command for it.
        var script = ControllerScript.minimal
        script.answers["0320"] = "00 2110000000000000"
        var rig = try HostRig(script)
        rig.host.start(at: rig.now)
        let opcodes = rig.answerCommands().map { String($0.dropFirst(2).prefix(4)) }
        #expect(rig.host.isReady)
        // Maximum data length, suggested data length, advertising data length, number of sets.
        for opcode in ["2f20", "2420", "3a20", "3b20"] { #expect(!opcodes.contains(opcode), "\(opcode)") }
        var other = try HostRig(.rich)
        other.host.start(at: other.now)
        let all = other.answerCommands().map { String($0.dropFirst(2).prefix(4)) }
        for opcode in ["2f20", "2420", "3a20", "3b20"] { #expect(all.contains(opcode), "\(opcode)") }
    }
}
