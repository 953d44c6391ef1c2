import BluetoothHCI
import ByteCoding
import DequeModule

/// The credit-based channels on all connections: who may open one, which are open, and what flows through them. What happens to
/// them is told as `LEHostEvent.channel`.
///
/// It has the signaling channel of each connection too, on which all of that is agreed. Commands that give credits, and
/// K-frames, are asked for when they can be sent.
///
/// Source: Core 5.4, Vol 3, Part A, 4.22 to 4.28 and 10.
public struct ChannelManager: Sendable {
    /// How long the peer may take to answer; the Core lets it be 1 to 60 s.
    ///
    /// Source: Core 5.4, Vol 3, Part A, 6.2.1 (RTX).
    static let answerTimeout = Duration.seconds(30)
    /// How long the peer may take to answer once it has said that it will; the Core lets it be 60 to 300 s.
    ///
    /// Source: Core 5.4, Vol 3, Part A, 6.2.2 (ERTX).
    static let extendedAnswerTimeout = Duration.seconds(120)

    var connections = ConnectionTable<ChannelConnection>()
    var listeners: ChannelListeners
    private var events = Deque<ChannelEvent>()
    private var lastNumber: UInt64 = 0
    var time = LatestTime()

    /// - Parameter random: decides which SPSM is handed out first, so that no client relies on one.
    init(random: UInt16) { listeners = ChannelListeners(random: random) }

    /// Whether there is an event to take.
    var hasEvents: Bool { !events.isEmpty }

    /// Takes the oldest event.
    mutating func nextEvent() -> ChannelEvent? { events.popFirst() }

    mutating func emit(_ event: ChannelEvent) { events.append(event) }

    /// A name for a new channel.
    mutating func makeID(on connection: ConnectionHandle) -> Channel.ID {
        lastNumber += 1
        return Channel.ID(connection: connection, number: lastNumber)
    }

    /// Where an open channel is.
    func place(_ id: Channel.ID) -> (connection: Int, channel: Int)? {
        guard let connection = connections.index(of: id.connection),
            let channel = connections[connection].index(id)
        else { return nil }
        return (connection, channel)
    }
}

// MARK: - Connections and time

extension ChannelManager {
    mutating func connectionOpened(_ connection: Connection) { connections.append(ChannelConnection(connection)) }

    mutating func connectionClosed(_ handle: ConnectionHandle) {
        guard let index = connections.index(of: handle) else { return }
        let connection = connections.remove(at: index)
        for channel in connection.open {
            emit(.closed(channel.channel.id, .connectionLost, unread: channel.inbound.data))
        }
        for request in connection.opening { fail(request, .connectionLost) }
    }

    /// The link's encryption, what is known about the peer, or the length of its packets has changed.
    mutating func connectionChanged(_ connection: Connection) {
        guard let index = connections.index(of: connection.handle) else { return }
        connections[index].security = connection.security
        connections[index].receiveLength = Int(connection.receiveLength.octets)
    }

    /// Channels that were asked for do not open.
    mutating func fail(_ request: ChannelConnection.Opening, _ closure: ChannelClosure) {
        for channel in request.channels {
            emit(.closed(channel.id, closure, unread: ReceivedData(face: request.parameters.face)))
        }
    }

    /// When an answer has taken too long.
    var nextDeadline: Duration? { connections.nextDeadline }

    /// Gives up waiting for answers that are overdue.
    /// - Returns: the connections whose central did not answer a request for connection parameters.
    mutating func advance(to now: Duration) -> [ConnectionHandle] {
        guard connections.isAnyDue(at: now) else { return [] }
        var unanswered: [ConnectionHandle] = []
        for index in connections.indices where connections.isDue(index, at: now) {
            if connections[index].signaling.expire(at: now) { unanswered.append(connections[index].handle) }
            expire(index, at: now)
        }
        return unanswered
    }
}

// MARK: - Signaling

extension ChannelManager {
    /// What a peer's signaling command comes to for the host.
    enum Signaled {
        /// The peripheral asks for other connection parameters: answer with `respondToUpdate`.
        case updateRequested(ConnectionParameters, identifier: UInt8)
        /// The central answered what this peripheral asked for.
        case updateAnswered(isAccepted: Bool)
        /// All that is to be done is done; what was wrong with the command has been answered as the Core says, or ignored.
        case done(SignalingProblem?)
    }

    /// Takes a frame of the signaling channel.
    mutating func receiveSignaling(
        _ payload: ArraySlice<UInt8>,
        on handle: ConnectionHandle,
        at now: Duration
    ) -> Signaled {
        guard let connection = connections.index(of: handle) else { return .done(nil) }
        let input = connections[connection].signaling.receive(payload, role: connections[connection].role)
        switch input {
        case .updateRequested(let parameters, let identifier):
            return .updateRequested(parameters, identifier: identifier)
        case .updateAnswered(let isAccepted): return .updateAnswered(isAccepted: isAccepted)
        case .creditBased(let command, let identifier):
            return .done(receive(command, identifier: identifier, connection, at: now))
        case .disconnectionRequested(let destination, let source, let identifier):
            let problem = disconnectionRequested(
                destination: destination,
                source: source,
                identifier: identifier,
                connection
            )
            return .done(problem)
        case .disconnected(let destination, let source, let identifier):
            let problem = connections[connection].disconnected(
                destination: destination,
                source: source,
                identifier: identifier
            )
            return .done(problem)
        case .rejected(_, let identifier):
            rejected(identifier, connection)
            return .done(nil)
        case .handled(let problem): return .done(problem)
        }
    }

    /// Puts the next signaling command of a connection into `buffer`, replacing its content.
    /// - Returns: false if there is none.
    mutating func nextSignalingPDU(for handle: ConnectionHandle, into buffer: inout [UInt8]) -> Bool {
        guard let connection = connections.index(of: handle), maySignal(connection) else { return false }
        return connections[connection].nextSignalingPDU(into: &buffer)
    }

    /// Whether a connection may have a signaling command to send.
    private func maySignal(_ connection: Int) -> Bool {
        if connections[connection].maySignal { return true }
        guard !connections[connection].open.isEmpty else { return false }
        for index in connections[connection].open.indices where connections[connection].open[index].inbound.hasGrant {
            return true
        }
        return false
    }

    /// Asks the central for other connection parameters.
    mutating func requestUpdate(_ parameters: ConnectionParameters, on handle: ConnectionHandle, at now: Duration) {
        guard let connection = connections.index(of: handle) else { return }
        connections[connection].signaling.requestUpdate(parameters, at: now)
    }

    /// Answers the peripheral's request for connection parameters.
    mutating func respondToUpdate(_ identifier: UInt8, isAccepted: Bool, on handle: ConnectionHandle) {
        guard let connection = connections.index(of: handle) else { return }
        connections[connection].signaling.respondToUpdate(identifier, isAccepted: isAccepted)
    }
}

// MARK: - Data

extension ChannelManager {
    /// What a K-frame comes to.
    enum Received {
        /// The channel has it, and had something to read before.
        case taken
        /// The channel has something to read now.
        case readable(Channel.ID)
        /// It broke a rule, and the channel is closed: an event says so.
        case refused
        /// There is no such channel.
        case unknownChannel
    }

    /// Takes the payload of a K-frame: what follows the first `offset` octets.
    mutating func receive(
        _ bytes: ArraySlice<UInt8>,
        from offset: Int = 0,
        on channel: ChannelID,
        _ handle: ConnectionHandle,
        at now: Duration
    ) -> Received {
        guard let connection = connections.index(of: handle) else { return .unknownChannel }
        guard let index = connections[connection].index(localCID: channel) else {
            // What was on its way when this side closed the channel.
            return connections[connection].closing.contains { $0.localCID == channel } ? .taken : .unknownChannel
        }
        do throws(ChannelViolation) {
            let isReadableNow = try change(connection, index) { inbound throws(ChannelViolation) in
                try inbound.receive(bytes, from: offset)
            }
            return isReadableNow ? .readable(connections[connection].open[index].channel.id) : .taken
        } catch {
            close(connection, index, .violation(error), at: now)
            return .refused
        }
    }

    /// Changes the receiving half of a channel. Its connection has nothing to send for that but credits.
    @inline(__always)
    mutating func change<Result, Failure>(
        _ connection: Int,
        _ channel: Int,
        _ body: (inout InboundFlow) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let (result, hasGrant) = try connections.changeQuietly(connection) { machine throws(Failure) in
            let result = try body(&machine.open[channel].inbound)
            return (result, machine.open[channel].inbound.hasGrant)
        }
        if hasGrant { connections.stir(connection) }
        return result
    }

    /// A K-frame did not arrive as it was sent. Its channel is closed, since what comes behind it does not follow on what
    /// came in front.
    /// - Returns: false if there is no such channel.
    mutating func lost(
        _ channel: ChannelID,
        _ violation: ChannelViolation,
        _ handle: ConnectionHandle,
        at now: Duration
    ) -> Bool {
        guard let connection = connections.index(of: handle) else { return false }
        guard let index = connections[connection].index(localCID: channel) else {
            return connections[connection].closing.contains { $0.localCID == channel }
        }
        close(connection, index, .violation(violation), at: now)
        return true
    }

    /// Puts the payload of the next K-frame into `buffer`, replacing its content. Channels take turns.
    /// - Parameter dataLength: how much one link layer packet carries.
    /// - Returns: the peer's end of its channel; nil if there is nothing to send.
    mutating func nextFrame(
        for handle: ConnectionHandle,
        dataLength: Int,
        into buffer: inout [UInt8]
    ) -> ChannelID? {
        guard let connection = connections.index(of: handle) else { return nil }
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
        at now: Duration
    ) {
        let closed = remove(connection, index, closure)
        connections[connection].requestDisconnection(local: closed.localCID, remote: closed.remoteCID, at: now)
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
