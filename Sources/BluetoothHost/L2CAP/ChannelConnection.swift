import BluetoothHCI

/// One open channel.
struct CreditBasedChannel: Sendable {
    /// What is known about it.
    private(set) var channel: Channel
    var inbound: InboundFlow
    var outbound: OutboundFlow

    /// - Parameters:
    ///   - own: what this side offers.
    ///   - peer: what the peer offers.
    init(_ channel: Channel, _ parameters: ChannelParameters, own: ChannelTerms, peer: ChannelTerms) {
        self.channel = channel
        inbound = InboundFlow(parameters, mtu: Int(own.mtu), mps: Int(own.mps), credits: Int(own.credits))
        outbound = OutboundFlow(parameters, peer)
    }

    /// The peer takes other lengths from now on.
    mutating func reconfigureTransmitting(mtu: UInt16, mps: UInt16) {
        channel.transmitMTU = Int(mtu)
        channel.transmitMPS = Int(mps)
        outbound.reconfigure(mtu: Int(mtu), mps: Int(mps))
    }

    /// The peer knows that this side takes other lengths.
    mutating func reconfigureReceiving(mtu: UInt16, mps: UInt16) {
        channel.receiveMTU = Int(mtu)
        channel.receiveMPS = Int(mps)
        inbound.reconfigure(mtu: Int(mtu), mps: Int(mps))
    }
}

/// The credit-based channels of one connection.
struct ChannelConnection: ConnectionMachine {
    /// Channels that this side asked for.
    struct Opening: Sendable {
        let identifier: UInt8
        let spsm: SPSM
        let isEnhanced: Bool
        /// Their names and this side's ends.
        let channels: [(id: Channel.ID, localCID: ChannelID)]
        let parameters: ChannelParameters
        let terms: ChannelTerms
        var deadline: Duration
    }

    /// A channel that this side closes. Its CIDs are not free yet.
    struct Closing: Sendable {
        let identifier: UInt8
        let localCID: ChannelID
        let remoteCID: ChannelID
        let deadline: Duration
    }

    /// What this side asked to change.
    struct Reconfiguring: Sendable {
        let identifier: UInt8
        let channels: [Channel.ID]
        let mtu: UInt16
        let mps: UInt16
        let deadline: Duration
    }

    /// The peer's last request and its answer.
    struct Answered: Sendable {
        let identifier: UInt8
        let request: CreditBasedCommand
        let answer: CreditBasedCommand
    }

    let handle: ConnectionHandle
    var open: [CreditBasedChannel] = []
    var opening: [Opening] = [] { didSet { keepDeadline() } }
    var closing: [Closing] = [] { didSet { keepDeadline() } }
    var reconfiguring: Reconfiguring? { didSet { keepDeadline() } }
    /// When an answer has taken too long.
    private(set) var deadline: Duration?
    /// Set until another request comes or a channel closes: one that was sent twice gets the same answer twice
    /// (Core 5.4, Vol 3, Part A, 4).
    var answered: Answered?
    /// Which channel's turn it is to send.
    var nextToServe = 0

    init(_ handle: ConnectionHandle) { self.handle = handle }

    /// Where an open channel is.
    func index(_ id: Channel.ID) -> Int? { open.firstIndex { $0.channel.id == id } }

    /// Where the open channel with this end on this side is.
    func index(localCID: ChannelID) -> Int? { open.firstIndex { $0.channel.localCID == localCID } }

    /// Where the open channel with this end on the peer's side is.
    func index(remoteCID: ChannelID) -> Int? { open.firstIndex { $0.channel.remoteCID == remoteCID } }

    /// Whether a channel of the peer's has this CID.
    func isTaken(remoteCID: ChannelID) -> Bool {
        index(remoteCID: remoteCID) != nil || closing.contains { $0.remoteCID == remoteCID }
    }

    /// This side's CIDs that are free, lowest first.
    func freeCIDs(_ count: Int) -> [ChannelID] {
        var taken = Set(open.map { $0.channel.localCID.rawValue })
        taken.formUnion(closing.map { $0.localCID.rawValue })
        for request in opening { taken.formUnion(request.channels.map({ $0.localCID.rawValue })) }
        return ChannelID.dynamicRange.lazy.filter { !taken.contains($0) }.prefix(count).map(ChannelID.init(rawValue:))
    }

    private mutating func keepDeadline() {
        deadline = reconfiguring?.deadline
        for request in opening { deadline.lower(to: request.deadline) }
        for request in closing { deadline.lower(to: request.deadline) }
    }
}
