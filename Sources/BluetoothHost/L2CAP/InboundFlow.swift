import ByteCoding

/// The receiving half of a channel: K-frames become SDUs, and credits are given back as these are read.
///
/// Source: Core 5.4, Vol 3, Part A, 3.4 and 10.1.
struct InboundFlow: Sendable {
    /// The octets before the first K-frame's share of an SDU: its length.
    static let sduLengthSize = 2
    /// The most credits there can be.
    static let maximumCredits = Int(UInt16.max)

    private(set) var mtu: Int
    private(set) var mps: Int
    /// What has come in. The owner reads it.
    var data: ReceivedData
    /// How many K-frames the peer may still send.
    private(set) var credits: Int
    /// The least that there is room for, if the MTU and the MPS need no more.
    private let receiveLimit: Int
    /// What the MTU and the MPS come to. It is kept, since it is asked for with every frame of the link.
    private var room: Room

    /// The room that a channel has for what has not been read.
    private struct Room {
        /// How much there is of it, in bytes.
        let limit: Int
        /// How much of it the K-frame may take that a credit allows.
        let creditCost: Int
        /// How many K-frames it is enough for.
        let window: Int

        /// An SDU that is read as a whole must fit, with a K-frame more than it needs, since the peer may send shorter ones.
        init(_ face: ChannelFace, receiveLimit: Int, mtu: Int, mps: Int) {
            let sduCost = face == .sdus ? ReceivedData.sduCost : 0
            creditCost = max(1, mps) + sduCost
            limit = max(receiveLimit, (face == .sdus ? mtu + sduCost : 0) + 2 * creditCost)
            window = min(limit / creditCost, InboundFlow.maximumCredits)
        }
    }

    /// - Parameter credits: how many the peer has been given to begin with.
    init(_ parameters: ChannelParameters, mtu: Int, mps: Int, credits: Int) {
        self.mtu = mtu
        self.mps = mps
        self.credits = credits
        data = ReceivedData(face: parameters.face)
        receiveLimit = parameters.receiveLimit
        room = Room(parameters.face, receiveLimit: receiveLimit, mtu: mtu, mps: mps)
    }

    /// How many credits a channel begins with: as many as there is room for.
    static func initialCredits(_ parameters: ChannelParameters, mtu: Int, mps: Int) -> UInt16 {
        let room = Room(parameters.face, receiveLimit: parameters.receiveLimit, mtu: mtu, mps: mps)
        return UInt16(clamping: room.window)
    }

    /// How much room there is beyond what the peer has credits for.
    private var freeRoom: Int { room.limit - data.cost - credits * room.creditCost }

    /// Whether there are credits to give: half a window at once, or any if the peer has no more than a quarter left.
    var hasGrant: Bool {
        let least = credits <= room.window / 4 ? 1 : max(1, room.window / 2)
        return freeRoom >= least * room.creditCost && Self.maximumCredits - credits >= least
    }

    /// Takes the credits that should be given now: not each alone, as that costs a command, but early enough that the
    /// peer never waits for them while the reader keeps up.
    /// - Returns: how many; nil if there is no need.
    mutating func takeGrant() -> UInt16? {
        guard hasGrant else { return nil }
        let grant = min(freeRoom / room.creditCost, Self.maximumCredits - credits)
        credits += grant
        return UInt16(clamping: grant)
    }

    /// Takes the payload of a K-frame: what follows the first `offset` octets.
    /// - Returns: whether there is something to read where there was nothing.
    mutating func receive(_ bytes: ArraySlice<UInt8>, from offset: Int = 0) throws(ChannelViolation) -> Bool {
        guard credits > 0 else { throw .noCredit }
        credits -= 1
        let count = bytes.count - offset
        guard count <= mps else { throw .mpsExceeded(count) }
        let wasReadable = data.isReadable
        if data.missing > 0 {
            guard count > 0 else { throw .frameTooShort(0) }
            try append(bytes, from: offset)
        } else {
            guard let field = bytes.littleEndian(at: offset, as: UInt16.self) else { throw .frameTooShort(count) }
            let length = Int(field)
            guard length <= mtu else { throw .mtuExceeded(length) }
            data.begin(length: length)
            try append(bytes, from: offset + Self.sduLengthSize)
        }
        return !wasReadable && data.isReadable
    }

    private mutating func append(_ bytes: ArraySlice<UInt8>, from offset: Int) throws(ChannelViolation) {
        let count = bytes.count - offset
        guard count <= data.missing else { throw .sduOverrun(by: count - data.missing) }
        data.append(bytes.dropFirst(offset))
    }

    /// The peer knows the new MTU and MPS.
    mutating func reconfigure(mtu: Int, mps: Int) {
        self.mtu = mtu
        self.mps = mps
        room = Room(data.face, receiveLimit: receiveLimit, mtu: mtu, mps: mps)
    }
}
