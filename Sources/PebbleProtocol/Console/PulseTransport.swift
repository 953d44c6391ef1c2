import ByteCoding
import DequeModule

/// The reliable transport of PULSEv2, TRAIN: datagrams for numbered ports, whole and in order, one on its way at a time.
///
/// It is LAPB (ITU-T X.25, 2.4.5) with a window of 1 and numbers modulo 128. (PebbleOS, docs/pulse2/reliable-transport.md.)
struct PulseTransport: Sendable {
    /// A datagram.
    struct Datagram: Sendable, Equatable {
        var port: UInt16
        var information: [UInt8]
    }

    /// The port of the prompt: commands in text.
    static let promptPort: UInt16 = 0x3E20
    /// The longest datagram.
    static let longest = PulseFrame.maximumInformation - headerLength
    /// After so long without an acknowledgement a datagram is sent again (T1).
    static let retransmissionInterval: Duration = .milliseconds(200)
    /// After so many attempts the transport is taken for gone (N2).
    static let attempts = 10
    /// How many datagrams wait at most.
    private static let queueLimit = 16
    private static let headerLength = 6
    private static let modulus: UInt8 = 128
    /// The port of messages about ports.
    private static let controlPort: UInt16 = 1
    private static let portClosed: UInt8 = 129

    private var queue: Deque<Datagram> = []
    /// How often the first of the queue was sent; 0 if it was not.
    private var attempt = 0
    private var sendNumber: UInt8 = 0
    private var receiveNumber: UInt8 = 0
    private var outgoing: [PulseFrame] = []
    /// When a datagram is sent again.
    private(set) var nextDeadline: Duration?

    /// Queues a datagram; one that is too long, or for which there is no room, is not sent.
    mutating func send(_ datagram: Datagram, at now: Duration) {
        guard datagram.information.count <= Self.longest, queue.count < Self.queueLimit else { return }
        queue.append(datagram)
        if queue.count == 1 { transmit(at: now) }
    }

    /// Takes a command of the other end.
    /// - Returns: the datagram that it brings, if it is a new one.
    mutating func receive(command packet: [UInt8], at now: Duration) -> Datagram? {
        var reader = ByteReader(packet)
        guard let first = try? reader.readUInt8("train.control"), let second = try? reader.readUInt8("train.control")
        else { return nil }
        let isPoll = second & 1 == 1
        guard first & 1 == 0 else {
            acknowledge(second >> 1, at: now)
            if isPoll { respond(isFinal: true) }
            return nil
        }
        guard let port: UInt16 = try? reader.readBigEndian("train.port"),
            let length: UInt16 = try? reader.readBigEndian("train.length"),
            let information = try? reader.readBytes(max(0, Int(length) - Self.headerLength), "train.information")
        else { return nil }
        defer { respond(isFinal: isPoll) }
        guard first >> 1 == receiveNumber else { return nil }
        receiveNumber = (receiveNumber + 1) % Self.modulus
        guard port == Self.promptPort else {
            // Nothing is said of messages about ports, or there would be no end to it.
            if port != Self.controlPort {
                let answer = [Self.portClosed, UInt8(truncatingIfNeeded: port >> 8), UInt8(truncatingIfNeeded: port)]
                send(Datagram(port: Self.controlPort, information: answer), at: now)
            }
            return nil
        }
        return Datagram(port: port, information: Array(information))
    }

    /// Takes a response of the other end.
    mutating func receive(response packet: [UInt8], at now: Duration) {
        guard packet.count >= 2, packet[0] & 1 == 1 else { return }
        acknowledge(packet[1] >> 1, at: now)
    }

    /// Lets time pass.
    /// - Returns: false if the other end acknowledges nothing any more.
    mutating func advance(to now: Duration) -> Bool {
        guard let deadline = nextDeadline, deadline <= now else { return true }
        guard attempt < Self.attempts else { return false }
        transmit(at: now)
        return true
    }

    /// Takes the packets for the other end.
    mutating func takeOutgoing() -> [PulseFrame] {
        defer { outgoing = [] }
        return outgoing
    }

    private mutating func acknowledge(_ number: UInt8, at now: Duration) {
        guard attempt > 0, number == (sendNumber + 1) % Self.modulus else { return }
        sendNumber = number
        _ = queue.popFirst()
        attempt = 0
        nextDeadline = nil
        if !queue.isEmpty { transmit(at: now) }
    }

    private mutating func transmit(at now: Duration) {
        guard let datagram = queue.first else { return }
        attempt += 1
        nextDeadline = now + Self.retransmissionInterval
        // The poll bit is set in every datagram, so that each is answered.
        var packet: [UInt8] = [sendNumber << 1, receiveNumber << 1 | 1]
        packet.appendBigEndian(datagram.port)
        packet.appendBigEndian(UInt16(truncatingIfNeeded: datagram.information.count + Self.headerLength))
        outgoing.append(PulseFrame(.trainCommand, packet + datagram.information))
    }

    /// Receive Ready.
    private mutating func respond(isFinal: Bool) {
        outgoing.append(PulseFrame(.trainResponse, [1, receiveNumber << 1 | (isFinal ? 1 : 0)]))
    }
}
