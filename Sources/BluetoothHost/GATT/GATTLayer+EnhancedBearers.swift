import BluetoothHCI
import ByteCoding
import DequeModule

/// Enhanced bearers: each is a channel to SPSM 0x0027, which the host brings here.
extension GATTLayer {
    /// What this side offers on the channel of an enhanced bearer: an SDU is one PDU, and is read as soon as it is whole. There is
    /// room for several, so that credits need not go out with each.
    var bearerChannel: ChannelParameters {
        let mtu = max(ChannelTerms.minimumEnhancedLength, ownMTU)
        return ChannelParameters(face: .sdus, mtu: mtu, receiveLimit: 8192, transmitLimit: mtu)
    }

    /// Whether the connection has an enhanced bearer on this channel.
    func hasBearer(on channel: Channel.ID) -> Bool {
        connections.index(of: channel.connection).map { connections[$0].hasBearer(on: channel) } ?? false
    }

    /// Whether the channel was asked for, and did not open yet.
    func awaits(_ channel: Channel.ID) -> Bool {
        connections.index(of: channel.connection).map { connections[$0].opening.channels.contains(channel) } ?? false
    }

    /// The channels of a connection's enhanced bearers.
    func bearerChannels(of connection: ConnectionHandle) -> [Channel.ID] {
        guard enhancedBearers > 0, let index = connections.index(of: connection) else { return [] }
        return connections[index].channels
    }

    /// How many enhanced bearers a connection has.
    public func enhancedBearerCount(of connection: ConnectionHandle) -> Int {
        connections.index(of: connection).map { connections[$0].enhancedCount } ?? 0
    }

    // MARK: Opening

    /// The link is encrypted: bearers are opened, if this side does that.
    mutating func openEnhancedBearers(_ index: Int) {
        guard opensEnhancedBearers else { return }
        perform(connections[index].opening.begin(), index)
    }

    /// Goes on with opening bearers when one of the host's own procedures has ended.
    mutating func continueOpening(_ index: Int) {
        while connections[index].opening.isAsking, let result = connections[index].takeOwnResult() {
            perform(connections[index].opening.ended(result), index)
        }
    }

    private mutating func perform(_ next: EnhancedBearerOpening.Next, _ index: Int) {
        switch next {
        case .start(let procedure):
            if (try? start(procedure, isOwn: true, index)) == nil { connections[index].opening.failed() }
        case .open:
            let missing = enhancedBearers - connections[index].enhancedCount
            guard missing > 0 else { return connections[index].opening.failed() }
            channelRequests.append(.open(connections[index].handle, count: missing))
        case .nothing: break
        }
    }

    /// The time has come to ask for channels once more.
    mutating func askAgain(_ index: Int) {
        guard let deadline = connections[index].opening.deadline, deadline <= time.now else { return }
        connections[index].opening.step = .channels
        connections[index].openingChanged()
        perform(.open, index)
    }

    /// The peer was asked for channels.
    /// - Parameter pause: how long to wait if it has no room for them.
    mutating func channelsAsked(_ channels: [Channel.ID], on connection: ConnectionHandle, pause: Duration) {
        guard let index = connections.index(of: connection) else { return }
        connections[index].opening.channels = channels
        connections[index].opening.pause = pause
        if channels.isEmpty { connections[index].opening.failed() }
    }

    // MARK: Channels

    /// A channel is open, whichever side asked for it.
    mutating func bearerOpened(_ channel: Channel, at now: Duration) {
        time.tell(now)
        guard let index = connections.index(of: channel.id.connection) else { return }
        lastSession &+= 1
        let mtu = Self.mtu(of: channel, ownMTU: ownMTU)
        connections[index].opening.settled(channel.id, refusedForWantOfRoom: false, at: time.now)
        connections[index].bearerOpened(
            on: channel.id,
            mtu: mtu,
            session: lastSession,
            answerLimit: ownerAnswers.limit,
            &events,
            ownMTU: ownMTU,
            at: time.now
        )
        let count = connections[index].enhancedCount
        events.append(.enhancedBearerOpened(channel.id.connection, mtu: mtu, count: count))
    }

    /// The MTU of a channel's bearer: the smaller one of both ends, and not more than ATT has.
    private static func mtu(of channel: Channel, ownMTU: Int) -> Int {
        min(channel.receiveMTU, channel.transmitMTU, ATT.maximumMTU)
    }

    /// Both sides take other lengths on a channel.
    mutating func bearerReconfigured(_ channel: Channel) {
        guard let index = connections.index(of: channel.id.connection) else { return }
        connections[index].bearerReconfigured(channel.id, mtu: Self.mtu(of: channel, ownMTU: ownMTU))
    }

    /// A channel is closed, or did not open.
    mutating func bearerClosed(_ channel: Channel.ID, _ closure: ChannelClosure, at now: Duration) {
        time.tell(now)
        guard let index = connections.index(of: channel.connection) else { return }
        let isNew = connections[index].opening.channels.contains(channel)
        if isNew {
            let isFull = closure == .refused(.noResources)
            connections[index].opening.settled(channel, refusedForWantOfRoom: isFull, at: time.now)
            connections[index].openingChanged()
        }
        connections[index].bearerClosed(on: channel, &events, ownMTU: ownMTU, at: time.now)
        continueOpening(index)
        let count = connections[index].enhancedCount
        events.append(.enhancedBearerClosed(channel.connection, closure, wasOpen: !isNew, count: count))
    }

    /// Takes what the host is to do next with channels.
    mutating func takeChannelRequest() -> EnhancedBearerRequest? { channelRequests.popFirst() }

    // MARK: PDUs

    /// Takes one whole PDU of an enhanced bearer.
    mutating func receive(_ pdu: ArraySlice<UInt8>, on channel: Channel.ID, at now: Duration) {
        time.tell(now)
        guard let index = connections.index(of: channel.connection) else { return }
        connections[index].receive(pdu, on: channel, &database, &events, ownMTU: ownMTU, at: time.now)
        continueOpening(index)
    }

    /// Takes the next PDU of an enhanced bearer into `buffer`.
    /// - Returns: false, with `buffer` untouched, when none waits.
    mutating func nextPDU(on channel: Channel.ID, into buffer: inout [UInt8], at now: Duration) -> Bool {
        time.tell(now)
        guard let index = connections.index(of: channel.connection) else { return false }
        return connections[index].nextPDU(
            on: channel,
            into: &buffer,
            &database,
            &events,
            ownMTU: ownMTU,
            at: time.now
        )
    }
}
