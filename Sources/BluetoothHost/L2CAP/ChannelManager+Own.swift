import BluetoothHCI

/// What this side asks for, and the peers' answers.
extension ChannelManager {
    // MARK: Opening

    /// Asks for channels.
    /// - Returns: their names; `opened` or `closed` follows for each.
    mutating func open(
        _ count: Int,
        to spsm: SPSM,
        _ parameters: ChannelParameters,
        isEnhanced: Bool,
        on handle: ConnectionHandle,
        at now: Duration
    ) throws(ChannelError) -> [Channel.ID] {
        guard let connection = connections.index(of: handle) else { throw .notConnected(handle) }
        let most = isEnhanced ? CreditBasedCommand.maximumChannelCount : 1
        guard (1...most).contains(count), parameters.areValid else { throw .invalidParameters }
        let free = connections[connection].freeCIDs(count)
        guard free.count == count else { throw .noCIDLeft }
        let terms = connections[connection].terms(of: parameters, isEnhanced: isEnhanced)
        let command: CreditBasedCommand
        if isEnhanced {
            command = .enhancedConnectionRequest(spsm, terms, sources: free)
        } else {
            command = .connectionRequest(spsm, source: free[0], terms)
        }
        var channels: [(id: Channel.ID, localCID: ChannelID)] = []
        for localCID in free { channels.append((makeID(on: handle), localCID)) }
        let request = ChannelConnection.Opening(
            identifier: connections[connection].signaling.request(.creditBased(command)),
            spsm: spsm,
            isEnhanced: isEnhanced,
            channels: channels,
            parameters: parameters,
            terms: terms,
            deadline: now + Self.answerTimeout
        )
        connections[connection].opening.append(request)
        return channels.map { $0.id }
    }

    /// The peer answered a request for channels.
    /// - Returns: what was wrong with the answer.
    mutating func answered(
        _ identifier: UInt8,
        isEnhanced: Bool,
        _ result: ChannelResult,
        _ terms: ChannelTerms,
        _ destinations: [ChannelID],
        _ connection: Int,
        at now: Duration
    ) -> SignalingProblem? {
        let requests = connections[connection].opening
        guard let place = requests.firstIndex(where: { $0.identifier == identifier && $0.isEnhanced == isEnhanced })
        else { return .unexpectedChannelResponse }
        if isEnhanced, result.isPending {
            connections[connection].opening[place].deadline = now + Self.extendedAnswerTimeout
            return nil
        }
        let request = connections[connection].opening.remove(at: place)
        connections[connection].signaling.settle(identifier)
        guard result == .success || (isEnhanced && result.mayBePartial) else {
            fail(request, .refused(result))
            return nil
        }
        let least = isEnhanced ? ChannelTerms.minimumEnhancedLength : ChannelTerms.minimumLength
        let isAllowed =
            terms.mtu >= least && (least...ChannelTerms.maximumMPS).contains(Int(terms.mps))
            && destinations.count == request.channels.count
        for (place, channel) in request.channels.enumerated() {
            let destination = place < destinations.count ? destinations[place] : ChannelID(rawValue: 0)
            if isEnhanced, destination.rawValue == 0, result != .success {
                let nothing = ReceivedData(face: request.parameters.face)
                emit(.closed(channel.id, .refused(result), unread: nothing))
            } else {
                begin(channel, request, destination, terms, isAllowed: isAllowed, connection, at: now)
            }
        }
        return nil
    }

    /// The peer accepted a channel; it is open if what the peer said is allowed.
    private mutating func begin(
        _ new: (id: Channel.ID, localCID: ChannelID),
        _ request: ChannelConnection.Opening,
        _ destination: ChannelID,
        _ terms: ChannelTerms,
        isAllowed: Bool,
        _ connection: Int,
        at now: Duration
    ) {
        let nothing = ReceivedData(face: request.parameters.face)
        guard destination.isDynamic, !connections[connection].isTaken(remoteCID: destination) else {
            // Neither of two channels with the same destination may be used (Core 5.4, Vol 3, Part A, 4.23, 4.26).
            if let other = connections[connection].index(remoteCID: destination) {
                close(connection, other, .violation(.badResponse), at: now)
            }
            return emit(.closed(new.id, .violation(.badResponse), unread: nothing))
        }
        guard isAllowed else {
            connections[connection].requestDisconnection(local: new.localCID, remote: destination, at: now)
            return emit(.closed(new.id, .violation(.badResponse), unread: nothing))
        }
        let channel = Channel(
            id: new.id,
            spsm: request.spsm,
            isInitiator: true,
            isEnhanced: request.isEnhanced,
            localCID: new.localCID,
            remoteCID: destination,
            own: request.terms,
            peer: terms
        )
        connections[connection].open.append(
            CreditBasedChannel(channel, request.parameters, own: request.terms, peer: terms)
        )
        emit(.opened(channel))
    }

    // MARK: Reconfiguring

    /// Tells the peer that this side takes longer SDUs and other K-frames from now on, on up to five enhanced channels
    /// of one connection. `reconfigured` follows.
    /// - Parameters:
    ///   - channels: which; all on one connection.
    ///   - mtu: the longest SDU, not less than it was.
    ///   - mps: the longest payload of a K-frame, not less than it was unless there is only one channel.
    ///   - now: the time.
    package mutating func reconfigure(
        _ channels: [Channel.ID],
        mtu: Int,
        mps: Int,
        at now: Duration
    ) throws(ChannelError) {
        let now = time.tell(now)
        let places = channels.compactMap { place($0) }
        guard places.count == channels.count else { throw .notOpen }
        let affected = places.map { connections[$0.connection].open[$0.channel].channel }
        guard let connection = places.first?.connection, places.allSatisfy({ $0.connection == connection }),
            affected.allSatisfy({ $0.isEnhanced }), connections[connection].reconfiguring == nil
        else { throw .notReconfigurable }
        guard channels.count <= CreditBasedCommand.maximumChannelCount, Set(channels).count == channels.count,
            (ChannelTerms.minimumEnhancedLength...Int(UInt16.max)).contains(mtu),
            (ChannelTerms.minimumEnhancedLength...L2CAPFrame.maximumPayload).contains(mps),
            affected.allSatisfy({ $0.receiveMTU <= mtu }),
            affected.count == 1 || affected.allSatisfy({ $0.receiveMPS <= mps })
        else { throw .invalidParameters }
        let mtu = UInt16(clamping: mtu)
        let mps = UInt16(clamping: mps)
        let command = CreditBasedCommand.reconfigureRequest(mtu: mtu, mps: mps, affected.map { $0.localCID })
        connections[connection].reconfiguring = ChannelConnection.Reconfiguring(
            identifier: connections[connection].signaling.request(.creditBased(command)),
            channels: channels,
            mtu: mtu,
            mps: mps,
            deadline: now + Self.answerTimeout
        )
    }

    /// The peer answered a request to reconfigure.
    /// - Returns: what was wrong with the answer.
    mutating func reconfigured(
        _ identifier: UInt8,
        _ result: ReconfigurationResult,
        _ connection: Int
    ) -> SignalingProblem? {
        guard let request = connections[connection].reconfiguring, request.identifier == identifier else {
            return .unexpectedReconfigureResponse
        }
        connections[connection].signaling.settle(identifier)
        connections[connection].reconfiguring = nil
        for id in request.channels where result == .success {
            guard let index = connections[connection].index(id) else { continue }
            connections[connection].open[index].reconfigureReceiving(mtu: request.mtu, mps: request.mps)
        }
        emit(.reconfigured(request.channels, result))
        return nil
    }

    // MARK: No answers

    /// The peer rejected a request.
    mutating func rejected(_ identifier: UInt8, _ connection: Int) {
        connections[connection].signaling.settle(identifier)
        // A channel that the peer does not know is as good as closed.
        connections[connection].closing.removeAll { $0.identifier == identifier }
        if let request = connections[connection].reconfiguring, request.identifier == identifier {
            connections[connection].reconfiguring = nil
            emit(.reconfigured(request.channels, .unacceptableParameters))
        }
        guard let place = connections[connection].opening.firstIndex(where: { $0.identifier == identifier }) else {
            return
        }
        fail(connections[connection].opening.remove(at: place), .notUnderstood)
    }

    /// Gives up waiting for answers about channels that are overdue.
    mutating func expire(_ connection: Int, at now: Duration) {
        for request in connections[connection].closing where request.deadline <= now {
            connections[connection].signaling.settle(request.identifier)
        }
        connections[connection].closing.removeAll { $0.deadline <= now }
        if let request = connections[connection].reconfiguring, request.deadline <= now {
            connections[connection].signaling.settle(request.identifier)
            connections[connection].reconfiguring = nil
            emit(.reconfigured(request.channels, .unacceptableParameters))
        }
        for request in connections[connection].opening where request.deadline <= now {
            connections[connection].signaling.settle(request.identifier)
            fail(request, .notAnswered)
        }
        connections[connection].opening.removeAll { $0.deadline <= now }
    }
}
