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

/// The signaling channel and the credit-based channels of one connection.
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
    let role: ConnectionRole
    /// What listeners may ask of the link.
    var security: LinkSecurity
    /// How much one link layer packet brings, in octets.
    var receiveLength: Int
    var signaling = SignalingChannel() {
        didSet {
            maySignal = true
            keepDeadline()
        }
    }
    var open: [CreditBasedChannel] = []
    /// Whether there may be a signaling command to send, apart from credits: asked before every frame of the link.
    private(set) var maySignal = false
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

    init(_ connection: Connection) {
        handle = connection.handle
        role = connection.role
        security = connection.security
        receiveLength = Int(connection.receiveLength.octets)
    }

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
        deadline.lower(to: signaling.nextDeadline)
        for request in opening { deadline.lower(to: request.deadline) }
        for request in closing { deadline.lower(to: request.deadline) }
    }

    /// What this side offers on a channel.
    func terms(of parameters: ChannelParameters, isEnhanced: Bool) -> ChannelTerms {
        let least = isEnhanced ? ChannelTerms.minimumEnhancedLength : ChannelTerms.minimumLength
        let fitting = OutboundFlow.frameSize(upTo: OutboundFlow.frameSizeLimit, dataLength: receiveLength)
        let mtu = max(least, parameters.mtu)
        let mps = max(least, parameters.mps ?? fitting)
        return ChannelTerms(
            mtu: UInt16(clamping: mtu),
            mps: UInt16(clamping: mps),
            credits: InboundFlow.initialCredits(parameters, mtu: mtu, mps: mps)
        )
    }

    // MARK: Reconfiguring

    /// The peer takes other lengths on some channels.
    /// - Parameter ends: the peer's ends of the channels.
    /// - Returns: whether that is allowed, and the names of the channels.
    mutating func reconfigureTransmitting(
        _ ends: [ChannelID],
        mtu: UInt16,
        mps: UInt16
    ) -> (ReconfigurationResult, [Channel.ID]) {
        guard (1...CreditBasedCommand.maximumChannelCount).contains(ends.count), Set(ends).count == ends.count,
            (ChannelTerms.minimumEnhancedLength...ChannelTerms.maximumMPS).contains(Int(mps))
        else { return (.unacceptableParameters, []) }
        let indices = ends.compactMap { index(remoteCID: $0) }
        let affected = indices.map { open[$0].channel }
        guard affected.count == ends.count, affected.allSatisfy({ $0.isEnhanced }) else {
            return (.invalidDestinationCID, [])
        }
        guard affected.allSatisfy({ $0.transmitMTU <= Int(mtu) }) else { return (.mtuReduced, []) }
        guard affected.count == 1 || affected.allSatisfy({ $0.transmitMPS <= Int(mps) }) else {
            return (.mpsReduced, [])
        }
        for index in indices { open[index].reconfigureTransmitting(mtu: mtu, mps: mps) }
        return (.success, affected.map { $0.id })
    }

    // MARK: Closing

    /// Asks the peer to close a channel.
    mutating func requestDisconnection(local: ChannelID, remote: ChannelID, at now: Duration) {
        let identifier = signaling.request(.disconnectionRequest(destination: remote, source: local))
        let deadline = now + ChannelManager.answerTimeout
        closing.append(Closing(identifier: identifier, localCID: local, remoteCID: remote, deadline: deadline))
    }

    /// The peer says that a channel is closed.
    /// - Returns: what was wrong with that.
    mutating func disconnected(destination: ChannelID, source: ChannelID, identifier: UInt8) -> SignalingProblem? {
        let place = closing.firstIndex {
            $0.identifier == identifier && $0.remoteCID == destination && $0.localCID == source
        }
        guard let place else { return .unexpectedDisconnectionResponse }
        closing.remove(at: place)
        signaling.settle(identifier)
        return nil
    }

    // MARK: Sending

    /// Puts the next signaling command into `buffer`, replacing its content: what was asked or answered, then credits.
    /// - Returns: false if there is none.
    mutating func nextSignalingPDU(into buffer: inout [UInt8]) -> Bool {
        if signaling.nextPDU(into: &buffer) { return true }
        maySignal = false
        for index in open.indices {
            guard let credits = open[index].inbound.takeGrant() else { continue }
            signaling.encodeCredits(credits, for: open[index].channel.localCID, into: &buffer)
            return true
        }
        return false
    }
}
