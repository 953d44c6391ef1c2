import BluetoothHCI
import ByteCoding
import Testing

@testable import BluetoothHost

@Suite("L2CAP signaling")
struct SignalingTests {
    static let parameters = SignalingPDU.Command.connectionParameterUpdateRequest(
        intervalMinimum: ConnectionInterval(rawValue: 0x18),
        intervalMaximum: ConnectionInterval(rawValue: 0x24),
        latency: 3,
        supervisionTimeout: SupervisionTimeout(rawValue: 0x258)
    )

    static let samples: [(SignalingPDU.Command, String)] = [
        (.reject(.commandNotUnderstood), "01 07 0200 0000"),
        (.reject(.signalingMTUExceeded(mtu: 23)), "01 07 0400 0100 1700"),
        (
            .reject(.invalidChannel(local: ChannelID(rawValue: 0x40), remote: ChannelID(rawValue: 0x41))),
            "01 07 0600 0200 4000 4100"
        ),
        (
            .disconnectionRequest(destination: ChannelID(rawValue: 0x40), source: ChannelID(rawValue: 0x41)),
            "06 07 0400 4000 4100"
        ),
        (
            .disconnectionResponse(destination: ChannelID(rawValue: 0x40), source: ChannelID(rawValue: 0x41)),
            "07 07 0400 4000 4100"
        ),
        (parameters, "12 07 0800 1800 2400 0300 5802"),
        (.connectionParameterUpdateResponse(isAccepted: true), "13 07 0200 0000"),
        (.connectionParameterUpdateResponse(isAccepted: false), "13 07 0200 0100"),
        (
            .creditBased(.connectionRequest(SPSM(rawValue: 0x85), source: ChannelID(rawValue: 0x41), terms)),
            "14 07 0a00 8500 4100 0002 f700 0300"
        ),
        (
            .creditBased(.connectionResponse(destination: ChannelID(rawValue: 0x42), terms, .insufficientEncryption)),
            "15 07 0a00 4200 0002 f700 0300 0800"
        ),
        (.creditBased(.flowControlCredit(ChannelID(rawValue: 0x40), credits: 0x102)), "16 07 0400 4000 0201"),
        (.creditBased(.reconfigureResponse(.mpsReduced)), "1a 07 0200 0200"),
        (.unknown(code: 0x0A), "0a 07 0000"),
    ]

    static let terms = ChannelTerms(mtu: 0x200, mps: 0xF7, credits: 3)

    /// Commands with a list of channels, which can end anywhere between two of them.
    static let lists: [(SignalingPDU.Command, String)] = [
        (
            .creditBased(
                .enhancedConnectionRequest(SPSM(rawValue: 0x85), terms, sources: [0x40, 0x7F].map(ChannelID.init))
            ),
            "17 07 0c00 8500 0002 f700 0300 4000 7f00"
        ),
        (
            .creditBased(
                .enhancedConnectionResponse(terms, .noResources, destinations: [0x50, 0].map(ChannelID.init))
            ),
            "18 07 0c00 0002 f700 0300 0400 5000 0000"
        ),
        (
            .creditBased(.reconfigureRequest(mtu: 0x200, mps: 0xF7, [ChannelID(rawValue: 0x41)])),
            "19 07 0600 0002 f700 4100"
        ),
    ]

    @Test("Commands with lists of channels: the Core's bytes, and back", arguments: lists.indices)
    func listCodec(_ index: Int) throws {
        let (command, text) = Self.lists[index]
        let bytes = try #require([UInt8](hexadecimal: text))
        var encoded: [UInt8] = []
        SignalingPDU(identifier: 7, command: command).encode(to: &encoded)
        #expect(encoded.hexadecimal == bytes.hexadecimal)
        #expect(try SignalingPDU(decoding: bytes[...]).command == command)
        // Half a channel.
        var odd = bytes + [0]
        odd[2] += 1
        #expect(throws: ByteDecodingError.self) { try SignalingPDU(decoding: odd[...]) }
    }

    @Test("Every command: the Core's bytes, back, and cut short", arguments: samples.indices)
    func codec(_ index: Int) throws {
        let (command, text) = Self.samples[index]
        let bytes = try #require([UInt8](hexadecimal: text))
        var encoded: [UInt8] = []
        SignalingPDU(identifier: 7, command: command).encode(to: &encoded)
        #expect(encoded.hexadecimal == bytes.hexadecimal)
        #expect(try SignalingPDU(decoding: bytes[...]).command == command)
        for count in 0..<bytes.count {
            #expect(throws: ByteDecodingError.self) { try SignalingPDU(decoding: bytes.prefix(count)) }
        }
        #expect(throws: ByteDecodingError.self) { try SignalingPDU(decoding: bytes[...] + [0]) }
    }

    /// What a channel answers, and whether it complained.
    func answers(_ role: ConnectionRole, _ text: String) throws -> (answers: [String], isProblem: Bool) {
        var channel = SignalingChannel()
        let input = channel.receive(try #require([UInt8](hexadecimal: text))[...], role: role)
        var answers: [String] = []
        var buffer: [UInt8] = []
        while channel.nextPDU(into: &buffer) { answers.append(buffer.hexadecimal) }
        if case .handled(let problem) = input { return (answers, problem != nil) }
        return (answers, false)
    }

    @Test(
        "What is wrong is rejected for the right reason, and responses never",
        arguments: [
            // Unknown: not understood.
            ("0a 05 0000", "01 05 0200 0000"),
            ("08 05 0100 aa", "01 05 0200 0000"),
            // The central asks as if it were the peripheral: not understood.
            ("12 05 0800 1800 2400 0300 5802", "01 05 0200 0000"),
            // Lengths that lie, or parameters of the wrong size: not understood.
            ("12 05 0900 1800 2400 0300 5802", "01 05 0200 0000"),
            ("12 05 0700 1800 2400 0300 58", "01 05 0200 0000"),
            ("06 05", "01 05 0200 0000"),
            // 24 octets: the MTU is 23.
            ("12 05 1400 0000000000000000000000000000000000000000", "01 05 0400 0100 1700"),
            // Nothing to answer to: no identifier, or none that is allowed.
            ("", ""), ("12", ""), ("12 00 0800 1800 2400 0300 5802", ""),
            // Responses, right and wrong.
            ("13 05 0200 0000", ""), ("13 05 0200 0200", ""), ("13 05 0300 000000", ""), ("01 05 0200 0000", ""),
            ("01 05 0200 0900", ""), ("15 05", ""), ("18 05 0300 000000", ""), ("1a 05 0100 00", ""),
            // Credits and requests that are cut short: not understood.
            ("16 05 0200 4000", "01 05 0200 0000"), ("14 05 0800 8000400017001700", "01 05 0200 0000"),
        ]
    )
    func rejections(_ text: String, _ answer: String) throws {
        let (answers, isProblem) = try answers(.peripheral, text)
        #expect(answers == (answer.isEmpty ? [] : [answer.filter { $0 != " " }]))
        #expect(isProblem)
    }

    /// Bumble reads these as rejections, too: whatever a rejection says, nothing else answers the request.
    @Test(
        "A rejection ends its request, whatever its reason and its data are",
        arguments: ["0200 0000", "0200 0300", "0400 0000 4040", "0400 0200 4000", "0300 0100 17", "0000", "0900 0000"]
    )
    func rejectionsOfAnyReason(_ rest: String) throws {
        var channel = SignalingChannel()
        let identifier = channel.request(
            .disconnectionRequest(destination: ChannelID(rawValue: 0x40), source: ChannelID(rawValue: 0x41))
        )
        let pdu = try #require([UInt8](hexadecimal: "01 01 " + rest))
        guard case .rejected(_, identifier: identifier) = channel.receive(pdu[...], role: .peripheral) else {
            Issue.record("\(rest) was passed over")
            return
        }
    }

    @Test("Only 64 answers wait for a peer that does not listen")
    func bounded() throws {
        var channel = SignalingChannel()
        let request = try #require([UInt8](hexadecimal: "0a 05 0000"))
        for _ in 0..<100 { _ = channel.receive(request[...], role: .central) }
        var count = 0
        var buffer: [UInt8] = []
        while channel.nextPDU(into: &buffer) { count += 1 }
        #expect(count == 64)
    }

    @Test("An identifier of a pending request is passed over")
    func openIdentifiers() throws {
        var channel = SignalingChannel()
        let request = SignalingPDU.Command.disconnectionRequest(
            destination: ChannelID(rawValue: 0x40),
            source: ChannelID(rawValue: 0x41)
        )
        let first = channel.request(request)
        #expect(first == 1)
        var buffer: [UInt8] = []
        var seen: [UInt8] = []
        for _ in 0..<300 {
            channel.encodeCredits(1, for: ChannelID(rawValue: 0x40), into: &buffer)
            seen.append(buffer.dropFirst().first ?? 0)
        }
        #expect(!seen.contains(1) && !seen.contains(0) && seen.prefix(255).last == 2)
        channel.settle(first)
        for _ in 0..<255 {
            channel.encodeCredits(1, for: ChannelID(rawValue: 0x40), into: &buffer)
            seen.append(buffer.dropFirst().first ?? 0)
        }
        #expect(seen.contains(1))
    }

    @Test("Identifiers go from 1 to 255 and never are 0")
    func identifiers() {
        var channel = SignalingChannel()
        var seen: [UInt8] = []
        var buffer: [UInt8] = []
        for _ in 0..<300 {
            channel.requestUpdate(
                ConnectionParameters(
                    intervalMinimum: ConnectionInterval(rawValue: 6),
                    intervalMaximum: ConnectionInterval(rawValue: 6),
                    latency: 0,
                    supervisionTimeout: SupervisionTimeout(rawValue: 100)
                ),
                at: .zero
            )
            while channel.nextPDU(into: &buffer) { seen.append(buffer.dropFirst().first ?? 0) }
        }
        #expect(seen.prefix(255) == Array(1...255)[...] && seen.dropFirst(255).first == 1)
    }
}
