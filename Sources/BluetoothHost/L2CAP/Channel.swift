import BluetoothHCI

/// What is known about an open credit-based channel.
///
/// Source: Core 5.4, Vol 3, Part A, 3.4.
public struct Channel: Hashable, Sendable {
    /// Names a channel from the moment that it is asked for. A name is not used again.
    public struct ID: Hashable, Sendable {
        /// The connection that the channel is on.
        public let connection: ConnectionHandle
        /// Counts all channels of a host.
        let number: UInt64
    }

    /// Its name.
    public let id: ID
    /// What it was opened to.
    public let spsm: SPSM
    /// Whether this side asked for it.
    package let isInitiator: Bool
    /// Whether it was opened by an enhanced request, so that it can be reconfigured.
    package let isEnhanced: Bool
    /// This side's end.
    package let localCID: ChannelID
    /// The peer's end.
    package let remoteCID: ChannelID
    /// The longest SDU that the peer may send.
    public internal(set) var receiveMTU: Int
    /// The longest payload of a K-frame that the peer may send.
    package internal(set) var receiveMPS: Int
    /// The longest SDU that the peer takes.
    public internal(set) var transmitMTU: Int
    /// The longest payload of a K-frame that the peer takes.
    package internal(set) var transmitMPS: Int

    init(
        id: ID,
        spsm: SPSM,
        isInitiator: Bool,
        isEnhanced: Bool,
        localCID: ChannelID,
        remoteCID: ChannelID,
        own: ChannelTerms,
        peer: ChannelTerms
    ) {
        self.id = id
        self.spsm = spsm
        self.isInitiator = isInitiator
        self.isEnhanced = isEnhanced
        self.localCID = localCID
        self.remoteCID = remoteCID
        receiveMTU = Int(own.mtu)
        receiveMPS = Int(own.mps)
        transmitMTU = Int(peer.mtu)
        transmitMPS = Int(peer.mps)
    }
}

/// How a channel is used.
public enum ChannelFace: Hashable, Sendable {
    /// As a stream of bytes. Where SDUs begin and end is not told, and of an SDU that is still on its way, what has
    /// come can be read.
    case bytes
    /// As a sequence of SDUs, each read when it is whole.
    case sdus
}

/// What one end of a channel offers.
public struct ChannelParameters: Hashable, Sendable {
    /// How the channel is used at this end.
    public var face: ChannelFace
    /// The longest SDU that is taken, in bytes: 23 to 65535. Enhanced channels offer 64 if it is less.
    public var mtu: Int
    /// The longest payload of a K-frame that is taken, in bytes: 23 to 2048. Enhanced channels offer 64 if it is less.
    /// If it is nil, the host chooses one of at most 1024 that fits the link.
    public var mps: Int?
    /// How many bytes may have come in without having been read. The peer gets no more credits than there is room for, and
    /// each credit counts as a K-frame of the full MPS.
    ///
    /// Too small a limit is raised. With `.sdus` there is always room for one SDU of the full MTU and two K-frames more, and
    /// each SDU counts 16 bytes more than it has. With `.bytes` there is always room for two K-frames, which need not be a
    /// whole SDU.
    public var receiveLimit: Int
    /// How many bytes may have been written without having been sent. An SDU up to the peer's MTU is taken all the same
    /// when nothing waits.
    public var transmitLimit: Int

    /// A stream of bytes with an MTU of 8192 bytes, and 32768 bytes of room each way, unless told otherwise.
    /// An MTU or an MPS that is not allowed is refused when it is used, with `ChannelError.invalidParameters`.
    public init(
        face: ChannelFace = .bytes,
        mtu: Int = 8192,
        mps: Int? = nil,
        receiveLimit: Int = 32768,
        transmitLimit: Int = 32768
    ) {
        self.face = face
        self.mtu = mtu
        self.mps = mps
        self.receiveLimit = receiveLimit
        self.transmitLimit = transmitLimit
    }

    /// Whether the Core lets this side offer such.
    var areValid: Bool {
        guard (ChannelTerms.minimumLength...Int(UInt16.max)).contains(mtu) else { return false }
        return mps.map { (ChannelTerms.minimumLength...L2CAPFrame.maximumPayload).contains($0) } ?? true
    }
}

/// What a service that peers open channels to asks of them, and offers.
public struct ChannelListener: Hashable, Sendable {
    /// What the link must offer.
    package var requirement: AccessRequirement
    /// What this side offers on each channel.
    package var parameters: ChannelParameters
    /// How many channels to the service one connection may have.
    package var maximumChannels: Int
    /// Whether its channels are opened by enhanced requests only.
    var takesEnhancedOnly = false

    /// A service that needs an encrypted link and takes 8 channels a connection, unless told otherwise.
    public init(
        requirement: AccessRequirement = .encrypted,
        parameters: ChannelParameters = ChannelParameters(),
        maximumChannels: Int = 8
    ) {
        self.requirement = requirement
        self.parameters = parameters
        self.maximumChannels = maximumChannels
    }
}

/// What happens to credit-based channels.
public enum ChannelEvent: Sendable {
    /// A channel is open: it can be written to, and what comes in can be read.
    case opened(Channel)
    /// There is something to read: bytes, or a whole SDU. Said again only when nothing was left since.
    case readable(Channel.ID)
    /// There is room again, after something that was written was not taken.
    case writable(Channel.ID)
    /// The channels' MTU and MPS changed: the peer's, or this side's with the result of what it asked for.
    case reconfigured([Channel.ID], ReconfigurationResult)
    /// So many bytes of what was written to a channel were not sent, and now never will be; `closed` follows.
    case unsent(Channel.ID, byteCount: Int)
    /// A channel is closed, or did not open. What has come in and was not read is handed over.
    case closed(Channel.ID, ChannelClosure, unread: ReceivedData)
}

/// Why a channel is closed, or did not open.
public enum ChannelClosure: Hashable, Sendable {
    /// The owner closed it.
    case byOwner
    /// The owner does not listen any more.
    case withdrawn
    /// The peer closed it.
    case byPeer
    /// The connection is gone.
    case connectionLost
    /// The peer did not let it open.
    case refused(ChannelResult)
    /// The peer does not know such requests.
    case notUnderstood
    /// The peer did not answer.
    case notAnswered
    /// The peer broke a rule.
    case violation(ChannelViolation)
}

/// Which rule a peer broke, so that its channel had to be closed.
///
/// Source: Core 5.4, Vol 3, Part A, 3.4.3, 4.23, 4.26 and 10.1.
public enum ChannelViolation: Error, Hashable, Sendable {
    /// It sent a K-frame without having a credit.
    case noCredit
    /// It gave more than 65535 credits.
    case tooManyCredits
    /// A K-frame was longer than the MPS.
    case mpsExceeded(Int)
    /// An SDU is longer than the MTU.
    case mtuExceeded(Int)
    /// The K-frames of an SDU brought more than its length.
    case sduOverrun(by: Int)
    /// A K-frame was too short to hold what it must.
    case frameTooShort(Int)
    /// The packets of a K-frame brought less, or more, than its length.
    case frameDamaged
    /// It accepted a request with a CID, an MTU, an MPS or a number of channels that are not allowed.
    case badResponse
}

/// Why something cannot be done with a channel.
public enum ChannelError: Error, Hashable, Sendable {
    /// There is no such connection.
    case notConnected(ConnectionHandle)
    /// There is no such channel; `closed` has said why.
    case notOpen
    /// Another service has the SPSM, or it is none that a service can have.
    case spsmNotAvailable(SPSM)
    /// Every dynamic SPSM is taken.
    case noSPSMLeft
    /// There is no CID left on the connection.
    case noCIDLeft
    /// MTU, MPS or the number of channels are not such as the Core allows.
    case invalidParameters
    /// An SDU was longer than the peer takes.
    case sduTooLong(maximum: Int)
    /// There is no room; `writable` follows.
    case full
    /// The channel is not used as a sequence of SDUs.
    case notSDUs
    /// The channels cannot be reconfigured: they are not enhanced, or not on one connection, or the last request has
    /// not been answered.
    case notReconfigurable
}

extension ChannelError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notConnected(let connection): "there is no connection \(connection)"
        case .notOpen: "the channel is not open"
        case .spsmNotAvailable(let spsm): "SPSM \(spsm) is another service's, or none that a service can have"
        case .noSPSMLeft: "every dynamic SPSM is taken"
        case .noCIDLeft: "the connection has no CID left"
        case .invalidParameters: "the Core does not allow such an MTU, MPS or number of channels"
        case .sduTooLong(let maximum): "the SDU is longer than the \(maximum) bytes that the peer takes"
        case .full: "the channel has no room"
        case .notSDUs: "the channel is a stream of bytes, and has no SDUs"
        case .notReconfigurable:
            "the channels are not enhanced, not on one connection, or the last request for them has not been answered"
        }
    }
}

extension ChannelViolation: CustomStringConvertible {
    public var description: String {
        switch self {
        case .noCredit: "a K-frame without a credit"
        case .tooManyCredits: "more than 65535 credits"
        case .frameDamaged: "a K-frame that was not whole"
        case .mpsExceeded(let count): "a K-frame of \(count) bytes, which exceeds the MPS"
        case .mtuExceeded(let count): "an SDU of \(count) bytes, which exceeds the MTU"
        case .sduOverrun(let count): "\(count) bytes more than the length of an SDU"
        case .frameTooShort(let count): "a K-frame of \(count) bytes, which is too short"
        case .badResponse: "a response with parameters that are not allowed"
        }
    }
}

extension ChannelClosure: CustomStringConvertible {
    public var description: String {
        switch self {
        case .byOwner: "closed by this side"
        case .withdrawn: "the service was withdrawn"
        case .byPeer: "closed by the peer"
        case .connectionLost: "the connection is gone"
        case .refused(let result): "refused: \(result)"
        case .notUnderstood: "the peer does not know such requests"
        case .notAnswered: "the peer did not answer"
        case .violation(let violation): "the peer sent \(violation)"
        }
    }
}
