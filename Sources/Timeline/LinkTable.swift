import BluetoothHCI
import BluetoothHost
import ByteCoding
import PebbleProtocol

/// Something that was found on a link.
struct LinkFinding: Sendable {
    var lane: Timeline.Lane
    var size: Int
    var kind: String
    var label: String
    var details: [String]
    var isProblem = false
}

/// The links of a capture, numbered in the order of their beginning, and what is known of their peers.
struct LinkTable: Sendable {
    private struct Link {
        let number: Int
        let peer: String
        var l2cap = LinkDissector()
        var att: ATTDissector
    }

    /// How many peers' attributes are kept.
    private static let peerLimit = 64

    private var open: [ConnectionHandle: Link] = [:]
    /// The attributes of each peer, and under "" those of the host itself: a phone that knows them does not look again.
    private var attributes: [String: [AttributeHandle: BluetoothUUID]] = [:]
    private(set) var count = 0
    private(set) var notes: [String] = []

    /// A link has begun.
    mutating func begin(_ handle: ConnectionHandle, peer: String) -> Int {
        end(handle)
        count += 1
        var att = ATTDissector()
        att.own = attributes[""] ?? [:]
        att.peers = attributes[peer] ?? [:]
        open[handle] = Link(number: count, peer: peer, att: att)
        return count
    }

    /// The link of a handle; one that the capture does not see begin begins now.
    mutating func link(of handle: ConnectionHandle, at now: Int64, _ air: inout AirTimeline) -> Int {
        if let link = open[handle] { return link.number }
        let number = begin(handle, peer: "")
        air.linkBegan(number, peer: "a peer of before the capture", interval: "", at: now, [])
        notes.append("Link \(number) began before the capture: what is known of it is what passed since.")
        return number
    }

    func number(of handle: ConnectionHandle) -> Int? { open[handle]?.number }

    /// A link has ended.
    @discardableResult
    mutating func end(_ handle: ConnectionHandle) -> Int? {
        guard let link = open.removeValue(forKey: handle) else { return nil }
        attributes[""] = link.att.own
        if !link.peer.isEmpty, attributes.count < Self.peerLimit { attributes[link.peer] = link.att.peers }
        return link.number
    }

    /// What a packet has brought.
    mutating func receive(_ packet: ACLPacket, isFromHost: Bool) -> [LinkFinding] {
        guard let found = open[packet.handle]?.l2cap.receive(packet, isFromHost: isFromHost) else { return [] }
        return found.flatMap { finding -> [LinkFinding] in
            switch finding {
            case .problem(let problem):
                return [
                    LinkFinding(
                        lane: .l2cap,
                        size: packet.data.count,
                        kind: "problem",
                        label: "dropped",
                        details: Details.lines(of: problem),
                        isProblem: true
                    )
                ]
            case .pdu(let pdu): return findings(pdu, on: packet.handle, isFromHost: isFromHost)
            }
        }
    }

    private mutating func findings(
        _ pdu: DissectedPDU,
        on handle: ConnectionHandle,
        isFromHost: Bool
    ) -> [LinkFinding] {
        var frame = LinkFinding(lane: .l2cap, size: pdu.payload.count, kind: "pdu", label: "", details: [])
        var above: [LinkFinding] = []
        var shown = Details.octets(pdu.payload)
        switch pdu.content {
        case .attribute(let att, let size, let bearer):
            frame.label = bearer == 0 ? "ATT" : "ATT, bearer \(bearer)"
            above = open[handle]?.att.take(att, size: size, bearer: bearer, isFromHost: isFromHost) ?? []
        case .attributePart(let bearer): frame.label = "ATT in pieces, bearer \(bearer)"
        case .signaling(let name, _):
            frame.label = name
        case .channelRequest(let name, let spsm, let ends):
            frame.label = name
            frame.details.append("to \(spsm), from \(ends.map { "\($0)" }.joined(separator: ", "))")
        case .security(let name, let hasKey):
            frame.label = name
            if hasKey { shown = "<\(pdu.payload.count - 1) secret bytes>" }
        case .other: frame.label = "K-frame"
        case .malformed(let error):
            frame.label = "malformed"
            frame.isProblem = true
            frame.details.append("cannot be decoded: \(error)")
        }
        let channel =
            switch pdu.channel {
            case .attribute: "ATT"
            case .signaling: "signaling"
            case .securityManager: "Security Manager"
            default: "\(pdu.channel)"
            }
        frame.details.insert("L2CAP: \(frame.label), \(pdu.payload.count) bytes on channel \(channel)", at: 0)
        frame.details.append(shown)
        return [frame] + above
    }
}
