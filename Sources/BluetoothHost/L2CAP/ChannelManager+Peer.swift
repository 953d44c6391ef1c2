import BluetoothHCI

/// What peers ask for, and the answers.
extension ChannelManager {
    /// Takes a command about credit-based channels.
    /// - Returns: what was wrong with it, if it was not simply answered.
    mutating func receive(
        _ command: CreditBasedCommand,
        identifier: UInt8,
        _ link: Link,
        _ signaling: inout SignalingChannel,
        at now: Duration
    ) -> SignalingProblem? {
        guard let connection = index(link.handle) else { return nil }
        switch command {
        case .connectionRequest, .enhancedConnectionRequest, .reconfigureRequest:
            return answer(command, identifier: identifier, connection, link, &signaling)
        case .flowControlCredit(let channel, let credits):
            return receive(credits: credits, for: channel, connection, &signaling, at: now)
        case .connectionResponse(let destination, let terms, let result):
            return answered(
                identifier,
                isEnhanced: false,
                result,
                terms,
                [destination],
                connection,
                &signaling,
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
                &signaling,
                at: now
            )
        case .reconfigureResponse(let result):
            return reconfigured(identifier, result, connection, &signaling)
        }
    }

    private mutating func answer(
        _ request: CreditBasedCommand,
        identifier: UInt8,
        _ connection: Int,
        _ link: Link,
        _ signaling: inout SignalingChannel
    ) -> SignalingProblem? {
        // Nothing may happen that the peer cannot be told.
        guard signaling.hasRoom else { return .tooManyAnswers }
        if let last = connections[connection].answered, last.identifier == identifier, last.request == request {
            signaling.respond(identifier, .creditBased(last.answer))
            return nil
        }
        let answer: CreditBasedCommand
        var problem: SignalingProblem?
        switch request {
        case .connectionRequest(let spsm, let source, let terms):
            (answer, problem) = open(spsm, source, terms, connection, link)
        case .enhancedConnectionRequest(let spsm, let terms, let sources):
            (answer, problem) = open(spsm, sources, terms, connection, link)
        case .reconfigureRequest(let mtu, let mps, let channels):
            let result = reconfigure(channels, mtu: mtu, mps: mps, connection)
            answer = .reconfigureResponse(result)
            if result != .success { problem = .reconfigurationRefused(result) }
        case .connectionResponse, .enhancedConnectionResponse, .reconfigureResponse, .flowControlCredit: return nil
        }
        signaling.respond(identifier, .creditBased(answer))
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
        _ connection: Int,
        _ link: Link
    ) -> (CreditBasedCommand, problem: SignalingProblem?) {
        do throws(Refusal) {
            let listener = try admit(to: spsm, terms, isEnhanced: false, link)
            let own = Self.terms(of: listener.parameters, link, isEnhanced: false)
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
        _ connection: Int,
        _ link: Link
    ) -> (CreditBasedCommand, problem: SignalingProblem?) {
        var destinations: [ChannelID] = []
        var result = ChannelResult.success
        do throws(Refusal) {
            guard (1...CreditBasedCommand.maximumChannelCount).contains(sources.count) else {
                throw Refusal(.invalidParameters)
            }
            let listener = try admit(to: spsm, terms, isEnhanced: true, link)
            let own = Self.terms(of: listener.parameters, link, isEnhanced: true)
            for source in sources {
                do throws(Refusal) {
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

    private struct Refusal: Error {
        let result: ChannelResult
        init(_ result: ChannelResult) { self.result = result }
    }

    /// Checks what all channels of a request have in common.
    private func admit(
        to spsm: SPSM,
        _ terms: ChannelTerms,
        isEnhanced: Bool,
        _ link: Link
    ) throws(Refusal) -> ChannelListener {
        let least = isEnhanced ? Self.minimumEnhancedLength : Self.minimumLength
        guard terms.mtu >= least, (least...Self.maximumMPS).contains(Int(terms.mps)),
            !isEnhanced || terms.credits > 0
        else { throw Refusal(isEnhanced ? .invalidParameters : .unacceptableParameters) }
        guard let listener = listener(spsm) else { throw Refusal(.spsmNotSupported) }
        if let error = listener.requirement.refusal(of: link.security) {
            throw Refusal(ChannelResult(refusing: error))
        }
        return listener
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
    ) throws(Refusal) -> ChannelID {
        guard source.isDynamic else { throw Refusal(.invalidSourceCID) }
        guard !connections[connection].isTaken(remoteCID: source) else { throw Refusal(.sourceCIDAlreadyAllocated) }
        let others = connections[connection].open.count { $0.channel.spsm == spsm && !$0.channel.isInitiator }
        guard others < listener.maximumChannels, let local = connections[connection].freeCIDs(1).first else {
            throw Refusal(.noResources)
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

    /// What this side offers.
    static func terms(of parameters: ChannelParameters, _ link: Link, isEnhanced: Bool) -> ChannelTerms {
        let least = isEnhanced ? minimumEnhancedLength : minimumLength
        let fitting = OutboundFlow.frameSize(upTo: OutboundFlow.frameSizeLimit, dataLength: link.receiveLength)
        let mtu = max(least, parameters.mtu)
        let mps = max(least, parameters.mps ?? fitting)
        return ChannelTerms(
            mtu: UInt16(clamping: mtu),
            mps: UInt16(clamping: mps),
            credits: InboundFlow.initialCredits(parameters, mtu: mtu, mps: mps)
        )
    }

    // MARK: Reconfiguring

    private mutating func reconfigure(
        _ channels: [ChannelID],
        mtu: UInt16,
        mps: UInt16,
        _ connection: Int
    ) -> ReconfigurationResult {
        guard (1...CreditBasedCommand.maximumChannelCount).contains(channels.count),
            Set(channels).count == channels.count,
            (Self.minimumEnhancedLength...Self.maximumMPS).contains(Int(mps))
        else { return .unacceptableParameters }
        let indices = channels.compactMap { connections[connection].index(remoteCID: $0) }
        let affected = indices.map { connections[connection].open[$0].channel }
        guard affected.count == channels.count, affected.allSatisfy({ $0.isEnhanced }) else {
            return .invalidDestinationCID
        }
        guard affected.allSatisfy({ $0.transmitMTU <= Int(mtu) }) else { return .mtuReduced }
        guard affected.count == 1 || affected.allSatisfy({ $0.transmitMPS <= Int(mps) }) else { return .mpsReduced }
        for index in indices { connections[connection].open[index].reconfigureTransmitting(mtu: mtu, mps: mps) }
        emit(.reconfigured(affected.map { $0.id }, .success))
        return .success
    }

    // MARK: Credits

    private mutating func receive(
        credits: UInt16,
        for channel: ChannelID,
        _ connection: Int,
        _ signaling: inout SignalingChannel,
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
            close(connection, index, .violation(error), &signaling, at: now)
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
        _ handle: ConnectionHandle,
        _ signaling: inout SignalingChannel
    ) -> SignalingProblem? {
        let invalid = CommandRejectReason.invalidChannel(local: destination, remote: source)
        guard let connection = index(handle) else {
            signaling.reject(identifier, invalid)
            return nil
        }
        guard let index = connections[connection].index(localCID: destination) else {
            // Both sides may have closed it at once.
            if connections[connection].closing.contains(where: { $0.localCID == destination && $0.remoteCID == source })
            {
                signaling.respond(identifier, .disconnectionResponse(destination: destination, source: source))
                return nil
            }
            signaling.reject(identifier, invalid)
            return .unknownChannelClosed(destination)
        }
        // With a source that does not match, it is to be ignored (Core 5.4, Vol 3, Part A, 4.6).
        guard connections[connection].open[index].channel.remoteCID == source else {
            return .otherEndMismatch(destination, peer: source)
        }
        signaling.respond(identifier, .disconnectionResponse(destination: destination, source: source))
        remove(connection, index, .byPeer)
        return nil
    }
}
