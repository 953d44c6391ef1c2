import BluetoothHCI
import ByteCoding
import DequeModule

/// The credit-based channels of a host: who may open one, which are open, and what flows through them.
///
/// Each connection's signaling channel is lent to it when there may be something to say; commands that give credits,
/// and K-frames, are asked for when they can be sent. The owner of the host uses it through `LEHost`.
///
/// Source: Core 5.4, Vol 3, Part A, 4.22 to 4.28 and 10.
struct ChannelManager: Sendable {
    /// What the manager has to know of a connection.
    struct Link {
        let handle: ConnectionHandle
        let security: LinkSecurity
        /// How much one link layer packet brings.
        let receiveLength: Int
    }

    /// How long the peer may take to answer; the Core lets it be 1 to 60 s.
    ///
    /// Source: Core 5.4, Vol 3, Part A, 6.2.1 (RTX).
    static let answerTimeout = Duration.seconds(30)
    /// How long the peer may take to answer once it has said that it will; the Core lets it be 60 to 300 s.
    ///
    /// Source: Core 5.4, Vol 3, Part A, 6.2.2 (ERTX).
    static let extendedAnswerTimeout = Duration.seconds(120)
    /// The lengths that a request may offer.
    static let minimumLength = 23
    static let minimumEnhancedLength = 64
    static let maximumMPS = 65533

    var connections = ConnectionTable<ChannelConnection>()
    private(set) var listeners: [(spsm: SPSM, listener: ChannelListener)] = []
    private var events = Deque<ChannelEvent>()
    private var lastNumber: UInt64 = 0
    /// The dynamic SPSM to hand out next, if it is free.
    private var nextSPSM: UInt16

    /// - Parameter random: decides which SPSM is handed out first, so that no client relies on one.
    init(random: UInt16) {
        let range = SPSM.dynamicRange
        nextSPSM = range.lowerBound + random % UInt16(range.count)
    }

    /// Takes the oldest event.
    mutating func nextEvent() -> ChannelEvent? { events.popFirst() }

    mutating func emit(_ event: ChannelEvent) { events.append(event) }

    /// A name for a new channel.
    mutating func makeID(on connection: ConnectionHandle) -> Channel.ID {
        lastNumber += 1
        return Channel.ID(connection: connection, number: lastNumber)
    }

    /// Where a connection is.
    func index(_ handle: ConnectionHandle) -> Int? { connections.index(of: handle) }

    /// Where an open channel is.
    func place(_ id: Channel.ID) -> (connection: Int, channel: Int)? {
        guard let connection = index(id.connection), let channel = connections[connection].index(id) else { return nil }
        return (connection, channel)
    }
}

// MARK: - Listeners

extension ChannelManager {
    func listener(_ spsm: SPSM) -> ChannelListener? { listeners.first { $0.spsm == spsm }?.listener }

    /// Lets peers open channels.
    /// - Parameter wanted: nil for any dynamic SPSM.
    mutating func listen(_ listener: ChannelListener, on wanted: SPSM?) throws(ChannelError) -> SPSM {
        let spsm = if let wanted { wanted } else { try freeSPSM() }
        guard spsm.isValid, self.listener(spsm) == nil else { throw .spsmNotAvailable(spsm) }
        guard Self.areValid(listener.parameters) else { throw .invalidParameters }
        listeners.append((spsm, listener))
        return spsm
    }

    mutating func stopListening(_ spsm: SPSM) { listeners.removeAll { $0.spsm == spsm } }

    /// The next SPSM that is free: one that was given back is not given out again soon.
    private mutating func freeSPSM() throws(ChannelError) -> SPSM {
        let range = SPSM.dynamicRange
        for _ in range {
            let spsm = SPSM(rawValue: nextSPSM)
            nextSPSM = nextSPSM == range.upperBound ? range.lowerBound : nextSPSM + 1
            if listener(spsm) == nil { return spsm }
        }
        throw .noSPSMLeft
    }
}

// MARK: - Connections

extension ChannelManager {
    mutating func connectionOpened(_ handle: ConnectionHandle) { connections.append(ChannelConnection(handle)) }

    mutating func connectionClosed(_ handle: ConnectionHandle) {
        guard let index = index(handle) else { return }
        let connection = connections.remove(at: index)
        for channel in connection.open {
            emit(.closed(channel.channel.id, .connectionLost, unread: channel.inbound.data))
        }
        for request in connection.opening { fail(request, .connectionLost) }
    }

    /// Channels that were asked for do not open.
    mutating func fail(_ request: ChannelConnection.Opening, _ closure: ChannelClosure) {
        for channel in request.channels {
            emit(.closed(channel.id, closure, unread: ReceivedData(face: request.parameters.face)))
        }
    }
}

// MARK: - Data

extension ChannelManager {
    /// Takes a K-frame.
    /// - Returns: false if there is no such channel.
    mutating func receive(
        _ payload: ArraySlice<UInt8>,
        on channel: ChannelID,
        _ handle: ConnectionHandle,
        _ signaling: inout SignalingChannel,
        at now: Duration
    ) -> Bool {
        guard let connection = index(handle) else { return false }
        guard let index = connections[connection].index(localCID: channel) else {
            // What was on its way when this side closed the channel.
            return connections[connection].closing.contains { $0.localCID == channel }
        }
        do throws(ChannelViolation) {
            if try connections[connection].open[index].inbound.receive(payload) {
                emit(.readable(connections[connection].open[index].channel.id))
            }
        } catch {
            close(connection, index, .violation(error), &signaling, at: now)
        }
        return true
    }

    /// A K-frame did not arrive as it was sent. Its channel is closed, since what comes behind it does not follow on what
    /// came in front.
    /// - Returns: false if there is no such channel.
    mutating func lost(
        _ channel: ChannelID,
        _ violation: ChannelViolation,
        _ handle: ConnectionHandle,
        _ signaling: inout SignalingChannel,
        at now: Duration
    ) -> Bool {
        guard let connection = index(handle) else { return false }
        guard let index = connections[connection].index(localCID: channel) else {
            return connections[connection].closing.contains { $0.localCID == channel }
        }
        close(connection, index, .violation(violation), &signaling, at: now)
        return true
    }

    /// Takes the credits that are to be given to the peer next.
    /// - Returns: this side's end of the channel, and how many; nil if there are none to give.
    mutating func nextGrant(for handle: ConnectionHandle) -> (channel: ChannelID, credits: UInt16)? {
        guard let connection = index(handle) else { return nil }
        for index in connections[connection].open.indices {
            if let credits = connections[connection].open[index].inbound.takeGrant() {
                return (connections[connection].open[index].channel.localCID, credits)
            }
        }
        return nil
    }

    /// Puts the payload of the next K-frame into `buffer`, replacing its content. Channels take turns.
    /// - Parameter dataLength: how much one link layer packet carries.
    /// - Returns: the peer's end of its channel; nil if there is nothing to send.
    mutating func nextFrame(
        for handle: ConnectionHandle,
        dataLength: Int,
        into buffer: inout [UInt8]
    ) -> ChannelID? {
        guard let connection = index(handle) else { return nil }
        let count = connections[connection].open.count
        for turn in 0..<count {
            let index = (connections[connection].nextToServe + turn) % count
            guard connections[connection].open[index].outbound.nextFrame(dataLength: dataLength, into: &buffer) else {
                continue
            }
            connections[connection].nextToServe = index + 1
            let channel = connections[connection].open[index].channel
            if connections[connection].open[index].outbound.takeRoomNotice() { emit(.writable(channel.id)) }
            return channel.remoteCID
        }
        return nil
    }

    // MARK: Closing

    /// Closes an open channel: its owner is told at once, and its CIDs are free when the peer has answered.
    mutating func close(
        _ connection: Int,
        _ index: Int,
        _ closure: ChannelClosure,
        _ signaling: inout SignalingChannel,
        at now: Duration
    ) {
        let closed = remove(connection, index, closure)
        requestDisconnection(connection, local: closed.localCID, remote: closed.remoteCID, &signaling, at: now)
    }

    /// Asks the peer to close a channel.
    mutating func requestDisconnection(
        _ connection: Int,
        local: ChannelID,
        remote: ChannelID,
        _ signaling: inout SignalingChannel,
        at now: Duration
    ) {
        let identifier = signaling.request(.disconnectionRequest(destination: remote, source: local))
        connections[connection].closing.append(
            ChannelConnection.Closing(
                identifier: identifier,
                localCID: local,
                remoteCID: remote,
                deadline: now + Self.answerTimeout
            )
        )
    }

    /// A channel is not open any more.
    @discardableResult
    mutating func remove(_ connection: Int, _ index: Int, _ closure: ChannelClosure) -> Channel {
        let removed = connections[connection].open.remove(at: index)
        connections[connection].answered = nil
        if connections[connection].nextToServe > index { connections[connection].nextToServe -= 1 }
        let unsent = removed.outbound.unsentCount
        if unsent > 0 { emit(.unsent(removed.channel.id, byteCount: unsent)) }
        emit(.closed(removed.channel.id, closure, unread: removed.inbound.data))
        return removed.channel
    }
}
