import BluetoothHCI
import BluetoothHost

/// Which way something goes at the HCI boundary.
enum FaultDirection: Hashable, Sendable {
    /// From the controller to the host: the phone said it.
    case fromPhone
    /// From the host to the controller: the watch says it.
    case toPhone

    /// Whether a fault with the parameter `direction` is about this way.
    func matches(_ fault: Fault) -> Bool {
        switch fault.word(.direction) {
        case "from-phone": self == .fromPhone
        case "to-phone": self == .toPhone
        case .some, nil: true
        }
    }
}

/// An L2CAP PDU: its channel, and its payload.
struct FaultPDU: Hashable, Sendable {
    var channel: ChannelID
    var payload: [UInt8]

    /// The payload's octet at a place; nil behind its end.
    subscript(index: Int) -> UInt8? { payload.indices.contains(index) ? payload[index] : nil }

    /// Two octets, least significant first; nil behind the end.
    func word(at index: Int) -> UInt16? {
        guard let low = self[index], let high = self[index + 1] else { return nil }
        return UInt16(low) | UInt16(high) << 8
    }

    /// Writes two octets, least significant first, if there is room.
    mutating func setWord(_ word: UInt16, at index: Int) {
        guard payload.indices.contains(index + 1) else { return }
        payload[index] = UInt8(truncatingIfNeeded: word)
        payload[index + 1] = UInt8(truncatingIfNeeded: word >> 8)
    }

    /// Turns a bit of an octet over; of the last one if it is not so long.
    mutating func flip(_ index: Int) {
        guard !payload.isEmpty else { return }
        payload[min(index, payload.count - 1)] ^= 0x01
    }

    /// Length (2), channel (2), payload.
    var bytes: [UInt8] {
        let count = UInt16(clamping: payload.count)
        let id = channel.rawValue
        return [
            UInt8(truncatingIfNeeded: count), UInt8(truncatingIfNeeded: count >> 8), UInt8(truncatingIfNeeded: id),
            UInt8(truncatingIfNeeded: id >> 8),
        ] + payload
    }

    static let headerSize = 4

    /// A PDU of the Attribute Protocol.
    static func att(_ payload: [UInt8]) -> Self { Self(channel: .attribute, payload: payload) }

    /// A PDU of the Security Manager.
    static func smp(_ payload: [UInt8]) -> Self { Self(channel: .securityManager, payload: payload) }

    /// A signaling PDU: code, identifier, and data, whose length is put in front of them.
    static func signaling(_ code: UInt8, _ identifier: UInt8, _ words: [UInt16]) -> Self {
        let data = words.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8(truncatingIfNeeded: $0 >> 8)] }
        return Self(channel: .signaling, payload: [code, identifier, UInt8(data.count), 0] + data)
    }
}

/// Puts PDUs together from the data of ACL packets.
struct FaultRecombiner: Sendable {
    private var bytes: [UInt8] = []
    private(set) var fragmentCount = 0
    /// The most data that a packet brought: the controller's buffers hold that.
    private(set) var fragmentSize = 27

    /// Whether a PDU has begun.
    var hasBegun: Bool { !bytes.isEmpty }

    /// What becomes of an ACL packet.
    enum Outcome {
        /// It ends a PDU.
        case whole(FaultPDU)
        /// It belongs to a PDU that is not whole yet.
        case part
        /// It continues a PDU whose beginning was not seen, or is damaged: it goes on as it is.
        case foreign
    }

    mutating func take(_ packet: ACLPacket) -> Outcome {
        if packet.boundary != .continuing {
            bytes = []
            fragmentCount = 0
        } else if bytes.isEmpty {
            return .foreign
        }
        bytes.append(contentsOf: packet.data)
        fragmentCount += 1
        fragmentSize = max(fragmentSize, packet.data.count)
        guard bytes.count >= FaultPDU.headerSize else { return .part }
        let count = Int(bytes[0]) | Int(bytes[1]) << 8
        let end = FaultPDU.headerSize + count
        guard bytes.count >= end else { return .part }
        let channel = ChannelID(rawValue: UInt16(bytes[2]) | UInt16(bytes[3]) << 8)
        // What follows the end of a PDU is damage, which is not repaired here.
        let pdu = FaultPDU(channel: channel, payload: Array(bytes[FaultPDU.headerSize..<end]))
        bytes = []
        return .whole(pdu)
    }
}

/// What the line keeps of a link.
struct FaultLink: Sendable {
    /// What is to become of the answer to the phone's request.
    enum Answer: Sendable {
        case late(RunningFault, Duration)
        case never(RunningFault)
        case twice(RunningFault)
        case wrongHash(RunningFault)
    }

    /// The two ends of a credit-based channel.
    struct Channel: Sendable {
        let watch: ChannelID
        let phone: ChannelID
    }

    let handle: ConnectionHandle
    let phone: DeviceAddress
    var fromPhone = FaultRecombiner()
    var toPhone = FaultRecombiner()
    /// For each ACL packet that the controller has and has not completed, in order: how many the host is told of then.
    var inFlight: [Int] = []
    /// How many completed packets the host has not been told of, since the controller has no buffers.
    var withheld = 0
    /// What is to become of the answer that the watch gives next.
    var answer: Answer?
    /// How many confirmations of the phone's were anticipated.
    var anticipatedConfirmations = 0
    /// A pairing of which the phone hears nothing more.
    var isPairingMute = false
    /// Channels whose request was seen: identifier and the requester's end, until the answer comes.
    var asked: [(identifier: UInt8, isWatch: Bool, ends: [ChannelID])] = []
    var channels: [Channel] = []
    /// The identifiers of requests that were invented in the watch's name; the phone's answers go nowhere.
    var inventedRequests: [UInt8] = []
    /// The identifiers of requests that were invented in the phone's name; the watch's answers go nowhere.
    var inventedAnswers: [UInt8] = []
}
