import BluetoothHCI

/// What peers ask for, and the answers.
extension ChannelManager {
    /// Takes a command about credit-based channels.
    /// - Returns: what was wrong with it, if it was not simply answered.
    mutating func receive(
        _ command: CreditBasedCommand,
        identifier: UInt8,
        _ connection: Int,
        at now: Duration
    ) -> SignalingProblem? {
        switch command {
        case .connectionRequest, .enhancedConnectionRequest, .reconfigureRequest:
            return answer(command, identifier: identifier, connection)
        case .flowControlCredit(let channel, let credits):
            return receive(credits: credits, for: channel, connection, at: now)
        case .connectionResponse(let destination, let terms, let result):
            return answered(
                identifier,
                isEnhanced: false,
                result,
                terms,
                [destination],
                connection,
                at: now
            )
        case .enhancedConnectionResponse(let terms, let result, let destinations):
            return answered(
                identifier,
                isEnhanced: true,
                result,
                terms,
                destinations,
                connection,
                at: now
            )
        case .reconfigureResponse(let result):
            return reconfigured(identifier, result, connection)
        }
    }

    private mutating func answer(
        _ request: CreditBasedCommand,
        identifier: UInt8,
        _ connection: Int
    ) -> SignalingProblem? {
        // Nothing may happen that the peer cannot be told.
        guard connections[connection].signaling.hasRoom else { return .tooManyAnswers }
        if let last = connections[connection].answered, last.identifier == identifier, last.request == request {
            connections[connection].signaling.respond(identifier, .creditBased(last.answer))
            return nil
        }
        let answer: CreditBasedCommand
        var problem: SignalingProblem?
        switch request {
        case .connectionRequest(let spsm, let source, let terms):
            (answer, problem) = open(spsm, source, terms, connection)
        case .enhancedConnectionRequest(let spsm, let terms, let sources):
            (answer, problem) = open(spsm, sources, terms, connection)
        case .reconfigureRequest(let mtu, let mps, let channels):
            let (result, affected) = connections[connection].reconfigureTransmitting(channels, mtu: mtu, mps: mps)
            answer = .reconfigureResponse(result)
            if result == .success {
                emit(.reconfigured(affected, .success))
            } else {
                problem = .reconfigurationRefused(result)
            }
        case .connectionResponse, .enhancedConnectionResponse, .reconfigureResponse, .flowControlCredit: return nil
        }
        connections[connection].signaling.respond(identifier, .creditBased(answer))
        connections[connection].answered = ChannelConnection.Answered(
            identifier: identifier,
            request: request,
            answer: answer
        )
        return problem
    }

    // MARK: Opening

    private mutating func open(
        _ spsm: SPSM,
        _ source: ChannelID,
        _ terms: ChannelTerms,
        _ connection: Int
    ) -> (CreditBasedCommand, problem: SignalingProblem?) {
        do throws(ChannelRefusal) {
            let listener = try listeners.admit(to: spsm, terms, isEnhanced: false, connections[connection].security)
            let own = connections[connection].terms(of: listener.parameters, isEnhanced: false)
            let channel = try accept(source, to: spsm, listener, own: own, peer: terms, isEnhanced: false, connection)
            return (.connectionResponse(destination: channel, own, .success), nil)
        } catch {
            let refusal = CreditBasedCommand.connectionResponse(
                destination: ChannelID(rawValue: 0),
                .none,
                error.result
            )
            return (refusal, .channelRefused(spsm, error.result))
        }
    }

    private mutating func open(
        _ spsm: SPSM,
        _ sources: [ChannelID],
        _ terms: ChannelTerms,
        _ connection: Int
    ) -> (CreditBasedCommand, problem: SignalingProblem?) {
        var destinations: [ChannelID] = []
        var result = ChannelResult.success
        do throws(ChannelRefusal) {
            guard (1...CreditBasedCommand.maximumChannelCount).contains(sources.count) else {
                throw ChannelRefusal(.invalidParameters)
            }
            let listener = try listeners.admit(to: spsm, terms, isEnhanced: true, connections[connection].security)
            let own = connections[connection].terms(of: listener.parameters, isEnhanced: true)
            for source in sources {
                do throws(ChannelRefusal) {
                    let channel = try accept(
                        source,
                        to: spsm,
                        listener,
                        own: own,
                        peer: terms,
                        isEnhanced: true,
                        connection
                    )
                    destinations.append(channel)
                } catch {
                    destinations.append(ChannelID(rawValue: 0))
                    result = error.result
                }
            }
            let problem = result == .success ? nil : SignalingProblem.someChannelsRefused(spsm, result)
            return (.enhancedConnectionResponse(own, result, destinations: destinations), problem)
        } catch {
            let none = [ChannelID](repeating: ChannelID(rawValue: 0), count: sources.count)
            return (
                .enhancedConnectionResponse(.none, error.result, destinations: none),
                .channelsRefused(spsm, error.result)
            )
        }
    }

    /// Opens one channel.
    /// - Returns: this side's end.
    private mutating func accept(
        _ source: ChannelID,
        to spsm: SPSM,
        _ listener: ChannelListener,
        own: ChannelTerms,
        peer: ChannelTerms,
        isEnhanced: Bool,
        _ connection: Int
    ) throws(ChannelRefusal) -> ChannelID {
        guard source.isDynamic else { throw ChannelRefusal(.invalidSourceCID) }
        guard !connections[connection].isTaken(remoteCID: source) else {
            throw ChannelRefusal(.sourceCIDAlreadyAllocated)
        }
        let others = connections[connection].open.count { $0.channel.spsm == spsm && !$0.channel.isInitiator }
        guard others < listener.maximumChannels, let local = connections[connection].freeCIDs(1).first else {
            throw ChannelRefusal(.noResources)
        }
        let channel = Channel(
            id: makeID(on: connections[connection].handle),
            spsm: spsm,
            isInitiator: false,
            isEnhanced: isEnhanced,
            localCID: local,
            remoteCID: source,
            own: own,
            peer: peer
        )
        connections[connection].open.append(
            CreditBasedChannel(channel, listener.parameters, own: own, peer: peer)
        )
        emit(.opened(channel))
        return local
    }

    // MARK: Credits

    private mutating func receive(
        credits: UInt16,
        for channel: ChannelID,
        _ connection: Int,
        at now: Duration
    ) -> SignalingProblem? {
        guard let index = connections[connection].index(remoteCID: channel) else {
            let isClosing = connections[connection].closing.contains { $0.remoteCID == channel }
            return isClosing ? nil : .creditsForUnknownChannel(credits, channel)
        }
        // Zero credits are not allowed, and to be ignored (Core 5.4, Vol 3, Part A, 10.1).
        guard credits > 0 else { return .noCredits(channel) }
        do throws(ChannelViolation) {
            try connections[connection].open[index].outbound.receive(credits: credits)
            return nil
        } catch {
            close(connection, index, .violation(error), at: now)
            return nil
        }
    }

    // MARK: Closing

    /// The peer closes a channel.
    /// - Returns: what was wrong with that.
    mutating func disconnectionRequested(
        destination: ChannelID,
        source: ChannelID,
        identifier: UInt8,
        _ connection: Int
    ) -> SignalingProblem? {
        let response = SignalingPDU.Command.disconnectionResponse(destination: destination, source: source)
        guard let index = connections[connection].index(localCID: destination) else {
            // Both sides may have closed it at once.
            if connections[connection].closing.contains(where: { $0.localCID == destination && $0.remoteCID == source })
            {
                connections[connection].signaling.respond(identifier, response)
                return nil
            }
            let invalid = CommandRejectReason.invalidChannel(local: destination, remote: source)
            connections[connection].signaling.reject(identifier, invalid)
            return .unknownChannelClosed(destination)
        }
        // With a source that does not match, it is to be ignored (Core 5.4, Vol 3, Part A, 4.6).
        guard connections[connection].open[index].channel.remoteCID == source else {
            return .otherEndMismatch(destination, peer: source)
        }
        connections[connection].signaling.respond(identifier, response)
        remove(connection, index, .byPeer)
        return nil
    }
}
