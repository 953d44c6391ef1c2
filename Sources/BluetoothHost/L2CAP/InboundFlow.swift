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
    private let parameters: ChannelParameters

    /// - Parameter credits: how many the peer has been given to begin with.
    init(_ parameters: ChannelParameters, mtu: Int, mps: Int, credits: Int) {
        self.mtu = mtu
        self.mps = mps
        self.credits = credits
        self.parameters = parameters
        data = ReceivedData(face: parameters.face)
    }

    /// How many credits a channel begins with: as many as there is room for.
    static func initialCredits(_ parameters: ChannelParameters, mtu: Int, mps: Int) -> UInt16 {
        UInt16(clamping: limit(parameters, mtu: mtu, mps: mps) / creditCost(parameters, mps: mps))
    }

    /// How much room the K-frame may take that a credit allows.
    private static func creditCost(_ parameters: ChannelParameters, mps: Int) -> Int {
        max(1, mps) + (parameters.face == .sdus ? ReceivedData.sduCost : 0)
    }

    /// How much may have come in without having been read. An SDU that is read as a whole must fit, with a K-frame
    /// more than it needs, since the peer may send shorter ones.
    private static func limit(_ parameters: ChannelParameters, mtu: Int, mps: Int) -> Int {
        let least = parameters.face == .sdus ? mtu + ReceivedData.sduCost : 0
        return max(parameters.receiveLimit, least + 2 * creditCost(parameters, mps: mps))
    }

    private var limit: Int { Self.limit(parameters, mtu: mtu, mps: mps) }

    private var creditCost: Int { Self.creditCost(parameters, mps: mps) }

    /// How many K-frames there would be room for if everything were read.
    private var window: Int { min(limit / creditCost, Self.maximumCredits) }

    /// How many credits can be given.
    private var grantable: Int {
        let room = limit - data.cost - credits * creditCost
        return min(max(0, room / creditCost), Self.maximumCredits - credits)
    }

    /// Whether there are credits to give: enough at once, or the peer has few.
    var hasGrant: Bool {
        let grant = grantable
        return grant > 0 && (grant >= window / 2 || credits <= window / 4)
    }

    /// Takes the credits that should be given now: not each alone, as that costs a command, but early enough that the
    /// peer never waits for them while the reader keeps up.
    /// - Returns: how many; nil if there is no need.
    mutating func takeGrant() -> UInt16? {
        guard hasGrant else { return nil }
        let grant = grantable
        credits += grant
        return UInt16(clamping: grant)
    }

    /// Takes the payload of a K-frame.
    /// - Returns: whether there is something to read where there was nothing.
    mutating func receive(_ payload: ArraySlice<UInt8>) throws(ChannelViolation) -> Bool {
        guard credits > 0 else { throw .noCredit }
        credits -= 1
        guard payload.count <= mps else { throw .mpsExceeded(payload.count) }
        let wasReadable = data.isReadable
        if data.missing > 0 {
            guard !payload.isEmpty else { throw .frameTooShort(0) }
            try append(payload)
        } else {
            var reader = ByteReader(payload)
            guard let field = try? reader.readLittleEndian("k_frame.sdu_length", as: UInt16.self) else {
                throw .frameTooShort(payload.count)
            }
            let length = Int(field)
            guard length <= mtu else { throw .mtuExceeded(length) }
            data.begin(length: length)
            try append(reader.remaining)
        }
        return !wasReadable && data.isReadable
    }

    private mutating func append(_ part: ArraySlice<UInt8>) throws(ChannelViolation) {
        guard part.count <= data.missing else { throw .sduOverrun(by: part.count - data.missing) }
        data.append(part)
    }

    /// The peer knows the new MTU and MPS.
    mutating func reconfigure(mtu: Int, mps: Int) {
        self.mtu = mtu
        self.mps = mps
    }
}
