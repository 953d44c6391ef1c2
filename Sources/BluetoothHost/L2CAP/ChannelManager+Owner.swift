import BluetoothHCI

/// What the owner of the host does with channels, as `LEHost.channels`: listening for them, opening, using and closing them.
extension ChannelManager {
    // MARK: Listening

    /// Lets peers open channels to a service.
    /// - Parameters:
    ///   - listener: what the service asks of peers, and offers.
    ///   - spsm: nil for any dynamic one. Which one that is changes from run to run: clients learn it from the service.
    /// - Returns: the SPSM.
    public mutating func listen(
        _ listener: ChannelListener = ChannelListener(),
        on spsm: SPSM? = nil
    ) throws(ChannelError) -> SPSM {
        try listeners.add(listener, on: spsm)
    }

    /// Closes the channels that peers opened to a service, and lets them open no more.
    public mutating func stopListening(_ spsm: SPSM, at now: Duration) {
        let now = time.tell(now)
        listeners.remove(spsm)
        for channel in all where channel.spsm == spsm && !channel.isInitiator {
            guard let place = place(channel.id) else { continue }
            close(place.connection, place.channel, .withdrawn, at: now)
        }
    }

    // MARK: Opening and closing

    /// Asks a peer to open a channel. `opened` or `closed` follows.
    public mutating func open(
        to spsm: SPSM,
        on connection: ConnectionHandle,
        _ parameters: ChannelParameters = ChannelParameters(),
        at now: Duration
    ) throws(ChannelError) -> Channel.ID {
        let channels = try open(1, to: spsm, parameters, isEnhanced: false, on: connection, at: time.tell(now))
        guard let channel = channels.first else { throw .noCIDLeft }
        return channel
    }

    /// Asks a peer to open up to five channels at once, in enhanced credit-based flow control mode. `opened` or
    /// `closed` follows for each.
    package mutating func openEnhanced(
        _ count: Int,
        to spsm: SPSM,
        on connection: ConnectionHandle,
        _ parameters: ChannelParameters = ChannelParameters(),
        at now: Duration
    ) throws(ChannelError) -> [Channel.ID] {
        try open(count, to: spsm, parameters, isEnhanced: true, on: connection, at: time.tell(now))
    }

    /// Closes a channel. What was written and has not been sent is lost; `closed` follows.
    public mutating func close(_ channel: Channel.ID, at now: Duration) {
        guard let place = place(channel) else { return }
        close(place.connection, place.channel, .byOwner, at: time.tell(now))
    }

    /// The channels that are open, oldest first on each connection.
    public var all: [Channel] { connections.flatMap { $0.open.map { $0.channel } } }

    /// An open channel; nil if it is not open.
    public subscript(id: Channel.ID) -> Channel? {
        place(id).map { connections[$0.connection].open[$0.channel].channel }
    }

    // MARK: Data

    /// Writes bytes to a stream.
    /// - Returns: how many were taken. If not all were, `writable` follows when there is room again; a channel that is
    ///   not open takes none.
    public mutating func write(_ bytes: ArraySlice<UInt8>, to channel: Channel.ID, at now: Duration) -> Int {
        time.tell(now)
        guard let place = place(channel) else { return 0 }
        return connections[place.connection].open[place.channel].outbound.write(bytes)
    }

    /// How many bytes a stream would take now.
    public func writableCount(of channel: Channel.ID) -> Int {
        place(channel).map { connections[$0.connection].open[$0.channel].outbound.room } ?? 0
    }

    /// How many bytes that were written to a channel have not been sent.
    public func unsentCount(of channel: Channel.ID) -> Int {
        place(channel).map { connections[$0.connection].open[$0.channel].outbound.unsentCount } ?? 0
    }

    /// The longest SDU that there is room for in a channel now, in bytes; 0 of a channel that is not open.
    ///
    /// A channel in which nothing waits takes an SDU up to the MTU. If `ChannelParameters.transmitLimit` is below the MTU,
    /// or up to 15 bytes above, this number is smaller than that.
    public func writableSDUCount(of channel: Channel.ID) -> Int {
        place(channel).map { connections[$0.connection].open[$0.channel].outbound.roomForSDU } ?? 0
    }

    /// Writes one SDU.
    public mutating func writeSDU(
        _ sdu: ArraySlice<UInt8>,
        to channel: Channel.ID,
        at now: Duration
    ) throws(ChannelError) {
        time.tell(now)
        guard let place = place(channel) else { throw .notOpen }
        try connections[place.connection].open[place.channel].outbound.writeSDU(sdu)
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
        time.tell(now)
        guard let place = place(channel) else { return 0 }
        return change(place.connection, place.channel) { $0.data.read(maximum, into: &buffer) }
    }

    /// Moves the oldest SDU, if it is whole, to the end of `buffer`; of a channel that is used as a sequence of SDUs.
    /// - Returns: whether there was one.
    public mutating func readSDU(from channel: Channel.ID, into buffer: inout [UInt8], at now: Duration) -> Bool {
        time.tell(now)
        guard let place = place(channel) else { return false }
        return change(place.connection, place.channel) { $0.data.readSDU(into: &buffer) }
    }
}
