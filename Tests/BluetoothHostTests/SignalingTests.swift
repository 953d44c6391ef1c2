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
        (.creditBased(.flowControlCredit, [0x40, 0, 1, 0]), "16 07 0400 4000 0100"),
        (.unknown(code: 0x0A), "0a 07 0000"),
    ]

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
            // A channel that does not exist.
            ("06 05 0400 4000 4100", "01 05 0600 0200 4000 4100"),
            // Nothing to answer to: no identifier, or none that is allowed.
            ("", ""), ("12", ""), ("12 00 0800 1800 2400 0300 5802", ""),
            // Responses, right and wrong.
            ("13 05 0200 0000", ""), ("13 05 0200 0200", ""), ("13 05 0300 000000", ""), ("01 05 0200 0000", ""),
            ("01 05 0200 0900", ""), ("07 05 0400 4000 4100", ""), ("15 05", ""),
        ]
    )
    func rejections(_ text: String, _ answer: String) throws {
        let (answers, isProblem) = try answers(.peripheral, text)
        #expect(answers == (answer.isEmpty ? [] : [answer.filter { $0 != " " }]))
        #expect(isProblem)
    }

    @Test("Only 16 answers wait for a peer that does not listen")
    func bounded() throws {
        var channel = SignalingChannel()
        let request = try #require([UInt8](hexadecimal: "0a 05 0000"))
        for _ in 0..<100 { _ = channel.receive(request[...], role: .central) }
        var count = 0
        var buffer: [UInt8] = []
        while channel.nextPDU(into: &buffer) { count += 1 }
        #expect(count == 16)
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
