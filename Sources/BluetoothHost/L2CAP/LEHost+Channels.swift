import BluetoothHCI

/// Credit-based channels: opening, using and closing them. What happens to them is told as `LEHostEvent.channel`.
extension LEHost {
    // MARK: Listening

    /// Lets peers open channels to a service.
    /// - Parameter spsm: nil for any dynamic one. Which one that is changes from run to run: clients learn it from the
    ///   service.
    /// - Returns: the SPSM.
    public mutating func listen(
        _ listener: ChannelListener = ChannelListener(),
        on spsm: SPSM? = nil
    ) throws(ChannelError) -> SPSM {
        try channels.listen(listener, on: spsm)
    }

    /// Closes the channels that peers opened to a service, and lets them open no more.
    public mutating func stopListening(_ spsm: SPSM, at now: Duration) {
        self.now = max(self.now, now)
        channels.stopListening(spsm)
        for channel in openChannels where channel.spsm == spsm && !channel.isInitiator {
            close(channel.id, .withdrawn)
        }
    }

    // MARK: Opening and closing

    /// Asks a peer to open a channel. `opened` or `closed` follows.
    public mutating func openChannel(
        to spsm: SPSM,
        on connection: ConnectionHandle,
        _ parameters: ChannelParameters = ChannelParameters(),
        at now: Duration
    ) throws(ChannelError) -> Channel.ID {
        self.now = max(self.now, now)
        let channels = try open(1, to: spsm, on: connection, parameters, isEnhanced: false)
        guard let channel = channels.first else { throw .noCIDLeft }
        return channel
    }

    /// Asks a peer to open up to five channels at once, in enhanced credit-based flow control mode. `opened` or
    /// `closed` follows for each.
    package mutating func openEnhancedChannels(
        _ count: Int,
        to spsm: SPSM,
        on connection: ConnectionHandle,
        _ parameters: ChannelParameters = ChannelParameters(),
        at now: Duration
    ) throws(ChannelError) -> [Channel.ID] {
        self.now = max(self.now, now)
        return try open(count, to: spsm, on: connection, parameters, isEnhanced: true)
    }

    private mutating func open(
        _ count: Int,
        to spsm: SPSM,
        on connection: ConnectionHandle,
        _ parameters: ChannelParameters,
        isEnhanced: Bool
    ) throws(ChannelError) -> [Channel.ID] {
        guard let index = link(connection), links[index].isAnnounced else { throw .notConnected(connection) }
        defer { passOnChannelEvents() }
        return try channels.open(
            count,
            to: spsm,
            parameters,
            isEnhanced: isEnhanced,
            links[index].channelLink,
            &links[index].signaling,
            at: now
        )
    }

    /// Tells the peer that this side takes longer SDUs and other K-frames from now on, on up to five enhanced channels
    /// of one connection. `reconfigured` follows.
    /// - Parameters:
    ///   - mtu: the longest SDU, not less than it was.
    ///   - mps: the longest payload of a K-frame, not less than it was unless there is only one channel.
    package mutating func reconfigure(
        _ channels: [Channel.ID],
        mtu: Int,
        mps: Int,
        at now: Duration
    ) throws(ChannelError) {
        self.now = max(self.now, now)
        guard let connection = channels.first?.connection, let index = link(connection) else { throw .notOpen }
        try self.channels.reconfigure(channels, mtu: mtu, mps: mps, &links[index].signaling, at: self.now)
    }

    /// Closes a channel. What was written and has not been sent is lost; `closed` follows.
    public mutating func close(_ channel: Channel.ID, at now: Duration) {
        self.now = max(self.now, now)
        close(channel, .byOwner)
    }

    private mutating func close(_ channel: Channel.ID, _ closure: ChannelClosure) {
        guard let index = link(channel.connection), let place = channels.place(channel) else { return }
        channels.close(place.connection, place.channel, closure, &links[index].signaling, at: now)
        passOnChannelEvents()
    }

    /// The channels that are open, oldest first on each connection.
    public var openChannels: [Channel] { channels.connections.flatMap { $0.open.map { $0.channel } } }

    /// An open channel; nil if it is not open.
    public func channel(_ id: Channel.ID) -> Channel? {
        channels.place(id).map { channels.connections[$0.connection].open[$0.channel].channel }
    }

    // MARK: Data

    /// Writes bytes to a stream.
    /// - Returns: how many were taken. If not all were, `writable` follows when there is room again; a channel that is
    ///   not open takes none.
    public mutating func write(_ bytes: ArraySlice<UInt8>, to channel: Channel.ID, at now: Duration) -> Int {
        self.now = max(self.now, now)
        guard let place = channels.place(channel) else { return 0 }
        return channels.connections[place.connection].open[place.channel].outbound.write(bytes)
    }

    /// How many bytes a stream would take now.
    public func writableCount(of channel: Channel.ID) -> Int {
        channels.place(channel).map { channels.connections[$0.connection].open[$0.channel].outbound.room } ?? 0
    }

    /// How many bytes that were written to a channel have not been sent.
    public func unsentCount(of channel: Channel.ID) -> Int {
        channels.place(channel).map { channels.connections[$0.connection].open[$0.channel].outbound.unsentCount } ?? 0
    }

    /// The longest SDU that there is room for in a channel now, in bytes; 0 of a channel that is not open.
    ///
    /// A channel in which nothing waits takes an SDU up to the MTU. If `ChannelParameters.transmitLimit` is below the MTU,
    /// or up to 15 bytes above, this number is smaller than that.
    public func writableSDUCount(of channel: Channel.ID) -> Int {
        channels.place(channel).map { channels.connections[$0.connection].open[$0.channel].outbound.roomForSDU } ?? 0
    }

    /// Writes one SDU.
    public mutating func writeSDU(
        _ sdu: ArraySlice<UInt8>,
        to channel: Channel.ID,
        at now: Duration
    ) throws(ChannelError) {
        self.now = max(self.now, now)
        guard let place = channels.place(channel) else { throw .notOpen }
        try channels.connections[place.connection].open[place.channel].outbound.writeSDU(sdu)
    }

    /// Moves bytes that have come in to the end of `buffer`; of a channel that is used as a stream.
    /// - Returns: how many there were, `maximum` at most; none of a channel that is not open.
    @discardableResult
    public mutating func read(
        _ maximum: Int = .max,
        from channel: Channel.ID,
        into buffer: inout [UInt8],
        at now: Duration
    ) -> Int {
        self.now = max(self.now, now)
        guard let place = channels.place(channel) else { return 0 }
        return channels.connections[place.connection].open[place.channel].inbound.data.read(maximum, into: &buffer)
    }

    /// Moves the oldest SDU, if it is whole, to the end of `buffer`; of a channel that is used as a sequence of SDUs.
    /// - Returns: whether there was one.
    public mutating func readSDU(from channel: Channel.ID, into buffer: inout [UInt8], at now: Duration) -> Bool {
        self.now = max(self.now, now)
        guard let place = channels.place(channel) else { return false }
        return channels.connections[place.connection].open[place.channel].inbound.data.readSDU(into: &buffer)
    }

    // MARK: From the link

    /// Takes a frame on a channel that is not a fixed one.
    mutating func receiveFrame(_ frame: L2CAPFrame, _ index: Int) {
        let handle = links[index].connection.handle
        let isKnown = channels.receive(frame.payload, on: frame.channel, handle, &links[index].signaling, at: now)
        passOnChannelEvents()
        guard !isKnown else { return }
        counters.unknownChannelFrames += 1
        report(.frameOnUnknownChannel(handle, frame.channel, count: frame.payload.count))
    }

    /// Passes on what happened to channels.
    mutating func passOnChannelEvents() {
        while let event = channels.nextEvent() {
            if case .closed(let id, .violation(let violation), _) = event {
                report(.channelViolated(id.connection, violation))
            }
            emit(.channel(event))
        }
    }
}

extension LELink {
    /// What the channels have to know of the connection.
    var channelLink: ChannelManager.Link {
        ChannelManager.Link(
            handle: connection.handle,
            security: connection.security,
            receiveLength: Int(connection.receiveLength.octets)
        )
    }
}
