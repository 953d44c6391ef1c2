import FoundationEssentials

/// An HCI packet, for a program that wants them all: `packet` of a line of its own.
package struct ControlPacket: ControlObject {
    /// Which way a packet went.
    package enum Direction: String, Sendable {
        /// From the host to the controller.
        case sent
        /// From the controller to the host.
        case received
    }

    package var at = 0.0
    package var direction = Direction.sent
    package var data: [UInt8] = []

    package static var blank: Self { Self() }
    package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
        try fields.packetTime(&at)
        try fields.required(
            "direction",
            &direction,
            .one(of: ["sent": .sent, "received": .received]),
            "sent by the watch's host to its controller, or received from it"
        )
        try fields.required("data", &data, .bytes, "the packet with its H4 type in front, in hexadecimal")
    }

    /// The packet that passed at a reading of the watch's clock.
    package init(_ data: [UInt8], _ direction: Direction, at now: Duration) {
        at = now.inMicroseconds
        self.direction = direction
        self.data = data
    }

    init() {}

    /// The packet as a line.
    package var line: [UInt8] { JSONLine.bytes(["packet": values]) }
}

/// Packets that a program did not take in time.
package struct ControlLostPackets: ControlObject {
    package var at = 0.0
    package var lost = 0

    package static var blank: Self { Self() }
    package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
        try fields.packetTime(&at)
        try fields.required(
            "lost",
            &lost,
            .count,
            "how many packets were lost before this, because they were not read in time"
        )
    }

    var line: [UInt8] { JSONLine.bytes(["packet": values]) }
}

extension FieldVisitor {
    fileprivate mutating func packetTime(_ at: inout Double) throws(Failure) {
        try required("at", &at, .amount.in(.seconds), "when: since the watch was started, with microseconds")
    }
}

/// A line about packets, as a program reads it.
package enum ControlPacketLine: Sendable, Equatable {
    case packet(ControlPacket)
    case lost(ControlLostPackets)

    private struct Line<Content: Decodable>: Decodable {
        let packet: Content
    }

    /// Reads a line; nil if it is about no packet.
    package init?(parsing line: some Sequence<UInt8>) {
        let data = Data(line)
        if let line = try? JSONDecoder().decode(Line<ControlPacket>.self, from: data) {
            self = .packet(line.packet)
        } else if let line = try? JSONDecoder().decode(Line<ControlLostPackets>.self, from: data) {
            self = .lost(line.packet)
        } else {
            return nil
        }
    }
}

extension Duration {
    /// In seconds, with microseconds.
    fileprivate var inMicroseconds: Double { (self / .microseconds(1)).rounded() / 1_000_000 }
}
