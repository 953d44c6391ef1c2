import ByteCoding
import PebbleProtocol

/// One direction of a PPoGATT session: its packets, and the messages that they carry.
package struct PPoGATTStream: Sendable {
    /// Whether the capture has seen it from its beginning: only then it is known where messages begin.
    private let isWhole: Bool
    private var expected = PPoGATTSequenceNumber.zero
    private var deframer = MessageDeframer()

    init(isWhole: Bool) { self.isWhole = isWhole }

    /// Takes the next packet.
    mutating func take(_ packet: PPoGATTPacket, size: Int, isFromWatch: Bool) -> [LinkFinding] {
        switch packet {
        case .data(let number, let payload):
            var found = finding("data \(number)", "Data \(number), \(payload.count) bytes", size)
            guard isWhole else {
                found.details.append("the session began before the capture: its messages are not decoded")
                return [found]
            }
            guard number == expected else {
                let isAgain = expected.distance(to: number) > PPoGATTSequenceNumber.modulus / 2
                found.kind = isAgain ? "again" : "early"
                found.label += isAgain ? " again" : " early"
                found.details.append(isAgain ? "sent before already" : "\(expected) was expected")
                return [found]
            }
            expected = expected.next
            return [found] + messages(in: payload, isFromWatch: isFromWatch)
        case .acknowledgement(let number):
            return [finding("ack \(number)", "Acknowledgement of all up to \(number)", size)]
        case .resetRequest(let request):
            let version = request.version.map { ", version \($0.rawValue)" } ?? ""
            let serial = request.serialNumber.map { ", serial number \($0)" } ?? ""
            return [finding("reset", "Reset Request\(version)\(serial)", size)]
        case .resetComplete(let windows):
            let text = windows.map { ", receives \($0.receive) packets at once, sends \($0.transmit)" } ?? ""
            return [finding("reset complete", "Reset Complete\(text)", size)]
        }
    }

    private func finding(_ label: String, _ text: String, _ size: Int) -> LinkFinding {
        LinkFinding(
            lane: .ppogatt,
            size: size,
            kind: String(label.prefix { $0 != " " }),
            label: label,
            details: ["PPoGATT: \(text)"]
        )
    }

    private mutating func messages(in payload: ArraySlice<UInt8>, isFromWatch: Bool) -> [LinkFinding] {
        var rest = payload
        var findings: [LinkFinding] = []
        while let item = deframer.next(from: &rest) {
            switch item {
            case .message(let message): findings.append(Self.describe(message, isFromWatch: isFromWatch))
            case .skipped: break
            }
        }
        return findings
    }

    /// What a message says, in words: its name, and its fields; nil for one that has none, or cannot be decoded.
    package static func words(of message: PebbleMessage, isFromWatch: Bool) -> String? {
        let finding = describe(message, isFromWatch: isFromWatch)
        guard !finding.isProblem else { return nil }
        // The first line says how long it is, and the last has its bytes.
        let fields = finding.details.dropFirst().dropLast()
        guard finding.label != finding.kind || !fields.isEmpty else { return nil }
        return ([finding.label] + fields).joined(separator: ", ")
    }

    /// A message as a finding.
    static func describe(_ message: PebbleMessage, isFromWatch: Bool) -> LinkFinding {
        let name = message.endpoint.definition?.name ?? "\(message.endpoint)"
        var finding = LinkFinding(
            lane: .pebble,
            size: message.payload.count,
            kind: name,
            label: name,
            details: ["\(message.endpoint), \(message.payload.count) bytes"]
        )
        do throws(ByteDecodingError) {
            if message.endpoint == .appMessage {
                try describe(try AppMessage(payload: message.payload), in: &finding)
            } else if let (kind, lines) = try Details.message(message, isFromWatch: isFromWatch) {
                if !kind.isEmpty { finding.label += ": \(kind)" }
                finding.details += lines
            }
        } catch {
            finding.isProblem = true
            finding.details.append("cannot be decoded: \(error)")
        }
        finding.details.append(Details.octets(message.payload))
        return finding
    }

    private static func describe(_ message: AppMessage, in finding: inout LinkFinding) throws(ByteDecodingError) {
        switch message {
        case .push(let push):
            let tuples = try push.dictionary.checkedTuples()
            finding.label = "AppMessage \(push.transaction): \(push.dictionary)"
            finding.details.append("transaction \(push.transaction) of app \(push.application)")
            finding.details += tuples.prefix(16).map { "\($0.key) = \($0.value)" }
        case .request(let transaction): finding.label = "AppMessage \(transaction): request"
        case .acknowledgement(let transaction): finding.label = "AppMessage \(transaction): ACK"
        case .negativeAcknowledgement(let transaction): finding.label = "AppMessage \(transaction): NACK"
        }
        if finding.details.count == 1 { finding.details.append(finding.label) }
    }
}
