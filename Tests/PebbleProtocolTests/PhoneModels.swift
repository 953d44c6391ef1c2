import PebbleProtocol

/// What a companion does with the transport, written from the description of its habits and sharing nothing with
/// `PPoGATTLink`: packets are built and read byte by byte.
protocol PhoneModel {
    /// Takes a packet from the watch; answers at once or later.
    mutating func receive(_ packet: [UInt8], at now: Duration)
    /// The packets that it sends now.
    mutating func packets(at now: Duration) -> [[UInt8]]
    /// What it has received of the stream.
    var received: [UInt8] { get }
}

/// libpebble3: windows of 25, an Ack for each packet, and exceptions that tear the connection down.
struct LibPebble3Model: PhoneModel {
    private enum State { case waitingForRequest, waitingForComplete, open }

    private var state = State.waitingForRequest
    private var outbox: [[UInt8]] = []
    private var unsent: [[UInt8]]
    private var inFlight: [[UInt8]] = []
    private var nextNumber: UInt8 = 0
    private var expectedNumber: UInt8 = 0
    private var lastAcknowledgement: UInt8?
    private var window = 0
    private var lastProgress: Duration = .zero
    private var retries = 0
    private(set) var received: [UInt8] = []
    private(set) var exception: String?
    /// Acks that made it send its whole window again, which a watch must never cause.
    private(set) var repeatedAcknowledgements = 0

    init(stream: [UInt8], attMTU: Int) {
        unsent = stride(from: 0, to: stream.count, by: attMTU - 4).map {
            Array(stream[$0..<min($0 + attMTU - 4, stream.count)])
        }
    }

    var hasSentEverything: Bool { unsent.isEmpty && inFlight.isEmpty }

    mutating func receive(_ packet: [UInt8], at now: Duration) {
        let number = packet[0] >> 3
        switch (packet[0] & 7, state) {
        case (2, .waitingForRequest) where packet.count > 1 && packet[1] <= 1:
            outbox.append([0x03, 25, 25])
            state = .waitingForComplete
        case (3, .waitingForComplete):
            window = min(Int(packet[1]), 25)
            state = .open
            lastProgress = now
        case (2, _), (3, _):
            exception = "reset packet \(packet) in state \(state)"
        case (0, .open):
            if number == expectedNumber {
                received += packet.dropFirst()
                expectedNumber = (expectedNumber + 1) % 32
                lastAcknowledgement = number << 3 | 1
            }
            if let lastAcknowledgement { outbox.append([lastAcknowledgement]) }
        case (1, .open):
            lastProgress = now
            retries = 0
            if let index = inFlight.firstIndex(where: { $0[0] >> 3 == number }) {
                inFlight.removeFirst(index + 1)
            } else if number == (nextNumber + 32 - UInt8(inFlight.count) - 1) % 32 {
                repeatedAcknowledgements += 1
                outbox += inFlight
            } else {
                exception = "Ack of \(number), which is not in flight"
            }
        default: exception = "packet \(packet) in state \(state)"
        }
    }

    mutating func packets(at now: Duration) -> [[UInt8]] {
        if state == .open, !inFlight.isEmpty, now - lastProgress >= .seconds(10) {
            retries += 1
            if retries > 2 { exception = "no progress" }
            lastProgress = now
            outbox += inFlight
        }
        while state == .open, inFlight.count < window, !unsent.isEmpty {
            if inFlight.isEmpty { lastProgress = now }
            let packet = [nextNumber << 3] + unsent.removeFirst()
            nextNumber = (nextNumber + 1) % 32
            inFlight.append(packet)
            outbox.append(packet)
        }
        defer { outbox = [] }
        return outbox
    }
}

/// Gadgetbridge: acknowledges every packet, in any order, late; passes it all on; knows no windows and never sends
/// again; answers a reset but keeps counting.
struct GadgetbridgeModel: PhoneModel {
    private var unsent: [UInt8]
    private var outbox: [(time: Duration, packet: [UInt8])] = []
    private var nextNumber: UInt8 = 0
    private var isSending = false
    private let acknowledgementDelay: Duration
    private(set) var received: [UInt8] = []
    private(set) var resetRequests = 0

    /// Until it learns the MTU it sends 16 bytes at a time.
    private static let chunkLength = 16

    init(stream: [UInt8], acknowledgementDelay: Duration) {
        unsent = stream
        self.acknowledgementDelay = acknowledgementDelay
    }

    var hasSentEverything: Bool { unsent.isEmpty }

    mutating func receive(_ packet: [UInt8], at now: Duration) {
        switch packet[0] & 7 {
        case 0:
            received += packet.dropFirst()
            outbox.append((now + acknowledgementDelay, [packet[0] | 1]))
        case 2 where packet.count > 1:
            resetRequests += 1
            outbox.append((now, [0x03, 25, 25]))
            isSending = true
        case 2:
            outbox.append((now, [0x03]))
        default: break
        }
    }

    mutating func packets(at now: Duration) -> [[UInt8]] {
        var packets: [[UInt8]] = []
        while let first = outbox.first, first.time <= now {
            packets.append(first.packet)
            outbox.removeFirst()
        }
        // As many as Android takes at once.
        for _ in 0..<40 where isSending && !unsent.isEmpty {
            packets.append([nextNumber << 3] + unsent.prefix(Self.chunkLength))
            nextNumber = (nextNumber + 1) % 32
            unsent.removeFirst(min(Self.chunkLength, unsent.count))
        }
        return packets
    }
}
